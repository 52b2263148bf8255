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

std::string box_channels(BoxForm form) {
  switch (form) {
    case BoxForm::LtrbCells: return "l, t, r, b";
    case BoxForm::LtrbBins: return "side-major: R bins of l, then of t, r, b";
    case BoxForm::CenterSizePixels: return "cx, cy, w, h";
    case BoxForm::ExpCells: return "x, y, w, h";
    case BoxForm::SigmoidAnchor: return "x, y, w, h";
    case BoxForm::CenterSizeSplit: return "cx, cy in boxes; w, h in sizes";
    case BoxForm::VarianceXyxy: return "dx, dy, dw, dh";
    case BoxForm::VarianceYxyx: return "ty, tx, th, tw (y first)";
    case BoxForm::AnchorYxyx: return "ty, tx, th, tw (y first)";
    case BoxForm::AnchorXyxyClipped: return "dx, dy, dw, dh";
    case BoxForm::CenterSizeUnit: return "cx, cy, w, h";
    case BoxForm::CenterOffsetCells: return "w, h in boxes; ox, oy in extra";
  }
  return {};
}

Formula box_formula(BoxForm form) {
  switch (form) {
    case BoxForm::LtrbCells:
      return {"x1 = (gx + ½ − l)·s, y1 = (gy + ½ − t)·s, x2 = (gx + ½ + r)·s, y2 = (gy + ½ + b)·s. Distances are in cells "
              "and may be negative; a box that turns inside out is discarded.",
              "Ultralytics `utils/tal.py` (dist2bbox, anchor offset 0.5); YOLOv6 `yolov6/assigners/anchor_generator.py`"};
    case BoxForm::LtrbBins:
      return {
          "each side is d = (Σ k·e_k) / (Σ e_k) over its R bins, e_k = exp32(x_k − max), k from 0; then x1 = (gx + ½ − l)·s, "
          "y1 = (gy + ½ − t)·s, x2 = (gx + ½ + r)·s, y2 = (gy + ½ + b)·s. 2 ≤ R ≤ 64, the same R for all heads.",
          "Generalized Focal Loss (Li et al. 2020); Ultralytics `nn/modules/block.py` (DFL), `utils/tal.py`"};
    case BoxForm::CenterSizePixels:
      return {"x1 = cx − ½w, y1 = cy − ½h, x2 = cx + ½w, y2 = cy + ½h, in model pixels; with `box_unit` Normalised the corners "
              "are then multiplied with the model width and height.",
              "Ultralytics `nn/modules/head.py` (export of Detect); YOLOv5 `models/yolo.py`; YOLOv6 `effidehead.py`"};
    case BoxForm::ExpCells:
      return {
          "cx = (x + gx)·s, cy = (y + gy)·s, without a half cell; w = exp32(w)·s, h = exp32(h)·s; corners as cx ± ½w, cy ± ½h.",
          "YOLOX `yolox/models/yolo_head.py` (decode_outputs)"};
    case BoxForm::SigmoidAnchor:
      return {"cx = (2σ(x) + (gx − ½))·s, cy = (2σ(y) + (gy − ½))·s; w = (2σ(w))²·anchor width, h = (2σ(h))²·anchor height; "
              "corners as cx ± ½w, cy ± ½h.",
              "YOLOv5 `models/yolo.py` (Detect); YOLOv7 `models/yolo.py`"};
    case BoxForm::CenterSizeSplit:
      return {"x1 = cx − ½w and so on, in model pixels; with `box_unit` Normalised the corners are then multiplied with the "
              "model width and height.",
              "YOLOv5 and YOLOv7 `models/yolo.py`, exports that keep xy, wh and conf apart"};
    case BoxForm::VarianceXyxy:
    case BoxForm::VarianceYxyx:
      return {
          "cx = 0.1·dx·pw + pcx, cy = 0.1·dy·ph + pcy; w = exp32(min(0.2·dw, ln(1000/16)))·pw, h alike (the bound is the "
          "FP32 0x40845349); corners, then × model width or height. p is the normalised prior. Boxes are not clipped before "
          "suppression.",
          "variances 0.1 and 0.2: SSD (Liu et al. 2016), NVIDIA DeepLearningExamples `PyTorch/Detection/SSD`, TensorFlow "
          "`box_coders/faster_rcnn_box_coder.py` (scale factors 10, 10, 5, 5), torchvision `models/detection/ssd.py`; "
          "bound: torchvision `models/detection/_utils.py`"};
    case BoxForm::AnchorYxyx:
      return {"cx = tx·aw + acx, cy = ty·ah + acy; w = exp32(min(tw, ln(1000/16)))·aw, h alike (the bound is the FP32 "
              "0x40845349); no variances; corners as cx ± ½w, cy ± ½h, in pixels. a is the anchor.",
              "automl `efficientdet/tf2/anchors.py` (decode_box_outputs); bound: torchvision `models/detection/_utils.py`"};
    case BoxForm::AnchorXyxyClipped:
      return {"cx = dx·aw + acx, cy = dy·ah + acy; w = exp32(min(dw, ln(1000/16)))·aw, h alike (the bound is the FP32 "
              "0x40845349); corners, clipped to the model frame, then validated.",
              "torchvision `models/detection/_utils.py` (BoxCoder, weights 1), `rpn.py`"};
    case BoxForm::CenterSizeUnit:
      return {
          "x1 = cx − ½w and so on from values in 0..1, then × model width or height. `box_activation` Sigmoid is applied to "
          "the four values first; Identity is the default.",
          "DETR `models/detr.py` (PostProcess)"};
    case BoxForm::CenterOffsetCells:
      return {"cx = (gx + ox)·s, cy = (gy + oy)·s; w = w·s, h = h·s; corners as cx ± ½w, cy ± ½h.",
              "CenterNet `src/lib/models/decode.py` (ctdet_decode)"};
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

std::string background_text(Background background) {
  switch (background) {
    case Background::None: return "none";
    case Background::First: return "class 0, never emitted; ids keep their encoded index, and `num_classes` counts it";
    case Background::Last: return "the last encoded class, never emitted; `num_classes` does not count it";
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

std::string arrangement_text(Arrangement arrangement) {
  switch (arrangement) {
    case Arrangement::Apart: return "one port for each role";
    case Arrangement::Combined: return "one port for each head: `boxes` and `scores` name the same one";
    case Arrangement::ApartOrCombined:
      return "one port for each role, or one for each head (`boxes`, `scores` and every other role that is there name the "
             "same one); every head in the same form";
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
