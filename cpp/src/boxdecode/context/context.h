#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "boxdecode/plan/plan.h"

/// Scratch of one call in flight and the lock that keeps a second call out. In: a plan's layout. Out: pointers into one block.
/// Never: results of a frame that outlive it.
namespace simaai::kernels::ops::boxdecode::detail {

/// What passed the score gate. Location numbers head, cell and anchor in one: ascending location is their order.
struct Candidate {
  float score;
  std::uint32_t location;
  std::uint32_t class_id;
};
static_assert(sizeof(Candidate) == 12);

/// An accepted box of a long chain, as suppress/box_index.h keeps it.
template <typename Box>
struct IndexedBox {
  Box box;
  std::uint32_t chain;
  std::uint32_t key;   ///< its upper bits are the bucket
  std::uint32_t next;  ///< of the same bucket
};

// What is laid out once for both rules of suppression.
static_assert(sizeof(IndexedBox<simaai::kernels::detail::RoundedBox>) == sizeof(IndexedBox<simaai::kernels::detail::NmsBox>));
static_assert(sizeof(simaai::kernels::detail::SuppressionBlock) == sizeof(simaai::kernels::detail::ExactBlock));

struct AlignedDelete {
  void operator()(std::byte *block) const noexcept;
};

struct ContextState {
  std::shared_ptr<const PlanState> plan;
  std::unique_ptr<std::byte[], AlignedDelete> block;
  std::atomic_flag busy = ATOMIC_FLAG_INIT;
};

[[nodiscard]] std::unique_ptr<ContextState> make_context(std::shared_ptr<const PlanState> plan);

/// Where each part of a context's block begins, and how large the block is. Capacities are set before.
void lay_out(ContextLayout &layout) noexcept;

/// One frame while it is decoded: the plan, the borrowed buffers, the scratch, the image.
struct Frame {
  const PlanState &plan;
  const simaai::kernels::detail::Kernels &kernels;
  std::span<const ConstHostBuffer> inputs;
  std::span<const HostBuffer> outputs;
  const ImageMapping &mapping;
  float image_width;
  float image_height;
  std::byte *block;

  template <typename Part>
  [[nodiscard]] Part *part(std::size_t offset) const noexcept {
    return reinterpret_cast<Part *>(block + offset);
  }
  [[nodiscard]] const std::byte *input(std::uint32_t port) const noexcept {
    return static_cast<const std::byte *>(inputs[port].data);
  }
  [[nodiscard]] const PortPlan &port(const Lane &lane) const noexcept { return plan.ports[lane.port]; }
};

/// Raw elements of a lane: contiguous, in the tensor or in scratch until the next call.
[[nodiscard]] inline const void *raw_lane(const Frame &frame, const Lane &lane, std::uint32_t cell, std::uint32_t anchor) {
  const Reader &reader = frame.port(lane).reader;
  if (reader.memory == Memory::Rows && lane.step == 1) {
    return address_of(reader, frame.input(lane.port), cell, lane.first(anchor));
  }
  return reader.fetch(reader, frame.input(lane.port), cell, lane.first(anchor), lane.step, lane.count,
                      frame.part<std::byte>(frame.plan.context.raw_offset));
}

/// Values of a lane, at most a few (boxes, keypoints, coefficients) or as many as `values` has room for.
inline void lane_values(const Frame &frame, const Lane &lane, std::uint32_t cell, std::uint32_t anchor, float *values) {
  to_values(frame.port(lane).type, raw_lane(frame, lane, cell, anchor), lane.count, values);
}

}  // namespace simaai::kernels::ops::boxdecode::detail
