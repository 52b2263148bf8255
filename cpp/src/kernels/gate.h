#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/kernels.h"

// What gates of all instruction sets share. `Lanes` is one width of one of them: Lanes8, Lanes16, Lanes32 of vectors_avx2.h or
// vectors_neon.h.
namespace simaai::kernels::detail {
namespace {

// The order that a flip gives to bits. The first three are reduced without an XOR for each vector.
enum class Order {
  Signed,    // flip 0
  Unsigned,  // flip of the sign
  Reversed,  // flip of all but the sign: the smaller unsigned number is the better one
  Flipped,   // any other flip
};

template <typename Lanes>
Order order_of(std::uint32_t flip) {
  constexpr auto sign = static_cast<typename Lanes::Bits>(1U << (8 * sizeof(typename Lanes::Bits) - 1));
  const auto bits = static_cast<typename Lanes::Bits>(flip);
  return bits == 0 ? Order::Signed : bits == sign ? Order::Unsigned : bits == sign - 1U ? Order::Reversed : Order::Flipped;
}

// A gate whose threshold is above the lowest value. Vectors hold keys, elements in the order of the gate: a key passes when it
// is better than all that do not, and `worst` never does.
template <typename Lanes, Order order>
struct Bound {
  using Vector = typename Lanes::Vector;
  Vector flip;
  Vector below;  // threshold − 1, which an element that passes is greater than
  std::uint32_t flip_bits;
  std::int32_t threshold;

  explicit Bound(Gate gate)
      : flip(Lanes::splat(gate.flip)), below(Lanes::splat(static_cast<std::uint32_t>(gate.threshold - 1))),
        flip_bits(gate.flip), threshold(gate.threshold) {}

  Vector keys(Vector bits) const { return order == Order::Flipped ? Lanes::bit_xor(bits, flip) : bits; }
  Vector keys(const std::uint8_t *from) const { return keys(Lanes::load(from)); }

  static Vector better(Vector a, Vector b) {
    return order == Order::Unsigned   ? Lanes::greatest_unsigned(a, b)
           : order == Order::Reversed ? Lanes::least_unsigned(a, b)
                                      : Lanes::greatest(a, b);
  }
  // Lane i: the better of lanes 2i and 2i + 1 of a, then of b.
  static Vector better_of_pairs(Vector a, Vector b) {
    return order == Order::Unsigned   ? Lanes::greatest_unsigned_of_pairs(a, b)
           : order == Order::Reversed ? Lanes::least_unsigned_of_pairs(a, b)
                                      : Lanes::greatest_of_pairs(a, b);
  }
  static Vector worst() {
    return order == Order::Unsigned   ? Lanes::splat(0)
           : order == Order::Reversed ? Lanes::splat(0xFFFFFFFFU)
                                      : Lanes::splat(static_cast<std::uint32_t>(Lanes::lowest));
  }

  // silenced(keys, silencer(used)) are the keys where bytes of `used` are 0xFF, and the worst one where they are 0.
  static Vector silencer(Vector used) { return order == Order::Unsigned ? used : Lanes::bit_xor(used, worst()); }
  static Vector silenced(Vector keys, Vector silencer) {
    return order == Order::Unsigned   ? Lanes::bit_and(keys, silencer)
           : order == Order::Reversed ? Lanes::bit_or(keys, silencer)
                                      : Lanes::least(keys, silencer);
  }

  // Bytes of keys that pass are 0xFF.
  Vector compare(Vector keys) const {
    const bool flip_now = order == Order::Unsigned || order == Order::Reversed;
    return Lanes::greater(flip_now ? Lanes::bit_xor(keys, flip) : keys, below);
  }
  auto passing(Vector keys) const { return Lanes::byte_bits(compare(keys)); }
  bool passes(const std::uint8_t *element) const {
    typename Lanes::Bits bits;
    __builtin_memcpy(&bits, element, sizeof(bits));
    return static_cast<typename Lanes::Element>(bits ^ static_cast<typename Lanes::Bits>(flip_bits)) >= threshold;
  }
};

inline std::size_t every_index(std::size_t count, std::uint32_t *hits) {
  for (std::size_t index = 0; index < count; ++index) {
    hits[index] = static_cast<std::uint32_t>(index);
  }
  return count;
}

template <Order order>
struct OrderTag {};

// A gate that decides without a look at the elements hits none or all. Any other one calls hits_of(OrderTag<its order>());
// orders that are not among `own` go the way of Flipped, which serves all.
template <typename Lanes, Order... own, typename HitsOf>
std::size_t gated(Gate gate, std::size_t all, std::uint32_t *hits, HitsOf hits_of) {
  if (gate.threshold > Lanes::highest) {
    return 0;
  }
  if (gate.threshold <= Lanes::lowest) {
    return every_index(all, hits);
  }
  const Order order = order_of<Lanes>(gate.flip);
  std::size_t count = 0;
  const bool done = ((order == own && (count = hits_of(OrderTag<own>()), true)) || ...);
  return done ? count : hits_of(OrderTag<Order::Flipped>());
}

}  // namespace
}  // namespace simaai::kernels::detail
