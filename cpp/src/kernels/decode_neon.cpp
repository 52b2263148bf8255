#include <arm_neon.h>

#include <cstddef>
#include <cstdint>

#include "kernels/kernels.h"

namespace simaai::kernels::detail {
namespace {

using Bytes = uint8x16_t;

constexpr std::size_t vector_bytes = 16;

// Four bits a byte: the bits of a comparison that a general register can hold.
constexpr std::size_t bits_of_byte = 4;

std::uint64_t nibble_mask(Bytes compared) {
  return vget_lane_u64(vreinterpret_u64_u8(vshrn_n_u16(vreinterpretq_u16_u8(compared), 4)), 0);
}

std::size_t first_byte(std::uint64_t bits) { return static_cast<std::size_t>(__builtin_ctzll(bits)) / bits_of_byte; }

std::uint64_t without_bytes(std::uint64_t bits, std::size_t bytes) {
  return bytes >= vector_bytes ? 0 : bits >> (bits_of_byte * bytes) << (bits_of_byte * bytes);
}

struct Lane8 {
  using Element = std::int8_t;
  using Bits = std::uint8_t;
  using Vector = int8x16_t;
  static constexpr std::int32_t lowest = -128;
  static constexpr std::int32_t highest = 127;
  static Vector of(Bytes bytes) { return vreinterpretq_s8_u8(bytes); }
  static Vector splat(std::int32_t value) { return vdupq_n_s8(static_cast<Element>(value)); }
  static Vector flip(Vector a, Vector b) { return veorq_s8(a, b); }
  static Vector greatest(Vector a, Vector b) { return vmaxq_s8(a, b); }
  static Vector least(Vector a, Vector b) { return vminq_s8(a, b); }
  static Vector greatest_of_pairs(Vector a, Vector b) { return vpmaxq_s8(a, b); }
  static Bytes greater(Vector a, Vector b) { return vcgtq_s8(a, b); }
  static Bytes equal(Vector a, Vector b) { return vceqq_s8(a, b); }
  static std::int32_t largest(Vector a) { return vmaxvq_s8(a); }
  static Vector load(const void *from) { return vld1q_s8(static_cast<const Element *>(from)); }
  static void store(void *to, Vector value) { vst1q_s8(static_cast<Element *>(to), value); }
};

struct Lane16 {
  using Element = std::int16_t;
  using Bits = std::uint16_t;
  using Vector = int16x8_t;
  static constexpr std::int32_t lowest = -32768;
  static constexpr std::int32_t highest = 32767;
  static Vector of(Bytes bytes) { return vreinterpretq_s16_u8(bytes); }
  static Vector splat(std::int32_t value) { return vdupq_n_s16(static_cast<Element>(value)); }
  static Vector flip(Vector a, Vector b) { return veorq_s16(a, b); }
  static Vector greatest(Vector a, Vector b) { return vmaxq_s16(a, b); }
  static Vector least(Vector a, Vector b) { return vminq_s16(a, b); }
  static Vector greatest_of_pairs(Vector a, Vector b) { return vpmaxq_s16(a, b); }
  static Bytes greater(Vector a, Vector b) { return vreinterpretq_u8_u16(vcgtq_s16(a, b)); }
  static Bytes equal(Vector a, Vector b) { return vreinterpretq_u8_u16(vceqq_s16(a, b)); }
  static std::int32_t largest(Vector a) { return vmaxvq_s16(a); }
  static Vector load(const void *from) { return of(vld1q_u8(static_cast<const std::uint8_t *>(from))); }
  static void store(void *to, Vector value) { vst1q_u8(static_cast<std::uint8_t *>(to), vreinterpretq_u8_s16(value)); }
};

struct Lane32 {
  using Element = std::int32_t;
  using Bits = std::uint32_t;
  using Vector = int32x4_t;
  static constexpr std::int32_t lowest = INT32_MIN;
  static constexpr std::int32_t highest = INT32_MAX;
  static Vector of(Bytes bytes) { return vreinterpretq_s32_u8(bytes); }
  static Vector splat(std::int32_t value) { return vdupq_n_s32(value); }
  static Vector flip(Vector a, Vector b) { return veorq_s32(a, b); }
  static Vector greatest(Vector a, Vector b) { return vmaxq_s32(a, b); }
  static Vector greatest_of_pairs(Vector a, Vector b) { return vpmaxq_s32(a, b); }
  static Bytes greater(Vector a, Vector b) { return vreinterpretq_u8_u32(vcgtq_s32(a, b)); }
  static Bytes equal(Vector a, Vector b) { return vreinterpretq_u8_u32(vceqq_s32(a, b)); }
  static std::int32_t largest(Vector a) { return vmaxvq_s32(a); }
  static Vector load(const void *from) { return of(vld1q_u8(static_cast<const std::uint8_t *>(from))); }
  static void store(void *to, Vector value) { vst1q_u8(static_cast<std::uint8_t *>(to), vreinterpretq_u8_s32(value)); }
};

// A gate whose threshold is above the lowest value: a lane passes when it is greater than threshold − 1, and a lane that
// holds the lowest value never does.
template <typename Lane, bool flipped>
struct Bound {
  using Vector = typename Lane::Vector;

  Vector flip;
  Vector below;
  std::uint32_t flip_bits;
  std::int32_t threshold;

  explicit Bound(Gate gate)
      : flip(Lane::splat(static_cast<std::int32_t>(gate.flip))),
        below(Lane::splat(gate.threshold - 1)),
        flip_bits(gate.flip),
        threshold(gate.threshold) {}

  Vector keys_of(Vector bits) const { return flipped ? Lane::flip(bits, flip) : bits; }
  Vector keys(const std::uint8_t *from) const { return keys_of(Lane::load(from)); }
  std::uint64_t passing(Vector keys_of_lanes) const { return nibble_mask(Lane::greater(keys_of_lanes, below)); }
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

// The indexes of elements whose nibbles are set; the first one belongs to `index`.
template <typename Lane>
std::size_t emit_elements(std::uint64_t bits, std::size_t index, std::uint32_t *hits, std::size_t count) {
  constexpr std::size_t element_bytes = sizeof(typename Lane::Bits);
  while (bits != 0) {
    const std::size_t element = first_byte(bits) / element_bytes;
    hits[count++] = static_cast<std::uint32_t>(index + element);
    bits = without_bytes(bits, (element + 1) * element_bytes);
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
Bytes load_short_row(const std::uint8_t *row, std::size_t row_bytes) {
  if (row_bytes >= 8) {
    return vcombine_u8(vld1_u8(row), vld1_u8(row + row_bytes - 8));
  }
  if (row_bytes >= 4) {
    const std::uint64_t first = load_scalar<std::uint32_t>(row);
    const std::uint64_t last = load_scalar<std::uint32_t>(row + row_bytes - 4);
    return vreinterpretq_u8_u64(vdupq_n_u64(first | last << 32U));
  }
  if (row_bytes >= 2) {
    const std::uint32_t first = load_scalar<std::uint16_t>(row);
    const std::uint32_t last = load_scalar<std::uint16_t>(row + row_bytes - 2);
    return vreinterpretq_u8_u32(vdupq_n_u32(first | last << 16U));
  }
  return vdupq_n_u8(row[0]);
}

// The greatest lanes of a row of at least a vector. `fixed_bytes` is its size where it is known to the compiler, else zero.
// The last vector of other rows overlaps the one before it.
template <typename Lane, bool flipped, std::size_t fixed_bytes>
typename Lane::Vector long_row(const Bound<Lane, flipped> &bound, const std::uint8_t *row, std::size_t row_bytes) {
  typename Lane::Vector best;
  if (fixed_bytes != 0) {
    best = bound.keys(row);
    for (std::size_t at = vector_bytes; at < fixed_bytes; at += vector_bytes) {
      best = Lane::greatest(best, bound.keys(row + at));
    }
    return best;
  }
  best = bound.keys(row + row_bytes - vector_bytes);
  for (std::size_t at = 0; at + vector_bytes < row_bytes; at += vector_bytes) {
    best = Lane::greatest(best, bound.keys(row + at));
  }
  return best;
}

// Rows reduced pair by pair until each has one lane of one vector.
template <typename Lane, bool flipped, std::size_t fixed_bytes, std::size_t rows>
typename Lane::Vector long_rows(const Bound<Lane, flipped> &bound, const std::uint8_t *row, std::size_t row_step,
                                std::size_t row_bytes) {
  if constexpr (rows == 1) {
    (void)row_step;
    return long_row<Lane, flipped, fixed_bytes>(bound, row, row_bytes);
  } else {
    const auto low = long_rows<Lane, flipped, fixed_bytes, rows / 2>(bound, row, row_step, row_bytes);
    const auto high = long_rows<Lane, flipped, fixed_bytes, rows / 2>(bound, row + rows / 2 * row_step, row_step, row_bytes);
    return Lane::greatest_of_pairs(low, high);
  }
}

template <typename Lane, bool flipped, std::size_t fixed_bytes>
std::size_t gate_long_rows(const Bound<Lane, flipped> &bound, const std::uint8_t *base, std::size_t rows,
                           std::size_t row_step, std::size_t row_bytes, std::uint32_t *hits) {
  constexpr std::size_t group = vector_bytes / sizeof(typename Lane::Bits);
  std::size_t count = 0;
  std::size_t index = 0;
  const std::uint8_t *row = base;
  for (; index + group <= rows; index += group, row += group * row_step) {
    const std::uint64_t bits =
        bound.passing(long_rows<Lane, flipped, fixed_bytes, group>(bound, row, row_step, row_bytes));
    count = emit_elements<Lane>(bits, index, hits, count);
  }
  for (; index < rows; ++index, row += row_step) {
    hits[count] = static_cast<std::uint32_t>(index);
    count += bound.passing(long_row<Lane, flipped, fixed_bytes>(bound, row, row_bytes)) != 0 ? 1 : 0;
  }
  return count;
}

template <typename Lane, bool flipped>
std::size_t gate_each_short_row(const Bound<Lane, flipped> &bound, const std::uint8_t *base, std::size_t first_row,
                                std::size_t last_row, std::size_t row_step, std::size_t row_bytes, std::uint32_t *hits,
                                std::size_t count) {
  const std::uint8_t *row = base + first_row * row_step;
  if (row_bytes == sizeof(typename Lane::Bits)) {
    for (std::size_t index = first_row; index < last_row; ++index, row += row_step) {
      hits[count] = static_cast<std::uint32_t>(index);
      count += bound.passes(row) ? 1 : 0;
    }
    return count;
  }
  for (std::size_t index = first_row; index < last_row; ++index, row += row_step) {
    hits[count] = static_cast<std::uint32_t>(index);
    count += bound.passing(bound.keys_of(Lane::of(load_short_row(row, row_bytes)))) != 0 ? 1 : 0;
  }
  return count;
}

// Short rows that lie one behind the other, at least a vector and at most 1,024 bytes of them: walks the nibbles of lanes
// that pass. `reciprocal` is ⌊65536 / row_bytes⌋ + 1, exact for positions below 1,024.
template <typename Lane, bool flipped>
std::size_t walk_short_rows(const Bound<Lane, flipped> &bound, const std::uint8_t *run, std::size_t run_bytes,
                            std::size_t first_row, std::size_t row_bytes, std::uint32_t reciprocal, std::uint32_t *hits,
                            std::size_t count) {
  std::size_t decided = 0;
  for (std::size_t begin = 0; begin < run_bytes; begin += vector_bytes) {
    std::size_t at = begin;
    if (at + vector_bytes > run_bytes) {
      at = run_bytes - vector_bytes;
      decided = decided > begin ? decided : begin;
    }
    std::uint64_t bits = bound.passing(bound.keys(run + at));
    if (decided > at) {
      bits = without_bytes(bits, decided - at);
    }
    while (bits != 0) {
      const std::size_t row = (at + first_byte(bits)) * reciprocal >> 16U;
      hits[count++] = static_cast<std::uint32_t>(first_row + row);
      decided = (row + 1) * row_bytes;
      bits = without_bytes(bits, decided - at);
    }
  }
  return count;
}

// Short rows one behind the other, in blocks with one branch each; only blocks with a lane that passes are walked. A block
// may read into the next one: its flag is a bound.
template <typename Lane, bool flipped>
std::size_t gate_short_rows(const Bound<Lane, flipped> &bound, const std::uint8_t *base, std::size_t rows,
                            std::size_t row_bytes, std::uint32_t *hits) {
  constexpr std::size_t target_bytes = 256;
  const std::size_t block_rows = target_bytes / row_bytes;
  const std::size_t block_bytes = block_rows * row_bytes;
  const std::size_t total = rows * row_bytes;
  const std::size_t blocks = total < target_bytes ? 0 : (total - target_bytes) / block_bytes + 1;
  const std::uint32_t reciprocal = static_cast<std::uint32_t>(65536U / row_bytes) + 1U;
  std::size_t count = 0;
  for (std::size_t block = 0; block < blocks; ++block) {
    const std::uint8_t *run = base + block * block_bytes;
    typename Lane::Vector best = bound.keys(run);
    for (std::size_t at = vector_bytes; at < target_bytes; at += vector_bytes) {
      best = Lane::greatest(best, bound.keys(run + at));
    }
    if (bound.passing(best) != 0) {
      count = walk_short_rows(bound, run, block_bytes, block * block_rows, row_bytes, reciprocal, hits, count);
    }
  }
  const std::size_t row = blocks * block_rows;
  const std::size_t rest = total - blocks * block_bytes;
  if (rest >= vector_bytes) {
    return walk_short_rows(bound, base + blocks * block_bytes, rest, row, row_bytes, reciprocal, hits, count);
  }
  return gate_each_short_row(bound, base, row, rows, row_bytes, row_bytes, hits, count);
}

template <typename Lane, bool flipped>
std::size_t gate_rows_bound(const std::uint8_t *base, std::size_t rows, std::size_t row_step, std::size_t length, Gate gate,
                            std::uint32_t *hits) {
  constexpr std::size_t usual_bytes = 80 * sizeof(typename Lane::Bits);
  const Bound<Lane, flipped> bound(gate);
  const std::size_t row_bytes = length * sizeof(typename Lane::Bits);
  if (row_bytes == usual_bytes) {
    return gate_long_rows<Lane, flipped, usual_bytes>(bound, base, rows, row_step, row_bytes, hits);
  }
  if (row_bytes >= vector_bytes) {
    return gate_long_rows<Lane, flipped, 0>(bound, base, rows, row_step, row_bytes, hits);
  }
  if (row_step == row_bytes) {
    return gate_short_rows(bound, base, rows, row_bytes, hits);
  }
  return gate_each_short_row(bound, base, 0, rows, row_step, row_bytes, hits, 0);
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

template <typename Lane, bool flipped>
std::size_t gate_planes_bound(const std::uint8_t *base, std::size_t cells, std::size_t planes, std::size_t plane_step,
                              Gate gate, void *scratch, std::uint32_t *hits) {
  using Vector = typename Lane::Vector;
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
      Lane::store(marks + at, fresh ? best : Lane::greatest(best, Lane::load(marks + at)));
    }
  }
  for (; plane < planes; ++plane) {
    const std::uint8_t *plane0 = base + plane * plane_step;
    const bool fresh = plane == 0;
    for (std::size_t begin = 0; begin < bytes; begin += vector_bytes) {
      const std::size_t at = begin < last ? begin : last;
      const Vector best = bound.keys(plane0 + at);
      Lane::store(marks + at, fresh ? best : Lane::greatest(best, Lane::load(marks + at)));
    }
  }
  std::size_t at = 0;
  for (; at < last; at += vector_bytes) {
    count = emit_elements<Lane>(bound.passing(Lane::load(marks + at)), at / element_bytes, hits, count);
  }
  const std::uint64_t bits = without_bytes(bound.passing(Lane::load(marks + last)), at - last);
  return emit_elements<Lane>(bits, last / element_bytes, hits, count);
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
Bytes mask_bytes(std::uint16_t mask) {
  const Bytes bits = vreinterpretq_u8_u64(vdupq_n_u64(0x8040201008040201ULL));
  const Bytes spread = vcombine_u8(vdup_n_u8(static_cast<std::uint8_t>(mask & 0xFFU)), vdup_n_u8(static_cast<std::uint8_t>(mask >> 8U)));
  return vtstq_u8(spread, bits);
}

// The limit that leaves lanes of the mask as they are and brings the others to the lowest value.
int8x16_t stripe_limit_8(std::uint16_t mask) {
  return vreinterpretq_s8_u8(veorq_u8(mask_bytes(mask), vdupq_n_u8(0x80)));
}

// Cells of eight stripes in eight registers, segment by segment; the result has two lanes a cell.
template <bool flipped>
int8x16_t best_of_8_stripes(const Bound<Lane8, flipped> &bound, const std::uint8_t *base, std::size_t cell,
                            const std::size_t *offsets, const std::uint16_t *masks, std::size_t segments) {
  const int8x16_t lowest = vdupq_n_s8(INT8_MIN);
  int8x16_t best0 = lowest;
  int8x16_t best1 = lowest;
  int8x16_t best2 = lowest;
  int8x16_t best3 = lowest;
  int8x16_t best4 = lowest;
  int8x16_t best5 = lowest;
  int8x16_t best6 = lowest;
  int8x16_t best7 = lowest;
  for (std::size_t segment = 0; segment < segments; ++segment) {
    const std::uint8_t *stripe = base + offsets[segment] + 16 * cell;
    if (masks[segment] == every_lane) {
      best0 = vmaxq_s8(best0, bound.keys(stripe));
      best1 = vmaxq_s8(best1, bound.keys(stripe + 16));
      best2 = vmaxq_s8(best2, bound.keys(stripe + 32));
      best3 = vmaxq_s8(best3, bound.keys(stripe + 48));
      best4 = vmaxq_s8(best4, bound.keys(stripe + 64));
      best5 = vmaxq_s8(best5, bound.keys(stripe + 80));
      best6 = vmaxq_s8(best6, bound.keys(stripe + 96));
      best7 = vmaxq_s8(best7, bound.keys(stripe + 112));
    } else {
      const int8x16_t limit = stripe_limit_8(masks[segment]);
      best0 = vmaxq_s8(best0, vminq_s8(bound.keys(stripe), limit));
      best1 = vmaxq_s8(best1, vminq_s8(bound.keys(stripe + 16), limit));
      best2 = vmaxq_s8(best2, vminq_s8(bound.keys(stripe + 32), limit));
      best3 = vmaxq_s8(best3, vminq_s8(bound.keys(stripe + 48), limit));
      best4 = vmaxq_s8(best4, vminq_s8(bound.keys(stripe + 64), limit));
      best5 = vmaxq_s8(best5, vminq_s8(bound.keys(stripe + 80), limit));
      best6 = vmaxq_s8(best6, vminq_s8(bound.keys(stripe + 96), limit));
      best7 = vmaxq_s8(best7, vminq_s8(bound.keys(stripe + 112), limit));
    }
  }
  return vpmaxq_s8(vpmaxq_s8(vpmaxq_s8(best0, best1), vpmaxq_s8(best2, best3)),
                   vpmaxq_s8(vpmaxq_s8(best4, best5), vpmaxq_s8(best6, best7)));
}

template <bool flipped>
std::size_t gate_stripes_8_bound(const std::uint8_t *base, std::size_t cells, const std::size_t *offsets,
                                 const std::uint16_t *masks, std::size_t segments, Gate gate, std::uint32_t *hits) {
  const Bound<Lane8, flipped> bound(gate);
  std::size_t count = 0;
  std::size_t cell = 0;
  for (; cell + 16 <= cells; cell += 16) {
    const int8x16_t best = vpmaxq_s8(best_of_8_stripes(bound, base, cell, offsets, masks, segments),
                                     best_of_8_stripes(bound, base, cell + 8, offsets, masks, segments));
    count = emit_elements<Lane8>(bound.passing(best), cell, hits, count);
  }
  for (; cell < cells; ++cell) {
    int8x16_t best = vdupq_n_s8(INT8_MIN);
    for (std::size_t segment = 0; segment < segments; ++segment) {
      const int8x16_t keys = bound.keys(base + offsets[segment] + 16 * cell);
      best = vmaxq_s8(best, vminq_s8(keys, stripe_limit_8(masks[segment])));
    }
    hits[count] = static_cast<std::uint32_t>(cell);
    count += bound.passing(best) != 0 ? 1 : 0;
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

// The greatest lanes of a stripe whose low and high bytes are joined.
template <bool flipped>
int16x8_t joined_stripe(const Bound<Lane16, flipped> &bound, const std::uint8_t *stripe) {
  const Bytes low = vld1q_u8(stripe);
  const Bytes high = vld1q_u8(stripe + 16);
  return vmaxq_s16(bound.keys_of(vreinterpretq_s16_u8(vzip1q_u8(low, high))),
                   bound.keys_of(vreinterpretq_s16_u8(vzip2q_u8(low, high))));
}

struct StripeLimit16 {
  int16x8_t low;
  int16x8_t high;
};

StripeLimit16 stripe_limit_16(std::uint16_t mask) {
  const int8x16_t counted = vreinterpretq_s8_u8(mask_bytes(mask));
  const int16x8_t lowest = vdupq_n_s16(INT16_MIN);
  return {veorq_s16(vmovl_s8(vget_low_s8(counted)), lowest), veorq_s16(vmovl_high_s8(counted), lowest)};
}

template <bool flipped>
int16x8_t joined_stripe(const Bound<Lane16, flipped> &bound, const std::uint8_t *stripe, const StripeLimit16 &limit) {
  const Bytes low = vld1q_u8(stripe);
  const Bytes high = vld1q_u8(stripe + 16);
  return vmaxq_s16(vminq_s16(bound.keys_of(vreinterpretq_s16_u8(vzip1q_u8(low, high))), limit.low),
                   vminq_s16(bound.keys_of(vreinterpretq_s16_u8(vzip2q_u8(low, high))), limit.high));
}

template <bool flipped>
std::size_t gate_stripes_16_bound(const std::uint8_t *base, std::size_t cells, const std::size_t *offsets,
                                  const std::uint16_t *masks, std::size_t segments, Gate gate, std::uint32_t *hits) {
  const Bound<Lane16, flipped> bound(gate);
  const int16x8_t lowest = vdupq_n_s16(INT16_MIN);
  std::size_t count = 0;
  std::size_t cell = 0;
  for (; cell + 4 <= cells; cell += 4) {
    int16x8_t best0 = lowest;
    int16x8_t best1 = lowest;
    int16x8_t best2 = lowest;
    int16x8_t best3 = lowest;
    for (std::size_t segment = 0; segment < segments; ++segment) {
      const std::uint8_t *stripe = base + offsets[segment] + 32 * cell;
      if (masks[segment] == every_lane) {
        best0 = vmaxq_s16(best0, joined_stripe(bound, stripe));
        best1 = vmaxq_s16(best1, joined_stripe(bound, stripe + 32));
        best2 = vmaxq_s16(best2, joined_stripe(bound, stripe + 64));
        best3 = vmaxq_s16(best3, joined_stripe(bound, stripe + 96));
      } else {
        const StripeLimit16 limit = stripe_limit_16(masks[segment]);
        best0 = vmaxq_s16(best0, joined_stripe(bound, stripe, limit));
        best1 = vmaxq_s16(best1, joined_stripe(bound, stripe + 32, limit));
        best2 = vmaxq_s16(best2, joined_stripe(bound, stripe + 64, limit));
        best3 = vmaxq_s16(best3, joined_stripe(bound, stripe + 96, limit));
      }
    }
    // Two lanes a cell.
    const int16x8_t best = vpmaxq_s16(vpmaxq_s16(best0, best1), vpmaxq_s16(best2, best3));
    const int32x4_t cells_s32x4 = vreinterpretq_s32_u8(Lane16::greater(best, bound.below));
    count = emit_elements<Lane32>(nibble_mask(vreinterpretq_u8_u32(vtstq_s32(cells_s32x4, cells_s32x4))), cell, hits, count);
  }
  for (; cell < cells; ++cell) {
    int16x8_t best = lowest;
    for (std::size_t segment = 0; segment < segments; ++segment) {
      const std::uint8_t *stripe = base + offsets[segment] + 32 * cell;
      best = vmaxq_s16(best, joined_stripe(bound, stripe, stripe_limit_16(masks[segment])));
    }
    hits[count] = static_cast<std::uint32_t>(cell);
    count += bound.passing(best) != 0 ? 1 : 0;
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

// Keys of the three widths: keys makes signed keys of a vector, of_element of one element.
struct Keys8 {
  using Lane = Lane8;
  using Bits = std::uint8_t;
  int8x16_t flip;
  std::uint32_t flip_bits;

  int8x16_t keys(const Bits *from) const { return veorq_s8(Lane8::load(from), flip); }
  std::int32_t of_element(Bits bits) const { return static_cast<std::int8_t>(bits ^ static_cast<std::uint8_t>(flip_bits)); }
};

struct Keys16 {
  using Lane = Lane16;
  using Bits = std::uint16_t;
  int16x8_t infinity;
  std::uint32_t infinity_bits;

  int16x8_t keys(const Bits *from) const {
    const int16x8_t bits = Lane16::load(from);
    const int16x8_t largest = vdupq_n_s16(INT16_MAX);
    const int16x8_t magnitude = vandq_s16(bits, largest);
    const int16x8_t sign = vshrq_n_s16(bits, 15);
    const int16x8_t key = vsubq_s16(veorq_s16(magnitude, sign), sign);
    return vbslq_s16(vcgtq_s16(magnitude, infinity), largest, key);
  }
  std::int32_t of_element(Bits bits) const {
    const std::uint32_t magnitude = bits & 0x7FFFU;
    const std::int32_t value = static_cast<std::int32_t>(magnitude > infinity_bits ? 0x7FFFU : magnitude);
    return (bits & 0x8000U) != 0 && magnitude <= infinity_bits ? -value : value;
  }
};

struct Keys32 {
  using Lane = Lane32;
  using Bits = std::uint32_t;

  int32x4_t keys(const Bits *from) const {
    const int32x4_t bits = Lane32::load(from);
    const int32x4_t largest = vdupq_n_s32(INT32_MAX);
    const int32x4_t magnitude = vandq_s32(bits, largest);
    const int32x4_t sign = vshrq_n_s32(bits, 31);
    const int32x4_t key = vsubq_s32(veorq_s32(magnitude, sign), sign);
    return vbslq_s32(vcgtq_s32(magnitude, vdupq_n_s32(0x7F800000)), largest, key);
  }
  std::int32_t of_element(Bits bits) const {
    const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
    if (magnitude > 0x7F800000U) {
      return INT32_MAX;
    }
    const std::int32_t value = static_cast<std::int32_t>(magnitude);
    return (bits >> 31U) != 0 ? -value : value;
  }
};

template <typename Keys>
Best best_of(const Keys &order, const typename Keys::Bits *elements, std::size_t length) {
  using Lane = typename Keys::Lane;
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
  typename Lane::Vector greatest = order.keys(elements + last);
  for (std::size_t at = 0; at < last; at += lanes) {
    greatest = Lane::greatest(greatest, order.keys(elements + at));
  }
  const std::int32_t key = Lane::largest(greatest);
  const typename Lane::Vector wanted = Lane::splat(key);
  std::uint64_t bits = 0;
  std::size_t at = 0;
  for (; at < last; at += lanes) {
    bits = nibble_mask(Lane::equal(order.keys(elements + at), wanted));
    if (bits != 0) {
      return {key, static_cast<std::uint32_t>(at + first_byte(bits) / sizeof(typename Keys::Bits))};
    }
  }
  bits = nibble_mask(Lane::equal(order.keys(elements + last), wanted));
  return {key, static_cast<std::uint32_t>(last + first_byte(bits) / sizeof(typename Keys::Bits))};
}

Best best_8(const std::uint8_t *elements, std::size_t length, std::uint32_t flip) {
  return best_of(Keys8{vdupq_n_s8(static_cast<std::int8_t>(flip)), flip}, elements, length);
}

Best best_16(const std::uint16_t *elements, std::size_t length, std::uint16_t infinity) {
  // No magnitude is above 0x7FFF, and the comparison of vectors is signed.
  const std::uint32_t magnitude = infinity > 0x7FFFU ? 0x7FFFU : infinity;
  return best_of(Keys16{vdupq_n_s16(static_cast<std::int16_t>(magnitude)), magnitude}, elements, length);
}

Best best_32(const std::uint32_t *elements, std::size_t length) { return best_of(Keys32{}, elements, length); }

// ---- suppression ----------------------------------------------------------------------------------------------------

struct Intersection {
  uint32x4_t width;
  uint32x4_t height;
  uint32x4_t overlap;
};

struct CandidateLanes {
  int32x4_t x1;
  int32x4_t y1;
  int32x4_t x2;
  int32x4_t y2;
};

// Width and height of what four boxes of a block share with the candidate, and whether they share anything.
Intersection intersect(const SuppressionBlock &block, std::size_t lane, const CandidateLanes &candidate) {
  const int32x4_t left = vmaxq_s32(vld1q_s32(block.x1 + lane), candidate.x1);
  const int32x4_t right = vminq_s32(vld1q_s32(block.x2 + lane), candidate.x2);
  const int32x4_t top = vmaxq_s32(vld1q_s32(block.y1 + lane), candidate.y1);
  const int32x4_t bottom = vminq_s32(vld1q_s32(block.y2 + lane), candidate.y2);
  return {vreinterpretq_u32_s32(vsubq_s32(right, left)), vreinterpretq_u32_s32(vsubq_s32(bottom, top)),
          vandq_u32(vcgtq_s32(right, left), vcgtq_s32(bottom, top))};
}

// inter · (256 + limit) ≥ limit · areas and areas > inter, in 64-bit lanes. inter < 2^32.
uint64x2_t suppressing_u64x2(uint32x2_t width, uint32x2_t height, uint32x2_t area, std::uint32_t candidate_area,
                             std::uint32_t limit) {
  const uint64x2_t inter = vmull_u32(width, height);
  const uint64x2_t areas = vaddw_u32(vdupq_n_u64(candidate_area), area);
  const uint64x2_t need = vmlal_n_u32(vdupq_n_u64(static_cast<std::uint64_t>(candidate_area) * limit), area, limit);
  const uint64x2_t have = vmull_n_u32(vmovn_u64(inter), 256U + limit);
  return vandq_u64(vcgeq_u64(have, need), vcgtq_u64(areas, inter));
}

// Lanes that do not overlap have sides of zero: nothing is suppressed by an intersection of zero unless the areas are zero
// too, and then they are not greater than it.
bool suppressing(const Intersection &shared, const std::uint32_t *area, std::uint32_t candidate_area, std::uint32_t limit) {
  const uint32x4_t width = vandq_u32(shared.width, shared.overlap);
  const uint32x4_t areas = vld1q_u32(area);
  const uint64x2_t low = suppressing_u64x2(vget_low_u32(width), vget_low_u32(shared.height), vget_low_u32(areas),
                                           candidate_area, limit);
  const uint64x2_t high = suppressing_u64x2(vget_high_u32(width), vget_high_u32(shared.height), vget_high_u32(areas),
                                            candidate_area, limit);
  return nibble_mask(vreinterpretq_u8_u64(vorrq_u64(low, high))) != 0;
}

bool suppressed(const SuppressionBlock *pool, std::uint32_t first, const RoundedBox &candidate, std::uint32_t limit) {
  const CandidateLanes lanes = {vdupq_n_s32(candidate.x1), vdupq_n_s32(candidate.y1), vdupq_n_s32(candidate.x2),
                                vdupq_n_s32(candidate.y2)};
  for (std::uint32_t index = first; index != SuppressionBlock::end; index = pool[index].next) {
    const SuppressionBlock &block = pool[index];
    const Intersection low = intersect(block, 0, lanes);
    const Intersection high = intersect(block, 4, lanes);
    if (nibble_mask(vreinterpretq_u8_u32(vorrq_u32(low.overlap, high.overlap))) == 0) {
      continue;
    }
    if (suppressing(low, block.area, candidate.area, limit) || suppressing(high, block.area + 4, candidate.area, limit)) {
      return true;
    }
  }
  return false;
}

// ---- mask products --------------------------------------------------------------------------------------------------

// A pixel is held as vectors of 16 bytes, the last of which may overlap the one before it; a pixel shorter than that as two
// parts, its first and its last `part` bytes (a power of two), which may overlap too. Coefficients of bytes that are held
// twice are zero the second time.
struct DotPlan {
  int8x16_t flip;
  int16x8_t coefficients[8];
  std::size_t length;
  std::size_t part;
};

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

int32x4_t add_products_s32x4(int32x4_t sum, int8x16_t bytes, int16x8_t low_coefficients, int16x8_t high_coefficients) {
  const int16x8_t low = vmovl_s8(vget_low_s8(bytes));
  const int16x8_t high = vmovl_high_s8(bytes);
  sum = vmlal_s16(sum, vget_low_s16(low), vget_low_s16(low_coefficients));
  sum = vmlal_high_s16(sum, low, low_coefficients);
  sum = vmlal_s16(sum, vget_low_s16(high), vget_low_s16(high_coefficients));
  return vmlal_high_s16(sum, high, high_coefficients);
}

// vectors: of a pixel, 1..4; 0 for pixels shorter than one.
template <std::size_t vectors>
int32x4_t pixel_products(const DotPlan &plan, const std::uint8_t *pixel) {
  const int32x4_t zero = vdupq_n_s32(0);
  if (vectors == 0) {
    const int8x16_t bytes = veorq_s8(load_short_pixel(pixel, plan.length, plan.part), plan.flip);
    return add_products_s32x4(zero, bytes, plan.coefficients[0], plan.coefficients[1]);
  }
  int32x4_t sum = zero;
  for (std::size_t vector = 0; vector + 1 < vectors; ++vector) {
    const int8x16_t bytes = veorq_s8(Lane8::load(pixel + vector * vector_bytes), plan.flip);
    sum = add_products_s32x4(sum, bytes, plan.coefficients[2 * vector], plan.coefficients[2 * vector + 1]);
  }
  const int8x16_t bytes = veorq_s8(Lane8::load(pixel + plan.length - vector_bytes), plan.flip);
  constexpr std::size_t last = vectors == 0 ? 0 : vectors - 1;
  return add_products_s32x4(sum, bytes, plan.coefficients[2 * last], plan.coefficients[2 * last + 1]);
}

template <std::size_t vectors>
void dots_of(const DotPlan &plan, std::int32_t correction, const std::uint8_t *prototypes, std::size_t pixels,
             std::size_t pixel_step, std::int32_t *dots) {
  const std::uint8_t *pixel = prototypes;
  std::size_t index = 0;
  for (; index + 4 <= pixels; index += 4, pixel += 4 * pixel_step) {
    const int32x4_t sum01 =
        vpaddq_s32(pixel_products<vectors>(plan, pixel), pixel_products<vectors>(plan, pixel + pixel_step));
    const int32x4_t sum23 = vpaddq_s32(pixel_products<vectors>(plan, pixel + 2 * pixel_step),
                                       pixel_products<vectors>(plan, pixel + 3 * pixel_step));
    vst1q_s32(dots + index, vsubq_s32(vpaddq_s32(sum01, sum23), vdupq_n_s32(correction)));
  }
  for (; index < pixels; ++index, pixel += pixel_step) {
    dots[index] = vaddvq_s32(pixel_products<vectors>(plan, pixel)) - correction;
  }
}

void mask_dots_8(const MaskCoefficients &coefficients, const std::uint8_t *prototypes, std::size_t pixels,
                 std::size_t pixel_step, std::int32_t *dots) {
  const std::size_t length = coefficients.length;
  const std::size_t vectors = length < vector_bytes ? 0 : (length + vector_bytes - 1) / vector_bytes;
  std::size_t part = 1;
  while (part * 2 <= length && part < vector_bytes) {
    part *= 2;
  }
  // Bytes as they are held: all but the last part in order, then the last part.
  const std::size_t held = vectors == 0 ? 2 * part : vectors * vector_bytes;
  std::int16_t values[64] = {};
  for (std::size_t at = 0; at < held; ++at) {
    const std::size_t ordered = held - part;
    const std::size_t byte = at < ordered ? at : length - held + at;
    values[at] = at < ordered || byte >= ordered ? coefficients.centred[byte] : std::int16_t{0};
  }
  DotPlan plan;
  plan.flip = vdupq_n_s8(static_cast<std::int8_t>(coefficients.prototype_flip));
  for (std::size_t vector = 0; vector < 8; ++vector) {
    plan.coefficients[vector] = vld1q_s16(values + 8 * vector);
  }
  plan.length = length;
  plan.part = part;
  const std::int32_t correction = coefficients.prototype_zero * coefficients.sum_centred;
  switch (vectors) {
    case 0:
      return dots_of<0>(plan, correction, prototypes, pixels, pixel_step, dots);
    case 1:
      return dots_of<1>(plan, correction, prototypes, pixels, pixel_step, dots);
    case 2:
      return dots_of<2>(plan, correction, prototypes, pixels, pixel_step, dots);
    case 3:
      return dots_of<3>(plan, correction, prototypes, pixels, pixel_step, dots);
    default:
      return dots_of<4>(plan, correction, prototypes, pixels, pixel_step, dots);
  }
}

}  // namespace

const Kernels neon_kernels = {
    "neon",
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
    mask_bytes_neon,
    exponentials_neon,
    bin_distances_8_neon,
    bin_distances_32_neon,
};

const Kernels neon_dotprod_kernels = {
    "neon_dotprod",
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
    mask_dots_8_neon_dotprod,
    mask_bytes_neon,
    exponentials_neon,
    bin_distances_8_neon,
    bin_distances_32_neon,
};

}  // namespace simaai::kernels::detail
