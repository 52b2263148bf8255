#include "kernels/iou_rule.h"

#include <bit>
#include <cmath>

namespace simaai::kernels::detail {

NmsThreshold prepare_threshold(double iou_threshold) noexcept {
  // RN32(q) > t ⇔ RN32(q) ≥ the first float above t ⇔ q is past the middle between it and the float before it, or on it
  // when the tie goes up, to an even significand.
  auto below = static_cast<float>(iou_threshold);
  if (static_cast<double>(below) > iou_threshold) {
    below = std::nextafterf(below, -1.0F);
  }
  const float above = std::nextafterf(below, 2.0F);
  return NmsThreshold{(static_cast<double>(below) + static_cast<double>(above)) * 0.5, below, above,
                      (std::bit_cast<std::uint32_t>(above) & 1U) == 0 ? 1U : 0U};
}

}  // namespace simaai::kernels::detail
