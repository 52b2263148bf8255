#include <simaai/kernels/ops/boxdecode.h>

#include "boxdecode/access.h"
#include "boxdecode/bind.h"
#include "boxdecode/check/check.h"
#include "boxdecode/check/text.h"
#include "boxdecode/context/context.h"
#include "boxdecode/geometry/mapping.h"
#include "boxdecode/plan/prepare.h"
#include "numeric/fp_environment.h"

namespace simaai::kernels::ops::boxdecode {

const Params &Plan::params() const noexcept { return state_->params; }
std::span<const TensorSpec> Plan::input_specs() const noexcept { return state_->input_specs; }
std::span<const TensorSpec> Plan::output_specs() const noexcept { return state_->output_specs; }
std::size_t Plan::context_bytes() const noexcept { return state_->scratch.bytes; }
std::string Plan::describe() const { return detail::describe(*state_); }

std::size_t Plan::required_bytes(std::size_t input_port) const noexcept {
  return input_port < state_->ports.size() ? state_->ports[input_port].reader.required_bytes : 0;
}

ExecutionContext::ExecutionContext(std::unique_ptr<detail::ContextState> state) noexcept : state_(std::move(state)) {}
ExecutionContext::~ExecutionContext() = default;

std::variant<Plan, Error> check_inference(const Request &request) {
  auto checked = detail::check(request);
  if (auto *error = std::get_if<Error>(&checked)) {
    return std::move(*error);
  }
  auto prepared = detail::prepare(request, std::get<detail::Facts>(checked));
  if (auto *error = std::get_if<Error>(&prepared)) {
    return std::move(*error);
  }
  auto &state = std::get<std::shared_ptr<detail::PlanState>>(prepared);
  detail::bind_words(*state);
  return detail::Access::make_plan(std::move(state));
}

std::unique_ptr<ExecutionContext> create_context(const Plan &plan) {
  return detail::Access::make_context(detail::make_context(detail::Access::shared(plan)));
}

std::variant<ImageGeometry, Error> check_image_geometry(const Plan &plan, ImageSize original_image_size,
                                                        std::optional<Affine> affine) {
  const detail::PlanState &state = detail::Access::state(plan);
  if (!simaai::kernels::detail::float_environment_is_default()) {
    return Error{ErrorCode::FloatEnvironment, "", simaai::kernels::detail::float_environment_message};
  }
  if (auto error = detail::check_image_size(original_image_size, "original_image_size")) {
    return *std::move(error);
  }
  ResizePolicy policy = *state.params.resize;
  const bool wanted = std::holds_alternative<Affine>(policy);
  if (affine.has_value() != wanted) {
    return Error{ErrorCode::InvalidParameter, "affine",
                 wanted ? "affine is empty; the plan's resize policy is Affine, so another image size needs its own mapping"
                        : "affine is set, but the plan's resize policy computes the mapping from the sizes; leave it empty"};
  }
  if (affine) {
    if (auto error = detail::check_affine(*affine, "affine")) {
      return *std::move(error);
    }
    policy = *affine;
  }
  return detail::Access::make_geometry(detail::Access::shared(plan), original_image_size,
                                       detail::make_mapping(policy, state.params.model_input_size, original_image_size));
}

}  // namespace simaai::kernels::ops::boxdecode
