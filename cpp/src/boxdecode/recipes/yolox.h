#pragma once

#include "boxdecode/recipes/recipe.h"

namespace simaai::kernels::ops::boxdecode::detail {

/// YOLOX: offsets from the cell's corner, log sizes. Megvii YOLOX, yolox/models/yolo_head.py.
inline constexpr Recipe yolox_recipe = {
    .profile = Profile::YoloXV1,
    .name = "YoloXV1",
    .roles = {RoleRule{Presence::Required, 4}, RoleRule{Presence::Required, 0, 1}, RoleRule{Presence::Required, 1}},
    .box = {.coding = BoxCoding::CenterSize, .point = GridPoint::Corner, .size_curve = BoxCurve::Exp},
};

}  // namespace simaai::kernels::ops::boxdecode::detail
