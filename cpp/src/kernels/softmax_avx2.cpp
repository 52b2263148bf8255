#include <immintrin.h>

#include "kernels/kernels.h"

namespace simaai::kernels::detail {
namespace {

constexpr std::uint32_t most_bins = 64;

// exp32 in four binary64 lanes, step by step the scalar form (numeric/exp32.cpp). The clamps leave room for results that
// round to 0 and to infinity; max and min pass NaN on, because it is their second operand. Below a maximum no result can
// overflow: x ≤ 0 or NaN needs no upper clamp.
template <bool below_maximum>
inline __attribute__((always_inline)) __m128 exp_f32x4(__m128 x_f32x4) {
  __m256d x_f64x4 = _mm256_cvtps_pd(x_f32x4);
  x_f64x4 = _mm256_max_pd(_mm256_set1_pd(-110.0), x_f64x4);
  if constexpr (!below_maximum) {
    x_f64x4 = _mm256_min_pd(_mm256_set1_pd(90.0), x_f64x4);
  }
  const __m256d shift_f64x4 = _mm256_set1_pd(0x1.8p+52);
  const __m256d shifted_f64x4 = _mm256_add_pd(_mm256_mul_pd(x_f64x4, _mm256_set1_pd(0x1.71547652b82fep+0)), shift_f64x4);
  const __m256d n_f64x4 = _mm256_sub_pd(shifted_f64x4, shift_f64x4);
  __m256d r_f64x4 = _mm256_sub_pd(x_f64x4, _mm256_mul_pd(n_f64x4, _mm256_set1_pd(0x1.62e42fee00000p-1)));
  r_f64x4 = _mm256_sub_pd(r_f64x4, _mm256_mul_pd(n_f64x4, _mm256_set1_pd(0x1.a39ef35793c76p-33)));
  __m256d sum_f64x4 = _mm256_set1_pd(0x1.288060f149570p-22);
  sum_f64x4 = _mm256_add_pd(_mm256_mul_pd(sum_f64x4, r_f64x4), _mm256_set1_pd(0x1.72c75c67ac6b9p-19));
  sum_f64x4 = _mm256_add_pd(_mm256_mul_pd(sum_f64x4, r_f64x4), _mm256_set1_pd(0x1.a019c98e708e7p-16));
  sum_f64x4 = _mm256_add_pd(_mm256_mul_pd(sum_f64x4, r_f64x4), _mm256_set1_pd(0x1.a019ad80eed25p-13));
  sum_f64x4 = _mm256_add_pd(_mm256_mul_pd(sum_f64x4, r_f64x4), _mm256_set1_pd(0x1.6c16c173948e7p-10));
  sum_f64x4 = _mm256_add_pd(_mm256_mul_pd(sum_f64x4, r_f64x4), _mm256_set1_pd(0x1.1111111c4e74fp-7));
  sum_f64x4 = _mm256_add_pd(_mm256_mul_pd(sum_f64x4, r_f64x4), _mm256_set1_pd(0x1.5555555554cb0p-5));
  sum_f64x4 = _mm256_add_pd(_mm256_mul_pd(sum_f64x4, r_f64x4), _mm256_set1_pd(0x1.5555555553b63p-3));
  sum_f64x4 = _mm256_add_pd(_mm256_mul_pd(sum_f64x4, r_f64x4), _mm256_set1_pd(0x1.0000000000000p-1));
  sum_f64x4 = _mm256_mul_pd(_mm256_mul_pd(sum_f64x4, r_f64x4), r_f64x4);
  const __m256d power_f64x4 = _mm256_add_pd(_mm256_set1_pd(1.0), _mm256_add_pd(r_f64x4, sum_f64x4));
  // n is in the low bits of `shifted`: added to the exponent it scales a normal number exactly. The low bits of a NaN that
  // came from an FP32 are zero, so that it stays one.
  const __m256i n_s64x4 = _mm256_slli_epi64(_mm256_castpd_si256(shifted_f64x4), 52);
  return _mm256_cvtpd_ps(_mm256_castsi256_pd(_mm256_add_epi64(_mm256_castpd_si256(power_f64x4), n_s64x4)));
}

float total(__m128 sum_f32x4) {
  alignas(16) float s[4];
  _mm_store_ps(s, sum_f32x4);
  return (s[0] + s[1]) + (s[2] + s[3]);
}

// A side whose exponentials stand in `terms`: four partial sums are four lanes, the rest of a length goes to the first ones.
float distance(const float *terms, std::uint32_t bins) {
  __m128 weighted_f32x4 = _mm_setzero_ps();
  __m128 plain_f32x4 = _mm_setzero_ps();
  __m128 k_f32x4 = _mm_setr_ps(0.0F, 1.0F, 2.0F, 3.0F);
  std::uint32_t k = 0;
  for (; k + 4 <= bins; k += 4) {
    const __m128 e_f32x4 = _mm_loadu_ps(terms + k);
    weighted_f32x4 = _mm_add_ps(weighted_f32x4, _mm_mul_ps(k_f32x4, e_f32x4));
    plain_f32x4 = _mm_add_ps(plain_f32x4, e_f32x4);
    k_f32x4 = _mm_add_ps(k_f32x4, _mm_set1_ps(4.0F));
  }
  if (k < bins) {
    alignas(16) float rest[4] = {0.0F, 0.0F, 0.0F, 0.0F};
    for (std::uint32_t lane = 0; k + lane < bins; ++lane) {
      rest[lane] = terms[k + lane];
    }
    // Lanes beyond the length add +0, which changes no sum: sums start at +0 and exponentials are never −0.
    const __m128 e_f32x4 = _mm_load_ps(rest);
    weighted_f32x4 = _mm_add_ps(weighted_f32x4, _mm_mul_ps(k_f32x4, e_f32x4));
    plain_f32x4 = _mm_add_ps(plain_f32x4, e_f32x4);
  }
  return total(weighted_f32x4) / total(plain_f32x4);
}

__m128i rotated_max_u8x16(__m128i x_u8x16) {
  x_u8x16 = _mm_max_epu8(x_u8x16, _mm_alignr_epi8(x_u8x16, x_u8x16, 8));
  x_u8x16 = _mm_max_epu8(x_u8x16, _mm_alignr_epi8(x_u8x16, x_u8x16, 4));
  x_u8x16 = _mm_max_epu8(x_u8x16, _mm_alignr_epi8(x_u8x16, x_u8x16, 2));
  return _mm_max_epu8(x_u8x16, _mm_alignr_epi8(x_u8x16, x_u8x16, 1));
}

// Distances to the largest of 16 bytes.
__m128i below_largest_u8x16(const std::uint8_t *raw, std::uint8_t flip) {
  const __m128i x_u8x16 =
      _mm_xor_si128(_mm_loadu_si128(reinterpret_cast<const __m128i *>(raw)), _mm_set1_epi8(static_cast<char>(flip)));
  return _mm_sub_epi8(rotated_max_u8x16(x_u8x16), x_u8x16);
}

// Two sides of 16 bins: the low half of each vector is the first side, so that lane sums are the partial sums of each.
void two_sides_of_16(const std::uint8_t *raw, std::uint8_t flip, const float *table, float *sides) {
  const __m128i first_u8x16 = below_largest_u8x16(raw, flip);
  const __m128i second_u8x16 = below_largest_u8x16(raw + 16, flip);
  // Four bytes of each side, interleaved by quadruples: quadruple q of both sides at dwords 2q and 2q + 1.
  const __m128i low_u8x16 = _mm_unpacklo_epi32(first_u8x16, second_u8x16);
  const __m128i high_u8x16 = _mm_unpackhi_epi32(first_u8x16, second_u8x16);
  const __m256i index_s32x8[4] = {_mm256_cvtepu8_epi32(low_u8x16), _mm256_cvtepu8_epi32(_mm_srli_si128(low_u8x16, 8)),
                                  _mm256_cvtepu8_epi32(high_u8x16), _mm256_cvtepu8_epi32(_mm_srli_si128(high_u8x16, 8))};
  __m256 k_f32x8 = _mm256_setr_ps(0.0F, 1.0F, 2.0F, 3.0F, 0.0F, 1.0F, 2.0F, 3.0F);
  __m256 weighted_f32x8 = _mm256_setzero_ps();
  __m256 plain_f32x8 = _mm256_setzero_ps();
  for (const __m256i index : index_s32x8) {
    const __m256 e_f32x8 = _mm256_i32gather_ps(table, index, 4);
    weighted_f32x8 = _mm256_add_ps(weighted_f32x8, _mm256_mul_ps(k_f32x8, e_f32x8));
    plain_f32x8 = _mm256_add_ps(plain_f32x8, e_f32x8);
    k_f32x8 = _mm256_add_ps(k_f32x8, _mm256_set1_ps(4.0F));
  }
  // (s0 + s1), (s2 + s3) side by side, then their sum; weighted in the low pairs, plain in the high ones.
  const __m256 pairs_f32x8 = _mm256_hadd_ps(weighted_f32x8, plain_f32x8);
  const __m256 sums_f32x8 = _mm256_hadd_ps(pairs_f32x8, pairs_f32x8);
  const __m128 first_f32x4 = _mm256_castps256_ps128(sums_f32x8);
  const __m128 second_f32x4 = _mm256_extractf128_ps(sums_f32x8, 1);
  sides[0] = _mm_cvtss_f32(_mm_div_ss(first_f32x4, _mm_shuffle_ps(first_f32x4, first_f32x4, 1)));
  sides[1] = _mm_cvtss_f32(_mm_div_ss(second_f32x4, _mm_shuffle_ps(second_f32x4, second_f32x4, 1)));
}

// Sixteen floats a side. Whatever maximum a NaN leaves, its own exponential is NaN and so are both sums.
void four_sides_of_16(const float *x, float *sides) {
  __m128 weighted_f32x4[4];
  __m128 plain_f32x4[4];
  for (int side = 0; side < 4; ++side) {
    const __m128 x_f32x4[4] = {_mm_loadu_ps(x + 16 * side), _mm_loadu_ps(x + 16 * side + 4), _mm_loadu_ps(x + 16 * side + 8),
                               _mm_loadu_ps(x + 16 * side + 12)};
    __m128 largest_f32x4 = _mm_max_ps(_mm_max_ps(x_f32x4[0], x_f32x4[1]), _mm_max_ps(x_f32x4[2], x_f32x4[3]));
    largest_f32x4 = _mm_max_ps(largest_f32x4, _mm_shuffle_ps(largest_f32x4, largest_f32x4, 0x4E));
    largest_f32x4 = _mm_max_ps(largest_f32x4, _mm_shuffle_ps(largest_f32x4, largest_f32x4, 0xB1));
    // Adding the first terms to +0 would change none of them: exponentials are never −0.
    plain_f32x4[side] = exp_f32x4<true>(_mm_sub_ps(x_f32x4[0], largest_f32x4));
    __m128 k_f32x4 = _mm_setr_ps(0.0F, 1.0F, 2.0F, 3.0F);
    weighted_f32x4[side] = _mm_mul_ps(k_f32x4, plain_f32x4[side]);
    for (int quad = 1; quad < 4; ++quad) {
      const __m128 e_f32x4 = exp_f32x4<true>(_mm_sub_ps(x_f32x4[quad], largest_f32x4));
      k_f32x4 = _mm_add_ps(k_f32x4, _mm_set1_ps(4.0F));
      weighted_f32x4[side] = _mm_add_ps(weighted_f32x4[side], _mm_mul_ps(k_f32x4, e_f32x4));
      plain_f32x4[side] = _mm_add_ps(plain_f32x4[side], e_f32x4);
    }
  }
  // (s0 + s1) and (s2 + s3) of two sides, then the totals of all four.
  const __m128 weighted_totals_f32x4 =
      _mm_hadd_ps(_mm_hadd_ps(weighted_f32x4[0], weighted_f32x4[1]), _mm_hadd_ps(weighted_f32x4[2], weighted_f32x4[3]));
  const __m128 plain_totals_f32x4 =
      _mm_hadd_ps(_mm_hadd_ps(plain_f32x4[0], plain_f32x4[1]), _mm_hadd_ps(plain_f32x4[2], plain_f32x4[3]));
  _mm_storeu_ps(sides, _mm_div_ps(weighted_totals_f32x4, plain_totals_f32x4));
}

}  // namespace

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

void exponentials_avx2(const float *x, std::size_t length, float largest, float *terms) {
  const __m128 largest_f32x4 = _mm_set1_ps(largest);
  std::size_t k = 0;
  for (; k + 4 <= length; k += 4) {
    _mm_storeu_ps(terms + k, exp_f32x4<false>(_mm_sub_ps(_mm_loadu_ps(x + k), largest_f32x4)));
  }
  exponentials_scalar(x + k, length - k, largest, terms + k);
}

void bin_distances_8_avx2(const std::uint8_t *raw, std::uint32_t bins, std::uint8_t flip, const float *table, float *sides) {
  if (bins != 16) {
    bin_distances_8_scalar(raw, bins, flip, table, sides);
    return;
  }
  two_sides_of_16(raw, flip, table, sides);
  two_sides_of_16(raw + 32, flip, table, sides + 2);
}

void bin_distances_32_avx2(const float *x, std::uint32_t bins, float *sides) {
  if (bins == 16) {
    four_sides_of_16(x, sides);
    return;
  }
  float terms[most_bins];
  for (std::uint32_t side = 0; side < 4; ++side) {
    const float *values = x + side * bins;
    float largest = values[0];
    for (std::uint32_t k = 1; k < bins; ++k) {
      largest = values[k] > largest ? values[k] : largest;
    }
    exponentials_avx2(values, bins, largest, terms);
    sides[side] = distance(terms, bins);
  }
}

}  // namespace simaai::kernels::detail
