#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/kernels.h"

// What scalar kernels share. They are the truth: what every other form must return, written as plainly as it can be.
namespace simaai::kernels::detail {
namespace {

// An element of `Unsigned` at any address, as the signed integer that the gate compares.
template <typename Unsigned>
std::uint32_t load(const std::uint8_t *from) {
  std::uint32_t value = 0;
  for (std::size_t byte = 0; byte < sizeof(Unsigned); ++byte) {
    value |= static_cast<std::uint32_t>(from[byte]) << (8U * byte);
  }
  return value;
}

template <typename Unsigned>
std::int32_t as_signed(std::uint32_t value) {
  constexpr std::uint32_t shift = 32U - 8U * sizeof(Unsigned);
  return static_cast<std::int32_t>(value << shift) >> shift;
}

template <typename Unsigned>
bool passes(std::uint32_t element, Gate gate) {
  return as_signed<Unsigned>(element ^ gate.flip) >= gate.threshold;
}

}  // namespace
}  // namespace simaai::kernels::detail
