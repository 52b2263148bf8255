#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/kernels.h"
#include "kernels/nms_kernels.h"

/// The memory of one call in flight. In: capacities. Out: how many bytes they take, and a typed array in a block for each.
/// Never: an allocation, or what stands in an array.
namespace simaai::kernels::ops::boxdecode::detail {

/// What passed the score gate. Location numbers head, cell and anchor in one: ascending location is their order.
struct Candidate {
  float score;
  std::uint32_t location;
  std::uint32_t class_id;
};
static_assert(sizeof(Candidate) == 12);

/// An accepted box of a long chain, as suppress/box_index.h keeps it.
template <typename Box>
struct IndexedBox {
  Box box;
  std::uint32_t chain;
  std::uint32_t key;   ///< its upper bits are the bucket
  std::uint32_t next;  ///< of the same bucket
};

// What is laid out once for both rules of suppression.
static_assert(sizeof(IndexedBox<simaai::kernels::detail::RoundedBox>) == sizeof(IndexedBox<simaai::kernels::detail::NmsBox>));
static_assert(sizeof(simaai::kernels::detail::SuppressionBlock) == sizeof(simaai::kernels::detail::ExactBlock));

/// Rows or cells that one gate call covers.
inline constexpr std::uint32_t gate_chunk = 2048;

/// Capacities, set at preparation, and the bytes that they take together.
struct ScratchSizes {
  std::uint32_t candidates = 0;
  std::uint32_t buckets = 0;
  std::uint32_t suppression_blocks = 0;
  std::uint32_t chains = 0;
  std::uint32_t indexed_boxes = 0;  ///< 0: no chain can grow long enough for an index
  std::uint32_t index_buckets = 0;
  std::uint32_t lane_elements = 0;  ///< longest lane
  std::uint32_t mask_pixels = 0;    ///< longest row of a prototype
  std::uint32_t mask_channels = 0;
  std::size_t bytes = 0;  ///< set by measure()
};

/// Where everything stands. Each array begins at a cache line and belongs to one task; those of a task that a plan does not
/// have are empty.
struct Scratch {
  Candidate *candidates = nullptr;
  Candidate *ordered = nullptr;
  std::uint32_t *bucket_starts = nullptr;   ///< buckets + 1
  std::byte *suppression_blocks = nullptr;  ///< SuppressionBlock or ExactBlock, as the plan's rule is
  std::uint32_t *chains = nullptr;          ///< the newest block of each
  std::uint32_t *chain_lengths = nullptr;   ///< of a plan with an index
  std::byte *indexed_boxes = nullptr;       ///< IndexedBox of the rule's boxes
  std::uint32_t *index_heads = nullptr;     ///< the newest box of each bucket
  std::byte *raw = nullptr;                 ///< a lane as it was fetched, until the next fetch
  float *values = nullptr;                  ///< a lane's values: bins, logits, or the channels of a prototype's pixel
  std::uint32_t *hits = nullptr;            ///< gate_chunk
  std::byte *marks = nullptr;               ///< gate_chunk elements of any width
  std::size_t *segment_offsets = nullptr;   ///< of stripes, one a lane element at most
  std::uint16_t *segment_masks = nullptr;
  std::byte *every_class = nullptr;   ///< the classes of a cell while each is looked at
  std::uint8_t *mask_raw = nullptr;   ///< a row of a prototype, pixel by pixel
  float *mask_values = nullptr;       ///< mask coefficients
  std::int32_t *mask_dots = nullptr;  ///< a row of mask sums
};

/// Sets `bytes`. The block of share_out needs as many, aligned to a cache line.
void measure(ScratchSizes &sizes) noexcept;

[[nodiscard]] Scratch share_out(const ScratchSizes &sizes, std::byte *block) noexcept;

}  // namespace simaai::kernels::ops::boxdecode::detail
