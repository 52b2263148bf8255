#pragma once

#include <cstdint>
#include <cstring>

#include <simaai/kernels/ops/boxdecode.h>

#include "numeric/float_bits.h"

/// What a raw element is worth. In: raw elements and the quantization of their port. Out: FP32 values, ordered keys.
namespace simaai::kernels::ops::boxdecode::detail {

/// What turns the raw elements of a port into values: value = (raw − zero_point)·scale for 8-bit integers.
struct ElementType {
  DType dtype = DType::Float32;
  float scale = 1.0F;
  std::int32_t zero_point = 0;
};

[[nodiscard]] constexpr bool is_quantized(DType dtype) noexcept { return dtype == DType::Int8 || dtype == DType::UInt8; }

/// The range of ordered keys of a type without NaN. Integers: the raw value, UInt8 as raw − 128.
[[nodiscard]] std::int32_t lowest_key(DType dtype) noexcept;
[[nodiscard]] std::int32_t highest_key(DType dtype) noexcept;

/// Magnitude bits of infinity of a 16-bit float type.
[[nodiscard]] constexpr std::uint16_t infinity_bits(DType dtype) noexcept {
  return dtype == DType::BFloat16 ? std::uint16_t{0x7F80U} : std::uint16_t{0x7C00U};
}

/// The ordered key of one raw element: −0 equals +0, NaN of either sign is above highest_key.
[[nodiscard]] inline std::int32_t key_of(const ElementType &type, const void *element) noexcept {
  if (type.dtype == DType::Int8) {
    return *static_cast<const std::int8_t *>(element);
  }
  if (type.dtype == DType::UInt8) {
    return static_cast<std::int32_t>(*static_cast<const std::uint8_t *>(element)) - 128;
  }
  if (type.dtype == DType::Float32) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, element, sizeof bits);
    return simaai::kernels::detail::float32_key(bits);
  }
  std::uint16_t bits = 0;
  std::memcpy(&bits, element, sizeof bits);
  return simaai::kernels::detail::float16_key(bits, infinity_bits(type.dtype));
}

/// The FP32 value of a key up to highest_key.
[[nodiscard]] float value_of_key(const ElementType &type, std::int32_t key) noexcept;

/// Values of `count` raw elements.
void to_values(const ElementType &type, const void *elements, std::uint32_t count, float *values) noexcept;

}  // namespace simaai::kernels::ops::boxdecode::detail
