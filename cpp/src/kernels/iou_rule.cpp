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
  // The slack covers the rounding of a share and of everything that it is compared with, of areas far from both ends. A share
  // so small that a product with such an area might not be a normal number is none.
  const double share = static_cast<double>(below) / (1.0 + static_cast<double>(below)) * (1.0 - 0x1p-20);
  const double sure_share = static_cast<double>(above) / (1.0 + static_cast<double>(above)) * (1.0 + 0x1p-20);
  return NmsThreshold{.middle = (static_cast<double>(below) + static_cast<double>(above)) * 0.5,
                      .low = below,
                      .high = above,
                      .tie_suppresses = (std::bit_cast<std::uint32_t>(above) & 1U) == 0 ? 1U : 0U,
                      .share = share < 0x1p-20 ? 0.0F : static_cast<float>(share),
                      .sure_share = static_cast<float>(std::fmax(sure_share, 0x1p-20))};
}

}  // namespace simaai::kernels::detail
