#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace bench {

/// Memory at the beginning of huge pages, where the system gives them. Elsewhere, aligned to 16 bytes in whatever small pages
/// were free, the same read took from once to 1.7 times as long.
template <typename Value>
struct HugePages {
  using value_type = Value;
  HugePages() = default;
  template <typename Other>
  HugePages(const HugePages<Other> &) noexcept {}

  Value *allocate(std::size_t count) {
    constexpr std::size_t page = std::size_t{2} << 20U;
    const std::size_t bytes = (count * sizeof(Value) + page - 1) / page * page;
    void *const memory = std::aligned_alloc(page, bytes);
    if (memory == nullptr) {
      throw std::bad_alloc();
    }
#if defined(__linux__)
    // Refused on systems without them, which costs nothing but the effect.
    static_cast<void>(madvise(memory, bytes, MADV_HUGEPAGE));
#endif
    return static_cast<Value *>(memory);
  }
  void deallocate(Value *memory, std::size_t) noexcept { std::free(memory); }

  friend bool operator==(const HugePages &, const HugePages &) noexcept { return true; }
};

using Bytes = std::vector<std::uint8_t, HugePages<std::uint8_t>>;

}  // namespace bench
