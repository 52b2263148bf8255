#pragma once

#include "boxdecode/recipes/recipe.h"
#include "boxdecode/recipes/yolo5.h"

namespace simaai::kernels::ops::boxdecode::detail {

/// YOLOv7: as YOLOv5 with its own anchors; a model of one class scores by objectness alone. WongKinYiu/yolov7,
/// models/yolo.py and utils/general.py.
inline constexpr Recipe yolo7_recipe = {
    .profile = Profile::Yolo7V1,
    .name = "Yolo7V1",
    .combined = {Part::Box, Part::Objectness, Part::Classes, Part::Coefficients},
    .anchors = AnchorRule::Table,
    .box = sigmoid_anchor_box,
    .priors = PriorRule::YoloAnchors,
    .activation = ActivationRule::Sigmoid,
    .one_class = OneClassRule::ObjectnessAlone,
    .takes_anchors = true,
    .anchors_of_three_heads = yolo7_anchors_p5,
    .anchors_of_four_heads = yolo5_anchors_p6,
};

}  // namespace simaai::kernels::ops::boxdecode::detail
