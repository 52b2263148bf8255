#pragma once

#include "boxdecode/context/context.h"

namespace simaai::kernels::ops::boxdecode::detail {

/// The one place that sees inside the public handles.
struct Access {
  static Plan make_plan(std::shared_ptr<const PlanState> state) { return Plan(std::move(state)); }
  static const PlanState &state(const Plan &plan) { return *plan.state_; }
  static const std::shared_ptr<const PlanState> &shared(const Plan &plan) { return plan.state_; }
  static std::unique_ptr<ExecutionContext> make_context(std::unique_ptr<ContextState> state) {
    return std::unique_ptr<ExecutionContext>(new ExecutionContext(std::move(state)));
  }
  static ContextState &state(ExecutionContext &context) { return *context.state_; }
  static ImageGeometry make_geometry(std::shared_ptr<const PlanState> state, ImageSize size, ImageMapping mapping) {
    return ImageGeometry(std::move(state), size, mapping);
  }
  static const PlanState *state(const ImageGeometry &geometry) { return geometry.state_.get(); }
};

}  // namespace simaai::kernels::ops::boxdecode::detail
