#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "boxdecode/context/context.h"
#include "kernels/iou_rule.h"
#include "numeric/rounding.h"

/// When one box suppresses another, Params::suppression_corners by name. In: valid boxes. Out: what is kept of a box, and
/// whether one of a chain suppresses a candidate. Never: which boxes are in a chain.
namespace simaai::kernels::ops::boxdecode::detail {

/// IoU in 256ths of whole corners, with the rounded area of the unrounded box: exact integers.
class IntegerRule {
public:
  using Block = simaai::kernels::detail::SuppressionBlock;
  using Box = simaai::kernels::detail::RoundedBox;

  explicit IntegerRule(const Frame &frame) noexcept : kernels_(frame.kernels), limit_(frame.plan.suppression_limit) {}

  [[nodiscard]] static Box kept_of(const Corners &box) noexcept {
    using simaai::kernels::detail::round_half_away;
    return {round_half_away(box.x1), round_half_away(box.y1), round_half_away(box.x2), round_half_away(box.y2),
            static_cast<std::uint32_t>(round_half_away((box.x2 - box.x1) * (box.y2 - box.y1)))};
  }

  /// Lanes that overlap nothing.
  static void clear(Block &block) noexcept {
    std::fill_n(block.x1, Block::lanes, std::numeric_limits<std::int32_t>::max());
    std::fill_n(block.y1, Block::lanes, std::numeric_limits<std::int32_t>::max());
    std::fill_n(block.x2, Block::lanes, std::numeric_limits<std::int32_t>::min());
    std::fill_n(block.y2, Block::lanes, std::numeric_limits<std::int32_t>::min());
    std::fill_n(block.area, Block::lanes, 0U);
  }

  [[nodiscard]] bool suppressed(const Block *pool, std::uint32_t first, const Box &candidate) const noexcept {
    return kernels_.suppressed(pool, first, candidate, limit_);
  }

  /// The decision of `suppressed` for one box, without a branch: whether boxes overlap cannot be foreseen. An intersection of
  /// zero suppresses nothing, since areas of zero are not greater than it.
  [[nodiscard]] bool suppresses(const Box &box, const Box &candidate) const noexcept {
    const std::int32_t width = std::max(std::min(box.x2, candidate.x2) - std::max(box.x1, candidate.x1), 0);
    const std::int32_t height = std::max(std::min(box.y2, candidate.y2) - std::max(box.y1, candidate.y1), 0);
    const std::uint64_t inter = static_cast<std::uint64_t>(width) * static_cast<std::uint64_t>(height);
    const std::uint64_t areas = std::uint64_t{box.area} + candidate.area;
    return (static_cast<unsigned>(areas > inter) & static_cast<unsigned>(inter * (256U + limit_) >= limit_ * areas)) != 0;
  }

  /// What an index sees (box_index.h): boxes and a limit for which its inequality holds whenever one suppresses the other.
  [[nodiscard]] static const Box &outline(const Box &box) noexcept { return box; }
  [[nodiscard]] std::uint32_t outline_limit() const noexcept { return limit_; }

private:
  const simaai::kernels::detail::Kernels &kernels_;
  std::uint32_t limit_;
};

/// The rule of the array operators on FP32 corners: RN32(inter/union) > nms_iou_threshold.
class ExactRule {
public:
  using Block = simaai::kernels::detail::ExactBlock;
  using Box = simaai::kernels::detail::NmsBox;

  explicit ExactRule(const Frame &frame) noexcept
      : kernels_(frame.kernels), threshold_(frame.plan.exact_threshold), limit_(frame.plan.suppression_limit) {}

  [[nodiscard]] static Box kept_of(const Corners &box) noexcept {
    return {box.x1, box.y1, box.x2, box.y2, (box.x2 - box.x1) * (box.y2 - box.y1)};
  }

  static void clear(Block &block) noexcept {
    std::fill_n(block.x1, Block::lanes, std::numeric_limits<float>::infinity());
    std::fill_n(block.y1, Block::lanes, 0.0F);
    std::fill_n(block.x2, Block::lanes, 0.0F);
    std::fill_n(block.y2, Block::lanes, 0.0F);
    std::fill_n(block.area, Block::lanes, 0.0F);
  }

  [[nodiscard]] bool suppressed(const Block *pool, std::uint32_t first, const Box &candidate) const noexcept {
    return kernels_.suppressed_exact(pool, first, candidate, threshold_);
  }

  [[nodiscard]] bool suppresses(const Box &box, const Box &candidate) const noexcept {
    return simaai::kernels::detail::suppresses(box, candidate, threshold_);
  }

  /// The least box of whole corners around it, and no more than its area; suppress/capacity.h has the limit.
  [[nodiscard]] static simaai::kernels::detail::RoundedBox outline(const Box &box) noexcept {
    return {static_cast<std::int32_t>(std::floor(box.x1)), static_cast<std::int32_t>(std::floor(box.y1)),
            static_cast<std::int32_t>(std::ceil(box.x2)), static_cast<std::int32_t>(std::ceil(box.y2)),
            static_cast<std::uint32_t>(box.area)};
  }
  [[nodiscard]] std::uint32_t outline_limit() const noexcept { return limit_; }

private:
  const simaai::kernels::detail::Kernels &kernels_;
  simaai::kernels::detail::NmsThreshold threshold_;
  std::uint32_t limit_;
};

}  // namespace simaai::kernels::ops::boxdecode::detail
