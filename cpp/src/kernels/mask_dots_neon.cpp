#include "kernels/kernels.h"
#include "kernels/short_loads.h"
#include "kernels/vectors_neon.h"

namespace simaai::kernels::detail {
namespace {

// A pixel is held as vectors of 16 bytes, the last of which may overlap the one before it; a pixel shorter than that as two
// parts, its first and its last `part` bytes (a power of two), which may overlap too. Coefficients of bytes that are held
// twice are zero the second time. vectors: of a pixel, 1..4; 0 for pixels shorter than one.
template <std::size_t vectors>
struct DotPlan {
  static constexpr std::size_t held = vectors == 0 ? 1 : vectors;
  int8x16_t flip;
  int16x8_t coefficients[2 * held];
  std::size_t length;
  std::size_t part;

  explicit DotPlan(const MaskCoefficients &from) : length(from.length), part(part_of_pixel(from.length)) {
    flip = vdupq_n_s8(static_cast<std::int8_t>(from.prototype_flip));
    if (vectors == 0) {
      std::int16_t values[vector_bytes] = {};
      arrange_as_held(from.centred, length, part, values);
      coefficients[0] = vld1q_s16(values);
      coefficients[1] = vld1q_s16(values + 8);
      return;
    }
    for (std::size_t half = 0; half + 2 < 2 * held; ++half) {
      coefficients[half] = vld1q_s16(from.centred + 8 * half);
    }
    static const std::uint16_t positions[vector_bytes] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    const uint16x8_t twice = vdupq_n_u16(static_cast<std::uint16_t>(vectors * vector_bytes - length));
    for (std::size_t half = 0; half < 2; ++half) {
      const int16x8_t once = vreinterpretq_s16_u16(vcgeq_u16(vld1q_u16(positions + 8 * half), twice));
      coefficients[2 * held - 2 + half] = vandq_s16(vld1q_s16(from.centred + length - vector_bytes + 8 * half), once);
    }
  }
};

int8x16_t load_bytes(const std::uint8_t *from) { return vreinterpretq_s8_u8(vld1q_u8(from)); }

int32x4_t add_products_s32x4(int32x4_t sum, int8x16_t bytes, int16x8_t low_coefficients, int16x8_t high_coefficients) {
  const int16x8_t low = vmovl_s8(vget_low_s8(bytes));
  const int16x8_t high = vmovl_high_s8(bytes);
  sum = vmlal_s16(sum, vget_low_s16(low), vget_low_s16(low_coefficients));
  sum = vmlal_high_s16(sum, low, low_coefficients);
  sum = vmlal_s16(sum, vget_low_s16(high), vget_low_s16(high_coefficients));
  return vmlal_high_s16(sum, high, high_coefficients);
}

template <std::size_t vectors>
[[gnu::always_inline]] inline int32x4_t pixel_products(const DotPlan<vectors> &plan, const std::uint8_t *pixel) {
  int32x4_t sum = vdupq_n_s32(0);
  if (vectors == 0) {
    const int8x16_t bytes = veorq_s8(vreinterpretq_s8_u8(bytes_of(load_short_pixel(pixel, plan.length, plan.part))), plan.flip);
    return add_products_s32x4(sum, bytes, plan.coefficients[0], plan.coefficients[1]);
  }
  for (std::size_t vector = 0; vector + 1 < vectors; ++vector) {
    const int8x16_t bytes = veorq_s8(load_bytes(pixel + vector * vector_bytes), plan.flip);
    sum = add_products_s32x4(sum, bytes, plan.coefficients[2 * vector], plan.coefficients[2 * vector + 1]);
  }
  constexpr std::size_t last = DotPlan<vectors>::held - 1;
  const int8x16_t bytes = veorq_s8(load_bytes(pixel + plan.length - vector_bytes), plan.flip);
  return add_products_s32x4(sum, bytes, plan.coefficients[2 * last], plan.coefficients[2 * last + 1]);
}

template <std::size_t vectors>
[[gnu::noinline]] void dots_of(const MaskCoefficients &coefficients, const std::uint8_t *prototypes, std::size_t pixels,
                               std::size_t pixel_step, std::int32_t *dots) {
  const DotPlan<vectors> plan(coefficients);
  const std::int32_t correction = coefficients.prototype_zero * coefficients.sum_centred;
  const std::uint8_t *pixel = prototypes;
  std::size_t index = 0;
  for (; index + 4 <= pixels; index += 4, pixel += 4 * pixel_step) {
    const int32x4_t sum01 = vpaddq_s32(pixel_products<vectors>(plan, pixel), pixel_products<vectors>(plan, pixel + pixel_step));
    const int32x4_t sum23 = vpaddq_s32(pixel_products<vectors>(plan, pixel + 2 * pixel_step),
                                       pixel_products<vectors>(plan, pixel + 3 * pixel_step));
    vst1q_s32(dots + index, vsubq_s32(vpaddq_s32(sum01, sum23), vdupq_n_s32(correction)));
  }
  for (; index < pixels; ++index, pixel += pixel_step) {
    dots[index] = vaddvq_s32(pixel_products<vectors>(plan, pixel)) - correction;
  }
}

}  // namespace

void mask_dots_8_neon(const MaskCoefficients &coefficients, const std::uint8_t *prototypes, std::size_t pixels,
                      std::size_t pixel_step, std::int32_t *dots) {
  const std::size_t length = coefficients.length;
  const std::size_t vectors = length < vector_bytes ? 0 : (length + vector_bytes - 1) / vector_bytes;
  switch (vectors) {
    case 0: return dots_of<0>(coefficients, prototypes, pixels, pixel_step, dots);
    case 1: return dots_of<1>(coefficients, prototypes, pixels, pixel_step, dots);
    case 2: return dots_of<2>(coefficients, prototypes, pixels, pixel_step, dots);
    case 3: return dots_of<3>(coefficients, prototypes, pixels, pixel_step, dots);
    default: return dots_of<4>(coefficients, prototypes, pixels, pixel_step, dots);
  }
}

}  // namespace simaai::kernels::detail
