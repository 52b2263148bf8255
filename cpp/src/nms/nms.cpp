#include <simaai/kernels/ops/nms.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>

#include "nms/engine.h"
#include "nms/scratch.h"
#include "numeric/fp_environment.h"
#include "operator/byte_range.h"
#include "operator/in_flight.h"
#include "operator/text.h"

namespace simaai::kernels::ops::nms {

namespace detail {

struct PlanState {
  Params params;
  kernels::detail::NmsSettings settings;
};

struct ContextState {
  ContextState(std::shared_ptr<const PlanState> owner, std::size_t capacity) : plan(std::move(owner)), scratch(capacity) {}
  std::shared_ptr<const PlanState> plan;
  kernels::detail::NmsScratch scratch;
  std::atomic_flag busy = ATOMIC_FLAG_INIT;
};

struct Access {
  static Plan make_plan(std::shared_ptr<const PlanState> state) { return Plan(std::move(state)); }
  static const std::shared_ptr<const PlanState> &state(const Plan &plan) { return plan.state_; }
  static std::unique_ptr<ExecutionContext> make_context(std::unique_ptr<ContextState> state) {
    return std::unique_ptr<ExecutionContext>(new ExecutionContext(std::move(state)));
  }
  static ContextState &state(ExecutionContext &context) { return *context.state_; }
};

}  // namespace detail

namespace {

constexpr std::int64_t most_rows = std::numeric_limits<std::int32_t>::max();

using kernels::detail::byte_range;
using kernels::detail::ByteRange;
using kernels::detail::text;

// Bytes of a borrowed span, by name.
struct Range {
  const char *name;
  ByteRange bytes;
};

template <class T>
Range range_of(const char *name, const T *data, std::size_t count) {
  return Range{name, byte_range(data, count * sizeof(T))};
}

Status refuse_buffer(const char *name, const std::string &message) {
  return Error{ErrorCode::InvalidBuffer, name, std::string(name) + " " + message};
}

Status check_range(const Range &range, std::size_t alignment) {
  if (range.bytes.bytes == 0) {
    return {};
  }
  if (range.bytes.begin == 0) {
    return refuse_buffer(range.name, "is null");
  }
  if (!range.bytes.aligned(alignment)) {
    return refuse_buffer(range.name, "is not aligned to " + text(alignment) + " bytes");
  }
  if (!range.bytes.addressable()) {
    return refuse_buffer(range.name, "reaches beyond the end of the address space");
  }
  return {};
}

Status overlapping(const Range &output, const Range &other) {
  return Error{ErrorCode::BufferOverlap, output.name,
               std::string(output.name) + " shares bytes with " + other.name + "; give it memory of its own"};
}

// The class ids of a call, whatever their type.
struct GivenIds {
  ClassIds type = ClassIds::None;
  std::size_t count = 0;
  std::size_t alignment = 1;
  Range range{"class_ids", {}};
};

GivenIds given_ids(const Inputs &inputs) {
  const auto describe = []<class Id>(ClassIds type, std::span<const Id> ids) {
    return GivenIds{type, ids.size(), alignof(Id), range_of("class_ids", ids.data(), ids.size())};
  };
  if (const auto *const ids_32 = std::get_if<std::span<const std::int32_t>>(&inputs.class_ids)) {
    return describe(ClassIds::Int32, *ids_32);
  }
  if (const auto *const ids_64 = std::get_if<std::span<const std::int64_t>>(&inputs.class_ids)) {
    return describe(ClassIds::Int64, *ids_64);
  }
  return {};
}

Status check_inputs(const detail::PlanState &state, const Inputs &inputs, const GivenIds &ids) {
  const std::size_t count = inputs.scores.size();
  const auto capacity = static_cast<std::size_t>(state.params.capacity);
  if (count > capacity) {
    return refuse_buffer("scores", "has " + text(count) + " elements; the plan has a capacity of " + text(capacity));
  }
  if (inputs.boxes.size() != 4 * count) {
    return refuse_buffer("boxes",
                         "has " + text(inputs.boxes.size()) + " elements; " + text(count) + " scores need " + text(4 * count));
  }
  if (ids.type != state.params.class_ids) {
    constexpr std::array<const char *, 3> names = {"none", "int32", "int64"};
    return refuse_buffer("class_ids", std::string("has the type ") + names[static_cast<std::size_t>(ids.type)] +
                                          "; the plan was made for " + names[static_cast<std::size_t>(state.params.class_ids)]);
  }
  if (ids.type != ClassIds::None && ids.count != count) {
    return refuse_buffer("class_ids", "has " + text(ids.count) + " elements; there are " + text(count) + " scores");
  }
  return {};
}

Status check_outputs(const Outputs &outputs, std::size_t room) {
  if (outputs.indices.size() < room) {
    return refuse_buffer("outputs.indices",
                         "has " + text(outputs.indices.size()) + " elements; up to " + text(room) + " rows may be kept");
  }
  if (!outputs.scores.empty() && outputs.scores.size() < room) {
    return refuse_buffer("outputs.scores", "has " + text(outputs.scores.size()) + " elements; up to " + text(room) +
                                               " rows may be kept (or pass none)");
  }
  if (outputs.count == nullptr) {
    return refuse_buffer("outputs.count", "is null");
  }
  return {};
}

// Sizes and types first, then addresses, then bytes that are shared.
Status check_buffers(const detail::PlanState &state, const Inputs &inputs, const Outputs &outputs) {
  const GivenIds ids = given_ids(inputs);
  if (Status status = check_inputs(state, inputs, ids); !status.ok()) {
    return status;
  }
  const std::size_t room = std::min(inputs.scores.size(), state.settings.limit);
  if (Status status = check_outputs(outputs, room); !status.ok()) {
    return status;
  }
  const std::array<Range, 6> ranges = {range_of("boxes", inputs.boxes.data(), inputs.boxes.size()),
                                       range_of("scores", inputs.scores.data(), inputs.scores.size()),
                                       ids.range,
                                       range_of("outputs.indices", outputs.indices.data(), room),
                                       range_of("outputs.scores", outputs.scores.data(), outputs.scores.empty() ? 0 : room),
                                       range_of("outputs.count", outputs.count, 1)};
  const std::array<std::size_t, 6> alignments = {alignof(float),        alignof(float), ids.alignment,
                                                 alignof(std::int64_t), alignof(float), alignof(std::int64_t)};
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    if (Status status = check_range(ranges[i], alignments[i]); !status.ok()) {
      return status;
    }
  }
  for (std::size_t output = 3; output < ranges.size(); ++output) {
    for (std::size_t other = 0; other < output; ++other) {
      if (share_bytes(ranges[output].bytes, ranges[other].bytes)) {
        return overlapping(ranges[output], ranges[other]);
      }
    }
  }
  return {};
}

// Checked inputs; without rows there are no classes either.
kernels::detail::NmsRows rows_of(const Inputs &inputs) {
  kernels::detail::NmsRows rows{inputs.boxes.data(), inputs.scores.data(), inputs.scores.size(), nullptr, nullptr};
  if (rows.count == 0) {
    return rows;
  }
  if (const auto *const ids_32 = std::get_if<std::span<const std::int32_t>>(&inputs.class_ids)) {
    rows.classes_32 = ids_32->data();
  } else if (const auto *const ids_64 = std::get_if<std::span<const std::int64_t>>(&inputs.class_ids)) {
    rows.classes_64 = ids_64->data();
  }
  return rows;
}

}  // namespace

const Params &Plan::params() const noexcept { return state_->params; }

std::size_t Plan::context_bytes() const noexcept {
  return sizeof(detail::ContextState) + kernels::detail::NmsScratch::bytes(static_cast<std::size_t>(state_->params.capacity));
}

ExecutionContext::ExecutionContext(std::unique_ptr<detail::ContextState> state) noexcept : state_(std::move(state)) {}
ExecutionContext::~ExecutionContext() = default;

std::variant<Plan, Error> check_inference(const Request &request) {
  const Params &params = request.params;
  if (!kernels::detail::float_environment_is_default()) {
    return Error{ErrorCode::FloatEnvironment, "", kernels::detail::float_environment_message};
  }
  if (params.capacity < 0 || params.capacity > most_rows) {
    return Error{ErrorCode::InvalidParameter, "params.capacity",
                 "params.capacity is " + text(params.capacity) + "; it must be set, 0 to " + text(most_rows)};
  }
  std::variant<kernels::detail::NmsSettings, Error> settings = kernels::detail::prepare_nms(params, "params.");
  if (Error *const error = std::get_if<Error>(&settings)) {
    return std::move(*error);
  }
  return detail::Access::make_plan(
      std::make_shared<const detail::PlanState>(detail::PlanState{params, std::get<kernels::detail::NmsSettings>(settings)}));
}

std::unique_ptr<ExecutionContext> create_context(const Plan &plan) {
  const std::shared_ptr<const detail::PlanState> &state = detail::Access::state(plan);
  return detail::Access::make_context(
      std::make_unique<detail::ContextState>(state, static_cast<std::size_t>(state->params.capacity)));
}

Status execute(const Plan &plan, ExecutionContext &context, const Inputs &inputs, const Outputs &outputs) {
  const detail::PlanState &state = *detail::Access::state(plan);
  detail::ContextState &own = detail::Access::state(context);
  if (own.plan.get() != &state) {
    return Error{ErrorCode::ContextMismatch, "", "the context was made from another plan; make one from this plan"};
  }
  const kernels::detail::InFlight flight(own.busy);
  if (!flight.held()) {
    return Error{ErrorCode::ContextBusy, "", "another call is using this context; make one context per thread"};
  }
  if (!kernels::detail::float_environment_is_default()) {
    return Error{ErrorCode::FloatEnvironment, "", kernels::detail::float_environment_message};
  }

  if (Status status = check_buffers(state, inputs, outputs); !status.ok()) {
    return status;
  }
  const kernels::detail::NmsRows rows = rows_of(inputs);
  std::variant<std::size_t, Error> result = kernels::detail::run_nms(state.settings, own.scratch, rows);
  if (Error *const error = std::get_if<Error>(&result)) {
    return std::move(*error);
  }
  const std::size_t kept = std::get<std::size_t>(result);
  for (std::size_t i = 0; i < kept; ++i) {
    outputs.indices[i] = own.scratch.kept[i];
  }
  if (!outputs.scores.empty()) {
    const bool soft = state.params.method != Method::Hard;
    for (std::size_t i = 0; i < kept; ++i) {
      // −0 is published as +0.
      outputs.scores[i] = (soft ? own.scratch.kept_scores[i] : inputs.scores[own.scratch.kept[i]]) + 0.0F;
    }
  }
  *outputs.count = static_cast<std::int64_t>(kept);
  return {};
}

}  // namespace simaai::kernels::ops::nms
