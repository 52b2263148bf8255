#pragma once

#include "kernels/gate.h"

// What gates of stripes share.
namespace simaai::kernels::detail {
namespace {

constexpr std::uint16_t all_used = 0xFFFF;

// How many cells a gate hits that every element passes.
inline std::size_t cells_in_use(std::size_t cells, const std::uint16_t *used, std::size_t segments) {
  for (std::size_t segment = 0; segment < segments; ++segment) {
    if (used[segment] != 0) {
      return cells;
    }
  }
  return 0;
}

// The best keys of neighbouring stripes, in `vectors` registers. `Stripes` says how a register's worth of stripes is read
// (keys, with or without silencers), how many bytes that are (step), and how registers become one (leaf, node).
template <typename Stripes, std::size_t vectors>
struct BestOfStripes {
  BestOfStripes<Stripes, vectors / 2> low;
  BestOfStripes<Stripes, vectors / 2> high;

  [[gnu::always_inline]] void begin(const Stripes &stripes) {
    low.begin(stripes);
    high.begin(stripes);
  }
  template <typename... Silencers>
  [[gnu::always_inline]] void take(const Stripes &stripes, const std::uint8_t *stripe, const Silencers &...silencers) {
    low.take(stripes, stripe, silencers...);
    high.take(stripes, stripe + vectors / 2 * Stripes::step, silencers...);
  }
  [[gnu::always_inline]] typename Stripes::Vector reduced(const Stripes &stripes) const {
    return stripes.node(low.reduced(stripes), high.reduced(stripes));
  }
  // GCC would else copy all registers in the loop over segments.
  [[gnu::always_inline]] void hold_in_registers() {
    low.hold_in_registers();
    high.hold_in_registers();
  }
};

template <typename Stripes>
struct BestOfStripes<Stripes, 1> {
  typename Stripes::Vector best;

  [[gnu::always_inline]] void begin(const Stripes &stripes) { best = stripes.bound.worst(); }
  template <typename... Silencers>
  [[gnu::always_inline]] void take(const Stripes &stripes, const std::uint8_t *stripe, const Silencers &...silencers) {
    best = stripes.bound.better(best, stripes.keys(stripe, silencers...));
  }
  [[gnu::always_inline]] typename Stripes::Vector reduced(const Stripes &stripes) const { return stripes.leaf(best); }
  [[gnu::always_inline]] void hold_in_registers() { Stripes::Lanes::hold_in_register(best); }
};

}  // namespace
}  // namespace simaai::kernels::detail
