#pragma once

#include <cstddef>
#include <cstdint>

#include "nms/scratch.h"
#include "nms/settings.h"

/// A grid of boxes by size and centre, so that a kept box looks only where a box that it can suppress may lie.
/// In: rows of one group in score order. Out: their lanes in scratch.corners, gathered by cell. Never: a missed pair; pairs
/// that need not be looked at cost time and nothing else.
namespace simaai::kernels::detail {

/// Why it is exact. Let IoU > t for boxes of width w and w' on an axis. Then w' lies in (t·w, w/t), because the intersection is
/// no wider than the narrower box and the union no smaller than the wider one; and the centres are less than
/// (w + w')·(1 − t)/(2·(1 + t)) apart, because the IoU on one axis is at least the IoU. Sizes are sorted into classes of a
/// factor four by the longer side, each class has square cells, cells are hashed to buckets so that cells which follow each
/// other in x follow each other in memory. A slack of 2^-12 in t covers every rounding. Boxes whose area is so small or so
/// large that FP32 rounds it coarsely are held against everything; boxes of area 0 can neither suppress nor be suppressed.
class NmsGrid {
public:
  /// Whether the grid is of use for this threshold: below, boxes reach too far.
  [[nodiscard]] static bool usable(double iou_threshold) noexcept { return iou_threshold >= 0.1 && iou_threshold < 1.0; }

  /// Places rows[0..count) into lanes; scratch.lane_ids[i] says where: scratch.corners + it is the x1 of rows[i]. Uses
  /// scratch.buckets and scratch.starts. count ≥ 1.
  void build(const NmsSettings &settings, NmsScratch &scratch, const float *boxes, const std::uint32_t *rows,
             std::size_t count);

  /// Takes out every box that this one suppresses. Returns how many.
  std::uint32_t suppress(const NmsSettings &settings, NmsScratch &scratch, const NmsBox &box) const;

private:
  NmsGridRule rule_ = {};
  NmsGridSizes sizes_ = {};
  std::uint32_t block_count_ = 0;
  bool has_irregular_ = false;
  double size_ratio_ = 1;  ///< a little less than t
  double inverse_size_ratio_ = 1;
  double reach_ = 0;  ///< (1 − t)/(2·(1 + t)), a little more
};

}  // namespace simaai::kernels::detail
