#include "nms/hard.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "nms/grid.h"

namespace simaai::kernels::detail {
namespace {

constexpr std::uint32_t lanes = NmsBlocks::lanes;
constexpr float gone = std::numeric_limits<float>::infinity();

NmsBox load_box(const float *boxes, std::uint32_t row) {
  const float *const box = boxes + 4 * std::size_t{row};
  return NmsBox{box[0], box[1], box[2], box[3], (box[2] - box[0]) * (box[3] - box[1])};
}

std::size_t corner_of(std::size_t lane) { return lane / lanes * NmsBlocks::floats + lane % lanes; }

// Whether the rest of a group is cheaper on the grid, by what its beginning showed. Rough costs in nanoseconds on the machine
// this was written on; they never decide the result.
bool grid_is_cheaper(std::size_t done, std::size_t found, std::size_t rest) {
  constexpr double pair_apart = 0.17;  // eight at a time, nothing but a look
  constexpr double pair_near = 0.5;    // more where boxes overlap
  constexpr double grid_row = 6.0;
  constexpr double grid_kept = 50.0;
  const double kept_share = static_cast<double>(found) / static_cast<double>(done);
  const auto rows = static_cast<double>(rest);
  // Of spread boxes as many are kept as so far, of clusters fewer and fewer.
  const double more = kept_share * kept_share * rows;
  const double row_by_row = (static_cast<double>(found) + more / 2) * rows * (pair_apart + pair_near * (1.0 - kept_share));
  return row_by_row > grid_row * rows + grid_kept * (static_cast<double>(found) + more);
}

// Part of a group in score order, in columns, while better boxes take lanes out of it.
class Chunk {
public:
  Chunk(const NmsSettings &settings, NmsScratch &scratch) : settings_(settings), scratch_(scratch) {}

  void load(const float *boxes, const std::uint32_t *rows, std::size_t first, std::size_t count) {
    for (std::size_t lane = 0; lane < count; ++lane) {
      const float *const box = boxes + 4 * std::size_t{rows[first + lane]};
      float *const corners = scratch_.corners + corner_of(lane);
      corners[0] = box[0];
      corners[lanes] = box[1];
      corners[2 * lanes] = box[2];
      corners[3 * lanes] = box[3];
      scratch_.lane_ids[lane] = static_cast<std::uint32_t>(first + lane);
    }
    size_ = count;
    live_ = count;
    next_ = 0;
    wasted_ = 0;
    pad();
  }

  // Takes out what the box suppresses, from the lanes that were not visited yet.
  void suppress(const NmsBox &box) {
    if (!(box.area > 0.0F)) {
      return;  // no intersection with it has an area
    }
    const std::size_t first = next_ / lanes;
    const std::size_t last = (size_ + lanes - 1) / lanes;
    live_ -= settings_.kernels->suppress_run(scratch_.corners, first, last, box, settings_.threshold);
    wasted_ += (last - first) - std::min<std::size_t>(last - first, (live_ + lanes - 1) / lanes);
    if (wasted_ > size_ - next_) {
      compact();
    }
  }

  // The next lane that is left, which from then on belongs to the past. False when there is none.
  bool visit(std::uint32_t &id) {
    while (next_ < size_ && scratch_.corners[corner_of(next_)] == gone) {
      ++next_;
    }
    if (next_ == size_) {
      return false;
    }
    id = scratch_.lane_ids[next_];
    // Out of the lanes too: the count of live lanes is then right, and the box does not meet itself.
    scratch_.corners[corner_of(next_)] = gone;
    ++next_;
    --live_;
    return true;
  }

  [[nodiscard]] bool empty() const { return live_ == 0; }

private:
  void pad() {
    for (std::size_t lane = size_; lane % lanes != 0; ++lane) {
      float *const corners = scratch_.corners + corner_of(lane);
      corners[0] = gone;
      corners[lanes] = corners[2 * lanes] = corners[3 * lanes] = 0.0F;
    }
  }

  void compact() {
    std::size_t to = 0;
    for (std::size_t from = next_; from < size_; ++from) {
      const float *const source = scratch_.corners + corner_of(from);
      float *const target = scratch_.corners + corner_of(to);
      const float x1 = source[0];
      target[0] = x1;
      target[lanes] = source[lanes];
      target[2 * lanes] = source[2 * lanes];
      target[3 * lanes] = source[3 * lanes];
      scratch_.lane_ids[to] = scratch_.lane_ids[from];
      to += static_cast<std::size_t>(x1 != gone);
    }
    size_ = to;
    next_ = 0;
    wasted_ = 0;
    pad();
  }

  const NmsSettings &settings_;
  NmsScratch &scratch_;
  std::size_t size_ = 0;
  std::size_t next_ = 0;
  std::size_t live_ = 0;
  std::uint64_t wasted_ = 0;
};

// The rest of a group by the grid: rows[done..count), with `found` boxes kept so far.
std::size_t finish_on_grid(const NmsSettings &settings, NmsScratch &scratch, const float *boxes, const std::uint32_t *rows,
                           std::size_t done, std::size_t count, std::size_t found, std::size_t limit, std::uint32_t *kept) {
  NmsGrid grid;
  const std::size_t rest = count - done;
  grid.build(settings, scratch, boxes, rows + done, rest);
  std::size_t live = rest;
  constexpr std::uint64_t near_pairs = 256;  // about as costly as a look at the cells around a box
  for (std::size_t i = 0; i < found && !scratch.poll.spend(near_pairs); ++i) {
    live -= grid.suppress(settings, scratch, load_box(boxes, rows[kept[i]]));
  }
  for (std::size_t i = 0; i < rest && live != 0; ++i) {
    float *const corners = scratch.corners + scratch.lane_ids[i];
    if (corners[0] == gone) {
      continue;
    }
    const float width = corners[2 * lanes] - corners[0];
    const float height = corners[3 * lanes] - corners[lanes];
    const NmsBox box{corners[0], corners[lanes], corners[2 * lanes], corners[3 * lanes], width * height};
    corners[0] = gone;
    --live;
    kept[found++] = static_cast<std::uint32_t>(done + i);
    if (found == limit || scratch.poll.spend(near_pairs)) {
      break;
    }
    live -= grid.suppress(settings, scratch, box);
  }
  return found;
}

}  // namespace

std::size_t suppress_hard(const NmsSettings &settings, NmsScratch &scratch, const float *boxes, const std::uint32_t *rows,
                          std::size_t count, std::size_t limit, std::uint32_t *kept) {
  if (limit == 0 || count == 0) {
    return 0;
  }
  if (settings.iou_threshold >= 1.0) {
    // An intersection is rounded from smaller factors than both areas, so no IoU exceeds 1.
    const std::size_t all = std::min(count, limit);
    std::iota(kept, kept + all, 0U);
    return all;
  }
  constexpr std::size_t chunk_size = 64;
  const bool may_use_grid = NmsGrid::usable(settings.iou_threshold);
  std::size_t found = 0;
  Chunk chunk(settings, scratch);
  for (std::size_t done = 0; done < count;) {
    const std::size_t size = std::min(chunk_size, count - done);
    if (scratch.poll.spend(std::uint64_t{found + size} * size)) {
      return found;
    }
    chunk.load(boxes, rows, done, size);
    for (std::size_t i = 0; i < found && !chunk.empty(); ++i) {
      chunk.suppress(load_box(boxes, rows[kept[i]]));
    }
    std::uint32_t place = 0;
    while (!chunk.empty() && chunk.visit(place)) {
      kept[found++] = place;
      if (found == limit) {
        return found;
      }
      chunk.suppress(load_box(boxes, rows[place]));
    }
    done += size;
    if (may_use_grid && done < count && grid_is_cheaper(done, found, count - done)) {
      return finish_on_grid(settings, scratch, boxes, rows, done, count, found, limit, kept);
    }
  }
  return found;
}

}  // namespace simaai::kernels::detail
