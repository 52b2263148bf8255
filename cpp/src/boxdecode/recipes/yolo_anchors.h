#pragma once

#include <array>

#include <simaai/kernels/ops/boxdecode.h>

namespace simaai::kernels::ops::boxdecode::detail {

/// Anchors of YOLO heads: of three with strides 8, 16, 32, or of four with 8 to 64.

/// ultralytics/yolov5, models/hub/anchors.yaml, P5.
inline constexpr std::array<Anchor, 9> yolo5_anchors_p5 = {
    {{10, 13}, {16, 30}, {33, 23}, {30, 61}, {62, 45}, {59, 119}, {116, 90}, {156, 198}, {373, 326}}};
/// The same file, P6 for 1280 pixels; YOLOv7-w6 and its kin use these too.
inline constexpr std::array<Anchor, 12> yolo5_anchors_p6 = {{{19, 27},
                                                             {44, 40},
                                                             {38, 94},
                                                             {96, 68},
                                                             {86, 152},
                                                             {180, 137},
                                                             {140, 301},
                                                             {303, 264},
                                                             {238, 542},
                                                             {436, 615},
                                                             {739, 380},
                                                             {925, 792}}};
/// WongKinYiu/yolov7, cfg/deploy/yolov7.yaml.
inline constexpr std::array<Anchor, 9> yolo7_anchors_p5 = {
    {{12, 16}, {19, 36}, {40, 28}, {36, 75}, {76, 55}, {72, 146}, {142, 110}, {192, 243}, {459, 401}}};

}  // namespace simaai::kernels::ops::boxdecode::detail
