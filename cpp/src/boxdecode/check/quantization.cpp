#include <cmath>

#include "boxdecode/check/groups.h"
#include "boxdecode/numeric/score_map.h"

namespace simaai::kernels::ops::boxdecode::detail {
namespace {

Finding wrong_quantization(std::size_t port, const char *member, const std::string &message) {
  const std::string field = path("params.quantization", port, member);
  return Error{ErrorCode::InvalidQuantization, field, field + message};
}

Finding check_entry(const TensorSpec &spec, std::size_t port, const Quantization *entry) {
  const bool quantized = is_quantized(spec.dtype);
  if (!quantized) {
    return entry == nullptr ? std::nullopt
                            : wrong_quantization(port, "",
                                                 std::string(" is set, but ") + path("inputs", port) + " is " +
                                                     text(spec.dtype) + ", which is not quantized; leave it out");
  }
  if (entry == nullptr) {
    return wrong_quantization(port, "",
                              std::string(" is missing; ") + path("inputs", port) + " is " + text(spec.dtype) +
                                  " and needs a dequant_scale and a zero_point");
  }
  if (!(std::isfinite(entry->dequant_scale) && entry->dequant_scale > 0.0F)) {
    return wrong_quantization(port, ".dequant_scale",
                              " is " + text(entry->dequant_scale) +
                                  "; it must be finite and > 0 (a multiplier: value = (raw - "
                                  "zero_point) * dequant_scale; exporters that write the reciprocal "
                                  "need 1 / scale)");
  }
  const std::int64_t low = spec.dtype == DType::Int8 ? -128 : 0;
  if (entry->zero_point < low || entry->zero_point > low + 255) {
    return wrong_quantization(port, ".zero_point",
                              " is " + text(entry->zero_point) + "; " + text(spec.dtype) + " needs " + text(low) + " to " +
                                  text(low + 255));
  }
  return std::nullopt;
}

ElementType type_at(const Request &request, std::size_t port) {
  return element_type(request.inputs[port], request.params, port);
}

// The largest finite product of objectness and class that an 8-bit head can make.
float largest_product(const ElementType &objectness, const ElementType &classes, ScoreActivation activation) {
  float largest = -1.0F;
  for (std::int32_t a = lowest_key(objectness.dtype); a <= highest_key(objectness.dtype); ++a) {
    const float left = activate(activation, value_of_key(objectness, a));
    if (!(left > 0.0F) || !std::isfinite(left)) {
      continue;
    }
    for (std::int32_t b = highest_key(classes.dtype); b >= lowest_key(classes.dtype); --b) {
      const float right = activate(activation, value_of_key(classes, b));
      const float product = left * right;
      if (right >= 0.0F && std::isfinite(product)) {
        largest = product > largest ? product : largest;
        break;  // further classes are no larger
      }
    }
  }
  return largest;
}

// The highest score that a head can reach; infinity where its ports are not all quantized.
float reach_of(const Request &request, const Facts &facts, std::size_t index) {
  const Recipe &recipe = *facts.recipe;
  const Head &head = request.params.heads[index];
  const ScoreActivation activation = resolved_activation(request.params, recipe);
  const bool objectness_alone = scores_by_objectness(request.params, recipe);
  const ElementType classes = type_at(request, objectness_alone ? head.objectness.value_or(head.scores) : head.scores);
  if (is_softmax(recipe.score) || !is_quantized(classes.dtype)) {
    return INFINITY;
  }
  if (facts.heads[index].channels_of(Part::Objectness) == 0 || objectness_alone) {
    return largest_score(classes, activation);
  }
  const ElementType objectness = type_at(request, head.objectness.value_or(head.scores));
  return is_quantized(objectness.dtype) ? largest_product(objectness, classes, activation) : INFINITY;
}

}  // namespace

ElementType element_type(const TensorSpec &spec, const Params &params, std::size_t port) {
  ElementType type;
  type.dtype = spec.dtype;
  if (const auto entry = params.quantization.find(port); entry != params.quantization.end()) {
    type.scale = entry->second.dequant_scale;
    type.zero_point = static_cast<std::int32_t>(entry->second.zero_point);
  }
  return type;
}

Finding check_quantization(const Request &request, const Facts &facts) {
  const auto &entries = request.params.quantization;
  for (std::size_t port = 0; port < request.inputs.size(); ++port) {
    const auto entry = entries.find(port);
    if (Finding finding = check_entry(request.inputs[port], port, entry != entries.end() ? &entry->second : nullptr)) {
      return finding;
    }
  }
  if (const auto beyond = entries.lower_bound(request.inputs.size()); beyond != entries.end()) {
    return wrong_quantization(beyond->first, "", " is set, but the request has " + text(request.inputs.size()) + " inputs");
  }
  float reach = -1.0F;
  for (std::size_t head = 0; head < facts.heads.size(); ++head) {
    const float own = reach_of(request, facts, head);
    reach = own > reach ? own : reach;
  }
  const float threshold = request.params.detection_threshold;
  if (threshold > 0.0F && reach < threshold) {
    return invalid_parameter("params.detection_threshold",
                             "params.detection_threshold is " + text(threshold) +
                                 "; no raw value of any score port reaches it, the highest score is " + text(reach) +
                                 ": lower it, or check dequant_scale and zero_point of the score ports");
  }
  return std::nullopt;
}

}  // namespace simaai::kernels::ops::boxdecode::detail
