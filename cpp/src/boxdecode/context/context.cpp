#include "boxdecode/context/context.h"

#include <new>

namespace simaai::kernels::ops::boxdecode::detail {
namespace {

constexpr std::align_val_t block_alignment{64};

}  // namespace

void AlignedDelete::operator()(std::byte *block) const noexcept { ::operator delete[](block, block_alignment); }

void lay_out(ContextLayout &layout) noexcept {
  std::size_t next = 0;
  const auto place = [&next](std::size_t &offset, std::size_t bytes) {
    offset = next;
    next += (bytes + 63) / 64 * 64;
  };
  place(layout.candidates_offset, layout.candidates * sizeof(Candidate));
  place(layout.ordered_offset, layout.candidates * sizeof(Candidate));
  place(layout.buckets_offset, (static_cast<std::size_t>(layout.buckets) + 1) * sizeof(std::uint32_t));
  place(layout.blocks_offset, layout.suppression_blocks * sizeof(simaai::kernels::detail::SuppressionBlock));
  place(layout.chains_offset, layout.chains * sizeof(std::uint32_t));
  place(layout.chain_lengths_offset, layout.indexed_boxes > 0 ? layout.chains * sizeof(std::uint32_t) : 0);
  place(layout.indexed_boxes_offset, layout.indexed_boxes * sizeof(IndexedBox<simaai::kernels::detail::RoundedBox>));
  place(layout.index_heads_offset, layout.index_buckets * sizeof(std::uint32_t));
  place(layout.raw_offset, static_cast<std::size_t>(align16(layout.lane_elements)) * sizeof(float));
  place(layout.values_offset, layout.lane_elements * sizeof(float));
  place(layout.hits_offset, gate_chunk * sizeof(std::uint32_t));
  place(layout.marks_offset, gate_chunk * sizeof(std::uint32_t));
  place(layout.segment_offsets_offset, layout.lane_elements * sizeof(std::size_t));
  place(layout.segment_masks_offset, layout.lane_elements * sizeof(std::uint16_t));
  place(layout.every_class_offset, layout.lane_elements * sizeof(float));
  // A fetched pixel may reach into the next one's place, and the last one beyond it.
  place(layout.mask_raw_offset, (static_cast<std::size_t>(layout.mask_pixels) * layout.mask_channels + 16) * sizeof(float));
  place(layout.mask_values_offset, static_cast<std::size_t>(layout.mask_channels) * sizeof(float));
  place(layout.mask_dots_offset, layout.mask_pixels * sizeof(std::int32_t));
  layout.bytes = next;
}

std::unique_ptr<ContextState> make_context(std::shared_ptr<const PlanState> plan) {
  auto context = std::make_unique<ContextState>();
  // At least one byte, so that a pointer to no block never means a block.
  const std::size_t bytes = plan->context.bytes > 0 ? plan->context.bytes : 1;
  context->block.reset(static_cast<std::byte *>(::operator new[](bytes, block_alignment)));
  context->plan = std::move(plan);
  return context;
}

}  // namespace simaai::kernels::ops::boxdecode::detail
