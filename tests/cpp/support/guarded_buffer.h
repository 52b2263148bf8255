#pragma once

#include <cstddef>
#include <cstdint>

namespace simaai::kernels::test_support {

/// Memory whose last byte is followed by a page that may not be touched, and whose first page is preceded by one: a read or
/// write beyond the end traps.
class GuardedBuffer {
public:
  explicit GuardedBuffer(std::size_t size_bytes);
  ~GuardedBuffer();
  GuardedBuffer(const GuardedBuffer &) = delete;
  GuardedBuffer &operator=(const GuardedBuffer &) = delete;

  [[nodiscard]] std::uint8_t *data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size_bytes() const noexcept { return size_bytes_; }

private:
  void *mapping_ = nullptr;
  std::size_t mapping_bytes_ = 0;
  std::uint8_t *data_ = nullptr;
  std::size_t size_bytes_ = 0;
};

}  // namespace simaai::kernels::test_support
