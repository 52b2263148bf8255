#pragma once

#include <charconv>
#include <string>
#include <type_traits>

namespace simaai::kernels::detail {

/// A number in an error: its shortest exact form.
template <typename Number>
requires std::is_arithmetic_v<Number>
[[nodiscard]] std::string text(Number value) {
  char buffer[64];
  const auto result = std::to_chars(buffer, buffer + sizeof buffer, value);
  return {buffer, result.ptr};
}

}  // namespace simaai::kernels::detail
