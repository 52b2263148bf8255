#pragma once

#include "boxdecode/recipes/recipe.h"

namespace simaai::kernels::ops::boxdecode::detail {

/// The SSD family: six levels, boxes as offsets from priors with variances 0.1 and 0.2, class 0 is the background.
/// NVIDIA DeepLearningExamples PyTorch/Detection/SSD; TensorFlow object_detection anchor_generators and box_coders;
/// torchvision models/detection/{anchor_utils,ssdlite}.py.
inline constexpr Ports ssd_ports = {{Role::Boxes, {Part::Box}}, {Role::Scores, {Part::Background, Part::Classes}}};

/// Corners from deltas against normalised priors, x first (NVIDIA, torchvision) or y first (TensorFlow).
inline constexpr BoxRule ssd_box = {.coding = BoxCoding::Deltas,
                                    .unit = LengthUnit::Frame,
                                    .size_unit = LengthUnit::Frame,
                                    .center_variance = 0.1F,
                                    .size_variance = 0.2F};
inline constexpr BoxRule ssd_box_y_first = {.coding = BoxCoding::Deltas,
                                            .unit = LengthUnit::Frame,
                                            .size_unit = LengthUnit::Frame,
                                            .center_variance = 0.1F,
                                            .size_variance = 0.2F,
                                            .y_first = true};

inline constexpr Recipe ssd300_recipe = {
    .profile = Profile::Ssd300V1,
    .name = "Ssd300V1",
    .ports = {{Role::Boxes, {Part::Box}, Major::Part}, {Role::Scores, {Part::Background, Part::Classes}, Major::Part}},
    .anchors = AnchorRule::Levels,
    .free_grid = true,
    .box = ssd_box,
    .priors = PriorRule::SsdNvidia,
    .score = ScoreForm::SoftmaxBest,
    .activation = ActivationRule::Softmax,
    .resize = ResizeRule::StretchOnly,
    .any_channel_tile = true,
    .signature = {.input_side = 300,
                  .grids = {38, 19, 10, 5, 3, 1},
                  .anchors = {4, 6, 6, 6, 4, 4},
                  .encoded_classes = 81,
                  .prefix = true},
};

inline constexpr Recipe ssd_mobile300_recipe = {
    .profile = Profile::SsdMobile300V1,
    .name = "SsdMobile300V1",
    .ports = ssd_ports,
    .anchors = AnchorRule::Levels,
    .free_grid = true,
    .box = ssd_box_y_first,
    .priors = PriorRule::SsdTensorFlow,
    .activation = ActivationRule::Sigmoid,
    .raw_key_order = true,
    .resize = ResizeRule::StretchOnly,
    .any_channel_tile = true,
    .signature = {.input_side = 300,
                  .grids = {19, 10, 5, 3, 2, 1},
                  .anchors = {3, 6, 6, 6, 6, 6},
                  .encoded_classes = 91,
                  .other_class_counts = true},
};

inline constexpr Recipe ssd_mobile320_recipe = {
    .profile = Profile::SsdMobile320V1,
    .name = "SsdMobile320V1",
    .ports = ssd_ports,
    .anchors = AnchorRule::Levels,
    .free_grid = true,
    .box = ssd_box_y_first,
    .priors = PriorRule::SsdTensorFlow,
    .activation = ActivationRule::Sigmoid,
    .raw_key_order = true,
    .resize = ResizeRule::StretchOnly,
    .any_channel_tile = true,
    .signature = {.input_side = 320,
                  .grids = {20, 10, 5, 3, 2, 1},
                  .anchors = {3, 6, 6, 6, 6, 6},
                  .encoded_classes = 91,
                  .other_class_counts = true},
};

inline constexpr Recipe ssd_lite_mobile320_recipe = {
    .profile = Profile::SsdLiteMobile320V1,
    .name = "SsdLiteMobile320V1",
    .ports = ssd_ports,
    .anchors = AnchorRule::Levels,
    .free_grid = true,
    .box = ssd_box,
    .priors = PriorRule::SsdTorchvision,
    .score = ScoreForm::SoftmaxBest,
    .activation = ActivationRule::Softmax,
    .resize = ResizeRule::StretchOnly,
    .any_channel_tile = true,
    .signature = {.input_side = 320,
                  .grids = {20, 10, 5, 3, 2, 1},
                  .anchors = {6, 6, 6, 6, 6, 6},
                  .encoded_classes = 91,
                  .other_class_counts = true},
};

}  // namespace simaai::kernels::ops::boxdecode::detail
