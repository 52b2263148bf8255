#pragma once

#include "boxdecode/recipes/recipe.h"

namespace simaai::kernels::ops::boxdecode::detail {

/// YOLOv5 and v7 exports that split decoded centres, sizes and scores into three ports, anchor-major.
inline constexpr Recipe yolo_anchor_decoded_recipe = {
    .profile = Profile::YoloAnchorDecodedV1,
    .name = "YoloAnchorDecodedV1",
    .ports = {{Role::Boxes, {Part::Center}},
              {Role::Scores, {Part::Objectness, Part::Classes}},
              {Role::Extra, {Part::Coefficients}},
              {Role::Sizes, {Part::Size}}},
    .anchors = AnchorRule::BoxPairs,
    .free_grid = true,
    .box = {.coding = BoxCoding::CenterSize, .unit = LengthUnit::Told, .size_unit = LengthUnit::Told},
    .one_class = OneClassRule::ByRequest,
    .score_padding = ScorePadding::Sixteen,
};

}  // namespace simaai::kernels::ops::boxdecode::detail
