#pragma once

#include "boxdecode/recipes/recipe.h"

namespace simaai::kernels::ops::boxdecode::detail {

/// CenterNet: a heat map, sizes and offsets in cells, no suppression. xingyizhou/CenterNet, src/lib/models/decode.py.
inline constexpr Recipe centernet_recipe = {
    .profile = Profile::CenterNetV1,
    .name = "CenterNetV1",
    .ports = {{Role::Boxes, {Part::Size}}, {Role::Scores, {Part::Classes}}, {Role::Extra, {Part::Center}}},
    .exact_heads = 1,
    .free_grid = true,
    .box = {.coding = BoxCoding::CenterSize, .point = GridPoint::Corner},
    .score = ScoreForm::EveryClass,
    .suppression = SuppressionRule::None,
    .takes_peak_window = true,
};

}  // namespace simaai::kernels::ops::boxdecode::detail
