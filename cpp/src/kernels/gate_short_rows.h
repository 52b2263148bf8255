#pragma once

#include "kernels/gate.h"
#include "kernels/short_loads.h"

// Rows shorter than a vector, one after the other: for ends of lists and for rows with gaps between them.
namespace simaai::kernels::detail {
namespace {

// Rows first..end. Always inlined: a reference that is passed on would keep GCC from passing bounds in registers (rows of 64
// bytes, a fifth of them with hits: 1.3 times as long).
template <typename Lanes, Order order>
[[gnu::always_inline]] inline std::size_t gate_each_short_row(const Bound<Lanes, order> &bound, const std::uint8_t *base,
                                                              std::size_t first, std::size_t end, std::size_t row_step,
                                                              std::size_t row_bytes, std::uint32_t *hits, std::size_t count) {
  const std::uint8_t *row = base + first * row_step;
  if (row_bytes == sizeof(typename Lanes::Bits)) {
    for (std::size_t index = first; index < end; ++index, row += row_step) {
      hits[count] = static_cast<std::uint32_t>(index);
      count += bound.passes(row) ? 1 : 0;
    }
    return count;
  }
  for (std::size_t index = first; index < end; ++index, row += row_step) {
    hits[count] = static_cast<std::uint32_t>(index);
    count += bound.passing(bound.keys(Lanes::load_row(row, row_bytes))) != 0 ? 1 : 0;
  }
  return count;
}

}  // namespace
}  // namespace simaai::kernels::detail
