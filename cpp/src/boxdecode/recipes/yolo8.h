#pragma once

#include "boxdecode/recipes/recipe.h"

namespace simaai::kernels::ops::boxdecode::detail {

/// YOLOv8, v9, 11, 12, World, and every head with four sides of R bins. Ultralytics nn/modules/head.py and block.py (DFL),
/// utils/tal.py.
inline constexpr Recipe yolo8_recipe = {
    .profile = Profile::Yolo8V1,
    .name = "Yolo8V1",
    .ports = {{Role::Boxes, {Part::Box}},
              {Role::Scores, {Part::Classes}},
              {Role::Extra, {Part::Keypoints, Part::Coefficients}}},
    .box = {.coding = BoxCoding::Distances, .point = GridPoint::Center, .curve = BoxCurve::Bins},
    .keypoints = KeypointForm::TwiceRawPlusCell,
};

}  // namespace simaai::kernels::ops::boxdecode::detail
