#include <immintrin.h>

#include "kernels/bin_distances.h"
#include "kernels/kernels.h"

namespace simaai::kernels::detail {
namespace {

constexpr std::uint32_t most_bins = 64;

// 2^(j/128), j < 128, as the bits of a binary64 from which n·2^45 with n = j (mod 128) makes those of 2^(n/128).
struct RootsOfTwo {
  std::uint64_t bits[128];
  constexpr RootsOfTwo() : bits{} {
    // 2^(1/128), 2^(2/128), 2^(4/128) …; a product of seven is off by less than 2^-49.
    constexpr double roots[7] = {0x1.0163da9fb3335p+0, 0x1.02c9a3e778061p+0, 0x1.059b0d3158574p+0, 0x1.0b5586cf9890fp+0,
                                 0x1.172b83c7d517bp+0, 0x1.306fe0a31b715p+0, 0x1.6a09e667f3bcdp+0};
    for (std::uint32_t j = 0; j < 128; ++j) {
      double power = 1.0;
      for (std::uint32_t bit = 0; bit < 7; ++bit) {
        power *= (j >> bit & 1U) != 0 ? roots[bit] : 1.0;
      }
      bits[j] = __builtin_bit_cast(std::uint64_t, power) - (std::uint64_t{j} << 45U);
    }
  }
};

constexpr RootsOfTwo roots_of_two;

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

inline __attribute__((always_inline)) __m128 exp_of_nonpositive_f32x4(__m128 x_f32x4) { return exp_f32x4<true>(x_f32x4); }

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

// Sums of two sides of 16 bins, one in either half: partial sum j of a half is its lane j.
struct TwoSides {
  __m256 weighted_f32x8;
  __m256 plain_f32x8;
};

inline __attribute__((always_inline)) TwoSides two_sides_of_16(const std::uint8_t *raw, std::size_t side_step,
                                                               __m256i flip_u8x32, const float *table) {
  const __m128i first_u8x16 = _mm_loadu_si128(reinterpret_cast<const __m128i *>(raw));
  const __m128i second_u8x16 = _mm_loadu_si128(reinterpret_cast<const __m128i *>(raw + side_step));
  const __m256i x_u8x32 = _mm256_xor_si256(_mm256_set_m128i(second_u8x16, first_u8x16), flip_u8x32);
  __m256i largest_u8x32 = _mm256_max_epu8(x_u8x32, _mm256_alignr_epi8(x_u8x32, x_u8x32, 8));
  largest_u8x32 = _mm256_max_epu8(largest_u8x32, _mm256_alignr_epi8(largest_u8x32, largest_u8x32, 4));
  largest_u8x32 = _mm256_max_epu8(largest_u8x32, _mm256_alignr_epi8(largest_u8x32, largest_u8x32, 2));
  largest_u8x32 = _mm256_max_epu8(largest_u8x32, _mm256_alignr_epi8(largest_u8x32, largest_u8x32, 1));
  const __m256i below_u8x32 = _mm256_sub_epi8(largest_u8x32, x_u8x32);
  // Bytes 0 to 3 of either half to 32-bit lanes; 4 is added for the bytes behind them, and bytes with the sign set give zero.
  const __m256i first_four =
      _mm256_setr_epi8(0, -128, -128, -128, 1, -128, -128, -128, 2, -128, -128, -128, 3, -128, -128, -128, 0, -128, -128, -128,
                       1, -128, -128, -128, 2, -128, -128, -128, 3, -128, -128, -128);
  __m256 k_f32x8 = _mm256_setr_ps(0.0F, 1.0F, 2.0F, 3.0F, 0.0F, 1.0F, 2.0F, 3.0F);
  // Adding the first terms to +0 would change none of them: exponentials are never −0.
  TwoSides sums;
  sums.plain_f32x8 = _mm256_i32gather_ps(table, _mm256_shuffle_epi8(below_u8x32, first_four), 4);
  sums.weighted_f32x8 = _mm256_mul_ps(k_f32x8, sums.plain_f32x8);
  for (int quad = 1; quad < 4; ++quad) {
    const __m256i bytes = _mm256_add_epi8(first_four, _mm256_set1_epi8(static_cast<char>(4 * quad)));
    const __m256 e_f32x8 = _mm256_i32gather_ps(table, _mm256_shuffle_epi8(below_u8x32, bytes), 4);
    k_f32x8 = _mm256_add_ps(k_f32x8, _mm256_set1_ps(4.0F));
    sums.weighted_f32x8 = _mm256_add_ps(sums.weighted_f32x8, _mm256_mul_ps(k_f32x8, e_f32x8));
    sums.plain_f32x8 = _mm256_add_ps(sums.plain_f32x8, e_f32x8);
  }
  return sums;
}

void four_sides_of_16(const std::uint8_t *raw, std::size_t side_step, std::uint8_t flip, const float *table, float *sides) {
  const __m256i flip_u8x32 = _mm256_set1_epi8(static_cast<char>(flip));
  const TwoSides first = two_sides_of_16(raw, side_step, flip_u8x32, table);
  const TwoSides second = two_sides_of_16(raw + 2 * side_step, side_step, flip_u8x32, table);
  // (s0 + s1) and (s2 + s3), then their sum. Sides 0 and 2 are in the low half, 1 and 3 in the high one.
  const __m256 totals_f32x8 = _mm256_hadd_ps(_mm256_hadd_ps(first.weighted_f32x8, second.weighted_f32x8),
                                             _mm256_hadd_ps(first.plain_f32x8, second.plain_f32x8));
  const __m128 even_f32x4 = _mm256_castps256_ps128(totals_f32x8);
  const __m128 odd_f32x4 = _mm256_extractf128_ps(totals_f32x8, 1);
  _mm_storeu_ps(sides, _mm_div_ps(_mm_unpacklo_ps(even_f32x4, odd_f32x4), _mm_unpackhi_ps(even_f32x4, odd_f32x4)));
}

// Sums of one side of 16 floats, partial sum j in lane j.
struct OneSide {
  __m128 weighted_f32x4;
  __m128 plain_f32x4;
};

// exponential(x) of four lanes. Whatever maximum a NaN leaves, its own exponential is NaN and so are both sums.
template <typename Exponential>
inline __attribute__((always_inline)) OneSide one_side_of_16(const float *x, Exponential &exponential) {
  const __m128 x_f32x4[4] = {_mm_loadu_ps(x), _mm_loadu_ps(x + 4), _mm_loadu_ps(x + 8), _mm_loadu_ps(x + 12)};
  __m128 largest_f32x4 = _mm_max_ps(_mm_max_ps(x_f32x4[0], x_f32x4[1]), _mm_max_ps(x_f32x4[2], x_f32x4[3]));
  largest_f32x4 = _mm_max_ps(largest_f32x4, _mm_shuffle_ps(largest_f32x4, largest_f32x4, 0x4E));
  largest_f32x4 = _mm_max_ps(largest_f32x4, _mm_shuffle_ps(largest_f32x4, largest_f32x4, 0xB1));
  // Adding the first terms to +0 would change none of them: exponentials are never −0.
  __m128 k_f32x4 = _mm_setr_ps(0.0F, 1.0F, 2.0F, 3.0F);
  OneSide sums;
  sums.plain_f32x4 = exponential(_mm_sub_ps(x_f32x4[0], largest_f32x4));
  sums.weighted_f32x4 = _mm_mul_ps(k_f32x4, sums.plain_f32x4);
  for (int quad = 1; quad < 4; ++quad) {
    const __m128 e_f32x4 = exponential(_mm_sub_ps(x_f32x4[quad], largest_f32x4));
    k_f32x4 = _mm_add_ps(k_f32x4, _mm_set1_ps(4.0F));
    sums.weighted_f32x4 = _mm_add_ps(sums.weighted_f32x4, _mm_mul_ps(k_f32x4, e_f32x4));
    sums.plain_f32x4 = _mm_add_ps(sums.plain_f32x4, e_f32x4);
  }
  return sums;
}

void divide_sums(const OneSide *sums, float *sides) {
  // (s0 + s1) and (s2 + s3) of two sides, then the totals of all four.
  const __m128 weighted_f32x4 = _mm_hadd_ps(_mm_hadd_ps(sums[0].weighted_f32x4, sums[1].weighted_f32x4),
                                            _mm_hadd_ps(sums[2].weighted_f32x4, sums[3].weighted_f32x4));
  const __m128 plain_f32x4 =
      _mm_hadd_ps(_mm_hadd_ps(sums[0].plain_f32x4, sums[1].plain_f32x4), _mm_hadd_ps(sums[2].plain_f32x4, sums[3].plain_f32x4));
  _mm_storeu_ps(sides, _mm_div_ps(weighted_f32x4, plain_f32x4));
}

// An exponential for x ≤ 0 of two thirds of the work, off by less than 2^-40 of the result. Rounded to binary32 it is exp32
// unless a boundary between two floats is that near, which happens in one of 32,000 results, or the result is no normal
// number. It keeps track of both; NaN gives NaN. Compared with exp32 in every binary32 from −2^-31 down to −87.
struct QuickExponential {
  static constexpr std::uint32_t halfway = 1U << 28U;  // among the 29 bits that rounding takes from a binary64
  static constexpr std::uint32_t near = 1U << 13U;     // 2^-40 of a significand below 2, in 2^-52
  __m256i nearest_u32x8 = _mm256_set1_epi32(-1);
  __m128 lowest_f32x4 = _mm_setzero_ps();

  [[gnu::always_inline]] __m128 operator()(__m128 x_f32x4) {
    // 2^(n/128) · e^g with n = round(128·x / ln 2) and g = f·ln2/128, |f| ≤ 1/2. (e^g − 1) / f is interpolated in three
    // Chebyshev nodes: off by less than 2^-40.6. 128·x / ln 2 is off by less than 2^-39 where x ≥ −87, which is 2^-46 in g.
    lowest_f32x4 = _mm_min_ps(x_f32x4, lowest_f32x4);
    const __m256d shift_f64x4 = _mm256_set1_pd(0x1.8p+52);
    const __m256d scaled_f64x4 = _mm256_mul_pd(_mm256_cvtps_pd(x_f32x4), _mm256_set1_pd(0x1.71547652b82fep+7));
    const __m256d shifted_f64x4 = _mm256_add_pd(scaled_f64x4, shift_f64x4);
    const __m256d f_f64x4 = _mm256_sub_pd(scaled_f64x4, _mm256_sub_pd(shifted_f64x4, shift_f64x4));
    __m256d sum_f64x4 = _mm256_mul_pd(f_f64x4, _mm256_set1_pd(0x1.c6b095a17a14dp-26));
    sum_f64x4 = _mm256_add_pd(sum_f64x4, _mm256_set1_pd(0x1.ebfbeebe2d1a2p-17));
    sum_f64x4 = _mm256_add_pd(_mm256_mul_pd(sum_f64x4, f_f64x4), _mm256_set1_pd(0x1.62e42fefa39efp-8));
    sum_f64x4 = _mm256_mul_pd(sum_f64x4, f_f64x4);
    // n is in the low bits of `shifted`: seven of them number a root, the others are an exponent.
    const __m256i n_s64x4 = _mm256_castpd_si256(shifted_f64x4);
    const __m256i root_u64x4 = _mm256_i64gather_epi64(reinterpret_cast<const long long *>(roots_of_two.bits),
                                                      _mm256_and_si256(n_s64x4, _mm256_set1_epi64x(127)), 8);
    const __m256d power_f64x4 = _mm256_castsi256_pd(_mm256_add_epi64(root_u64x4, _mm256_slli_epi64(n_s64x4, 45)));
    const __m256d result_f64x4 = _mm256_add_pd(power_f64x4, _mm256_mul_pd(power_f64x4, sum_f64x4));
    // How far behind the first number that is near a boundary, in 29 bits, at the top of the low half of each result.
    const __m256i behind_u32x8 =
        _mm256_sub_epi32(_mm256_castpd_si256(result_f64x4), _mm256_set1_epi32(static_cast<std::int32_t>(halfway - near)));
    nearest_u32x8 = _mm256_min_epu32(nearest_u32x8, _mm256_slli_epi32(behind_u32x8, 3));
    return _mm256_cvtpd_ps(result_f64x4);
  }

  // Whether all results so far are those of exp32.
  bool was_exact() const {
    const __m256i limit_u32x8 = _mm256_set1_epi32(static_cast<std::int32_t>(2U * near << 3U));
    const __m256i near_u32x8 = _mm256_cmpeq_epi32(_mm256_min_epu32(nearest_u32x8, limit_u32x8), nearest_u32x8);
    constexpr int low_halves = 0x55;
    const bool all_normal = _mm_movemask_ps(_mm_cmpge_ps(lowest_f32x4, _mm_set1_ps(-87.0F))) == 0xF;
    return all_normal && (_mm256_movemask_ps(_mm256_castsi256_ps(near_u32x8)) & low_halves) == 0;
  }
};

void four_sides_of_16(const float *x, float *sides) {
  OneSide sums[4];
  QuickExponential quick;
  for (int side = 0; side < 4; ++side) {
    sums[side] = one_side_of_16(x + 16 * side, quick);
  }
  if (!quick.was_exact()) {
    for (int side = 0; side < 4; ++side) {
      sums[side] = one_side_of_16(x + 16 * side, exp_of_nonpositive_f32x4);
    }
  }
  divide_sums(sums, sides);
}

}  // namespace

void exponentials_avx2(const float *x, std::size_t length, float largest, float *terms) {
  const __m128 largest_f32x4 = _mm_set1_ps(largest);
  std::size_t k = 0;
  for (; k + 4 <= length; k += 4) {
    _mm_storeu_ps(terms + k, exp_f32x4<false>(_mm_sub_ps(_mm_loadu_ps(x + k), largest_f32x4)));
  }
  exponentials_scalar(x + k, length - k, largest, terms + k);
}

void bin_distances_8_avx2(const std::uint8_t *raw, std::size_t side_step, std::uint32_t bins, std::uint8_t flip,
                          const float *table, float *sides) {
  if (bins != 16) {
    bin_distances_8_scalar(raw, side_step, bins, flip, table, sides);
    return;
  }
  four_sides_of_16(raw, side_step, flip, table, sides);
}

void bin_distances_32_avx2(const float *x, std::uint32_t bins, float *sides) {
  if (bins == 16) {
    four_sides_of_16(x, sides);
    return;
  }
  distances_of_bins<most_bins>(x, bins, exponentials_avx2, distance, sides);
}

}  // namespace simaai::kernels::detail
