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
// A coefficient is raw − zero point, which needs nine bits; so bytes are multiplied by raw and by a constant. −zero_point
// fits a signed byte unless zero_point is −128, which takes 127 + 1.
struct DotPlan {
  int8x16_t flip;
  int8x16_t raw[4];
  int8x16_t shift[4];
  int8x16_t one[4];
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

// How many constants a byte is multiplied by besides raw.
enum class Shift { None, One, Two };

template <Shift shift>
int32x4_t add_products_s32x4(const DotPlan &plan, int32x4_t sum, int8x16_t bytes, std::size_t vector) {
  bytes = veorq_s8(bytes, plan.flip);
  sum = vdotq_s32(sum, bytes, plan.raw[vector]);
  if (shift != Shift::None) {
    sum = vdotq_s32(sum, bytes, plan.shift[vector]);
  }
  if (shift == Shift::Two) {
    sum = vdotq_s32(sum, bytes, plan.one[vector]);
  }
  return sum;
}

// vectors: of a pixel, 1..4; 0 for pixels shorter than one.
template <std::size_t vectors, Shift shift>
int32x4_t pixel_products(const DotPlan &plan, const std::uint8_t *pixel) {
  int32x4_t sum = vdupq_n_s32(0);
  if (vectors == 0) {
    return add_products_s32x4<shift>(plan, sum, load_short_pixel(pixel, plan.length, plan.part), 0);
  }
  for (std::size_t vector = 0; vector + 1 < vectors; ++vector) {
    sum = add_products_s32x4<shift>(plan, sum, load(pixel + vector * vector_bytes), vector);
  }
  constexpr std::size_t last = vectors == 0 ? 0 : vectors - 1;
  return add_products_s32x4<shift>(plan, sum, load(pixel + plan.length - vector_bytes), last);
}

template <std::size_t vectors, Shift shift>
void dots_of(const DotPlan &plan, std::int32_t correction, const std::uint8_t *prototypes, std::size_t pixels,
             std::size_t pixel_step, std::int32_t *dots) {
  const std::uint8_t *pixel = prototypes;
  std::size_t index = 0;
  for (; index + 4 <= pixels; index += 4, pixel += 4 * pixel_step) {
    const int32x4_t sum01 = vpaddq_s32(pixel_products<vectors, shift>(plan, pixel),
                                       pixel_products<vectors, shift>(plan, pixel + pixel_step));
    const int32x4_t sum23 = vpaddq_s32(pixel_products<vectors, shift>(plan, pixel + 2 * pixel_step),
                                       pixel_products<vectors, shift>(plan, pixel + 3 * pixel_step));
    vst1q_s32(dots + index, vsubq_s32(vpaddq_s32(sum01, sum23), vdupq_n_s32(correction)));
  }
  for (; index < pixels; ++index, pixel += pixel_step) {
    dots[index] = vaddvq_s32(pixel_products<vectors, shift>(plan, pixel)) - correction;
  }
}

template <Shift shift>
void dots_of_vectors(const DotPlan &plan, std::size_t vectors, std::int32_t correction, const std::uint8_t *prototypes,
                     std::size_t pixels, std::size_t pixel_step, std::int32_t *dots) {
  switch (vectors) {
    case 0:
      return dots_of<0, shift>(plan, correction, prototypes, pixels, pixel_step, dots);
    case 1:
      return dots_of<1, shift>(plan, correction, prototypes, pixels, pixel_step, dots);
    case 2:
      return dots_of<2, shift>(plan, correction, prototypes, pixels, pixel_step, dots);
    case 3:
      return dots_of<3, shift>(plan, correction, prototypes, pixels, pixel_step, dots);
    default:
      return dots_of<4, shift>(plan, correction, prototypes, pixels, pixel_step, dots);
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
  // Bytes as they are held: all but the last part in order, then the last part.
  const std::size_t held = vectors == 0 ? 2 * part : vectors * vector_bytes;
  const std::int32_t negated = -coefficients.zero_point;
  std::int8_t raw[64] = {};
  std::int8_t shift[64] = {};
  std::int8_t one[64] = {};
  for (std::size_t at = 0; at < held; ++at) {
    const std::size_t ordered = held - part;
    const std::size_t byte = at < ordered ? at : length - held + at;
    if (at < ordered || byte >= ordered) {
      raw[at] = coefficients.raw[byte];
      shift[at] = static_cast<std::int8_t>(negated < 127 ? negated : 127);
      one[at] = 1;
    }
  }
  DotPlan plan;
  plan.flip = vdupq_n_s8(static_cast<std::int8_t>(coefficients.prototype_flip));
  for (std::size_t vector = 0; vector < 4; ++vector) {
    plan.raw[vector] = vld1q_s8(raw + vector_bytes * vector);
    plan.shift[vector] = vld1q_s8(shift + vector_bytes * vector);
    plan.one[vector] = vld1q_s8(one + vector_bytes * vector);
  }
  plan.length = length;
  plan.part = part;
  const std::int32_t correction = coefficients.prototype_zero * coefficients.sum_centred;
  if (negated == 0) {
    dots_of_vectors<Shift::None>(plan, vectors, correction, prototypes, pixels, pixel_step, dots);
  } else if (negated <= 127) {
    dots_of_vectors<Shift::One>(plan, vectors, correction, prototypes, pixels, pixel_step, dots);
  } else {
    dots_of_vectors<Shift::Two>(plan, vectors, correction, prototypes, pixels, pixel_step, dots);
  }
}

}  // namespace simaai::kernels::detail
