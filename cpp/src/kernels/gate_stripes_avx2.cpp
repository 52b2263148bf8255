#include "kernels/gate_blocks_avx2.h"
#include "kernels/gate_stripes.h"
#include "kernels/vectors_avx2.h"

namespace simaai::kernels::detail {
namespace {

// 0xFF in the bytes whose bit is set.
__m128i bytes_of_bits(std::uint16_t bits) {
  const __m128i bit_u8x16 = _mm_set1_epi64x(static_cast<std::int64_t>(0x8040201008040201ULL));
  const __m128i spread_u8x16 =
      _mm_unpacklo_epi64(_mm_set1_epi8(static_cast<char>(bits & 0xFFU)), _mm_set1_epi8(static_cast<char>(bits >> 8U)));
  return _mm_cmpeq_epi8(_mm_and_si128(spread_u8x16, bit_u8x16), bit_u8x16);
}

// Blocks of 256 bytes, one of each segment: whether a byte that is used passes. Bit i of `relevant`: byte i of a vector counts.
template <Order order>
struct StripeBlocks {
  Bound<Lanes8, order> bound;
  const std::size_t *offsets;
  const std::uint16_t *used;
  std::size_t segments;
  std::uint32_t relevant;
  std::size_t whole;  // segments before it are used whole

  StripeBlocks(const Bound<Lanes8, order> &bound_of_bytes, const std::size_t *segment_offsets,
               const std::uint16_t *segment_used, std::size_t number, std::uint32_t relevant_bytes)
      : bound(bound_of_bytes), offsets(segment_offsets), used(segment_used), segments(number), relevant(relevant_bytes),
        whole(0) {
    while (whole < segments && used[whole] == all_used) {
      ++whole;
    }
  }

  [[gnu::always_inline]] Vector best(const std::uint8_t *block) const {
    Vector even = bound.keys(block);
    Vector odd = bound.keys(block + vector_bytes);
    for (std::size_t at = 2 * vector_bytes; at < 8 * vector_bytes; at += 2 * vector_bytes) {
      even = bound.better(even, bound.keys(block + at));
      odd = bound.better(odd, bound.keys(block + at + vector_bytes));
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
    Vector all = bound.worst();
    std::size_t segment = 0;
    for (; segment + together <= whole; segment += together) {
      all = bound.better(all, best_of<together>(blocks, offsets + segment));
    }
    for (; segment < whole; ++segment) {
      all = bound.better(all, best(blocks + offsets[segment]));
    }
    for (; segment < segments; ++segment) {
      const Vector silencer = bound.silencer(_mm256_broadcastsi128_si256(bytes_of_bits(used[segment])));
      all = bound.better(all, bound.silenced(best(blocks + offsets[segment]), silencer));
    }
    return (bound.passing(all) & relevant) != 0;
  }
};

// Stripes of two cells, one in either half of a vector.
template <Order order>
struct Stripes8 {
  using Vector = detail::Vector;
  using Lanes = Lanes8;
  static constexpr std::size_t cell_bytes = 16;
  static constexpr std::size_t step = 2 * cell_bytes;
  Bound<Lanes8, order> bound;

  Vector leaf(Vector best) const { return bound.compare(best); }
  static Vector node(Vector low, Vector high) { return join(low, high); }
  Vector silencers(std::uint16_t used) const { return bound.silencer(_mm256_broadcastsi128_si256(bytes_of_bits(used))); }
  Vector keys(const std::uint8_t *stripe) const { return bound.keys(stripe); }
  Vector keys(const std::uint8_t *stripe, const Vector &silencer) const { return bound.silenced(bound.keys(stripe), silencer); }
  // Both halves hold the same cell.
  Vector keys_of_one(const std::uint8_t *stripe, std::uint16_t used) const {
    return bound.silenced(bound.keys(_mm256_broadcastsi128_si256(load_half(stripe))), silencers(used));
  }

  // Of eight vectors. Even cells are in the low half, odd ones in the high half, each as two bytes.
  static std::uint32_t cell_bits(Vector joined) {
    const __m256i bytes_u8x32 = _mm256_packs_epi16(joined, joined);
    const __m128i ordered_u8x16 =
        _mm_unpacklo_epi8(_mm256_castsi256_si128(bytes_u8x32), _mm256_extracti128_si256(bytes_u8x32, 1));
    return ~static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(ordered_u8x16, _mm_setzero_si128()))) & 0xFFFFU;
  }
};

// Low and high bytes of two cells, one cell in either half: the better of elements 0..7 and 8..15.
template <Order order>
struct Stripes16 {
  using Vector = detail::Vector;
  using Lanes = Lanes16;
  static constexpr std::size_t cell_bytes = 32;
  static constexpr std::size_t step = 2 * cell_bytes;
  struct Silencers {
    Vector low;  // of elements 0..7
    Vector high;
  };
  Bound<Lanes16, order> bound;

  Vector leaf(Vector best) const { return bound.compare(best); }
  static Vector node(Vector low, Vector high) { return join(low, high); }
  Silencers silencers(std::uint16_t used) const {
    const __m128i used_u8x16 = bytes_of_bits(used);
    return {bound.silencer(_mm256_broadcastsi128_si256(_mm_unpacklo_epi8(used_u8x16, used_u8x16))),
            bound.silencer(_mm256_broadcastsi128_si256(_mm_unpackhi_epi8(used_u8x16, used_u8x16)))};
  }
  Vector keys(const std::uint8_t *stripe) const {
    const __m256i low_u8x32 = _mm256_inserti128_si256(_mm256_castsi128_si256(load_half(stripe)), load_half(stripe + 32), 1);
    const __m256i high_u8x32 =
        _mm256_inserti128_si256(_mm256_castsi128_si256(load_half(stripe + 16)), load_half(stripe + 48), 1);
    return bound.better(bound.keys(_mm256_unpacklo_epi8(low_u8x32, high_u8x32)),
                        bound.keys(_mm256_unpackhi_epi8(low_u8x32, high_u8x32)));
  }
  Vector keys(const std::uint8_t *stripe, const Silencers &silencers) const {
    const __m256i low_u8x32 = _mm256_inserti128_si256(_mm256_castsi128_si256(load_half(stripe)), load_half(stripe + 32), 1);
    const __m256i high_u8x32 =
        _mm256_inserti128_si256(_mm256_castsi128_si256(load_half(stripe + 16)), load_half(stripe + 48), 1);
    return bound.better(bound.silenced(bound.keys(_mm256_unpacklo_epi8(low_u8x32, high_u8x32)), silencers.low),
                        bound.silenced(bound.keys(_mm256_unpackhi_epi8(low_u8x32, high_u8x32)), silencers.high));
  }
  // Elements 0..7 in the low half, 8..15 in the high half.
  Vector keys_of_one(const std::uint8_t *stripe, std::uint16_t used) const {
    const __m128i low_u8x16 = load_half(stripe);
    const __m128i high_u8x16 = load_half(stripe + 16);
    const __m128i used_u8x16 = bytes_of_bits(used);
    const Vector bits = _mm256_set_m128i(_mm_unpackhi_epi8(low_u8x16, high_u8x16), _mm_unpacklo_epi8(low_u8x16, high_u8x16));
    const Vector relevant =
        _mm256_set_m128i(_mm_unpackhi_epi8(used_u8x16, used_u8x16), _mm_unpacklo_epi8(used_u8x16, used_u8x16));
    return bound.silenced(bound.keys(bits), bound.silencer(relevant));
  }

  // Of four vectors. Even cells are in the low half, odd ones in the high half, each as four bytes.
  static std::uint32_t cell_bits(Vector joined) {
    const __m128i low_u32x4 = _mm256_castsi256_si128(joined);
    const __m128i high_u32x4 = _mm256_extracti128_si256(joined, 1);
    const __m128i words_u16x8 =
        _mm_packs_epi32(_mm_unpacklo_epi32(low_u32x4, high_u32x4), _mm_unpackhi_epi32(low_u32x4, high_u32x4));
    const __m128i zero_u16x8 = _mm_cmpeq_epi16(words_u16x8, _mm_setzero_si128());
    return ~static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_packs_epi16(zero_u16x8, zero_u16x8))) & 0xFFU;
  }
};

// As many cells as 256 bytes hold of a segment, segment by segment. Bit i: cell i of them passes.
template <typename Stripes>
[[gnu::always_inline]] inline std::uint32_t passing_stripes(const Stripes &stripes, const std::uint8_t *cells,
                                                            const std::size_t *offsets, const std::uint16_t *used,
                                                            std::size_t segments) {
  BestOfStripes<Stripes, 256 / Stripes::step> best;
  best.begin(stripes);
  for (std::size_t segment = 0; segment < segments; ++segment) {
    const std::uint8_t *stripe = cells + offsets[segment];
    if (used[segment] == all_used) {
      best.take(stripes, stripe);
    } else {
      best.take(stripes, stripe, stripes.silencers(used[segment]));
    }
  }
  best.hold_in_registers();
  return Stripes::cell_bits(best.reduced(stripes));
}

// block_passes(cells) is a bound for the block of cells that begins there.
template <typename Stripes, typename BlockPasses>
[[gnu::always_inline]] inline std::size_t gate_stripes(const Stripes &stripes, const std::uint8_t *base, std::size_t cells,
                                                       const std::size_t *offsets, const std::uint16_t *used,
                                                       std::size_t segments, std::uint32_t *hits, BlockPasses block_passes) {
  constexpr std::size_t block = 256 / Stripes::cell_bytes;
  const std::size_t whole = cells - cells % block;
  std::size_t count = gate_blocks<block>(
      0, whole, hits, 0, [&](std::size_t cell) { return block_passes(base + Stripes::cell_bytes * cell); },
      [&](std::size_t cell) { return passing_stripes(stripes, base + Stripes::cell_bytes * cell, offsets, used, segments); });
  for (std::size_t cell = whole; cell < cells; ++cell) {
    Vector best = stripes.bound.worst();
    for (std::size_t segment = 0; segment < segments; ++segment) {
      const std::uint8_t *stripe = base + offsets[segment] + Stripes::cell_bytes * cell;
      best = stripes.bound.better(best, stripes.keys_of_one(stripe, used[segment]));
    }
    hits[count] = static_cast<std::uint32_t>(cell);
    count += stripes.bound.passing(best) != 0 ? 1 : 0;
  }
  return count;
}

template <Order order>
std::size_t gate_stripes_8_in_order(const std::uint8_t *base, std::size_t cells, const std::size_t *offsets,
                                    const std::uint16_t *used, std::size_t segments, Gate gate, std::uint32_t *hits) {
  const Bound<Lanes8, order> bound(gate);
  const StripeBlocks<order> blocks(bound, offsets, used, segments, 0xFFFFFFFFU);
  return gate_stripes(Stripes8<order>{bound}, base, cells, offsets, used, segments, hits,
                      [&](const std::uint8_t *block) { return blocks.pass(block); });
}

template <Order order>
std::size_t gate_stripes_16_in_order(const std::uint8_t *base, std::size_t cells, const std::size_t *offsets,
                                     const std::uint16_t *used, std::size_t segments, Gate gate, std::uint32_t *hits) {
  // An element that passes has a high byte that passes the high byte of the gate. High bytes are the second half of a vector.
  const Gate high_gate = {gate.flip >> 8U & 0xFFU, gate.threshold >> 8};
  const StripeBlocks<order> blocks(Bound<Lanes8, order>(high_gate), offsets, used, segments, 0xFFFF0000U);
  const bool high_decides = high_gate.threshold > Lanes8::lowest;
  return gate_stripes(Stripes16<order>{Bound<Lanes16, order>(gate)}, base, cells, offsets, used, segments, hits,
                      [&](const std::uint8_t *block) { return !high_decides || blocks.pass(block); });
}

}  // namespace

std::size_t gate_stripes_8_avx2(const std::uint8_t *base, std::size_t cells, const std::size_t *offsets,
                                const std::uint16_t *used, std::size_t segments, Gate gate, std::uint32_t *hits) {
  return clear_upper_halves(gated<Lanes8, Order::Signed, Order::Unsigned>(
      gate, cells_in_use(cells, used, segments), hits, [&]<Order order>(OrderTag<order>) {
        return gate_stripes_8_in_order<order>(base, cells, offsets, used, segments, gate, hits);
      }));
}

std::size_t gate_stripes_16_avx2(const std::uint8_t *base, std::size_t cells, const std::size_t *offsets,
                                 const std::uint16_t *used, std::size_t segments, Gate gate, std::uint32_t *hits) {
  return clear_upper_halves(gated<Lanes16, Order::Signed, Order::Reversed>(
      gate, cells_in_use(cells, used, segments), hits, [&]<Order order>(OrderTag<order>) {
        return gate_stripes_16_in_order<order>(base, cells, offsets, used, segments, gate, hits);
      }));
}

}  // namespace simaai::kernels::detail
