#include <immintrin.h>

#include "kernels/kernels.h"

namespace simaai::kernels::detail {

void mask_bytes_avx2(const std::int32_t *sums, std::size_t pixels, const MaskSteps &steps, std::uint8_t *bytes) {
  const std::int32_t last = static_cast<std::int32_t>(steps.buckets << steps.shift) - 1;
  const __m128i shift = _mm_cvtsi32_si128(static_cast<int>(steps.shift));
  std::size_t pixel = 0;
  for (; pixel + 8 <= pixels; pixel += 8) {
    __m256i above_s32x8 = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(sums + pixel));
    above_s32x8 = _mm256_sub_epi32(above_s32x8, _mm256_set1_epi32(steps.low));
    above_s32x8 = _mm256_min_epi32(_mm256_max_epi32(above_s32x8, _mm256_setzero_si256()), _mm256_set1_epi32(last));
    const __m256i bucket_s32x8 = _mm256_srl_epi32(above_s32x8, shift);
    const __m256i inside_s32x8 = _mm256_sub_epi32(above_s32x8, _mm256_sll_epi32(bucket_s32x8, shift));
    const __m256i entry_s32x8 = _mm256_i32gather_epi32(reinterpret_cast<const int *>(steps.entries), bucket_s32x8, 4);
    const __m256i step_s32x8 = _mm256_srli_epi32(entry_s32x8, 8);
    // inside ≥ step ⇔ not step > inside; the comparison gives −1.
    const __m256i before_s32x8 = _mm256_cmpgt_epi32(step_s32x8, inside_s32x8);
    __m256i byte_s32x8 = _mm256_and_si256(entry_s32x8, _mm256_set1_epi32(0xFF));
    byte_s32x8 = _mm256_add_epi32(byte_s32x8, _mm256_add_epi32(_mm256_set1_epi32(1), before_s32x8));
    const __m128i words_u16x8 = _mm_packus_epi32(_mm256_castsi256_si128(byte_s32x8), _mm256_extracti128_si256(byte_s32x8, 1));
    _mm_storel_epi64(reinterpret_cast<__m128i *>(bytes + pixel), _mm_packus_epi16(words_u16x8, words_u16x8));
  }
  mask_bytes_scalar(sums + pixel, pixels - pixel, steps, bytes + pixel);
}

}  // namespace simaai::kernels::detail
