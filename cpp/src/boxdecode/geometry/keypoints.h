#pragma once

#include "boxdecode/context/context.h"

namespace simaai::kernels::ops::boxdecode::detail {

/// Writes [x, y, visibility] of each keypoint, x and y in model pixels.
using DecodeKeypoints = void (*)(const Frame &frame, const HeadPlan &head, const Site &site, float *keypoints);

/// The decoder of a keypoint form; null for None.
[[nodiscard]] DecodeKeypoints keypoint_decoder(KeypointForm form) noexcept;

}  // namespace simaai::kernels::ops::boxdecode::detail
