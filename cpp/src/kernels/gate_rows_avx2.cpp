#include "kernels/gate_blocks_avx2.h"
#include "kernels/gate_short_rows.h"
#include "kernels/vectors_avx2.h"

namespace simaai::kernels::detail {
namespace {

// The best lanes of a row of at least a vector; its last vector overlaps the one before it. `vectors` is their number where
// the compiler knows it, else zero.
template <typename Lanes, Order order, std::size_t vectors>
[[gnu::always_inline]] inline Vector best_of_row(const Bound<Lanes, order> &bound, const std::uint8_t *row,
                                                 std::size_t row_bytes) {
  Vector best = bound.keys(row + row_bytes - vector_bytes);
  if (vectors != 0) {
    for (std::size_t vector = 0; vector + 1 < vectors; ++vector) {
      best = bound.better(best, bound.keys(row + vector * vector_bytes));
    }
    return best;
  }
  Vector other = best;
  std::size_t at = 0;
  for (; at + 2 * vector_bytes <= row_bytes; at += 2 * vector_bytes) {
    best = bound.better(best, bound.keys(row + at));
    other = bound.better(other, bound.keys(row + at + vector_bytes));
  }
  if (at + vector_bytes <= row_bytes) {
    best = bound.better(best, bound.keys(row + at));
  }
  return bound.better(best, other);
}

// Comparisons of `rows` rows, joined.
template <typename Lanes, Order order, std::size_t vectors, std::size_t rows>
[[gnu::always_inline]] inline Vector compare_rows(const Bound<Lanes, order> &bound, const std::uint8_t *row,
                                                  std::size_t row_step, std::size_t row_bytes) {
  if constexpr (rows == 1) {
    (void)row_step;
    return bound.compare(best_of_row<Lanes, order, vectors>(bound, row, row_bytes));
  } else {
    const Vector low = compare_rows<Lanes, order, vectors, rows / 2>(bound, row, row_step, row_bytes);
    return join(low, compare_rows<Lanes, order, vectors, rows / 2>(bound, row + rows / 2 * row_step, row_step, row_bytes));
  }
}

// Each row of first..end for itself; no branch depends on the data.
template <typename Lanes, Order order, std::size_t vectors>
[[gnu::noinline]] std::size_t gate_long_rows(const Bound<Lanes, order> bound, const std::uint8_t *base, std::size_t first,
                                             std::size_t end, std::size_t row_step, std::size_t row_bytes, std::uint32_t *hits,
                                             std::size_t count) {
  const std::uint8_t *row = base + first * row_step;
  std::size_t index = first;
  for (; index + 8 <= end; index += 8, row += 8 * row_step) {
    const Vector joined = compare_rows<Lanes, order, vectors, 8>(bound, row, row_step, row_bytes);
    count = emit_byte(any_of_eight(joined), index, hits, count);
  }
  for (; index < end; ++index, row += row_step) {
    hits[count] = static_cast<std::uint32_t>(index);
    count += bound.passing(best_of_row<Lanes, order, vectors>(bound, row, row_bytes)) != 0 ? 1 : 0;
  }
  return count;
}

template <typename Lanes, Order order>
[[gnu::noinline]] std::size_t gate_each_row(const Bound<Lanes, order> bound, const std::uint8_t *base, std::size_t first,
                                            std::size_t end, std::size_t row_step, std::size_t row_bytes, std::uint32_t *hits,
                                            std::size_t count) {
  if (row_bytes >= vector_bytes) {
    switch ((row_bytes + vector_bytes - 1) / vector_bytes) {
      case 2: return gate_long_rows<Lanes, order, 2>(bound, base, first, end, row_step, row_bytes, hits, count);
      case 3: return gate_long_rows<Lanes, order, 3>(bound, base, first, end, row_step, row_bytes, hits, count);
      case 5: return gate_long_rows<Lanes, order, 5>(bound, base, first, end, row_step, row_bytes, hits, count);
      default: return gate_long_rows<Lanes, order, 0>(bound, base, first, end, row_step, row_bytes, hits, count);
    }
  }
  return gate_each_short_row(bound, base, first, end, row_step, row_bytes, hits, count);
}

// Two rows of 80 bytes, one behind the other, are five vectors, of which they share the third.
template <typename Lanes, Order order>
[[gnu::always_inline]] inline Vector compare_two_rows_of_80_bytes(const Bound<Lanes, order> &bound, const std::uint8_t *row) {
  Vector vector1 = bound.keys(row + vector_bytes);
  Vector vector2 = bound.keys(row + 2 * vector_bytes);
  Vector vector3 = bound.keys(row + 3 * vector_bytes);
  // Each is used twice: keeps the compiler from loading it twice.
  __asm__("" : "+x"(vector1), "+x"(vector2), "+x"(vector3));
  const Vector best0 = bound.better(vector1, bound.keys(row));
  const Vector best1 = bound.better(vector3, bound.keys(row + 4 * vector_bytes));
  return join(bound.compare(bound.better(best0, _mm256_blend_epi32(vector2, vector1, 0xF0))),
              bound.compare(bound.better(best1, _mm256_blend_epi32(vector2, vector3, 0x0F))));
}

template <typename Lanes, Order order>
[[gnu::always_inline]] inline Vector compare_eight_rows_of_80_bytes(const Bound<Lanes, order> &bound, const std::uint8_t *row) {
  const Vector four0 = join(compare_two_rows_of_80_bytes(bound, row), compare_two_rows_of_80_bytes(bound, row + 160));
  return join(four0, join(compare_two_rows_of_80_bytes(bound, row + 320), compare_two_rows_of_80_bytes(bound, row + 480)));
}

// Whether a lane of `vectors` vectors passes.
template <typename Lanes, Order order, std::size_t vectors>
[[gnu::always_inline]] inline bool block_passes(const Bound<Lanes, order> &bound, const std::uint8_t *block) {
  Vector best = bound.keys(block);
  Vector other = bound.keys(block + vector_bytes);
  for (std::size_t vector = 2; vector < vectors; vector += 2) {
    best = bound.better(best, bound.keys(block + vector * vector_bytes));
    other = bound.better(other, bound.keys(block + (vector + 1) * vector_bytes));
  }
  return bound.passing(bound.better(best, other)) != 0;
}

// Eight rows are a block.
template <typename Lanes, Order order>
[[gnu::noinline]] std::size_t gate_rows_of_80_bytes(const Bound<Lanes, order> bound, const std::uint8_t *base, std::size_t rows,
                                                    std::uint32_t *hits) {
  // Where the first row is aligned to half vectors only, the second one is aligned to whole ones.
  const std::size_t first = reinterpret_cast<std::uintptr_t>(base) % vector_bytes == 0 || rows == 0 ? 0 : 1;
  const std::size_t end = rows - (rows - first) % 8;
  std::size_t count = gate_each_row(bound, base, 0, first, 80, 80, hits, 0);
  count = gate_blocks<8>(
      first, end, hits, count, [&](std::size_t row) { return block_passes<Lanes, order, 20>(bound, base + row * 80); },
      [&](std::size_t row) { return any_of_eight(compare_eight_rows_of_80_bytes(bound, base + row * 80)); });
  return gate_each_row(bound, base, end, rows, 80, 80, hits, count);
}

// Rows one behind the other are one run of bytes. Blocks of it are reduced to one flag each, without a branch on the data;
// then rows that share bytes with a flagged block are looked at. Where most blocks of a stretch are flagged, all its rows are
// looked at in order, and those of the next stretch at once.
//
// It is gate_blocks for blocks that do not end where rows end, which is why it walks by itself. What it gives over looking at
// each row, 8,400 rows of INT8 of which none passes, AMD EPYC, GCC 12, in µs: 4 bytes .26 to 6.1, 20 bytes 1.5 to 4.6, 36
// bytes 2.7 to 4.8, 64 bytes 4.6 to 5.5, 81 bytes 6.0 to 7.5, 112 bytes 9.5 to 10.9; from 256 bytes on nothing.
template <typename Lanes, Order order>
struct Run {
  static constexpr std::size_t element_bytes = sizeof(typename Lanes::Bits);
  static constexpr std::size_t block_bytes = 8 * vector_bytes;

  Bound<Lanes, order> bound;
  const std::uint8_t *base;
  std::size_t rows;
  std::size_t row_bytes;
  std::uint32_t reciprocal;  // ⌊65536 / row_bytes⌋ + 1: exact for positions below 1,024 in rows shorter than a vector
  std::uint32_t *hits;
  std::size_t count;
  std::size_t next;  // rows below it are decided

  std::size_t bytes() const { return rows * row_bytes; }

  // Rows next..end.
  void gate_rows_until(std::size_t end) {
    if (row_bytes == element_bytes) {
      gate_elements_until(end);
    } else if (row_bytes < vector_bytes) {
      gate_short_rows_until(end);
    } else {
      count = gate_each_row(bound, base, next, end, row_bytes, row_bytes, hits, count);
    }
    next = end > next ? end : next;
  }

  void gate_elements_until(std::size_t end) {
    constexpr std::size_t lanes = vector_bytes / element_bytes;
    std::size_t row = next;
    for (; row + lanes <= end; row += lanes) {
      count = Lanes::emit(bound.compare(bound.keys(base + row * element_bytes)), row, hits, count);
    }
    count = gate_each_row(bound, base, row, end, row_bytes, row_bytes, hits, count);
  }

  // As many rows as a vector holds at a time.
  void gate_short_rows_until(std::size_t end) {
    const Bound<Lanes, order> local = bound;
    const std::size_t together = vector_bytes / row_bytes;
    const std::uint32_t of_row = (1U << row_bytes) - 1U;
    const std::size_t whole = bytes() < vector_bytes ? 0 : (bytes() - vector_bytes) / row_bytes + 1;
    std::size_t row = next;
    for (; row + together <= end && row < whole; row += together) {
      std::uint32_t bits = local.passing(local.keys(base + row * row_bytes));
      for (std::size_t index = row; index < row + together; ++index, bits >>= row_bytes) {
        hits[count] = static_cast<std::uint32_t>(index);
        count += (bits & of_row) != 0 ? 1 : 0;
      }
    }
    count = gate_each_row(local, base, row, end, row_bytes, row_bytes, hits, count);
  }

  // Rows shorter than a vector that share bytes with a block: walks the bytes that pass.
  void gate_passing_bytes(std::size_t begin) {
    const std::size_t first = begin / row_bytes;
    const std::size_t shift = begin - first * row_bytes;
    std::size_t decided = next > first ? (next - first) * row_bytes : 0;
    for (std::size_t at = 0; at < block_bytes; at += vector_bytes) {
      std::uint64_t bits = bound.passing(bound.keys(base + begin + at));
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
  void gate_flagged(const std::size_t *begins, std::size_t blocks) {
    for (std::size_t block = 0; block < blocks; ++block) {
      if (row_bytes < vector_bytes) {
        gate_passing_bytes(begins[block]);
      } else {
        const std::size_t first = begins[block] / row_bytes;
        next = first > next ? first : next;
        gate_rows_until((begins[block] + block_bytes - 1) / row_bytes + 1);
      }
    }
  }

  std::size_t gate() {
    constexpr std::size_t stretch_blocks = 64;
    const Bound<Lanes, order> local = bound;
    // Vectors are aligned where elements are.
    const std::size_t misalignment = (0 - reinterpret_cast<std::uintptr_t>(base)) % vector_bytes;
    const std::size_t lead = misalignment % element_bytes == 0 && misalignment < bytes() ? misalignment : 0;
    const std::size_t blocks = (bytes() - lead) / block_bytes;
    std::size_t flagged[2 * stretch_blocks];
    std::size_t flags = 0;
    bool crowded = false;
    gate_rows_until((lead + row_bytes - 1) / row_bytes);
    for (std::size_t stretch = 0; stretch < blocks; stretch += stretch_blocks) {
      const std::size_t some = blocks - stretch < stretch_blocks ? blocks - stretch : stretch_blocks;
      const std::size_t begin = lead + stretch * block_bytes;
      const std::size_t end = begin + some * block_bytes;
      const std::size_t before = flags;
      if (!crowded) {
        for (std::size_t at = begin; at < end; at += block_bytes) {
          flagged[flags] = at;
          flags += block_passes<Lanes, order, 8>(local, base + at) ? 1 : 0;
        }
        crowded = 2 * (flags - before) > some;
      }
      if (crowded) {
        gate_flagged(flagged, before);
        flags = 0;
        const std::size_t first = begin / row_bytes;
        next = first > next ? first : next;
        const std::size_t found = count;
        gate_rows_until((end - 1) / row_bytes + 1);
        crowded = 2 * (count - found) > some;
      } else if (flags >= stretch_blocks) {
        gate_flagged(flagged, flags);
        flags = 0;
      }
    }
    gate_flagged(flagged, flags);
    const std::size_t first = (lead + blocks * block_bytes) / row_bytes;
    next = first > next ? first : next;
    gate_rows_until(rows);
    return count;
  }
};

template <typename Lanes, Order order>
std::size_t gate_rows_in_order(const std::uint8_t *base, std::size_t rows, std::size_t row_step, std::size_t length, Gate gate,
                               std::uint32_t *hits) {
  constexpr std::size_t run_row_bytes = 256;
  const Bound<Lanes, order> bound(gate);
  const std::size_t row_bytes = length * sizeof(typename Lanes::Bits);
  // Rows of whole vectors lose worst when each is reduced for itself.
  const bool whole_vectors = row_bytes >= 3 * vector_bytes && row_bytes % vector_bytes == 0;
  if (order == Order::Flipped || row_step != row_bytes || row_bytes >= run_row_bytes || whole_vectors) {
    return gate_each_row(bound, base, 0, rows, row_step, row_bytes, hits, 0);
  }
  if (row_bytes == 80) {
    return gate_rows_of_80_bytes(bound, base, rows, hits);
  }
  const std::uint32_t reciprocal = static_cast<std::uint32_t>(65536U / row_bytes) + 1U;
  return Run<Lanes, order>{bound, base, rows, row_bytes, reciprocal, hits, 0, 0}.gate();
}

// As in gate_rows_neon.cpp. What it calls differs and must stand before it.
template <typename Lanes>
std::size_t gate_rows(const std::uint8_t *base, std::size_t rows, std::size_t row_step, std::size_t length, Gate gate,
                      std::uint32_t *hits) {
  return gated<Lanes, Order::Signed, Order::Unsigned, Order::Reversed>(gate, rows, hits, [&]<Order order>(OrderTag<order>) {
    return gate_rows_in_order<Lanes, order>(base, rows, row_step, length, gate, hits);
  });
}

}  // namespace

std::size_t gate_rows_8_avx2(const std::uint8_t *base, std::size_t rows, std::size_t row_step, std::size_t length, Gate gate,
                             std::uint32_t *hits) {
  return clear_upper_halves(gate_rows<Lanes8>(base, rows, row_step, length, gate, hits));
}

std::size_t gate_rows_16_avx2(const std::uint8_t *base, std::size_t rows, std::size_t row_step, std::size_t length, Gate gate,
                              std::uint32_t *hits) {
  return clear_upper_halves(gate_rows<Lanes16>(base, rows, row_step, length, gate, hits));
}

std::size_t gate_rows_32_avx2(const std::uint8_t *base, std::size_t rows, std::size_t row_step, std::size_t length, Gate gate,
                              std::uint32_t *hits) {
  return clear_upper_halves(gate_rows<Lanes32>(base, rows, row_step, length, gate, hits));
}

}  // namespace simaai::kernels::detail
