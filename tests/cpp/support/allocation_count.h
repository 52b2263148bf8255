#pragma once

#include <cstddef>

namespace simaai::kernels::test_support {

/// Counts what the calling thread allocates while an object of this class lives: malloc and its family, and through them
/// every operator new. Only in programs that link allocation_count.cpp; counts do not nest.
class AllocationCount {
public:
  AllocationCount() noexcept;
  ~AllocationCount();
  AllocationCount(const AllocationCount &) = delete;
  AllocationCount &operator=(const AllocationCount &) = delete;

  [[nodiscard]] std::size_t value() const noexcept;
};

}  // namespace simaai::kernels::test_support
