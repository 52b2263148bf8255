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

// What a kernel needs to know of a width; vectors are bytes throughout.
struct Lane8 {
  using Element = std::int8_t;
  using Bits = std::uint8_t;
  static constexpr std::int32_t lowest = -128;
  static constexpr std::int32_t highest = 127;
  static int8x16_t s(Bytes a) { return vreinterpretq_s8_u8(a); }
  static Bytes splat(std::uint32_t bits) { return vdupq_n_u8(static_cast<Bits>(bits)); }
  static Bytes greatest(Bytes a, Bytes b) { return vreinterpretq_u8_s8(vmaxq_s8(s(a), s(b))); }
  static Bytes greatest_unsigned(Bytes a, Bytes b) { return vmaxq_u8(a, b); }
  static Bytes least(Bytes a, Bytes b) { return vreinterpretq_u8_s8(vminq_s8(s(a), s(b))); }
  static Bytes least_unsigned(Bytes a, Bytes b) { return vminq_u8(a, b); }
  static Bytes greatest_of_pairs(Bytes a, Bytes b) { return vreinterpretq_u8_s8(vpmaxq_s8(s(a), s(b))); }
  static Bytes greatest_unsigned_of_pairs(Bytes a, Bytes b) { return vpmaxq_u8(a, b); }
  static Bytes least_unsigned_of_pairs(Bytes a, Bytes b) { return vpminq_u8(a, b); }
  static Bytes greater(Bytes a, Bytes b) { return vcgtq_s8(s(a), s(b)); }
};

struct Lane16 {
  using Element = std::int16_t;
  using Bits = std::uint16_t;
  static constexpr std::int32_t lowest = -32768;
  static constexpr std::int32_t highest = 32767;
  static int16x8_t s(Bytes a) { return vreinterpretq_s16_u8(a); }
  static uint16x8_t u(Bytes a) { return vreinterpretq_u16_u8(a); }
  static Bytes splat(std::uint32_t bits) { return vreinterpretq_u8_u16(vdupq_n_u16(static_cast<Bits>(bits))); }
  static Bytes greatest(Bytes a, Bytes b) { return vreinterpretq_u8_s16(vmaxq_s16(s(a), s(b))); }
  static Bytes greatest_unsigned(Bytes a, Bytes b) { return vreinterpretq_u8_u16(vmaxq_u16(u(a), u(b))); }
  static Bytes least(Bytes a, Bytes b) { return vreinterpretq_u8_s16(vminq_s16(s(a), s(b))); }
  static Bytes least_unsigned(Bytes a, Bytes b) { return vreinterpretq_u8_u16(vminq_u16(u(a), u(b))); }
  static Bytes greatest_of_pairs(Bytes a, Bytes b) { return vreinterpretq_u8_s16(vpmaxq_s16(s(a), s(b))); }
  static Bytes greatest_unsigned_of_pairs(Bytes a, Bytes b) { return vreinterpretq_u8_u16(vpmaxq_u16(u(a), u(b))); }
  static Bytes least_unsigned_of_pairs(Bytes a, Bytes b) { return vreinterpretq_u8_u16(vpminq_u16(u(a), u(b))); }
  static Bytes greater(Bytes a, Bytes b) { return vreinterpretq_u8_u16(vcgtq_s16(s(a), s(b))); }
};

struct Lane32 {
  using Element = std::int32_t;
  using Bits = std::uint32_t;
  static constexpr std::int32_t lowest = INT32_MIN;
  static constexpr std::int32_t highest = INT32_MAX;
  static int32x4_t s(Bytes a) { return vreinterpretq_s32_u8(a); }
  static uint32x4_t u(Bytes a) { return vreinterpretq_u32_u8(a); }
  static Bytes splat(std::uint32_t bits) { return vreinterpretq_u8_u32(vdupq_n_u32(bits)); }
  static Bytes greatest(Bytes a, Bytes b) { return vreinterpretq_u8_s32(vmaxq_s32(s(a), s(b))); }
  static Bytes greatest_unsigned(Bytes a, Bytes b) { return vreinterpretq_u8_u32(vmaxq_u32(u(a), u(b))); }
  static Bytes least_unsigned(Bytes a, Bytes b) { return vreinterpretq_u8_u32(vminq_u32(u(a), u(b))); }
  static Bytes greatest_of_pairs(Bytes a, Bytes b) { return vreinterpretq_u8_s32(vpmaxq_s32(s(a), s(b))); }
  static Bytes greatest_unsigned_of_pairs(Bytes a, Bytes b) { return vreinterpretq_u8_u32(vpmaxq_u32(u(a), u(b))); }
  static Bytes least_unsigned_of_pairs(Bytes a, Bytes b) { return vreinterpretq_u8_u32(vpminq_u32(u(a), u(b))); }
  static Bytes greater(Bytes a, Bytes b) { return vreinterpretq_u8_u32(vcgtq_s32(s(a), s(b))); }
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
  Bytes flip;
  Bytes below;
  std::uint32_t flip_bits;
  std::int32_t threshold;

  explicit Bound(Gate gate)
      : flip(Lane::splat(gate.flip)), below(Lane::splat(static_cast<std::uint32_t>(gate.threshold - 1))), flip_bits(gate.flip),
        threshold(gate.threshold) {}

  Bytes bring(Bytes bits) const { return order == Order::Flipped ? veorq_u8(bits, flip) : bits; }
  Bytes bring(const std::uint8_t *from) const { return bring(vld1q_u8(from)); }

  static Bytes better(Bytes a, Bytes b) {
    return order == Order::Unsigned   ? Lane::greatest_unsigned(a, b)
           : order == Order::Reversed ? Lane::least_unsigned(a, b)
                                      : Lane::greatest(a, b);
  }
  static Bytes better_of_pairs(Bytes a, Bytes b) {
    return order == Order::Unsigned   ? Lane::greatest_unsigned_of_pairs(a, b)
           : order == Order::Reversed ? Lane::least_unsigned_of_pairs(a, b)
                                      : Lane::greatest_of_pairs(a, b);
  }
  static Bytes nothing() {
    return order == Order::Unsigned   ? vdupq_n_u8(0)
           : order == Order::Reversed ? vdupq_n_u8(0xFF)
                                      : Lane::splat(static_cast<std::uint32_t>(Lane::lowest));
  }
  // The limit that brings lanes that do not count to `nothing`; `counted` is 0xFF in the bytes of lanes that count.
  static Bytes limit(Bytes counted) { return order == Order::Unsigned ? counted : veorq_u8(counted, nothing()); }
  static Bytes limited(Bytes lanes, Bytes limits) {
    return order == Order::Unsigned   ? vandq_u8(lanes, limits)
           : order == Order::Reversed ? vorrq_u8(lanes, limits)
                                      : Lane::least(lanes, limits);
  }

  // Bytes of lanes that pass are 0xFF.
  Bytes compare(Bytes best) const {
    const bool flip_now = order == Order::Unsigned || order == Order::Reversed;
    return Lane::greater(flip_now ? veorq_u8(best, flip) : best, below);
  }
  std::uint64_t passing(Bytes best) const { return nibble_mask(compare(best)); }
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

// The best lanes of a row of at least a vector. `fixed_bytes` is its size where it is known to the compiler, else zero. The
// last vector of other rows overlaps the one before it.
template <typename Lane, Order order, std::size_t fixed_bytes>
[[gnu::always_inline]] inline Bytes best_of_row(const Bound<Lane, order> &bound, const std::uint8_t *row,
                                                std::size_t row_bytes) {
  if (fixed_bytes != 0) {
    Bytes best = bound.bring(row);
    for (std::size_t at = vector_bytes; at < fixed_bytes; at += vector_bytes) {
      best = bound.better(best, bound.bring(row + at));
    }
    return best;
  }
  Bytes best = bound.bring(row + row_bytes - vector_bytes);
  for (std::size_t at = 0; at + vector_bytes < row_bytes; at += vector_bytes) {
    best = bound.better(best, bound.bring(row + at));
  }
  return best;
}

// Rows reduced pair by pair until each has one lane of one vector.
template <typename Lane, Order order, std::size_t fixed_bytes, std::size_t rows>
[[gnu::always_inline]] inline Bytes best_of_rows(const Bound<Lane, order> &bound, const std::uint8_t *row, std::size_t row_step,
                                                 std::size_t row_bytes) {
  if constexpr (rows == 1) {
    (void)row_step;
    return best_of_row<Lane, order, fixed_bytes>(bound, row, row_bytes);
  } else {
    const Bytes low = best_of_rows<Lane, order, fixed_bytes, rows / 2>(bound, row, row_step, row_bytes);
    return bound.better_of_pairs(
        low, best_of_rows<Lane, order, fixed_bytes, rows / 2>(bound, row + rows / 2 * row_step, row_step, row_bytes));
  }
}

template <typename Lane, Order order, std::size_t fixed_bytes>
std::size_t gate_long_rows(const Bound<Lane, order> bound, const std::uint8_t *base, std::size_t rows, std::size_t row_step,
                           std::size_t row_bytes, std::uint32_t *hits) {
  constexpr std::size_t group = vector_bytes / sizeof(typename Lane::Bits);
  std::size_t count = 0;
  std::size_t index = 0;
  const std::uint8_t *row = base;
  for (; index + group <= rows; index += group, row += group * row_step) {
    const std::uint64_t bits = bound.passing(best_of_rows<Lane, order, fixed_bytes, group>(bound, row, row_step, row_bytes));
    count = emit_elements<Lane>(bits, index, hits, count);
  }
  for (; index < rows; ++index, row += row_step) {
    hits[count] = static_cast<std::uint32_t>(index);
    count += bound.passing(best_of_row<Lane, order, fixed_bytes>(bound, row, row_bytes)) != 0 ? 1 : 0;
  }
  return count;
}

template <typename Lane, Order order>
std::size_t gate_each_short_row(const Bound<Lane, order> &bound, const std::uint8_t *base, std::size_t first_row,
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
    count += bound.passing(bound.bring(load_short_row(row, row_bytes))) != 0 ? 1 : 0;
  }
  return count;
}

// Short rows that lie one behind the other, at least a vector and at most 1,024 bytes of them: walks the nibbles of lanes
// that pass. `reciprocal` is ⌊65536 / row_bytes⌋ + 1, exact for positions below 1,024.
template <typename Lane, Order order>
std::size_t walk_short_rows(const Bound<Lane, order> &bound, const std::uint8_t *run, std::size_t run_bytes,
                            std::size_t first_row, std::size_t row_bytes, std::uint32_t reciprocal, std::uint32_t *hits,
                            std::size_t count) {
  std::size_t decided = 0;
  for (std::size_t begin = 0; begin < run_bytes; begin += vector_bytes) {
    std::size_t at = begin;
    if (at + vector_bytes > run_bytes) {
      at = run_bytes - vector_bytes;
      decided = decided > begin ? decided : begin;
    }
    std::uint64_t bits = bound.passing(bound.bring(run + at));
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
template <typename Lane, Order order>
std::size_t gate_short_rows(const Bound<Lane, order> bound, const std::uint8_t *base, std::size_t rows, std::size_t row_bytes,
                            std::uint32_t *hits) {
  constexpr std::size_t target_bytes = 256;
  const std::size_t block_rows = target_bytes / row_bytes;
  const std::size_t block_bytes = block_rows * row_bytes;
  const std::size_t total = rows * row_bytes;
  const std::size_t blocks = total < target_bytes ? 0 : (total - target_bytes) / block_bytes + 1;
  const std::uint32_t reciprocal = static_cast<std::uint32_t>(65536U / row_bytes) + 1U;
  std::size_t count = 0;
  for (std::size_t block = 0; block < blocks; ++block) {
    const std::uint8_t *run = base + block * block_bytes;
    const Bytes best = best_of_row<Lane, order, target_bytes>(bound, run, target_bytes);
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

template <typename Lane, Order order>
std::size_t gate_rows_in_order(const std::uint8_t *base, std::size_t rows, std::size_t row_step, std::size_t length, Gate gate,
                               std::uint32_t *hits) {
  constexpr std::size_t usual_bytes = 80 * sizeof(typename Lane::Bits);
  const Bound<Lane, order> bound(gate);
  const std::size_t row_bytes = length * sizeof(typename Lane::Bits);
  if (row_bytes == usual_bytes) {
    return gate_long_rows<Lane, order, usual_bytes>(bound, base, rows, row_step, row_bytes, hits);
  }
  if (row_bytes >= vector_bytes) {
    return gate_long_rows<Lane, order, 0>(bound, base, rows, row_step, row_bytes, hits);
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
  switch (order_of<Lane>(gate.flip)) {
    case Order::Signed: return gate_rows_in_order<Lane, Order::Signed>(base, rows, row_step, length, gate, hits);
    case Order::Unsigned: return gate_rows_in_order<Lane, Order::Unsigned>(base, rows, row_step, length, gate, hits);
    case Order::Reversed: return gate_rows_in_order<Lane, Order::Reversed>(base, rows, row_step, length, gate, hits);
    default: return gate_rows_in_order<Lane, Order::Flipped>(base, rows, row_step, length, gate, hits);
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
    const std::uint8_t *plane = planes + at;
    Bytes best = bound.bring(plane);
    for (std::size_t next = 1; next < together; ++next) {
      plane += plane_step;
      best = bound.better(best, bound.bring(plane));
    }
    vst1q_u8(marks + at, fresh ? best : bound.better(best, vld1q_u8(marks + at)));
  }
}

template <typename Lane, Order order>
std::size_t gate_planes_in_order(const std::uint8_t *base, std::size_t cells, std::size_t planes, std::size_t plane_step,
                                 Gate gate, void *scratch, std::uint32_t *hits) {
  constexpr std::size_t element_bytes = sizeof(typename Lane::Bits);
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
  // Several planes at a time, so that marks are loaded and stored once for all of them.
  std::uint8_t *marks = static_cast<std::uint8_t *>(scratch);
  std::size_t plane = 0;
  for (; plane + 8 <= planes; plane += 8) {
    mark_planes<Lane, order, 8>(bound, base + plane * plane_step, plane_step, bytes, plane == 0, marks);
  }
  for (; plane + 3 <= planes; plane += 3) {
    mark_planes<Lane, order, 3>(bound, base + plane * plane_step, plane_step, bytes, plane == 0, marks);
  }
  for (; plane < planes; ++plane) {
    mark_planes<Lane, order, 1>(bound, base + plane * plane_step, plane_step, bytes, plane == 0, marks);
  }
  const std::size_t last = bytes - vector_bytes;
  std::size_t at = 0;
  for (; at < last; at += vector_bytes) {
    count = emit_elements<Lane>(bound.passing(vld1q_u8(marks + at)), at / element_bytes, hits, count);
  }
  const std::uint64_t bits = without_bytes(bound.passing(vld1q_u8(marks + last)), at - last);
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
  switch (order_of<Lane>(gate.flip)) {
    case Order::Signed: return gate_planes_in_order<Lane, Order::Signed>(base, cells, planes, plane_step, gate, marks, hits);
    case Order::Unsigned:
      return gate_planes_in_order<Lane, Order::Unsigned>(base, cells, planes, plane_step, gate, marks, hits);
    case Order::Reversed:
      return gate_planes_in_order<Lane, Order::Reversed>(base, cells, planes, plane_step, gate, marks, hits);
    default: return gate_planes_in_order<Lane, Order::Flipped>(base, cells, planes, plane_step, gate, marks, hits);
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
Bytes mask_bytes(std::uint16_t mask) {
  const Bytes bits = vreinterpretq_u8_u64(vdupq_n_u64(0x8040201008040201ULL));
  const Bytes spread =
      vcombine_u8(vdup_n_u8(static_cast<std::uint8_t>(mask & 0xFFU)), vdup_n_u8(static_cast<std::uint8_t>(mask >> 8U)));
  return vtstq_u8(spread, bits);
}

// How a stripe of one cell is read: 16 lanes of a byte, or low and high bytes that are joined.
template <Order order>
struct Stripes8 {
  using Lane = Lane8;
  static constexpr std::size_t stripe_bytes = 16;
  struct Limits {
    Bytes limit;
  };
  Bound<Lane8, order> bound;

  Limits limits(std::uint16_t mask) const { return {bound.limit(mask_bytes(mask))}; }
  Bytes best(const std::uint8_t *stripe) const { return bound.bring(stripe); }
  Bytes best(const std::uint8_t *stripe, const Limits &limits) const {
    return bound.limited(bound.bring(stripe), limits.limit);
  }
};

template <Order order>
struct Stripes16 {
  using Lane = Lane16;
  static constexpr std::size_t stripe_bytes = 32;
  struct Limits {
    Bytes low;  // of lanes 0..7
    Bytes high;
  };
  Bound<Lane16, order> bound;

  Limits limits(std::uint16_t mask) const {
    const Bytes bytes = mask_bytes(mask);
    return {bound.limit(vzip1q_u8(bytes, bytes)), bound.limit(vzip2q_u8(bytes, bytes))};
  }
  Bytes best(const std::uint8_t *stripe) const {
    const Bytes low = vld1q_u8(stripe);
    const Bytes high = vld1q_u8(stripe + 16);
    return bound.better(bound.bring(vzip1q_u8(low, high)), bound.bring(vzip2q_u8(low, high)));
  }
  Bytes best(const std::uint8_t *stripe, const Limits &limits) const {
    const Bytes low = vld1q_u8(stripe);
    const Bytes high = vld1q_u8(stripe + 16);
    return bound.better(bound.limited(bound.bring(vzip1q_u8(low, high)), limits.low),
                        bound.limited(bound.bring(vzip2q_u8(low, high)), limits.high));
  }
};

// The best lanes of some cells, one register each.
template <typename Stripes, std::size_t cells>
struct BestOfCells {
  BestOfCells<Stripes, cells / 2> low;
  BestOfCells<Stripes, cells / 2> high;

  [[gnu::always_inline]] void begin(const Stripes &stripes) {
    low.begin(stripes);
    high.begin(stripes);
  }
  [[gnu::always_inline]] void take(const Stripes &stripes, const std::uint8_t *stripe) {
    low.take(stripes, stripe);
    high.take(stripes, stripe + cells / 2 * Stripes::stripe_bytes);
  }
  [[gnu::always_inline]] void take(const Stripes &stripes, const std::uint8_t *stripe, const typename Stripes::Limits &limits) {
    low.take(stripes, stripe, limits);
    high.take(stripes, stripe + cells / 2 * Stripes::stripe_bytes, limits);
  }
  // One lane a cell when there are as many cells as lanes.
  [[gnu::always_inline]] Bytes reduced(const Stripes &stripes) const {
    return stripes.bound.better_of_pairs(low.reduced(stripes), high.reduced(stripes));
  }
  [[gnu::always_inline]] void keep() {
    low.keep();
    high.keep();
  }
};

template <typename Stripes>
struct BestOfCells<Stripes, 1> {
  Bytes best;

  [[gnu::always_inline]] void begin(const Stripes &stripes) { best = stripes.bound.nothing(); }
  [[gnu::always_inline]] void take(const Stripes &stripes, const std::uint8_t *stripe) {
    best = stripes.bound.better(best, stripes.best(stripe));
  }
  [[gnu::always_inline]] void take(const Stripes &stripes, const std::uint8_t *stripe, const typename Stripes::Limits &limits) {
    best = stripes.bound.better(best, stripes.best(stripe, limits));
  }
  [[gnu::always_inline]] Bytes reduced(const Stripes &) const { return best; }
  [[gnu::always_inline]] void keep() { __asm__("" : "+w"(best)); }
};

template <typename Stripes, bool masked>
std::size_t gate_stripes_of(const Stripes stripes, const std::uint8_t *base, std::size_t cells, const std::size_t *offsets,
                            const std::uint16_t *masks, std::size_t segments, std::uint32_t *hits) {
  using Lane = typename Stripes::Lane;
  constexpr std::size_t together = vector_bytes / sizeof(typename Lane::Bits);
  std::size_t count = 0;
  std::size_t cell = 0;
  for (; cell + together <= cells; cell += together) {
    BestOfCells<Stripes, together> best;
    best.begin(stripes);
    for (std::size_t segment = 0; segment < segments; ++segment) {
      const std::uint8_t *stripe = base + offsets[segment] + Stripes::stripe_bytes * cell;
      if (masked) {
        best.take(stripes, stripe, stripes.limits(masks[segment]));
      } else {
        best.take(stripes, stripe);
      }
    }
    // The compiler would else copy all registers in the loop.
    best.keep();
    count = emit_elements<Lane>(stripes.bound.passing(best.reduced(stripes)), cell, hits, count);
  }
  for (; cell < cells; ++cell) {
    Bytes best = stripes.bound.nothing();
    for (std::size_t segment = 0; segment < segments; ++segment) {
      const std::uint8_t *stripe = base + offsets[segment] + Stripes::stripe_bytes * cell;
      best = stripes.bound.better(best, stripes.best(stripe, stripes.limits(masks[segment])));
    }
    hits[count] = static_cast<std::uint32_t>(cell);
    count += stripes.bound.passing(best) != 0 ? 1 : 0;
  }
  return count;
}

template <typename Stripes>
std::size_t gate_stripes_in_order(const Stripes &stripes, const std::uint8_t *base, std::size_t cells,
                                  const std::size_t *offsets, const std::uint16_t *masks, std::size_t segments,
                                  std::uint32_t *hits) {
  bool masked = false;
  for (std::size_t segment = 0; segment < segments; ++segment) {
    masked = masked || masks[segment] != every_lane;
  }
  return masked ? gate_stripes_of<Stripes, true>(stripes, base, cells, offsets, masks, segments, hits)
                : gate_stripes_of<Stripes, false>(stripes, base, cells, offsets, masks, segments, hits);
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
      return gate_stripes_in_order(Stripes8<Order::Signed>{Bound<Lane8, Order::Signed>(gate)}, base, cells, offsets, masks,
                                   segments, hits);
    case Order::Unsigned:
      return gate_stripes_in_order(Stripes8<Order::Unsigned>{Bound<Lane8, Order::Unsigned>(gate)}, base, cells, offsets, masks,
                                   segments, hits);
    default:
      return gate_stripes_in_order(Stripes8<Order::Flipped>{Bound<Lane8, Order::Flipped>(gate)}, base, cells, offsets, masks,
                                   segments, hits);
  }
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
      return gate_stripes_in_order(Stripes16<Order::Signed>{Bound<Lane16, Order::Signed>(gate)}, base, cells, offsets, masks,
                                   segments, hits);
    case Order::Reversed:
      return gate_stripes_in_order(Stripes16<Order::Reversed>{Bound<Lane16, Order::Reversed>(gate)}, base, cells, offsets,
                                   masks, segments, hits);
    default:
      return gate_stripes_in_order(Stripes16<Order::Flipped>{Bound<Lane16, Order::Flipped>(gate)}, base, cells, offsets, masks,
                                   segments, hits);
  }
}

// ---- first largest --------------------------------------------------------------------------------------------------

struct Lanes8 {
  using Bits = std::uint8_t;
  using Vector = uint8x16_t;
  static Vector load(const Bits *from) { return vld1q_u8(from); }
  static Vector splat(std::uint32_t bits) { return vdupq_n_u8(static_cast<Bits>(bits)); }
  static std::uint64_t equal(Vector a, Vector b) { return nibble_mask(vceqq_u8(a, b)); }
};

struct Lanes16 {
  using Bits = std::uint16_t;
  using Vector = uint16x8_t;
  static Vector load(const Bits *from) { return vreinterpretq_u16_u8(vld1q_u8(reinterpret_cast<const std::uint8_t *>(from))); }
  static Vector splat(std::uint32_t bits) { return vdupq_n_u16(static_cast<Bits>(bits)); }
  static std::uint64_t equal(Vector a, Vector b) { return nibble_mask(vreinterpretq_u8_u16(vceqq_u16(a, b))); }
  static Vector greatest(Vector a, Vector b) {
    return vreinterpretq_u16_s16(vmaxq_s16(vreinterpretq_s16_u16(a), vreinterpretq_s16_u16(b)));
  }
  static Vector greatest_unsigned(Vector a, Vector b) { return vmaxq_u16(a, b); }
  static Vector least_unsigned(Vector a, Vector b) { return vminq_u16(a, b); }
  static std::int32_t greatest_of(Vector a) { return vmaxvq_s16(vreinterpretq_s16_u16(a)); }
  static std::uint32_t greatest_unsigned_of(Vector a) { return vmaxvq_u16(a); }
  static std::uint32_t least_unsigned_of(Vector a) { return vminvq_u16(a); }
};

struct Lanes32 {
  using Bits = std::uint32_t;
  using Vector = uint32x4_t;
  static Vector load(const Bits *from) { return vreinterpretq_u32_u8(vld1q_u8(reinterpret_cast<const std::uint8_t *>(from))); }
  static Vector splat(std::uint32_t bits) { return vdupq_n_u32(bits); }
  static std::uint64_t equal(Vector a, Vector b) { return nibble_mask(vreinterpretq_u8_u32(vceqq_u32(a, b))); }
  static Vector greatest(Vector a, Vector b) {
    return vreinterpretq_u32_s32(vmaxq_s32(vreinterpretq_s32_u32(a), vreinterpretq_s32_u32(b)));
  }
  static Vector greatest_unsigned(Vector a, Vector b) { return vmaxq_u32(a, b); }
  static Vector least_unsigned(Vector a, Vector b) { return vminq_u32(a, b); }
  static std::int32_t greatest_of(Vector a) { return vmaxvq_s32(vreinterpretq_s32_u32(a)); }
  static std::uint32_t greatest_unsigned_of(Vector a) { return vmaxvq_u32(a); }
  static std::uint32_t least_unsigned_of(Vector a) { return vminvq_u32(a); }
};

// The first lane with these bits; there is one. At least a vector of elements.
template <typename Lanes>
std::uint32_t first_with(const typename Lanes::Bits *elements, std::size_t length, std::uint32_t bits) {
  constexpr std::size_t lanes = vector_bytes / sizeof(typename Lanes::Bits);
  const typename Lanes::Vector wanted = Lanes::splat(bits);
  const std::size_t last = length - lanes;
  std::size_t at = 0;
  for (; at < last; at += lanes) {
    const std::uint64_t found = Lanes::equal(Lanes::load(elements + at), wanted);
    if (found != 0) {
      return static_cast<std::uint32_t>(at + first_byte(found) / sizeof(typename Lanes::Bits));
    }
  }
  const std::uint64_t found = Lanes::equal(Lanes::load(elements + last), wanted);
  return static_cast<std::uint32_t>(last + first_byte(found) / sizeof(typename Lanes::Bits));
}

Best best_8(const std::uint8_t *elements, std::size_t length, std::uint32_t flip) {
  const std::uint8_t flip_bits = static_cast<std::uint8_t>(flip);
  if (length < vector_bytes) {
    Best best{static_cast<std::int8_t>(elements[0] ^ flip_bits), 0};
    for (std::size_t lane = 1; lane < length; ++lane) {
      const std::int32_t key = static_cast<std::int8_t>(elements[lane] ^ flip_bits);
      if (key > best.key) {
        best = {key, static_cast<std::uint32_t>(lane)};
      }
    }
    return best;
  }
  const Bytes flips = vdupq_n_u8(flip_bits);
  const std::size_t last = length - vector_bytes;
  Bytes greatest = veorq_u8(vld1q_u8(elements + last), flips);
  for (std::size_t at = 0; at < last; at += vector_bytes) {
    greatest = Lane8::greatest(greatest, veorq_u8(vld1q_u8(elements + at), flips));
  }
  const std::int32_t key = vmaxvq_s8(Lane8::s(greatest));
  return {key, first_with<Lanes8>(elements, length, static_cast<std::uint8_t>(key) ^ flip_bits)};
}

// Lanes that do not count are the last ones of the last block: they get the lowest key, and the first lane with a key counts.
Best best_blocks_8(const std::uint8_t *block, std::size_t block_step, std::size_t length, std::uint32_t flip) {
  static const std::uint8_t counted[2 * vector_bytes] = {255, 255, 255, 255, 255, 255, 255, 255,
                                                         255, 255, 255, 255, 255, 255, 255, 255};
  const std::uint8_t flip_bits = static_cast<std::uint8_t>(flip);
  const Bytes flips = vdupq_n_u8(flip_bits);
  const std::size_t last = (length - 1) / vector_bytes;
  const Bytes lanes = vld1q_u8(counted + (last + 1) * vector_bytes - length);
  Bytes greatest = vbslq_u8(lanes, veorq_u8(vld1q_u8(block + last * block_step), flips), vdupq_n_u8(0x80));
  for (std::size_t at = 0; at < last; ++at) {
    greatest = Lane8::greatest(greatest, veorq_u8(vld1q_u8(block + at * block_step), flips));
  }
  const std::int32_t key = vmaxvq_s8(Lane8::s(greatest));
  const Bytes wanted = vdupq_n_u8(static_cast<std::uint8_t>(key) ^ flip_bits);
  std::size_t at = 0;
  std::uint64_t found = Lanes8::equal(vld1q_u8(block), wanted);
  while (found == 0 && at < last) {
    ++at;
    found = Lanes8::equal(vld1q_u8(block + at * block_step), wanted);
  }
  return {key, static_cast<std::uint32_t>(at * vector_bytes + first_byte(found))};
}

// One element after the other, for every input.
template <typename Bits>
Best best_of_elements(const Bits *elements, std::size_t length, std::uint32_t infinity) {
  constexpr std::uint32_t magnitude_mask = static_cast<Bits>(~Bits{0}) >> 1U;
  Best best{INT32_MIN, 0};
  for (std::size_t lane = 0; lane < length; ++lane) {
    const std::uint32_t magnitude = elements[lane] & magnitude_mask;
    const bool nan = magnitude > infinity;
    const bool negative = (elements[lane] & ~magnitude_mask) != 0;
    const std::int32_t value = static_cast<std::int32_t>(nan ? magnitude_mask : magnitude);
    const std::int32_t key = negative && !nan ? -value : value;
    if (key > best.key) {
      best = {key, static_cast<std::uint32_t>(lane)};
    }
  }
  return best;
}

// As signed integers, positive floats are in order and above negative ones; as unsigned integers negative floats are in the
// reverse order and above positive ones. What is left are NaN and zeros of both signs, which go the slow way.
template <typename Lanes>
Best best_float(const typename Lanes::Bits *elements, std::size_t length, std::uint32_t infinity) {
  using Vector = typename Lanes::Vector;
  constexpr std::size_t lanes = vector_bytes / sizeof(typename Lanes::Bits);
  constexpr std::uint32_t sign = 1U << (8 * sizeof(typename Lanes::Bits) - 1);
  if (length < lanes) {
    return best_of_elements(elements, length, infinity);
  }
  const std::size_t last = length - lanes;
  Vector greatest = Lanes::load(elements + last);
  Vector greatest_unsigned = greatest;
  Vector least_unsigned = greatest;
  for (std::size_t at = 0; at < last; at += lanes) {
    const Vector bits = Lanes::load(elements + at);
    greatest = Lanes::greatest(greatest, bits);
    greatest_unsigned = Lanes::greatest_unsigned(greatest_unsigned, bits);
    least_unsigned = Lanes::least_unsigned(least_unsigned, bits);
  }
  const std::int32_t positive = Lanes::greatest_of(greatest);
  const std::uint32_t negative = Lanes::least_unsigned_of(least_unsigned);
  const bool has_nan = (positive > 0 && static_cast<std::uint32_t>(positive) > infinity) ||
                       Lanes::greatest_unsigned_of(greatest_unsigned) > (sign | infinity);
  if (has_nan || positive == 0 || (positive < 0 && negative == sign)) {
    return best_of_elements(elements, length, infinity);
  }
  if (positive > 0) {
    return {positive, first_with<Lanes>(elements, length, static_cast<std::uint32_t>(positive))};
  }
  return {-static_cast<std::int32_t>(negative & ~sign), first_with<Lanes>(elements, length, negative)};
}

Best best_16(const std::uint16_t *elements, std::size_t length, std::uint16_t infinity) {
  // No magnitude is above 0x7FFF.
  return best_float<Lanes16>(elements, length, infinity > 0x7FFFU ? 0x7FFFU : infinity);
}

Best best_32(const std::uint32_t *elements, std::size_t length) { return best_float<Lanes32>(elements, length, 0x7F800000U); }

// ---- suppression ----------------------------------------------------------------------------------------------------

// inter · (256 + limit) ≥ limit · areas and areas > inter, in 64-bit lanes. inter < 2^32.
uint64x2_t suppressing_u64x2(uint32x2_t width, uint32x2_t height, uint32x2_t area, std::uint32_t candidate_area,
                             std::uint32_t limit) {
  const uint64x2_t inter = vmull_u32(width, height);
  const uint64x2_t areas = vaddw_u32(vdupq_n_u64(candidate_area), area);
  const uint64x2_t need = vmlal_n_u32(vdupq_n_u64(static_cast<std::uint64_t>(candidate_area) * limit), area, limit);
  const uint64x2_t have = vmull_n_u32(vmovn_u64(inter), 256U + limit);
  return vandq_u64(vcgeq_u64(have, need), vcgtq_u64(areas, inter));
}

// A block of which a box overlaps the candidate. Sides of those that do not are zero: nothing is suppressed by an
// intersection of zero unless the areas are zero too, and then they are not greater than it. Not inlined: the products
// would be computed before it is known that they are needed.
[[gnu::noinline]] bool block_suppresses(const SuppressionBlock &block, const RoundedBox &candidate, std::uint32_t limit) {
  for (std::size_t lane = 0; lane < SuppressionBlock::lanes; lane += 4) {
    const int32x4_t left = vmaxq_s32(vld1q_s32(block.x1 + lane), vdupq_n_s32(candidate.x1));
    const int32x4_t top = vmaxq_s32(vld1q_s32(block.y1 + lane), vdupq_n_s32(candidate.y1));
    const int32x4_t right = vminq_s32(vld1q_s32(block.x2 + lane), vdupq_n_s32(candidate.x2));
    const int32x4_t bottom = vminq_s32(vld1q_s32(block.y2 + lane), vdupq_n_s32(candidate.y2));
    const uint32x4_t overlap = vandq_u32(vcgtq_s32(right, left), vcgtq_s32(bottom, top));
    const uint32x4_t width = vandq_u32(vsubq_u32(vreinterpretq_u32_s32(right), vreinterpretq_u32_s32(left)), overlap);
    const uint32x4_t height = vsubq_u32(vreinterpretq_u32_s32(bottom), vreinterpretq_u32_s32(top));
    const uint32x4_t area = vld1q_u32(block.area + lane);
    const uint64x2_t low =
        suppressing_u64x2(vget_low_u32(width), vget_low_u32(height), vget_low_u32(area), candidate.area, limit);
    const uint64x2_t high =
        suppressing_u64x2(vget_high_u32(width), vget_high_u32(height), vget_high_u32(area), candidate.area, limit);
    if (nibble_mask(vreinterpretq_u8_u64(vorrq_u64(low, high))) != 0) {
      return true;
    }
  }
  return false;
}

struct CandidateLanes {
  int32x4_t x1;
  int32x4_t y1;
  int32x4_t x2;
  int32x4_t y2;
};

uint32x4_t overlap_of(const SuppressionBlock &block, std::size_t lane, const CandidateLanes &candidate) {
  const int32x4_t left = vmaxq_s32(vld1q_s32(block.x1 + lane), candidate.x1);
  const int32x4_t top = vmaxq_s32(vld1q_s32(block.y1 + lane), candidate.y1);
  const int32x4_t right = vminq_s32(vld1q_s32(block.x2 + lane), candidate.x2);
  const int32x4_t bottom = vminq_s32(vld1q_s32(block.y2 + lane), candidate.y2);
  return vandq_u32(vcgtq_s32(right, left), vcgtq_s32(bottom, top));
}

bool suppressed(const SuppressionBlock *pool, std::uint32_t first, const RoundedBox &candidate, std::uint32_t limit) {
  const CandidateLanes lanes = {vdupq_n_s32(candidate.x1), vdupq_n_s32(candidate.y1), vdupq_n_s32(candidate.x2),
                                vdupq_n_s32(candidate.y2)};
  for (std::uint32_t index = first; index != SuppressionBlock::end; index = pool[index].next) {
    const SuppressionBlock &block = pool[index];
    const uint32x4_t overlap = vorrq_u32(overlap_of(block, 0, lanes), overlap_of(block, 4, lanes));
    if (nibble_mask(vreinterpretq_u8_u32(overlap)) != 0 && block_suppresses(block, candidate, limit)) {
      return true;
    }
  }
  return false;
}

// ---- mask products --------------------------------------------------------------------------------------------------

// A pixel is held as vectors of 16 bytes, the last of which may overlap the one before it; a pixel shorter than that as two
// parts, its first and its last `part` bytes (a power of two), which may overlap too. Coefficients of bytes that are held
// twice are zero the second time. vectors: of a pixel, 1..4; 0 for pixels shorter than one.
template <std::size_t vectors>
struct DotPlan {
  static constexpr std::size_t held = vectors == 0 ? 1 : vectors;
  int8x16_t flip;
  int16x8_t coefficients[2 * held];
  std::size_t length;
  std::size_t part;

  explicit DotPlan(const MaskCoefficients &from) : length(from.length), part(1) {
    flip = vdupq_n_s8(static_cast<std::int8_t>(from.prototype_flip));
    if (vectors == 0) {
      begin_short(from);
      return;
    }
    for (std::size_t half = 0; half + 2 < 2 * held; ++half) {
      coefficients[half] = vld1q_s16(from.centred + 8 * half);
    }
    static const std::uint16_t lanes[vector_bytes] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    const uint16x8_t twice = vdupq_n_u16(static_cast<std::uint16_t>(vectors * vector_bytes - length));
    for (std::size_t half = 0; half < 2; ++half) {
      const int16x8_t once = vreinterpretq_s16_u16(vcgeq_u16(vld1q_u16(lanes + 8 * half), twice));
      coefficients[2 * held - 2 + half] = vandq_s16(vld1q_s16(from.centred + length - vector_bytes + 8 * half), once);
    }
  }

private:
  void begin_short(const MaskCoefficients &from) {
    while (part * 2 <= length) {
      part *= 2;
    }
    std::int16_t values[vector_bytes] = {};
    for (std::size_t at = 0; at < 2 * part; ++at) {
      const std::size_t byte = at < part ? at : length - 2 * part + at;
      values[at] = at < part || byte >= part ? from.centred[byte] : std::int16_t{0};
    }
    coefficients[0] = vld1q_s16(values);
    coefficients[1] = vld1q_s16(values + 8);
  }
};

int8x16_t load_short_pixel(const std::uint8_t *pixel, std::size_t length, std::size_t part) {
  const std::uint8_t *last = pixel + length - part;
  const uint64x2_t zero = vdupq_n_u64(0);
  switch (part) {
    case 8: return vreinterpretq_s8_u8(vcombine_u8(vld1_u8(pixel), vld1_u8(last)));
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
    default: return vreinterpretq_s8_u64(vsetq_lane_u64(pixel[0], zero, 0));
  }
}

int8x16_t load_bytes(const std::uint8_t *from) { return vreinterpretq_s8_u8(vld1q_u8(from)); }

int32x4_t add_products_s32x4(int32x4_t sum, int8x16_t bytes, int16x8_t low_coefficients, int16x8_t high_coefficients) {
  const int16x8_t low = vmovl_s8(vget_low_s8(bytes));
  const int16x8_t high = vmovl_high_s8(bytes);
  sum = vmlal_s16(sum, vget_low_s16(low), vget_low_s16(low_coefficients));
  sum = vmlal_high_s16(sum, low, low_coefficients);
  sum = vmlal_s16(sum, vget_low_s16(high), vget_low_s16(high_coefficients));
  return vmlal_high_s16(sum, high, high_coefficients);
}

template <std::size_t vectors>
[[gnu::always_inline]] inline int32x4_t pixel_products(const DotPlan<vectors> &plan, const std::uint8_t *pixel) {
  int32x4_t sum = vdupq_n_s32(0);
  if (vectors == 0) {
    const int8x16_t bytes = veorq_s8(load_short_pixel(pixel, plan.length, plan.part), plan.flip);
    return add_products_s32x4(sum, bytes, plan.coefficients[0], plan.coefficients[1]);
  }
  for (std::size_t vector = 0; vector + 1 < vectors; ++vector) {
    const int8x16_t bytes = veorq_s8(load_bytes(pixel + vector * vector_bytes), plan.flip);
    sum = add_products_s32x4(sum, bytes, plan.coefficients[2 * vector], plan.coefficients[2 * vector + 1]);
  }
  constexpr std::size_t last = DotPlan<vectors>::held - 1;
  const int8x16_t bytes = veorq_s8(load_bytes(pixel + plan.length - vector_bytes), plan.flip);
  return add_products_s32x4(sum, bytes, plan.coefficients[2 * last], plan.coefficients[2 * last + 1]);
}

template <std::size_t vectors>
[[gnu::noinline]] void dots_of(const MaskCoefficients &coefficients, const std::uint8_t *prototypes, std::size_t pixels,
                               std::size_t pixel_step, std::int32_t *dots) {
  const DotPlan<vectors> plan(coefficients);
  const std::int32_t correction = coefficients.prototype_zero * coefficients.sum_centred;
  const std::uint8_t *pixel = prototypes;
  std::size_t index = 0;
  for (; index + 4 <= pixels; index += 4, pixel += 4 * pixel_step) {
    const int32x4_t sum01 = vpaddq_s32(pixel_products<vectors>(plan, pixel), pixel_products<vectors>(plan, pixel + pixel_step));
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
  switch (vectors) {
    case 0: return dots_of<0>(coefficients, prototypes, pixels, pixel_step, dots);
    case 1: return dots_of<1>(coefficients, prototypes, pixels, pixel_step, dots);
    case 2: return dots_of<2>(coefficients, prototypes, pixels, pixel_step, dots);
    case 3: return dots_of<3>(coefficients, prototypes, pixels, pixel_step, dots);
    default: return dots_of<4>(coefficients, prototypes, pixels, pixel_step, dots);
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
    best_blocks_8,
    suppressed,
    mask_dots_8,
    mask_bytes_neon,
    exponentials_neon,
    bin_distances_8_neon,
    bin_distances_32_neon,
    suppressed_exact_neon,
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
    best_blocks_8,
    suppressed,
    mask_dots_8_neon_dotprod,
    mask_bytes_neon,
    exponentials_neon,
    bin_distances_8_neon,
    bin_distances_32_neon,
    suppressed_exact_neon,
};

}  // namespace simaai::kernels::detail
