#include <bit>
#include <cmath>
#include <limits>

#include "kernels/iou_rule.h"
#include "kernels/nms_kernels.h"

namespace simaai::kernels::detail {
namespace {

constexpr std::uint32_t lanes = NmsBlocks::lanes;

float least_of(float a, float b) { return a < b ? a : b; }
float largest_of(float a, float b) { return a > b ? a : b; }

NmsRowFacts check_rows(const float *boxes, const float *scores, std::size_t rows, float *copied) {
  NmsRowFacts facts{std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(), 1};
  for (std::size_t row = 0; row < rows; ++row) {
    const float *box = boxes + 4 * row;
    const float score = scores[row] + 0.0F;
    copied[row] = score;
    const bool finite = std::isfinite(box[0]) && std::isfinite(box[1]) && std::isfinite(box[2]) && std::isfinite(box[3]);
    if (!finite || box[2] < box[0] || box[3] < box[1] || std::isnan(score)) {
      facts.valid = 0;
    }
    facts.least = least_of(score, facts.least);
    facts.largest = largest_of(score, facts.largest);
  }
  return facts;
}

void bucket_scores(const float *scores, std::size_t rows, float largest, float scale, std::uint32_t *buckets) {
  for (std::size_t row = 0; row < rows; ++row) {
    buckets[row] = static_cast<std::uint32_t>(static_cast<std::int32_t>((largest - scores[row]) * scale));
  }
}

NmsGridSizes grid_buckets(const float *boxes, const std::uint32_t *rows, std::size_t count, NmsGridRule rule,
                          std::uint32_t *buckets) {
  NmsGridSizes sizes{0xFFFFFFFFU, 0};
  for (std::size_t i = 0; i < count; ++i) {
    const float *const box = boxes + 4 * std::size_t{rows[i]};
    const float width = box[2] - box[0];
    const float height = box[3] - box[1];
    const float area = width * height;
    if (!(area >= 0x1p-100F && area <= 0x1p100F)) {
      buckets[i] = rule.mask + (area == 0.0F ? 2 : 1);
      continue;
    }
    const std::uint32_t size = std::bit_cast<std::uint32_t>(largest_of(width, height)) >> 24U;
    sizes.least = size < sizes.least ? size : sizes.least;
    sizes.largest = size > sizes.largest ? size : sizes.largest;
    const std::int64_t exponent = 1023 + std::int64_t{rule.scale_exponent} - 2 * std::int64_t{size};
    const double scale = std::bit_cast<double>(static_cast<std::uint64_t>(exponent) << 52U);
    const double x = (static_cast<double>(box[0]) + static_cast<double>(box[2])) * scale + 0x1.8p52;
    const double y = (static_cast<double>(box[1]) + static_cast<double>(box[3])) * scale + 0x1.8p52;
    const auto cell_x = static_cast<std::uint32_t>(std::bit_cast<std::uint64_t>(x));
    const auto cell_y = static_cast<std::uint32_t>(std::bit_cast<std::uint64_t>(y));
    const std::uint32_t row = cell_y * 0x9E3779B1U + size * 0x85EBCA77U;
    buckets[i] = ((row ^ (row >> 15U)) + cell_x) & rule.mask;
  }
  return sizes;
}

// The part that two boxes share, as far as it has an area.
struct Shared {
  bool overlap;
  float inter;
  float both;  // the union
};

Shared share(const float *corners, const NmsBox &box) {
  const float x1 = corners[0];
  const float y1 = corners[lanes];
  const float x2 = corners[2 * lanes];
  const float y2 = corners[3 * lanes];
  const float width = least_of(x2, box.x2) - largest_of(x1, box.x1);
  const float height = least_of(y2, box.y2) - largest_of(y1, box.y1);
  const float inter = width * height;
  const float area = (x2 - x1) * (y2 - y1);
  return Shared{width > 0.0F && height > 0.0F, inter, (box.area + area) - inter};
}

bool exceeds(const Shared &shared, const NmsThreshold &threshold) {
  return shared.overlap && exceeds(shared.inter, shared.both, threshold);
}

std::uint32_t suppress_block(float *block, const NmsBox &box, const NmsThreshold &threshold) {
  std::uint32_t suppressed = 0;
  for (std::uint32_t lane = 0; lane < lanes; ++lane) {
    if (exceeds(share(block + lane, box), threshold)) {
      block[lane] = std::numeric_limits<float>::infinity();
      ++suppressed;
    }
  }
  return suppressed;
}

std::uint32_t suppress_run(float *blocks, std::size_t first, std::size_t last, const NmsBox &box,
                           const NmsThreshold &threshold) {
  std::uint32_t suppressed = 0;
  for (std::size_t block = first; block < last; ++block) {
    suppressed += suppress_block(blocks + block * NmsBlocks::floats, box, threshold);
  }
  return suppressed;
}

std::uint32_t suppress_list(float *blocks, const std::uint32_t *list, std::size_t count, const NmsBox &box,
                            const NmsThreshold &threshold) {
  std::uint32_t suppressed = 0;
  for (std::size_t i = 0; i < count; ++i) {
    suppressed += suppress_block(blocks + std::size_t{list[i]} * NmsBlocks::floats, box, threshold);
  }
  return suppressed;
}

void suppress_surely(float *corners, std::size_t blocks, const NmsBox *boxes, std::size_t count, float sure_share) {
  for (std::size_t i = 0; i < blocks * lanes; ++i) {
    float *const lane = corners + i / lanes * NmsBlocks::floats + i % lanes;
    const float area = (lane[2 * lanes] - lane[0]) * (lane[3 * lanes] - lane[lanes]);
    if (!(area >= 0x1p-100F && area <= 0x1p100F)) {
      continue;
    }
    bool out = false;
    for (std::size_t k = 0; k < count; ++k) {
      const float width = least_of(lane[2 * lanes], boxes[k].x2) - largest_of(lane[0], boxes[k].x1);
      const float height = least_of(lane[3 * lanes], boxes[k].y2) - largest_of(lane[lanes], boxes[k].y1);
      out = out || largest_of(width, 0.0F) * height > sure_share * area + sure_share * boxes[k].area;
    }
    lane[0] = out ? std::numeric_limits<float>::infinity() : lane[0];
  }
}

std::size_t steps_to_suppressor(const float *blocks, const float *, std::size_t first, std::size_t last, const NmsBox &box,
                                float, const NmsThreshold &threshold) {
  for (std::size_t i = first * lanes; i < last * lanes; ++i) {
    if (exceeds(share(blocks + i / lanes * NmsBlocks::floats + i % lanes, box), threshold)) {
      return (i / lanes - first) / 2;
    }
  }
  return (last - first) / 2;
}

std::size_t overlaps(const float *blocks, std::size_t first, std::size_t last, const NmsBox &box, std::uint32_t *positions,
                     float *ious) {
  std::size_t found = 0;
  for (std::size_t i = first * lanes; i < last * lanes; ++i) {
    const Shared shared = share(blocks + i / lanes * NmsBlocks::floats + i % lanes, box);
    const float iou = shared.inter / shared.both;
    if (shared.overlap && !std::isnan(iou)) {
      positions[found] = static_cast<std::uint32_t>(i);
      ious[found] = iou;
      ++found;
    }
  }
  return found;
}

std::size_t first_largest(const float *scores, std::size_t blocks) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < blocks * lanes; ++i) {
    if (scores[i] > scores[best]) {
      best = i;
    }
  }
  return best;
}

}  // namespace

// Tables of sets are alike on purpose: each line is a choice.
const NmsKernels scalar_nms_kernels = {
    .name = "scalar",
    .check_rows = check_rows,
    .bucket_scores = bucket_scores,
    .grid_buckets = grid_buckets,
    .suppress_run = suppress_run,
    .suppress_list = suppress_list,
    .suppress_surely = suppress_surely,
    .steps_to_suppressor = steps_to_suppressor,
    .overlaps = overlaps,
    .first_largest = first_largest,
};

}  // namespace simaai::kernels::detail
