#include <cmath>

#include "boxdecode/check/check.h"
#include "boxdecode/check/text.h"
#include "boxdecode/plan/plan.h"
#include "boxdecode/recipes/questions.h"

namespace simaai::kernels::ops::boxdecode::detail {
namespace {

std::string layout_text(const Layout &layout) {
  std::string line = text(layout);
  if (const auto *blocked = std::get_if<MlaCBlocked>(&layout)) {
    line += std::string(" ") + text(blocked->tile_h) + "x" + text(blocked->tile_w) + "x" + text(blocked->tile_c);
  }
  return line;
}

std::string port_line(const PlanState &plan, std::size_t index) {
  const PortPlan &port = plan.ports[index];
  const TensorSpec &spec = plan.input_specs[index];
  std::string line = "inputs[" + text(index) + "]: " + text(spec.shape) + " " + text(spec.dtype) + " " +
                     layout_text(spec.layout) + ", " + text(port.reader.required_bytes) + " bytes";
  if (is_quantized(spec.dtype)) {
    line += ", value = (raw - " + text(port.type.zero_point) + ") * " + text(port.type.scale);
  }
  return line + "\n";
}

// The raw element of a key as its owner writes it.
std::string raw_text(const ElementType &type, std::int32_t key) {
  if (is_quantized(type.dtype)) {
    return "raw " + text(type.dtype == DType::UInt8 ? key + 128 : key);
  }
  return "value " + text(value_of_key(type, key));
}

// Distinct admitted scores of an 8-bit port up to a bound.
std::uint32_t distinct_levels(const ScoreMap &map, float bound) {
  std::uint32_t levels = 0;
  float previous = -1.0F;
  for (std::int32_t key = map.cutoff; key <= map.last && map.score(key) <= bound; ++key) {
    levels += map.score(key) != previous ? 1U : 0U;
    previous = map.score(key);
  }
  return levels;
}

std::string map_lines(const char *what, const Lane &lane, const ScoreMap &map) {
  std::string line = std::string("  ") + what + " in inputs[" + text(lane.port) + "], " + text(map.activation) + ": ";
  if (!map.reachable()) {
    return line + "no raw value reaches the threshold; the highest score is " + text(largest_score(map.type, map.activation)) +
           "\n";
  }
  line += "passes from " + raw_text(map.type, map.cutoff) + " (score " + text(map.score(map.cutoff)) + ") on, highest " +
          text(map.score(map.last));
  if (is_quantized(map.type.dtype)) {
    const std::uint32_t levels = distinct_levels(map, INFINITY);
    line += ", " + text(levels) + (levels == 1 ? " level" : " distinct levels") + " admitted";
    // A port whose scale serves pixels leaves next to no level for a probability.
    if (map.score(map.last) > 1.0F) {
      line += ", " + text(distinct_levels(map, 1.0F)) + " of them up to 1";
    }
  }
  return line + "\n";
}

std::string head_lines(const PlanState &plan, std::size_t index) {
  const HeadPlan &head = plan.heads[index];
  std::string lines = "heads[" + text(index) + "]: grid " + text(head.height) + "x" + text(head.width) + ", stride " +
                      text(head.stride_x) + " by " + text(head.stride_y) + " px, " + text(head.anchors) +
                      (head.anchors == 1 ? " anchor" : " anchors") + " a cell, " + text(head.classes.count) + " classes\n";
  if (is_softmax(plan.recipe->score)) {
    return lines + "  scores in inputs[" + text(head.logits.port) + "], Softmax over " + text(head.logits.count) + "\n";
  }
  if (!head.objectness.empty()) {
    lines += map_lines("objectness (bound)", head.objectness, head.objectness_scores);
    lines += map_lines("classes (times objectness)", head.classes, head.scores);
  } else {
    lines += map_lines(scores_by_objectness(plan.params, *plan.recipe) ? "scores (objectness alone)" : "scores", head.classes,
                       head.scores);
  }
  return lines;
}

const char *unit_text(BoxUnit unit) {
  switch (unit) {
    case BoxUnit::Pixels: return "in pixels";
    case BoxUnit::Normalised: return "normalised, multiplied with the model size";
  }
  return "";
}

// Floats without an activation have no bound.
std::string identity_line(const PlanState &plan) {
  const DType dtype = plan.ports[plan.heads.front().classes.port].type.dtype;
  if (*plan.params.score_activation != ScoreActivation::Identity || is_quantized(dtype)) {
    return "";
  }
  std::string line = "scores: published as they are, above 1 too; a score above 1 is a logit that needs Sigmoid";
  if (is_told(plan.recipe->box.unit)) {
    line +=
        ", or, as a whole number, the class id of a finished row of x1, y1, x2, y2, score, class, which this recipe does not "
        "read";
  }
  return line + "\n";
}

// What a wrong description of a decoded head looks like, where shapes cannot tell.
std::string decoded_lines(const PlanState &plan) {
  const Params &params = plan.params;
  std::string lines =
      params.box_unit == BoxUnit::Pixels
          ? "boxes: in pixels; values that are all below 1 give no detection here and need box_unit Normalised\n"
          : "boxes: normalised, multiplied with the model size\n";
  lines += "boxes: centre and size; rows of corners give boxes around the objects' upper left corners, too large\n";
  const bool product = !plan.heads.front().objectness.empty();
  if (params.num_classes == 1 && product) {
    lines += "scores: objectness times the one class; if they are about half of what they should be, the class was never "
             "trained (YOLOv7): one_class_uses_objectness\n";
  }
  return lines;
}

std::string keypoint_line(const PlanState &plan) {
  const Params &params = plan.params;
  const bool visibility = params.keypoint_dims == 3;
  const std::int64_t channels = params.keypoint_dims * params.num_keypoints;
  std::string line = "keypoints: " + text(params.num_keypoints) +
                     (params.num_keypoints == 1 ? " keypoint x (x, y" : " keypoints x (x, y") +
                     (visibility ? ", visibility" : "") + "), " + text(channels) + " channels";
  if (are_decoded(plan.recipe->keypoints)) {
    line += std::string(", ") + unit_text(params.keypoint_unit.value_or(params.box_unit));
  }
  if (!visibility) {
    line += "; visibility is written as 1";
  }
  const std::int64_t other_dims = visibility ? 2 : 3;
  if (channels % other_dims == 0) {
    line += "; if points jump about, these are " + text(channels / other_dims) + " keypoints x " +
            (visibility ? "(x, y), keypoint_dims 2" : "(x, y, visibility), keypoint_dims 3");
  }
  return line + "\n";
}

std::string mapping_line(const PlanState &plan) {
  const ImageMapping &map = plan.mapping;
  const Params &params = plan.params;
  std::string line = "image: model " + text(params.model_input_size.width) + "x" + text(params.model_input_size.height) +
                     " to original " + text(params.original_image_size.width) + "x" + text(params.original_image_size.height) +
                     ", " + text(*params.resize) + ": ";
  if (map.shift_first) {
    line += "x = (x - " + text(map.shift_x) + ") * " + text(map.scale_x) + ", y = (y - " + text(map.shift_y) + ") * " +
            text(map.scale_y);
  } else {
    line += "x = x * " + text(map.scale_x) + " + " + text(map.shift_x) + ", y = y * " + text(map.scale_y) + " + " +
            text(map.shift_y);
  }
  return line + "\n";
}

}  // namespace

std::string describe(const PlanState &plan) {
  const Params &params = plan.params;
  std::string out = std::string("recipe: ") + plan.recipe->name + ", detection threshold " + text(params.detection_threshold) +
                    ", at most " + text(params.max_detections) + " detections\n";
  for (std::size_t port = 0; port < plan.ports.size(); ++port) {
    out += port_line(plan, port);
  }
  for (std::size_t head = 0; head < plan.heads.size(); ++head) {
    out += head_lines(plan, head);
  }
  out += identity_line(plan);
  if (is_told(plan.recipe->box.unit)) {
    out += decoded_lines(plan);
  }
  if (params.task == Task::Pose) {
    out += keypoint_line(plan);
  }
  if (plan.streaming) {
    out += "suppression: none, the best valid boxes\n";
  } else if (!plan.suppresses) {
    out += "suppression: skipped at nms_iou_threshold " + text(params.nms_iou_threshold) + "\n";
  } else {
    out += (params.suppression_corners == SuppressionCorners::Exact
                ? "suppression: IoU of FP32 corners above " + text(params.nms_iou_threshold)
                : "suppression: IoU in 256ths above " + text(plan.suppression_limit - 1)) +
           (params.class_agnostic ? ", across classes\n" : ", inside a class\n");
  }
  out += mapping_line(plan);
  out += "context: " + text(plan.scratch.bytes) + " bytes\n";
  out += std::string("kernels: ") + plan.kernels->name + "\n";
  return out;
}

}  // namespace simaai::kernels::ops::boxdecode::detail
