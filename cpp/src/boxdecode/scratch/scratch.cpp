#include "boxdecode/scratch/scratch.h"

namespace simaai::kernels::ops::boxdecode::detail {
namespace {

constexpr std::size_t line_bytes = 64;

// Arrays side by side in a block, or only their bytes where there is none.
class Sharing {
public:
  explicit Sharing(std::byte *block) noexcept : block_(block) {}

  template <typename Element>
  void take(Element *&array, std::size_t count) noexcept {
    take_bytes(array, count * sizeof(Element));
  }
  template <typename Element>
  void take_bytes(Element *&array, std::size_t bytes) noexcept {
    array = block_ == nullptr ? nullptr : reinterpret_cast<Element *>(block_ + used_);
    used_ += (bytes + line_bytes - 1) / line_bytes * line_bytes;
  }
  [[nodiscard]] std::size_t used() const noexcept { return used_; }

private:
  std::byte *block_;
  std::size_t used_ = 0;
};

std::size_t share(const ScratchSizes &sizes, Sharing sharing, Scratch &scratch) noexcept {
  const std::size_t lane = sizes.lane_elements;
  sharing.take(scratch.candidates, sizes.candidates);
  sharing.take(scratch.ordered, sizes.candidates);
  sharing.take(scratch.bucket_starts, static_cast<std::size_t>(sizes.buckets) + 1);
  sharing.take_bytes(scratch.suppression_blocks, sizes.suppression_blocks * sizeof(simaai::kernels::detail::SuppressionBlock));
  sharing.take(scratch.chains, sizes.chains);
  sharing.take(scratch.chain_lengths, sizes.indexed_boxes > 0 ? sizes.chains : 0);
  sharing.take_bytes(scratch.indexed_boxes, sizes.indexed_boxes * sizeof(IndexedBox<simaai::kernels::detail::RoundedBox>));
  sharing.take(scratch.index_heads, sizes.index_buckets);
  // Lanes are fetched in stripes of 16 elements of up to four bytes.
  sharing.take_bytes(scratch.raw, (lane + 15) / 16 * 16 * sizeof(float));
  sharing.take(scratch.values, lane);
  sharing.take(scratch.hits, gate_chunk);
  sharing.take_bytes(scratch.marks, gate_chunk * sizeof(std::uint32_t));
  sharing.take(scratch.segment_offsets, lane);
  sharing.take(scratch.segment_masks, lane);
  sharing.take_bytes(scratch.every_class, lane * sizeof(float));
  // A fetched pixel may reach into the next one's place, and the last one beyond it.
  sharing.take_bytes(scratch.mask_raw,
                     (static_cast<std::size_t>(sizes.mask_pixels) * sizes.mask_channels + 16) * sizeof(float));
  sharing.take(scratch.mask_values, sizes.mask_channels);
  sharing.take(scratch.mask_dots, sizes.mask_pixels);
  return sharing.used();
}

}  // namespace

void measure(ScratchSizes &sizes) noexcept {
  Scratch nowhere;
  sizes.bytes = share(sizes, Sharing(nullptr), nowhere);
}

Scratch share_out(const ScratchSizes &sizes, std::byte *block) noexcept {
  Scratch scratch;
  share(sizes, Sharing(block), scratch);
  return scratch;
}

}  // namespace simaai::kernels::ops::boxdecode::detail
