#include <simaai/kernels/ops/boxdecode.h>

#include "boxdecode/access.h"
#include "boxdecode/context/buffers.h"
#include "boxdecode/outputs/outputs.h"
#include "boxdecode/select/collector.h"
#include "boxdecode/suppress/accepted.h"
#include "numeric/fp_environment.h"

namespace simaai::kernels::ops::boxdecode {
namespace detail {
namespace {

// Holds a context for one call.
class InFlight {
public:
  explicit InFlight(ContextState &context) noexcept
      : context_(context), held_(!context.busy.test_and_set(std::memory_order_acquire)) {}
  ~InFlight() {
    if (held_) {
      context_.busy.clear(std::memory_order_release);
    }
  }
  InFlight(const InFlight &) = delete;
  InFlight &operator=(const InFlight &) = delete;
  [[nodiscard]] bool held() const noexcept { return held_; }

private:
  ContextState &context_;
  bool held_;
};

const HeadPlan &head_of(const PlanState &plan, std::uint32_t location) {
  std::size_t index = plan.heads.size() - 1;
  while (plan.heads[index].first_location > location) {
    --index;
  }
  return plan.heads[index];
}

// A candidate whose box has been decoded.
struct Decoded {
  const Candidate *candidate;
  const HeadPlan *head;
  Site site;
  Corners corners;
};

// Boxes are decoded a few ahead of the decisions about them: decoding one does not wait for another, and a decision that the
// CPU guessed wrong does not throw away the decoding of those behind it.
constexpr std::size_t decoded_ahead = 16;

std::size_t decode_next(const Frame &frame, Ordering &ordering, Decoded *decoded) {
  std::size_t count = 0;
  for (; count < decoded_ahead; ++count) {
    const Candidate *candidate = ordering.next();
    if (candidate == nullptr) {
      break;
    }
    const HeadPlan &head = head_of(frame.plan, candidate->location);
    const std::uint32_t place = candidate->location - head.first_location;
    const bool one = head.anchors == 1;
    const Site site = site_of(head, one ? place : place / head.anchors, one ? 0 : place % head.anchors);
    // Candidates come by score, which jumps about in the tensor.
    touch(frame.port(head.boxes).reader, frame.input(head.boxes.port), site.cell, head.boxes.first(site.anchor),
          head.boxes.count);
    decoded[count] = {candidate, &head, site, {}};
  }
  for (std::size_t i = 0; i < count; ++i) {
    decoded[i].corners = decoded[i].head->decode_box(frame, *decoded[i].head, decoded[i].site);
  }
  return count;
}

// Returns how many detections were written. `Boxes` holds the accepted ones.
template <typename Boxes>
std::size_t accept_in_order(const Frame &frame, Ordering &ordering) {
  const PlanState &plan = frame.plan;
  Boxes accepted(frame);
  const auto capacity = static_cast<std::size_t>(plan.params.max_detections);
  std::size_t count = 0;
  Decoded decoded[decoded_ahead];
  for (std::size_t ready = 1; count < capacity && ready > 0;) {
    ready = decode_next(frame, ordering, decoded);
    for (std::size_t i = 0; i < ready && count < capacity; ++i) {
      const auto &[candidate, head, site, corners] = decoded[i];
      if (!is_valid(corners)) {
        continue;
      }
      const std::uint32_t chain = plan.params.class_agnostic ? 0 : candidate->class_id;
      if (plan.suppresses && !accepted.admit(corners, chain)) {
        continue;
      }
      write_detection(frame, corners, candidate->score, candidate->class_id, count);
      if (plan.write_extra != nullptr) {
        plan.write_extra(frame, *head, site, corners, count);
      }
      ++count;
    }
  }
  return count;
}

void decode_frame(const Frame &frame) {
  const PlanState &plan = frame.plan;
  Collector collector{frame.part<Candidate>(plan.context.candidates_offset), plan.context.candidates};
  for (const HeadPlan &head : plan.heads) {
    head.scan(frame, head, collector);
  }
  Ordering ordering(frame, collector);
  const bool indexed = plan.context.indexed_boxes > 0;
  if (plan.params.suppression_corners == SuppressionCorners::Exact) {
    finish_outputs(frame, indexed ? accept_in_order<IndexedBoxes<ExactRule>>(frame, ordering)
                                  : accept_in_order<AcceptedBoxes<ExactRule>>(frame, ordering));
  } else {
    finish_outputs(frame, indexed ? accept_in_order<IndexedBoxes<IntegerRule>>(frame, ordering)
                                  : accept_in_order<AcceptedBoxes<IntegerRule>>(frame, ordering));
  }
}

Status run(const Plan &plan, const ImageMapping &mapping, ImageSize image, ExecutionContext &context,
           std::span<const ConstHostBuffer> inputs, std::span<const HostBuffer> outputs) {
  const PlanState &state = Access::state(plan);
  ContextState &scratch = Access::state(context);
  if (scratch.plan.get() != &state) {
    return Error{ErrorCode::ContextMismatch, "context",
                 "context was created from another plan; create one from this plan or a copy of it"};
  }
  const InFlight flight(scratch);
  if (!flight.held()) {
    return Error{ErrorCode::ContextBusy, "context", "context is in use by another call; each call in flight needs its own"};
  }
  if (!simaai::kernels::detail::float_environment_is_default()) {
    return Error{ErrorCode::FloatEnvironment, "", simaai::kernels::detail::float_environment_message};
  }
  if (std::optional<Error> error = check_buffers(state, inputs, outputs)) {
    return *std::move(error);
  }
  decode_frame(Frame{state, *state.kernels, inputs, outputs, mapping, static_cast<float>(image.width),
                     static_cast<float>(image.height), scratch.block.get()});
  return {};
}

}  // namespace
}  // namespace detail

Status execute(const Plan &plan, ExecutionContext &context, std::span<const ConstHostBuffer> inputs,
               std::span<const HostBuffer> outputs) {
  const detail::PlanState &state = detail::Access::state(plan);
  return detail::run(plan, state.mapping, state.params.original_image_size, context, inputs, outputs);
}

Status execute(const Plan &plan, const ImageGeometry &geometry, ExecutionContext &context,
               std::span<const ConstHostBuffer> inputs, std::span<const HostBuffer> outputs) {
  if (detail::Access::state(geometry) != &detail::Access::state(plan)) {
    return Error{ErrorCode::ContextMismatch, "geometry",
                 "geometry was made from another plan; make it with check_image_geometry from this plan or a copy of it"};
  }
  return detail::run(plan, geometry.mapping(), geometry.image_size(), context, inputs, outputs);
}

}  // namespace simaai::kernels::ops::boxdecode
