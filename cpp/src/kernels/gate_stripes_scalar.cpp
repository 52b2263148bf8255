#include "kernels/elements_scalar.h"

namespace simaai::kernels::detail {

std::size_t gate_stripes_8_scalar(const std::uint8_t *base, std::size_t cells, const std::size_t *offsets,
                                  const std::uint16_t *used, std::size_t segments, Gate gate, std::uint32_t *hits) {
  std::size_t count = 0;
  for (std::size_t cell = 0; cell < cells; ++cell) {
    bool hit = false;
    for (std::size_t segment = 0; segment < segments && !hit; ++segment) {
      const std::uint8_t *stripe = base + offsets[segment] + 16 * cell;
      for (std::size_t lane = 0; lane < 16; ++lane) {
        hit |= ((used[segment] >> lane) & 1U) != 0 && passes<std::uint8_t>(stripe[lane], gate);
      }
    }
    if (hit) {
      hits[count++] = static_cast<std::uint32_t>(cell);
    }
  }
  return count;
}

std::size_t gate_stripes_16_scalar(const std::uint8_t *base, std::size_t cells, const std::size_t *offsets,
                                   const std::uint16_t *used, std::size_t segments, Gate gate, std::uint32_t *hits) {
  std::size_t count = 0;
  for (std::size_t cell = 0; cell < cells; ++cell) {
    bool hit = false;
    for (std::size_t segment = 0; segment < segments && !hit; ++segment) {
      const std::uint8_t *stripe = base + offsets[segment] + 32 * cell;
      for (std::size_t lane = 0; lane < 16; ++lane) {
        const std::uint32_t bits = static_cast<std::uint32_t>(stripe[lane]) | static_cast<std::uint32_t>(stripe[lane + 16])
                                                                                  << 8U;
        hit |= ((used[segment] >> lane) & 1U) != 0 && passes<std::uint16_t>(bits, gate);
      }
    }
    if (hit) {
      hits[count++] = static_cast<std::uint32_t>(cell);
    }
  }
  return count;
}

}  // namespace simaai::kernels::detail
