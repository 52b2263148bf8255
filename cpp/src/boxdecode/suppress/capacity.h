#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

/// What suppression needs of a plan. In: a threshold, how many boxes a frame accepts at most, in how many chains. Out: room and
/// limits. Never: a box.
namespace simaai::kernels::ops::boxdecode::detail {

/// Boxes to a block, whatever the rule.
inline constexpr std::uint32_t suppression_lanes = 8;

/// From its second block on a chain takes so many at once.
inline constexpr std::uint32_t suppression_run = 4;

/// How many blocks so many boxes in so many chains need at most.
[[nodiscard]] constexpr std::uint64_t suppression_blocks_for(std::uint64_t accepted, std::uint64_t chains) noexcept {
  constexpr std::uint64_t lanes = suppression_lanes;
  const std::uint64_t chains_with_runs = std::min(chains, accepted / (lanes + 1));
  return std::min(accepted, accepted / lanes + chains + (suppression_run - 1) * chains_with_runs);
}

/// A chain of this many boxes is long. Below, a walk costs less than a search in an index.
inline constexpr std::uint32_t long_chain = 384;

/// Whether a frame that accepts so many boxes at most can gain enough from an index to be worth the room.
[[nodiscard]] constexpr bool index_serves(std::uint64_t accepted) noexcept { return accepted > 2 * std::uint64_t{long_chain}; }

inline constexpr std::uint32_t first_index_buckets = 512;

/// How many buckets the index of such a frame has at most.
[[nodiscard]] constexpr std::uint64_t index_buckets_for(std::uint64_t accepted) noexcept {
  return std::max<std::uint64_t>(std::bit_ceil(accepted), first_index_buckets);
}

/// With exact corners an index sees outlines, whole boxes that contain their box and have no more than its area. This is the
/// largest limit for them, 0 where a threshold is so low that an index would find everything.
///
/// Let the IoU of boxes with FP32 areas be above t. In FP32 the areas, the intersection and the union are wrong by less than
/// 2^-19 in all, so inter ≥ s·(A + A') with s = u/(1 + u) for every u ≤ t·(1 − 2^-12). The intersection of the outlines is no
/// smaller and their areas are no larger: the same inequality holds for them.
[[nodiscard]] constexpr std::uint32_t exact_outline_limit(double iou_threshold) noexcept {
  return static_cast<std::uint32_t>(256.0 * iou_threshold * (1.0 - 0x1p-12));
}

}  // namespace simaai::kernels::ops::boxdecode::detail
