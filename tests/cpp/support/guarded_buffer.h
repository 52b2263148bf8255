#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <new>

namespace simaai::kernels::test_support {

/// Which end of a buffer lies directly at a page that may not be touched.
enum class GuardedEnd { First, Last };

/// Memory between two pages that may not be touched: a read or write beyond the guarded end ends the test program. The bytes
/// are zero at first. With GuardedEnd::Last the first byte has whatever alignment the size gives it.
class GuardedBuffer {
public:
  explicit GuardedBuffer(std::size_t size_bytes, GuardedEnd end = GuardedEnd::Last) : size_bytes_(size_bytes) {
    const std::size_t page_bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t inner_bytes = (size_bytes + page_bytes - 1) / page_bytes * page_bytes;
    mapped_bytes_ = inner_bytes + 2 * page_bytes;
    void *mapped = mmap(nullptr, mapped_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) {
      throw std::bad_alloc();
    }
    mapped_ = static_cast<std::uint8_t *>(mapped);
    std::uint8_t *inner = mapped_ + page_bytes;
    if (inner_bytes != 0 && mprotect(inner, inner_bytes, PROT_READ | PROT_WRITE) != 0) {
      munmap(mapped_, mapped_bytes_);
      throw std::bad_alloc();
    }
    data_ = end == GuardedEnd::First ? inner : inner + (inner_bytes - size_bytes);
  }
  ~GuardedBuffer() { munmap(mapped_, mapped_bytes_); }
  GuardedBuffer(const GuardedBuffer &) = delete;
  GuardedBuffer &operator=(const GuardedBuffer &) = delete;

  [[nodiscard]] std::uint8_t *data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_bytes_; }

  /// The bytes as elements; the caller sees to their alignment.
  template <typename Element>
  [[nodiscard]] Element *as() const {
    return reinterpret_cast<Element *>(data_);
  }

private:
  std::size_t size_bytes_;
  std::size_t mapped_bytes_ = 0;
  std::uint8_t *mapped_ = nullptr;
  std::uint8_t *data_ = nullptr;
};

}  // namespace simaai::kernels::test_support
