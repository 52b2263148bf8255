#include "support/allocation_count.h"

#include <cerrno>
#include <cstdlib>

// The C library's own entries, under the names that stay reachable when malloc itself is replaced.
extern "C" {
void *__libc_malloc(std::size_t size);
void *__libc_calloc(std::size_t count, std::size_t size);
void *__libc_realloc(void *pointer, std::size_t size);
void *__libc_memalign(std::size_t alignment, std::size_t size);
void *__libc_valloc(std::size_t size);
void __libc_free(void *pointer);
}

namespace {

thread_local bool armed = false;
thread_local std::size_t allocations = 0;

void count() noexcept {
  if (armed) {
    ++allocations;
  }
}

}  // namespace

extern "C" {

void *malloc(std::size_t size) {
  count();
  return __libc_malloc(size);
}

void *calloc(std::size_t items, std::size_t size) {
  count();
  return __libc_calloc(items, size);
}

void *realloc(void *pointer, std::size_t size) {
  count();
  return __libc_realloc(pointer, size);
}

void *memalign(std::size_t alignment, std::size_t size) {
  count();
  return __libc_memalign(alignment, size);
}

void *aligned_alloc(std::size_t alignment, std::size_t size) {
  count();
  return __libc_memalign(alignment, size);
}

void *valloc(std::size_t size) {
  count();
  return __libc_valloc(size);
}

int posix_memalign(void **pointer, std::size_t alignment, std::size_t size) {
  count();
  void *memory = __libc_memalign(alignment, size);
  if (memory == nullptr) {
    return ENOMEM;
  }
  *pointer = memory;
  return 0;
}

void free(void *pointer) { __libc_free(pointer); }

}  // extern "C"

namespace simaai::kernels::test_support {

AllocationCount::AllocationCount() noexcept {
  allocations = 0;
  armed = true;
}

AllocationCount::~AllocationCount() { armed = false; }

std::size_t AllocationCount::value() const noexcept { return allocations; }

}  // namespace simaai::kernels::test_support
