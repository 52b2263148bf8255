#include "kernels/iou_exact_avx2.h"
#include "kernels/kernels.h"

namespace simaai::kernels::detail {
bool suppressed_exact_avx2(const ExactBlock *pool, std::uint32_t first, const NmsBox &candidate,
                           const NmsThreshold &threshold) {
  const __m256 x1_f32x8 = _mm256_set1_ps(candidate.x1);
  const __m256 y1_f32x8 = _mm256_set1_ps(candidate.y1);
  const __m256 x2_f32x8 = _mm256_set1_ps(candidate.x2);
  const __m256 y2_f32x8 = _mm256_set1_ps(candidate.y2);
  const __m256 area_f32x8 = _mm256_set1_ps(candidate.area);
  const __m256 low_f32x8 = _mm256_set1_ps(threshold.low);
  const __m256 high_f32x8 = _mm256_set1_ps(threshold.high);
  for (std::uint32_t index = first; index != ExactBlock::end; index = pool[index].next) {
    const ExactBlock &block = pool[index];
    const __m256 right_f32x8 = _mm256_min_ps(_mm256_loadu_ps(block.x2), x2_f32x8);
    const __m256 bottom_f32x8 = _mm256_min_ps(_mm256_loadu_ps(block.y2), y2_f32x8);
    const __m256 width_f32x8 = _mm256_sub_ps(right_f32x8, _mm256_max_ps(_mm256_loadu_ps(block.x1), x1_f32x8));
    const __m256 height_f32x8 = _mm256_sub_ps(bottom_f32x8, _mm256_max_ps(_mm256_loadu_ps(block.y1), y1_f32x8));
    const __m256 overlap = _mm256_cmp_ps(_mm256_min_ps(width_f32x8, height_f32x8), _mm256_setzero_ps(), _CMP_GT_OQ);
    if (_mm256_movemask_ps(overlap) == 0) {
      continue;
    }
    // Unused lanes have an infinite width, of the other sign: nothing of them counts.
    const __m256 inter_f32x8 = _mm256_and_ps(_mm256_mul_ps(width_f32x8, height_f32x8), overlap);
    const __m256 both_f32x8 = _mm256_sub_ps(_mm256_add_ps(_mm256_loadu_ps(block.area), area_f32x8), inter_f32x8);
    // The FP32 neighbours of the threshold decide nearly every pair.
    const __m256 positive = _mm256_cmp_ps(inter_f32x8, _mm256_setzero_ps(), _CMP_GT_OQ);
    const __m256 maybe = _mm256_and_ps(positive, _mm256_cmp_ps(inter_f32x8, _mm256_mul_ps(both_f32x8, low_f32x8), _CMP_GE_OQ));
    const int maybe_lanes = _mm256_movemask_ps(maybe);
    if (maybe_lanes == 0) {
      continue;
    }
    const __m256 sure = _mm256_cmp_ps(inter_f32x8, _mm256_mul_ps(both_f32x8, high_f32x8), _CMP_GT_OQ);
    if ((_mm256_movemask_ps(sure) & maybe_lanes) != 0) {
      return true;
    }
    const int past = past_f64x8(inter_f32x8, both_f32x8, threshold);
    if ((past & maybe_lanes) != 0) {
      return true;
    }
  }
  return false;
}

}  // namespace simaai::kernels::detail
