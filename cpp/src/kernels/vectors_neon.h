#pragma once

#include <arm_neon.h>

#include <cstddef>
#include <cstdint>

#include "kernels/short_loads.h"

// NEON as kernels see it: vectors of 16 bytes, and what differs with the width of an element.
namespace simaai::kernels::detail {
namespace {

using Vector = uint8x16_t;

constexpr std::size_t vector_bytes = 16;

// Four bits a byte: the bits of a comparison that a general register can hold.
constexpr std::size_t bits_of_byte = 4;

inline std::uint64_t byte_bits(Vector compared) {
  return vget_lane_u64(vreinterpret_u64_u8(vshrn_n_u16(vreinterpretq_u16_u8(compared), 4)), 0);
}

inline std::size_t first_byte(std::uint64_t bits) { return static_cast<std::size_t>(__builtin_ctzll(bits)) / bits_of_byte; }

inline std::uint64_t without_bytes(std::uint64_t bits, std::size_t bytes) {
  return bytes >= vector_bytes ? 0 : bits >> (bits_of_byte * bytes) << (bits_of_byte * bytes);
}

inline Vector bytes_of(TwoHalves held) { return vcombine_u8(vcreate_u8(held.low), vcreate_u8(held.high)); }

// What does not depend on the width.
struct AnyLanes {
  using Vector = detail::Vector;
  static constexpr std::size_t vector_bytes = detail::vector_bytes;
  static Vector load(const std::uint8_t *from) { return vld1q_u8(from); }
  static void store(std::uint8_t *to, Vector value) { vst1q_u8(to, value); }
  static Vector bit_xor(Vector a, Vector b) { return veorq_u8(a, b); }
  static Vector bit_and(Vector a, Vector b) { return vandq_u8(a, b); }
  static Vector bit_or(Vector a, Vector b) { return vorrq_u8(a, b); }
  static std::uint64_t byte_bits(Vector compared) { return detail::byte_bits(compared); }
  static void hold_in_register(Vector &value) { __asm__("" : "+w"(value)); }
  static Vector load_row(const std::uint8_t *row, std::size_t row_bytes) { return bytes_of(load_short_row(row, row_bytes)); }
};

// The indexes of lanes that pass; the first lane belongs to `index`.
template <typename Lanes>
struct Emitter : AnyLanes {
  static std::size_t emit(Vector compared, std::size_t index, std::uint32_t *hits, std::size_t count) {
    return emit_rest(compared, 0, index, hits, count);
  }

  // Without the first `known` lanes.
  static std::size_t emit_rest(Vector compared, std::size_t known, std::size_t index, std::uint32_t *hits, std::size_t count) {
    constexpr std::size_t element_bytes = sizeof(typename Lanes::Bits);
    std::uint64_t bits = without_bytes(byte_bits(compared), known * element_bytes);
    while (bits != 0) {
      const std::size_t lane = first_byte(bits) / element_bytes;
      hits[count++] = static_cast<std::uint32_t>(index + lane);
      bits = without_bytes(bits, (lane + 1) * element_bytes);
    }
    return count;
  }
};

// Every set has these three with the same members: it is what the generic bodies ask for.
struct Lanes8 : Emitter<Lanes8> {
  using Element = std::int8_t;
  using Bits = std::uint8_t;
  static constexpr std::int32_t lowest = -128;
  static constexpr std::int32_t highest = 127;
  static int8x16_t s(Vector a) { return vreinterpretq_s8_u8(a); }
  static Vector splat(std::uint32_t bits) { return vdupq_n_u8(static_cast<Bits>(bits)); }
  static Vector greatest(Vector a, Vector b) { return vreinterpretq_u8_s8(vmaxq_s8(s(a), s(b))); }
  static Vector greatest_unsigned(Vector a, Vector b) { return vmaxq_u8(a, b); }
  static Vector least(Vector a, Vector b) { return vreinterpretq_u8_s8(vminq_s8(s(a), s(b))); }
  static Vector least_unsigned(Vector a, Vector b) { return vminq_u8(a, b); }
  static Vector greatest_of_pairs(Vector a, Vector b) { return vreinterpretq_u8_s8(vpmaxq_s8(s(a), s(b))); }
  static Vector greatest_unsigned_of_pairs(Vector a, Vector b) { return vpmaxq_u8(a, b); }
  static Vector least_unsigned_of_pairs(Vector a, Vector b) { return vpminq_u8(a, b); }
  static Vector greater(Vector a, Vector b) { return vcgtq_s8(s(a), s(b)); }
};

struct Lanes16 : Emitter<Lanes16> {
  using Element = std::int16_t;
  using Bits = std::uint16_t;
  static constexpr std::int32_t lowest = -32768;
  static constexpr std::int32_t highest = 32767;
  static int16x8_t s(Vector a) { return vreinterpretq_s16_u8(a); }
  static uint16x8_t u(Vector a) { return vreinterpretq_u16_u8(a); }
  static Vector splat(std::uint32_t bits) { return vreinterpretq_u8_u16(vdupq_n_u16(static_cast<Bits>(bits))); }
  static Vector greatest(Vector a, Vector b) { return vreinterpretq_u8_s16(vmaxq_s16(s(a), s(b))); }
  static Vector greatest_unsigned(Vector a, Vector b) { return vreinterpretq_u8_u16(vmaxq_u16(u(a), u(b))); }
  static Vector least(Vector a, Vector b) { return vreinterpretq_u8_s16(vminq_s16(s(a), s(b))); }
  static Vector least_unsigned(Vector a, Vector b) { return vreinterpretq_u8_u16(vminq_u16(u(a), u(b))); }
  static Vector greatest_of_pairs(Vector a, Vector b) { return vreinterpretq_u8_s16(vpmaxq_s16(s(a), s(b))); }
  static Vector greatest_unsigned_of_pairs(Vector a, Vector b) { return vreinterpretq_u8_u16(vpmaxq_u16(u(a), u(b))); }
  static Vector least_unsigned_of_pairs(Vector a, Vector b) { return vreinterpretq_u8_u16(vpminq_u16(u(a), u(b))); }
  static Vector greater(Vector a, Vector b) { return vreinterpretq_u8_u16(vcgtq_s16(s(a), s(b))); }
};

struct Lanes32 : Emitter<Lanes32> {
  using Element = std::int32_t;
  using Bits = std::uint32_t;
  static constexpr std::int32_t lowest = INT32_MIN;
  static constexpr std::int32_t highest = INT32_MAX;
  static int32x4_t s(Vector a) { return vreinterpretq_s32_u8(a); }
  static uint32x4_t u(Vector a) { return vreinterpretq_u32_u8(a); }
  static Vector splat(std::uint32_t bits) { return vreinterpretq_u8_u32(vdupq_n_u32(bits)); }
  static Vector greatest(Vector a, Vector b) { return vreinterpretq_u8_s32(vmaxq_s32(s(a), s(b))); }
  static Vector greatest_unsigned(Vector a, Vector b) { return vreinterpretq_u8_u32(vmaxq_u32(u(a), u(b))); }
  static Vector least_unsigned(Vector a, Vector b) { return vreinterpretq_u8_u32(vminq_u32(u(a), u(b))); }
  static Vector greatest_of_pairs(Vector a, Vector b) { return vreinterpretq_u8_s32(vpmaxq_s32(s(a), s(b))); }
  static Vector greatest_unsigned_of_pairs(Vector a, Vector b) { return vreinterpretq_u8_u32(vpmaxq_u32(u(a), u(b))); }
  static Vector least_unsigned_of_pairs(Vector a, Vector b) { return vreinterpretq_u8_u32(vpminq_u32(u(a), u(b))); }
  static Vector greater(Vector a, Vector b) { return vreinterpretq_u8_u32(vcgtq_s32(s(a), s(b))); }
};

}  // namespace
}  // namespace simaai::kernels::detail
