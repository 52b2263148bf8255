#pragma once

#include "boxdecode/recipes/recipe.h"

namespace simaai::kernels::ops::boxdecode::detail {

/// YOLOX: offsets from the cell's corner, log sizes. Megvii YOLOX, yolox/models/yolo_head.py.
inline constexpr Recipe yolox_recipe = {
    .profile = Profile::YoloXV1,
    .name = "YoloXV1",
    .ports = {{Role::Boxes, {Part::Box}}, {Role::Scores, {Part::Classes}}, {Role::Objectness, {Part::Objectness}}},
    .box = {.coding = BoxCoding::CenterSize, .point = GridPoint::Corner, .size_curve = BoxCurve::Exp},
};

}  // namespace simaai::kernels::ops::boxdecode::detail
