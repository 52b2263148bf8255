#include "kernels/nms_kernels.h"

#include <immintrin.h>

#include "kernels/first_largest.h"
#include "kernels/iou_exact_avx2.h"

namespace simaai::kernels::detail {
namespace {

constexpr std::uint32_t lanes = NmsBlocks::lanes;

__m256 gone_f32x8() { return _mm256_castsi256_ps(_mm256_set1_epi32(0x7F800000)); }

// Whether two boxes, in the two halves, are finite with x2 ≥ x1 and y2 ≥ y1: all ones in all lanes if so.
__m256 valid_boxes(__m256 boxes_f32x8) {
  const __m256 upper_corners = _mm256_permute_ps(boxes_f32x8, 0xEE);
  const __m256 ordered = _mm256_cmp_ps(upper_corners, boxes_f32x8, _CMP_GE_OQ);
  const __m256 difference = _mm256_sub_ps(boxes_f32x8, boxes_f32x8);
  return _mm256_and_ps(ordered, _mm256_cmp_ps(difference, _mm256_setzero_ps(), _CMP_EQ_OQ));
}

NmsRowFacts check_rows(const float *boxes, const float *scores, std::size_t rows, float *copied) {
  const std::size_t whole = rows / lanes * lanes;
  const __m256 zero = _mm256_setzero_ps();
  __m256 least_f32x8 = gone_f32x8();
  __m256 largest_f32x8 = _mm256_sub_ps(zero, gone_f32x8());
  __m256 valid = _mm256_castsi256_ps(_mm256_set1_epi32(-1));
  for (std::size_t row = 0; row < whole; row += lanes) {
    const float *const box = boxes + 4 * row;
    const __m256 first = _mm256_and_ps(valid_boxes(_mm256_loadu_ps(box)), valid_boxes(_mm256_loadu_ps(box + 8)));
    const __m256 second = _mm256_and_ps(valid_boxes(_mm256_loadu_ps(box + 16)), valid_boxes(_mm256_loadu_ps(box + 24)));
    const __m256 score = _mm256_add_ps(_mm256_loadu_ps(scores + row), zero);
    _mm256_storeu_ps(copied + row, score);
    least_f32x8 = _mm256_min_ps(score, least_f32x8);
    largest_f32x8 = _mm256_max_ps(score, largest_f32x8);
    valid = _mm256_and_ps(valid, _mm256_and_ps(_mm256_and_ps(first, second), _mm256_cmp_ps(score, score, _CMP_ORD_Q)));
  }
  alignas(32) float least_of_lane[lanes];
  alignas(32) float largest_of_lane[lanes];
  _mm256_store_ps(least_of_lane, least_f32x8);
  _mm256_store_ps(largest_of_lane, largest_f32x8);
  NmsRowFacts facts = scalar_nms_kernels.check_rows(boxes + 4 * whole, scores + whole, rows - whole, copied + whole);
  for (std::uint32_t lane = 0; lane < lanes; ++lane) {
    facts.least = least_of_lane[lane] < facts.least ? least_of_lane[lane] : facts.least;
    facts.largest = largest_of_lane[lane] > facts.largest ? largest_of_lane[lane] : facts.largest;
  }
  if (_mm256_movemask_ps(valid) != 0xFF) {
    facts.valid = 0;
  }
  return facts;
}

void bucket_scores(const float *scores, std::size_t rows, float largest, float scale, std::uint32_t *buckets) {
  const std::size_t whole = rows / lanes * lanes;
  const __m256 largest_f32x8 = _mm256_set1_ps(largest);
  const __m256 scale_f32x8 = _mm256_set1_ps(scale);
  for (std::size_t row = 0; row < whole; row += lanes) {
    const __m256 scaled = _mm256_mul_ps(_mm256_sub_ps(largest_f32x8, _mm256_loadu_ps(scores + row)), scale_f32x8);
    _mm256_storeu_si256(reinterpret_cast<__m256i *>(buckets + row), _mm256_cvttps_epi32(scaled));
  }
  scalar_nms_kernels.bucket_scores(scores + whole, rows - whole, largest, scale, buckets + whole);
}

// Lanes whose exact double comparison says that the IoU exceeds the threshold.
__m256 exceeds_exactly(__m256 inter_f32x8, __m256 both_f32x8, const NmsThreshold &threshold) {
  const __m256i bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
  const __m256i chosen = _mm256_and_si256(_mm256_set1_epi32(past_f64x8(inter_f32x8, both_f32x8, threshold)), bit);
  const __m256 positive = _mm256_cmp_ps(inter_f32x8, _mm256_setzero_ps(), _CMP_GT_OQ);
  return _mm256_and_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(chosen, bit)), positive);
}

// Eight boxes by coordinate.
struct Corners {
  __m256 x1, y1, x2, y2;
};

Corners gather(const float *boxes, const std::uint32_t *rows) {
  __m256 pair[4];
  for (int i = 0; i < 4; ++i) {
    const __m128 low = _mm_loadu_ps(boxes + 4 * std::size_t{rows[i]});
    const __m128 high = _mm_loadu_ps(boxes + 4 * std::size_t{rows[i + 4]});
    pair[i] = _mm256_insertf128_ps(_mm256_castps128_ps256(low), high, 1);
  }
  const __m256 xy_even = _mm256_unpacklo_ps(pair[0], pair[2]);  // x1 of 0 and 2, y1 of 0 and 2
  const __m256 xy_odd = _mm256_unpacklo_ps(pair[1], pair[3]);
  const __m256 corner_even = _mm256_unpackhi_ps(pair[0], pair[2]);
  const __m256 corner_odd = _mm256_unpackhi_ps(pair[1], pair[3]);
  return Corners{_mm256_unpacklo_ps(xy_even, xy_odd), _mm256_unpackhi_ps(xy_even, xy_odd),
                 _mm256_unpacklo_ps(corner_even, corner_odd), _mm256_unpackhi_ps(corner_even, corner_odd)};
}

// Cells of four boxes in the low halves of 64-bit lanes.
__m256i cells(__m128 lower_f32x4, __m128 upper_f32x4, __m256d scale_f64x4) {
  const __m256d twice_centre = _mm256_add_pd(_mm256_cvtps_pd(lower_f32x4), _mm256_cvtps_pd(upper_f32x4));
  return _mm256_castpd_si256(_mm256_add_pd(_mm256_mul_pd(twice_centre, scale_f64x4), _mm256_set1_pd(0x1.8p52)));
}

// The low halves of the 64-bit lanes of two registers, in order.
__m256i low_halves(__m256i first, __m256i second) {
  const __m256 even = _mm256_shuffle_ps(_mm256_castsi256_ps(first), _mm256_castsi256_ps(second), 0x88);
  return _mm256_permute4x64_epi64(_mm256_castps_si256(even), 0xD8);
}

NmsGridSizes grid_buckets(const float *boxes, const std::uint32_t *rows, std::size_t count, NmsGridRule rule,
                          std::uint32_t *buckets) {
  const std::size_t whole = count / lanes * lanes;
  const __m256i mask = _mm256_set1_epi32(static_cast<int>(rule.mask));
  const __m256i beyond = _mm256_set1_epi32(static_cast<int>(rule.mask + 1));
  const __m256i exponent_base = _mm256_set1_epi32(1023 + rule.scale_exponent);
  const __m256i inert_bucket = _mm256_set1_epi32(static_cast<int>(rule.mask + 2));
  __m256i least = _mm256_set1_epi32(0x7FFFFFFF);
  __m256i largest = _mm256_set1_epi32(-1);
  for (std::size_t i = 0; i < whole; i += lanes) {
    const Corners box = gather(boxes, rows + i);
    const __m256 width = _mm256_sub_ps(box.x2, box.x1);
    const __m256 height = _mm256_sub_ps(box.y2, box.y1);
    const __m256 area = _mm256_mul_ps(width, height);
    const __m256 regular = _mm256_and_ps(_mm256_cmp_ps(area, _mm256_set1_ps(0x1p-100F), _CMP_GE_OQ),
                                         _mm256_cmp_ps(area, _mm256_set1_ps(0x1p100F), _CMP_LE_OQ));
    const __m256i size = _mm256_srli_epi32(_mm256_castps_si256(_mm256_max_ps(width, height)), 24);
    const __m256i regular_lanes = _mm256_castps_si256(regular);
    least = _mm256_min_epi32(least, _mm256_blendv_epi8(least, size, regular_lanes));
    largest = _mm256_max_epi32(largest, _mm256_blendv_epi8(largest, size, regular_lanes));
    const __m256i exponent = _mm256_sub_epi32(exponent_base, _mm256_add_epi32(size, size));
    const __m256d scale_low =
        _mm256_castsi256_pd(_mm256_slli_epi64(_mm256_cvtepi32_epi64(_mm256_castsi256_si128(exponent)), 52));
    const __m256d scale_high =
        _mm256_castsi256_pd(_mm256_slli_epi64(_mm256_cvtepi32_epi64(_mm256_extracti128_si256(exponent, 1)), 52));
    const __m256i x = low_halves(cells(_mm256_castps256_ps128(box.x1), _mm256_castps256_ps128(box.x2), scale_low),
                                 cells(_mm256_extractf128_ps(box.x1, 1), _mm256_extractf128_ps(box.x2, 1), scale_high));
    const __m256i y = low_halves(cells(_mm256_castps256_ps128(box.y1), _mm256_castps256_ps128(box.y2), scale_low),
                                 cells(_mm256_extractf128_ps(box.y1, 1), _mm256_extractf128_ps(box.y2, 1), scale_high));
    __m256i row = _mm256_add_epi32(_mm256_mullo_epi32(y, _mm256_set1_epi32(static_cast<int>(0x9E3779B1U))),
                                   _mm256_mullo_epi32(size, _mm256_set1_epi32(static_cast<int>(0x85EBCA77U))));
    row = _mm256_xor_si256(row, _mm256_srli_epi32(row, 15));
    const __m256i cell = _mm256_and_si256(_mm256_add_epi32(row, x), mask);
    const __m256 inert = _mm256_cmp_ps(area, _mm256_setzero_ps(), _CMP_EQ_OQ);
    const __m256i otherwise = _mm256_blendv_epi8(beyond, inert_bucket, _mm256_castps_si256(inert));
    _mm256_storeu_si256(reinterpret_cast<__m256i *>(buckets + i), _mm256_blendv_epi8(otherwise, cell, regular_lanes));
  }
  alignas(32) std::int32_t least_of_lane[lanes];
  alignas(32) std::int32_t largest_of_lane[lanes];
  _mm256_store_si256(reinterpret_cast<__m256i *>(least_of_lane), least);
  _mm256_store_si256(reinterpret_cast<__m256i *>(largest_of_lane), largest);
  NmsGridSizes sizes = scalar_nms_kernels.grid_buckets(boxes, rows + whole, count - whole, rule, buckets + whole);
  for (std::uint32_t lane = 0; lane < lanes; ++lane) {
    if (largest_of_lane[lane] >= 0) {
      const auto least_size = static_cast<std::uint32_t>(least_of_lane[lane]);
      const auto largest_size = static_cast<std::uint32_t>(largest_of_lane[lane]);
      sizes.least = least_size < sizes.least ? least_size : sizes.least;
      sizes.largest = largest_size > sizes.largest ? largest_size : sizes.largest;
    }
  }
  return sizes;
}

// A box that others are held against, in every lane.
struct Query {
  __m256 x1, y1, x2, y2, area;
};

Query broadcast(const NmsBox &box) {
  return Query{_mm256_set1_ps(box.x1), _mm256_set1_ps(box.y1), _mm256_set1_ps(box.x2), _mm256_set1_ps(box.y2),
               _mm256_set1_ps(box.area)};
}

// A block of boxes and what they share with the query.
struct Overlap {
  __m256 x1, y1, x2, y2, width, height, lanes;
};

Overlap overlap_at(const float *corners, const Query &query) {
  Overlap part;
  part.x1 = _mm256_load_ps(corners);
  part.y1 = _mm256_load_ps(corners + lanes);
  part.x2 = _mm256_load_ps(corners + 2 * lanes);
  part.y2 = _mm256_load_ps(corners + 3 * lanes);
  part.width = _mm256_sub_ps(_mm256_min_ps(part.x2, query.x2), _mm256_max_ps(part.x1, query.x1));
  part.height = _mm256_sub_ps(_mm256_min_ps(part.y2, query.y2), _mm256_max_ps(part.y1, query.y1));
  part.lanes = _mm256_cmp_ps(_mm256_min_ps(part.width, part.height), _mm256_setzero_ps(), _CMP_GT_OQ);
  return part;
}

// A query and the bounds of the threshold, in every lane.
struct Judge {
  Query query;
  __m256 low, high;
};

Judge broadcast(const NmsBox &box, const NmsThreshold &threshold) {
  return Judge{broadcast(box), _mm256_set1_ps(threshold.low), _mm256_set1_ps(threshold.high)};
}

inline std::uint32_t suppress_block(float *corners, const Judge &judge, const NmsThreshold &threshold) {
  const Overlap part = overlap_at(corners, judge.query);
  if (_mm256_movemask_ps(part.lanes) == 0) {
    return 0;
  }
  const __m256 inter = _mm256_mul_ps(part.width, part.height);
  const __m256 area = _mm256_mul_ps(_mm256_sub_ps(part.x2, part.x1), _mm256_sub_ps(part.y2, part.y1));
  const __m256 both = _mm256_sub_ps(_mm256_add_ps(judge.query.area, area), inter);
  const __m256 maybe = _mm256_and_ps(part.lanes, _mm256_cmp_ps(inter, _mm256_mul_ps(both, judge.low), _CMP_GE_OQ));
  if (_mm256_movemask_ps(maybe) == 0) {
    return 0;
  }
  __m256 out = _mm256_and_ps(part.lanes, _mm256_cmp_ps(inter, _mm256_mul_ps(both, judge.high), _CMP_GT_OQ));
  if (_mm256_movemask_ps(_mm256_andnot_ps(out, maybe)) != 0) {
    out = _mm256_and_ps(part.lanes, exceeds_exactly(inter, both, threshold));
  }
  _mm256_store_ps(corners, _mm256_blendv_ps(part.x1, gone_f32x8(), out));
  return static_cast<std::uint32_t>(__builtin_popcount(static_cast<unsigned>(_mm256_movemask_ps(out))));
}

std::uint32_t suppress_run(float *blocks, std::size_t first, std::size_t last, const NmsBox &box,
                           const NmsThreshold &threshold) {
  const Judge judge = broadcast(box, threshold);
  std::uint32_t suppressed = 0;
  for (std::size_t block = first; block < last; ++block) {
    suppressed += suppress_block(blocks + block * NmsBlocks::floats, judge, threshold);
  }
  return suppressed;
}

std::uint32_t suppress_list(float *blocks, const std::uint32_t *list, std::size_t count, const NmsBox &box,
                            const NmsThreshold &threshold) {
  const Judge judge = broadcast(box, threshold);
  std::uint32_t suppressed = 0;
  for (std::size_t i = 0; i < count; ++i) {
    suppressed += suppress_block(blocks + std::size_t{list[i]} * NmsBlocks::floats, judge, threshold);
  }
  return suppressed;
}

// Eight lanes and what of their areas would have to be shared.
struct Lanes {
  __m256 x1, y1, x2, y2, share;
};

Lanes lanes_at(const float *corners, __m256 sure_share_f32x8) {
  Lanes part;
  part.x1 = _mm256_load_ps(corners);
  part.y1 = _mm256_load_ps(corners + lanes);
  part.x2 = _mm256_load_ps(corners + 2 * lanes);
  part.y2 = _mm256_load_ps(corners + 3 * lanes);
  const __m256 area = _mm256_mul_ps(_mm256_sub_ps(part.x2, part.x1), _mm256_sub_ps(part.y2, part.y1));
  const __m256 regular = _mm256_and_ps(_mm256_cmp_ps(area, _mm256_set1_ps(0x1p-100F), _CMP_GE_OQ),
                                       _mm256_cmp_ps(area, _mm256_set1_ps(0x1p100F), _CMP_LE_OQ));
  part.share = _mm256_blendv_ps(gone_f32x8(), _mm256_mul_ps(sure_share_f32x8, area), regular);
  return part;
}

__m256 surely_suppressed(const Lanes &part, const Query &box, __m256 share_f32x8) {
  const __m256 width = _mm256_sub_ps(_mm256_min_ps(part.x2, box.x2), _mm256_max_ps(part.x1, box.x1));
  const __m256 height = _mm256_sub_ps(_mm256_min_ps(part.y2, box.y2), _mm256_max_ps(part.y1, box.y1));
  const __m256 inter = _mm256_mul_ps(_mm256_max_ps(width, _mm256_setzero_ps()), height);
  return _mm256_cmp_ps(inter, _mm256_add_ps(part.share, share_f32x8), _CMP_GT_OQ);
}

void suppress_surely(float *corners, std::size_t blocks, const NmsBox *boxes, std::size_t count, float sure_share) {
  const __m256 sure_share_f32x8 = _mm256_set1_ps(sure_share);
  for (std::size_t block = 0; block < blocks; block += 2) {
    float *const at = corners + block * NmsBlocks::floats;
    const Lanes even = lanes_at(at, sure_share_f32x8);
    const Lanes odd = lanes_at(at + NmsBlocks::floats, sure_share_f32x8);
    __m256 even_out = _mm256_setzero_ps();
    __m256 odd_out = _mm256_setzero_ps();
    for (std::size_t k = 0; k < count; ++k) {
      const Query box = broadcast(boxes[k]);
      const __m256 share_f32x8 = _mm256_mul_ps(sure_share_f32x8, box.area);
      even_out = _mm256_or_ps(even_out, surely_suppressed(even, box, share_f32x8));
      odd_out = _mm256_or_ps(odd_out, surely_suppressed(odd, box, share_f32x8));
    }
    _mm256_store_ps(at, _mm256_blendv_ps(even.x1, gone_f32x8(), even_out));
    _mm256_store_ps(at + NmsBlocks::floats, _mm256_blendv_ps(odd.x1, gone_f32x8(), odd_out));
  }
}

// Lanes of which FP32 proves that they suppress the query.
__m256 surely_suppressing(const Overlap &part, const Judge &judge) {
  const __m256 inter = _mm256_mul_ps(part.width, part.height);
  const __m256 area = _mm256_mul_ps(_mm256_sub_ps(part.x2, part.x1), _mm256_sub_ps(part.y2, part.y1));
  const __m256 both = _mm256_sub_ps(_mm256_add_ps(judge.query.area, area), inter);
  return _mm256_and_ps(part.lanes, _mm256_cmp_ps(inter, _mm256_mul_ps(both, judge.high), _CMP_GT_OQ));
}

bool suppresses_exactly(const Overlap &part, const Query &query, const NmsThreshold &threshold) {
  const __m256 inter = _mm256_mul_ps(part.width, part.height);
  const __m256 area = _mm256_mul_ps(_mm256_sub_ps(part.x2, part.x1), _mm256_sub_ps(part.y2, part.y1));
  const __m256 both = _mm256_sub_ps(_mm256_add_ps(query.area, area), inter);
  return _mm256_movemask_ps(_mm256_and_ps(part.lanes, exceeds_exactly(inter, both, threshold))) != 0;
}

// Lanes that may suppress the query: they share more than their part of both areas.
__m256 maybe_suppressing(const float *corners, const float *shares, const Query &query, __m256 share_f32x8) {
  const __m256 width = _mm256_sub_ps(_mm256_min_ps(query.x2, _mm256_load_ps(corners + 2 * lanes)),
                                     _mm256_max_ps(query.x1, _mm256_load_ps(corners)));
  const __m256 height = _mm256_sub_ps(_mm256_min_ps(query.y2, _mm256_load_ps(corners + 3 * lanes)),
                                      _mm256_max_ps(query.y1, _mm256_load_ps(corners + lanes)));
  // One side is clamped, so that two negative ones make no positive area.
  const __m256 inter = _mm256_mul_ps(_mm256_max_ps(width, _mm256_setzero_ps()), height);
  return _mm256_cmp_ps(inter, _mm256_add_ps(share_f32x8, _mm256_load_ps(shares)), _CMP_GT_OQ);
}

std::size_t steps_to_suppressor(const float *blocks, const float *shares, std::size_t first, std::size_t last,
                                const NmsBox &box, float share, const NmsThreshold &threshold) {
  const Judge judge = broadcast(box, threshold);
  const __m256 share_f32x8 = _mm256_set1_ps(share);
  for (std::size_t block = first; block < last; block += 2) {
    const float *const corners = blocks + block * NmsBlocks::floats;
    const __m256 maybe =
        _mm256_or_ps(maybe_suppressing(corners, shares + block * lanes, judge.query, share_f32x8),
                     maybe_suppressing(corners + NmsBlocks::floats, shares + (block + 1) * lanes, judge.query, share_f32x8));
    if (_mm256_testz_ps(maybe, maybe) != 0) {
      continue;
    }
    // Both blocks at once: which of the two it was is a guess that a branch would lose half the time.
    const Overlap even = overlap_at(corners, judge.query);
    const Overlap odd = overlap_at(corners + NmsBlocks::floats, judge.query);
    const __m256 surely = _mm256_or_ps(surely_suppressing(even, judge), surely_suppressing(odd, judge));
    if (_mm256_testz_ps(surely, surely) == 0 || suppresses_exactly(even, judge.query, threshold) ||
        suppresses_exactly(odd, judge.query, threshold)) {
      return (block - first) / 2;
    }
  }
  return (last - first) / 2;
}

std::size_t overlaps(const float *blocks, std::size_t first, std::size_t last, const NmsBox &box, std::uint32_t *positions,
                     float *ious) {
  const Query query = broadcast(box);
  std::size_t found = 0;
  for (std::size_t block = first; block < last; ++block) {
    const Overlap part = overlap_at(blocks + block * NmsBlocks::floats, query);
    if (_mm256_movemask_ps(part.lanes) == 0) {
      continue;
    }
    const __m256 inter = _mm256_mul_ps(part.width, part.height);
    const __m256 area = _mm256_mul_ps(_mm256_sub_ps(part.x2, part.x1), _mm256_sub_ps(part.y2, part.y1));
    const __m256 iou = _mm256_div_ps(inter, _mm256_sub_ps(_mm256_add_ps(query.area, area), inter));
    const __m256 counts = _mm256_and_ps(part.lanes, _mm256_cmp_ps(iou, iou, _CMP_ORD_Q));
    alignas(32) float iou_of_lane[lanes];
    _mm256_store_ps(iou_of_lane, iou);
    for (auto mask = static_cast<unsigned>(_mm256_movemask_ps(counts)); mask != 0; mask &= mask - 1) {
      const auto lane = static_cast<std::uint32_t>(__builtin_ctz(mask));
      positions[found] = static_cast<std::uint32_t>(block * lanes) + lane;
      ious[found] = iou_of_lane[lane];
      ++found;
    }
  }
  return found;
}

std::size_t first_largest(const float *scores, std::size_t blocks) {
  __m256 best = _mm256_loadu_ps(scores);
  __m256i best_block = _mm256_setzero_si256();
  for (std::size_t block = 1; block < blocks; ++block) {
    const __m256 score = _mm256_loadu_ps(scores + block * lanes);
    const __m256 better = _mm256_cmp_ps(score, best, _CMP_GT_OQ);
    best = _mm256_blendv_ps(best, score, better);
    best_block = _mm256_blendv_epi8(best_block, _mm256_set1_epi32(static_cast<int>(block)), _mm256_castps_si256(better));
  }
  alignas(32) float score_of_lane[lanes];
  alignas(32) std::uint32_t block_of_lane[lanes];
  _mm256_store_ps(score_of_lane, best);
  _mm256_store_si256(reinterpret_cast<__m256i *>(block_of_lane), best_block);
  return first_of_lanes<lanes>(score_of_lane, block_of_lane);
}

}  // namespace

// Tables of sets are alike on purpose: each line is a choice.
const NmsKernels avx2_nms_kernels = {
    .name = "avx2",
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
