#include "boxdecode/numeric/elements.h"

#include <bit>

namespace simaai::kernels::ops::boxdecode::detail {

using namespace simaai::kernels::detail;

std::int32_t lowest_key(DType dtype) noexcept { return is_quantized(dtype) ? -128 : -highest_key(dtype); }

std::int32_t highest_key(DType dtype) noexcept {
  switch (dtype) {
    case DType::Int8:
    case DType::UInt8: return 127;
    case DType::BFloat16:
    case DType::Float16: return infinity_bits(dtype);
    case DType::Float32:
    case DType::Int32: break;
  }
  return 0x7F800000;
}

float value_of_key(const ElementType &type, std::int32_t key) noexcept {
  if (is_quantized(type.dtype)) {
    const std::int32_t raw = type.dtype == DType::UInt8 ? key + 128 : key;
    return static_cast<float>(raw - type.zero_point) * type.scale;
  }
  if (type.dtype == DType::Float32) {
    const std::uint32_t bits = key < 0 ? 0x80000000U | static_cast<std::uint32_t>(-key) : static_cast<std::uint32_t>(key);
    return std::bit_cast<float>(bits);
  }
  const auto bits = static_cast<std::uint16_t>(key < 0 ? 0x8000 | -key : key);
  return type.dtype == DType::BFloat16 ? bfloat16_value(bits) : float16_value(bits);
}

void to_values(const ElementType &type, const void *elements, std::uint32_t count, float *values) noexcept {
  switch (type.dtype) {
    case DType::Int8: {
      const auto *raw = static_cast<const std::int8_t *>(elements);
      for (std::uint32_t i = 0; i < count; ++i) {
        values[i] = static_cast<float>(raw[i] - type.zero_point) * type.scale;
      }
      return;
    }
    case DType::UInt8: {
      const auto *raw = static_cast<const std::uint8_t *>(elements);
      for (std::uint32_t i = 0; i < count; ++i) {
        values[i] = static_cast<float>(raw[i] - type.zero_point) * type.scale;
      }
      return;
    }
    case DType::BFloat16: {
      const auto *bits = static_cast<const std::uint16_t *>(elements);
      for (std::uint32_t i = 0; i < count; ++i) {
        values[i] = bfloat16_value(bits[i]);
      }
      return;
    }
    case DType::Float16: {
      const auto *bits = static_cast<const std::uint16_t *>(elements);
      for (std::uint32_t i = 0; i < count; ++i) {
        values[i] = float16_value(bits[i]);
      }
      return;
    }
    case DType::Float32:
    case DType::Int32: std::memcpy(values, elements, count * sizeof(float)); return;
  }
}

}  // namespace simaai::kernels::ops::boxdecode::detail
