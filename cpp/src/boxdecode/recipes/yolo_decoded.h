#pragma once

#include "boxdecode/recipes/recipe.h"

namespace simaai::kernels::ops::boxdecode::detail {

/// Heads that the export has already decoded to [cx, cy, w, h] model pixels, apart or in one tensor with the classes:
/// the one-tensor ONNX exports of Ultralytics ([4+nc, 8400]) and of YOLOv5, v6, v7 ([25200, 5+nc]).
inline constexpr Recipe yolo_decoded_recipe = {
    .profile = Profile::YoloDecodedV1,
    .name = "YoloDecodedV1",
    .ports = {{Role::Boxes, {Part::Box}},
              {Role::Scores, {Part::Classes}},
              {.role = Role::Objectness, .parts = {Part::Objectness}, .optional = true},
              {Role::Extra, {Part::Keypoints, Part::Coefficients}}},
    .combined = {Part::Box, Part::Objectness, Part::Classes, Part::Keypoints, Part::Coefficients},
    .free_grid = true,
    .box = {.coding = BoxCoding::CenterSize, .unit = LengthUnit::Told, .size_unit = LengthUnit::Told},
    .one_class = OneClassRule::ByRequest,
    .keypoints = KeypointForm::ModelPixels,
    .score_padding = ScorePadding::SixteenWithObjectness,
};

}  // namespace simaai::kernels::ops::boxdecode::detail
