#include "kernels/gate_short_rows.h"
#include "kernels/vectors_neon.h"

namespace simaai::kernels::detail {
namespace {

// The best lanes of a row of at least a vector. `fixed_bytes` is its size where it is known to the compiler, else zero. The
// last vector of other rows overlaps the one before it.
template <typename Lanes, Order order, std::size_t fixed_bytes>
[[gnu::always_inline]] inline Vector best_of_row(const Bound<Lanes, order> &bound, const std::uint8_t *row,
                                                 std::size_t row_bytes) {
  if (fixed_bytes != 0) {
    Vector best = bound.keys(row);
    for (std::size_t at = vector_bytes; at < fixed_bytes; at += vector_bytes) {
      best = bound.better(best, bound.keys(row + at));
    }
    return best;
  }
  Vector best = bound.keys(row + row_bytes - vector_bytes);
  for (std::size_t at = 0; at + vector_bytes < row_bytes; at += vector_bytes) {
    best = bound.better(best, bound.keys(row + at));
  }
  return best;
}

// Rows reduced pair by pair until each has one lane of one vector.
template <typename Lanes, Order order, std::size_t fixed_bytes, std::size_t rows>
[[gnu::always_inline]] inline Vector best_of_rows(const Bound<Lanes, order> &bound, const std::uint8_t *row,
                                                  std::size_t row_step, std::size_t row_bytes) {
  if constexpr (rows == 1) {
    (void)row_step;
    return best_of_row<Lanes, order, fixed_bytes>(bound, row, row_bytes);
  } else {
    const Vector low = best_of_rows<Lanes, order, fixed_bytes, rows / 2>(bound, row, row_step, row_bytes);
    return bound.better_of_pairs(
        low, best_of_rows<Lanes, order, fixed_bytes, rows / 2>(bound, row + rows / 2 * row_step, row_step, row_bytes));
  }
}

template <typename Lanes, Order order, std::size_t fixed_bytes>
std::size_t gate_long_rows(const Bound<Lanes, order> bound, const std::uint8_t *base, std::size_t rows, std::size_t row_step,
                           std::size_t row_bytes, std::uint32_t *hits) {
  constexpr std::size_t group = vector_bytes / sizeof(typename Lanes::Bits);
  std::size_t count = 0;
  std::size_t index = 0;
  const std::uint8_t *row = base;
  for (; index + group <= rows; index += group, row += group * row_step) {
    const Vector best = best_of_rows<Lanes, order, fixed_bytes, group>(bound, row, row_step, row_bytes);
    count = Lanes::emit(bound.compare(best), index, hits, count);
  }
  for (; index < rows; ++index, row += row_step) {
    hits[count] = static_cast<std::uint32_t>(index);
    count += bound.passing(best_of_row<Lanes, order, fixed_bytes>(bound, row, row_bytes)) != 0 ? 1 : 0;
  }
  return count;
}

// Short rows that lie one behind the other, at least a vector and at most 1,024 bytes of them: walks the nibbles of lanes
// that pass. `reciprocal` is ⌊65536 / row_bytes⌋ + 1, exact for positions below 1,024.
template <typename Lanes, Order order>
std::size_t walk_short_rows(const Bound<Lanes, order> &bound, const std::uint8_t *run, std::size_t run_bytes,
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
template <typename Lanes, Order order>
std::size_t gate_short_rows(const Bound<Lanes, order> bound, const std::uint8_t *base, std::size_t rows, std::size_t row_bytes,
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
    const Vector best = best_of_row<Lanes, order, target_bytes>(bound, run, target_bytes);
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

template <typename Lanes, Order order>
std::size_t gate_rows_in_order(const std::uint8_t *base, std::size_t rows, std::size_t row_step, std::size_t length, Gate gate,
                               std::uint32_t *hits) {
  constexpr std::size_t usual_bytes = 80 * sizeof(typename Lanes::Bits);
  const Bound<Lanes, order> bound(gate);
  const std::size_t row_bytes = length * sizeof(typename Lanes::Bits);
  if (row_bytes == usual_bytes) {
    return gate_long_rows<Lanes, order, usual_bytes>(bound, base, rows, row_step, row_bytes, hits);
  }
  if (row_bytes >= vector_bytes) {
    return gate_long_rows<Lanes, order, 0>(bound, base, rows, row_step, row_bytes, hits);
  }
  if (row_step == row_bytes) {
    return gate_short_rows(bound, base, rows, row_bytes, hits);
  }
  return gate_each_short_row(bound, base, 0, rows, row_step, row_bytes, hits, 0);
}

// As in gate_rows_avx2.cpp. What it calls differs and must stand before it.
template <typename Lanes>
std::size_t gate_rows(const std::uint8_t *base, std::size_t rows, std::size_t row_step, std::size_t length, Gate gate,
                      std::uint32_t *hits) {
  return gated<Lanes, Order::Signed, Order::Unsigned, Order::Reversed>(gate, rows, hits, [&]<Order order>(OrderTag<order>) {
    return gate_rows_in_order<Lanes, order>(base, rows, row_step, length, gate, hits);
  });
}

}  // namespace

std::size_t gate_rows_8_neon(const std::uint8_t *base, std::size_t rows, std::size_t row_step, std::size_t length, Gate gate,
                             std::uint32_t *hits) {
  return gate_rows<Lanes8>(base, rows, row_step, length, gate, hits);
}

std::size_t gate_rows_16_neon(const std::uint8_t *base, std::size_t rows, std::size_t row_step, std::size_t length, Gate gate,
                              std::uint32_t *hits) {
  return gate_rows<Lanes16>(base, rows, row_step, length, gate, hits);
}

std::size_t gate_rows_32_neon(const std::uint8_t *base, std::size_t rows, std::size_t row_step, std::size_t length, Gate gate,
                              std::uint32_t *hits) {
  return gate_rows<Lanes32>(base, rows, row_step, length, gate, hits);
}

}  // namespace simaai::kernels::detail
