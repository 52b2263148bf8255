#pragma once

#include "boxdecode/check/check.h"
#include "boxdecode/check/text.h"
#include "boxdecode/recipes/questions.h"

/// The groups of check(), each assuming that the ones before it found nothing.
namespace simaai::kernels::ops::boxdecode::detail {

using Finding = std::optional<Error>;

inline constexpr std::int64_t largest_side = 1'048'576;
inline constexpr std::int64_t largest_tensor_bytes = 2'147'483'647;
inline constexpr std::int64_t largest_physical_channels = 4'096;
inline constexpr std::int64_t largest_capacity = 65'536;
inline constexpr std::size_t most_heads = 64;
inline constexpr std::int64_t most_keypoints = 64;
inline constexpr std::int64_t most_mask_channels = 64;

[[nodiscard]] inline Finding invalid_parameter(std::string field, std::string message) {
  return Error{ErrorCode::InvalidParameter, std::move(field), std::move(message)};
}

[[nodiscard]] inline Extent extent_of(const TensorSpec &spec) {
  const std::size_t rank = spec.shape.size();
  return {spec.shape[rank - 3], spec.shape[rank - 2], spec.shape[rank - 1]};
}

[[nodiscard]] inline const char *role_name(Role role) {
  switch (role) {
    case Role::Boxes: return "boxes";
    case Role::Scores: return "scores";
    case Role::Objectness: return "objectness";
    case Role::Extra: return "extra";
    case Role::Sizes: return "sizes";
  }
  return "";
}

inline constexpr Role all_roles[] = {Role::Boxes, Role::Scores, Role::Objectness, Role::Extra, Role::Sizes};

[[nodiscard]] inline bool is_combined(const Recipe &recipe, const Head &head) {
  return !recipe.combined.empty() && head.boxes == head.scores;
}

/// Whether a part has channels in a task at all.
[[nodiscard]] bool in_task(Part part, Task task);

/// Channels of a part of one anchor where the request alone says it: Box of a recipe without bins, Classes without a signature.
[[nodiscard]] std::int32_t told_channels(const Request &request, Part part);

[[nodiscard]] Finding check_parameters(const Params &params, const Recipe &recipe);
[[nodiscard]] Finding check_ports(const Request &request, const Recipe &recipe);
[[nodiscard]] Finding check_shapes(const Request &request, Facts &facts);
[[nodiscard]] Finding check_layouts(const Request &request, const Facts &facts);
[[nodiscard]] Finding check_quantization(const Request &request, const Facts &facts);
[[nodiscard]] Finding check_outputs(const Request &request, const Facts &facts);

}  // namespace simaai::kernels::ops::boxdecode::detail
