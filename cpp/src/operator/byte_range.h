#pragma once

#include <cstddef>
#include <cstdint>

namespace simaai::kernels::detail {

/// Bytes that a call reads or writes.
struct ByteRange {
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;

  [[nodiscard]] bool aligned(std::size_t alignment) const noexcept { return begin % alignment == 0; }
  /// Whether the last byte lies in the address space. A size that cannot be right makes it false.
  [[nodiscard]] bool addressable() const noexcept { return bytes <= UINTPTR_MAX - begin; }
};

[[nodiscard]] inline ByteRange byte_range(const void *data, std::size_t bytes) noexcept {
  return {reinterpret_cast<std::uintptr_t>(data), bytes};
}

/// Whether two addressable ranges share a byte.
[[nodiscard]] inline bool share_bytes(const ByteRange &a, const ByteRange &b) noexcept {
  return a.bytes > 0 && b.bytes > 0 && a.begin < b.begin + b.bytes && b.begin < a.begin + a.bytes;
}

}  // namespace simaai::kernels::detail
