#pragma once

#include "boxdecode/recipes/recipe.h"

namespace simaai::kernels::ops::boxdecode::detail {

/// EfficientDet: nine anchors a cell, octave slow and aspect fast. google/automl, efficientdet/tf2/{anchors,postprocess}.py.
inline constexpr Recipe efficientdet_recipe = {
    .profile = Profile::EfficientDetV1,
    .name = "EfficientDetV1",
    .ports = {{Role::Boxes, {Part::Box}}, {Role::Scores, {Part::Classes}}},
    .anchors = AnchorRule::Nine,
    .free_grid = true,
    .box = {.coding = BoxCoding::Deltas, .unit = LengthUnit::Pixels, .size_unit = LengthUnit::Pixels, .y_first = true},
    .priors = PriorRule::EfficientDet,
    .resize = ResizeRule::TopLeft,
    .score_padding = ScorePadding::Sixteen,
    .channel_tile_sixteen = true,
    .takes_anchor_scale = true,
};

}  // namespace simaai::kernels::ops::boxdecode::detail
