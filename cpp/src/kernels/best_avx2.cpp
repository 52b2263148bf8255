#include "kernels/kernels.h"
#include "kernels/vectors_avx2.h"

namespace simaai::kernels::detail {
namespace {

// The smallest of the unsigned complements: x86 finds it among eight words in one instruction.
std::int32_t largest_of_16(__m128i keys_s8x16) {
  const __m128i complement = _mm_xor_si128(keys_s8x16, _mm_set1_epi8(INT8_MAX));
  const __m128i words = _mm_min_epu8(complement, _mm_srli_epi16(complement, 8));
  return static_cast<std::int8_t>(INT8_MAX ^ (_mm_cvtsi128_si32(_mm_minpos_epu16(words)) & 0xFF));
}

// Keys of the three widths. `keys` makes signed keys of a vector. Where no element is NaN and the greatest key is not that of
// the two zeros, `plain_keys` gives the same greatest key and exactly the elements with the bits `bits_of(key)` have it; `seen`
// collects what is_special needs to tell.
struct Keys8 {
  using Bits = std::uint8_t;
  Vector flip;

  Vector keys(const Bits *from) const { return _mm256_xor_si256(load(from), flip); }
  Vector plain_keys(const Bits *from, Vector &) const { return keys(from); }
  bool is_special(Vector, std::int32_t) const { return false; }
  Vector bits_of(std::int32_t key) const { return _mm256_xor_si256(splat(key), flip); }

  static Vector greatest(Vector a, Vector b) { return _mm256_max_epi8(a, b); }
  static Vector equal(Vector a, Vector b) { return _mm256_cmpeq_epi8(a, b); }
  static Vector splat(std::int32_t key) { return _mm256_set1_epi8(static_cast<char>(key)); }
  static std::int32_t largest(Vector keys_s8x32) {
    return largest_of_16(_mm_max_epi8(_mm256_castsi256_si128(keys_s8x32), _mm256_extracti128_si256(keys_s8x32, 1)));
  }
  // One bit for each of 32 elements that are equal.
  static std::uint32_t equal_bits(const Bits *elements, Vector bits) { return byte_bits(equal(load(elements), bits)); }
};

struct Keys16 {
  using Bits = std::uint16_t;
  Vector infinity;

  Vector keys(const Bits *from) const {
    const Vector bits = load(from);
    const Vector magnitude = _mm256_and_si256(bits, _mm256_set1_epi16(INT16_MAX));
    const Vector key = _mm256_sign_epi16(magnitude, bits);
    // The largest key where it is NaN, the smallest elsewhere.
    const Vector nan = _mm256_xor_si256(_mm256_cmpgt_epi16(magnitude, infinity), _mm256_set1_epi16(INT16_MIN));
    return _mm256_max_epi16(key, nan);
  }
  Vector plain_keys(const Bits *from, Vector &seen) const {
    const Vector bits = load(from);
    const Vector magnitude = _mm256_and_si256(bits, _mm256_set1_epi16(INT16_MAX));
    seen = _mm256_max_epi16(seen, magnitude);
    return _mm256_sign_epi16(magnitude, bits);
  }
  bool is_special(Vector seen, std::int32_t key) const {
    return key == 0 || byte_bits(_mm256_cmpgt_epi16(seen, infinity)) != 0;
  }
  Vector bits_of(std::int32_t key) const { return splat(key < 0 ? -key | 0x8000 : key); }

  static Vector greatest(Vector a, Vector b) { return _mm256_max_epi16(a, b); }
  static Vector equal(Vector a, Vector b) { return _mm256_cmpeq_epi16(a, b); }
  static Vector splat(std::int32_t key) { return _mm256_set1_epi16(static_cast<std::int16_t>(key)); }
  static std::int32_t largest(Vector keys_s16x16) {
    const __m128i half = _mm_max_epi16(_mm256_castsi256_si128(keys_s16x16), _mm256_extracti128_si256(keys_s16x16, 1));
    const __m128i complement = _mm_xor_si128(half, _mm_set1_epi16(INT16_MAX));
    return static_cast<std::int16_t>(0x7FFF ^ (_mm_cvtsi128_si32(_mm_minpos_epu16(complement)) & 0xFFFF));
  }
  static std::uint32_t equal_bits(const Bits *elements, Vector bits) {
    const Vector bytes = _mm256_packs_epi16(equal(load(elements), bits), equal(load(elements + 16), bits));
    return byte_bits(_mm256_permute4x64_epi64(bytes, 0xD8));
  }
};

struct Keys32 {
  using Bits = std::uint32_t;

  Vector keys(const Bits *from) const {
    const Vector bits = load(from);
    const Vector magnitude = _mm256_and_si256(bits, _mm256_set1_epi32(INT32_MAX));
    const Vector key = _mm256_sign_epi32(magnitude, bits);
    const Vector nan =
        _mm256_xor_si256(_mm256_cmpgt_epi32(magnitude, _mm256_set1_epi32(0x7F800000)), _mm256_set1_epi32(INT32_MIN));
    return _mm256_max_epi32(key, nan);
  }
  Vector plain_keys(const Bits *from, Vector &seen) const {
    const Vector bits = load(from);
    const Vector magnitude = _mm256_and_si256(bits, _mm256_set1_epi32(INT32_MAX));
    seen = _mm256_max_epi32(seen, magnitude);
    return _mm256_sign_epi32(magnitude, bits);
  }
  bool is_special(Vector seen, std::int32_t key) const {
    return key == 0 || byte_bits(_mm256_cmpgt_epi32(seen, _mm256_set1_epi32(0x7F800000))) != 0;
  }
  Vector bits_of(std::int32_t key) const { return splat(key < 0 ? -key | INT32_MIN : key); }

  static Vector greatest(Vector a, Vector b) { return _mm256_max_epi32(a, b); }
  static Vector equal(Vector a, Vector b) { return _mm256_cmpeq_epi32(a, b); }
  static Vector splat(std::int32_t key) { return _mm256_set1_epi32(key); }
  static std::int32_t largest(Vector keys_s32x8) {
    __m128i half = _mm_max_epi32(_mm256_castsi256_si128(keys_s32x8), _mm256_extracti128_si256(keys_s32x8, 1));
    half = _mm_max_epi32(half, _mm_shuffle_epi32(half, 0x4E));
    half = _mm_max_epi32(half, _mm_shuffle_epi32(half, 0xB1));
    return _mm_cvtsi128_si32(half);
  }
  static std::uint32_t equal_bits(const Bits *elements, Vector bits) {
    const Vector words0 = _mm256_packs_epi32(equal(load(elements), bits), equal(load(elements + 8), bits));
    const Vector words1 = _mm256_packs_epi32(equal(load(elements + 16), bits), equal(load(elements + 24), bits));
    const Vector bytes = _mm256_packs_epi16(words0, words1);
    return byte_bits(_mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7)));
  }
};

// Vector by vector, for every input of at least a vector.
template <typename Keys>
Best best_of_vectors(const Keys &order, const typename Keys::Bits *elements, std::size_t length) {
  constexpr std::size_t lanes = vector_bytes / sizeof(typename Keys::Bits);
  const std::size_t last = length - lanes;
  Vector greatest = order.keys(elements + last);
  for (std::size_t at = 0; at < last; at += lanes) {
    greatest = Keys::greatest(greatest, order.keys(elements + at));
  }
  const std::int32_t key = Keys::largest(greatest);
  const Vector wanted = Keys::splat(key);
  for (std::size_t at = 0; at < last; at += lanes) {
    const std::uint32_t bits = byte_bits(Keys::equal(order.keys(elements + at), wanted));
    if (bits != 0) {
      return {key, static_cast<std::uint32_t>(at + trailing_zeros(bits) / sizeof(typename Keys::Bits))};
    }
  }
  const std::uint32_t bits = byte_bits(Keys::equal(order.keys(elements + last), wanted));
  return {key, static_cast<std::uint32_t>(last + trailing_zeros(bits) / sizeof(typename Keys::Bits))};
}

// At least a vector of elements.
template <typename Keys>
Best best_of(const Keys &order, const typename Keys::Bits *elements, std::size_t length) {
  constexpr std::size_t lanes = vector_bytes / sizeof(typename Keys::Bits);
  if (length < 32 || length > 128) {
    return best_of_vectors(order, elements, length);
  }
  const std::size_t last = length - lanes;
  Vector seen = _mm256_setzero_si256();
  Vector greatest = order.plain_keys(elements + last, seen);
  for (std::size_t at = 0; at < last; at += lanes) {
    greatest = Keys::greatest(greatest, order.plain_keys(elements + at, seen));
  }
  const std::int32_t key = Keys::largest(greatest);
  if (order.is_special(seen, key)) {
    return best_of_vectors(order, elements, length);
  }
  // Groups of 32, which overlap in shorter lengths. Where the first equal lane is depends on the data, so that no branch
  // should.
  const Vector wanted = order.bits_of(key);
  const std::size_t last_group = length - 32;
  const std::size_t group1 = last_group < 32 ? last_group : 32;
  std::uint64_t bits = Keys::equal_bits(elements, wanted);
  bits |= static_cast<std::uint64_t>(Keys::equal_bits(elements + group1, wanted)) << group1;
  std::size_t at = 0;
  if (length > 64) {
    const std::size_t group2 = last_group < 64 ? last_group : 64;
    const std::uint64_t bits2 = Keys::equal_bits(elements + group2, wanted);
    const std::uint64_t bits3 = Keys::equal_bits(elements + last_group, wanted);
    const std::uint64_t in_second = 0 - static_cast<std::uint64_t>(bits == 0);
    bits |= (bits2 | bits3 << (last_group - group2)) & in_second;
    at = group2 & in_second;
  }
  return {key, static_cast<std::uint32_t>(at + static_cast<std::size_t>(__builtin_ctzll(bits)))};
}

// 16 to 31 elements in two halves of a vector, which overlap.
Best best_of_short_row(const std::uint8_t *elements, std::size_t length, std::uint32_t flip) {
  const __m128i flip_u8x16 = _mm_set1_epi8(static_cast<char>(flip));
  const __m128i first = load_half(elements);
  const __m128i last = load_half(elements + length - 16);
  const std::int32_t key = largest_of_16(_mm_max_epi8(_mm_xor_si128(first, flip_u8x16), _mm_xor_si128(last, flip_u8x16)));
  const __m128i wanted = _mm_xor_si128(_mm_set1_epi8(static_cast<char>(key)), flip_u8x16);
  const auto first_bits = static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(first, wanted)));
  const auto last_bits = static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(last, wanted)));
  return {key, trailing_zeros(first_bits | last_bits << (length - 16))};
}

}  // namespace

Best best_8_avx2(const std::uint8_t *elements, std::size_t length, std::uint32_t flip) {
  if (length < 16) {
    return best_8_scalar(elements, length, flip);
  }
  if (length < vector_bytes) {
    return best_of_short_row(elements, length, flip);
  }
  return best_of(Keys8{_mm256_set1_epi8(static_cast<char>(flip))}, elements, length);
}

Best best_16_avx2(const std::uint16_t *elements, std::size_t length, std::uint16_t infinity) {
  if (length < vector_bytes / sizeof(*elements)) {
    return best_16_scalar(elements, length, infinity);
  }
  // No magnitude is above 0x7FFF, and the comparison of vectors is signed.
  return best_of(Keys16{_mm256_set1_epi16(static_cast<std::int16_t>(infinity > 0x7FFFU ? 0x7FFFU : infinity))}, elements,
                 length);
}

Best best_32_avx2(const std::uint32_t *elements, std::size_t length) {
  if (length < vector_bytes / sizeof(*elements)) {
    return best_32_scalar(elements, length);
  }
  return best_of(Keys32{}, elements, length);
}

// Elements beyond the length are the last ones of the last block: they get the lowest key, and the first one with a key counts.
Best best_blocks_8_avx2(const std::uint8_t *block, std::size_t block_step, std::size_t length, std::uint32_t flip) {
  const __m128i flip_u8x16 = _mm_set1_epi8(static_cast<char>(flip));
  const std::size_t last = (length - 1) / 16;
  const __m128i position_u8x16 = _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  const __m128i beyond_u8x16 = _mm_cmpgt_epi8(position_u8x16, _mm_set1_epi8(static_cast<char>((length - 1) % 16)));
  const __m128i last_keys = _mm_xor_si128(load_half(block + last * block_step), flip_u8x16);
  __m128i greatest = _mm_blendv_epi8(last_keys, _mm_set1_epi8(INT8_MIN), beyond_u8x16);
  for (std::size_t at = 0; at < last; ++at) {
    greatest = _mm_max_epi8(greatest, _mm_xor_si128(load_half(block + at * block_step), flip_u8x16));
  }
  const std::int32_t key = largest_of_16(greatest);
  const __m128i wanted = _mm_xor_si128(_mm_set1_epi8(static_cast<char>(key)), flip_u8x16);
  const auto equal_elements = [&](std::size_t at) {
    return static_cast<std::uint64_t>(
        static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(load_half(block + at * block_step), wanted))));
  };
  // Where the first equal lane is depends on the data, so that no branch should, as long as eight blocks hold all.
  std::size_t first = 0;
  std::uint64_t bits = 0;
  for (std::size_t at = 0; at <= last && at < 4; ++at) {
    bits |= equal_elements(at) << (16 * at);
  }
  if (last >= 4) {
    std::uint64_t next = 0;
    for (std::size_t at = 4; at <= last && at < 8; ++at) {
      next |= equal_elements(at) << (16 * (at - 4));
    }
    const std::uint64_t in_second = 0 - static_cast<std::uint64_t>(bits == 0);
    bits |= next & in_second;
    first = 64 & in_second;
    for (std::size_t at = 8; bits == 0; ++at) {
      bits = equal_elements(at);
      first = 16 * at;
    }
  }
  return {key, static_cast<std::uint32_t>(first + static_cast<std::size_t>(__builtin_ctzll(bits)))};
}

}  // namespace simaai::kernels::detail
