#include "kernels/nms_kernels.h"

#include <arm_neon.h>

#include "kernels/first_largest.h"
#include "kernels/iou_exact_neon.h"

namespace simaai::kernels::detail {
namespace {

constexpr std::uint32_t lanes = NmsBlocks::lanes;
constexpr std::uint32_t half = 4;

float32x4_t gone_f32x4() { return vreinterpretq_f32_u32(vdupq_n_u32(0x7F800000U)); }

// As the comparison a < b (a > b) says, so that a NaN score leaves the accumulator, the second operand, alone.
float32x4_t least_of(float32x4_t a, float32x4_t b) { return vbslq_f32(vcltq_f32(a, b), a, b); }
float32x4_t largest_of(float32x4_t a, float32x4_t b) { return vbslq_f32(vcgtq_f32(a, b), a, b); }

NmsRowFacts check_rows(const float *boxes, const float *scores, std::size_t rows, float *copied) {
  const std::size_t whole = rows / half * half;
  const float32x4_t zero = vdupq_n_f32(0.0F);
  float32x4_t least_f32x4 = gone_f32x4();
  float32x4_t largest_f32x4 = vnegq_f32(gone_f32x4());
  uint32x4_t valid = vdupq_n_u32(0xFFFFFFFFU);
  for (std::size_t row = 0; row < whole; row += half) {
    const float32x4x4_t box = vld4q_f32(boxes + 4 * row);
    const float32x4_t score = vaddq_f32(vld1q_f32(scores + row), zero);
    vst1q_f32(copied + row, score);
    least_f32x4 = least_of(score, least_f32x4);
    largest_f32x4 = largest_of(score, largest_f32x4);
    valid = vandq_u32(valid, vandq_u32(vcgeq_f32(box.val[2], box.val[0]), vcgeq_f32(box.val[3], box.val[1])));
    for (int corner = 0; corner < 4; ++corner) {
      valid = vandq_u32(valid, vceqzq_f32(vsubq_f32(box.val[corner], box.val[corner])));
    }
    valid = vandq_u32(valid, vceqq_f32(score, score));
  }
  float least_of_lane[half];
  float largest_of_lane[half];
  vst1q_f32(least_of_lane, least_f32x4);
  vst1q_f32(largest_of_lane, largest_f32x4);
  NmsRowFacts facts = scalar_nms_kernels.check_rows(boxes + 4 * whole, scores + whole, rows - whole, copied + whole);
  for (std::uint32_t lane = 0; lane < half; ++lane) {
    facts.least = least_of_lane[lane] < facts.least ? least_of_lane[lane] : facts.least;
    facts.largest = largest_of_lane[lane] > facts.largest ? largest_of_lane[lane] : facts.largest;
  }
  if (vminvq_u32(valid) == 0) {
    facts.valid = 0;
  }
  return facts;
}

void bucket_scores(const float *scores, std::size_t rows, float largest, float scale, std::uint32_t *buckets) {
  const std::size_t whole = rows / half * half;
  const float32x4_t largest_f32x4 = vdupq_n_f32(largest);
  const float32x4_t scale_f32x4 = vdupq_n_f32(scale);
  for (std::size_t row = 0; row < whole; row += half) {
    const float32x4_t scaled = vmulq_f32(vsubq_f32(largest_f32x4, vld1q_f32(scores + row)), scale_f32x4);
    vst1q_u32(buckets + row, vreinterpretq_u32_s32(vcvtq_s32_f32(scaled)));
  }
  scalar_nms_kernels.bucket_scores(scores + whole, rows - whole, largest, scale, buckets + whole);
}

// Four boxes by coordinate.
struct Corners {
  float32x4_t x1, y1, x2, y2;
};

Corners gather(const float *boxes, const std::uint32_t *rows) {
  const float32x4_t box0 = vld1q_f32(boxes + 4 * std::size_t{rows[0]});
  const float32x4_t box1 = vld1q_f32(boxes + 4 * std::size_t{rows[1]});
  const float32x4_t box2 = vld1q_f32(boxes + 4 * std::size_t{rows[2]});
  const float32x4_t box3 = vld1q_f32(boxes + 4 * std::size_t{rows[3]});
  const float32x4_t xy_even = vzip1q_f32(box0, box2);  // x1 of 0 and 2, y1 of 0 and 2
  const float32x4_t xy_odd = vzip1q_f32(box1, box3);
  const float32x4_t corner_even = vzip2q_f32(box0, box2);
  const float32x4_t corner_odd = vzip2q_f32(box1, box3);
  return Corners{vzip1q_f32(xy_even, xy_odd), vzip2q_f32(xy_even, xy_odd), vzip1q_f32(corner_even, corner_odd),
                 vzip2q_f32(corner_even, corner_odd)};
}

// Cells of four boxes: low halves of the sums with 0x1.8p52.
uint32x4_t cells(float32x4_t lower, float32x4_t upper, float64x2_t scale_low, float64x2_t scale_high) {
  const float64x2_t base = vdupq_n_f64(0x1.8p52);
  const float64x2_t centre_low = vaddq_f64(vcvt_f64_f32(vget_low_f32(lower)), vcvt_f64_f32(vget_low_f32(upper)));
  const float64x2_t centre_high = vaddq_f64(vcvt_high_f64_f32(lower), vcvt_high_f64_f32(upper));
  const uint64x2_t low = vreinterpretq_u64_f64(vaddq_f64(vmulq_f64(centre_low, scale_low), base));
  const uint64x2_t high = vreinterpretq_u64_f64(vaddq_f64(vmulq_f64(centre_high, scale_high), base));
  return vcombine_u32(vmovn_u64(low), vmovn_u64(high));
}

NmsGridSizes grid_buckets(const float *boxes, const std::uint32_t *rows, std::size_t count, NmsGridRule rule,
                          std::uint32_t *buckets) {
  const std::size_t whole = count / half * half;
  const uint32x4_t mask = vdupq_n_u32(rule.mask);
  const uint32x4_t beyond = vdupq_n_u32(rule.mask + 1);
  const uint32x4_t inert_bucket = vdupq_n_u32(rule.mask + 2);
  uint32x4_t least = vdupq_n_u32(0xFFFFFFFFU);
  uint32x4_t largest = vdupq_n_u32(0);
  for (std::size_t i = 0; i < whole; i += half) {
    const Corners box = gather(boxes, rows + i);
    const float32x4_t width = vsubq_f32(box.x2, box.x1);
    const float32x4_t height = vsubq_f32(box.y2, box.y1);
    const float32x4_t area = vmulq_f32(width, height);
    const uint32x4_t regular = vandq_u32(vcgeq_f32(area, vdupq_n_f32(0x1p-100F)), vcleq_f32(area, vdupq_n_f32(0x1p100F)));
    const uint32x4_t size = vshrq_n_u32(vreinterpretq_u32_f32(vmaxq_f32(width, height)), 24);
    least = vminq_u32(least, vbslq_u32(regular, size, least));
    largest = vmaxq_u32(largest, vbslq_u32(regular, size, largest));
    const int32x4_t exponent = vsubq_s32(vdupq_n_s32(1023 + rule.scale_exponent), vreinterpretq_s32_u32(vshlq_n_u32(size, 1)));
    const float64x2_t scale_low = vreinterpretq_f64_s64(vshlq_n_s64(vmovl_s32(vget_low_s32(exponent)), 52));
    const float64x2_t scale_high = vreinterpretq_f64_s64(vshlq_n_s64(vmovl_high_s32(exponent), 52));
    const uint32x4_t x = cells(box.x1, box.x2, scale_low, scale_high);
    const uint32x4_t y = cells(box.y1, box.y2, scale_low, scale_high);
    uint32x4_t row = vaddq_u32(vmulq_n_u32(y, 0x9E3779B1U), vmulq_n_u32(size, 0x85EBCA77U));
    row = veorq_u32(row, vshrq_n_u32(row, 15));
    const uint32x4_t cell = vandq_u32(vaddq_u32(row, x), mask);
    const uint32x4_t otherwise = vbslq_u32(vceqzq_f32(area), inert_bucket, beyond);
    vst1q_u32(buckets + i, vbslq_u32(regular, cell, otherwise));
  }
  NmsGridSizes sizes = scalar_nms_kernels.grid_buckets(boxes, rows + whole, count - whole, rule, buckets + whole);
  const std::uint32_t least_size = vminvq_u32(least);
  const std::uint32_t largest_size = vmaxvq_u32(largest);
  sizes.least = least_size < sizes.least ? least_size : sizes.least;
  sizes.largest = largest_size > sizes.largest ? largest_size : sizes.largest;
  return sizes;
}

// A box that others are held against, in every lane.
struct Query {
  float32x4_t x1, y1, x2, y2, area;
};

Query broadcast(const NmsBox &box) {
  return Query{vdupq_n_f32(box.x1), vdupq_n_f32(box.y1), vdupq_n_f32(box.x2), vdupq_n_f32(box.y2), vdupq_n_f32(box.area)};
}

// Half a block of boxes and what they share with the query. No operand is NaN, so either form of min and max will do.
struct Overlap {
  float32x4_t x1, y1, x2, y2, width, height;
  uint32x4_t lanes;
};

Overlap overlap_at(const float *corners, const Query &query) {
  Overlap part;
  part.x1 = vld1q_f32(corners);
  part.y1 = vld1q_f32(corners + lanes);
  part.x2 = vld1q_f32(corners + 2 * lanes);
  part.y2 = vld1q_f32(corners + 3 * lanes);
  part.width = vsubq_f32(vminq_f32(part.x2, query.x2), vmaxq_f32(part.x1, query.x1));
  part.height = vsubq_f32(vminq_f32(part.y2, query.y2), vmaxq_f32(part.y1, query.y1));
  part.lanes = vcgtzq_f32(vminq_f32(part.width, part.height));
  return part;
}

// Lanes whose exact double comparison says that the IoU exceeds the threshold.
uint32x4_t exceeds_exactly(float32x4_t inter, float32x4_t both, const NmsThreshold &threshold) {
  return vandq_u32(past_f64x4(inter, both, threshold), vcgtzq_f32(inter));
}

std::uint32_t suppress_part(float *corners, const Overlap &part, const Query &query, const NmsThreshold &threshold) {
  const float32x4_t inter = vmulq_f32(part.width, part.height);
  const float32x4_t area = vmulq_f32(vsubq_f32(part.x2, part.x1), vsubq_f32(part.y2, part.y1));
  const float32x4_t both = vsubq_f32(vaddq_f32(query.area, area), inter);
  const uint32x4_t maybe = vandq_u32(part.lanes, vcgeq_f32(inter, vmulq_n_f32(both, threshold.low)));
  if (vmaxvq_u32(maybe) == 0) {
    return 0;
  }
  uint32x4_t out = vandq_u32(part.lanes, vcgtq_f32(inter, vmulq_n_f32(both, threshold.high)));
  if (vmaxvq_u32(vbicq_u32(maybe, out)) != 0) {
    out = vandq_u32(part.lanes, exceeds_exactly(inter, both, threshold));
  }
  vst1q_f32(corners, vbslq_f32(out, gone_f32x4(), part.x1));
  return vaddvq_u32(vshrq_n_u32(out, 31));
}

inline std::uint32_t suppress_block(float *corners, const Query &query, const NmsThreshold &threshold) {
  const Overlap first = overlap_at(corners, query);
  const Overlap second = overlap_at(corners + half, query);
  if (vmaxvq_u32(vorrq_u32(first.lanes, second.lanes)) == 0) {
    return 0;
  }
  return suppress_part(corners, first, query, threshold) + suppress_part(corners + half, second, query, threshold);
}

std::uint32_t suppress_run(float *blocks, std::size_t first, std::size_t last, const NmsBox &box,
                           const NmsThreshold &threshold) {
  const Query query = broadcast(box);
  std::uint32_t suppressed = 0;
  for (std::size_t block = first; block < last; ++block) {
    suppressed += suppress_block(blocks + block * NmsBlocks::floats, query, threshold);
  }
  return suppressed;
}

std::uint32_t suppress_list(float *blocks, const std::uint32_t *list, std::size_t count, const NmsBox &box,
                            const NmsThreshold &threshold) {
  const Query query = broadcast(box);
  std::uint32_t suppressed = 0;
  for (std::size_t i = 0; i < count; ++i) {
    suppressed += suppress_block(blocks + std::size_t{list[i]} * NmsBlocks::floats, query, threshold);
  }
  return suppressed;
}

void suppress_surely(float *corners, std::size_t blocks, const NmsBox *boxes, std::size_t count, float sure_share) {
  for (std::size_t i = 0; i < blocks * lanes; i += half) {
    float *const at = corners + i / lanes * NmsBlocks::floats + i % lanes;
    const float32x4_t x1 = vld1q_f32(at);
    const float32x4_t y1 = vld1q_f32(at + lanes);
    const float32x4_t x2 = vld1q_f32(at + 2 * lanes);
    const float32x4_t y2 = vld1q_f32(at + 3 * lanes);
    const float32x4_t area = vmulq_f32(vsubq_f32(x2, x1), vsubq_f32(y2, y1));
    const uint32x4_t regular = vandq_u32(vcgeq_f32(area, vdupq_n_f32(0x1p-100F)), vcleq_f32(area, vdupq_n_f32(0x1p100F)));
    const float32x4_t share = vbslq_f32(regular, vmulq_n_f32(area, sure_share), gone_f32x4());
    uint32x4_t out = vdupq_n_u32(0);
    for (std::size_t k = 0; k < count; ++k) {
      const Query box = broadcast(boxes[k]);
      const float32x4_t width = vsubq_f32(vminq_f32(x2, box.x2), vmaxq_f32(x1, box.x1));
      const float32x4_t height = vsubq_f32(vminq_f32(y2, box.y2), vmaxq_f32(y1, box.y1));
      const float32x4_t inter = vmulq_f32(vmaxq_f32(width, vdupq_n_f32(0.0F)), height);
      out = vorrq_u32(out, vcgtq_f32(inter, vaddq_f32(share, vmulq_n_f32(box.area, sure_share))));
    }
    vst1q_f32(at, vbslq_f32(out, gone_f32x4(), x1));
  }
}

// Whether a lane suppresses the query.
bool part_suppresses(const float *corners, const Query &query, const NmsThreshold &threshold) {
  const Overlap part = overlap_at(corners, query);
  const float32x4_t inter = vmulq_f32(part.width, part.height);
  const float32x4_t area = vmulq_f32(vsubq_f32(part.x2, part.x1), vsubq_f32(part.y2, part.y1));
  const float32x4_t both = vsubq_f32(vaddq_f32(query.area, area), inter);
  const uint32x4_t surely = vandq_u32(part.lanes, vcgtq_f32(inter, vmulq_n_f32(both, threshold.high)));
  return vmaxvq_u32(surely) != 0 || vmaxvq_u32(vandq_u32(part.lanes, exceeds_exactly(inter, both, threshold))) != 0;
}

// Lanes that may suppress the query: they share more than their part of both areas.
uint32x4_t maybe_suppressing(const float *corners, const float *shares, const Query &query, float32x4_t share_f32x4) {
  const float32x4_t width =
      vsubq_f32(vminq_f32(query.x2, vld1q_f32(corners + 2 * lanes)), vmaxq_f32(query.x1, vld1q_f32(corners)));
  const float32x4_t height =
      vsubq_f32(vminq_f32(query.y2, vld1q_f32(corners + 3 * lanes)), vmaxq_f32(query.y1, vld1q_f32(corners + lanes)));
  // One side is clamped, so that two negative ones make no positive area.
  const float32x4_t inter = vmulq_f32(vmaxq_f32(width, vdupq_n_f32(0.0F)), height);
  return vcgtq_f32(inter, vaddq_f32(share_f32x4, vld1q_f32(shares)));
}

std::size_t steps_to_suppressor(const float *blocks, const float *shares, std::size_t first, std::size_t last,
                                const NmsBox &box, float share, const NmsThreshold &threshold) {
  const Query query = broadcast(box);
  const float32x4_t share_f32x4 = vdupq_n_f32(share);
  for (std::size_t block = first; block < last; block += 2) {
    const float *const even = blocks + block * NmsBlocks::floats;
    const float *const odd = even + NmsBlocks::floats;
    const float *const share_of = shares + block * lanes;
    const uint32x4_t maybe_even = vorrq_u32(maybe_suppressing(even, share_of, query, share_f32x4),
                                            maybe_suppressing(even + half, share_of + half, query, share_f32x4));
    const uint32x4_t maybe_odd = vorrq_u32(maybe_suppressing(odd, share_of + lanes, query, share_f32x4),
                                           maybe_suppressing(odd + half, share_of + lanes + half, query, share_f32x4));
    if (vmaxvq_u32(vorrq_u32(maybe_even, maybe_odd)) == 0) {
      continue;
    }
    if (part_suppresses(even, query, threshold) || part_suppresses(even + half, query, threshold) ||
        part_suppresses(odd, query, threshold) || part_suppresses(odd + half, query, threshold)) {
      return (block - first) / 2;
    }
  }
  return (last - first) / 2;
}

std::size_t overlaps(const float *blocks, std::size_t first, std::size_t last, const NmsBox &box, std::uint32_t *positions,
                     float *ious) {
  const Query query = broadcast(box);
  std::size_t found = 0;
  for (std::size_t i = first * lanes; i < last * lanes; i += half) {
    const Overlap part = overlap_at(blocks + i / lanes * NmsBlocks::floats + i % lanes, query);
    if (vmaxvq_u32(part.lanes) == 0) {
      continue;
    }
    const float32x4_t inter = vmulq_f32(part.width, part.height);
    const float32x4_t area = vmulq_f32(vsubq_f32(part.x2, part.x1), vsubq_f32(part.y2, part.y1));
    const float32x4_t iou = vdivq_f32(inter, vsubq_f32(vaddq_f32(query.area, area), inter));
    float iou_of_lane[half];
    std::uint32_t counts[half];
    vst1q_f32(iou_of_lane, iou);
    vst1q_u32(counts, vandq_u32(part.lanes, vceqq_f32(iou, iou)));
    for (std::uint32_t lane = 0; lane < half; ++lane) {
      if (counts[lane] != 0) {
        positions[found] = static_cast<std::uint32_t>(i) + lane;
        ious[found] = iou_of_lane[lane];
        ++found;
      }
    }
  }
  return found;
}

std::size_t first_largest(const float *scores, std::size_t blocks) {
  float32x4_t best = vld1q_f32(scores);
  uint32x4_t best_at = vdupq_n_u32(0);
  const std::size_t parts = blocks * (lanes / half);
  for (std::size_t part = 1; part < parts; ++part) {
    const float32x4_t score = vld1q_f32(scores + part * half);
    const uint32x4_t better = vcgtq_f32(score, best);
    best = vbslq_f32(better, score, best);
    best_at = vbslq_u32(better, vdupq_n_u32(static_cast<std::uint32_t>(part)), best_at);
  }
  float score_of_lane[half];
  std::uint32_t part_of_lane[half];
  vst1q_f32(score_of_lane, best);
  vst1q_u32(part_of_lane, best_at);
  return first_of_lanes<half>(score_of_lane, part_of_lane);
}

}  // namespace

// Tables of sets are alike on purpose: each line is a choice.
const NmsKernels neon_nms_kernels = {
    .name = "neon",
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
