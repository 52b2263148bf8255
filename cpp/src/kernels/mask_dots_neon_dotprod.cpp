#include "kernels/kernels.h"
#include "kernels/short_loads.h"
#include "kernels/vectors_neon.h"

namespace simaai::kernels::detail {
namespace {

// A pixel is held as vectors of 16 bytes, the last of which may overlap the one before it; a pixel shorter than that as two
// parts, its first and its last `part` bytes (a power of two), which may overlap too. Weights of bytes that are held twice
// are zero the second time.
//
// A coefficient is raw − zero point, which needs nine bits. Where all of them fit eight, they are multiplied as they are. Else
// bytes are multiplied by raw and by a constant: −zero_point fits a signed byte unless zero_point is −128, which takes 127 + 1.

int8x16_t load(const std::uint8_t *from) { return vreinterpretq_s8_u8(vld1q_u8(from)); }

// How many constants a byte is multiplied by besides its factor.
enum class Shift { None, One, Two };

// vectors: of a pixel, 1..4; 0 for pixels shorter than one.
template <std::size_t vectors>
struct Weights {
  static constexpr std::size_t held = vectors == 0 ? 1 : vectors;
  int8x16_t factor[held];
  int8x16_t shift_by[held];  // set where there is a shift
  int8x16_t one[held];
  int32x4_t begin;  // sums to the correction for the prototype's zero point
  std::size_t length;
  std::size_t part;
  Shift shift;

  // Coefficients are zero beyond their length, so that whole vectors of them may be read.
  explicit Weights(const MaskCoefficients &coefficients)
      : length(coefficients.length), part(part_of_pixel(coefficients.length)), shift(Shift::None) {
    begin = vsetq_lane_s32(-coefficients.prototype_zero * coefficients.sum_centred, vdupq_n_s32(0), 0);
    // Coefficients fit a byte if their bits from the sign of the byte up are alike.
    int16x8_t differing = vdupq_n_s16(0);
    for (std::size_t vector = 0; vector < held; ++vector) {
      const std::int16_t *centred = coefficients.centred + first_byte(vector);
      const int16x8_t low = vld1q_s16(centred);
      const int16x8_t high = vld1q_s16(centred + 8);
      differing = vorrq_s16(differing, veorq_s16(low, vshrq_n_s16(low, 15)));
      differing = vorrq_s16(differing, veorq_s16(high, vshrq_n_s16(high, 15)));
      factor[vector] = as_held(vector, vcombine_s8(vmovn_s16(low), vmovn_s16(high)));
    }
    if (vmaxvq_u16(vreinterpretq_u16_s16(differing)) > 127) {
      shift = coefficients.zero_point < -127 ? Shift::Two : Shift::One;
      const auto constant = static_cast<std::int8_t>(shift == Shift::Two ? 127 : -coefficients.zero_point);
      for (std::size_t vector = 0; vector < held; ++vector) {
        factor[vector] = as_held(vector, vld1q_s8(coefficients.raw + first_byte(vector)));
        shift_by[vector] = as_held(vector, vdupq_n_s8(constant));
        one[vector] = as_held(vector, vdupq_n_s8(1));
      }
    }
  }

private:
  std::size_t first_byte(std::size_t vector) const {
    return vectors != 0 && vector + 1 == vectors ? length - vector_bytes : vector * vector_bytes;
  }

  // Values of the bytes from first_byte(vector) on, as the bytes are held.
  int8x16_t as_held(std::size_t vector, int8x16_t values) const {
    if (vectors == 0) {
      std::int8_t of_byte[vector_bytes];
      std::int8_t held_values[vector_bytes] = {};
      vst1q_s8(of_byte, values);
      arrange_as_held(of_byte, length, part, held_values);
      return vld1q_s8(held_values);
    }
    if (vector + 1 < vectors) {
      return values;
    }
    static const std::uint8_t positions[vector_bytes] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    const auto twice = static_cast<std::uint8_t>(vectors * vector_bytes - length);
    return vandq_s8(values, vreinterpretq_s8_u8(vcgeq_u8(vld1q_u8(positions), vdupq_n_u8(twice))));
  }
};

template <std::size_t vectors, Shift shift, bool flipped>
[[gnu::always_inline]] inline int32x4_t add_products_s32x4(const Weights<vectors> &weights, int32x4_t sum, int8x16_t bytes,
                                                           std::size_t vector) {
  if (flipped) {
    bytes = veorq_s8(bytes, vdupq_n_s8(-128));
  }
  sum = vdotq_s32(sum, bytes, weights.factor[vector]);
  if (shift != Shift::None) {
    sum = vdotq_s32(sum, bytes, weights.shift_by[vector]);
  }
  if (shift == Shift::Two) {
    sum = vdotq_s32(sum, bytes, weights.one[vector]);
  }
  return sum;
}

template <std::size_t vectors, Shift shift, bool flipped>
[[gnu::always_inline]] inline int32x4_t pixel_products(const Weights<vectors> &weights, const std::uint8_t *pixel) {
  int32x4_t sum = weights.begin;
  if (vectors == 0) {
    return add_products_s32x4<vectors, shift, flipped>(
        weights, sum, vreinterpretq_s8_u8(bytes_of(load_short_pixel(pixel, weights.length, weights.part))), 0);
  }
  for (std::size_t vector = 0; vector + 1 < vectors; ++vector) {
    sum = add_products_s32x4<vectors, shift, flipped>(weights, sum, load(pixel + vector * vector_bytes), vector);
  }
  return add_products_s32x4<vectors, shift, flipped>(weights, sum, load(pixel + weights.length - vector_bytes),
                                                     Weights<vectors>::held - 1);
}

template <std::size_t vectors, Shift shift, bool flipped>
[[gnu::always_inline]] inline void dots_with(const Weights<vectors> &weights, const std::uint8_t *prototypes,
                                             std::size_t pixels, std::size_t pixel_step, std::int32_t *dots) {
  const std::uint8_t *pixel = prototypes;
  std::size_t index = 0;
  for (; index + 4 <= pixels; index += 4, pixel += 4 * pixel_step) {
    const int32x4_t sum01 = vpaddq_s32(pixel_products<vectors, shift, flipped>(weights, pixel),
                                       pixel_products<vectors, shift, flipped>(weights, pixel + pixel_step));
    const int32x4_t sum23 = vpaddq_s32(pixel_products<vectors, shift, flipped>(weights, pixel + 2 * pixel_step),
                                       pixel_products<vectors, shift, flipped>(weights, pixel + 3 * pixel_step));
    vst1q_s32(dots + index, vpaddq_s32(sum01, sum23));
  }
  for (; index < pixels; ++index, pixel += pixel_step) {
    dots[index] = vaddvq_s32(pixel_products<vectors, shift, flipped>(weights, pixel));
  }
}

template <std::size_t vectors, bool flipped>
void dots_of(const MaskCoefficients &coefficients, const std::uint8_t *prototypes, std::size_t pixels, std::size_t pixel_step,
             std::int32_t *dots) {
  const Weights<vectors> weights(coefficients);
  switch (weights.shift) {
    case Shift::None: return dots_with<vectors, Shift::None, flipped>(weights, prototypes, pixels, pixel_step, dots);
    case Shift::One: return dots_with<vectors, Shift::One, flipped>(weights, prototypes, pixels, pixel_step, dots);
    default: return dots_with<vectors, Shift::Two, flipped>(weights, prototypes, pixels, pixel_step, dots);
  }
}

template <std::size_t vectors>
[[gnu::noinline]] void dots_of(const MaskCoefficients &coefficients, const std::uint8_t *prototypes, std::size_t pixels,
                               std::size_t pixel_step, std::int32_t *dots) {
  if (static_cast<std::uint8_t>(coefficients.prototype_flip) == 0) {
    dots_of<vectors, false>(coefficients, prototypes, pixels, pixel_step, dots);
  } else {
    dots_of<vectors, true>(coefficients, prototypes, pixels, pixel_step, dots);
  }
}

}  // namespace

void mask_dots_8_neon_dotprod(const MaskCoefficients &coefficients, const std::uint8_t *prototypes, std::size_t pixels,
                              std::size_t pixel_step, std::int32_t *dots) {
  const std::size_t length = coefficients.length;
  // The same five calls as in mask_dots_neon.cpp: what would share them would be as long.
  switch (length < vector_bytes ? 0 : (length + vector_bytes - 1) / vector_bytes) {
    case 0: return dots_of<0>(coefficients, prototypes, pixels, pixel_step, dots);
    case 1: return dots_of<1>(coefficients, prototypes, pixels, pixel_step, dots);
    case 2: return dots_of<2>(coefficients, prototypes, pixels, pixel_step, dots);
    case 3: return dots_of<3>(coefficients, prototypes, pixels, pixel_step, dots);
    default: return dots_of<4>(coefficients, prototypes, pixels, pixel_step, dots);
  }
}

}  // namespace simaai::kernels::detail
