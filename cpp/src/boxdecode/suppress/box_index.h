#pragma once

#include <array>
#include <cstdint>

#include "boxdecode/suppress/capacity.h"
#include "boxdecode/suppress/rules.h"

/// Finds the accepted boxes that may suppress a candidate without a walk along their whole chain. In: accepted boxes of the
/// chains that have grown long. Out: whether one of them suppresses a candidate. Never: an approximation; a box that need not
/// be looked at costs time and nothing else.
namespace simaai::kernels::ops::boxdecode::detail {

/// A hash table of boxes by chain, kind (classes of both sides, fullness) and cell of the centre. What it gives: a frame whose
/// one class keeps 16,384 boxes takes 2.5 ms, and 66 ms with walks alone (docs/benchmarks/decode-2026-11-30.md).
///
/// Why it is exact. A rule says what is seen of its boxes, their outlines of whole corners; IntegerRule decides by them, and
/// for ExactRule the same inequality follows. Let an outline of sides W, H and area A suppress one of W', H' and A'. Their
/// intersection is w·h with 0 < w ≤ min(W, W') and 0 < h ≤ min(H, H'). With limit = T + 1 and s = limit / (256 + limit)
///
///     w·h ≥ s·(A + A'), so w ≥ s·(A/h + A'/h) ≥ s·(E + E'), where E = A/H and E' = A'/H'.
///
/// E would be W if corners were not rounded, but nothing is assumed about how near it is. Instead each box is measured when it
/// is added: its fullness f is a number with A ≥ f·W·H, so E ≥ f·W. Then
///
///     W ≤ (W'/s − E')/f                        since W' ≥ w ≥ s·(f·W + E')
///     W ≥ s·E'/(1 − s·f)                       since W  ≥ w ≥ s·(f·W + E')
///     d ≤ W' − 2·s·E' + (1 − 2·s·f)·W          since (W + W' − d)/2 ≥ w ≥ s·(f·W + E')
///
/// for the distance d of twice the centres. As s ≤ 1/2, the last bound grows with W: the largest W of a class serves all of it.
/// The same holds along y with A/W. A box with a side that rounds to zero overlaps nothing. The bounds are computed in
/// binary64, whose errors are far below the whole pixel that is added to them; a lower bound is rounded down.
template <typename Rule>
class BoxIndex {
public:
  using Block = typename Rule::Block;
  using Box = typename Rule::Box;

  /// For a frame whose plan has room for an index.
  explicit BoxIndex(const Frame &frame) noexcept;

  /// Whether an accepted box of the chain that starts at pool[first] suppresses the candidate: by a search, or by the walk
  /// where the chain is short or a search would cost more.
  [[nodiscard]] bool suppressed(const Block *pool, std::uint32_t first, const Box &candidate, std::uint32_t chain) noexcept;

  /// Takes note that this box now stands in the chain that starts at pool[first].
  void accepted(const Block *pool, std::uint32_t first, const Box &box, std::uint32_t chain) noexcept;

  enum class Answer { Free, Suppressed, TooFarToLook };

  /// Searches the table alone, and gives up before it looks at more than `work` cells and boxes.
  [[nodiscard]] Answer search(const Box &candidate, std::uint32_t chain, std::uint64_t work) const noexcept;

  /// Adds a box to the table.
  void add(const Box &box, std::uint32_t chain) noexcept;

private:
  // Classes of sides along one axis: class c holds the sides of 2c or 2c + 1 bits. Sides are at most 20,000,000.
  static constexpr std::uint32_t side_classes = 13;
  static constexpr std::size_t fullnesses = 3;

  // The constants of the bounds for boxes of one fullness.
  struct Bounds {
    double twice_share;  ///< 2·s
    double inverse_share;
    double inverse_fullness;
    double slope;     ///< 1 − 2·s·f
    double smallest;  ///< s/(1 − s·f)
  };
  struct Cells;
  struct Axis;

  [[nodiscard]] Answer look(const Cells &columns, const Cells &rows, std::uint32_t salt, const Box &candidate,
                            std::uint32_t chain, std::uint64_t &work) const noexcept;
  // Twice the buckets. The table grows with what it holds, so that a frame of few boxes clears no large one.
  void grow() noexcept;

  Rule rule_;
  std::uint32_t cell_bits_ = 0;  ///< a cell of class c is 2^(2c + cell_bits_) wide, in halves of a pixel
  std::array<Bounds, fullnesses> bounds_ = {};
  std::uint32_t *lengths_;  ///< of the chains, in boxes
  IndexedBox<Box> *boxes_;
  std::uint32_t *heads_;
  std::uint32_t boxes_used_ = 0;
  std::uint32_t buckets_ = 0;
  std::uint32_t bucket_shift_ = 0;
  // Where searches give up again and again, chains are walked in between: 0, 1, 3, 7 and so on, half as many after a success.
  std::uint32_t walks_ = 0;
  std::uint32_t walks_after_next_ = 0;
  // Which kinds there are: any of a fullness, and for each class in x the classes in y as bits.
  std::array<bool, fullnesses> any_ = {};
  std::array<std::array<std::uint16_t, side_classes>, fullnesses> classes_y_ = {};
};

extern template class BoxIndex<IntegerRule>;
extern template class BoxIndex<ExactRule>;

}  // namespace simaai::kernels::ops::boxdecode::detail
