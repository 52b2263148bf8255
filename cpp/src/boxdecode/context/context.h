#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "boxdecode/plan/plan.h"
#include "boxdecode/scratch/scratch.h"

/// Scratch of one call in flight and the lock that keeps a second call out. In: the capacities of a plan. Out: one block,
/// shared out. Never: results of a frame that outlive it.
namespace simaai::kernels::ops::boxdecode::detail {

struct AlignedDelete {
  void operator()(std::byte *block) const noexcept;
};

struct ContextState {
  std::shared_ptr<const PlanState> plan;
  std::unique_ptr<std::byte[], AlignedDelete> block;
  Scratch scratch;
  std::atomic_flag busy = ATOMIC_FLAG_INIT;
};

[[nodiscard]] std::unique_ptr<ContextState> make_context(std::shared_ptr<const PlanState> plan);

/// One frame while it is decoded: the plan, the borrowed buffers, the scratch, the image.
struct Frame {
  const PlanState &plan;
  const simaai::kernels::detail::Kernels &kernels;
  std::span<const ConstHostBuffer> inputs;
  std::span<const HostBuffer> outputs;
  const ImageMapping &mapping;
  float image_width;
  float image_height;
  const Scratch &scratch;

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
  return reader.fetch(reader, frame.input(lane.port), cell, lane.first(anchor), lane.step, lane.count, frame.scratch.raw);
}

/// Values of a lane, at most a few (boxes, keypoints, coefficients) or as many as `values` has room for.
inline void lane_values(const Frame &frame, const Lane &lane, std::uint32_t cell, std::uint32_t anchor, float *values) {
  to_values(frame.port(lane).type, raw_lane(frame, lane, cell, anchor), lane.count, values);
}

}  // namespace simaai::kernels::ops::boxdecode::detail
