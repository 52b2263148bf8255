#include <algorithm>
#include <bit>

#include "boxdecode/select/collector.h"

namespace simaai::kernels::ops::boxdecode::detail {
namespace {

// Below this one sort is cheaper than a bucket pass.
constexpr std::uint32_t few = 48;

void sort_bucket(Candidate *first, Candidate *last) {
  constexpr std::ptrdiff_t short_run = 24;
  if (last - first > short_run) {
    // Candidates of one score come in ascending location already, so a crowded level costs one pass.
    if (!std::is_sorted(first, last, precedes)) {
      std::sort(first, last, precedes);
    }
    return;
  }
  if (first == last) {
    return;
  }
  for (Candidate *next = first + 1; next < last; ++next) {
    const Candidate moved = *next;
    Candidate *hole = next;
    for (; hole > first && precedes(moved, hole[-1]); --hole) {
      *hole = hole[-1];
    }
    *hole = moved;
  }
}

}  // namespace

Ordering::Ordering(const Frame &frame, const Collector &collector) noexcept
    : ordered_(collector.records), ends_(nullptr), count_(collector.count) {
  const ScratchSizes &sizes = frame.plan.scratch;
  if (count_ <= few) {
    sort_bucket(ordered_, ordered_ + count_);
    bucket_end_ = count_;
    return;
  }
  float low = collector.records[0].score;
  float high = low;
  for (std::uint32_t i = 1; i < count_; ++i) {
    const float score = collector.records[i].score;
    low = score < low ? score : low;
    high = score > high ? score : high;
  }
  const std::uint32_t buckets = std::min(std::bit_ceil(count_), sizes.buckets);
  // A linear map of the score that never rises with it: whatever the rounding, a better score is in no later bucket.
  const float span = high - low;
  const float scale = span > 0.0F ? static_cast<float>(buckets - 1) / span : 0.0F;
  const float usable_scale = scale <= 0x1p120F ? scale : 0.0F;
  const auto bucket_of = [&](float score) {
    const float place = (high - score) * usable_scale;
    const auto bucket = static_cast<std::uint32_t>(place);
    return bucket < buckets ? bucket : buckets - 1;
  };
  auto *starts = frame.scratch.bucket_starts;
  std::fill_n(starts, buckets + 1, 0U);
  for (std::uint32_t i = 0; i < count_; ++i) {
    ++starts[bucket_of(collector.records[i].score) + 1];
  }
  for (std::uint32_t bucket = 0; bucket < buckets; ++bucket) {
    starts[bucket + 1] += starts[bucket];
  }
  ordered_ = frame.scratch.ordered;
  for (std::uint32_t i = 0; i < count_; ++i) {
    ordered_[starts[bucket_of(collector.records[i].score)]++] = collector.records[i];
  }
  // Each start has moved to the end of its bucket.
  ends_ = starts;
}

void Ordering::open_bucket() noexcept {
  bucket_end_ = ends_[bucket_++];
  if (bucket_end_ - position_ > 1) {
    sort_bucket(ordered_ + position_, ordered_ + bucket_end_);
  }
}

}  // namespace simaai::kernels::ops::boxdecode::detail
