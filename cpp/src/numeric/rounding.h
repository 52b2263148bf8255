#pragma once

#include <cstdint>

namespace simaai::kernels::detail {

/// Nearest integer, halves away from zero. The value must be finite and fit: |value| < 2^52.
[[nodiscard]] inline std::int64_t round_half_away(double value) noexcept {
  // Truncation and its remainder are exact; value + 0.5 is not (0.49999999999999994 + 0.5 is 1).
  const auto whole = static_cast<std::int64_t>(value);
  const double rest = value - static_cast<double>(whole);
  return whole + static_cast<std::int64_t>(rest >= 0.5) - static_cast<std::int64_t>(rest <= -0.5);
}

/// The same for FP32 values with |value| < 2^31. From 2^24 on every float is whole, so the remainder is exact here too.
[[nodiscard]] inline std::int32_t round_half_away(float value) noexcept {
  const auto whole = static_cast<std::int32_t>(value);
  const float rest = value - static_cast<float>(whole);
  return whole + static_cast<std::int32_t>(rest >= 0.5F) - static_cast<std::int32_t>(rest <= -0.5F);
}

}  // namespace simaai::kernels::detail
