#include "nms/grid.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace simaai::kernels::detail {
namespace {

constexpr double slack = 0x1p-12;
constexpr std::uint32_t lanes = NmsBlocks::lanes;

// Areas between these are normal numbers far from both ends, and so is everything that the decision computes from them.
constexpr float least_regular_area = 0x1p-100F;
constexpr float largest_regular_area = 0x1p100F;

// The upper end of a size class and its scale, as NmsGridRule says.
double largest_side(std::uint32_t size) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(1023 - 125 + 2 * static_cast<int>(size)) << 52U);
}
double scale_of(NmsGridRule rule, std::uint32_t size) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(1023 + rule.scale_exponent - 2 * static_cast<int>(size)) << 52U);
}

std::uint32_t size_class(double side) {
  constexpr double most = std::numeric_limits<float>::max();
  return std::bit_cast<std::uint32_t>(static_cast<float>(std::min(side, most))) >> 24U;
}

std::uint32_t cell_of(double scaled) { return static_cast<std::uint32_t>(std::bit_cast<std::uint64_t>(scaled + 0x1.8p52)); }

}  // namespace

void NmsGrid::build(const NmsSettings &settings, NmsScratch &scratch, const float *boxes, const std::uint32_t *rows,
                    std::size_t count) {
  size_ratio_ = settings.iou_threshold * (1.0 - slack);
  inverse_size_ratio_ = 1.0 / size_ratio_;
  reach_ = (1.0 - size_ratio_) / (2.0 * (1.0 + size_ratio_));
  // A cell is the largest side of its class times this power of two: about as wide as what is looked at.
  const int cell_exponent = std::clamp(static_cast<int>(std::lround(std::log2(3.0 * reach_))), -6, 0);
  const std::size_t buckets = std::max<std::size_t>(std::bit_ceil(count), 64);
  rule_ = NmsGridRule{static_cast<std::uint32_t>(buckets - 1), 124 - cell_exponent};
  block_count_ = static_cast<std::uint32_t>((count + lanes - 1) / lanes);

  sizes_ = settings.kernels->grid_buckets(boxes, rows, count, rule_, scratch.buckets);
  // Filled from the front, a bucket's start moves to its end, which is the start of the next one: shifted by one, the same
  // counters are then the bounds.
  std::uint32_t *const starts = scratch.starts + 1;
  std::memset(scratch.starts, 0, (buckets + 3) * sizeof(std::uint32_t));
  for (std::size_t i = 0; i < count; ++i) {
    ++starts[scratch.buckets[i]];
  }
  has_irregular_ = starts[buckets] != 0;
  std::uint32_t sum = 0;
  for (std::size_t bucket = 0; bucket < buckets + 2; ++bucket) {
    const std::uint32_t size = starts[bucket];
    starts[bucket] = sum;
    sum += size;
  }
  for (std::size_t i = 0; i < count; ++i) {
    const float *const box = boxes + 4 * std::size_t{rows[i]};
    const std::uint32_t lane = starts[scratch.buckets[i]]++;
    const std::uint32_t place = lane / lanes * NmsBlocks::floats + lane % lanes;
    float *const corners = scratch.corners + place;
    scratch.lane_ids[i] = place;
    corners[0] = box[0];
    corners[lanes] = box[1];
    corners[2 * lanes] = box[2];
    corners[3 * lanes] = box[3];
  }
  for (std::size_t lane = count; lane % lanes != 0; ++lane) {
    float *const corners = scratch.corners + lane / lanes * NmsBlocks::floats + lane % lanes;
    corners[0] = std::numeric_limits<float>::infinity();
    corners[lanes] = corners[2 * lanes] = corners[3 * lanes] = 0.0F;
  }
}

namespace {

// Collects the blocks that one box has to be held against.
class Search {
public:
  Search(const NmsSettings &settings, NmsScratch &scratch, const NmsBox &box)
      : settings_(settings), scratch_(scratch), box_(box), bounds_(scratch.starts) {}

  // Room on the list for four runs of cells.
  void make_room() {
    if (listed_ > capacity - 8) {
      flush();
    }
  }

  // The boxes of buckets first..last, unless they are not wanted. A run of cells nearly always lies in none, one or two
  // blocks: those are put on the list without a branch.
  void look(std::uint32_t first, std::uint32_t last, bool wanted) {
    const std::uint32_t begin = bounds_[first];
    const std::uint32_t end = bounds_[last + 1];
    const std::uint32_t block = begin / lanes;
    const std::uint32_t count = ((end + lanes - 1) / lanes - block) & (0U - static_cast<std::uint32_t>(wanted && begin != end));
    if (count > 2) {
      scratch_.poll.add(std::uint64_t{count} * lanes);
      suppressed_ += settings_.kernels->suppress_run(scratch_.corners, block, block + count, box_, settings_.threshold);
      return;
    }
    list_[listed_] = block;
    list_[listed_ + 1] = block + 1;
    listed_ += count;
  }

  // A row of cells, which may go on at the first bucket.
  void look_at_row(std::uint32_t row, std::uint32_t first_x, std::uint32_t more, std::uint32_t mask, bool wanted) {
    const std::uint32_t first = ((row ^ (row >> 15U)) + first_x) & mask;
    const std::uint32_t last = first + more;
    if (last <= mask) {
      look(first, last, wanted);
    } else {
      look(first, mask, wanted);
      look(0, last & mask, wanted);
    }
  }

  std::uint32_t finish() {
    flush();
    return suppressed_;
  }

private:
  static constexpr std::size_t capacity = 64;

  void flush() {
    suppressed_ += settings_.kernels->suppress_list(scratch_.corners, list_.data(), listed_, box_, settings_.threshold);
    listed_ = 0;
  }

  const NmsSettings &settings_;
  NmsScratch &scratch_;
  const NmsBox &box_;
  const std::uint32_t *bounds_;  // where each bucket begins, and where the last one ends
  std::array<std::uint32_t, capacity + 2> list_;
  std::size_t listed_ = 0;
  std::uint32_t suppressed_ = 0;
};

}  // namespace

std::uint32_t NmsGrid::suppress(const NmsSettings &settings, NmsScratch &scratch, const NmsBox &box) const {
  const auto against_everything = [this, &settings, &scratch, &box] {
    scratch.poll.add(std::uint64_t{block_count_} * lanes);
    return settings.kernels->suppress_run(scratch.corners, 0, block_count_, box, settings.threshold);
  };
  if (!(box.area >= least_regular_area && box.area <= largest_regular_area)) {
    return box.area == 0.0F ? 0 : against_everything();
  }

  constexpr std::uint32_t most_cells = 40;
  constexpr std::uint32_t row_step = 0x9E3779B1U;
  Search search(settings, scratch, box);
  const double twice_x = static_cast<double>(box.x1) + static_cast<double>(box.x2);
  const double twice_y = static_cast<double>(box.y1) + static_cast<double>(box.y2);
  const double width = static_cast<double>(box.x2) - static_cast<double>(box.x1);
  const double height = static_cast<double>(box.y2) - static_cast<double>(box.y1);
  const double most_width = width * inverse_size_ratio_;
  const double most_height = height * inverse_size_ratio_;
  const double twice_reach = 2.0 * reach_;
  const std::uint32_t least = std::max(size_class(std::max(width, height) * size_ratio_), sizes_.least);
  const std::uint32_t largest = std::min(size_class(std::max(most_width, most_height)), sizes_.largest);
  for (std::uint32_t size = least; size <= largest; ++size) {
    const double scale = scale_of(rule_, size);
    const double most = largest_side(size);
    const double reach_x = (width + std::min(most_width, most)) * twice_reach;
    const double reach_y = (height + std::min(most_height, most)) * twice_reach;
    if (std::max(reach_x, reach_y) * scale > most_cells / 2) {
      return search.finish() + against_everything();
    }
    // At least 64 buckets, so that no row of cells is longer than the table.
    const std::uint32_t first_x = cell_of((twice_x - reach_x) * scale);
    const std::uint32_t more_x = cell_of((twice_x + reach_x) * scale) - first_x;
    const std::uint32_t first_y = cell_of((twice_y - reach_y) * scale);
    const std::uint32_t more_y = cell_of((twice_y + reach_y) * scale) - first_y;
    const std::uint32_t row = first_y * row_step + size * 0x85EBCA77U;
    // One or two rows nearly always: a look too many costs less than a wrong guess.
    search.make_room();
    search.look_at_row(row, first_x, more_x, rule_.mask, true);
    search.look_at_row(row + row_step, first_x, more_x, rule_.mask, more_y >= 1);
    for (std::uint32_t y = 2; y <= more_y; ++y) {
      search.make_room();
      search.look_at_row(row + y * row_step, first_x, more_x, rule_.mask, true);
    }
  }
  if (has_irregular_) {
    search.make_room();
    search.look(rule_.mask + 1, rule_.mask + 1, true);
  }
  return search.finish();
}

}  // namespace simaai::kernels::detail
