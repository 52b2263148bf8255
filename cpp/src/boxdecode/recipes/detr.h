#pragma once

#include "boxdecode/recipes/recipe.h"

namespace simaai::kernels::ops::boxdecode::detail {

/// DETR: a set of queries, softmax with the background last, no suppression. facebookresearch/detr, models/detr.py.
inline constexpr Recipe detr_recipe = {
    .profile = Profile::DetrV1,
    .name = "DetrV1",
    .ports = {{Role::Boxes, {Part::Box}}, {Role::Scores, {Part::Classes, Part::Background}}},
    .exact_heads = 1,
    .free_grid = true,
    .box = {.coding = BoxCoding::CenterSize,
            .curve = BoxCurve::Told,
            .size_curve = BoxCurve::Told,
            .unit = LengthUnit::Frame,
            .size_unit = LengthUnit::Frame},
    .score = ScoreForm::SoftmaxBest,
    .nonfinite_logit = NonfiniteLogit::Discards,
    .activation = ActivationRule::Softmax,
    .suppression = SuppressionRule::None,
    .resize = ResizeRule::Stretch,
};

}  // namespace simaai::kernels::ops::boxdecode::detail
