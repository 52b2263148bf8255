#pragma once

#include "kernels/vectors_avx2.h"

namespace simaai::kernels::detail {
namespace {

// Calls may_pass(index) for each block of `block` rows or cells, a bound that costs little, and passing(index) where it holds,
// which has bit i set when row index + i passes. No branch depends on a single block: those that may pass are collected over
// a stretch. Where most blocks of a stretch may pass, the bound is not asked in the next one.
template <std::size_t block, typename MayPass, typename Passing>
[[gnu::always_inline]] inline std::size_t gate_blocks(std::size_t first, std::size_t end, std::uint32_t *hits,
                                                      std::size_t count, MayPass may_pass, Passing passing) {
  constexpr std::size_t stretch_rows = 512;
  bool crowded = false;
  for (std::size_t stretch = first; stretch < end; stretch += stretch_rows) {
    const std::size_t stretch_end = end - stretch < stretch_rows ? end : stretch + stretch_rows;
    std::size_t flagged[stretch_rows / block];
    std::size_t flags = 0;
    for (std::size_t index = stretch; index < stretch_end; index += block) {
      flagged[flags] = index;
      flags += crowded || may_pass(index) ? 1 : 0;
    }
    std::size_t passed = 0;
    for (std::size_t flag = 0; flag < flags; ++flag) {
      const std::uint32_t bits = passing(flagged[flag]);
      passed += bits != 0 ? 1 : 0;
      for (std::size_t group = 0; group < block; group += 8) {
        count = emit_byte(bits >> group & 0xFFU, flagged[flag] + group, hits, count);
      }
    }
    crowded = 2 * block * (crowded ? passed : flags) > stretch_end - stretch;
  }
  return count;
}

}  // namespace
}  // namespace simaai::kernels::detail
