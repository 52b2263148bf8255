#include "support/guarded_buffer.h"

#include <new>

#include <sys/mman.h>
#include <unistd.h>

namespace simaai::kernels::test_support {

GuardedBuffer::GuardedBuffer(std::size_t size_bytes) : size_bytes_(size_bytes) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t inner = (size_bytes + page - 1) / page * page;
  mapping_bytes_ = inner + 2 * page;
  mapping_ = mmap(nullptr, mapping_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping_ == MAP_FAILED) {
    throw std::bad_alloc();
  }
  auto *first = static_cast<std::uint8_t *>(mapping_) + page;
  if (inner != 0 && mprotect(first, inner, PROT_READ | PROT_WRITE) != 0) {
    munmap(mapping_, mapping_bytes_);
    throw std::bad_alloc();
  }
  data_ = first + (inner - size_bytes);
}

GuardedBuffer::~GuardedBuffer() { munmap(mapping_, mapping_bytes_); }

}  // namespace simaai::kernels::test_support
