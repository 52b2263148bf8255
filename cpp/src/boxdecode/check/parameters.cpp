#include <cmath>

#include "boxdecode/check/groups.h"

namespace simaai::kernels::ops::boxdecode::detail {
namespace {

bool supports(const Recipe &recipe, Task task) {
  switch (task) {
    case Task::Detection: return true;
    case Task::Pose: return recipe.pose();
    case Task::Segmentation: return recipe.segmentation();
  }
  return false;
}

Finding check_task(const Params &params, const Recipe &recipe) {
  const char *name = text(params.task);
  if (supports(recipe, params.task)) {
    return std::nullopt;
  }
  std::string allowed = "Detection";
  allowed += recipe.pose() ? ", Pose" : "";
  allowed += recipe.segmentation() ? ", Segmentation" : "";
  return Error{ErrorCode::UnsupportedRecipe, "params.task",
               std::string("params.task is ") + (name != nullptr ? name : text(static_cast<int>(params.task)).c_str()) + "; " +
                   recipe.name + " supports " + allowed};
}

Finding check_head_count(const Params &params, const Recipe &recipe) {
  const std::size_t count = params.heads.size();
  const std::size_t exact = recipe.exact_heads;
  if (count >= 1 && count <= most_heads && (exact == 0 || count == exact)) {
    return std::nullopt;
  }
  return invalid_parameter("params.heads", "params.heads has " + text(count) + " heads; " + recipe.name + " needs " +
                                               (exact != 0 ? text(exact) : "1 to " + text(most_heads)));
}

Finding check_mask_prototype(const Params &params, const Recipe & /*recipe*/) {
  const bool wanted = params.task == Task::Segmentation;
  if (params.mask_prototype.has_value() == wanted) {
    return std::nullopt;
  }
  return invalid_parameter("params.mask_prototype",
                           wanted ? "params.mask_prototype is empty; Segmentation needs the port of the prototypes"
                                  : "params.mask_prototype is set, but only Segmentation reads prototypes; leave it empty");
}

Finding check_classes(const Params &params, const Recipe &recipe) {
  const std::int64_t count = params.num_classes;
  const auto refuse = [&](const std::string &allowed) {
    return invalid_parameter("params.num_classes",
                             "params.num_classes is " + text(count) + "; " + recipe.name + " needs " + allowed);
  };
  if (recipe.exact_classes != 0 && count != recipe.exact_classes) {
    return refuse(text(recipe.exact_classes));
  }
  if (recipe.background_first()) {
    const std::int64_t most = recipe.signature.prefix ? recipe.signature.encoded_classes : largest_side;
    if (count < 2 || count > most) {
      return refuse("2 to " + text(most) + ", the background counted");
    }
  }
  if (count < 1 || count > largest_side) {
    return refuse("1 to " + text(largest_side));
  }
  return std::nullopt;
}

Finding check_thresholds(const Params &params, const Recipe & /*recipe*/) {
  const float detection = params.detection_threshold;
  if (!(detection >= 0.0F && detection < 1.0F)) {
    return invalid_parameter("params.detection_threshold",
                             "params.detection_threshold is " + text(detection) + "; it must be set, finite and in [0, 1)");
  }
  const float overlap = params.nms_iou_threshold;
  if (!(overlap >= 0.0F && overlap <= 1.0F)) {
    return invalid_parameter("params.nms_iou_threshold",
                             "params.nms_iou_threshold is " + text(overlap) + "; it must be set, finite and in [0, 1]");
  }
  return std::nullopt;
}

Finding check_activation(const Params &params, const Recipe &recipe) {
  const std::string field = "params.score_activation";
  const std::string needs = std::string("; ") + recipe.name + " ";
  if (const std::optional<ScoreActivation> fixed = fixed_activation(recipe.activation)) {
    if (params.score_activation && *params.score_activation != *fixed) {
      return invalid_parameter(field, field + " is " + text(*params.score_activation) + needs + "always takes " + text(*fixed) +
                                          ": leave it empty");
    }
    return std::nullopt;
  }
  const bool given = params.score_activation.has_value();
  if (given &&
      (*params.score_activation == ScoreActivation::Identity || *params.score_activation == ScoreActivation::Sigmoid)) {
    return std::nullopt;
  }
  return invalid_parameter(field, field + " is " + (given ? text(*params.score_activation) : "empty") + needs +
                                      "needs Sigmoid where the scores are logits, or Identity where the export already "
                                      "holds probabilities");
}

Finding check_anchors(const Params &params, const Recipe &recipe) {
  const std::string field = "params.anchors";
  if (params.anchors.empty()) {
    const std::size_t heads = params.heads.size();
    if (has_anchor_tables(recipe.priors) && heads != 3 && heads != 4) {
      return invalid_parameter(field, field + " is empty; " + recipe.name +
                                          " has tables for 3 or 4 heads and the request has " + text(heads) +
                                          ": pass the anchors of the model");
    }
    return std::nullopt;
  }
  if (!recipe.takes_anchors) {
    return invalid_parameter(field,
                             field + " is set, but " + recipe.name + " does not use anchors from outside; leave it empty");
  }
  if (params.anchors.size() != params.heads.size()) {
    return invalid_parameter(field, field + " has " + text(params.anchors.size()) + " lists; it needs one for each of the " +
                                        text(params.heads.size()) + " heads");
  }
  const std::size_t count = params.anchors.front().size();
  const auto fixed = static_cast<std::size_t>(fixed_anchors(recipe.anchors));
  const std::size_t wanted = fixed != 0 ? fixed : count;
  for (std::size_t head = 0; head < params.anchors.size(); ++head) {
    const auto &list = params.anchors[head];
    if (list.empty() || list.size() != count || list.size() != wanted) {
      return invalid_parameter(field, path("params.anchors", head) + " has " + text(list.size()) + " anchors; " + recipe.name +
                                          " needs " + (wanted != 0 && list.size() != wanted ? text(wanted) : "at least 1") +
                                          ", the same number for every head");
    }
    for (const Anchor &anchor : list) {
      if (!(std::isfinite(anchor.width) && std::isfinite(anchor.height) && anchor.width > 0.0F && anchor.height > 0.0F)) {
        return invalid_parameter(field, path("params.anchors", head) + " holds an anchor of " + text(anchor.width) + " by " +
                                            text(anchor.height) + "; both sides must be finite and > 0, in pixels");
      }
    }
  }
  return std::nullopt;
}

Finding check_resize(const Params &params, const Recipe &recipe) {
  if (!params.resize) {
    return std::nullopt;
  }
  if (takes_stretch_only(recipe.resize) && !std::holds_alternative<Stretch>(*params.resize)) {
    return invalid_parameter("params.resize", std::string("params.resize is not Stretch; ") + recipe.name +
                                                  " is defined for stretched images only: leave it empty");
  }
  if (const auto *affine = std::get_if<Affine>(&*params.resize)) {
    return check_affine(*affine, "params.resize");
  }
  return std::nullopt;
}

// A parameter that the recipe or the task does not use must keep its default, so that a mistake is never silently ignored.
Finding check_unused(const Params &params, const Recipe &recipe) {
  const Params defaults;
  const auto unused = [&recipe](const char *name, const char *value) {
    return invalid_parameter(std::string("params.") + name, std::string("params.") + name + " is not used by " + recipe.name +
                                                                " in this task; it must keep its default " + value);
  };
  if (params.task != Task::Segmentation && params.mask_encoding != defaults.mask_encoding) {
    return unused("mask_encoding", "Probability");
  }
  if (params.class_agnostic && never_suppresses(recipe.suppression)) {
    return unused("class_agnostic", "false");
  }
  if (!is_told(recipe.box.unit) && params.box_unit != defaults.box_unit) {
    return unused("box_unit", "Pixels");
  }
  if (!recipe.takes_anchor_scale && params.anchor_scale != defaults.anchor_scale) {
    return unused("anchor_scale", "4");
  }
  if (recipe.takes_anchor_scale && !(std::isfinite(params.anchor_scale) && params.anchor_scale > 0.0F)) {
    return invalid_parameter("params.anchor_scale",
                             "params.anchor_scale is " + text(params.anchor_scale) + "; it must be finite and > 0");
  }
  if (!is_told(recipe.box.curve) && params.box_activation != defaults.box_activation) {
    return unused("box_activation", "Identity");
  }
  if (is_told(recipe.box.curve) && params.box_activation != ScoreActivation::Identity &&
      params.box_activation != ScoreActivation::Sigmoid) {
    return invalid_parameter("params.box_activation", std::string("params.box_activation is ") + text(params.box_activation) +
                                                          "; it must be Identity or Sigmoid");
  }
  if (!recipe.takes_peak_window && params.peak_window != defaults.peak_window) {
    return unused("peak_window", "1");
  }
  if (recipe.takes_peak_window && params.peak_window != 1 && params.peak_window != 3) {
    return invalid_parameter("params.peak_window", "params.peak_window is " + text(params.peak_window) + "; it must be 1 or 3");
  }
  if (params.suppression_corners != defaults.suppression_corners && never_suppresses(recipe.suppression)) {
    return unused("suppression_corners", "Integer");
  }
  return std::nullopt;
}

Finding check_keypoints(const Params &params, const Recipe & /*recipe*/) {
  const bool pose = params.task == Task::Pose;
  const std::int64_t count = params.num_keypoints;
  if (pose && (count < 1 || count > most_keypoints)) {
    return invalid_parameter("params.num_keypoints",
                             "params.num_keypoints is " + text(count) + "; it must be 1 to " + text(most_keypoints));
  }
  if (!pose && count != Params{}.num_keypoints) {
    return invalid_parameter("params.num_keypoints", "params.num_keypoints is " + text(count) +
                                                         ", but only Pose reads keypoints; it must keep its default 17");
  }
  return std::nullopt;
}

// Objectness alone stands for the score of one class.
Finding check_one_class(const Params &params, const Recipe &recipe) {
  if (!params.one_class_uses_objectness) {
    return std::nullopt;
  }
  const std::string field = "params.one_class_uses_objectness";
  switch (recipe.one_class) {
    case OneClassRule::Product:
      return invalid_parameter(field,
                               field + " is set, but " + recipe.name + " does not use it; it must keep its default false");
    case OneClassRule::ObjectnessAlone:
      return invalid_parameter(field, field + " is set, but " + recipe.name +
                                          " scores one class by objectness alone anyway; it must keep its default false");
    case OneClassRule::ByRequest: break;
  }
  if (params.num_classes != 1) {
    return invalid_parameter(field, field + " is set, but params.num_classes is " + text(params.num_classes) +
                                        "; only a single class can score by objectness alone");
  }
  const bool named = recipe.inherent_objectness() || params.heads.front().objectness.has_value();
  if (!named) {
    return invalid_parameter(field, field + " is set, but params.heads[0].objectness is empty; name the port of objectness");
  }
  return std::nullopt;
}

// How keypoints lie in their channels.
Finding check_keypoint_form(const Params &params, const Recipe &recipe) {
  const bool pose = params.task == Task::Pose;
  if (params.keypoint_unit && !pose) {
    return invalid_parameter("params.keypoint_unit",
                             "params.keypoint_unit is set, but only Pose reads keypoints; leave it empty");
  }
  if (params.keypoint_unit && !are_decoded(recipe.keypoints)) {
    return invalid_parameter("params.keypoint_unit", std::string("params.keypoint_unit is set, but ") + recipe.name +
                                                         " decodes its keypoints from cells; leave it empty");
  }
  if (params.keypoint_unit && params.keypoint_unit != BoxUnit::Pixels && params.keypoint_unit != BoxUnit::Normalised) {
    return invalid_parameter("params.keypoint_unit", "params.keypoint_unit is no BoxUnit enumerator");
  }
  const std::int64_t dims = params.keypoint_dims;
  if (pose && dims != 2 && dims != 3) {
    return invalid_parameter("params.keypoint_dims", "params.keypoint_dims is " + text(dims) +
                                                         "; it must be 3 for x, y and visibility, or 2 for x and y");
  }
  if (!pose && dims != Params{}.keypoint_dims) {
    return invalid_parameter("params.keypoint_dims", "params.keypoint_dims is " + text(dims) +
                                                         ", but only Pose reads keypoints; it must keep its default 3");
  }
  return std::nullopt;
}

// Values that no enumerator names reach us through casts.
Finding check_enumerators(const Params &params, const Recipe & /*recipe*/) {
  if (params.mask_encoding != MaskEncoding::Probability && params.mask_encoding != MaskEncoding::Binary) {
    return invalid_parameter("params.mask_encoding", "params.mask_encoding is no MaskEncoding enumerator");
  }
  if (params.box_unit != BoxUnit::Pixels && params.box_unit != BoxUnit::Normalised) {
    return invalid_parameter("params.box_unit", "params.box_unit is no BoxUnit enumerator");
  }
  if (params.suppression_corners != SuppressionCorners::Integer && params.suppression_corners != SuppressionCorners::Exact) {
    return invalid_parameter("params.suppression_corners", "params.suppression_corners is no SuppressionCorners enumerator");
  }
  return std::nullopt;
}

Finding check_model_size(const Params &params, const Recipe & /*recipe*/) {
  return check_image_size(params.model_input_size, "params.model_input_size");
}

Finding check_original_size(const Params &params, const Recipe & /*recipe*/) {
  return check_image_size(params.original_image_size, "params.original_image_size");
}

Finding check_capacity(const Params &params, const Recipe & /*recipe*/) {
  if (params.max_detections >= 1 && params.max_detections <= largest_capacity) {
    return std::nullopt;
  }
  return invalid_parameter("params.max_detections", "params.max_detections is " + text(params.max_detections) +
                                                        "; it must be 1 to " + text(largest_capacity));
}

}  // namespace

Finding check_image_size(ImageSize size, const char *field) {
  if (size.width >= 1 && size.width <= largest_side && size.height >= 1 && size.height <= largest_side) {
    return std::nullopt;
  }
  return invalid_parameter(field, std::string(field) + " is " + text(size.width) + " by " + text(size.height) +
                                      "; each side must be 1 to " + text(largest_side));
}

Finding check_affine(const Affine &affine, const char *field) {
  if (std::isfinite(affine.scale_x) && std::isfinite(affine.scale_y) && affine.scale_x > 0.0F && affine.scale_y > 0.0F &&
      std::isfinite(affine.offset_x) && std::isfinite(affine.offset_y)) {
    return std::nullopt;
  }
  return invalid_parameter(field, std::string(field) + " is x·" + text(affine.scale_x) + " + " + text(affine.offset_x) +
                                      ", y·" + text(affine.scale_y) + " + " + text(affine.offset_y) +
                                      "; scales must be finite and > 0, offsets finite");
}

ResizePolicy resolved_resize(const Params &params, const Recipe &recipe) {
  if (params.resize) {
    return *params.resize;
  }
  switch (recipe.resize) {
    case ResizeRule::Letterbox: return CenteredLetterbox{};
    case ResizeRule::TopLeft: return TopLeftLetterbox{};
    case ResizeRule::Stretch:
    case ResizeRule::StretchOnly: break;
  }
  return Stretch{};
}

ScoreActivation resolved_activation(const Params &params, const Recipe &recipe) {
  return fixed_activation(recipe.activation).value_or(params.score_activation.value_or(ScoreActivation::Identity));
}

bool scores_by_objectness(const Params &params, const Recipe &recipe) {
  return params.num_classes == 1 && scores_by_objectness(recipe.one_class, params.one_class_uses_objectness);
}

Finding check_parameters(const Params &params, const Recipe &recipe) {
  for (const auto check : {check_task, check_head_count, check_mask_prototype, check_model_size, check_original_size,
                           check_classes, check_capacity, check_thresholds, check_activation, check_keypoints, check_anchors,
                           check_resize, check_enumerators, check_unused, check_one_class, check_keypoint_form}) {
    if (Finding finding = check(params, recipe)) {
      return finding;
    }
  }
  return std::nullopt;
}

}  // namespace simaai::kernels::ops::boxdecode::detail
