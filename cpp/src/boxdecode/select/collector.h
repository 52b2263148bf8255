#pragma once

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <limits>

#include "boxdecode/context/context.h"
#include "boxdecode/geometry/boxes.h"

/// Which candidates are kept and in which order they are visited. In: candidates as the scans find them. Out: the same by
/// descending score, then ascending location and class. Never: a limit by K before suppression.
namespace simaai::kernels::ops::boxdecode::detail {

/// The total order of candidates. No score is NaN and none is −0, so that it is one.
[[nodiscard]] inline bool precedes(const Candidate &a, const Candidate &b) noexcept {
  if (a.score != b.score) {
    return a.score > b.score;
  }
  return a.location != b.location ? a.location < b.location : a.class_id < b.class_id;
}

/// Takes what the scans find. Recipes that suppress keep every candidate (there is room for all that a frame can have); the
/// others keep the best K whose boxes are valid, as a heap with the worst on top.
struct Collector {
  Candidate *records;
  std::uint32_t capacity;
  std::uint32_t count = 0;

  /// The one decision about a score: it is a candidate's when it is finite and not below the threshold, which is never
  /// negative. What a scan looks at before only spares work.
  void admit(const Frame &frame, const HeadPlan &head, std::uint32_t cell, std::uint32_t anchor, std::uint32_t class_id,
             float score) {
    if (!(score >= frame.plan.params.detection_threshold && score <= std::numeric_limits<float>::max())) {
      return;
    }
    // −0 is published as +0.
    const Candidate candidate{score + 0.0F, head.first_location + cell * head.anchors + anchor, class_id};
    if (frame.plan.streaming) {
      add_to_best(frame, head, cell, anchor, candidate);
    } else {
      assert(count < capacity);
      records[count++] = candidate;
    }
  }

private:
  void add_to_best(const Frame &frame, const HeadPlan &head, std::uint32_t cell, std::uint32_t anchor,
                   const Candidate &candidate) {
    const bool full = count == capacity;
    if ((full && !precedes(candidate, records[0])) || !is_valid(head.decode_box(frame, head, site_of(head, cell, anchor)))) {
      return;
    }
    if (full) {
      std::pop_heap(records, records + count, precedes);
      --count;
    }
    records[count++] = candidate;
    std::push_heap(records, records + count, precedes);
  }
};

/// Candidates by descending score. Only buckets that are visited are sorted.
class Ordering {
public:
  Ordering(const Frame &frame, const Collector &collector) noexcept;

  /// The next candidate, or null behind the last.
  [[nodiscard]] const Candidate *next() noexcept {
    while (position_ == bucket_end_) {
      if (position_ == count_) {
        return nullptr;
      }
      open_bucket();
    }
    return &ordered_[position_++];
  }

private:
  void open_bucket() noexcept;

  Candidate *ordered_;
  const std::uint32_t *ends_;
  std::uint32_t count_;
  std::uint32_t bucket_ = 0;
  std::uint32_t position_ = 0;
  std::uint32_t bucket_end_ = 0;
};

}  // namespace simaai::kernels::ops::boxdecode::detail
