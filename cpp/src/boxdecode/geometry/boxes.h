#pragma once

#include <cmath>

#include "boxdecode/context/context.h"

/// Lazy geometry: corners of one candidate in model pixels. In: raw box lanes of one site. Out: four floats. Never: whether a
/// candidate is wanted, or the image.
namespace simaai::kernels::ops::boxdecode::detail {

using DecodeBox = Corners (*)(const Frame &frame, const HeadPlan &head, const Site &site);

[[nodiscard]] inline Site site_of(const HeadPlan &head, std::uint32_t cell, std::uint32_t anchor) noexcept {
  return {cell, anchor, cell % head.width, cell / head.width};
}

/// Finite, ordered, within ±10,000,000, and an FP32 area in [0.5, 2^31). Everything else neither counts nor suppresses.
[[nodiscard]] inline bool is_valid(const Corners &box) noexcept {
  constexpr float bound = 10'000'000.0F;
  // Each comparison is false for NaN.
  if (!(box.x2 > box.x1 && box.y2 > box.y1 && box.x1 >= -bound && box.y1 >= -bound && box.x2 <= bound && box.y2 <= bound)) {
    return false;
  }
  const float area = (box.x2 - box.x1) * (box.y2 - box.y1);
  return area >= 0.5F && area < 2147483648.0F;
}

/// The decoder of the recipe's box rule for a head whose lanes and tables are prepared.
[[nodiscard]] DecodeBox box_decoder(const PlanState &plan, const HeadPlan &head) noexcept;

}  // namespace simaai::kernels::ops::boxdecode::detail
