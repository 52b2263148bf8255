#include "nms/soft.h"

#include <algorithm>
#include <limits>

#include "numeric/exp32.h"

namespace simaai::kernels::detail {
namespace {

using ops::nms::Method;

constexpr std::size_t lanes = NmsBlocks::lanes;
constexpr float gone = std::numeric_limits<float>::infinity();
constexpr float no_score = -std::numeric_limits<float>::infinity();

// The rows of one call in lanes, class after class, inside a class by ascending row. A lane that was picked, or that never will
// be, has no score and overlaps nothing.
class Lanes {
public:
  Lanes(const NmsSettings &settings, NmsScratch &scratch)
      : settings_(settings), scratch_(scratch), scores_(scratch.lane_scores),
        positions_(reinterpret_cast<std::uint32_t *>(scratch.entries)), overlaps_(reinterpret_cast<float *>(scratch.spare)) {}

  // Lane k gets the admitted row that `place_of(k)` names. Uses scratch.order, where the rows stand by place.
  template <class PlaceOf>
  void load(const float *boxes, std::size_t count, PlaceOf place_of) {
    for (std::size_t lane = 0; lane < count; ++lane) {
      const std::uint32_t place = place_of(lane);
      const std::uint32_t row = scratch_.order[place];
      const float *const box = boxes + 4 * std::size_t{row};
      float *const corners = corners_of(lane);
      corners[0] = box[0];
      corners[lanes] = box[1];
      corners[2 * lanes] = box[2];
      corners[3 * lanes] = box[3];
      scores_[lane] = scratch_.scores[place];
      scratch_.lane_ids[lane] = row;
    }
    for (std::size_t lane = count; lane < (count + lanes - 1) / lanes * lanes; ++lane) {
      clear(lane);
      float *const corners = corners_of(lane);
      corners[lanes] = corners[2 * lanes] = corners[3 * lanes] = 0.0F;
    }
  }

  // The first best of the lanes begin..end−1, or `end` when none has a score.
  [[nodiscard]] std::size_t best(std::size_t begin, std::size_t end) const {
    const std::size_t inner_begin = std::min((begin + lanes - 1) / lanes * lanes, end);
    const std::size_t inner_end = std::max(end / lanes * lanes, inner_begin);
    std::size_t found = end;
    float found_score = no_score;
    const auto consider = [this, &found, &found_score](std::size_t lane) {
      if (scores_[lane] > found_score) {
        found = lane;
        found_score = scores_[lane];
      }
    };
    for (std::size_t lane = begin; lane < inner_begin; ++lane) {
      consider(lane);
    }
    if (inner_begin < inner_end) {
      consider(inner_begin + settings_.kernels->first_largest(scores_ + inner_begin, (inner_end - inner_begin) / lanes));
    }
    for (std::size_t lane = inner_end; lane < end; ++lane) {
      consider(lane);
    }
    return found;
  }

  [[nodiscard]] float score(std::size_t lane) const { return scores_[lane]; }
  [[nodiscard]] std::uint32_t row(std::size_t lane) const { return scratch_.lane_ids[lane]; }

  // Takes the lane out and decays those of begin..end−1 that overlap its box.
  void pick(std::size_t lane, std::size_t begin, std::size_t end) {
    const float *const corners = corners_of(lane);
    const NmsBox box{corners[0], corners[lanes], corners[2 * lanes], corners[3 * lanes], area(lane)};
    clear(lane);
    if (!(box.area > 0.0F)) {
      return;  // every IoU with it is 0 or no number
    }
    const std::size_t found =
        settings_.kernels->overlaps(scratch_.corners, begin / lanes, (end + lanes - 1) / lanes, box, positions_, overlaps_);
    constexpr std::uint64_t pairs_of_decay = 32;  // an exponential costs so many looks at a pair
    scratch_.poll.add(pairs_of_decay * found);
    for (std::size_t i = 0; i < found; ++i) {
      // A block at either end may hold lanes of another class too.
      if (positions_[i] >= begin && positions_[i] < end) {
        decay(positions_[i], box.area, overlaps_[i]);
      }
    }
  }

  // Moves the lanes of begin..end−1 that have a score together, in order. Returns their new end.
  std::size_t compact(std::size_t begin, std::size_t end) {
    std::size_t to = begin;
    for (std::size_t from = begin; from < end; ++from) {
      if (scores_[from] == no_score) {
        continue;
      }
      const float *const source = corners_of(from);
      float *const target = corners_of(to);
      for (std::size_t corner = 0; corner < NmsBlocks::floats; corner += lanes) {
        target[corner] = source[corner];
      }
      scores_[to] = scores_[from];
      scratch_.lane_ids[to] = scratch_.lane_ids[from];
      ++to;
    }
    for (std::size_t lane = to; lane < end; ++lane) {
      clear(lane);
    }
    return to;
  }

  // How many lanes were cleared since the last question.
  [[nodiscard]] std::size_t take_cleared() { return std::exchange(cleared_, 0); }

private:
  void clear(std::size_t lane) {
    scores_[lane] = no_score;
    corners_of(lane)[0] = gone;
    ++cleared_;
  }

  [[nodiscard]] float area(std::size_t lane) const {
    const float *const corners = corners_of(lane);
    return (corners[2 * lanes] - corners[0]) * (corners[3 * lanes] - corners[lanes]);
  }

  [[nodiscard]] float *corners_of(std::size_t lane) const {
    return scratch_.corners + lane / lanes * NmsBlocks::floats + lane % lanes;
  }

  void decay(std::size_t lane, float picked_area, float iou) {
    float &score = scores_[lane];
    switch (settings_.method) {
      case Method::Hard:
      case Method::SoftLinear:
        if (static_cast<double>(iou) > settings_.iou_threshold) {
          score *= 1.0F - iou;
        }
        break;
      case Method::SoftGaussian: score *= exp32(-(iou * iou) / settings_.sigma); break;
      case Method::SoftAdaptive: {
        const float other_area = area(lane);
        const float ratio = std::max(picked_area, other_area) / std::min(picked_area, other_area);
        score *= ratio > 2.0F ? 1.0F - iou : exp32(-(iou * iou) / settings_.sigma);
        break;
      }
    }
    // With a positive threshold a score that is below it stays there. (A negative score may still rise to zero.)
    if (score < settings_.score_threshold && settings_.score_threshold > 0.0F) {
      clear(lane);
    }
  }

  const NmsSettings &settings_;
  NmsScratch &scratch_;
  float *scores_;
  std::uint32_t *positions_;
  float *overlaps_;
  std::size_t cleared_ = 0;
};

// The groups of a call, each with its best lane; a heap knows the group of the best of all. Group g: lanes
// begins[g]..ends[g]−1, live[g] of them with a score, bests[g] the best one. Uses the arrays of the grouping, which are free by
// then.
class Groups {
  // Of two groups; equal scores by ascending row.
  [[nodiscard]] auto worse() const {
    return [&all = all_, bests = bests_](std::uint32_t a, std::uint32_t b) {
      const float score_a = all.score(bests[a]);
      const float score_b = all.score(bests[b]);
      return score_a < score_b || (score_a == score_b && all.row(bests[a]) > all.row(bests[b]));
    };
  }

public:
  Groups(NmsScratch &scratch, Lanes &all, std::size_t count)
      : all_(all), ends_(scratch.buckets), begins_(scratch.ranks), bests_(scratch.grouped), live_(scratch.starts),
        heap_(scratch.order), size_(count) {
    // In two rounds: begins lie where the ranks of the grouping were.
    for (std::size_t group = 0; group < count; ++group) {
      begins_[group] = group == 0 ? 0 : ends_[group - 1];
    }
    for (std::size_t group = 0; group < count; ++group) {
      live_[group] = ends_[group] - begins_[group];
      bests_[group] = static_cast<std::uint32_t>(all_.best(begins_[group], ends_[group]));
      heap_[group] = static_cast<std::uint32_t>(group);
    }
    std::make_heap(heap_, heap_ + size_, worse());
  }

  [[nodiscard]] bool empty() const { return size_ == 0; }

  // The best lane of all.
  [[nodiscard]] std::size_t best() const { return bests_[heap_[0]]; }

  // How many lanes stand in its group.
  [[nodiscard]] std::uint64_t lanes_of_best() const { return ends_[heap_[0]] - begins_[heap_[0]]; }

  // Takes that lane out and lets it decay its group.
  void pick_best() {
    std::pop_heap(heap_, heap_ + size_, worse());
    const std::uint32_t group = heap_[size_ - 1];
    all_.pick(bests_[group], begins_[group], ends_[group]);
    live_[group] -= static_cast<std::uint32_t>(all_.take_cleared());
    if (live_[group] == 0) {
      --size_;
      return;
    }
    if (ends_[group] - begins_[group] > 16 && live_[group] < (ends_[group] - begins_[group]) / 2) {
      ends_[group] = static_cast<std::uint32_t>(all_.compact(begins_[group], ends_[group]));
      (void)all_.take_cleared();
    }
    bests_[group] = static_cast<std::uint32_t>(all_.best(begins_[group], ends_[group]));
    std::push_heap(heap_, heap_ + size_, worse());
  }

private:
  Lanes &all_;
  std::uint32_t *ends_;
  std::uint32_t *begins_;
  std::uint32_t *bests_;
  std::uint32_t *live_;
  std::uint32_t *heap_;
  std::size_t size_;
};

}  // namespace

std::size_t suppress_soft(const NmsSettings &settings, NmsScratch &scratch, const NmsRows &rows, const Admitted &admitted) {
  const std::size_t count = admitted.count;
  if (count == 0 || settings.limit == 0) {
    return 0;
  }
  for (std::size_t place = 0; place < count; ++place) {
    scratch.order[place] = admitted.all ? static_cast<std::uint32_t>(place) : scratch.rows[place];
  }
  Lanes all(settings, scratch);
  std::size_t group_count = 1;
  if (rows.has_classes()) {
    group_count = group_by_class(scratch, rows, count);
    all.load(rows.boxes, count, [&scratch](std::size_t lane) { return scratch.ranks[lane]; });
  } else {
    scratch.buckets[0] = static_cast<std::uint32_t>(count);
    all.load(rows.boxes, count, [](std::size_t lane) { return static_cast<std::uint32_t>(lane); });
  }
  Groups groups(scratch, all, group_count);
  (void)all.take_cleared();

  std::size_t found = 0;
  while (!groups.empty()) {
    const std::size_t picked = groups.best();
    if (all.score(picked) < settings.score_threshold) {
      break;
    }
    scratch.kept[found] = all.row(picked);
    scratch.kept_scores[found] = all.score(picked);
    ++found;
    if (found == settings.limit || scratch.poll.spend(2 * groups.lanes_of_best())) {
      break;
    }
    groups.pick_best();
  }
  return found;
}

}  // namespace simaai::kernels::detail
