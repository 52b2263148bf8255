#pragma once

#include "boxdecode/recipes/recipe.h"

namespace simaai::kernels::ops::boxdecode::detail {

/// YOLOv5 and v7 exports that split decoded centres, sizes and scores into three ports, anchor-major.
inline constexpr Recipe yolo_anchor_decoded_recipe = {
    .profile = Profile::YoloAnchorDecodedV1,
    .name = "YoloAnchorDecodedV1",
    .segmentation = true,
    .roles = {RoleRule{Presence::Required, 2}, RoleRule{Presence::Required, 1, 1}, RoleRule{}, RoleRule{Presence::ByTask},
              RoleRule{Presence::Required, 2}},
    .inherent_objectness = InherentObjectness::BeforeClasses,
    .anchors = AnchorRule::BoxPairs,
    .free_grid = true,
    .box = {.coding = BoxCoding::CenterSize, .unit = LengthUnit::Told, .size_unit = LengthUnit::Told},
    .one_class = OneClassRule::ByRequest,
    .score_padding = ScorePadding::Sixteen,
};

}  // namespace simaai::kernels::ops::boxdecode::detail
