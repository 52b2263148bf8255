#pragma once

#include "boxdecode/check/check.h"
#include "boxdecode/check/text.h"

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

/// The port that a head names for a role.
[[nodiscard]] inline std::optional<std::size_t> port_of(const Head &head, Role role) {
  switch (role) {
    case Role::Boxes: return head.boxes;
    case Role::Scores: return head.scores;
    case Role::Objectness: return head.objectness;
    case Role::Extra: return head.extra;
    case Role::Sizes: return head.sizes;
  }
  return std::nullopt;
}

[[nodiscard]] inline const char *role_name(Role role) {
  constexpr const char *names[role_count] = {"boxes", "scores", "objectness", "extra", "sizes"};
  return names[static_cast<std::size_t>(role)];
}

inline constexpr Role all_roles[role_count] = {Role::Boxes, Role::Scores, Role::Objectness, Role::Extra, Role::Sizes};

[[nodiscard]] inline bool is_combined(const Recipe &recipe, const Head &head) {
  return recipe.arrangement != Arrangement::Apart && head.boxes == head.scores;
}

[[nodiscard]] Finding check_parameters(const Params &params, const Recipe &recipe);
[[nodiscard]] Finding check_ports(const Request &request, const Recipe &recipe);
[[nodiscard]] Finding check_shapes(const Request &request, Facts &facts);
[[nodiscard]] Finding check_layouts(const Request &request, const Facts &facts);
[[nodiscard]] Finding check_quantization(const Request &request, const Facts &facts);
[[nodiscard]] Finding check_outputs(const Request &request, const Facts &facts);

}  // namespace simaai::kernels::ops::boxdecode::detail
