#include "boxdecode/check/check.h"

#include "boxdecode/check/groups.h"
#include "boxdecode/recipes/catalogue.h"
#include "numeric/fp_environment.h"

namespace simaai::kernels::ops::boxdecode::detail {

std::variant<Facts, Error> check(const Request &request) {
  if (!simaai::kernels::detail::float_environment_is_default()) {
    return Error{ErrorCode::FloatEnvironment, "", simaai::kernels::detail::float_environment_message};
  }
  Facts facts;
  facts.recipe = find_recipe(request.params.profile);
  if (facts.recipe == nullptr) {
    return Error{ErrorCode::UnsupportedRecipe, "params.profile",
                 "params.profile is " + text(static_cast<int>(request.params.profile)) + "; it must be a Profile enumerator"};
  }
  if (Finding finding = check_parameters(request.params, *facts.recipe)) {
    return *std::move(finding);
  }
  if (Finding finding = check_ports(request, *facts.recipe)) {
    return *std::move(finding);
  }
  if (Finding finding = check_shapes(request, facts)) {
    return *std::move(finding);
  }
  for (const auto check : {check_layouts, check_quantization, check_outputs}) {
    if (Finding finding = check(request, facts)) {
      return *std::move(finding);
    }
  }
  return facts;
}

Finding check_context_bytes(std::size_t bytes) {
  if (bytes > static_cast<std::size_t>(largest_tensor_bytes)) {
    return Error{ErrorCode::ResourceLimit, "context",
                 "one context would need " + text(bytes) + " bytes; at most " + text(largest_tensor_bytes) +
                     " are admitted: use fewer or smaller heads, or a smaller max_detections"};
  }
  return std::nullopt;
}

}  // namespace simaai::kernels::ops::boxdecode::detail
