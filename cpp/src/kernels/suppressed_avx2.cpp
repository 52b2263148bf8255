#include "kernels/kernels.h"
#include "kernels/vectors_avx2.h"

namespace simaai::kernels::detail {
namespace {

// inter · (256 + least_iou) ≥ least_iou · (areas) and areas > inter in the 64-bit lanes.
Vector suppressing_u64x4(Vector width, Vector height, Vector area, Vector candidate_area, Vector least_iou, Vector scale) {
  const Vector inter = _mm256_mul_epu32(width, height);
  const Vector areas = _mm256_add_epi64(_mm256_and_si256(area, _mm256_set1_epi64x(0xFFFFFFFF)), candidate_area);
  const Vector need = _mm256_add_epi64(_mm256_mul_epu32(area, least_iou), _mm256_mul_epu32(candidate_area, least_iou));
  const Vector too_small = _mm256_cmpgt_epi64(need, _mm256_mul_epu32(inter, scale));
  return _mm256_andnot_si256(too_small, _mm256_cmpgt_epi64(areas, inter));
}

}  // namespace

bool suppressed_avx2(const SuppressionBlock *pool, std::uint32_t first, const RoundedBox &candidate, std::uint32_t least_iou) {
  const Vector x1 = _mm256_set1_epi32(candidate.x1);
  const Vector y1 = _mm256_set1_epi32(candidate.y1);
  const Vector x2 = _mm256_set1_epi32(candidate.x2);
  const Vector y2 = _mm256_set1_epi32(candidate.y2);
  for (std::uint32_t index = first; index != SuppressionBlock::end; index = pool[index].next) {
    const SuppressionBlock &block = pool[index];
    const Vector left = _mm256_max_epi32(load(block.x1), x1);
    const Vector right = _mm256_min_epi32(load(block.x2), x2);
    const Vector top = _mm256_max_epi32(load(block.y1), y1);
    const Vector bottom = _mm256_min_epi32(load(block.y2), y2);
    const Vector overlap = _mm256_and_si256(_mm256_cmpgt_epi32(right, left), _mm256_cmpgt_epi32(bottom, top));
    if (_mm256_testz_si256(overlap, overlap) != 0) {
      continue;
    }
    const Vector candidate_area = _mm256_set1_epi64x(static_cast<std::int64_t>(candidate.area));
    const Vector limits = _mm256_set1_epi64x(static_cast<std::int64_t>(least_iou));
    const Vector scale = _mm256_set1_epi64x(static_cast<std::int64_t>(256U + least_iou));
    // Sides of lanes that do not overlap are zero: nothing is suppressed by an intersection of zero unless the areas are
    // zero too, and then they are not greater than it.
    const Vector width = _mm256_and_si256(_mm256_sub_epi32(right, left), overlap);
    const Vector height = _mm256_sub_epi32(bottom, top);
    const Vector area = load(block.area);
    const Vector even = suppressing_u64x4(width, height, area, candidate_area, limits, scale);
    const Vector odd = suppressing_u64x4(_mm256_srli_epi64(width, 32), _mm256_srli_epi64(height, 32),
                                         _mm256_srli_epi64(area, 32), candidate_area, limits, scale);
    const Vector any = _mm256_or_si256(even, odd);
    if (_mm256_testz_si256(any, any) == 0) {
      return true;
    }
  }
  return false;
}

}  // namespace simaai::kernels::detail
