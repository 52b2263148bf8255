#pragma once

#include "boxdecode/recipes/recipe.h"

namespace simaai::kernels::ops::boxdecode::detail {

/// YOLO26: one-to-one heads, raw distances without bins. Ultralytics 8.4, nn/modules/head.py (Detect, Segment26, Pose26).
inline constexpr Recipe yolo26_recipe = {
    .profile = Profile::Yolo26V1,
    .name = "Yolo26V1",
    .ports = {{Role::Boxes, {Part::Box}},
              {Role::Scores, {Part::Classes}},
              {Role::Extra, {Part::Keypoints, Part::Coefficients}}},
    .box = {.coding = BoxCoding::Distances, .point = GridPoint::Center},
    .suppression = SuppressionRule::ClassAwareUnlessZero,
    .keypoints = KeypointForm::RawPlusCellCenter,
};

}  // namespace simaai::kernels::ops::boxdecode::detail
