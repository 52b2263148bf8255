#pragma once

#include "boxdecode/recipes/recipe.h"

namespace simaai::kernels::ops::boxdecode::detail {

/// CenterNet: a heat map, sizes and offsets in cells, no suppression. xingyizhou/CenterNet, src/lib/models/decode.py.
inline constexpr Recipe centernet_recipe = {
    .profile = Profile::CenterNetV1,
    .name = "CenterNetV1",
    .roles = {RoleRule{Presence::Required, 2}, RoleRule{Presence::Required, 0, 1}, RoleRule{}, RoleRule{Presence::Required, 2}},
    .exact_heads = 1,
    .free_grid = true,
    .box = {.coding = BoxCoding::CenterSize, .point = GridPoint::Corner},
    .score = ScoreForm::EveryClass,
    .suppression = SuppressionRule::None,
    .takes_peak_window = true,
};

}  // namespace simaai::kernels::ops::boxdecode::detail
