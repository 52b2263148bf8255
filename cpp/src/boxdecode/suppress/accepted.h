#pragma once

#include <algorithm>

#include "boxdecode/suppress/box_index.h"

/// Greedy suppression. In: valid boxes by descending score. Out: whether one is accepted. Never: what a box will be written as.
namespace simaai::kernels::ops::boxdecode::detail {

/// The policy that suppresses nothing.
class EveryBox {
public:
  explicit EveryBox(const Frame & /*frame*/) noexcept {}
  [[nodiscard]] static bool admit(const Corners & /*box*/, std::uint32_t /*chain*/) noexcept { return true; }
};

/// The accepted boxes of a frame, chained by class. The first block of a chain stands alone; from then on a chain takes runs of
/// blocks that lie side by side, which a walk meets in the order of memory.
template <typename Rule>
class AcceptedBoxes {
public:
  using Block = typename Rule::Block;
  using Box = typename Rule::Box;

  explicit AcceptedBoxes(const Frame &frame) noexcept
      : rule_(frame), blocks_(reinterpret_cast<Block *>(frame.scratch.suppression_blocks)), chains_(frame.scratch.chains) {
    std::fill_n(chains_, frame.plan.scratch.chains, Block::end);
  }

  /// False when an accepted box of the chain suppresses this one; otherwise the box joins the chain.
  [[nodiscard]] bool admit(const Corners &box, std::uint32_t chain) noexcept {
    const Box kept = Rule::kept_of(box);
    if (rule_.suppressed(blocks_, chains_[chain], kept)) {
      return false;
    }
    append(kept, chain);
    return true;
  }

  [[nodiscard]] const Block *pool() const noexcept { return blocks_; }
  [[nodiscard]] std::uint32_t blocks_used() const noexcept { return used_; }
  [[nodiscard]] std::uint32_t first_block(std::uint32_t chain) const noexcept { return chains_[chain]; }

  void append(const Box &box, std::uint32_t chain) noexcept {
    std::uint32_t index = chains_[chain];
    if (index == Block::end || blocks_[index].used == Block::lanes) {
      std::uint32_t behind = 0;
      std::uint32_t place = used_;
      if (index == Block::end) {
        used_ += 1;
      } else if (blocks_[index].behind > 0) {
        behind = blocks_[index].behind - 1;
        place = index + 1;
      } else {
        behind = suppression_run - 1;
        used_ += suppression_run;
      }
      Block &fresh = blocks_[place];
      Rule::clear(fresh);
      fresh.used = 0;
      fresh.next = index;
      fresh.behind = behind;
      index = place;
      chains_[chain] = place;
    }
    Block &block = blocks_[index];
    const std::uint32_t lane = block.used++;
    block.x1[lane] = box.x1;
    block.y1[lane] = box.y1;
    block.x2[lane] = box.x2;
    block.y2[lane] = box.y2;
    block.area[lane] = box.area;
  }

private:
  Rule rule_;
  Block *blocks_;
  std::uint32_t *chains_;
  std::uint32_t used_ = 0;
};

/// The same with an index of the long chains, for plans that have room for one. Apart, so that others pay nothing for it.
template <typename Rule>
class IndexedBoxes {
public:
  explicit IndexedBoxes(const Frame &frame) noexcept : boxes_(frame), index_(frame) {}

  [[nodiscard]] bool admit(const Corners &box, std::uint32_t chain) noexcept {
    const typename Rule::Box kept = Rule::kept_of(box);
    if (index_.suppressed(boxes_.pool(), boxes_.first_block(chain), kept, chain)) {
      return false;
    }
    boxes_.append(kept, chain);
    index_.accepted(boxes_.pool(), boxes_.first_block(chain), kept, chain);
    return true;
  }

private:
  AcceptedBoxes<Rule> boxes_;
  BoxIndex<Rule> index_;
};

}  // namespace simaai::kernels::ops::boxdecode::detail
