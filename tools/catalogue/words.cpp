#include "boxdecode/check/text.h"
#include "texts.h"

namespace catalogue {

using namespace detail;

std::string name_of(Role role) {
  switch (role) {
    case Role::Boxes: return "boxes";
    case Role::Scores: return "scores";
    case Role::Objectness: return "objectness";
    case Role::Extra: return "extra";
    case Role::Sizes: return "sizes";
  }
  return {};
}

namespace {

std::string point_text(GridPoint point, const std::string &cell) {
  switch (point) {
    case GridPoint::Corner: return cell;
    case GridPoint::Center: return cell + " + ½";
    case GridPoint::HalfBefore: return cell + " − ½";
  }
  return {};
}

std::string curve_text(BoxCurve curve, const std::string &name) {
  std::string formula(formula_of(curve));
  return formula.replace(formula.find('#'), 1, name);
}

// What the corners are multiplied with, and what is done to them.
std::string finish_text(const BoxRule &rule) {
  std::string text = "corners as cx ± ½w, cy ± ½h";
  switch (rule.unit) {
    case LengthUnit::Cells:
    case LengthUnit::Anchors: break;
    case LengthUnit::Pixels: text += ", in pixels"; break;
    case LengthUnit::Frame: text += ", then × model width or height"; break;
    case LengthUnit::Told:
      text += ", in model pixels; with `box_unit` Normalised they are then multiplied with the model width and height";
      break;
  }
  return text + (rule.clip ? ", clipped to the model frame, then validated" : "");
}

std::string distance_formula(const BoxRule &rule) {
  const std::string x = point_text(rule.point, "gx");
  const std::string y = point_text(rule.point, "gy");
  const auto side = [&](const char *corner, const std::string &point, const char *sign, const char *name) {
    return std::string(corner) + " = (" + point + sign + curve_text(rule.curve, name) + ")·s";
  };
  const std::string corners = side("x1", x, " − ", "l") + ", " + side("y1", y, " − ", "t") + ", " + side("x2", x, " + ", "r") +
                              ", " + side("y2", y, " + ", "b");
  if (rule.curve == BoxCurve::Bins) {
    return "each side is d = (Σ k·e_k) / (Σ e_k) over its R bins, e_k = exp32(x_k − max), k from 0; then " + corners +
           ". 2 ≤ R ≤ 64, the same R for all heads";
  }
  return corners + ". Distances are in cells and may be negative; a box that turns inside out is discarded";
}

std::string center_text(const BoxRule &rule, const char *result, const char *name, const char *cell) {
  const bool corner = rule.point == GridPoint::Corner;
  switch (rule.unit) {
    case LengthUnit::Cells:
      return std::string(result) + " = (" + curve_text(rule.curve, name) + (corner ? " + " : " + (") +
             point_text(rule.point, cell) + (corner ? ")·s" : "))·s");
    case LengthUnit::Anchors:
    case LengthUnit::Pixels:
    case LengthUnit::Frame:
    case LengthUnit::Told: break;
  }
  return std::string(result) + " = " + curve_text(rule.curve, result);
}

std::string size_text(const BoxRule &rule, const char *name, const char *anchor) {
  const std::string text = std::string(name) + " = " + curve_text(rule.size_curve, name);
  switch (rule.size_unit) {
    case LengthUnit::Cells: return text + "·s";
    case LengthUnit::Anchors: return text + "·" + anchor;
    case LengthUnit::Pixels:
    case LengthUnit::Frame:
    case LengthUnit::Told: break;
  }
  return text;
}

std::string center_size_formula(const BoxRule &rule) {
  const std::string told = rule.curve == BoxCurve::Told ? "; act is `box_activation`, Identity by default" : "";
  const bool plain = rule.curve == BoxCurve::Raw && rule.size_curve == BoxCurve::Raw && rule.unit != LengthUnit::Cells;
  if (plain) {
    return finish_text(rule);
  }
  return center_text(rule, "cx", "x", "gx") + ", " + center_text(rule, "cy", "y", "gy") + "; " +
         size_text(rule, "w", "anchor width") + ", " + size_text(rule, "h", "anchor height") + "; " + finish_text(rule) + told;
}

std::string delta_formula(const BoxRule &rule) {
  const auto factor = [](float variance) { return variance == 1.0F ? std::string() : text(variance) + "·"; };
  const std::string center = factor(rule.center_variance);
  const std::string size = factor(rule.size_variance);
  return "cx = " + center + "dx·pw + pcx, cy = " + center + "dy·ph + pcy; w = exp32(min(" + size +
         "dw, ln(1000/16)))·pw, h alike (the bound is the FP32 0x40845349); " + finish_text(rule) + ". p is the prior" +
         (rule.unit == LengthUnit::Frame ? ", normalised" : ", in pixels") +
         (rule.clip ? "" : ". Boxes are not clipped before suppression");
}

}  // namespace

std::string part_contents(Part part, const BoxRule &rule) {
  const bool cells = rule.unit == LengthUnit::Cells;
  switch (part) {
    case Part::Box:
      switch (rule.coding) {
        case BoxCoding::Distances: return rule.curve == BoxCurve::Bins ? "R bins of l, then of t, r, b" : "l, t, r, b";
        case BoxCoding::CenterSize: return cells ? "x, y, w, h" : "cx, cy, w, h";
        case BoxCoding::Deltas: return rule.y_first ? "dy, dx, dh, dw" : "dx, dy, dw, dh";
      }
      return {};
    case Part::Center: return cells ? "x, y" : "cx, cy";
    case Part::Size: return "w, h";
    case Part::Objectness: return "objectness";
    case Part::Classes: return "classes";
    case Part::Background: return "background";
    case Part::Keypoints: return "keypoints";
    case Part::Coefficients: return "coefficients";
  }
  return {};
}

std::string part_channels(Part part, const BoxRule &rule) {
  switch (part) {
    case Part::Box: return rule.curve == BoxCurve::Bins ? "4·R" : "4";
    case Part::Center:
    case Part::Size: return "2";
    case Part::Objectness:
    case Part::Background: return "1";
    case Part::Classes: return "nc";
    case Part::Keypoints: return "keypoint_dims·num_keypoints";
    case Part::Coefficients: return "M";
  }
  return {};
}

std::string box_formula(const BoxRule &rule) {
  switch (rule.coding) {
    case BoxCoding::Distances: return distance_formula(rule);
    case BoxCoding::CenterSize: return center_size_formula(rule);
    case BoxCoding::Deltas: return delta_formula(rule);
  }
  return {};
}

std::string score_formula(ScoreForm form) {
  switch (form) {
    case ScoreForm::BestClass: return "one candidate for each anchor, its best class by raw key (the first wins a tie)";
    case ScoreForm::SoftmaxBest:
      return "one candidate for each anchor, its best foreground class by raw key (the first wins a tie); score = exp32(x − "
             "max) "
             "/ Σ exp32(x_c − max) over all encoded classes, background included";
    case ScoreForm::EveryClass:
      return "every class of every cell is a candidate; score = act(class); with `peak_window` 3 only where no neighbour "
             "within "
             "one cell has a larger raw key in the same class";
  }
  return {};
}

Formula prior_formula(PriorRule rule) {
  switch (rule) {
    case PriorRule::None: return {};
    case PriorRule::YoloAnchors:
      return {"anchors in pixels, by number of heads with strides 8, 16, 32(, 64) in that order; any other head set needs "
              "`anchors`",
              "YOLOv5 `models/hub/anchors.yaml`; YOLOv7 `cfg/deploy/yolov7.yaml` and `yolov7-w6.yaml`"};
    case PriorRule::SsdNvidia:
      return {"centre (g + ½)·step/300 with steps 8, 16, 32, 64, 100, 300; sizes of 21, 45, 99, 153, 207, 261 (315) pixels: "
              "(s, s), the square of √(s·s'), then for each ratio a of the level (s√a, s/√a) and (s/√a, s√a) with a = 2 or a = "
              "2, 3; all four values clamped to 0..1",
              "NVIDIA DeepLearningExamples `PyTorch/Detection/SSD/ssd/utils.py` (dboxes300_coco)"};
    case PriorRule::SsdTensorFlow:
      return {
          "centre (g + ½)/F; w = s√a, h = s/√a with scales .2, .35, .5, .65, .8, .95 (1). Level 0: (.1, 1), (.2, 2), (.2, ½); "
          "other levels: ratios 1, 2, ½, 3, 0.3333 (that literal) at s, then the square of √(s·s'); not clipped",
          "TensorFlow models `object_detection/anchor_generators/multiple_grid_anchor_generator.py`, `samples/configs`"};
    case PriorRule::SsdTorchvision:
      return {"centre (g + ½)/F; scales .2, .35, .5, .65, .8, .95, 1: (s, s), the square of √(s·s'), (s√2, s/√2) and swapped, "
              "(s√3, s/√3) and swapped; width and height clamped to 1",
              "torchvision `models/detection/anchor_utils.py` (DefaultBoxGenerator), `ssdlite.py`"};
    case PriorRule::EfficientDet:
      return {
          "centre (g + ½)·s with s = mw/W and mh/H (fractions allowed); size = anchor_scale·s·2^(o/3)·(√a, 1/√a), octave o = "
          "0, 1, 2 slow, ratio a = 1, 2, ½ fast",
          "automl `efficientdet/tf2/anchors.py`, `hparams_config.py` (anchor_scale 4; D7 has 5, lite0 to lite2 and lite3x 3)"};
    case PriorRule::Rpn:
      return {"centre g·⌊mw/W⌋, g·⌊mh/H⌋ (no half cell); sizes 32·2^level with height/width ½, 1, 2, corners rounded half to "
              "even; `anchors` replaces the table, three to a level, centred and not rounded",
              "torchvision `models/detection/anchor_utils.py` (AnchorGenerator), `faster_rcnn.py`"};
  }
  return {};
}

std::string activation_text(ActivationRule rule) {
  switch (rule) {
    case ActivationRule::Explicit:
      return "must be given: `Sigmoid` where the scores are logits, `Identity` where the export already holds probabilities";
    case ActivationRule::Sigmoid: return "always `Sigmoid`; the request may leave it out";
    case ActivationRule::Softmax: return "always `Softmax`; the request may leave it out";
  }
  return {};
}

std::string nonfinite_text(NonfiniteLogit rule) {
  switch (rule) {
    case NonfiniteLogit::DiscardsUnlessMinusInfinity:
      return "a NaN or +inf logit, the background's included, discards the anchor; −inf is ordinary";
    case NonfiniteLogit::Discards: return "any nonfinite logit, the background's included, discards the cell";
  }
  return {};
}

std::string suppression_text(SuppressionRule rule) {
  switch (rule) {
    case SuppressionRule::ClassAware: return "greedy, inside a class (`class_agnostic` across classes)";
    case SuppressionRule::ClassAwareUnlessZero:
      return "greedy, inside a class (`class_agnostic` across classes); skipped at `nms_iou_threshold` 0";
    case SuppressionRule::None: return "none: the best K valid boxes; `nms_iou_threshold` is checked and not used";
  }
  return {};
}

std::string resize_text(ResizeRule rule) {
  switch (rule) {
    case ResizeRule::Letterbox: return "`CenteredLetterbox`";
    case ResizeRule::TopLeft: return "`TopLeftLetterbox`";
    case ResizeRule::Stretch: return "`Stretch`";
    case ResizeRule::StretchOnly: return "`Stretch`, and no other policy is taken";
  }
  return {};
}

std::string keypoint_text(KeypointForm form) {
  switch (form) {
    case KeypointForm::None: return {};
    case KeypointForm::TwiceRawPlusCell:
      return "kx = (2·x + gx)·s, ky = (2·y + gy)·s, visibility σ(v) (Ultralytics `nn/modules/head.py`, Pose)";
    case KeypointForm::RawPlusCellCenter:
      return "kx = (x + gx + ½)·s, ky = (y + gy + ½)·s, visibility σ(v) (Ultralytics `nn/modules/head.py`, Pose26)";
    case KeypointForm::ModelPixels:
      return "x, y are model pixels already, or normalised: as the boxes are, or as `keypoint_unit` says; v is kept as it is";
  }
  return {};
}

std::string one_class_text(OneClassRule rule) {
  switch (rule) {
    case OneClassRule::Product: return {};
    case OneClassRule::ByRequest:
      return "; with one class and `one_class_uses_objectness` act(objectness) alone, and the class channel is not read";
    case OneClassRule::ObjectnessAlone: return "; with one class act(objectness) alone, and the class channel is not read";
  }
  return {};
}

std::string major_text(Major major) {
  switch (major) {
    case Major::Anchor: return "anchor-major, channel = anchor·items + item";
    case Major::Part: return "part-major, channel = item·A + anchor";
  }
  return {};
}

std::string anchor_count_text(AnchorRule rule) {
  switch (rule) {
    case AnchorRule::One: return "1";
    case AnchorRule::Three: return "3";
    case AnchorRule::Nine: return "9";
    case AnchorRule::Table: return "A = as many as the head's anchor table has";
    case AnchorRule::BoxPairs: return "A = half the channels of boxes";
    case AnchorRule::Levels: return "A by level, see below";
  }
  return {};
}

std::string padding_text(ScorePadding padding) {
  switch (padding) {
    case ScorePadding::Any: return {};
    case ScorePadding::Sixteen: return "scores that are padded must have a multiple of 16 physical channels";
    case ScorePadding::SixteenWithObjectness:
      return "scores of heads with objectness that are padded must have a multiple of 16 physical channels";
  }
  return {};
}

}  // namespace catalogue
