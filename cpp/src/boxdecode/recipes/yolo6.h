#pragma once

#include "boxdecode/recipes/recipe.h"

namespace simaai::kernels::ops::boxdecode::detail {

/// YOLOv6 n, s and lite: distances without bins. meituan/YOLOv6, yolov6/models/effidehead.py.
inline constexpr Recipe yolo6_recipe = {
    .profile = Profile::Yolo6V1,
    .name = "Yolo6V1",
    .ports = {{Role::Boxes, {Part::Box}}, {Role::Scores, {Part::Classes}}},
    .box = {.coding = BoxCoding::Distances, .point = GridPoint::Center},
};

}  // namespace simaai::kernels::ops::boxdecode::detail
