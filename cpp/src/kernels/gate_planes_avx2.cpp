#include "kernels/gate_planes.h"
#include "kernels/vectors_avx2.h"

namespace simaai::kernels::detail {

std::size_t gate_planes_8_avx2(const std::uint8_t *base, std::size_t cells, std::size_t planes, std::size_t plane_step,
                               Gate gate, void *marks, std::uint32_t *hits) {
  return clear_upper_halves(gate_planes<Lanes8>(base, cells, planes, plane_step, gate, marks, hits));
}

std::size_t gate_planes_16_avx2(const std::uint8_t *base, std::size_t cells, std::size_t planes, std::size_t plane_step,
                                Gate gate, void *marks, std::uint32_t *hits) {
  return clear_upper_halves(gate_planes<Lanes16>(base, cells, planes, plane_step, gate, marks, hits));
}

std::size_t gate_planes_32_avx2(const std::uint8_t *base, std::size_t cells, std::size_t planes, std::size_t plane_step,
                                Gate gate, void *marks, std::uint32_t *hits) {
  return clear_upper_halves(gate_planes<Lanes32>(base, cells, planes, plane_step, gate, marks, hits));
}

}  // namespace simaai::kernels::detail
