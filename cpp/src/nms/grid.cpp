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
  std::uint32_t sum = 0;
  for (std::size_t bucket = 0; bucket < buckets + 2; ++bucket) {
    const std::uint32_t size = starts[bucket];
    starts[bucket] = sum;
    sum += size;
  }
  for (std::size_t i = 0; i < count; ++i) {
    const float *const box = boxes + 4 * std::size_t{rows[i]};
    const std::uint32_t lane = starts[scratch.buckets[i]]++;
    float *const corners = scratch.corners + lane / lanes * NmsBlocks::floats + lane % lanes;
    scratch.lane_ids[i] = lane;
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

std::uint32_t NmsGrid::suppress(const NmsSettings &settings, NmsScratch &scratch, const NmsBox &box) const {
  const auto against_everything = [this, &settings, &scratch, &box] {
    return settings.kernels->suppress_run(scratch.corners, 0, block_count_, box, settings.threshold);
  };
  if (!(box.area >= least_regular_area && box.area <= largest_regular_area)) {
    return box.area == 0.0F ? 0 : against_everything();
  }

  constexpr std::uint32_t most_cells = 40;
  // A run of cells nearly always lies in none, one or two blocks: those are put on a list without a branch.
  constexpr std::size_t capacity = 64;
  std::array<std::uint32_t, capacity + 2> list;
  std::size_t listed = 0;
  std::uint32_t suppressed = 0;
  const std::uint32_t *const bounds = scratch.starts;  // where each bucket begins, and where the last one ends
  const auto look = [&](std::uint32_t first_bucket, std::uint32_t last_bucket, bool wanted) {
    const std::uint32_t begin = bounds[first_bucket];
    const std::uint32_t end = bounds[last_bucket + 1];
    const std::uint32_t first = begin / lanes;
    const std::uint32_t count = ((end + lanes - 1) / lanes - first) & (0U - static_cast<std::uint32_t>(wanted && begin != end));
    if (count > 2) {
      suppressed += settings.kernels->suppress_run(scratch.corners, first, first + count, box, settings.threshold);
      return;
    }
    list[listed] = first;
    list[listed + 1] = first + 1;
    listed += count;
    if (listed > capacity) {
      suppressed += settings.kernels->suppress_list(scratch.corners, list.data(), listed, box, settings.threshold);
      listed = 0;
    }
  };

  const double twice_x = static_cast<double>(box.x1) + static_cast<double>(box.x2);
  const double twice_y = static_cast<double>(box.y1) + static_cast<double>(box.y2);
  const double width = static_cast<double>(box.x2) - static_cast<double>(box.x1);
  const double height = static_cast<double>(box.y2) - static_cast<double>(box.y1);
  const double side = std::max(width, height);
  const std::uint32_t least = std::max(size_class(side * size_ratio_), sizes_.least);
  const std::uint32_t largest = std::min(size_class(side * inverse_size_ratio_), sizes_.largest);
  for (std::uint32_t size = least; size <= largest && largest != 0xFFFFFFFFU; ++size) {
    const double scale = scale_of(rule_, size);
    const double most = largest_side(size);
    const double reach_x = 2.0 * (width + std::min(width * inverse_size_ratio_, most)) * reach_;
    const double reach_y = 2.0 * (height + std::min(height * inverse_size_ratio_, most)) * reach_;
    if (std::max(reach_x, reach_y) * scale > most_cells / 2) {
      return suppressed + against_everything();
    }
    const std::uint32_t first_x = cell_of((twice_x - reach_x) * scale);
    const std::uint32_t cells = cell_of((twice_x + reach_x) * scale) - first_x;
    const std::uint32_t first_y = cell_of((twice_y - reach_y) * scale);
    // At least 64 buckets, so that no row of cells is longer than the table.
    const std::uint32_t rows = cell_of((twice_y + reach_y) * scale) - first_y;
    const auto look_at_row = [&](std::uint32_t y, bool wanted) {
      const std::uint32_t row = (first_y + y) * 0x9E3779B1U + size * 0x85EBCA77U;
      const std::uint32_t first = ((row ^ (row >> 15U)) + first_x) & rule_.mask;
      const std::uint32_t last = first + cells;
      if (last <= rule_.mask) {
        look(first, last, wanted);
      } else {
        look(first, rule_.mask, wanted);
        look(0, last & rule_.mask, wanted);
      }
    };
    // Nearly always one to three rows: a look too many costs less than a wrong guess of their number.
    look_at_row(0, true);
    look_at_row(1, rows >= 1);
    look_at_row(2, rows >= 2);
    for (std::uint32_t y = 3; y <= rows; ++y) {
      look_at_row(y, true);
    }
  }
  look(rule_.mask + 1, rule_.mask + 1, true);
  return suppressed + settings.kernels->suppress_list(scratch.corners, list.data(), listed, box, settings.threshold);
}

}  // namespace simaai::kernels::detail
