#pragma once

#include "boxdecode/recipes/recipe.h"
#include "boxdecode/recipes/yolo_anchors.h"

namespace simaai::kernels::ops::boxdecode::detail {

/// cx = (2σ(x) + gx − ½)·s, w = (2σ(w))²·anchor width: YOLOv5 and v7.
inline constexpr BoxRule sigmoid_anchor_box = {
    .coding = BoxCoding::CenterSize,
    .point = GridPoint::HalfBefore,
    .curve = BoxCurve::DoubleSigmoid,
    .size_curve = BoxCurve::SquaredDoubleSigmoid,
    .size_unit = LengthUnit::Anchors,
};

/// YOLOv5 (also Scaled-YOLOv4 and v3u): anchor-major combined heads. ultralytics/yolov5, models/yolo.py.
inline constexpr Recipe yolo5_recipe = {
    .profile = Profile::Yolo5V1,
    .name = "Yolo5V1",
    .combined = {Part::Box, Part::Objectness, Part::Classes, Part::Coefficients},
    .anchors = AnchorRule::Table,
    .box = sigmoid_anchor_box,
    .priors = PriorRule::YoloAnchors,
    .activation = ActivationRule::Sigmoid,
    .takes_anchors = true,
    .anchors_of_three_heads = yolo5_anchors_p5,
    .anchors_of_four_heads = yolo5_anchors_p6,
};

}  // namespace simaai::kernels::ops::boxdecode::detail
