#pragma once

#include <immintrin.h>

#include "kernels/nms_kernels.h"

// The rule of overlap in exact doubles, for all kernels of this instruction set that need it.
namespace simaai::kernels::detail {
namespace {

// Which of four quotients inter/both are past the threshold: one bit a lane. An inter of zero is for the caller to rule out.
inline int past_f64x4(__m128 inter_f32x4, __m128 both_f32x4, const NmsThreshold &threshold) {
  const __m256d inter_f64x4 = _mm256_cvtps_pd(inter_f32x4);
  const __m256d bound_f64x4 = _mm256_mul_pd(_mm256_set1_pd(threshold.middle), _mm256_cvtps_pd(both_f32x4));
  return threshold.tie_suppresses != 0 ? _mm256_movemask_pd(_mm256_cmp_pd(inter_f64x4, bound_f64x4, _CMP_GE_OQ))
                                       : _mm256_movemask_pd(_mm256_cmp_pd(inter_f64x4, bound_f64x4, _CMP_GT_OQ));
}

// The same of eight.
inline int past_f64x8(__m256 inter_f32x8, __m256 both_f32x8, const NmsThreshold &threshold) {
  return past_f64x4(_mm256_castps256_ps128(inter_f32x8), _mm256_castps256_ps128(both_f32x8), threshold) |
         past_f64x4(_mm256_extractf128_ps(inter_f32x8, 1), _mm256_extractf128_ps(both_f32x8, 1), threshold) << 4;
}

}  // namespace
}  // namespace simaai::kernels::detail
