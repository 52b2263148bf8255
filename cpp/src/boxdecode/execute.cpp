#include "boxdecode/execute.h"

#include <simaai/kernels/ops/boxdecode.h>

#include "boxdecode/access.h"
#include "boxdecode/context/buffers.h"
#include "boxdecode/outputs/outputs.h"
#include "boxdecode/select/decoded.h"
#include "boxdecode/suppress/accepted.h"
#include "numeric/fp_environment.h"
#include "operator/in_flight.h"

namespace simaai::kernels::ops::boxdecode {
namespace detail {
namespace {

// What becomes of a frame's boxes: the next decoded one, valid, admitted, written.
template <typename Policy>
std::size_t accept_in_order(const Frame &frame, DecodedBoxes &boxes) {
  const PlanState &plan = frame.plan;
  Policy policy(frame);
  const auto capacity = static_cast<std::size_t>(plan.params.max_detections);
  std::size_t count = 0;
  while (count < capacity) {
    const std::span<const Decoded> next = boxes.next();
    if (next.empty()) {
      break;
    }
    for (const auto &[candidate, head, site, corners] : next) {
      if (count == capacity) {
        break;
      }
      if (!is_valid(corners) || !policy.admit(corners, plan.params.class_agnostic ? 0 : candidate->class_id)) {
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

template <typename Rule>
Accept accept_by(const PlanState &plan) noexcept {
  return plan.scratch.indexed_boxes > 0 ? accept_in_order<IndexedBoxes<Rule>> : accept_in_order<AcceptedBoxes<Rule>>;
}

// What becomes of the rows beyond the count.
enum class Rest { Cleared, AsItWas };

void decode_frame(const Frame &frame, Rest rest) {
  const PlanState &plan = frame.plan;
  Collector collector{frame.scratch.candidates, plan.scratch.candidates};
  for (const HeadPlan &head : plan.heads) {
    head.scan(frame, head, collector);
  }
  DecodedBoxes boxes(frame, collector);
  const std::size_t count = plan.accept(frame, boxes);
  if (rest == Rest::Cleared) {
    clear_rows_from(frame, count);
  }
  write_count(frame, count);
}

Status run(const Plan &plan, const ImageMapping &mapping, ImageSize image, ExecutionContext &context,
           std::span<const ConstHostBuffer> inputs, std::span<const HostBuffer> outputs, Rest rest) {
  const PlanState &state = Access::state(plan);
  ContextState &held = Access::state(context);
  if (held.plan.get() != &state) {
    return Error{ErrorCode::ContextMismatch, "context",
                 "context was created from another plan; create one from this plan or a copy of it"};
  }
  const simaai::kernels::detail::InFlight flight(held.busy);
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
                     static_cast<float>(image.height), held.scratch},
               rest);
  return {};
}

Status run(const Plan &plan, const ImageGeometry *geometry, ExecutionContext &context, std::span<const ConstHostBuffer> inputs,
           std::span<const HostBuffer> outputs, Rest rest) {
  const PlanState &state = Access::state(plan);
  if (geometry == nullptr) {
    return run(plan, state.mapping, state.params.original_image_size, context, inputs, outputs, rest);
  }
  if (Access::state(*geometry) != &state) {
    return Error{ErrorCode::ContextMismatch, "geometry",
                 "geometry was made from another plan; make it with check_image_geometry from this plan or a copy of it"};
  }
  return run(plan, geometry->mapping(), geometry->image_size(), context, inputs, outputs, rest);
}

}  // namespace

Status execute_rows(const Plan &plan, const ImageGeometry *geometry, ExecutionContext &context,
                    std::span<const ConstHostBuffer> inputs, std::span<const HostBuffer> outputs) {
  return run(plan, geometry, context, inputs, outputs, Rest::AsItWas);
}

Accept accept_for(const PlanState &plan) noexcept {
  if (!plan.suppresses) {
    return accept_in_order<EveryBox>;
  }
  switch (plan.params.suppression_corners) {
    case SuppressionCorners::Integer: return accept_by<IntegerRule>(plan);
    case SuppressionCorners::Exact: return accept_by<ExactRule>(plan);
  }
  return nullptr;
}

}  // namespace detail

Status execute(const Plan &plan, ExecutionContext &context, std::span<const ConstHostBuffer> inputs,
               std::span<const HostBuffer> outputs) {
  return detail::run(plan, nullptr, context, inputs, outputs, detail::Rest::Cleared);
}

Status execute(const Plan &plan, const ImageGeometry &geometry, ExecutionContext &context,
               std::span<const ConstHostBuffer> inputs, std::span<const HostBuffer> outputs) {
  return detail::run(plan, &geometry, context, inputs, outputs, detail::Rest::Cleared);
}

}  // namespace simaai::kernels::ops::boxdecode
