#include "nms/scratch.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <new>

namespace simaai::kernels::detail {
namespace {

constexpr std::align_val_t alignment{64};

// Hands out aligned parts of one block; without a block it only adds up their sizes.
class Parts {
public:
  explicit Parts(std::byte *base) : base_(base) {}

  template <class T>
  T *take(std::size_t count) {
    T *part = base_ == nullptr ? nullptr : reinterpret_cast<T *>(base_ + used_);
    used_ += (count * sizeof(T) + 63) / 64 * 64;
    return part;
  }
  [[nodiscard]] std::size_t used() const { return used_; }

private:
  std::byte *base_;
  std::size_t used_ = 0;
};

std::size_t lay_out(NmsScratch *scratch, std::byte *base, std::size_t capacity) {
  const std::size_t lanes = NmsScratch::lane_count(capacity);
  Parts parts(base);
  NmsScratch *const s = scratch;
  const auto place = [&parts, s]<class T>(T *NmsScratch::*member, std::size_t count) {
    T *const part = parts.template take<T>(count);
    if (s != nullptr) {
      s->*member = part;
    }
  };
  place(&NmsScratch::scores, lanes);
  place(&NmsScratch::rows, capacity);
  place(&NmsScratch::entries, lanes);
  place(&NmsScratch::spare, lanes);
  place(&NmsScratch::buckets, capacity);
  place(&NmsScratch::starts, NmsScratch::starts_size(capacity));
  place(&NmsScratch::order, capacity);
  place(&NmsScratch::ranks, capacity);
  place(&NmsScratch::grouped, capacity);
  place(&NmsScratch::corners, 4 * lanes);
  place(&NmsScratch::lane_ids, lanes);
  place(&NmsScratch::lane_scores, lanes);
  place(&NmsScratch::kept, capacity);
  place(&NmsScratch::kept_scores, capacity);
  return parts.used();
}

}  // namespace

std::size_t NmsScratch::lane_count(std::size_t rows) noexcept {
  return (rows + NmsBlocks::lanes - 1) / NmsBlocks::lanes * NmsBlocks::lanes + NmsBlocks::lanes;
}

std::size_t NmsScratch::starts_size(std::size_t rows) noexcept {
  return std::max<std::size_t>(std::bit_ceil(std::max<std::size_t>(rows, 1)), 64) + 3;
}

std::size_t NmsScratch::bytes(std::size_t capacity) noexcept {
  // About 80 bytes a row; a 32-bit address space cannot hold every capacity.
  if (capacity > std::numeric_limits<std::size_t>::max() / 128) {
    return std::numeric_limits<std::size_t>::max();
  }
  return lay_out(nullptr, nullptr, capacity);
}

NmsScratch::NmsScratch(std::size_t capacity) : capacity_(capacity) {
  const std::size_t size = bytes(capacity);
  memory_.reset(static_cast<std::byte *>(::operator new(size, alignment)));
  lay_out(this, memory_.get(), capacity);
}

void NmsScratch::Release::operator()(std::byte *memory) const noexcept { ::operator delete(memory, alignment); }

}  // namespace simaai::kernels::detail
