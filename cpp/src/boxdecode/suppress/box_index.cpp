#include "boxdecode/suppress/box_index.h"

#include <algorithm>
#include <bit>

namespace simaai::kernels::ops::boxdecode::detail {
namespace {

using simaai::kernels::detail::RoundedBox;

constexpr std::uint32_t none = 0xFFFFFFFFU;
// A search costs as much as this many blocks of a walk, and a cell or a box as much as two.
constexpr std::uint32_t search_blocks = 16;
static_assert(long_chain / suppression_lanes >= search_blocks);
// Of walks between searches that give up.
constexpr std::uint32_t most_walks = 63;
constexpr double largest_side = 20'000'000.0;

// Fullness in eighths, from the most to the least. Rounded corners leave nearly every box of 8 pixels and more in the first.
constexpr std::uint64_t fullness_8[] = {6, 3, 0};

std::uint32_t class_of(std::int32_t side) {
  return static_cast<std::uint32_t>(std::bit_width(static_cast<std::uint32_t>(side))) / 2;
}
std::int32_t largest_of_class(std::uint32_t side_class) { return (2 << (2 * side_class)) - 1; }

std::size_t fullness_of(const RoundedBox &box) {
  const std::uint64_t rounded = static_cast<std::uint64_t>(box.x2 - box.x1) * static_cast<std::uint64_t>(box.y2 - box.y1);
  std::size_t fullness = 0;
  while (8 * std::uint64_t{box.area} < fullness_8[fullness] * rounded) {
    ++fullness;
  }
  return fullness;
}

std::uint32_t salt_of(std::uint32_t chain, std::size_t fullness, std::uint32_t class_x, std::uint32_t class_y) {
  const std::uint32_t kind = static_cast<std::uint32_t>(fullness) << 8U | class_x << 4U | class_y;
  return (chain << 10U | kind) * 0xC2B2AE3DU;
}

// Odd constants: 2^32 over the golden ratio for neighbours in a row, any others for the rest.
std::uint32_t key_of(std::int32_t column, std::int32_t row, std::uint32_t salt) {
  const std::uint32_t key =
      static_cast<std::uint32_t>(column) * 0x9E3779B1U + static_cast<std::uint32_t>(row) * 0x85EBCA77U + salt;
  return (key ^ key >> 15U) * 0x2C1B3C6DU;
}

bool has_a_side_of_zero(const RoundedBox &box) { return box.x1 == box.x2 || box.y1 == box.y2; }

}  // namespace

// Cells in a row, of twice the centre; none where last < first.
template <typename Rule>
struct BoxIndex<Rule>::Cells {
  std::int32_t first;
  std::int32_t last;

  [[nodiscard]] std::uint64_t count() const { return last < first ? 0 : static_cast<std::uint64_t>(last - first) + 1; }
};

// What the bounds say along one axis about boxes of one fullness. `full_side` is E' or F'.
template <typename Rule>
struct BoxIndex<Rule>::Axis {
  std::int32_t twice_center;
  double largest;
  double base;
  double slope;
  std::uint32_t first_class;
  std::uint32_t last_class;

  Axis(std::int32_t low, std::int32_t high, double full_side, const Bounds &bounds)
      : twice_center(low + high), slope(bounds.slope) {
    const double side = high - low;
    base = side - bounds.twice_share * full_side + 1.0;
    largest = std::min((side * bounds.inverse_share - full_side + 1.0) * bounds.inverse_fullness, largest_side);
    const double smallest = std::min(full_side * bounds.smallest, largest_side);
    first_class = class_of(static_cast<std::int32_t>(std::max(1.0, smallest)));
    last_class = class_of(static_cast<std::int32_t>(std::max(1.0, largest)));
  }

  // Where the centres of a class may be: nowhere, when not even its largest box reaches.
  [[nodiscard]] Cells cells(std::uint32_t side_class, std::uint32_t cell_bits) const {
    const double reach = base + slope * std::min<double>(largest, largest_of_class(side_class));
    if (reach < 0.0) {
      return {0, -1};
    }
    const auto whole_reach = static_cast<std::int32_t>(reach);
    const std::uint32_t bits = 2 * side_class + cell_bits;
    return {(twice_center - whole_reach) >> bits, (twice_center + whole_reach) >> bits};
  }
};

template <typename Rule>
BoxIndex<Rule>::BoxIndex(const Frame &frame) noexcept
    : rule_(frame), lengths_(frame.scratch.chain_lengths),
      boxes_(reinterpret_cast<IndexedBox<Box> *>(frame.scratch.indexed_boxes)), heads_(frame.scratch.index_heads) {
  const std::uint32_t limit = rule_.outline_limit();
  const double share = static_cast<double>(limit) / (256.0 + static_cast<double>(limit));
  for (std::size_t i = 0; i < fullnesses; ++i) {
    const double fullness = static_cast<double>(fullness_8[i]) / 8.0;
    // Without a fullness there is no largest side: the inverse is as good as infinite, yet no product with it is NaN.
    bounds_[i] = {2.0 * share, 1.0 / share, fullness > 0.0 ? 1.0 / fullness : 1e30, 1.0 - 2.0 * share * fullness,
                  share / (1.0 - share * fullness)};
  }
  // About as wide as what is looked at.
  cell_bits_ = limit >= 192 ? 0 : limit >= 96 ? 1 : 2;
  std::fill_n(lengths_, frame.plan.scratch.chains, 0U);
}

template <typename Rule>
bool BoxIndex<Rule>::suppressed(const Block *pool, std::uint32_t first, const Box &candidate, std::uint32_t chain) noexcept {
  const std::uint32_t length = lengths_[chain];
  if (length < long_chain) {
    return rule_.suppressed(pool, first, candidate);
  }
  if (walks_ == 0) {
    const Answer answer = search(candidate, chain, (length / Block::lanes - search_blocks) / 2);
    if (answer != Answer::TooFarToLook) {
      walks_after_next_ /= 2;
      return answer == Answer::Suppressed;
    }
    walks_ = walks_after_next_;
    walks_after_next_ = std::min(2 * walks_after_next_ + 1, most_walks);
  } else {
    --walks_;
  }
  return rule_.suppressed(pool, first, candidate);
}

template <typename Rule>
typename BoxIndex<Rule>::Answer BoxIndex<Rule>::search(const Box &candidate, std::uint32_t chain,
                                                       std::uint64_t work) const noexcept {
  const RoundedBox &outline = Rule::outline(candidate);
  if (has_a_side_of_zero(outline)) {
    return Answer::Free;
  }
  const double full_width = static_cast<double>(outline.area) / (outline.y2 - outline.y1);
  const double full_height = static_cast<double>(outline.area) / (outline.x2 - outline.x1);
  for (std::size_t fullness = 0; fullness < fullnesses; ++fullness) {
    if (!any_[fullness]) {
      continue;
    }
    const Axis x(outline.x1, outline.x2, full_width, bounds_[fullness]);
    const Axis y(outline.y1, outline.y2, full_height, bounds_[fullness]);
    for (std::uint32_t class_x = x.first_class; class_x <= x.last_class; ++class_x) {
      const std::uint32_t classes_y = classes_y_[fullness][class_x];
      const Cells columns = x.cells(class_x, cell_bits_);
      for (std::uint32_t class_y = y.first_class; class_y <= y.last_class; ++class_y) {
        if ((classes_y >> class_y & 1U) == 0) {
          continue;
        }
        const Cells rows = y.cells(class_y, cell_bits_);
        const std::uint64_t cells = columns.count() * rows.count();
        if (cells > work) {
          return Answer::TooFarToLook;
        }
        work -= cells;
        const std::uint32_t salt = salt_of(chain, fullness, class_x, class_y);
        const Answer answer = look(columns, rows, salt, candidate, chain, work);
        if (answer != Answer::Free) {
          return answer;
        }
      }
    }
  }
  return Answer::Free;
}

template <typename Rule>
typename BoxIndex<Rule>::Answer BoxIndex<Rule>::look(const Cells &columns, const Cells &rows, std::uint32_t salt,
                                                     const Box &candidate, std::uint32_t chain,
                                                     std::uint64_t &work) const noexcept {
  for (std::int32_t row = rows.first; row <= rows.last; ++row) {
    for (std::int32_t column = columns.first; column <= columns.last; ++column) {
      std::uint32_t at = heads_[key_of(column, row, salt) >> bucket_shift_];
      for (; at != none; at = boxes_[at].next) {
        if (work == 0) {
          return Answer::TooFarToLook;
        }
        --work;
        if (boxes_[at].chain == chain && rule_.suppresses(boxes_[at].box, candidate)) {
          return Answer::Suppressed;
        }
      }
    }
  }
  return Answer::Free;
}

template <typename Rule>
void BoxIndex<Rule>::add(const Box &box, std::uint32_t chain) noexcept {
  const RoundedBox &outline = Rule::outline(box);
  if (has_a_side_of_zero(outline)) {
    return;
  }
  if (boxes_used_ == buckets_) {
    grow();
  }
  const std::size_t fullness = fullness_of(outline);
  const std::uint32_t class_x = class_of(outline.x2 - outline.x1);
  const std::uint32_t class_y = class_of(outline.y2 - outline.y1);
  any_[fullness] = true;
  classes_y_[fullness][class_x] = static_cast<std::uint16_t>(classes_y_[fullness][class_x] | 1U << class_y);
  const std::uint32_t key =
      key_of((outline.x1 + outline.x2) >> (2 * class_x + cell_bits_), (outline.y1 + outline.y2) >> (2 * class_y + cell_bits_),
             salt_of(chain, fullness, class_x, class_y));
  std::uint32_t &head = heads_[key >> bucket_shift_];
  boxes_[boxes_used_] = {box, chain, key, head};
  head = boxes_used_++;
}

template <typename Rule>
void BoxIndex<Rule>::grow() noexcept {
  buckets_ = buckets_ == 0 ? first_index_buckets : 2 * buckets_;
  bucket_shift_ = 32U - static_cast<std::uint32_t>(std::bit_width(buckets_ - 1));
  std::fill_n(heads_, buckets_, none);
  for (std::uint32_t at = 0; at < boxes_used_; ++at) {
    std::uint32_t &head = heads_[boxes_[at].key >> bucket_shift_];
    boxes_[at].next = head;
    head = at;
  }
}

template <typename Rule>
void BoxIndex<Rule>::accepted(const Block *pool, std::uint32_t first, const Box &box, std::uint32_t chain) noexcept {
  const std::uint32_t length = ++lengths_[chain];
  if (length > long_chain) {
    add(box, chain);
  } else if (length == long_chain) {
    for (std::uint32_t index = first; index != Block::end; index = pool[index].next) {
      const Block &block = pool[index];
      for (std::uint32_t lane = 0; lane < block.used; ++lane) {
        add({block.x1[lane], block.y1[lane], block.x2[lane], block.y2[lane], block.area[lane]}, chain);
      }
    }
  }
}

template class BoxIndex<IntegerRule>;
template class BoxIndex<ExactRule>;

}  // namespace simaai::kernels::ops::boxdecode::detail
