#include "kernels/elements_scalar.h"

namespace simaai::kernels::detail {
namespace {

template <typename Unsigned>
std::size_t gate_planes(const std::uint8_t *base, std::size_t cells, std::size_t planes, std::size_t plane_step, Gate gate,
                        void *marks, std::uint32_t *hits) {
  (void)marks;
  std::size_t count = 0;
  for (std::size_t cell = 0; cell < cells; ++cell) {
    bool hit = false;
    for (std::size_t plane = 0; plane < planes && !hit; ++plane) {
      hit = passes<Unsigned>(load<Unsigned>(base + plane * plane_step + cell * sizeof(Unsigned)), gate);
    }
    if (hit) {
      hits[count++] = static_cast<std::uint32_t>(cell);
    }
  }
  return count;
}

}  // namespace

std::size_t gate_planes_8_scalar(const std::uint8_t *base, std::size_t cells, std::size_t planes, std::size_t plane_step,
                                 Gate gate, void *marks, std::uint32_t *hits) {
  return gate_planes<std::uint8_t>(base, cells, planes, plane_step, gate, marks, hits);
}

std::size_t gate_planes_16_scalar(const std::uint8_t *base, std::size_t cells, std::size_t planes, std::size_t plane_step,
                                  Gate gate, void *marks, std::uint32_t *hits) {
  return gate_planes<std::uint16_t>(base, cells, planes, plane_step, gate, marks, hits);
}

std::size_t gate_planes_32_scalar(const std::uint8_t *base, std::size_t cells, std::size_t planes, std::size_t plane_step,
                                  Gate gate, void *marks, std::uint32_t *hits) {
  return gate_planes<std::uint32_t>(base, cells, planes, plane_step, gate, marks, hits);
}

}  // namespace simaai::kernels::detail
