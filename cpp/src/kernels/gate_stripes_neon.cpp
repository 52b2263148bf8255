#include "kernels/gate_stripes.h"
#include "kernels/vectors_neon.h"

namespace simaai::kernels::detail {
namespace {

// 0xFF in the bytes whose bit is set.
Vector bytes_of_bits(std::uint16_t wanted) {
  const Vector bits = vreinterpretq_u8_u64(vdupq_n_u64(0x8040201008040201ULL));
  const Vector spread =
      vcombine_u8(vdup_n_u8(static_cast<std::uint8_t>(wanted & 0xFFU)), vdup_n_u8(static_cast<std::uint8_t>(wanted >> 8U)));
  return vtstq_u8(spread, bits);
}

// How a stripe of one cell is read: 16 bytes, or low and high bytes that are joined.
template <Order order>
struct Stripes8 {
  using Vector = detail::Vector;
  using Lanes = Lanes8;
  static constexpr std::size_t step = 16;
  struct Silencers {
    Vector silencer;
  };
  Bound<Lanes8, order> bound;

  // One lane a cell, when there are as many cells as lanes.
  static Vector leaf(Vector best) { return best; }
  Vector node(Vector low, Vector high) const { return bound.better_of_pairs(low, high); }

  Silencers silencers(std::uint16_t used) const { return {bound.silencer(bytes_of_bits(used))}; }
  Vector keys(const std::uint8_t *stripe) const { return bound.keys(stripe); }
  Vector keys(const std::uint8_t *stripe, const Silencers &silencers) const {
    return bound.silenced(bound.keys(stripe), silencers.silencer);
  }
};

template <Order order>
struct Stripes16 {
  using Vector = detail::Vector;
  using Lanes = Lanes16;
  static constexpr std::size_t step = 32;
  struct Silencers {
    Vector low;  // of elements 0..7
    Vector high;
  };
  Bound<Lanes16, order> bound;

  // One lane a cell, when there are as many cells as lanes.
  static Vector leaf(Vector best) { return best; }
  Vector node(Vector low, Vector high) const { return bound.better_of_pairs(low, high); }

  Silencers silencers(std::uint16_t used) const {
    const Vector bytes = bytes_of_bits(used);
    return {bound.silencer(vzip1q_u8(bytes, bytes)), bound.silencer(vzip2q_u8(bytes, bytes))};
  }
  Vector keys(const std::uint8_t *stripe) const {
    const Vector low = vld1q_u8(stripe);
    const Vector high = vld1q_u8(stripe + 16);
    return bound.better(bound.keys(vzip1q_u8(low, high)), bound.keys(vzip2q_u8(low, high)));
  }
  Vector keys(const std::uint8_t *stripe, const Silencers &silencers) const {
    const Vector low = vld1q_u8(stripe);
    const Vector high = vld1q_u8(stripe + 16);
    return bound.better(bound.silenced(bound.keys(vzip1q_u8(low, high)), silencers.low),
                        bound.silenced(bound.keys(vzip2q_u8(low, high)), silencers.high));
  }
};

template <typename Stripes, bool partly>
std::size_t gate_stripes_of(const Stripes stripes, const std::uint8_t *base, std::size_t cells, const std::size_t *offsets,
                            const std::uint16_t *used, std::size_t segments, std::uint32_t *hits) {
  using Lanes = typename Stripes::Lanes;
  constexpr std::size_t together = vector_bytes / sizeof(typename Lanes::Bits);
  std::size_t count = 0;
  std::size_t cell = 0;
  for (; cell + together <= cells; cell += together) {
    BestOfStripes<Stripes, together> best;
    best.begin(stripes);
    for (std::size_t segment = 0; segment < segments; ++segment) {
      const std::uint8_t *stripe = base + offsets[segment] + Stripes::step * cell;
      if (partly) {
        best.take(stripes, stripe, stripes.silencers(used[segment]));
      } else {
        best.take(stripes, stripe);
      }
    }
    best.hold_in_registers();
    count = Lanes::emit(stripes.bound.compare(best.reduced(stripes)), cell, hits, count);
  }
  for (; cell < cells; ++cell) {
    Vector best = stripes.bound.worst();
    for (std::size_t segment = 0; segment < segments; ++segment) {
      const std::uint8_t *stripe = base + offsets[segment] + Stripes::step * cell;
      best = stripes.bound.better(best, stripes.keys(stripe, stripes.silencers(used[segment])));
    }
    hits[count] = static_cast<std::uint32_t>(cell);
    count += stripes.bound.passing(best) != 0 ? 1 : 0;
  }
  return count;
}

template <typename Stripes>
std::size_t gate_stripes_in_order(const Stripes &stripes, const std::uint8_t *base, std::size_t cells,
                                  const std::size_t *offsets, const std::uint16_t *used, std::size_t segments,
                                  std::uint32_t *hits) {
  bool partly = false;
  for (std::size_t segment = 0; segment < segments; ++segment) {
    partly = partly || used[segment] != all_used;
  }
  return partly ? gate_stripes_of<Stripes, true>(stripes, base, cells, offsets, used, segments, hits)
                : gate_stripes_of<Stripes, false>(stripes, base, cells, offsets, used, segments, hits);
}

}  // namespace

std::size_t gate_stripes_8_neon(const std::uint8_t *base, std::size_t cells, const std::size_t *offsets,
                                const std::uint16_t *used, std::size_t segments, Gate gate, std::uint32_t *hits) {
  return gated<Lanes8, Order::Signed, Order::Unsigned>(
      gate, cells_in_use(cells, used, segments), hits, [&]<Order order>(OrderTag<order>) {
        return gate_stripes_in_order(Stripes8<order>{Bound<Lanes8, order>(gate)}, base, cells, offsets, used, segments, hits);
      });
}

std::size_t gate_stripes_16_neon(const std::uint8_t *base, std::size_t cells, const std::size_t *offsets,
                                 const std::uint16_t *used, std::size_t segments, Gate gate, std::uint32_t *hits) {
  return gated<Lanes16, Order::Signed, Order::Reversed>(
      gate, cells_in_use(cells, used, segments), hits, [&]<Order order>(OrderTag<order>) {
        return gate_stripes_in_order(Stripes16<order>{Bound<Lanes16, order>(gate)}, base, cells, offsets, used, segments, hits);
      });
}

}  // namespace simaai::kernels::detail
