#pragma once

#include "boxdecode/recipes/recipe.h"

namespace simaai::kernels::ops::boxdecode::detail {

/// DETR: a set of queries, softmax with the background last, no suppression. facebookresearch/detr, models/detr.py.
inline constexpr Recipe detr_recipe = {
    .profile = Profile::DetrV1,
    .name = "DetrV1",
    .roles = {RoleRule{Presence::Required, 4}, RoleRule{Presence::Required, 1, 1}},
    .exact_heads = 1,
    .free_grid = true,
    .box = {.coding = BoxCoding::CenterSize,
            .curve = BoxCurve::Told,
            .size_curve = BoxCurve::Told,
            .unit = LengthUnit::Frame,
            .size_unit = LengthUnit::Frame},
    .score = ScoreForm::SoftmaxBest,
    .background = Background::Last,
    .nonfinite_logit = NonfiniteLogit::Discards,
    .activation = ActivationRule::Softmax,
    .suppression = SuppressionRule::None,
    .resize = ResizeRule::Stretch,
};

}  // namespace simaai::kernels::ops::boxdecode::detail
