// GCC's header offers SDOT to armv8.2-a and later only, also when the command line says armv8-a+dotprod.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC target("arch=armv8.2-a+dotprod")
#endif
#include <arm_neon.h>

#include <cstddef>
#include <cstdint>

#include "kernels/kernels.h"

namespace simaai::kernels::detail {
namespace {

constexpr std::size_t vector_bytes = 16;

// A pixel is held as vectors of 16 bytes, the last of which may overlap the one before it; a pixel shorter than that as two
// parts, its first and its last `part` bytes (a power of two), which may overlap too. Weights of bytes that are held twice
// are zero the second time.
//
// A coefficient is raw − zero point, which needs nine bits. Where all of them fit eight, they are multiplied as they are. Else
// bytes are multiplied by raw and by a constant: −zero_point fits a signed byte unless zero_point is −128, which takes 127 + 1.
struct DotPlan {
  int8x16_t flip;
  int8x16_t factor[4];
  int8x16_t shift[4];
  int8x16_t one[4];
  int32x4_t begin;  // sums to the correction for the prototype's zero point
  std::size_t length;
  std::size_t part;
};

template <typename Unsigned>
Unsigned load_scalar(const std::uint8_t *from) {
  Unsigned value;
  __builtin_memcpy(&value, from, sizeof(value));
  return value;
}

int8x16_t load(const std::uint8_t *from) { return vreinterpretq_s8_u8(vld1q_u8(from)); }

int8x16_t load_short_pixel(const std::uint8_t *pixel, std::size_t length, std::size_t part) {
  const std::uint8_t *last = pixel + length - part;
  const uint64x2_t zero = vdupq_n_u64(0);
  switch (part) {
    case 8:
      return vreinterpretq_s8_u8(vcombine_u8(vld1_u8(pixel), vld1_u8(last)));
    case 4: {
      const std::uint64_t both = static_cast<std::uint64_t>(load_scalar<std::uint32_t>(pixel)) |
                                 static_cast<std::uint64_t>(load_scalar<std::uint32_t>(last)) << 32U;
      return vreinterpretq_s8_u64(vsetq_lane_u64(both, zero, 0));
    }
    case 2: {
      const std::uint32_t both = static_cast<std::uint32_t>(load_scalar<std::uint16_t>(pixel)) |
                                 static_cast<std::uint32_t>(load_scalar<std::uint16_t>(last)) << 16U;
      return vreinterpretq_s8_u64(vsetq_lane_u64(both, zero, 0));
    }
    default:
      return vreinterpretq_s8_u64(vsetq_lane_u64(pixel[0], zero, 0));
  }
}

// How many constants a byte is multiplied by besides its factor.
enum class Shift { None, One, Two };

template <Shift shift, bool flipped>
[[gnu::always_inline]] inline int32x4_t add_products_s32x4(const DotPlan &plan, int32x4_t sum, int8x16_t bytes,
                                                           std::size_t vector) {
  if (flipped) {
    bytes = veorq_s8(bytes, plan.flip);
  }
  sum = vdotq_s32(sum, bytes, plan.factor[vector]);
  if (shift != Shift::None) {
    sum = vdotq_s32(sum, bytes, plan.shift[vector]);
  }
  if (shift == Shift::Two) {
    sum = vdotq_s32(sum, bytes, plan.one[vector]);
  }
  return sum;
}

// vectors: of a pixel, 1..4; 0 for pixels shorter than one.
template <std::size_t vectors, Shift shift, bool flipped>
[[gnu::always_inline]] inline int32x4_t pixel_products(const DotPlan &plan, const std::uint8_t *pixel) {
  int32x4_t sum = plan.begin;
  if (vectors == 0) {
    return add_products_s32x4<shift, flipped>(plan, sum, load_short_pixel(pixel, plan.length, plan.part), 0);
  }
  for (std::size_t vector = 0; vector + 1 < vectors; ++vector) {
    sum = add_products_s32x4<shift, flipped>(plan, sum, load(pixel + vector * vector_bytes), vector);
  }
  constexpr std::size_t last = vectors == 0 ? 0 : vectors - 1;
  return add_products_s32x4<shift, flipped>(plan, sum, load(pixel + plan.length - vector_bytes), last);
}

template <std::size_t vectors, Shift shift, bool flipped>
void dots_of(const DotPlan &whole_plan, const std::uint8_t *prototypes, std::size_t pixels, std::size_t pixel_step,
             std::int32_t *dots) {
  const DotPlan plan = whole_plan;
  const std::uint8_t *pixel = prototypes;
  std::size_t index = 0;
  for (; index + 4 <= pixels; index += 4, pixel += 4 * pixel_step) {
    const int32x4_t sum01 = vpaddq_s32(pixel_products<vectors, shift, flipped>(plan, pixel),
                                       pixel_products<vectors, shift, flipped>(plan, pixel + pixel_step));
    const int32x4_t sum23 = vpaddq_s32(pixel_products<vectors, shift, flipped>(plan, pixel + 2 * pixel_step),
                                       pixel_products<vectors, shift, flipped>(plan, pixel + 3 * pixel_step));
    vst1q_s32(dots + index, vpaddq_s32(sum01, sum23));
  }
  for (; index < pixels; ++index, pixel += pixel_step) {
    dots[index] = vaddvq_s32(pixel_products<vectors, shift, flipped>(plan, pixel));
  }
}

template <Shift shift, bool flipped>
void dots_of_vectors(const DotPlan &plan, std::size_t vectors, const std::uint8_t *prototypes, std::size_t pixels,
                     std::size_t pixel_step, std::int32_t *dots) {
  switch (vectors) {
    case 0:
      return dots_of<0, shift, flipped>(plan, prototypes, pixels, pixel_step, dots);
    case 1:
      return dots_of<1, shift, flipped>(plan, prototypes, pixels, pixel_step, dots);
    case 2:
      return dots_of<2, shift, flipped>(plan, prototypes, pixels, pixel_step, dots);
    case 3:
      return dots_of<3, shift, flipped>(plan, prototypes, pixels, pixel_step, dots);
    default:
      return dots_of<4, shift, flipped>(plan, prototypes, pixels, pixel_step, dots);
  }
}

template <bool flipped>
void dots_of_shift(const DotPlan &plan, Shift shift, std::size_t vectors, const std::uint8_t *prototypes, std::size_t pixels,
                   std::size_t pixel_step, std::int32_t *dots) {
  switch (shift) {
    case Shift::None:
      return dots_of_vectors<Shift::None, flipped>(plan, vectors, prototypes, pixels, pixel_step, dots);
    case Shift::One:
      return dots_of_vectors<Shift::One, flipped>(plan, vectors, prototypes, pixels, pixel_step, dots);
    default:
      return dots_of_vectors<Shift::Two, flipped>(plan, vectors, prototypes, pixels, pixel_step, dots);
  }
}

}  // namespace

void mask_dots_8_neon_dotprod(const MaskCoefficients &coefficients, const std::uint8_t *prototypes, std::size_t pixels,
                              std::size_t pixel_step, std::int32_t *dots) {
  const std::size_t length = coefficients.length;
  const std::size_t vectors = length < vector_bytes ? 0 : (length + vector_bytes - 1) / vector_bytes;
  std::size_t part = 1;
  while (part * 2 <= length && part < vector_bytes) {
    part *= 2;
  }
  bool fits = true;
  for (std::size_t byte = 0; byte < length; ++byte) {
    fits = fits && coefficients.centred[byte] >= -128 && coefficients.centred[byte] <= 127;
  }
  const std::int32_t negated = -coefficients.zero_point;
  const Shift shift = fits ? Shift::None : negated <= 127 ? Shift::One : Shift::Two;
  // Bytes as they are held: all but the last part in order, then the last part.
  const std::size_t held = vectors == 0 ? 2 * part : vectors * vector_bytes;
  std::int8_t factors[64] = {};
  std::int8_t shifts[64] = {};
  std::int8_t ones[64] = {};
  for (std::size_t at = 0; at < held; ++at) {
    const std::size_t ordered = held - part;
    const std::size_t byte = at < ordered ? at : length - held + at;
    if (at < ordered || byte >= ordered) {
      factors[at] = fits ? static_cast<std::int8_t>(coefficients.centred[byte]) : coefficients.raw[byte];
      shifts[at] = static_cast<std::int8_t>(negated < 127 ? negated : 127);
      ones[at] = 1;
    }
  }
  DotPlan plan;
  plan.flip = vdupq_n_s8(static_cast<std::int8_t>(coefficients.prototype_flip));
  for (std::size_t vector = 0; vector < 4; ++vector) {
    plan.factor[vector] = vld1q_s8(factors + vector_bytes * vector);
    plan.shift[vector] = vld1q_s8(shifts + vector_bytes * vector);
    plan.one[vector] = vld1q_s8(ones + vector_bytes * vector);
  }
  plan.begin = vsetq_lane_s32(-coefficients.prototype_zero * coefficients.sum_centred, vdupq_n_s32(0), 0);
  plan.length = length;
  plan.part = part;
  if (static_cast<std::uint8_t>(coefficients.prototype_flip) == 0) {
    dots_of_shift<false>(plan, shift, vectors, prototypes, pixels, pixel_step, dots);
  } else {
    dots_of_shift<true>(plan, shift, vectors, prototypes, pixels, pixel_step, dots);
  }
}

}  // namespace simaai::kernels::detail
