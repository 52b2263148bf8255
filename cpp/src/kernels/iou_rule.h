#pragma once

#include "kernels/nms_kernels.h"

/// When the exact rule says that one box suppresses another: the scalar truth of every kernel that decides it, and of code
/// that decides one pair. Not for files of one instruction set, which include no function body.
namespace simaai::kernels::detail {

/// Threshold of hard suppression in the form of the kernels. iou_threshold in [0, 1].
[[nodiscard]] NmsThreshold prepare_threshold(double iou_threshold) noexcept;

/// RN32(inter/both) > threshold for an intersection and a union that are finite and not negative; 0/0 is not.
[[nodiscard]] inline bool exceeds(float inter, float both, const NmsThreshold &threshold) noexcept {
  const double bound = threshold.middle * static_cast<double>(both);
  const auto exact = static_cast<double>(inter);
  return inter > 0.0F && (exact > bound || (exact == bound && threshold.tie_suppresses != 0));
}

/// Whether either of two boxes with FP32 areas suppresses the other.
[[nodiscard]] inline bool suppresses(const NmsBox &a, const NmsBox &b, const NmsThreshold &threshold) noexcept {
  const float width = (a.x2 < b.x2 ? a.x2 : b.x2) - (a.x1 > b.x1 ? a.x1 : b.x1);
  const float height = (a.y2 < b.y2 ? a.y2 : b.y2) - (a.y1 > b.y1 ? a.y1 : b.y1);
  if (!(width > 0.0F && height > 0.0F)) {
    return false;
  }
  const float inter = width * height;
  return exceeds(inter, (a.area + b.area) - inter, threshold);
}

}  // namespace simaai::kernels::detail
