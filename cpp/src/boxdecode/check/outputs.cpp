#include "boxdecode/check/groups.h"

namespace simaai::kernels::ops::boxdecode::detail {

std::vector<TensorSpec> expected_outputs(const Request &request, const Facts &facts) {
  const std::int64_t capacity = request.params.max_detections;
  std::vector<TensorSpec> outputs = {
      {{capacity, 4}, DType::Int32}, {{capacity}, DType::Float32}, {{capacity}, DType::Int32}, {{1}, DType::Int32}};
  switch (request.params.task) {
    case Task::Detection:
      if (facts.recipe->publishes_proposals) {
        outputs.push_back({{capacity, 4}, DType::Float32});
      }
      break;
    case Task::Pose: outputs.push_back({{capacity, request.params.num_keypoints, 3}, DType::Float32}); break;
    case Task::Segmentation: {
      const Extent prototype = extent_of(request.inputs[*request.params.mask_prototype]);
      outputs.push_back({{capacity, prototype.height, prototype.width}, DType::UInt8});
      break;
    }
  }
  return outputs;
}

Finding check_outputs(const Request &request, const Facts &facts) {
  const std::vector<TensorSpec> expected = expected_outputs(request, facts);
  const std::span<const TensorSpec> outputs = request.outputs.value_or(expected);
  if (outputs.size() != expected.size()) {
    return Error{ErrorCode::InvalidTensor, "outputs",
                 "the request has " + text(outputs.size()) + " outputs; " + facts.recipe->name + " writes " +
                     text(expected.size()) + " in this task"};
  }
  for (std::size_t port = 0; port < expected.size(); ++port) {
    const TensorSpec &seen = outputs[port];
    const TensorSpec &wanted = expected[port];
    if (seen.shape != wanted.shape) {
      return Error{ErrorCode::InvalidTensor, path("outputs", port, ".shape"),
                   path("outputs", port, ".shape") + " is " + text(seen.shape) + "; it must be " + text(wanted.shape)};
    }
    if (seen.dtype != wanted.dtype) {
      return Error{ErrorCode::InvalidTensor, path("outputs", port, ".dtype"),
                   path("outputs", port, ".dtype") + " is " + text(seen.dtype) + "; it must be " + text(wanted.dtype)};
    }
    if (!std::holds_alternative<Contiguous>(seen.layout)) {
      return Error{ErrorCode::UnsupportedLayout, path("outputs", port, ".layout"),
                   path("outputs", port, ".layout") + " is " + text(seen.layout) + "; outputs must be Contiguous"};
    }
    // Sides are at most 2^16 · 2^20 · 2^20 and the bytes of one element 4: no overflow.
    std::int64_t bytes = static_cast<std::int64_t>(element_bytes(wanted.dtype));
    for (const std::int64_t side : wanted.shape) {
      bytes *= side;
    }
    if (bytes > largest_tensor_bytes) {
      return Error{ErrorCode::ResourceLimit, path("outputs", port),
                   path("outputs", port) + " would cover " + text(bytes) + " bytes; at most " + text(largest_tensor_bytes) +
                       " are admitted: lower max_detections"};
    }
  }
  return std::nullopt;
}

}  // namespace simaai::kernels::ops::boxdecode::detail
