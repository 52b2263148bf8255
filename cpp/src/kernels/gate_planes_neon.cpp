#include "kernels/gate_planes.h"
#include "kernels/vectors_neon.h"

namespace simaai::kernels::detail {

std::size_t gate_planes_8_neon(const std::uint8_t *base, std::size_t cells, std::size_t planes, std::size_t plane_step,
                               Gate gate, void *marks, std::uint32_t *hits) {
  return gate_planes<Lanes8>(base, cells, planes, plane_step, gate, marks, hits);
}

std::size_t gate_planes_16_neon(const std::uint8_t *base, std::size_t cells, std::size_t planes, std::size_t plane_step,
                                Gate gate, void *marks, std::uint32_t *hits) {
  return gate_planes<Lanes16>(base, cells, planes, plane_step, gate, marks, hits);
}

std::size_t gate_planes_32_neon(const std::uint8_t *base, std::size_t cells, std::size_t planes, std::size_t plane_step,
                                Gate gate, void *marks, std::uint32_t *hits) {
  return gate_planes<Lanes32>(base, cells, planes, plane_step, gate, marks, hits);
}

}  // namespace simaai::kernels::detail
