#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "kernels/kernels.h"

namespace simaai::kernels::detail {
namespace {

using Vector = __m256i;

constexpr std::size_t vector_bytes = 32;

Vector load(const void *from) { return _mm256_loadu_si256(static_cast<const Vector *>(from)); }

void store(void *to, Vector value) { _mm256_storeu_si256(static_cast<Vector *>(to), value); }

__m128i load_half(const void *from) { return _mm_loadu_si128(static_cast<const __m128i *>(from)); }

// Returns what a kernel found, with the upper halves of the vector registers cleared: code for the baseline, which runs next,
// would wait for them in every instruction. Compilers clear them too, except where vectors are parameters of the last call.
std::size_t cleaned(std::size_t count) {
  _mm256_zeroupper();
  return count;
}

// One bit a byte.
std::uint32_t byte_mask(Vector value) { return static_cast<std::uint32_t>(_mm256_movemask_epi8(value)); }

std::uint32_t trailing_zeros(std::uint32_t bits) { return static_cast<std::uint32_t>(__builtin_ctz(bits)); }

// What a kernel needs to know of a width. Bytes of a comparison are 0 or 0xFF; lane_mask has one bit a lane.
struct Lane8 {
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
  static std::uint32_t lane_mask(Vector compared) { return byte_mask(compared); }
};

struct Lane16 {
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
  static std::uint32_t lane_mask(Vector compared) {
    const __m128i bytes = _mm_packs_epi16(_mm256_castsi256_si128(compared), _mm256_extracti128_si256(compared, 1));
    return static_cast<std::uint32_t>(_mm_movemask_epi8(bytes));
  }
};

struct Lane32 {
  using Element = std::int32_t;
  using Bits = std::uint32_t;
  static constexpr std::int32_t lowest = INT32_MIN;
  static constexpr std::int32_t highest = INT32_MAX;
  static Vector splat(std::uint32_t bits) { return _mm256_set1_epi32(static_cast<std::int32_t>(bits)); }
  static Vector greatest(Vector a, Vector b) { return _mm256_max_epi32(a, b); }
  static Vector greatest_unsigned(Vector a, Vector b) { return _mm256_max_epu32(a, b); }
  static Vector least_unsigned(Vector a, Vector b) { return _mm256_min_epu32(a, b); }
  static Vector greater(Vector a, Vector b) { return _mm256_cmpgt_epi32(a, b); }
  static std::uint32_t lane_mask(Vector compared) {
    return static_cast<std::uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(compared)));
  }
};

// The order that a flip gives to bits. The first three are reduced without an XOR for each vector.
enum class Order {
  Signed,    // flip 0
  Unsigned,  // flip of the sign
  Reversed,  // flip of all but the sign: the smaller unsigned number is the better one
  Flipped,   // any other flip
};

// A gate whose threshold is above the lowest value: a lane passes when it is greater than threshold − 1, and a lane that
// holds `nothing` never does.
template <typename Lane, Order order>
struct Bound {
  Vector flip;
  Vector below;
  std::uint32_t flip_bits;
  std::int32_t threshold;

  explicit Bound(Gate gate)
      : flip(Lane::splat(gate.flip)), below(Lane::splat(static_cast<std::uint32_t>(gate.threshold - 1))), flip_bits(gate.flip),
        threshold(gate.threshold) {}

  Vector bring(Vector bits) const { return order == Order::Flipped ? _mm256_xor_si256(bits, flip) : bits; }
  Vector bring(const std::uint8_t *from) const { return bring(load(from)); }

  static Vector better(Vector a, Vector b) {
    return order == Order::Unsigned   ? Lane::greatest_unsigned(a, b)
           : order == Order::Reversed ? Lane::least_unsigned(a, b)
                                      : Lane::greatest(a, b);
  }
  static Vector nothing() {
    return order == Order::Unsigned   ? _mm256_setzero_si256()
           : order == Order::Reversed ? _mm256_set1_epi8(-1)
                                      : Lane::splat(static_cast<std::uint32_t>(Lane::lowest));
  }
  // The limit that brings lanes that do not count to `nothing`; `counted` is 0xFF in the bytes of lanes that count.
  static Vector limit(Vector counted) { return order == Order::Unsigned ? counted : _mm256_xor_si256(counted, nothing()); }
  static Vector limited(Vector lanes, Vector limits) {
    return order == Order::Unsigned   ? _mm256_and_si256(lanes, limits)
           : order == Order::Reversed ? _mm256_or_si256(lanes, limits)
                                      : Lane::least(lanes, limits);
  }

  // Bytes of lanes that pass are 0xFF.
  Vector compare(Vector best) const {
    const bool flip_now = order == Order::Unsigned || order == Order::Reversed;
    return Lane::greater(flip_now ? _mm256_xor_si256(best, flip) : best, below);
  }
  std::uint32_t passing(Vector best) const { return byte_mask(compare(best)); }
  bool passes(const std::uint8_t *element) const {
    typename Lane::Bits bits;
    __builtin_memcpy(&bits, element, sizeof(bits));
    return static_cast<typename Lane::Element>(bits ^ static_cast<typename Lane::Bits>(flip_bits)) >= threshold;
  }
};

template <typename Lane>
Order order_of(std::uint32_t flip) {
  constexpr auto sign = static_cast<typename Lane::Bits>(1U << (8 * sizeof(typename Lane::Bits) - 1));
  const auto bits = static_cast<typename Lane::Bits>(flip);
  return bits == 0 ? Order::Signed : bits == sign ? Order::Unsigned : bits == sign - 1U ? Order::Reversed : Order::Flipped;
}

std::size_t every_index(std::size_t count, std::uint32_t *hits) {
  for (std::size_t index = 0; index < count; ++index) {
    hits[index] = static_cast<std::uint32_t>(index);
  }
  return count;
}

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
std::size_t emit_byte(std::uint32_t byte, std::size_t index, std::uint32_t *hits, std::size_t count) {
  const Vector bits = _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i *>(set_bits.of[byte])));
  store(hits + count, _mm256_add_epi32(bits, _mm256_set1_epi32(static_cast<std::int32_t>(index))));
  return count + static_cast<std::size_t>(_mm_popcnt_u32(byte));
}

template <typename Lane>
std::size_t emit_lanes(Vector compared, std::size_t index, std::uint32_t *hits, std::size_t count) {
  std::uint32_t bits = Lane::lane_mask(compared);
  if (bits == 0) {
    return count;
  }
  for (std::size_t group = 0; group < vector_bytes / sizeof(typename Lane::Bits); group += 8, bits >>= 8U) {
    count = emit_byte(bits & 0xFFU, index + group, hits, count);
  }
  return count;
}

// Bytes of two comparisons to one vector, still other than zero where one of them was.
Vector join(Vector compared0, Vector compared1) { return _mm256_packs_epi16(compared0, compared1); }

// Bit i is set when a byte of comparison i is other than zero; `joined` holds eight of them.
std::uint32_t any_of_eight(Vector joined) {
  const __m128i words = _mm_or_si128(_mm256_castsi256_si128(joined), _mm256_extracti128_si256(joined, 1));
  const __m128i bytes = _mm_packs_epi16(words, words);
  return ~static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_setzero_si128()))) & 0xFFU;
}

// ---- rows -----------------------------------------------------------------------------------------------------------

template <typename Unsigned>
Unsigned load_scalar(const std::uint8_t *from) {
  Unsigned value;
  __builtin_memcpy(&value, from, sizeof(value));
  return value;
}

// A row shorter than a vector, each of its elements at least once.
Vector load_short_row(const std::uint8_t *row, std::size_t row_bytes) {
  if (row_bytes >= 16) {
    return _mm256_inserti128_si256(_mm256_castsi128_si256(load_half(row)), load_half(row + row_bytes - 16), 1);
  }
  if (row_bytes >= 8) {
    const auto first = static_cast<std::int64_t>(load_scalar<std::uint64_t>(row));
    const auto last = static_cast<std::int64_t>(load_scalar<std::uint64_t>(row + row_bytes - 8));
    return _mm256_set_epi64x(last, first, last, first);
  }
  if (row_bytes >= 4) {
    const auto first = static_cast<std::int32_t>(load_scalar<std::uint32_t>(row));
    const auto last = static_cast<std::int32_t>(load_scalar<std::uint32_t>(row + row_bytes - 4));
    return _mm256_set_epi32(last, first, last, first, last, first, last, first);
  }
  if (row_bytes >= 2) {
    const std::uint32_t first = load_scalar<std::uint16_t>(row);
    const std::uint32_t last = load_scalar<std::uint16_t>(row + row_bytes - 2);
    return _mm256_set1_epi32(static_cast<std::int32_t>(first | last << 16U));
  }
  return _mm256_set1_epi8(static_cast<char>(row[0]));
}

// The best lanes of a row of at least a vector; its last vector overlaps the one before it. `vectors` is their number where
// the compiler knows it, else zero.
template <typename Lane, Order order, std::size_t vectors>
[[gnu::always_inline]] inline Vector best_of_row(const Bound<Lane, order> &bound, const std::uint8_t *row,
                                                 std::size_t row_bytes) {
  Vector best = bound.bring(row + row_bytes - vector_bytes);
  if (vectors != 0) {
    for (std::size_t vector = 0; vector + 1 < vectors; ++vector) {
      best = bound.better(best, bound.bring(row + vector * vector_bytes));
    }
    return best;
  }
  Vector other = best;
  std::size_t at = 0;
  for (; at + 2 * vector_bytes <= row_bytes; at += 2 * vector_bytes) {
    best = bound.better(best, bound.bring(row + at));
    other = bound.better(other, bound.bring(row + at + vector_bytes));
  }
  if (at + vector_bytes <= row_bytes) {
    best = bound.better(best, bound.bring(row + at));
  }
  return bound.better(best, other);
}

// Comparisons of `rows` rows, joined.
template <typename Lane, Order order, std::size_t vectors, std::size_t rows>
[[gnu::always_inline]] inline Vector compare_rows(const Bound<Lane, order> &bound, const std::uint8_t *row,
                                                  std::size_t row_step, std::size_t row_bytes) {
  if constexpr (rows == 1) {
    (void)row_step;
    return bound.compare(best_of_row<Lane, order, vectors>(bound, row, row_bytes));
  } else {
    const Vector low = compare_rows<Lane, order, vectors, rows / 2>(bound, row, row_step, row_bytes);
    return join(low, compare_rows<Lane, order, vectors, rows / 2>(bound, row + rows / 2 * row_step, row_step, row_bytes));
  }
}

// Each row of first..end for itself; no branch depends on the data.
template <typename Lane, Order order, std::size_t vectors>
[[gnu::noinline]] std::size_t gate_long_rows(const Bound<Lane, order> bound, const std::uint8_t *base, std::size_t first,
                                             std::size_t end, std::size_t row_step, std::size_t row_bytes, std::uint32_t *hits,
                                             std::size_t count) {
  const std::uint8_t *row = base + first * row_step;
  std::size_t index = first;
  for (; index + 8 <= end; index += 8, row += 8 * row_step) {
    const Vector joined = compare_rows<Lane, order, vectors, 8>(bound, row, row_step, row_bytes);
    count = emit_byte(any_of_eight(joined), index, hits, count);
  }
  for (; index < end; ++index, row += row_step) {
    hits[count] = static_cast<std::uint32_t>(index);
    count += bound.passing(best_of_row<Lane, order, vectors>(bound, row, row_bytes)) != 0 ? 1 : 0;
  }
  return count;
}

template <typename Lane, Order order>
[[gnu::noinline]] std::size_t gate_each_row(const Bound<Lane, order> bound, const std::uint8_t *base, std::size_t first,
                                            std::size_t end, std::size_t row_step, std::size_t row_bytes, std::uint32_t *hits,
                                            std::size_t count) {
  if (row_bytes >= vector_bytes) {
    switch ((row_bytes + vector_bytes - 1) / vector_bytes) {
      case 2: return gate_long_rows<Lane, order, 2>(bound, base, first, end, row_step, row_bytes, hits, count);
      case 3: return gate_long_rows<Lane, order, 3>(bound, base, first, end, row_step, row_bytes, hits, count);
      case 5: return gate_long_rows<Lane, order, 5>(bound, base, first, end, row_step, row_bytes, hits, count);
      default: return gate_long_rows<Lane, order, 0>(bound, base, first, end, row_step, row_bytes, hits, count);
    }
  }
  const std::uint8_t *row = base + first * row_step;
  if (row_bytes == sizeof(typename Lane::Bits)) {
    for (std::size_t index = first; index < end; ++index, row += row_step) {
      hits[count] = static_cast<std::uint32_t>(index);
      count += bound.passes(row) ? 1 : 0;
    }
    return count;
  }
  for (std::size_t index = first; index < end; ++index, row += row_step) {
    hits[count] = static_cast<std::uint32_t>(index);
    count += bound.passing(bound.bring(load_short_row(row, row_bytes))) != 0 ? 1 : 0;
  }
  return count;
}

// Two rows of 80 bytes, one behind the other, are five vectors, of which they share the third.
template <typename Lane, Order order>
[[gnu::always_inline]] inline Vector compare_two_rows_of_80_bytes(const Bound<Lane, order> &bound, const std::uint8_t *row) {
  Vector vector1 = bound.bring(row + vector_bytes);
  Vector vector2 = bound.bring(row + 2 * vector_bytes);
  Vector vector3 = bound.bring(row + 3 * vector_bytes);
  // Each is used twice: keeps the compiler from loading it twice.
  __asm__("" : "+x"(vector1), "+x"(vector2), "+x"(vector3));
  const Vector best0 = bound.better(vector1, bound.bring(row));
  const Vector best1 = bound.better(vector3, bound.bring(row + 4 * vector_bytes));
  return join(bound.compare(bound.better(best0, _mm256_blend_epi32(vector2, vector1, 0xF0))),
              bound.compare(bound.better(best1, _mm256_blend_epi32(vector2, vector3, 0x0F))));
}

template <typename Lane, Order order>
[[gnu::always_inline]] inline Vector compare_eight_rows_of_80_bytes(const Bound<Lane, order> &bound, const std::uint8_t *row) {
  const Vector four0 = join(compare_two_rows_of_80_bytes(bound, row), compare_two_rows_of_80_bytes(bound, row + 160));
  return join(four0, join(compare_two_rows_of_80_bytes(bound, row + 320), compare_two_rows_of_80_bytes(bound, row + 480)));
}

// Whether a lane of `vectors` vectors passes.
template <typename Lane, Order order, std::size_t vectors>
[[gnu::always_inline]] inline bool block_passes(const Bound<Lane, order> &bound, const std::uint8_t *block) {
  Vector best = bound.bring(block);
  Vector other = bound.bring(block + vector_bytes);
  for (std::size_t vector = 2; vector < vectors; vector += 2) {
    best = bound.better(best, bound.bring(block + vector * vector_bytes));
    other = bound.better(other, bound.bring(block + (vector + 1) * vector_bytes));
  }
  return bound.passing(bound.better(best, other)) != 0;
}

// Calls may_pass(index) for each block of `block` rows or cells, a bound that costs little, and passing(index) where it holds,
// which has bit i set when row index + i passes. No branch depends on a single block: those that may pass are collected over
// a stretch. Where most blocks of a stretch may pass, the bound is not asked in the next one.
template <std::size_t block, typename MayPass, typename Passing>
[[gnu::always_inline]] inline std::size_t gate_blocks(std::size_t first, std::size_t end, std::uint32_t *hits,
                                                      std::size_t count, MayPass may_pass, Passing passing) {
  constexpr std::size_t stretch_rows = 512;
  bool crowded = false;
  for (std::size_t stretch = first; stretch < end; stretch += stretch_rows) {
    const std::size_t stretch_end = end - stretch < stretch_rows ? end : stretch + stretch_rows;
    std::size_t flagged[stretch_rows / block];
    std::size_t flags = 0;
    for (std::size_t index = stretch; index < stretch_end; index += block) {
      flagged[flags] = index;
      flags += crowded || may_pass(index) ? 1 : 0;
    }
    std::size_t passed = 0;
    for (std::size_t flag = 0; flag < flags; ++flag) {
      const std::uint32_t bits = passing(flagged[flag]);
      passed += bits != 0 ? 1 : 0;
      for (std::size_t group = 0; group < block; group += 8) {
        count = emit_byte(bits >> group & 0xFFU, flagged[flag] + group, hits, count);
      }
    }
    crowded = 2 * block * (crowded ? passed : flags) > stretch_end - stretch;
  }
  return count;
}

// Eight rows are a block.
template <typename Lane, Order order>
[[gnu::noinline]] std::size_t gate_rows_of_80_bytes(const Bound<Lane, order> bound, const std::uint8_t *base, std::size_t rows,
                                                    std::uint32_t *hits) {
  // Where the first row is aligned to half vectors only, the second one is aligned to whole ones.
  const std::size_t first = reinterpret_cast<std::uintptr_t>(base) % vector_bytes == 0 || rows == 0 ? 0 : 1;
  const std::size_t end = rows - (rows - first) % 8;
  std::size_t count = gate_each_row(bound, base, 0, first, 80, 80, hits, 0);
  count = gate_blocks<8>(
      first, end, hits, count, [&](std::size_t row) { return block_passes<Lane, order, 20>(bound, base + row * 80); },
      [&](std::size_t row) { return any_of_eight(compare_eight_rows_of_80_bytes(bound, base + row * 80)); });
  return gate_each_row(bound, base, end, rows, 80, 80, hits, count);
}

// Rows one behind the other are one run of bytes. Blocks of it are reduced to one flag each, without a branch on the data;
// then rows that share bytes with a flagged block are looked at. Where most blocks of a stretch are flagged, all its rows are
// looked at in order, and those of the next stretch at once.
template <typename Lane, Order order>
struct Run {
  static constexpr std::size_t element_bytes = sizeof(typename Lane::Bits);
  static constexpr std::size_t block_bytes = 8 * vector_bytes;

  Bound<Lane, order> bound;
  const std::uint8_t *base;
  std::size_t rows;
  std::size_t row_bytes;
  std::uint32_t reciprocal;  // ⌊65536 / row_bytes⌋ + 1: exact for positions below 1,024 in rows shorter than a vector
  std::uint32_t *hits;
  std::size_t count;
  std::size_t next;  // rows below it are decided

  std::size_t bytes() const { return rows * row_bytes; }

  // Rows next..end.
  void look_at_rows(std::size_t end) {
    if (row_bytes == element_bytes) {
      look_at_elements(end);
    } else if (row_bytes < vector_bytes) {
      look_at_short_rows(end);
    } else {
      count = gate_each_row(bound, base, next, end, row_bytes, row_bytes, hits, count);
    }
    next = end > next ? end : next;
  }

  void look_at_elements(std::size_t end) {
    constexpr std::size_t lanes = vector_bytes / element_bytes;
    std::size_t row = next;
    for (; row + lanes <= end; row += lanes) {
      count = emit_lanes<Lane>(bound.compare(bound.bring(base + row * element_bytes)), row, hits, count);
    }
    count = gate_each_row(bound, base, row, end, row_bytes, row_bytes, hits, count);
  }

  // As many rows as a vector holds at a time.
  void look_at_short_rows(std::size_t end) {
    const Bound<Lane, order> local = bound;
    const std::size_t together = vector_bytes / row_bytes;
    const std::uint32_t of_row = (1U << row_bytes) - 1U;
    const std::size_t whole = bytes() < vector_bytes ? 0 : (bytes() - vector_bytes) / row_bytes + 1;
    std::size_t row = next;
    for (; row + together <= end && row < whole; row += together) {
      std::uint32_t bits = local.passing(local.bring(base + row * row_bytes));
      for (std::size_t index = row; index < row + together; ++index, bits >>= row_bytes) {
        hits[count] = static_cast<std::uint32_t>(index);
        count += (bits & of_row) != 0 ? 1 : 0;
      }
    }
    count = gate_each_row(local, base, row, end, row_bytes, row_bytes, hits, count);
  }

  // Rows shorter than a vector that share bytes with a block: walks the bytes that pass.
  void walk(std::size_t begin) {
    const std::size_t first = begin / row_bytes;
    const std::size_t shift = begin - first * row_bytes;
    std::size_t decided = next > first ? (next - first) * row_bytes : 0;
    for (std::size_t at = 0; at < block_bytes; at += vector_bytes) {
      std::uint64_t bits = bound.passing(bound.bring(base + begin + at));
      // Positions count from the beginning of the first row.
      const std::size_t position = at + shift;
      if (decided > position) {
        bits = decided - position < vector_bytes ? bits >> (decided - position) << (decided - position) : 0;
      }
      while (bits != 0) {
        const std::size_t row = (position + static_cast<std::size_t>(__builtin_ctzll(bits))) * reciprocal >> 16U;
        hits[count++] = static_cast<std::uint32_t>(first + row);
        decided = (row + 1) * row_bytes;
        next = first + row + 1;
        bits = bits >> (decided - position) << (decided - position);
      }
    }
  }

  // Flagged blocks, of which the first byte is given.
  void look_at_blocks(const std::size_t *begins, std::size_t blocks) {
    for (std::size_t block = 0; block < blocks; ++block) {
      if (row_bytes < vector_bytes) {
        walk(begins[block]);
      } else {
        const std::size_t first = begins[block] / row_bytes;
        next = first > next ? first : next;
        look_at_rows((begins[block] + block_bytes - 1) / row_bytes + 1);
      }
    }
  }

  std::size_t gate() {
    constexpr std::size_t stretch_blocks = 64;
    const Bound<Lane, order> local = bound;
    // Vectors are aligned where elements are.
    const std::size_t misalignment = (0 - reinterpret_cast<std::uintptr_t>(base)) % vector_bytes;
    const std::size_t lead = misalignment % element_bytes == 0 && misalignment < bytes() ? misalignment : 0;
    const std::size_t blocks = (bytes() - lead) / block_bytes;
    std::size_t flagged[2 * stretch_blocks];
    std::size_t flags = 0;
    bool crowded = false;
    look_at_rows((lead + row_bytes - 1) / row_bytes);
    for (std::size_t stretch = 0; stretch < blocks; stretch += stretch_blocks) {
      const std::size_t some = blocks - stretch < stretch_blocks ? blocks - stretch : stretch_blocks;
      const std::size_t begin = lead + stretch * block_bytes;
      const std::size_t end = begin + some * block_bytes;
      const std::size_t before = flags;
      if (!crowded) {
        for (std::size_t at = begin; at < end; at += block_bytes) {
          flagged[flags] = at;
          flags += block_passes<Lane, order, 8>(local, base + at) ? 1 : 0;
        }
        crowded = 2 * (flags - before) > some;
      }
      if (crowded) {
        look_at_blocks(flagged, before);
        flags = 0;
        const std::size_t first = begin / row_bytes;
        next = first > next ? first : next;
        const std::size_t found = count;
        look_at_rows((end - 1) / row_bytes + 1);
        crowded = 2 * (count - found) > some;
      } else if (flags >= stretch_blocks) {
        look_at_blocks(flagged, flags);
        flags = 0;
      }
    }
    look_at_blocks(flagged, flags);
    const std::size_t first = (lead + blocks * block_bytes) / row_bytes;
    next = first > next ? first : next;
    look_at_rows(rows);
    return count;
  }
};

template <typename Lane, Order order>
std::size_t gate_rows_in_order(const std::uint8_t *base, std::size_t rows, std::size_t row_step, std::size_t length, Gate gate,
                               std::uint32_t *hits) {
  constexpr std::size_t run_row_bytes = 256;
  const Bound<Lane, order> bound(gate);
  const std::size_t row_bytes = length * sizeof(typename Lane::Bits);
  // Rows of whole vectors lose nothing when each is reduced for itself.
  const bool whole_vectors = row_bytes >= 3 * vector_bytes && row_bytes % vector_bytes == 0;
  if (order == Order::Flipped || row_step != row_bytes || row_bytes >= run_row_bytes || whole_vectors) {
    return gate_each_row(bound, base, 0, rows, row_step, row_bytes, hits, 0);
  }
  if (row_bytes == 80) {
    return gate_rows_of_80_bytes(bound, base, rows, hits);
  }
  const std::uint32_t reciprocal = static_cast<std::uint32_t>(65536U / row_bytes) + 1U;
  return Run<Lane, order>{bound, base, rows, row_bytes, reciprocal, hits, 0, 0}.gate();
}

template <typename Lane>
std::size_t gate_rows(const std::uint8_t *base, std::size_t rows, std::size_t row_step, std::size_t length, Gate gate,
                      std::uint32_t *hits) {
  if (gate.threshold > Lane::highest) {
    return 0;
  }
  if (gate.threshold <= Lane::lowest) {
    return every_index(rows, hits);
  }
  switch (order_of<Lane>(gate.flip)) {
    case Order::Signed: return cleaned(gate_rows_in_order<Lane, Order::Signed>(base, rows, row_step, length, gate, hits));
    case Order::Unsigned: return cleaned(gate_rows_in_order<Lane, Order::Unsigned>(base, rows, row_step, length, gate, hits));
    case Order::Reversed: return cleaned(gate_rows_in_order<Lane, Order::Reversed>(base, rows, row_step, length, gate, hits));
    default: return cleaned(gate_rows_in_order<Lane, Order::Flipped>(base, rows, row_step, length, gate, hits));
  }
}

// ---- planes ---------------------------------------------------------------------------------------------------------

// Brings `together` planes into the marks. The last vector overlaps the one before it: what is in already does no harm.
template <typename Lane, Order order, std::size_t together>
void mark_planes(const Bound<Lane, order> bound, const std::uint8_t *planes, std::size_t plane_step, std::size_t bytes,
                 bool fresh, std::uint8_t *marks) {
  const std::size_t last = bytes - vector_bytes;
  for (std::size_t begin = 0; begin < bytes; begin += vector_bytes) {
    const std::size_t at = begin < last ? begin : last;
    Vector best = bound.bring(planes + at);
    for (std::size_t plane = 1; plane < together; ++plane) {
      best = bound.better(best, bound.bring(planes + plane * plane_step + at));
    }
    store(marks + at, fresh ? best : bound.better(best, load(marks + at)));
  }
}

template <typename Lane, Order order>
std::size_t gate_planes_in_order(const std::uint8_t *base, std::size_t cells, std::size_t planes, std::size_t plane_step,
                                 Gate gate, void *scratch, std::uint32_t *hits) {
  constexpr std::size_t element_bytes = sizeof(typename Lane::Bits);
  constexpr std::size_t together = 8;
  const Bound<Lane, order> bound(gate);
  const std::size_t bytes = cells * element_bytes;
  std::size_t count = 0;
  if (bytes < vector_bytes) {
    for (std::size_t cell = 0; cell < cells; ++cell) {
      bool hit = false;
      for (std::size_t plane = 0; plane < planes; ++plane) {
        hit |= bound.passes(base + plane * plane_step + cell * element_bytes);
      }
      hits[count] = static_cast<std::uint32_t>(cell);
      count += hit ? 1 : 0;
    }
    return count;
  }
  std::uint8_t *marks = static_cast<std::uint8_t *>(scratch);
  std::size_t plane = 0;
  for (; plane + together <= planes; plane += together) {
    mark_planes<Lane, order, together>(bound, base + plane * plane_step, plane_step, bytes, plane == 0, marks);
  }
  for (; plane < planes; ++plane) {
    mark_planes<Lane, order, 1>(bound, base + plane * plane_step, plane_step, bytes, plane == 0, marks);
  }
  std::size_t at = 0;
  for (; at + vector_bytes <= bytes; at += vector_bytes) {
    count = emit_lanes<Lane>(bound.compare(load(marks + at)), at / element_bytes, hits, count);
  }
  // The rest, from the end of the last vector.
  const std::size_t known = (at - (bytes - vector_bytes)) / element_bytes;
  std::uint32_t bits = Lane::lane_mask(bound.compare(load(marks + bytes - vector_bytes)));
  bits = known < 32 ? bits >> known : 0;
  for (; bits != 0; bits &= bits - 1) {
    hits[count++] = static_cast<std::uint32_t>(at / element_bytes) + trailing_zeros(bits);
  }
  return count;
}

template <typename Lane>
std::size_t gate_planes(const std::uint8_t *base, std::size_t cells, std::size_t planes, std::size_t plane_step, Gate gate,
                        void *marks, std::uint32_t *hits) {
  if (gate.threshold > Lane::highest || planes == 0) {
    return 0;
  }
  if (gate.threshold <= Lane::lowest) {
    return every_index(cells, hits);
  }
  switch (order_of<Lane>(gate.flip)) {
    case Order::Signed:
      return cleaned(gate_planes_in_order<Lane, Order::Signed>(base, cells, planes, plane_step, gate, marks, hits));
    case Order::Unsigned:
      return cleaned(gate_planes_in_order<Lane, Order::Unsigned>(base, cells, planes, plane_step, gate, marks, hits));
    case Order::Reversed:
      return cleaned(gate_planes_in_order<Lane, Order::Reversed>(base, cells, planes, plane_step, gate, marks, hits));
    default: return cleaned(gate_planes_in_order<Lane, Order::Flipped>(base, cells, planes, plane_step, gate, marks, hits));
  }
}

// ---- stripes --------------------------------------------------------------------------------------------------------

constexpr std::uint16_t every_lane = 0xFFFF;

// Thresholds that decide without a look at the elements.
std::size_t every_stripe_cell(std::size_t cells, const std::uint16_t *masks, std::size_t segments, std::uint32_t *hits) {
  for (std::size_t segment = 0; segment < segments; ++segment) {
    if (masks[segment] != 0) {
      return every_index(cells, hits);
    }
  }
  return 0;
}

// 0xFF in the bytes whose bit is set.
__m128i mask_bytes(std::uint16_t mask) {
  const __m128i bits = _mm_set1_epi64x(static_cast<std::int64_t>(0x8040201008040201ULL));
  const __m128i spread =
      _mm_unpacklo_epi64(_mm_set1_epi8(static_cast<char>(mask & 0xFFU)), _mm_set1_epi8(static_cast<char>(mask >> 8U)));
  return _mm_cmpeq_epi8(_mm_and_si128(spread, bits), bits);
}

// Blocks of 256 bytes, one of each segment: whether a byte that counts passes. Bit i of `counted`: byte i of a vector counts.
template <Order order>
struct StripeBlocks {
  Bound<Lane8, order> bound;
  const std::size_t *offsets;
  const std::uint16_t *masks;
  std::size_t segments;
  std::uint32_t counted;
  std::size_t full;  // segments before it count whole

  StripeBlocks(const Bound<Lane8, order> &bound_of_bytes, const std::size_t *segment_offsets,
               const std::uint16_t *segment_masks, std::size_t number, std::uint32_t counted_bytes)
      : bound(bound_of_bytes), offsets(segment_offsets), masks(segment_masks), segments(number), counted(counted_bytes),
        full(0) {
    while (full < segments && masks[full] == every_lane) {
      ++full;
    }
  }

  [[gnu::always_inline]] Vector best(const std::uint8_t *block) const {
    Vector even = bound.bring(block);
    Vector odd = bound.bring(block + vector_bytes);
    for (std::size_t at = 2 * vector_bytes; at < 8 * vector_bytes; at += 2 * vector_bytes) {
      even = bound.better(even, bound.bring(block + at));
      odd = bound.better(odd, bound.bring(block + at + vector_bytes));
    }
    return bound.better(even, odd);
  }

  // Of some segments in one go: a loop over single ones keeps the CPU from looking far ahead.
  template <std::size_t number>
  [[gnu::always_inline]] Vector best_of(const std::uint8_t *blocks, const std::size_t *of) const {
    if constexpr (number == 1) {
      return best(blocks + of[0]);
    } else {
      return bound.better(best_of<number / 2>(blocks, of), best_of<number - number / 2>(blocks, of + number / 2));
    }
  }

  [[gnu::always_inline]] bool pass(const std::uint8_t *blocks) const {
    constexpr std::size_t together = 5;  // 80 channels
    Vector all = bound.nothing();
    std::size_t segment = 0;
    for (; segment + together <= full; segment += together) {
      all = bound.better(all, best_of<together>(blocks, offsets + segment));
    }
    for (; segment < full; ++segment) {
      all = bound.better(all, best(blocks + offsets[segment]));
    }
    for (; segment < segments; ++segment) {
      const Vector limit = bound.limit(_mm256_broadcastsi128_si256(mask_bytes(masks[segment])));
      all = bound.better(all, bound.limited(best(blocks + offsets[segment]), limit));
    }
    return (bound.passing(all) & counted) != 0;
  }
};

// Sixteen cells, two to a vector, segment by segment in eight registers. Bit i: cell + i passes.
template <Order order>
[[gnu::always_inline]] inline std::uint32_t passing_stripes_8(const Bound<Lane8, order> &bound, const std::uint8_t *base,
                                                              std::size_t cell, const std::size_t *offsets,
                                                              const std::uint16_t *masks, std::size_t segments) {
  Vector best0 = bound.nothing();
  Vector best1 = best0;
  Vector best2 = best0;
  Vector best3 = best0;
  Vector best4 = best0;
  Vector best5 = best0;
  Vector best6 = best0;
  Vector best7 = best0;
  for (std::size_t segment = 0; segment < segments; ++segment) {
    const std::uint8_t *stripe = base + offsets[segment] + 16 * cell;
    if (masks[segment] == every_lane) {
      best0 = bound.better(best0, bound.bring(stripe));
      best1 = bound.better(best1, bound.bring(stripe + 32));
      best2 = bound.better(best2, bound.bring(stripe + 64));
      best3 = bound.better(best3, bound.bring(stripe + 96));
      best4 = bound.better(best4, bound.bring(stripe + 128));
      best5 = bound.better(best5, bound.bring(stripe + 160));
      best6 = bound.better(best6, bound.bring(stripe + 192));
      best7 = bound.better(best7, bound.bring(stripe + 224));
    } else {
      const Vector limit = bound.limit(_mm256_broadcastsi128_si256(mask_bytes(masks[segment])));
      best0 = bound.better(best0, bound.limited(bound.bring(stripe), limit));
      best1 = bound.better(best1, bound.limited(bound.bring(stripe + 32), limit));
      best2 = bound.better(best2, bound.limited(bound.bring(stripe + 64), limit));
      best3 = bound.better(best3, bound.limited(bound.bring(stripe + 96), limit));
      best4 = bound.better(best4, bound.limited(bound.bring(stripe + 128), limit));
      best5 = bound.better(best5, bound.limited(bound.bring(stripe + 160), limit));
      best6 = bound.better(best6, bound.limited(bound.bring(stripe + 192), limit));
      best7 = bound.better(best7, bound.limited(bound.bring(stripe + 224), limit));
    }
  }
  // GCC would else copy all registers in the loop.
  __asm__("" : "+x"(best0), "+x"(best1), "+x"(best2), "+x"(best3), "+x"(best4), "+x"(best5), "+x"(best6), "+x"(best7));
  const Vector four0 = join(join(bound.compare(best0), bound.compare(best1)), join(bound.compare(best2), bound.compare(best3)));
  const Vector four1 = join(join(bound.compare(best4), bound.compare(best5)), join(bound.compare(best6), bound.compare(best7)));
  // Even cells are in the low half, odd ones in the high half, each as two bytes.
  const Vector joined = join(four0, four1);
  const Vector bytes = _mm256_packs_epi16(joined, joined);
  const __m128i ordered = _mm_unpacklo_epi8(_mm256_castsi256_si128(bytes), _mm256_extracti128_si256(bytes, 1));
  return ~static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(ordered, _mm_setzero_si128()))) & 0xFFFFU;
}

template <Order order>
std::size_t gate_stripes_8_in_order(const std::uint8_t *base, std::size_t cells, const std::size_t *offsets,
                                    const std::uint16_t *masks, std::size_t segments, Gate gate, std::uint32_t *hits) {
  const Bound<Lane8, order> bound(gate);
  const StripeBlocks<order> blocks(bound, offsets, masks, segments, 0xFFFFFFFFU);
  const std::size_t whole = cells - cells % 16;
  std::size_t count = gate_blocks<16>(
      0, whole, hits, 0, [&](std::size_t cell) { return blocks.pass(base + 16 * cell); },
      [&](std::size_t cell) { return passing_stripes_8(bound, base, cell, offsets, masks, segments); });
  for (std::size_t cell = whole; cell < cells; ++cell) {
    Vector best = bound.nothing();
    for (std::size_t segment = 0; segment < segments; ++segment) {
      const Vector limit = bound.limit(_mm256_broadcastsi128_si256(mask_bytes(masks[segment])));
      const Vector lanes = _mm256_broadcastsi128_si256(load_half(base + offsets[segment] + 16 * cell));
      best = bound.better(best, bound.limited(bound.bring(lanes), limit));
    }
    hits[count] = static_cast<std::uint32_t>(cell);
    count += bound.passing(best) != 0 ? 1 : 0;
  }
  return count;
}

std::size_t gate_stripes_8(const std::uint8_t *base, std::size_t cells, const std::size_t *offsets, const std::uint16_t *masks,
                           std::size_t segments, Gate gate, std::uint32_t *hits) {
  if (gate.threshold > Lane8::highest) {
    return 0;
  }
  if (gate.threshold <= Lane8::lowest) {
    return every_stripe_cell(cells, masks, segments, hits);
  }
  switch (order_of<Lane8>(gate.flip)) {
    case Order::Signed:
      return cleaned(gate_stripes_8_in_order<Order::Signed>(base, cells, offsets, masks, segments, gate, hits));
    case Order::Unsigned:
      return cleaned(gate_stripes_8_in_order<Order::Unsigned>(base, cells, offsets, masks, segments, gate, hits));
    default: return cleaned(gate_stripes_8_in_order<Order::Flipped>(base, cells, offsets, masks, segments, gate, hits));
  }
}

// Two cells whose low and high bytes are joined, one in either half: the better of lanes 0..7 and 8..15.
template <Order order>
[[gnu::always_inline]] inline Vector joined_stripes(const Bound<Lane16, order> &bound, const std::uint8_t *stripe) {
  const Vector low = _mm256_inserti128_si256(_mm256_castsi128_si256(load_half(stripe)), load_half(stripe + 32), 1);
  const Vector high = _mm256_inserti128_si256(_mm256_castsi128_si256(load_half(stripe + 16)), load_half(stripe + 48), 1);
  return bound.better(bound.bring(_mm256_unpacklo_epi8(low, high)), bound.bring(_mm256_unpackhi_epi8(low, high)));
}

struct StripeLimits {
  Vector low;  // of lanes 0..7
  Vector high;
};

template <Order order>
[[gnu::always_inline]] inline Vector joined_stripes(const Bound<Lane16, order> &bound, const std::uint8_t *stripe,
                                                    const StripeLimits &limits) {
  const Vector low = _mm256_inserti128_si256(_mm256_castsi128_si256(load_half(stripe)), load_half(stripe + 32), 1);
  const Vector high = _mm256_inserti128_si256(_mm256_castsi128_si256(load_half(stripe + 16)), load_half(stripe + 48), 1);
  return bound.better(bound.limited(bound.bring(_mm256_unpacklo_epi8(low, high)), limits.low),
                      bound.limited(bound.bring(_mm256_unpackhi_epi8(low, high)), limits.high));
}

// Eight cells, segment by segment. Bit i: cell + i passes.
template <Order order>
[[gnu::always_inline]] inline std::uint32_t passing_stripes_16(const Bound<Lane16, order> &bound, const std::uint8_t *base,
                                                               std::size_t cell, const std::size_t *offsets,
                                                               const std::uint16_t *masks, std::size_t segments) {
  Vector best0 = bound.nothing();
  Vector best1 = best0;
  Vector best2 = best0;
  Vector best3 = best0;
  for (std::size_t segment = 0; segment < segments; ++segment) {
    const std::uint8_t *stripe = base + offsets[segment] + 32 * cell;
    if (masks[segment] == every_lane) {
      best0 = bound.better(best0, joined_stripes(bound, stripe));
      best1 = bound.better(best1, joined_stripes(bound, stripe + 64));
      best2 = bound.better(best2, joined_stripes(bound, stripe + 128));
      best3 = bound.better(best3, joined_stripes(bound, stripe + 192));
    } else {
      const __m128i bytes = mask_bytes(masks[segment]);
      const StripeLimits limits = {bound.limit(_mm256_broadcastsi128_si256(_mm_unpacklo_epi8(bytes, bytes))),
                                   bound.limit(_mm256_broadcastsi128_si256(_mm_unpackhi_epi8(bytes, bytes)))};
      best0 = bound.better(best0, joined_stripes(bound, stripe, limits));
      best1 = bound.better(best1, joined_stripes(bound, stripe + 64, limits));
      best2 = bound.better(best2, joined_stripes(bound, stripe + 128, limits));
      best3 = bound.better(best3, joined_stripes(bound, stripe + 192, limits));
    }
  }
  __asm__("" : "+x"(best0), "+x"(best1), "+x"(best2), "+x"(best3));
  // Even cells are in the low half, odd ones in the high half, each as four bytes.
  const Vector four = join(join(bound.compare(best0), bound.compare(best1)), join(bound.compare(best2), bound.compare(best3)));
  const __m128i ordered0 = _mm_unpacklo_epi32(_mm256_castsi256_si128(four), _mm256_extracti128_si256(four, 1));
  const __m128i ordered1 = _mm_unpackhi_epi32(_mm256_castsi256_si128(four), _mm256_extracti128_si256(four, 1));
  const __m128i zero = _mm_cmpeq_epi16(_mm_packs_epi32(ordered0, ordered1), _mm_setzero_si128());
  return ~static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_packs_epi16(zero, zero))) & 0xFFU;
}

template <Order order>
std::size_t gate_stripes_16_in_order(const std::uint8_t *base, std::size_t cells, const std::size_t *offsets,
                                     const std::uint16_t *masks, std::size_t segments, Gate gate, std::uint32_t *hits) {
  const Bound<Lane16, order> bound(gate);
  // An element that passes has a high byte that passes the high byte of the gate. High bytes are the second half of a vector.
  const Gate high_gate = {gate.flip >> 8U & 0xFFU, gate.threshold >> 8};
  const StripeBlocks<order> blocks(Bound<Lane8, order>(high_gate), offsets, masks, segments, 0xFFFF0000U);
  const bool high_decides = high_gate.threshold > Lane8::lowest;
  const std::size_t whole = cells - cells % 8;
  std::size_t count = gate_blocks<8>(
      0, whole, hits, 0, [&](std::size_t cell) { return !high_decides || blocks.pass(base + 32 * cell); },
      [&](std::size_t cell) { return passing_stripes_16(bound, base, cell, offsets, masks, segments); });
  for (std::size_t cell = whole; cell < cells; ++cell) {
    Vector best = bound.nothing();
    for (std::size_t segment = 0; segment < segments; ++segment) {
      const __m128i low = load_half(base + offsets[segment] + 32 * cell);
      const __m128i high = load_half(base + offsets[segment] + 32 * cell + 16);
      const __m128i bytes = mask_bytes(masks[segment]);
      const Vector lanes = _mm256_set_m128i(_mm_unpackhi_epi8(low, high), _mm_unpacklo_epi8(low, high));
      const Vector limit = bound.limit(_mm256_set_m128i(_mm_unpackhi_epi8(bytes, bytes), _mm_unpacklo_epi8(bytes, bytes)));
      best = bound.better(best, bound.limited(bound.bring(lanes), limit));
    }
    hits[count] = static_cast<std::uint32_t>(cell);
    count += bound.passing(best) != 0 ? 1 : 0;
  }
  return count;
}

std::size_t gate_stripes_16(const std::uint8_t *base, std::size_t cells, const std::size_t *offsets, const std::uint16_t *masks,
                            std::size_t segments, Gate gate, std::uint32_t *hits) {
  if (gate.threshold > Lane16::highest) {
    return 0;
  }
  if (gate.threshold <= Lane16::lowest) {
    return every_stripe_cell(cells, masks, segments, hits);
  }
  switch (order_of<Lane16>(gate.flip)) {
    case Order::Signed:
      return cleaned(gate_stripes_16_in_order<Order::Signed>(base, cells, offsets, masks, segments, gate, hits));
    case Order::Reversed:
      return cleaned(gate_stripes_16_in_order<Order::Reversed>(base, cells, offsets, masks, segments, gate, hits));
    default: return cleaned(gate_stripes_16_in_order<Order::Flipped>(base, cells, offsets, masks, segments, gate, hits));
  }
}

// ---- first largest --------------------------------------------------------------------------------------------------

// The smallest of the unsigned complements: x86 finds it among eight words in one instruction.
std::int32_t largest_of_16(__m128i keys_s8x16) {
  const __m128i complement = _mm_xor_si128(keys_s8x16, _mm_set1_epi8(INT8_MAX));
  const __m128i words = _mm_min_epu8(complement, _mm_srli_epi16(complement, 8));
  return static_cast<std::int8_t>(INT8_MAX ^ (_mm_cvtsi128_si32(_mm_minpos_epu16(words)) & 0xFF));
}

// Keys of the three widths. `keys` makes signed keys of a vector and of_element of one element. Where no lane is NaN and the
// greatest key is not that of the two zeros, `plain_keys` gives the same greatest key and exactly the lanes with the bits
// `bits_of(key)` have it; `seen` collects what is_special needs to tell.
struct Keys8 {
  using Bits = std::uint8_t;
  Vector flip;
  std::uint32_t flip_bits;

  Vector keys(const Bits *from) const { return _mm256_xor_si256(load(from), flip); }
  std::int32_t of_element(Bits bits) const { return static_cast<std::int8_t>(bits ^ static_cast<std::uint8_t>(flip_bits)); }
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
  static std::uint32_t equal_mask(const Bits *elements, Vector bits) { return byte_mask(equal(load(elements), bits)); }
};

struct Keys16 {
  using Bits = std::uint16_t;
  Vector infinity;
  std::uint32_t infinity_bits;

  Vector keys(const Bits *from) const {
    const Vector bits = load(from);
    const Vector magnitude = _mm256_and_si256(bits, _mm256_set1_epi16(INT16_MAX));
    const Vector key = _mm256_sign_epi16(magnitude, bits);
    // The largest key where it is NaN, the smallest elsewhere.
    const Vector nan = _mm256_xor_si256(_mm256_cmpgt_epi16(magnitude, infinity), _mm256_set1_epi16(INT16_MIN));
    return _mm256_max_epi16(key, nan);
  }
  std::int32_t of_element(Bits bits) const {
    const std::uint32_t magnitude = bits & 0x7FFFU;
    const std::int32_t value = static_cast<std::int32_t>(magnitude > infinity_bits ? 0x7FFFU : magnitude);
    return (bits & 0x8000U) != 0 && magnitude <= infinity_bits ? -value : value;
  }
  Vector plain_keys(const Bits *from, Vector &seen) const {
    const Vector bits = load(from);
    const Vector magnitude = _mm256_and_si256(bits, _mm256_set1_epi16(INT16_MAX));
    seen = _mm256_max_epi16(seen, magnitude);
    return _mm256_sign_epi16(magnitude, bits);
  }
  bool is_special(Vector seen, std::int32_t key) const {
    return key == 0 || byte_mask(_mm256_cmpgt_epi16(seen, infinity)) != 0;
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
  static std::uint32_t equal_mask(const Bits *elements, Vector bits) {
    const Vector bytes = _mm256_packs_epi16(equal(load(elements), bits), equal(load(elements + 16), bits));
    return byte_mask(_mm256_permute4x64_epi64(bytes, 0xD8));
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
  std::int32_t of_element(Bits bits) const {
    const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
    if (magnitude > 0x7F800000U) {
      return INT32_MAX;
    }
    const std::int32_t value = static_cast<std::int32_t>(magnitude);
    return (bits >> 31U) != 0 ? -value : value;
  }
  Vector plain_keys(const Bits *from, Vector &seen) const {
    const Vector bits = load(from);
    const Vector magnitude = _mm256_and_si256(bits, _mm256_set1_epi32(INT32_MAX));
    seen = _mm256_max_epi32(seen, magnitude);
    return _mm256_sign_epi32(magnitude, bits);
  }
  bool is_special(Vector seen, std::int32_t key) const {
    return key == 0 || byte_mask(_mm256_cmpgt_epi32(seen, _mm256_set1_epi32(0x7F800000))) != 0;
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
  static std::uint32_t equal_mask(const Bits *elements, Vector bits) {
    const Vector words0 = _mm256_packs_epi32(equal(load(elements), bits), equal(load(elements + 8), bits));
    const Vector words1 = _mm256_packs_epi32(equal(load(elements + 16), bits), equal(load(elements + 24), bits));
    const Vector bytes = _mm256_packs_epi16(words0, words1);
    return byte_mask(_mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7)));
  }
};

// Vector by vector, for every input.
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
    const std::uint32_t bits = byte_mask(Keys::equal(order.keys(elements + at), wanted));
    if (bits != 0) {
      return {key, static_cast<std::uint32_t>(at + trailing_zeros(bits) / sizeof(typename Keys::Bits))};
    }
  }
  const std::uint32_t bits = byte_mask(Keys::equal(order.keys(elements + last), wanted));
  return {key, static_cast<std::uint32_t>(last + trailing_zeros(bits) / sizeof(typename Keys::Bits))};
}

template <typename Keys>
Best best_of(const Keys &order, const typename Keys::Bits *elements, std::size_t length) {
  constexpr std::size_t lanes = vector_bytes / sizeof(typename Keys::Bits);
  if (length < lanes) {
    Best best{order.of_element(elements[0]), 0};
    for (std::size_t lane = 1; lane < length; ++lane) {
      const std::int32_t key = order.of_element(elements[lane]);
      if (key > best.key) {
        best = {key, static_cast<std::uint32_t>(lane)};
      }
    }
    return best;
  }
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
  std::uint64_t mask = Keys::equal_mask(elements, wanted);
  mask |= static_cast<std::uint64_t>(Keys::equal_mask(elements + group1, wanted)) << group1;
  std::size_t at = 0;
  if (length > 64) {
    const std::size_t group2 = last_group < 64 ? last_group : 64;
    const std::uint64_t mask2 = Keys::equal_mask(elements + group2, wanted);
    const std::uint64_t mask3 = Keys::equal_mask(elements + last_group, wanted);
    const std::uint64_t behind = 0 - static_cast<std::uint64_t>(mask == 0);
    mask |= (mask2 | mask3 << (last_group - group2)) & behind;
    at = group2 & behind;
  }
  return {key, static_cast<std::uint32_t>(at + static_cast<std::size_t>(__builtin_ctzll(mask)))};
}

// 16 to 31 elements in two halves of a vector, which overlap.
Best best_of_short_row(const std::uint8_t *elements, std::size_t length, std::uint32_t flip) {
  const __m128i flips = _mm_set1_epi8(static_cast<char>(flip));
  const __m128i first = load_half(elements);
  const __m128i last = load_half(elements + length - 16);
  const std::int32_t key = largest_of_16(_mm_max_epi8(_mm_xor_si128(first, flips), _mm_xor_si128(last, flips)));
  const __m128i wanted = _mm_xor_si128(_mm_set1_epi8(static_cast<char>(key)), flips);
  const auto first_mask = static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(first, wanted)));
  const auto last_mask = static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(last, wanted)));
  return {key, trailing_zeros(first_mask | last_mask << (length - 16))};
}

Best best_8(const std::uint8_t *elements, std::size_t length, std::uint32_t flip) {
  if (length >= 16 && length < vector_bytes) {
    return best_of_short_row(elements, length, flip);
  }
  return best_of(Keys8{_mm256_set1_epi8(static_cast<char>(flip)), flip}, elements, length);
}

Best best_16(const std::uint16_t *elements, std::size_t length, std::uint16_t infinity) {
  // No magnitude is above 0x7FFF, and the comparison of vectors is signed.
  const std::uint32_t magnitude = infinity > 0x7FFFU ? 0x7FFFU : infinity;
  return best_of(Keys16{_mm256_set1_epi16(static_cast<std::int16_t>(magnitude)), magnitude}, elements, length);
}

Best best_32(const std::uint32_t *elements, std::size_t length) { return best_of(Keys32{}, elements, length); }

// Lanes that do not count are the last ones of the last block: they get the lowest key, and the first lane with a key counts.
Best best_blocks_8(const std::uint8_t *block, std::size_t block_step, std::size_t length, std::uint32_t flip) {
  const __m128i flips = _mm_set1_epi8(static_cast<char>(flip));
  const std::size_t last = (length - 1) / 16;
  const __m128i lane = _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  const __m128i behind_length = _mm_cmpgt_epi8(lane, _mm_set1_epi8(static_cast<char>((length - 1) % 16)));
  const __m128i last_keys = _mm_xor_si128(load_half(block + last * block_step), flips);
  __m128i greatest = _mm_blendv_epi8(last_keys, _mm_set1_epi8(INT8_MIN), behind_length);
  for (std::size_t at = 0; at < last; ++at) {
    greatest = _mm_max_epi8(greatest, _mm_xor_si128(load_half(block + at * block_step), flips));
  }
  const std::int32_t key = largest_of_16(greatest);
  const __m128i wanted = _mm_xor_si128(_mm_set1_epi8(static_cast<char>(key)), flips);
  const auto equal_lanes = [&](std::size_t at) {
    return static_cast<std::uint64_t>(
        static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(load_half(block + at * block_step), wanted))));
  };
  // Where the first equal lane is depends on the data, so that no branch should, as long as eight blocks hold all.
  std::size_t first = 0;
  std::uint64_t mask = 0;
  for (std::size_t at = 0; at <= last && at < 4; ++at) {
    mask |= equal_lanes(at) << (16 * at);
  }
  if (last >= 4) {
    std::uint64_t next = 0;
    for (std::size_t at = 4; at <= last && at < 8; ++at) {
      next |= equal_lanes(at) << (16 * (at - 4));
    }
    const std::uint64_t behind = 0 - static_cast<std::uint64_t>(mask == 0);
    mask |= next & behind;
    first = 64 & behind;
    for (std::size_t at = 8; mask == 0; ++at) {
      mask = equal_lanes(at);
      first = 16 * at;
    }
  }
  return {key, static_cast<std::uint32_t>(first + static_cast<std::size_t>(__builtin_ctzll(mask)))};
}

// ---- suppression ----------------------------------------------------------------------------------------------------

// inter · (256 + limit) ≥ limit · (areas) and areas > inter in the 64-bit lanes.
Vector suppressing_u64x4(Vector width, Vector height, Vector area, Vector candidate_area, Vector limit, Vector scale) {
  const Vector inter = _mm256_mul_epu32(width, height);
  const Vector areas = _mm256_add_epi64(_mm256_and_si256(area, _mm256_set1_epi64x(0xFFFFFFFF)), candidate_area);
  const Vector need = _mm256_add_epi64(_mm256_mul_epu32(area, limit), _mm256_mul_epu32(candidate_area, limit));
  const Vector too_small = _mm256_cmpgt_epi64(need, _mm256_mul_epu32(inter, scale));
  return _mm256_andnot_si256(too_small, _mm256_cmpgt_epi64(areas, inter));
}

bool suppressed(const SuppressionBlock *pool, std::uint32_t first, const RoundedBox &candidate, std::uint32_t limit) {
  const Vector x1 = _mm256_set1_epi32(candidate.x1);
  const Vector y1 = _mm256_set1_epi32(candidate.y1);
  const Vector x2 = _mm256_set1_epi32(candidate.x2);
  const Vector y2 = _mm256_set1_epi32(candidate.y2);
  for (std::uint32_t index = first; index != SuppressionBlock::end; index = pool[index].next) {
    const SuppressionBlock &block = pool[index];
    const Vector left = _mm256_max_epi32(load(block.x1), x1);
    const Vector right = _mm256_min_epi32(load(block.x2), x2);
    const Vector top = _mm256_max_epi32(load(block.y1), y1);
    const Vector bottom = _mm256_min_epi32(load(block.y2), y2);
    const Vector overlap = _mm256_and_si256(_mm256_cmpgt_epi32(right, left), _mm256_cmpgt_epi32(bottom, top));
    if (_mm256_testz_si256(overlap, overlap) != 0) {
      continue;
    }
    const Vector candidate_area = _mm256_set1_epi64x(static_cast<std::int64_t>(candidate.area));
    const Vector limits = _mm256_set1_epi64x(static_cast<std::int64_t>(limit));
    const Vector scale = _mm256_set1_epi64x(static_cast<std::int64_t>(256U + limit));
    // Sides of lanes that do not overlap are zero: nothing is suppressed by an intersection of zero unless the areas are
    // zero too, and then they are not greater than it.
    const Vector width = _mm256_and_si256(_mm256_sub_epi32(right, left), overlap);
    const Vector height = _mm256_sub_epi32(bottom, top);
    const Vector area = load(block.area);
    const Vector even = suppressing_u64x4(width, height, area, candidate_area, limits, scale);
    const Vector odd = suppressing_u64x4(_mm256_srli_epi64(width, 32), _mm256_srli_epi64(height, 32),
                                         _mm256_srli_epi64(area, 32), candidate_area, limits, scale);
    const Vector any = _mm256_or_si256(even, odd);
    if (_mm256_testz_si256(any, any) == 0) {
      return true;
    }
  }
  return false;
}

// ---- mask products --------------------------------------------------------------------------------------------------

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

Vector load_short_pixel(const std::uint8_t *pixel, std::size_t length, std::size_t part) {
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
    return products_s32x8<products>(plan, flip_bytes<flipped>(plan, load_short_pixel(pixel, plan.length, plan.part)), 0);
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
  return byte_mask(too_large) == 0;
}

void mask_dots_8(const MaskCoefficients &coefficients, const std::uint8_t *prototypes, std::size_t pixels,
                 std::size_t pixel_step, std::int32_t *dots) {
  const std::size_t length = coefficients.length;
  DotPlan plan;
  plan.length = length;
  plan.part = vector_bytes;
  bool narrow = false;
  if (length == vector_bytes) {
    narrow = prepare(coefficients.centred, plan.even[0], plan.odd[0], plan.both[0]);
    plan.even[1] = plan.odd[1] = plan.both[1] = _mm256_setzero_si256();
  } else {
    while (plan.part > length) {
      plan.part /= 2;
    }
    std::int16_t values[64] = {};
    for (std::size_t at = 0; at < 2 * plan.part; ++at) {
      const std::size_t byte = at < plan.part ? at : length - 2 * plan.part + at;
      values[at] = at < plan.part || byte >= plan.part ? coefficients.centred[byte] : std::int16_t{0};
    }
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

}  // namespace

const Kernels avx2_kernels = {
    "avx2",
    gate_rows<Lane8>,
    gate_rows<Lane16>,
    gate_rows<Lane32>,
    gate_planes<Lane8>,
    gate_planes<Lane16>,
    gate_planes<Lane32>,
    gate_stripes_8,
    gate_stripes_16,
    best_8,
    best_16,
    best_32,
    best_blocks_8,
    suppressed,
    mask_dots_8,
    mask_bytes_avx2,
    exponentials_avx2,
    bin_distances_8_avx2,
    bin_distances_32_avx2,
    suppressed_exact_avx2,
};

}  // namespace simaai::kernels::detail
