#include "kernels/kernels.h"
#include "kernels/short_loads.h"
#include "kernels/vectors_avx2.h"

namespace simaai::kernels::detail {
namespace {

// A pixel is held as two parts, its first and its last `part` bytes (a power of two, 32 at most), which may overlap: the
// coefficients of bytes that are held twice are zero in the second part.
//
// Wide products take each byte as the high byte of a signed word, so that they are 256 times as large: at most
// 64·255·128·256 < 2^31. Narrow products need bytes made unsigned and neighbouring coefficients whose magnitudes sum to at
// most 128, so that the sum of two products, at most 255·128, fits a signed word.
struct DotPlan {
  Vector flip;
  Vector even[2];  // coefficients of the even bytes of a vector
  Vector odd[2];
  Vector both[2];  // of all bytes, for narrow products
  std::size_t length;
  std::size_t part;
};

enum class Products { Wide, Narrow };

template <bool flipped>
Vector flip_bytes(const DotPlan &plan, Vector bytes) {
  return flipped ? _mm256_xor_si256(bytes, plan.flip) : bytes;
}

template <Products products>
Vector products_s32x8(const DotPlan &plan, Vector bytes, std::size_t vector) {
  if (products == Products::Narrow) {
    return _mm256_madd_epi16(_mm256_maddubs_epi16(bytes, plan.both[vector]), _mm256_set1_epi16(1));
  }
  const Vector even_words = _mm256_slli_epi16(bytes, 8);
  const Vector odd_words = _mm256_and_si256(bytes, _mm256_set1_epi16(static_cast<std::int16_t>(0xFF00)));
  return _mm256_add_epi32(_mm256_madd_epi16(even_words, plan.even[vector]), _mm256_madd_epi16(odd_words, plan.odd[vector]));
}

// Not by way of two halves, as NEON: that took 1.4 times as long (8 bytes a pixel).
Vector load_pixel(const std::uint8_t *pixel, std::size_t length, std::size_t part) {
  const std::uint8_t *last = pixel + length - part;
  switch (part) {
    case 16: return _mm256_inserti128_si256(_mm256_castsi128_si256(load_half(pixel)), load_half(last), 1);
    case 8:
      return _mm256_set_epi64x(0, 0, static_cast<std::int64_t>(load_scalar<std::uint64_t>(last)),
                               static_cast<std::int64_t>(load_scalar<std::uint64_t>(pixel)));
    case 4:
      return _mm256_set_epi32(0, 0, 0, 0, 0, 0, static_cast<std::int32_t>(load_scalar<std::uint32_t>(last)),
                              static_cast<std::int32_t>(load_scalar<std::uint32_t>(pixel)));
    case 2: {
      const std::uint32_t both = static_cast<std::uint32_t>(load_scalar<std::uint16_t>(pixel)) |
                                 static_cast<std::uint32_t>(load_scalar<std::uint16_t>(last)) << 16U;
      return _mm256_set_epi32(0, 0, 0, 0, 0, 0, 0, static_cast<std::int32_t>(both));
    }
    default: return _mm256_set_epi32(0, 0, 0, 0, 0, 0, 0, pixel[0]);
  }
}

enum class PixelForm { Short, OneVector, TwoVectors };

template <PixelForm form, Products products, bool flipped>
[[gnu::always_inline]] inline Vector pixel_products(const DotPlan &plan, const std::uint8_t *pixel) {
  if (form == PixelForm::Short) {
    return products_s32x8<products>(plan, flip_bytes<flipped>(plan, load_pixel(pixel, plan.length, plan.part)), 0);
  }
  const Vector sum = products_s32x8<products>(plan, flip_bytes<flipped>(plan, load(pixel)), 0);
  if (form == PixelForm::OneVector) {
    return sum;
  }
  const Vector bytes = flip_bytes<flipped>(plan, load(pixel + plan.length - vector_bytes));
  return _mm256_add_epi32(sum, products_s32x8<products>(plan, bytes, 1));
}

// Sums of four pixels, in either half those of its lanes.
template <PixelForm form, Products products, bool flipped>
[[gnu::always_inline]] inline Vector four_pixels(const DotPlan &plan, const std::uint8_t *pixel, std::size_t pixel_step) {
  const Vector sum01 = _mm256_hadd_epi32(pixel_products<form, products, flipped>(plan, pixel),
                                         pixel_products<form, products, flipped>(plan, pixel + pixel_step));
  const Vector sum23 = _mm256_hadd_epi32(pixel_products<form, products, flipped>(plan, pixel + 2 * pixel_step),
                                         pixel_products<form, products, flipped>(plan, pixel + 3 * pixel_step));
  return _mm256_hadd_epi32(sum01, sum23);
}

template <PixelForm form, Products products, bool flipped>
[[gnu::noinline]] void dots_of(const DotPlan &whole_plan, std::int32_t correction, const std::uint8_t *prototypes,
                               std::size_t pixels, std::size_t pixel_step, std::int32_t *dots) {
  constexpr int scale_bits = products == Products::Wide ? 8 : 0;
  const DotPlan plan = whole_plan;
  const Vector corrections = _mm256_set1_epi32(correction);
  const std::uint8_t *pixel = prototypes;
  std::size_t index = 0;
  for (; index + 8 <= pixels; index += 8, pixel += 8 * pixel_step) {
    const Vector low = four_pixels<form, products, flipped>(plan, pixel, pixel_step);
    const Vector high = four_pixels<form, products, flipped>(plan, pixel + 4 * pixel_step, pixel_step);
    const Vector sums =
        _mm256_add_epi32(_mm256_permute2x128_si256(low, high, 0x20), _mm256_permute2x128_si256(low, high, 0x31));
    store(dots + index, _mm256_sub_epi32(_mm256_srai_epi32(sums, scale_bits), corrections));
  }
  for (; index < pixels; ++index, pixel += pixel_step) {
    const Vector sum = pixel_products<form, products, flipped>(plan, pixel);
    __m128i half = _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
    half = _mm_add_epi32(half, _mm_shuffle_epi32(half, 0x4E));
    half = _mm_add_epi32(half, _mm_shuffle_epi32(half, 0xB1));
    dots[index] = (_mm_cvtsi128_si32(half) >> scale_bits) - correction;
  }
}

template <Products products, bool flipped>
void dots_of_length(const DotPlan &plan, std::int32_t correction, const std::uint8_t *prototypes, std::size_t pixels,
                    std::size_t pixel_step, std::int32_t *dots) {
  if (plan.length < vector_bytes) {
    dots_of<PixelForm::Short, products, flipped>(plan, correction, prototypes, pixels, pixel_step, dots);
  } else if (plan.length == vector_bytes) {
    dots_of<PixelForm::OneVector, products, flipped>(plan, correction, prototypes, pixels, pixel_step, dots);
  } else {
    dots_of<PixelForm::TwoVectors, products, flipped>(plan, correction, prototypes, pixels, pixel_step, dots);
  }
}

// Coefficients of 32 bytes, as the products need them. False when narrow products are not exact with them.
bool prepare(const std::int16_t *values, Vector &even, Vector &odd, Vector &both) {
  constexpr int in_order = 0xD8;  // packing leaves quarters 0 2 1 3
  const Vector low = load(values);
  const Vector high = load(values + 16);
  const Vector even_words =
      _mm256_packs_epi32(_mm256_srai_epi32(_mm256_slli_epi32(low, 16), 16), _mm256_srai_epi32(_mm256_slli_epi32(high, 16), 16));
  even = _mm256_permute4x64_epi64(even_words, in_order);
  odd = _mm256_permute4x64_epi64(_mm256_packs_epi32(_mm256_srai_epi32(low, 16), _mm256_srai_epi32(high, 16)), in_order);
  both = _mm256_permute4x64_epi64(_mm256_packs_epi16(low, high), in_order);
  const Vector magnitudes = _mm256_add_epi16(_mm256_abs_epi16(even), _mm256_abs_epi16(odd));
  const Vector too_large = _mm256_or_si256(_mm256_cmpgt_epi16(magnitudes, _mm256_set1_epi16(128)),
                                           _mm256_cmpgt_epi16(_mm256_max_epi16(even, odd), _mm256_set1_epi16(127)));
  return byte_bits(too_large) == 0;
}

}  // namespace

void mask_dots_8_avx2(const MaskCoefficients &coefficients, const std::uint8_t *prototypes, std::size_t pixels,
                      std::size_t pixel_step, std::int32_t *dots) {
  const std::size_t length = coefficients.length;
  DotPlan plan;
  plan.length = length;
  plan.part = length < vector_bytes ? part_of_pixel(length) : vector_bytes;
  bool narrow = false;
  if (length == vector_bytes) {
    narrow = prepare(coefficients.centred, plan.even[0], plan.odd[0], plan.both[0]);
    plan.even[1] = plan.odd[1] = plan.both[1] = _mm256_setzero_si256();
  } else {
    std::int16_t values[64] = {};
    arrange_as_held(coefficients.centred, length, plan.part, values);
    narrow = prepare(values, plan.even[0], plan.odd[0], plan.both[0]);
    narrow = prepare(values + 32, plan.even[1], plan.odd[1], plan.both[1]) && narrow;
  }
  // Narrow products see bytes 128 larger.
  const std::uint32_t flip = (coefficients.prototype_flip & 0xFFU) ^ (narrow ? 0x80U : 0U);
  const std::int32_t correction = (coefficients.prototype_zero + (narrow ? 128 : 0)) * coefficients.sum_centred;
  plan.flip = _mm256_set1_epi8(static_cast<char>(flip));
  if (narrow && flip == 0) {
    dots_of_length<Products::Narrow, false>(plan, correction, prototypes, pixels, pixel_step, dots);
  } else if (narrow) {
    dots_of_length<Products::Narrow, true>(plan, correction, prototypes, pixels, pixel_step, dots);
  } else if (flip == 0) {
    dots_of_length<Products::Wide, false>(plan, correction, prototypes, pixels, pixel_step, dots);
  } else {
    dots_of_length<Products::Wide, true>(plan, correction, prototypes, pixels, pixel_step, dots);
  }
}

}  // namespace simaai::kernels::detail
