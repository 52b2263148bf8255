#include <arm_neon.h>

#include "kernels/bin_distances.h"
#include "kernels/kernels.h"

namespace simaai::kernels::detail {
namespace {

constexpr std::uint32_t most_bins = 64;

// exp32 in two binary64 lanes, step by step the scalar form (numeric/exp32.cpp). max and min pass NaN on.
float64x2_t exp_f64x2(float64x2_t x_f64x2) {
  x_f64x2 = vminq_f64(vmaxq_f64(x_f64x2, vdupq_n_f64(-110.0)), vdupq_n_f64(90.0));
  const float64x2_t shift_f64x2 = vdupq_n_f64(0x1.8p+52);
  const float64x2_t shifted_f64x2 = vaddq_f64(vmulq_f64(x_f64x2, vdupq_n_f64(0x1.71547652b82fep+0)), shift_f64x2);
  const float64x2_t n_f64x2 = vsubq_f64(shifted_f64x2, shift_f64x2);
  float64x2_t r_f64x2 = vsubq_f64(x_f64x2, vmulq_f64(n_f64x2, vdupq_n_f64(0x1.62e42fee00000p-1)));
  r_f64x2 = vsubq_f64(r_f64x2, vmulq_f64(n_f64x2, vdupq_n_f64(0x1.a39ef35793c76p-33)));
  const double coefficients[] = {0x1.72c75c67ac6b9p-19, 0x1.a019c98e708e7p-16, 0x1.a019ad80eed25p-13, 0x1.6c16c173948e7p-10,
                                 0x1.1111111c4e74fp-7,  0x1.5555555554cb0p-5,  0x1.5555555553b63p-3,  0x1.0000000000000p-1};
  float64x2_t sum_f64x2 = vdupq_n_f64(0x1.288060f149570p-22);
  for (const double coefficient : coefficients) {
    sum_f64x2 = vaddq_f64(vmulq_f64(sum_f64x2, r_f64x2), vdupq_n_f64(coefficient));
  }
  sum_f64x2 = vmulq_f64(vmulq_f64(sum_f64x2, r_f64x2), r_f64x2);
  const float64x2_t power_f64x2 = vaddq_f64(vdupq_n_f64(1.0), vaddq_f64(r_f64x2, sum_f64x2));
  const int64x2_t exponent_s64x2 = vaddq_s64(vreinterpretq_s64_f64(shifted_f64x2), vdupq_n_s64(1023));
  return vmulq_f64(power_f64x2, vreinterpretq_f64_s64(vshlq_n_s64(exponent_s64x2, 52)));
}

float32x4_t exp_f32x4(float32x4_t x_f32x4) {
  const float32x2_t low_f32x2 = vcvt_f32_f64(exp_f64x2(vcvt_f64_f32(vget_low_f32(x_f32x4))));
  return vcvt_high_f32_f64(low_f32x2, exp_f64x2(vcvt_high_f64_f32(x_f32x4)));
}

float total(float32x4_t sum_f32x4) {
  return (vgetq_lane_f32(sum_f32x4, 0) + vgetq_lane_f32(sum_f32x4, 1)) +
         (vgetq_lane_f32(sum_f32x4, 2) + vgetq_lane_f32(sum_f32x4, 3));
}

// A side whose exponentials stand in `terms`, padded with +0 to a multiple of four: four partial sums are four lanes.
float distance(const float *terms, std::uint32_t bins) {
  float32x4_t weighted_f32x4 = vdupq_n_f32(0.0F);
  float32x4_t plain_f32x4 = vdupq_n_f32(0.0F);
  const float first[4] = {0.0F, 1.0F, 2.0F, 3.0F};
  float32x4_t k_f32x4 = vld1q_f32(first);
  for (std::uint32_t k = 0; k < bins; k += 4) {
    const float32x4_t e_f32x4 = vld1q_f32(terms + k);
    weighted_f32x4 = vaddq_f32(weighted_f32x4, vmulq_f32(k_f32x4, e_f32x4));
    plain_f32x4 = vaddq_f32(plain_f32x4, e_f32x4);
    k_f32x4 = vaddq_f32(k_f32x4, vdupq_n_f32(4.0F));
  }
  return total(weighted_f32x4) / total(plain_f32x4);
}

// A side of 16 exponentials e_0..e_15 in four vectors: the sums of both pairs of partial sums, weighted ones first. Without
// the +0 that sums start at, which changes none of them: no term is −0.
float32x4_t pair_sums_of_16(const float32x4_t *e_f32x4) {
  static const float k[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  float32x4_t weighted_f32x4 = vmulq_f32(vld1q_f32(k), e_f32x4[0]);
  float32x4_t plain_f32x4 = e_f32x4[0];
  for (int quad = 1; quad < 4; ++quad) {
    weighted_f32x4 = vaddq_f32(weighted_f32x4, vmulq_f32(vld1q_f32(k + 4 * quad), e_f32x4[quad]));
    plain_f32x4 = vaddq_f32(plain_f32x4, e_f32x4[quad]);
  }
  return vpaddq_f32(weighted_f32x4, plain_f32x4);
}

void store_distances(const float32x4_t *pair_sums_f32x4, float *sides) {
  const float32x4_t first_f32x4 = vpaddq_f32(pair_sums_f32x4[0], pair_sums_f32x4[1]);
  const float32x4_t second_f32x4 = vpaddq_f32(pair_sums_f32x4[2], pair_sums_f32x4[3]);
  vst1q_f32(sides, vdivq_f32(vuzp1q_f32(first_f32x4, second_f32x4), vuzp2q_f32(first_f32x4, second_f32x4)));
}

// Table entries of the four low bytes.
[[gnu::always_inline]] inline float32x4_t look_up(const float *table, std::uint64_t bytes) {
  float32x4_t e_f32x4 = vdupq_n_f32(table[bytes & 0xFFU]);
  e_f32x4 = vsetq_lane_f32(table[bytes >> 8U & 0xFFU], e_f32x4, 1);
  e_f32x4 = vsetq_lane_f32(table[bytes >> 16U & 0xFFU], e_f32x4, 2);
  return vsetq_lane_f32(table[bytes >> 24U & 0xFFU], e_f32x4, 3);
}

void four_sides_of_16(const std::uint8_t *raw, std::size_t side_step, std::uint8_t flip, const float *table, float *sides) {
  float32x4_t pair_sums_f32x4[4];
  for (std::size_t side = 0; side < 4; ++side) {
    const uint8x16_t x_u8x16 = veorq_u8(vld1q_u8(raw + side * side_step), vdupq_n_u8(flip));
    const uint64x2_t below_u64x2 = vreinterpretq_u64_u8(vsubq_u8(vdupq_n_u8(vmaxvq_u8(x_u8x16)), x_u8x16));
    const std::uint64_t low = vgetq_lane_u64(below_u64x2, 0);
    const std::uint64_t high = vgetq_lane_u64(below_u64x2, 1);
    const float32x4_t e_f32x4[4] = {look_up(table, low), look_up(table, low >> 32U), look_up(table, high),
                                    look_up(table, high >> 32U)};
    pair_sums_f32x4[side] = pair_sums_of_16(e_f32x4);
  }
  store_distances(pair_sums_f32x4, sides);
}

// Whatever maximum a NaN leaves, its own exponential is NaN and so are both sums.
void four_sides_of_16(const float *x, float *sides) {
  float terms[most_bins];
  for (int side = 0; side < 4; ++side) {
    float32x4_t x_f32x4[4];
    for (int quad = 0; quad < 4; ++quad) {
      x_f32x4[quad] = vld1q_f32(x + 16 * side + 4 * quad);
    }
    const float largest = vmaxvq_f32(vmaxq_f32(vmaxq_f32(x_f32x4[0], x_f32x4[1]), vmaxq_f32(x_f32x4[2], x_f32x4[3])));
    for (int quad = 0; quad < 4; ++quad) {
      vst1q_f32(terms + 16 * side + 4 * quad, vsubq_f32(x_f32x4[quad], vdupq_n_f32(largest)));
    }
  }
  exponentials_neon(terms, most_bins, 0.0F, terms);
  float32x4_t pair_sums_f32x4[4];
  for (int side = 0; side < 4; ++side) {
    float32x4_t e_f32x4[4];
    for (int quad = 0; quad < 4; ++quad) {
      e_f32x4[quad] = vld1q_f32(terms + 16 * side + 4 * quad);
    }
    pair_sums_f32x4[side] = pair_sums_of_16(e_f32x4);
  }
  store_distances(pair_sums_f32x4, sides);
}

void pad_with_zero(float *terms, std::uint32_t bins) {
  for (std::uint32_t k = bins; k % 4 != 0; ++k) {
    terms[k] = 0.0F;
  }
}

}  // namespace

void exponentials_neon(const float *x, std::size_t length, float largest, float *terms) {
  const float32x4_t largest_f32x4 = vdupq_n_f32(largest);
  std::size_t k = 0;
  for (; k + 4 <= length; k += 4) {
    vst1q_f32(terms + k, exp_f32x4(vsubq_f32(vld1q_f32(x + k), largest_f32x4)));
  }
  exponentials_scalar(x + k, length - k, largest, terms + k);
}

void bin_distances_8_neon(const std::uint8_t *raw, std::size_t side_step, std::uint32_t bins, std::uint8_t flip,
                          const float *table, float *sides) {
  if (bins == 16) {
    four_sides_of_16(raw, side_step, flip, table, sides);
    return;
  }
  float terms[most_bins];
  for (std::uint32_t side = 0; side < 4; ++side) {
    const std::uint8_t *x = raw + side * side_step;
    std::uint32_t largest = 0;
    std::uint32_t k = 0;
    for (; k + 16 <= bins; k += 16) {
      const std::uint32_t found = vmaxvq_u8(veorq_u8(vld1q_u8(x + k), vdupq_n_u8(flip)));
      largest = found > largest ? found : largest;
    }
    for (; k < bins; ++k) {
      const std::uint32_t value = x[k] ^ flip;
      largest = value > largest ? value : largest;
    }
    for (k = 0; k < bins; ++k) {
      terms[k] = table[largest - static_cast<std::uint32_t>(x[k] ^ flip)];
    }
    pad_with_zero(terms, bins);
    sides[side] = distance(terms, bins);
  }
}

void bin_distances_32_neon(const float *x, std::uint32_t bins, float *sides) {
  if (bins == 16) {
    four_sides_of_16(x, sides);
    return;
  }
  const auto padded_distance = [](float *terms, std::uint32_t count) {
    pad_with_zero(terms, count);
    return distance(terms, count);
  };
  distances_of_bins<most_bins>(x, bins, exponentials_neon, padded_distance, sides);
}

}  // namespace simaai::kernels::detail
