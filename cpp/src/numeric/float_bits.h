#pragma once

#include <bit>
#include <cstdint>

/// Sixteen-bit floats as bits, and the order of floats as integers. No hardware half types: compilers disagree about them.
namespace simaai::kernels::detail {

/// The value of BF16 bits, exact.
[[nodiscard]] inline float bfloat16_value(std::uint16_t bits) noexcept {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U);
}

/// The value of FP16 bits, exact; NaN for NaN, subnormals included.
[[nodiscard]] inline float float16_value(std::uint16_t bits) noexcept {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16U;
  const std::uint32_t magnitude = bits & 0x7FFFU;
  if (magnitude >= 0x7C00U) {
    return std::bit_cast<float>(sign | 0x7F800000U | ((magnitude & 0x3FFU) << 13U));
  }
  // Exponent bias 15 against 127: put the bits where FP32 has them, then multiply by 2^112, which is exact.
  const float scaled = std::bit_cast<float>(magnitude << 13U) * 0x1p112F;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(scaled) | sign);
}

/// The largest key: NaN of either sign.
inline constexpr std::int32_t nan_key = 0x7FFFFFFF;

/// Integer order of FP32 bits: −0 equals +0, NaN of either sign ranks above everything.
[[nodiscard]] inline std::int32_t float32_key(std::uint32_t bits) noexcept {
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  if (magnitude > 0x7F800000U) {
    return nan_key;
  }
  const auto value = static_cast<std::int32_t>(magnitude);
  return (bits >> 31U) != 0 ? -value : value;
}

/// The same order for 16-bit floats whose infinity has these magnitude bits (BF16 0x7F80, FP16 0x7C00). NaN is 0x7FFF.
[[nodiscard]] inline std::int32_t float16_key(std::uint16_t bits, std::uint16_t infinity) noexcept {
  const std::int32_t magnitude = bits & 0x7FFF;
  if (magnitude > infinity) {
    return 0x7FFF;
  }
  return (bits & 0x8000U) != 0 ? -magnitude : magnitude;
}

}  // namespace simaai::kernels::detail
