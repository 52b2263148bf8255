#pragma once

#include <simaai/kernels/ops/boxdecode.h>

/// From model pixels to the pixels of the original image. In: sizes and a resize policy. Out: one multiply-add an axis.
/// Never: clipping or rounding, which belong to what is written.
namespace simaai::kernels::ops::boxdecode::detail {

/// Factors are computed in binary64 and stored in FP32. Content sizes and pads are integers, as resizers make them.
[[nodiscard]] ImageMapping make_mapping(const ResizePolicy &policy, ImageSize model, ImageSize original) noexcept;

[[nodiscard]] inline float map_x(const ImageMapping &mapping, float x) noexcept {
  return mapping.shift_first ? (x - mapping.shift_x) * mapping.scale_x : x * mapping.scale_x + mapping.shift_x;
}

[[nodiscard]] inline float map_y(const ImageMapping &mapping, float y) noexcept {
  return mapping.shift_first ? (y - mapping.shift_y) * mapping.scale_y : y * mapping.scale_y + mapping.shift_y;
}

}  // namespace simaai::kernels::ops::boxdecode::detail
