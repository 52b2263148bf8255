#pragma once

#include "kernels/gate.h"

// The gate of planes, for each instruction set the same.
namespace simaai::kernels::detail {
namespace {

// The better of marks and `together` planes to the marks. The last vector overlaps the one before it: what is in already does
// no harm.
template <typename Lanes, Order order, std::size_t together>
void mark_planes(const Bound<Lanes, order> bound, const std::uint8_t *planes, std::size_t plane_step, std::size_t bytes,
                 bool fresh, std::uint8_t *marks) {
  const std::size_t last = bytes - Lanes::vector_bytes;
  for (std::size_t begin = 0; begin < bytes; begin += Lanes::vector_bytes) {
    const std::size_t at = begin < last ? begin : last;
    const std::uint8_t *plane = planes + at;
    typename Lanes::Vector best = bound.keys(plane);
    for (std::size_t next = 1; next < together; ++next) {
      plane += plane_step;
      best = bound.better(best, bound.keys(plane));
    }
    Lanes::store(marks + at, fresh ? best : bound.better(best, Lanes::load(marks + at)));
  }
}

// Fewer cells than a vector holds.
template <typename Lanes, Order order>
std::size_t gate_few_cells(const Bound<Lanes, order> &bound, const std::uint8_t *base, std::size_t cells, std::size_t planes,
                           std::size_t plane_step, std::uint32_t *hits) {
  std::size_t count = 0;
  for (std::size_t cell = 0; cell < cells; ++cell) {
    bool hit = false;
    for (std::size_t plane = 0; plane < planes; ++plane) {
      hit |= bound.passes(base + plane * plane_step + cell * sizeof(typename Lanes::Bits));
    }
    hits[count] = static_cast<std::uint32_t>(cell);
    count += hit ? 1 : 0;
  }
  return count;
}

template <typename Lanes, Order order>
std::size_t gate_planes_in_order(const std::uint8_t *base, std::size_t cells, std::size_t planes, std::size_t plane_step,
                                 Gate gate, void *scratch, std::uint32_t *hits) {
  constexpr std::size_t element_bytes = sizeof(typename Lanes::Bits);
  constexpr std::size_t vector_bytes = Lanes::vector_bytes;
  const Bound<Lanes, order> bound(gate);
  const std::size_t bytes = cells * element_bytes;
  if (bytes < vector_bytes) {
    return gate_few_cells(bound, base, cells, planes, plane_step, hits);
  }
  // Several planes at a time, so that marks are loaded and stored once for all of them.
  std::uint8_t *marks = static_cast<std::uint8_t *>(scratch);
  std::size_t plane = 0;
  for (; plane + 8 <= planes; plane += 8) {
    mark_planes<Lanes, order, 8>(bound, base + plane * plane_step, plane_step, bytes, plane == 0, marks);
  }
  for (; plane + 3 <= planes; plane += 3) {
    mark_planes<Lanes, order, 3>(bound, base + plane * plane_step, plane_step, bytes, plane == 0, marks);
  }
  for (; plane < planes; ++plane) {
    mark_planes<Lanes, order, 1>(bound, base + plane * plane_step, plane_step, bytes, plane == 0, marks);
  }
  const std::size_t last = bytes - vector_bytes;
  std::size_t count = 0;
  std::size_t at = 0;
  for (; at < last; at += vector_bytes) {
    count = Lanes::emit(bound.compare(Lanes::load(marks + at)), at / element_bytes, hits, count);
  }
  const std::size_t known = (at - last) / element_bytes;
  return Lanes::emit_rest(bound.compare(Lanes::load(marks + last)), known, last / element_bytes, hits, count);
}

template <typename Lanes>
std::size_t gate_planes(const std::uint8_t *base, std::size_t cells, std::size_t planes, std::size_t plane_step, Gate gate,
                        void *marks, std::uint32_t *hits) {
  if (planes == 0) {
    return 0;
  }
  return gated<Lanes, Order::Signed, Order::Unsigned, Order::Reversed>(gate, cells, hits, [&]<Order order>(OrderTag<order>) {
    return gate_planes_in_order<Lanes, order>(base, cells, planes, plane_step, gate, marks, hits);
  });
}

}  // namespace
}  // namespace simaai::kernels::detail
