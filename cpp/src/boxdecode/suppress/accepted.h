#pragma once

#include <algorithm>
#include <limits>

#include "boxdecode/context/context.h"
#include "boxdecode/suppress/box_index.h"
#include "numeric/rounding.h"

/// Greedy suppression. In: valid boxes by descending score. Out: whether one is accepted. Never: what a box will be written as.
namespace simaai::kernels::ops::boxdecode::detail {

/// What suppression sees of a box: rounded corners, and the rounded area of the unrounded box.
[[nodiscard]] inline simaai::kernels::detail::RoundedBox rounded_box(const Corners &box) noexcept {
  using simaai::kernels::detail::round_half_away;
  return {round_half_away(box.x1), round_half_away(box.y1), round_half_away(box.x2), round_half_away(box.y2),
          static_cast<std::uint32_t>(round_half_away((box.x2 - box.x1) * (box.y2 - box.y1)))};
}

/// The accepted boxes of a frame, chained by class. The first block of a chain stands alone; from then on a chain takes runs of
/// blocks that lie side by side, which a walk meets in the order of memory.
class AcceptedBoxes {
public:
  static constexpr std::uint32_t run = 4;

  /// How many blocks so many boxes in so many chains need at most.
  [[nodiscard]] static constexpr std::uint64_t blocks_for(std::uint64_t accepted, std::uint64_t chains) noexcept {
    constexpr std::uint64_t lanes = simaai::kernels::detail::SuppressionBlock::lanes;
    const std::uint64_t chains_with_runs = std::min(chains, accepted / (lanes + 1));
    return std::min(accepted, accepted / lanes + chains + (run - 1) * chains_with_runs);
  }

  explicit AcceptedBoxes(const Frame &frame) noexcept
      : kernels_(frame.kernels), limit_(frame.plan.suppression_limit),
        blocks_(frame.part<simaai::kernels::detail::SuppressionBlock>(frame.plan.context.blocks_offset)),
        chains_(frame.part<std::uint32_t>(frame.plan.context.chains_offset)) {
    std::fill_n(chains_, frame.plan.context.chains, simaai::kernels::detail::SuppressionBlock::end);
  }

  /// False when an accepted box of the chain suppresses this one; otherwise the box joins the chain.
  [[nodiscard]] bool admit(const Corners &box, std::uint32_t chain) noexcept {
    const simaai::kernels::detail::RoundedBox rounded = rounded_box(box);
    if (kernels_.suppressed(blocks_, chains_[chain], rounded, limit_)) {
      return false;
    }
    append(rounded, chain);
    return true;
  }

  [[nodiscard]] const simaai::kernels::detail::SuppressionBlock *pool() const noexcept { return blocks_; }
  [[nodiscard]] std::uint32_t blocks_used() const noexcept { return used_; }
  [[nodiscard]] std::uint32_t first_block(std::uint32_t chain) const noexcept { return chains_[chain]; }

  void append(const simaai::kernels::detail::RoundedBox &box, std::uint32_t chain) noexcept {
    using simaai::kernels::detail::SuppressionBlock;
    std::uint32_t index = chains_[chain];
    if (index == SuppressionBlock::end || blocks_[index].used == SuppressionBlock::lanes) {
      std::uint32_t behind = 0;
      std::uint32_t place = used_;
      if (index == SuppressionBlock::end) {
        used_ += 1;
      } else if (blocks_[index].behind > 0) {
        behind = blocks_[index].behind - 1;
        place = index + 1;
      } else {
        behind = run - 1;
        used_ += run;
      }
      SuppressionBlock &fresh = blocks_[place];
      std::fill_n(fresh.x1, SuppressionBlock::lanes, std::numeric_limits<std::int32_t>::max());
      std::fill_n(fresh.y1, SuppressionBlock::lanes, std::numeric_limits<std::int32_t>::max());
      std::fill_n(fresh.x2, SuppressionBlock::lanes, std::numeric_limits<std::int32_t>::min());
      std::fill_n(fresh.y2, SuppressionBlock::lanes, std::numeric_limits<std::int32_t>::min());
      std::fill_n(fresh.area, SuppressionBlock::lanes, 0U);
      fresh.used = 0;
      fresh.next = index;
      fresh.behind = behind;
      index = place;
      chains_[chain] = place;
    }
    SuppressionBlock &block = blocks_[index];
    const std::uint32_t lane = block.used++;
    block.x1[lane] = box.x1;
    block.y1[lane] = box.y1;
    block.x2[lane] = box.x2;
    block.y2[lane] = box.y2;
    block.area[lane] = box.area;
  }

private:
  const simaai::kernels::detail::Kernels &kernels_;
  std::uint32_t limit_;
  simaai::kernels::detail::SuppressionBlock *blocks_;
  std::uint32_t *chains_;
  std::uint32_t used_ = 0;
};

/// The same with an index of the long chains, for plans that have room for one. Apart, so that others pay nothing for it.
class IndexedBoxes {
public:
  explicit IndexedBoxes(const Frame &frame) noexcept : boxes_(frame), index_(frame) {}

  [[nodiscard]] bool admit(const Corners &box, std::uint32_t chain) noexcept {
    const simaai::kernels::detail::RoundedBox rounded = rounded_box(box);
    if (index_.suppressed(boxes_.pool(), boxes_.first_block(chain), rounded, chain)) {
      return false;
    }
    boxes_.append(rounded, chain);
    index_.accepted(boxes_.pool(), boxes_.first_block(chain), rounded, chain);
    return true;
  }

private:
  AcceptedBoxes boxes_;
  BoxIndex index_;
};

}  // namespace simaai::kernels::ops::boxdecode::detail
