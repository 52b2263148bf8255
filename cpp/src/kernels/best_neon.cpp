#include "kernels/kernels.h"
#include "kernels/vectors_neon.h"

namespace simaai::kernels::detail {
namespace {

// What a search needs of a width besides: lanes that are equal, and the best one of a vector.
struct Search8 : Lanes8 {
  static Vector equal(Vector a, Vector b) { return vceqq_u8(a, b); }
  static std::int32_t greatest_of(Vector a) { return vmaxvq_s8(s(a)); }
};

struct Search16 : Lanes16 {
  static Vector equal(Vector a, Vector b) { return vreinterpretq_u8_u16(vceqq_u16(u(a), u(b))); }
  static std::int32_t greatest_of(Vector a) { return vmaxvq_s16(s(a)); }
  static std::uint32_t greatest_unsigned_of(Vector a) { return vmaxvq_u16(u(a)); }
  static std::uint32_t least_unsigned_of(Vector a) { return vminvq_u16(u(a)); }
};

struct Search32 : Lanes32 {
  static Vector equal(Vector a, Vector b) { return vreinterpretq_u8_u32(vceqq_u32(u(a), u(b))); }
  static std::int32_t greatest_of(Vector a) { return vmaxvq_s32(s(a)); }
  static std::uint32_t greatest_unsigned_of(Vector a) { return vmaxvq_u32(u(a)); }
  static std::uint32_t least_unsigned_of(Vector a) { return vminvq_u32(u(a)); }
};

template <typename Bits>
Vector load(const Bits *from) {
  return vld1q_u8(reinterpret_cast<const std::uint8_t *>(from));
}

// The first element with these bits; there is one. At least a vector of elements.
template <typename Search>
std::uint32_t first_with(const typename Search::Bits *elements, std::size_t length, std::uint32_t bits) {
  constexpr std::size_t lanes = vector_bytes / sizeof(typename Search::Bits);
  const Vector wanted = Search::splat(bits);
  const std::size_t last = length - lanes;
  std::size_t at = 0;
  for (; at < last; at += lanes) {
    const std::uint64_t found = byte_bits(Search::equal(load(elements + at), wanted));
    if (found != 0) {
      return static_cast<std::uint32_t>(at + first_byte(found) / sizeof(typename Search::Bits));
    }
  }
  const std::uint64_t found = byte_bits(Search::equal(load(elements + last), wanted));
  return static_cast<std::uint32_t>(last + first_byte(found) / sizeof(typename Search::Bits));
}

// As signed integers, positive floats are in order and above negative ones; as unsigned integers negative floats are in the
// reverse order and above positive ones. What is left are NaN and zeros of both signs, which go the way of `any_input`.
template <typename Search, typename AnyInput>
Best best_float(const typename Search::Bits *elements, std::size_t length, std::uint32_t infinity, AnyInput any_input) {
  constexpr std::size_t lanes = vector_bytes / sizeof(typename Search::Bits);
  constexpr std::uint32_t sign = 1U << (8 * sizeof(typename Search::Bits) - 1);
  if (length < lanes) {
    return any_input();
  }
  const std::size_t last = length - lanes;
  Vector greatest = load(elements + last);
  Vector greatest_unsigned = greatest;
  Vector least_unsigned = greatest;
  for (std::size_t at = 0; at < last; at += lanes) {
    const Vector bits = load(elements + at);
    greatest = Search::greatest(greatest, bits);
    greatest_unsigned = Search::greatest_unsigned(greatest_unsigned, bits);
    least_unsigned = Search::least_unsigned(least_unsigned, bits);
  }
  const std::int32_t positive = Search::greatest_of(greatest);
  const std::uint32_t negative = Search::least_unsigned_of(least_unsigned);
  const bool has_nan = (positive > 0 && static_cast<std::uint32_t>(positive) > infinity) ||
                       Search::greatest_unsigned_of(greatest_unsigned) > (sign | infinity);
  if (has_nan || positive == 0 || (positive < 0 && negative == sign)) {
    return any_input();
  }
  if (positive > 0) {
    return {positive, first_with<Search>(elements, length, static_cast<std::uint32_t>(positive))};
  }
  return {-static_cast<std::int32_t>(negative & ~sign), first_with<Search>(elements, length, negative)};
}

}  // namespace

Best best_8_neon(const std::uint8_t *elements, std::size_t length, std::uint32_t flip) {
  if (length < vector_bytes) {
    return best_8_scalar(elements, length, flip);
  }
  const std::uint8_t flip_bits = static_cast<std::uint8_t>(flip);
  const uint8x16_t flip_u8x16 = vdupq_n_u8(flip_bits);
  const std::size_t last = length - vector_bytes;
  uint8x16_t greatest_s8x16 = veorq_u8(vld1q_u8(elements + last), flip_u8x16);
  for (std::size_t at = 0; at < last; at += vector_bytes) {
    greatest_s8x16 = Lanes8::greatest(greatest_s8x16, veorq_u8(vld1q_u8(elements + at), flip_u8x16));
  }
  const std::int32_t key = Search8::greatest_of(greatest_s8x16);
  return {key, first_with<Search8>(elements, length, static_cast<std::uint8_t>(key) ^ flip_bits)};
}

Best best_16_neon(const std::uint16_t *elements, std::size_t length, std::uint16_t infinity) {
  // No magnitude is above 0x7FFF.
  return best_float<Search16>(elements, length, infinity > 0x7FFFU ? 0x7FFFU : infinity,
                              [&] { return best_16_scalar(elements, length, infinity); });
}

Best best_32_neon(const std::uint32_t *elements, std::size_t length) {
  return best_float<Search32>(elements, length, 0x7F800000U, [&] { return best_32_scalar(elements, length); });
}

// Elements beyond the length are the last ones of the last block: they get the lowest key, and the first one with a key counts.
Best best_blocks_8_neon(const std::uint8_t *block, std::size_t block_step, std::size_t length, std::uint32_t flip) {
  static const std::uint8_t relevant[2 * vector_bytes] = {255, 255, 255, 255, 255, 255, 255, 255,
                                                          255, 255, 255, 255, 255, 255, 255, 255};
  const std::uint8_t flip_bits = static_cast<std::uint8_t>(flip);
  const uint8x16_t flip_u8x16 = vdupq_n_u8(flip_bits);
  const std::size_t last = (length - 1) / vector_bytes;
  const uint8x16_t relevant_u8x16 = vld1q_u8(relevant + (last + 1) * vector_bytes - length);
  const uint8x16_t last_s8x16 = veorq_u8(vld1q_u8(block + last * block_step), flip_u8x16);
  uint8x16_t greatest_s8x16 = vbslq_u8(relevant_u8x16, last_s8x16, vdupq_n_u8(0x80));
  for (std::size_t at = 0; at < last; ++at) {
    greatest_s8x16 = Lanes8::greatest(greatest_s8x16, veorq_u8(vld1q_u8(block + at * block_step), flip_u8x16));
  }
  const std::int32_t key = Search8::greatest_of(greatest_s8x16);
  const uint8x16_t wanted_u8x16 = vdupq_n_u8(static_cast<std::uint8_t>(key) ^ flip_bits);
  std::size_t at = 0;
  std::uint64_t found = byte_bits(vceqq_u8(vld1q_u8(block), wanted_u8x16));
  while (found == 0 && at < last) {
    ++at;
    found = byte_bits(vceqq_u8(vld1q_u8(block + at * block_step), wanted_u8x16));
  }
  return {key, static_cast<std::uint32_t>(at * vector_bytes + first_byte(found))};
}

}  // namespace simaai::kernels::detail
