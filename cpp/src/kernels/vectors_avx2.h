#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "kernels/short_loads.h"

// AVX2 as kernels see it: vectors of 32 bytes, and what differs with the width of an element.
namespace simaai::kernels::detail {
namespace {

using Vector = __m256i;

constexpr std::size_t vector_bytes = 32;

inline Vector load(const void *from) { return _mm256_loadu_si256(static_cast<const Vector *>(from)); }

inline void store(void *to, Vector value) { _mm256_storeu_si256(static_cast<Vector *>(to), value); }

inline __m128i load_half(const void *from) { return _mm_loadu_si128(static_cast<const __m128i *>(from)); }

// Returns what a kernel found, with the upper halves of the vector registers cleared: code for the baseline, which runs next,
// would wait for them in every instruction. Compilers clear them too, except where vectors are parameters of the last call.
inline std::size_t clear_upper_halves(std::size_t count) {
  _mm256_zeroupper();
  return count;
}

// One bit a byte.
inline std::uint32_t byte_bits(Vector compared) { return static_cast<std::uint32_t>(_mm256_movemask_epi8(compared)); }

inline std::uint32_t trailing_zeros(std::uint32_t bits) { return static_cast<std::uint32_t>(__builtin_ctz(bits)); }

// The bits that are set in a byte, ascending.
struct SetBits {
  std::uint8_t of[256][8];
  constexpr SetBits() : of{} {
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
      std::uint32_t count = 0;
      for (std::uint32_t bit = 0; bit < 8; ++bit) {
        if ((byte >> bit & 1U) != 0) {
          of[byte][count++] = static_cast<std::uint8_t>(bit);
        }
      }
    }
  }
};

constexpr SetBits set_bits;

// Writes index + bit for the bits of a byte that are set. Writes eight entries: they are within the list, which has room for
// these eight indexes and for all before them.
inline std::size_t emit_byte(std::uint32_t byte, std::size_t index, std::uint32_t *hits, std::size_t count) {
  const __m256i bits_u32x8 = _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i *>(set_bits.of[byte])));
  store(hits + count, _mm256_add_epi32(bits_u32x8, _mm256_set1_epi32(static_cast<std::int32_t>(index))));
  return count + static_cast<std::size_t>(_mm_popcnt_u32(byte));
}

// Bytes of two comparisons to one vector, still other than zero where one of them was.
inline Vector join(Vector compared0, Vector compared1) { return _mm256_packs_epi16(compared0, compared1); }

// Bit i is set when a byte of comparison i is other than zero; `joined` holds eight of them.
inline std::uint32_t any_of_eight(Vector joined) {
  const __m128i words_u16x8 = _mm_or_si128(_mm256_castsi256_si128(joined), _mm256_extracti128_si256(joined, 1));
  const __m128i bytes_u8x16 = _mm_packs_epi16(words_u16x8, words_u16x8);
  return ~static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(bytes_u8x16, _mm_setzero_si128()))) & 0xFFU;
}

// What does not depend on the width.
struct AnyLanes {
  using Vector = detail::Vector;
  static constexpr std::size_t vector_bytes = detail::vector_bytes;
  static Vector load(const std::uint8_t *from) { return detail::load(from); }
  static void store(std::uint8_t *to, Vector value) { detail::store(to, value); }
  static Vector bit_xor(Vector a, Vector b) { return _mm256_xor_si256(a, b); }
  static Vector bit_and(Vector a, Vector b) { return _mm256_and_si256(a, b); }
  static Vector bit_or(Vector a, Vector b) { return _mm256_or_si256(a, b); }
  static std::uint32_t byte_bits(Vector compared) { return detail::byte_bits(compared); }
  static void hold_in_register(Vector &value) { __asm__("" : "+x"(value)); }

  // A row shorter than a vector, each of its elements at least once.
  static Vector load_row(const std::uint8_t *row, std::size_t row_bytes) {
    if (row_bytes >= 16) {
      return _mm256_inserti128_si256(_mm256_castsi128_si256(load_half(row)), load_half(row + row_bytes - 16), 1);
    }
    const TwoHalves held = load_short_row(row, row_bytes);
    const auto low = static_cast<std::int64_t>(held.low);
    const auto high = static_cast<std::int64_t>(held.high);
    return _mm256_set_epi64x(high, low, high, low);
  }
};

// The indexes of lanes that pass; the first lane belongs to `index`. lane_bits has one bit a lane.
template <typename Lanes>
struct Emitter : AnyLanes {
  static std::size_t emit(Vector compared, std::size_t index, std::uint32_t *hits, std::size_t count) {
    std::uint32_t bits = Lanes::lane_bits(compared);
    if (bits == 0) {
      return count;
    }
    for (std::size_t group = 0; group < vector_bytes / sizeof(typename Lanes::Bits); group += 8, bits >>= 8U) {
      count = emit_byte(bits & 0xFFU, index + group, hits, count);
    }
    return count;
  }

  // Without the first `known` lanes.
  static std::size_t emit_rest(Vector compared, std::size_t known, std::size_t index, std::uint32_t *hits, std::size_t count) {
    if (known == 0) {
      return emit(compared, index, hits, count);
    }
    for (std::uint32_t bits = Lanes::lane_bits(compared) >> known << known; bits != 0; bits &= bits - 1) {
      hits[count++] = static_cast<std::uint32_t>(index) + trailing_zeros(bits);
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
  static Vector splat(std::uint32_t bits) { return _mm256_set1_epi8(static_cast<char>(bits)); }
  static Vector greatest(Vector a, Vector b) { return _mm256_max_epi8(a, b); }
  static Vector greatest_unsigned(Vector a, Vector b) { return _mm256_max_epu8(a, b); }
  static Vector least(Vector a, Vector b) { return _mm256_min_epi8(a, b); }
  static Vector least_unsigned(Vector a, Vector b) { return _mm256_min_epu8(a, b); }
  static Vector greater(Vector a, Vector b) { return _mm256_cmpgt_epi8(a, b); }
  static std::uint32_t lane_bits(Vector compared) { return byte_bits(compared); }
};

struct Lanes16 : Emitter<Lanes16> {
  using Element = std::int16_t;
  using Bits = std::uint16_t;
  static constexpr std::int32_t lowest = -32768;
  static constexpr std::int32_t highest = 32767;
  static Vector splat(std::uint32_t bits) { return _mm256_set1_epi16(static_cast<std::int16_t>(bits)); }
  static Vector greatest(Vector a, Vector b) { return _mm256_max_epi16(a, b); }
  static Vector greatest_unsigned(Vector a, Vector b) { return _mm256_max_epu16(a, b); }
  static Vector least(Vector a, Vector b) { return _mm256_min_epi16(a, b); }
  static Vector least_unsigned(Vector a, Vector b) { return _mm256_min_epu16(a, b); }
  static Vector greater(Vector a, Vector b) { return _mm256_cmpgt_epi16(a, b); }
  static std::uint32_t lane_bits(Vector compared) {
    const __m128i bytes_u8x16 = _mm_packs_epi16(_mm256_castsi256_si128(compared), _mm256_extracti128_si256(compared, 1));
    return static_cast<std::uint32_t>(_mm_movemask_epi8(bytes_u8x16));
  }
};

struct Lanes32 : Emitter<Lanes32> {
  using Element = std::int32_t;
  using Bits = std::uint32_t;
  static constexpr std::int32_t lowest = INT32_MIN;
  static constexpr std::int32_t highest = INT32_MAX;
  static Vector splat(std::uint32_t bits) { return _mm256_set1_epi32(static_cast<std::int32_t>(bits)); }
  static Vector greatest(Vector a, Vector b) { return _mm256_max_epi32(a, b); }
  static Vector greatest_unsigned(Vector a, Vector b) { return _mm256_max_epu32(a, b); }
  static Vector least_unsigned(Vector a, Vector b) { return _mm256_min_epu32(a, b); }
  static Vector greater(Vector a, Vector b) { return _mm256_cmpgt_epi32(a, b); }
  static std::uint32_t lane_bits(Vector compared) {
    return static_cast<std::uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(compared)));
  }
};

}  // namespace
}  // namespace simaai::kernels::detail
