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

// One bit a byte.
std::uint32_t byte_mask(Vector value) { return static_cast<std::uint32_t>(_mm256_movemask_epi8(value)); }

std::uint32_t trailing_zeros(std::uint32_t bits) { return static_cast<std::uint32_t>(__builtin_ctz(bits)); }

struct Lane8 {
  using Element = std::int8_t;
  using Bits = std::uint8_t;
  static constexpr std::int32_t lowest = -128;
  static constexpr std::int32_t highest = 127;
  static Vector splat(std::uint32_t bits) { return _mm256_set1_epi8(static_cast<char>(bits)); }
  static Vector greatest(Vector a, Vector b) { return _mm256_max_epi8(a, b); }
  static Vector greater(Vector a, Vector b) { return _mm256_cmpgt_epi8(a, b); }
};

struct Lane16 {
  using Element = std::int16_t;
  using Bits = std::uint16_t;
  static constexpr std::int32_t lowest = -32768;
  static constexpr std::int32_t highest = 32767;
  static Vector splat(std::uint32_t bits) { return _mm256_set1_epi16(static_cast<std::int16_t>(bits)); }
  static Vector greatest(Vector a, Vector b) { return _mm256_max_epi16(a, b); }
  static Vector greater(Vector a, Vector b) { return _mm256_cmpgt_epi16(a, b); }
};

struct Lane32 {
  using Element = std::int32_t;
  using Bits = std::uint32_t;
  static constexpr std::int32_t lowest = INT32_MIN;
  static constexpr std::int32_t highest = INT32_MAX;
  static Vector splat(std::uint32_t bits) { return _mm256_set1_epi32(static_cast<std::int32_t>(bits)); }
  static Vector greatest(Vector a, Vector b) { return _mm256_max_epi32(a, b); }
  static Vector greater(Vector a, Vector b) { return _mm256_cmpgt_epi32(a, b); }
};

// A gate whose threshold is above the lowest value: a lane passes when it is greater than threshold − 1, and a lane that
// holds the lowest value never does.
template <typename Lane, bool flipped>
struct Bound {
  Vector flip;
  Vector below;
  std::uint32_t flip_bits;
  std::int32_t threshold;

  explicit Bound(Gate gate)
      : flip(Lane::splat(gate.flip)),
        below(Lane::splat(static_cast<std::uint32_t>(gate.threshold - 1))),
        flip_bits(gate.flip),
        threshold(gate.threshold) {}

  Vector keys(const std::uint8_t *from) const {
    const Vector bits = load(from);
    return flipped ? _mm256_xor_si256(bits, flip) : bits;
  }
  Vector keys(Vector bits) const { return flipped ? _mm256_xor_si256(bits, flip) : bits; }
  std::uint32_t passing(Vector keys_of_lanes) const { return byte_mask(Lane::greater(keys_of_lanes, below)); }
  bool passes(const std::uint8_t *element) const {
    typename Lane::Bits bits;
    __builtin_memcpy(&bits, element, sizeof(bits));
    return static_cast<typename Lane::Element>(bits ^ static_cast<typename Lane::Bits>(flip_bits)) >= threshold;
  }
};

std::size_t every_index(std::size_t count, std::uint32_t *hits) {
  for (std::size_t index = 0; index < count; ++index) {
    hits[index] = static_cast<std::uint32_t>(index);
  }
  return count;
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

// A row of at least a vector; the last vector overlaps the one before it. `vectors` is their number where it is known to the
// compiler, else zero.
template <typename Lane, bool flipped, std::size_t vectors>
bool long_row_passes(const Bound<Lane, flipped> &bound, const std::uint8_t *row, std::size_t row_bytes) {
  Vector best = bound.keys(row + row_bytes - vector_bytes);
  if (vectors != 0) {
    for (std::size_t vector = 0; vector + 1 < vectors; ++vector) {
      best = Lane::greatest(best, bound.keys(row + vector * vector_bytes));
    }
    return bound.passing(best) != 0;
  }
  Vector other = best;
  std::size_t at = 0;
  for (; at + 2 * vector_bytes <= row_bytes; at += 2 * vector_bytes) {
    best = Lane::greatest(best, bound.keys(row + at));
    other = Lane::greatest(other, bound.keys(row + at + vector_bytes));
  }
  if (at + vector_bytes <= row_bytes) {
    best = Lane::greatest(best, bound.keys(row + at));
  }
  return bound.passing(Lane::greatest(best, other)) != 0;
}

struct Rows {
  std::size_t first;
  std::size_t end;
  std::size_t step;
  std::size_t bytes;  // of a row
};

// Each row for itself. Writes the index in every case and keeps it when the row hits: no branch depends on the data.
template <typename Lane, bool flipped, std::size_t vectors>
std::size_t gate_long_rows(const Bound<Lane, flipped> &bound, const std::uint8_t *base, Rows rows, std::uint32_t *hits,
                           std::size_t count) {
  const std::uint8_t *row = base + rows.first * rows.step;
  for (std::size_t index = rows.first; index < rows.end; ++index, row += rows.step) {
    hits[count] = static_cast<std::uint32_t>(index);
    count += long_row_passes<Lane, flipped, vectors>(bound, row, rows.bytes) ? 1 : 0;
  }
  return count;
}

template <typename Lane, bool flipped>
std::size_t gate_each_row(const Bound<Lane, flipped> &bound, const std::uint8_t *base, Rows rows, std::uint32_t *hits,
                          std::size_t count) {
  switch ((rows.bytes + vector_bytes - 1) / vector_bytes) {
    case 1:
      break;
    case 2:
      return gate_long_rows<Lane, flipped, 2>(bound, base, rows, hits, count);
    case 3:
      return gate_long_rows<Lane, flipped, 3>(bound, base, rows, hits, count);
    case 4:
      return gate_long_rows<Lane, flipped, 4>(bound, base, rows, hits, count);
    case 5:
      return gate_long_rows<Lane, flipped, 5>(bound, base, rows, hits, count);
    default:
      return gate_long_rows<Lane, flipped, 0>(bound, base, rows, hits, count);
  }
  const std::uint8_t *row = base + rows.first * rows.step;
  if (rows.bytes == vector_bytes) {
    return gate_long_rows<Lane, flipped, 1>(bound, base, rows, hits, count);
  }
  if (rows.bytes == sizeof(typename Lane::Bits)) {
    for (std::size_t index = rows.first; index < rows.end; ++index, row += rows.step) {
      hits[count] = static_cast<std::uint32_t>(index);
      count += bound.passes(row) ? 1 : 0;
    }
    return count;
  }
  for (std::size_t index = rows.first; index < rows.end; ++index, row += rows.step) {
    hits[count] = static_cast<std::uint32_t>(index);
    count += bound.passing(bound.keys(load_short_row(row, rows.bytes))) != 0 ? 1 : 0;
  }
  return count;
}

// Rows one behind the other: one run of at least a vector. Regions of it are given in ascending order, by bytes; rows below
// `next` are decided.
template <typename Lane, bool flipped>
struct Run {
  Bound<Lane, flipped> bound;
  const std::uint8_t *base;
  std::size_t bytes;
  std::size_t row_bytes;
  std::uint32_t reciprocal;  // ⌊65536 / row_bytes⌋ + 1: exact for positions below 1,024 in rows shorter than a vector
  std::uint32_t *hits;
  std::size_t count;
  std::size_t next;

  // Bytes `at` to `end`, a vector at most, that pass; bit 0 belongs to the byte at `window`, which is `at` or before it.
  std::uint32_t passing(std::size_t at, std::size_t end, std::size_t &window) const {
    window = at + vector_bytes <= bytes ? at : bytes - vector_bytes;
    std::uint32_t bits = bound.passing(bound.keys(base + window));
    bits = bits >> (at - window) << (at - window);
    return end - window < vector_bytes ? bits & ((1U << (end - window)) - 1U) : bits;
  }

  void look_at_long_rows(std::size_t begin, std::size_t end) {
    const std::size_t first = begin / row_bytes;
    const Rows rows = {first < next ? next : first, (end - 1) / row_bytes + 1, row_bytes, row_bytes};
    count = gate_each_row(bound, base, rows, hits, count);
    next = rows.end;
  }

  // Walks the bytes that pass.
  void look_at_short_rows(std::size_t begin, std::size_t end) {
    const std::size_t first = begin / row_bytes;
    for (std::size_t at = begin; at < end; at += vector_bytes) {
      std::size_t window = 0;
      std::uint64_t bits = passing(at, end, window);
      // Of the window in the first row; it may be before that row, but bits are not.
      const std::size_t position = window - first * row_bytes;
      while (bits != 0) {
        const std::size_t local = (position + static_cast<std::size_t>(__builtin_ctzll(bits))) * reciprocal >> 16U;
        const std::size_t row = first + local;
        hits[count] = static_cast<std::uint32_t>(row);
        count += row >= next ? 1 : 0;
        next = row + 1;
        const std::size_t row_end = (local + 1) * row_bytes - position;
        bits = bits >> row_end << row_end;
      }
    }
  }

  void look_at_elements(std::size_t begin, std::size_t end) {
    for (std::size_t at = begin; at < end; at += vector_bytes) {
      std::size_t window = 0;
      std::uint32_t bits = passing(at, end, window);
      while (bits != 0) {
        const std::uint32_t position = trailing_zeros(bits);
        hits[count++] = static_cast<std::uint32_t>((window + position) / sizeof(typename Lane::Bits));
        bits &= ~(((1U << sizeof(typename Lane::Bits)) - 1U) << position);
      }
    }
  }

  void look_at(std::size_t begin, std::size_t end) {
    if (begin >= end) {
      return;
    }
    if (row_bytes >= vector_bytes) {
      look_at_long_rows(begin, end);
    } else if (row_bytes > sizeof(typename Lane::Bits)) {
      look_at_short_rows(begin, end);
    } else {
      look_at_elements(begin, end);
    }
  }
};

// Blocks of `vectors` are reduced to one flag each; flags are collected without a branch on the data, then rows that share
// bytes with a flagged block, which is still in the first cache, are looked at.
template <typename Lane, bool flipped, std::size_t vectors>
std::size_t gate_run(Run<Lane, flipped> &run) {
  constexpr std::size_t block_bytes = vectors * vector_bytes;
  constexpr std::size_t most_flags = 64;
  // Vectors are aligned where elements are.
  const std::size_t misalignment = (0 - reinterpret_cast<std::uintptr_t>(run.base)) % vector_bytes;
  const std::size_t lead = misalignment % sizeof(typename Lane::Bits) == 0 && misalignment < run.bytes ? misalignment : 0;
  const std::size_t blocks = (run.bytes - lead) / block_bytes;
  const Bound<Lane, flipped> bound = run.bound;
  const std::uint8_t *block = run.base + lead;
  run.look_at(0, lead);
  for (std::size_t first = 0; first < blocks; first += most_flags) {
    const std::size_t some = blocks - first < most_flags ? blocks - first : most_flags;
    std::size_t flagged[most_flags];
    std::size_t flags = 0;
    for (std::size_t index = 0; index < some; ++index, block += block_bytes) {
      Vector best = bound.keys(block);
      Vector other = bound.keys(block + vector_bytes);
      for (std::size_t vector = 2; vector < vectors; vector += 2) {
        best = Lane::greatest(best, bound.keys(block + vector * vector_bytes));
        other = Lane::greatest(other, bound.keys(block + (vector + 1) * vector_bytes));
      }
      flagged[flags] = first + index;
      flags += bound.passing(Lane::greatest(best, other)) != 0 ? 1 : 0;
    }
    for (std::size_t flag = 0; flag < flags; ++flag) {
      const std::size_t begin = lead + flagged[flag] * block_bytes;
      run.look_at(begin, begin + block_bytes);
    }
  }
  run.look_at(lead + blocks * block_bytes, run.bytes);
  return run.count;
}

template <typename Lane, bool flipped>
std::size_t gate_rows_bound(const std::uint8_t *base, std::size_t rows, std::size_t row_step, std::size_t length, Gate gate,
                            std::uint32_t *hits) {
  constexpr std::size_t run_row_bytes = 256;
  const Bound<Lane, flipped> bound(gate);
  const std::size_t row_bytes = length * sizeof(typename Lane::Bits);
  const std::size_t bytes = rows * row_bytes;
  if (row_step != row_bytes || row_bytes >= run_row_bytes || bytes < 2 * vector_bytes) {
    return gate_each_row(bound, base, Rows{0, rows, row_step, row_bytes}, hits, 0);
  }
  Run<Lane, flipped> run = {
      bound, base, bytes, row_bytes, static_cast<std::uint32_t>(65536U / row_bytes) + 1U, hits, 0, 0};
  // Blocks of 320 bytes hold whole rows of 80, 160 and other usual sizes.
  return 320 % row_bytes == 0 ? gate_run<Lane, flipped, 10>(run) : gate_run<Lane, flipped, 8>(run);
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
  return static_cast<typename Lane::Bits>(gate.flip) == 0
             ? gate_rows_bound<Lane, false>(base, rows, row_step, length, gate, hits)
             : gate_rows_bound<Lane, true>(base, rows, row_step, length, gate, hits);
}

// ---- planes ---------------------------------------------------------------------------------------------------------

// Cells at which a mark passes; bits of one vector begin at `cell`, those below `skipped` are known.
template <typename Lane>
std::size_t emit_cells(std::uint32_t bits, std::size_t cell, std::uint32_t *hits, std::size_t count) {
  constexpr std::uint32_t element_bytes = sizeof(typename Lane::Bits);
  constexpr std::uint32_t element_bits = (1U << element_bytes) - 1U;
  while (bits != 0) {
    const std::uint32_t position = trailing_zeros(bits);
    hits[count++] = static_cast<std::uint32_t>(cell + position / element_bytes);
    bits &= ~(element_bits << position);
  }
  return count;
}

template <typename Lane, bool flipped>
std::size_t gate_planes_bound(const std::uint8_t *base, std::size_t cells, std::size_t planes, std::size_t plane_step,
                              Gate gate, void *scratch, std::uint32_t *hits) {
  constexpr std::size_t element_bytes = sizeof(typename Lane::Bits);
  const Bound<Lane, flipped> bound(gate);
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
  const std::size_t last = bytes - vector_bytes;
  // Four planes at a time, so that marks are loaded and stored once for four reads. The last vector overlaps the one before
  // it: a greatest of what is already in does no harm.
  std::size_t plane = 0;
  for (; plane + 4 <= planes; plane += 4) {
    const std::uint8_t *plane0 = base + plane * plane_step;
    const std::uint8_t *plane1 = plane0 + plane_step;
    const std::uint8_t *plane2 = plane1 + plane_step;
    const std::uint8_t *plane3 = plane2 + plane_step;
    const bool fresh = plane == 0;
    for (std::size_t begin = 0; begin < bytes; begin += vector_bytes) {
      const std::size_t at = begin < last ? begin : last;
      const Vector low = Lane::greatest(bound.keys(plane0 + at), bound.keys(plane1 + at));
      const Vector high = Lane::greatest(bound.keys(plane2 + at), bound.keys(plane3 + at));
      const Vector best = Lane::greatest(low, high);
      store(marks + at, fresh ? best : Lane::greatest(best, load(marks + at)));
    }
  }
  for (; plane < planes; ++plane) {
    const std::uint8_t *plane0 = base + plane * plane_step;
    const bool fresh = plane == 0;
    for (std::size_t begin = 0; begin < bytes; begin += vector_bytes) {
      const std::size_t at = begin < last ? begin : last;
      const Vector best = bound.keys(plane0 + at);
      store(marks + at, fresh ? best : Lane::greatest(best, load(marks + at)));
    }
  }
  std::size_t at = 0;
  for (; at < last; at += vector_bytes) {
    count = emit_cells<Lane>(bound.passing(load(marks + at)), at / element_bytes, hits, count);
  }
  const std::size_t known = at - last;
  const std::uint32_t bits = bound.passing(load(marks + last)) >> known << known;
  return emit_cells<Lane>(bits, last / element_bytes, hits, count);
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
  return static_cast<typename Lane::Bits>(gate.flip) == 0
             ? gate_planes_bound<Lane, false>(base, cells, planes, plane_step, gate, marks, hits)
             : gate_planes_bound<Lane, true>(base, cells, planes, plane_step, gate, marks, hits);
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
  const __m128i spread = _mm_unpacklo_epi64(_mm_set1_epi8(static_cast<char>(mask & 0xFFU)),
                                            _mm_set1_epi8(static_cast<char>(mask >> 8U)));
  return _mm_cmpeq_epi8(_mm_and_si128(spread, bits), bits);
}

// The limit that leaves lanes of the mask as they are and brings the others to the lowest value.
Vector stripe_limit_8(std::uint16_t mask) {
  const __m128i limit = _mm_xor_si128(mask_bytes(mask), _mm_set1_epi8(static_cast<char>(0x80)));
  return _mm256_broadcastsi128_si256(limit);
}

template <bool flipped>
std::size_t gate_stripes_8_bound(const std::uint8_t *base, std::size_t cells, const std::size_t *offsets,
                                 const std::uint16_t *masks, std::size_t segments, Gate gate, std::uint32_t *hits) {
  const Bound<Lane8, flipped> bound(gate);
  std::size_t count = 0;
  std::size_t cell = 0;
  // Sixteen cells, two to a vector, segment by segment in eight registers.
  for (; cell + 16 <= cells; cell += 16) {
    Vector best[8];
    for (Vector &one : best) {
      one = _mm256_set1_epi8(static_cast<char>(0x80));
    }
    for (std::size_t segment = 0; segment < segments; ++segment) {
      const std::uint8_t *stripe = base + offsets[segment] + 16 * cell;
      if (masks[segment] == every_lane) {
        for (std::size_t pair = 0; pair < 8; ++pair) {
          best[pair] = _mm256_max_epi8(best[pair], bound.keys(stripe + pair * vector_bytes));
        }
      } else {
        const Vector limit = stripe_limit_8(masks[segment]);
        for (std::size_t pair = 0; pair < 8; ++pair) {
          best[pair] = _mm256_max_epi8(best[pair], _mm256_min_epi8(bound.keys(stripe + pair * vector_bytes), limit));
        }
      }
    }
    const Vector any = _mm256_max_epi8(_mm256_max_epi8(_mm256_max_epi8(best[0], best[1]), _mm256_max_epi8(best[2], best[3])),
                                       _mm256_max_epi8(_mm256_max_epi8(best[4], best[5]), _mm256_max_epi8(best[6], best[7])));
    if (bound.passing(any) == 0) {
      continue;
    }
    for (std::size_t pair = 0; pair < 8; ++pair) {
      const std::uint32_t bits = bound.passing(best[pair]);
      hits[count] = static_cast<std::uint32_t>(cell + 2 * pair);
      count += (bits & 0xFFFFU) != 0 ? 1 : 0;
      hits[count] = static_cast<std::uint32_t>(cell + 2 * pair + 1);
      count += (bits >> 16U) != 0 ? 1 : 0;
    }
  }
  for (; cell < cells; ++cell) {
    __m128i best = _mm_set1_epi8(static_cast<char>(0x80));
    for (std::size_t segment = 0; segment < segments; ++segment) {
      const __m128i keys =
          _mm256_castsi256_si128(bound.keys(_mm256_castsi128_si256(load_half(base + offsets[segment] + 16 * cell))));
      best = _mm_max_epi8(best, _mm_min_epi8(keys, _mm256_castsi256_si128(stripe_limit_8(masks[segment]))));
    }
    hits[count] = static_cast<std::uint32_t>(cell);
    count += _mm_movemask_epi8(_mm_cmpgt_epi8(best, _mm256_castsi256_si128(bound.below))) != 0 ? 1 : 0;
  }
  return count;
}

std::size_t gate_stripes_8(const std::uint8_t *base, std::size_t cells, const std::size_t *offsets,
                           const std::uint16_t *masks, std::size_t segments, Gate gate, std::uint32_t *hits) {
  if (gate.threshold > Lane8::highest) {
    return 0;
  }
  if (gate.threshold <= Lane8::lowest) {
    return every_stripe_cell(cells, masks, segments, hits);
  }
  return static_cast<std::uint8_t>(gate.flip) == 0
             ? gate_stripes_8_bound<false>(base, cells, offsets, masks, segments, gate, hits)
             : gate_stripes_8_bound<true>(base, cells, offsets, masks, segments, gate, hits);
}

// Whether the cell passes: low and high bytes joined, lanes 0..7 in the low half, 8..15 in the high half.
template <bool flipped>
bool stripe_cell_passes_16(const Bound<Lane16, flipped> &bound, const std::uint8_t *base, std::size_t cell,
                           const std::size_t *offsets, const std::uint16_t *masks, std::size_t segments) {
  Vector best = _mm256_set1_epi16(INT16_MIN);
  for (std::size_t segment = 0; segment < segments; ++segment) {
    const std::uint8_t *stripe = base + offsets[segment] + 32 * cell;
    const __m128i low = load_half(stripe);
    const __m128i high = load_half(stripe + 16);
    const Vector bits =
        _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_unpacklo_epi8(low, high)), _mm_unpackhi_epi8(low, high), 1);
    const Vector counted = _mm256_cvtepi8_epi16(mask_bytes(masks[segment]));
    const Vector limit = _mm256_xor_si256(counted, _mm256_set1_epi16(INT16_MIN));
    best = _mm256_max_epi16(best, _mm256_min_epi16(bound.keys(bits), limit));
  }
  return bound.passing(best) != 0;
}

// High bytes decide nearly always: a lane can pass only when its high byte reaches the high byte of the threshold. So four
// cells are reduced on whole vectors, whose low halves never pass, and only flagged cells have their bytes joined.
template <bool flipped>
std::size_t gate_stripes_16_bound(const std::uint8_t *base, std::size_t cells, const std::size_t *offsets,
                                  const std::uint16_t *masks, std::size_t segments, Gate gate, std::uint32_t *hits) {
  const Bound<Lane16, flipped> bound(gate);
  const std::int32_t high_threshold = gate.threshold >> 8;
  std::size_t count = 0;
  std::size_t cell = 0;
  if (high_threshold > INT8_MIN) {
    const Vector flip = _mm256_set_m128i(_mm_set1_epi8(static_cast<char>(gate.flip >> 8U)), _mm_setzero_si128());
    const Vector below = _mm256_set_m128i(_mm_set1_epi8(static_cast<char>(high_threshold - 1)), _mm_set1_epi8(127));
    for (; cell + 8 <= cells; cell += 8) {
      Vector best[8];
      for (Vector &one : best) {
        one = _mm256_set1_epi8(static_cast<char>(0x80));
      }
      for (std::size_t segment = 0; segment < segments; ++segment) {
        const std::uint8_t *stripe = base + offsets[segment] + 32 * cell;
        const Vector limit = stripe_limit_8(masks[segment]);
        const bool whole = masks[segment] == every_lane;
        for (std::size_t one = 0; one < 8; ++one) {
          Vector keys = load(stripe + one * vector_bytes);
          if (flipped) {
            keys = _mm256_xor_si256(keys, flip);
          }
          best[one] = _mm256_max_epi8(best[one], whole ? keys : _mm256_min_epi8(keys, limit));
        }
      }
      const Vector any =
          _mm256_max_epi8(_mm256_max_epi8(_mm256_max_epi8(best[0], best[1]), _mm256_max_epi8(best[2], best[3])),
                          _mm256_max_epi8(_mm256_max_epi8(best[4], best[5]), _mm256_max_epi8(best[6], best[7])));
      if (byte_mask(_mm256_cmpgt_epi8(any, below)) == 0) {
        continue;
      }
      for (std::size_t one = 0; one < 8; ++one) {
        if (byte_mask(_mm256_cmpgt_epi8(best[one], below)) != 0 &&
            stripe_cell_passes_16(bound, base, cell + one, offsets, masks, segments)) {
          hits[count++] = static_cast<std::uint32_t>(cell + one);
        }
      }
    }
  }
  for (; cell < cells; ++cell) {
    hits[count] = static_cast<std::uint32_t>(cell);
    count += stripe_cell_passes_16(bound, base, cell, offsets, masks, segments) ? 1 : 0;
  }
  return count;
}

std::size_t gate_stripes_16(const std::uint8_t *base, std::size_t cells, const std::size_t *offsets,
                            const std::uint16_t *masks, std::size_t segments, Gate gate, std::uint32_t *hits) {
  if (gate.threshold > Lane16::highest) {
    return 0;
  }
  if (gate.threshold <= Lane16::lowest) {
    return every_stripe_cell(cells, masks, segments, hits);
  }
  return static_cast<std::uint16_t>(gate.flip) == 0
             ? gate_stripes_16_bound<false>(base, cells, offsets, masks, segments, gate, hits)
             : gate_stripes_16_bound<true>(base, cells, offsets, masks, segments, gate, hits);
}

// ---- first largest --------------------------------------------------------------------------------------------------

// Keys of the three widths: load makes signed keys, largest reduces a vector, of_element is the scalar truth.
struct Keys8 {
  using Bits = std::uint8_t;
  Vector flip;
  std::uint32_t flip_bits;

  Vector keys(const Bits *from) const { return _mm256_xor_si256(load(from), flip); }
  std::int32_t of_element(Bits bits) const { return static_cast<std::int8_t>(bits ^ static_cast<std::uint8_t>(flip_bits)); }
  static Vector greatest(Vector a, Vector b) { return _mm256_max_epi8(a, b); }
  static Vector equal(Vector a, Vector b) { return _mm256_cmpeq_epi8(a, b); }
  static Vector splat(std::int32_t key) { return _mm256_set1_epi8(static_cast<char>(key)); }
  static std::int32_t largest(Vector keys_s8x32) {
    const __m128i half = _mm_max_epi8(_mm256_castsi256_si128(keys_s8x32), _mm256_extracti128_si256(keys_s8x32, 1));
    // The smallest of the unsigned complements: x86 finds it among eight words in one instruction.
    const __m128i complement = _mm_xor_si128(half, _mm_set1_epi8(127));
    const __m128i words = _mm_min_epu8(complement, _mm_srli_epi16(complement, 8));
    return static_cast<std::int8_t>(127 ^ (_mm_cvtsi128_si32(_mm_minpos_epu16(words)) & 0xFF));
  }
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
  static Vector greatest(Vector a, Vector b) { return _mm256_max_epi16(a, b); }
  static Vector equal(Vector a, Vector b) { return _mm256_cmpeq_epi16(a, b); }
  static Vector splat(std::int32_t key) { return _mm256_set1_epi16(static_cast<std::int16_t>(key)); }
  static std::int32_t largest(Vector keys_s16x16) {
    const __m128i half = _mm_max_epi16(_mm256_castsi256_si128(keys_s16x16), _mm256_extracti128_si256(keys_s16x16, 1));
    const __m128i complement = _mm_xor_si128(half, _mm_set1_epi16(INT16_MAX));
    return static_cast<std::int16_t>(0x7FFF ^ (_mm_cvtsi128_si32(_mm_minpos_epu16(complement)) & 0xFFFF));
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
  static Vector greatest(Vector a, Vector b) { return _mm256_max_epi32(a, b); }
  static Vector equal(Vector a, Vector b) { return _mm256_cmpeq_epi32(a, b); }
  static Vector splat(std::int32_t key) { return _mm256_set1_epi32(key); }
  static std::int32_t largest(Vector keys_s32x8) {
    __m128i half = _mm_max_epi32(_mm256_castsi256_si128(keys_s32x8), _mm256_extracti128_si256(keys_s32x8, 1));
    half = _mm_max_epi32(half, _mm_shuffle_epi32(half, 0x4E));
    half = _mm_max_epi32(half, _mm_shuffle_epi32(half, 0xB1));
    return _mm_cvtsi128_si32(half);
  }
};

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

Best best_8(const std::uint8_t *elements, std::size_t length, std::uint32_t flip) {
  return best_of(Keys8{_mm256_set1_epi8(static_cast<char>(flip)), flip}, elements, length);
}

Best best_16(const std::uint16_t *elements, std::size_t length, std::uint16_t infinity) {
  // No magnitude is above 0x7FFF, and the comparison of vectors is signed.
  const std::uint32_t magnitude = infinity > 0x7FFFU ? 0x7FFFU : infinity;
  return best_of(Keys16{_mm256_set1_epi16(static_cast<std::int16_t>(magnitude)), magnitude}, elements, length);
}

Best best_32(const std::uint32_t *elements, std::size_t length) { return best_of(Keys32{}, elements, length); }

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
struct DotPlan {
  Vector flip;
  Vector even[2];  // coefficients of the even bytes of a vector
  Vector odd[2];
  std::size_t length;
  std::size_t part;
};

template <bool flipped>
Vector flip_bytes(const DotPlan &plan, Vector bytes) {
  return flipped ? _mm256_xor_si256(bytes, plan.flip) : bytes;
}

// 256 times the products: each byte is taken as the high byte of a signed word. |sum| ≤ 64·255·128·256 < 2^31.
Vector products_s32x8(Vector bytes, Vector even, Vector odd) {
  const Vector even_words = _mm256_slli_epi16(bytes, 8);
  const Vector odd_words = _mm256_and_si256(bytes, _mm256_set1_epi16(static_cast<std::int16_t>(0xFF00)));
  return _mm256_add_epi32(_mm256_madd_epi16(even_words, even), _mm256_madd_epi16(odd_words, odd));
}

Vector load_short_pixel(const std::uint8_t *pixel, std::size_t length, std::size_t part) {
  const std::uint8_t *last = pixel + length - part;
  switch (part) {
    case 16:
      return _mm256_inserti128_si256(_mm256_castsi128_si256(load_half(pixel)), load_half(last), 1);
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
    default:
      return _mm256_set_epi32(0, 0, 0, 0, 0, 0, 0, pixel[0]);
  }
}

enum class PixelForm { Short, OneVector, TwoVectors };

template <PixelForm form, bool flipped>
Vector pixel_products(const DotPlan &plan, const std::uint8_t *pixel) {
  if (form == PixelForm::Short) {
    const Vector bytes = flip_bytes<flipped>(plan, load_short_pixel(pixel, plan.length, plan.part));
    return products_s32x8(bytes, plan.even[0], plan.odd[0]);
  }
  const Vector sum = products_s32x8(flip_bytes<flipped>(plan, load(pixel)), plan.even[0], plan.odd[0]);
  if (form == PixelForm::OneVector) {
    return sum;
  }
  const Vector bytes = flip_bytes<flipped>(plan, load(pixel + plan.length - vector_bytes));
  return _mm256_add_epi32(sum, products_s32x8(bytes, plan.even[1], plan.odd[1]));
}

template <PixelForm form, bool flipped>
void dots_of(const DotPlan &plan, std::int32_t correction, const std::uint8_t *prototypes, std::size_t pixels,
             std::size_t pixel_step, std::int32_t *dots) {
  const std::uint8_t *pixel = prototypes;
  std::size_t index = 0;
  for (; index + 8 <= pixels; index += 8, pixel += 8 * pixel_step) {
    const std::uint8_t *second = pixel + 4 * pixel_step;
    const Vector sum01 = _mm256_hadd_epi32(pixel_products<form, flipped>(plan, pixel),
                                           pixel_products<form, flipped>(plan, pixel + pixel_step));
    const Vector sum23 = _mm256_hadd_epi32(pixel_products<form, flipped>(plan, pixel + 2 * pixel_step),
                                           pixel_products<form, flipped>(plan, pixel + 3 * pixel_step));
    const Vector sum45 = _mm256_hadd_epi32(pixel_products<form, flipped>(plan, second),
                                           pixel_products<form, flipped>(plan, second + pixel_step));
    const Vector sum67 = _mm256_hadd_epi32(pixel_products<form, flipped>(plan, second + 2 * pixel_step),
                                           pixel_products<form, flipped>(plan, second + 3 * pixel_step));
    const Vector low = _mm256_hadd_epi32(sum01, sum23);
    const Vector high = _mm256_hadd_epi32(sum45, sum67);
    const Vector sums = _mm256_add_epi32(_mm256_permute2x128_si256(low, high, 0x20), _mm256_permute2x128_si256(low, high, 0x31));
    store(dots + index, _mm256_sub_epi32(_mm256_srai_epi32(sums, 8), _mm256_set1_epi32(correction)));
  }
  for (; index < pixels; ++index, pixel += pixel_step) {
    const Vector sum = pixel_products<form, flipped>(plan, pixel);
    __m128i half = _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
    half = _mm_add_epi32(half, _mm_shuffle_epi32(half, 0x4E));
    half = _mm_add_epi32(half, _mm_shuffle_epi32(half, 0xB1));
    dots[index] = (_mm_cvtsi128_si32(half) >> 8) - correction;
  }
}

template <bool flipped>
void dots_of_length(const DotPlan &plan, std::int32_t correction, const std::uint8_t *prototypes, std::size_t pixels,
                    std::size_t pixel_step, std::int32_t *dots) {
  if (plan.length < vector_bytes) {
    dots_of<PixelForm::Short, flipped>(plan, correction, prototypes, pixels, pixel_step, dots);
  } else if (plan.length == vector_bytes) {
    dots_of<PixelForm::OneVector, flipped>(plan, correction, prototypes, pixels, pixel_step, dots);
  } else {
    dots_of<PixelForm::TwoVectors, flipped>(plan, correction, prototypes, pixels, pixel_step, dots);
  }
}

void mask_dots_8(const MaskCoefficients &coefficients, const std::uint8_t *prototypes, std::size_t pixels,
                 std::size_t pixel_step, std::int32_t *dots) {
  const std::size_t length = coefficients.length;
  std::size_t part = 1;
  while (part * 2 <= length && part < vector_bytes) {
    part *= 2;
  }
  std::int16_t even[32] = {};
  std::int16_t odd[32] = {};
  for (std::size_t at = 0; at < 2 * part; ++at) {
    const std::size_t byte = at < part ? at : length - 2 * part + at;
    const std::int16_t value = at < part || byte >= part ? coefficients.centred[byte] : std::int16_t{0};
    (at % 2 == 0 ? even : odd)[at / 2] = value;
  }
  const DotPlan plan = {_mm256_set1_epi8(static_cast<char>(coefficients.prototype_flip)),
                        {load(even), load(even + 16)},
                        {load(odd), load(odd + 16)},
                        length,
                        part};
  const std::int32_t correction = coefficients.prototype_zero * coefficients.sum_centred;
  if (static_cast<std::uint8_t>(coefficients.prototype_flip) == 0) {
    dots_of_length<false>(plan, correction, prototypes, pixels, pixel_step, dots);
  } else {
    dots_of_length<true>(plan, correction, prototypes, pixels, pixel_step, dots);
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
    suppressed,
    mask_dots_8,
};

}  // namespace simaai::kernels::detail
