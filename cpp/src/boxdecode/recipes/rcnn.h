#pragma once

#include "boxdecode/recipes/recipe.h"

namespace simaai::kernels::ops::boxdecode::detail {

/// First stage of Faster R-CNN: proposals of a region proposal network. torchvision models/detection/{rpn,anchor_utils}.py.
inline constexpr Recipe rcnn_stage1_recipe = {
    .profile = Profile::RcnnStage1V1,
    .name = "RcnnStage1V1",
    .ports = {{Role::Boxes, {Part::Box}}, {Role::Scores, {Part::Classes}}},
    .anchors = AnchorRule::Three,
    .exact_heads = 5,
    .free_grid = true,
    .box = {.coding = BoxCoding::Deltas, .unit = LengthUnit::Pixels, .size_unit = LengthUnit::Pixels, .clip = true},
    .priors = PriorRule::Rpn,
    .activation = ActivationRule::Sigmoid,
    .class_is_level = true,
    .exact_classes = 1,
    .takes_anchors = true,
    .publishes_proposals = true,
};

}  // namespace simaai::kernels::ops::boxdecode::detail
