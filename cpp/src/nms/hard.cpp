#include "nms/hard.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>

#include "nms/grid.h"

namespace simaai::kernels::detail {
namespace {

constexpr std::uint32_t lanes = NmsBlocks::lanes;
constexpr float gone = std::numeric_limits<float>::infinity();

NmsBox load_box(const float *boxes, std::uint32_t row) {
  const float *const box = boxes + 4 * std::size_t{row};
  return NmsBox{box[0], box[1], box[2], box[3], (box[2] - box[0]) * (box[3] - box[1])};
}

std::size_t corner_of(std::size_t lane) { return lane / lanes * NmsBlocks::floats + lane % lanes; }

// The kept boxes of a group that can suppress something, in score order, in columns: what a row is held against.
class KeptList {
public:
  KeptList(const NmsSettings &settings, NmsScratch &scratch, const float *boxes, const std::uint32_t *rows)
      : settings_(settings), corners_(scratch.corners), shares_(scratch.lane_scores), boxes_(boxes), rows_(rows) {}

  // Brings the list up to kept[0..found).
  void catch_up(const std::uint32_t *kept, std::size_t found) {
    for (; seen_ < found; ++seen_) {
      add(load_box(boxes_, rows_[kept[seen_]]));
    }
  }

  // Whether a box of the list suppresses this one, of an area above 0.
  [[nodiscard]] bool suppresses(const NmsBox &box) {
    const std::size_t last = (size_ + step - 1) / step;
    const std::size_t passed =
        settings_.kernels->steps_to_suppressor(corners_, shares_, 0, 2 * last, box, share_of(box), settings_.threshold);
    const bool found = passed < last;
    steps_ += passed + static_cast<std::size_t>(found);
    ++asked_;
    return found;
  }

  // The best boxes of regular areas, as many as wanted and found.
  [[nodiscard]] std::span<const NmsBox> front(std::size_t wanted) const {
    return {front_.data(), std::min(wanted, front_size_)};
  }
  static constexpr std::size_t most_front = 64;

  // Rows that were held against it and steps that were looked at so far.
  [[nodiscard]] std::uint64_t rows() const { return asked_; }
  [[nodiscard]] std::uint64_t steps() const { return steps_; }

  static constexpr std::size_t step = 2 * lanes;

private:
  // Products of such an area with a share are normal numbers.
  [[nodiscard]] static bool is_regular(const NmsBox &box) { return box.area >= 0x1p-100F && box.area <= 0x1p100F; }

  [[nodiscard]] float share_of(const NmsBox &box) const {
    return is_regular(box) ? settings_.threshold.share * box.area : -gone;
  }

  void add(const NmsBox &box) {
    if (!(box.area > 0.0F)) {
      return;  // no intersection with it has an area
    }
    if (size_ % step == 0) {
      for (std::size_t lane = size_; lane < size_ + step; ++lane) {
        float *const corners = corners_ + corner_of(lane);
        corners[0] = gone;
        corners[lanes] = corners[2 * lanes] = corners[3 * lanes] = 0.0F;
        shares_[lane] = gone;
      }
    }
    float *const corners = corners_ + corner_of(size_);
    corners[0] = box.x1;
    corners[lanes] = box.y1;
    corners[2 * lanes] = box.x2;
    corners[3 * lanes] = box.y2;
    shares_[size_] = share_of(box);
    ++size_;
    if (front_size_ < front_.size() && is_regular(box)) {
      front_[front_size_++] = box;
    }
  }

  const NmsSettings &settings_;
  float *corners_;
  float *shares_;
  const float *boxes_;
  const std::uint32_t *rows_;
  std::size_t size_ = 0;
  std::size_t seen_ = 0;
  std::uint64_t steps_ = 0;
  std::uint64_t asked_ = 0;
  std::array<NmsBox, most_front> front_;
  std::size_t front_size_ = 0;
};

// Part of a group in score order, in columns, while better boxes take lanes out of it.
class Chunk {
public:
  static constexpr std::size_t capacity = 64;

  explicit Chunk(const NmsSettings &settings) : settings_(settings) {}

  void load(const float *boxes, const std::uint32_t *rows, std::size_t first, std::size_t count) {
    for (std::size_t lane = 0; lane < count; ++lane) {
      const float *const box = boxes + 4 * std::size_t{rows[first + lane]};
      float *const corners = corners_.data() + corner_of(lane);
      corners[0] = box[0];
      corners[lanes] = box[1];
      corners[2 * lanes] = box[2];
      corners[3 * lanes] = box[3];
      ids_[lane] = static_cast<std::uint32_t>(first + lane);
    }
    size_ = count;
    live_ = count;
    next_ = 0;
    wasted_ = 0;
    pad(lanes);
  }

  // Takes out what the box suppresses, from the lanes that were not visited yet.
  void suppress(const NmsBox &box) {
    if (!(box.area > 0.0F)) {
      return;  // no intersection with it has an area
    }
    const std::size_t first = next_ / lanes;
    const std::size_t last = (size_ + lanes - 1) / lanes;
    blocks_ += last - first;
    live_ -= settings_.kernels->suppress_run(corners_.data(), first, last, box, settings_.threshold);
    wasted_ += (last - first) - std::min<std::size_t>(last - first, (live_ + lanes - 1) / lanes);
    if (wasted_ > size_ - next_) {
      compact();
    }
  }

  // The next lane that is left, which from then on belongs to the past. False when there is none.
  bool visit(std::uint32_t &id) {
    while (next_ < size_ && corners_[corner_of(next_)] == gone) {
      ++next_;
    }
    if (next_ == size_) {
      return false;
    }
    id = ids_[next_];
    // Out of the lanes too: the count of live lanes is then right, and the box does not meet itself.
    corners_[corner_of(next_)] = gone;
    ++next_;
    --live_;
    return true;
  }

  [[nodiscard]] bool empty() const { return live_ == 0; }

  // Writes down the rows that are left once the boxes have taken out what they surely suppress. Returns how many.
  std::size_t filter(std::span<const NmsBox> boxes, std::array<std::uint32_t, capacity> &left) {
    pad(2 * lanes);
    const std::size_t blocks = (size_ + 2 * lanes - 1) / (2 * lanes) * 2;
    settings_.kernels->suppress_surely(corners_.data(), blocks, boxes.data(), boxes.size(), settings_.threshold.sure_share);
    blocks_ += blocks * boxes.size();
    std::size_t found = 0;
    for (std::size_t lane = 0; lane < size_; ++lane) {
      left[found] = ids_[lane];
      found += static_cast<std::size_t>(corners_[corner_of(lane)] != gone);
    }
    return found;
  }

  // Blocks that were looked at so far.
  [[nodiscard]] std::uint64_t blocks() const { return blocks_; }

private:
  // Clears the lanes between the last row and the next multiple.
  void pad(std::size_t multiple) {
    for (std::size_t lane = size_; lane % multiple != 0; ++lane) {
      float *const corners = corners_.data() + corner_of(lane);
      corners[0] = gone;
      corners[lanes] = corners[2 * lanes] = corners[3 * lanes] = 0.0F;
    }
  }

  void compact() {
    std::size_t to = 0;
    for (std::size_t from = next_; from < size_; ++from) {
      const float *const source = corners_.data() + corner_of(from);
      float *const target = corners_.data() + corner_of(to);
      const float x1 = source[0];
      target[0] = x1;
      target[lanes] = source[lanes];
      target[2 * lanes] = source[2 * lanes];
      target[3 * lanes] = source[3 * lanes];
      ids_[to] = ids_[from];
      to += static_cast<std::size_t>(x1 != gone);
    }
    size_ = to;
    next_ = 0;
    wasted_ = 0;
    pad(lanes);
  }

  const NmsSettings &settings_;
  alignas(32) std::array<float, capacity / lanes * NmsBlocks::floats> corners_;
  std::array<std::uint32_t, capacity> ids_;
  std::size_t size_ = 0;
  std::size_t next_ = 0;
  std::size_t live_ = 0;
  std::uint64_t wasted_ = 0;
  std::uint64_t blocks_ = 0;
};

// How far a group has come, and at what cost: rough nanoseconds of the looks that were counted on the machine this was written
// on. They choose between two ways to the same result.
struct Progress {
  std::size_t done = 0;
  std::size_t found = 0;
  double cost = 0;
};

double cost_of(const Chunk &chunk, const KeptList &list) {
  constexpr double block = 1.8;
  constexpr double step = 3.1;
  constexpr double row = 8.0;  // a wrong guess of the branch that leaves
  return block * static_cast<double>(chunk.blocks()) + step * static_cast<double>(list.steps()) +
         row * static_cast<double>(list.rows());
}

// Share of the last rows that lie where a grid has to look for a kept box: a sample, of few rows where few are left.
double share_in_reach(const NmsSettings &settings, const float *boxes, const std::uint32_t *rows, std::size_t count,
                      const Progress &now, const std::uint32_t *kept) {
  constexpr std::size_t queries = 8;
  const std::size_t step = count - now.done < 2048 ? 16 : 4;
  const std::size_t looks = Chunk::capacity / step;
  const double reach = (1.0 - settings.iou_threshold) / (1.0 + settings.iou_threshold);
  const auto near = [reach](double low_a, double high_a, double low_b, double high_b) {
    return std::abs((low_a + high_a) - (low_b + high_b)) < 2.0 * reach * ((high_a - low_a) + (high_b - low_b));
  };
  unsigned hits = 0;
  for (std::size_t query = 0; query < queries; ++query) {
    const float *const a = boxes + 4 * std::size_t{rows[kept[query * now.found / queries]]};
    for (std::size_t look = 0; look < looks; ++look) {
      const float *const b = boxes + 4 * std::size_t{rows[now.done - 1 - step * look]};
      hits += static_cast<unsigned>(near(a[0], a[2], b[0], b[2]) && near(a[1], a[3], b[1], b[3]));
    }
  }
  return static_cast<double>(hits) / static_cast<double>(queries * looks);
}

// Whether the rest of a group is cheaper on the grid, by what its beginning showed. `half` stands where half of `now.done` was
// done: kept boxes go on to grow with the same power of the rows, and with them what a row costs.
bool grid_is_cheaper(const NmsSettings &settings, const float *boxes, const std::uint32_t *rows, std::size_t count,
                     const Progress &half, const Progress &now, const std::uint32_t *kept) {
  constexpr double grid_row = 6.0;
  constexpr double grid_kept = 50.0;
  constexpr double grid_look = 0.6;
  const auto done = static_cast<double>(now.done);
  const auto found = static_cast<double>(now.found);
  const auto rest = static_cast<double>(count - now.done);
  const double power = std::log2(found / static_cast<double>(half.found));
  const double growth = std::pow((done + rest) / done, power);
  const double row = (now.cost - half.cost) / (done - static_cast<double>(half.done));
  const double row_by_row = rest * row * (1.0 + growth) / 2;
  const double apart = grid_row * rest + grid_kept * found * growth;
  if (row_by_row < 1.2 * apart) {
    return false;
  }
  const double looks = share_in_reach(settings, boxes, rows, count, now, kept) * rest * found * growth;
  return row_by_row > 1.2 * (apart + grid_look * looks);
}

// The rest of a group by the grid: rows[done..count), with `found` boxes kept so far.
std::size_t finish_on_grid(const NmsSettings &settings, NmsScratch &scratch, const float *boxes, const std::uint32_t *rows,
                           std::size_t done, std::size_t count, std::size_t found, std::size_t limit, std::uint32_t *kept) {
  NmsGrid grid;
  const std::size_t rest = count - done;
  grid.build(settings, scratch, boxes, rows + done, rest);
  std::size_t live = rest;
  constexpr std::uint64_t near_pairs = 256;  // about as costly as a look at the cells around a box
  for (std::size_t i = 0; i < found && !scratch.poll.spend(near_pairs); ++i) {
    live -= grid.suppress(settings, scratch, load_box(boxes, rows[kept[i]]));
  }
  for (std::size_t i = 0; i < rest && live != 0; ++i) {
    float *const corners = scratch.corners + scratch.lane_ids[i];
    if (corners[0] == gone) {
      continue;
    }
    const float width = corners[2 * lanes] - corners[0];
    const float height = corners[3 * lanes] - corners[lanes];
    const NmsBox box{corners[0], corners[lanes], corners[2 * lanes], corners[3 * lanes], width * height};
    corners[0] = gone;
    --live;
    kept[found++] = static_cast<std::uint32_t>(done + i);
    if (found == limit || scratch.poll.spend(near_pairs)) {
      break;
    }
    live -= grid.suppress(settings, scratch, box);
  }
  return found;
}

// One group on its way from the best row to the worst.
class Group {
public:
  Group(const NmsSettings &settings, NmsScratch &scratch, const float *boxes, const std::uint32_t *rows, std::size_t count,
        std::size_t limit, std::uint32_t *kept)
      : settings_(settings), scratch_(scratch), boxes_(boxes), rows_(rows), count_(count), limit_(limit), kept_(kept),
        chunk_(settings), list_(settings, scratch, boxes, rows) {}

  std::size_t run() {
    const bool may_use_grid = NmsGrid::usable(settings_.iou_threshold);
    bool by_row = false;
    Progress half;
    while (done_ < count_ && found_ < limit_) {
      const std::size_t size = std::min(Chunk::capacity, count_ - done_);
      const std::size_t before = found_;
      if (scratch_.poll.spend(std::uint64_t{found_ + size} * size)) {
        return found_;
      }
      chunk_.load(boxes_, rows_, done_, size);
      if (by_row) {
        keep_by_row();
      } else {
        keep_by_box();
      }
      // Row by row pays when enough rows find their suppressor early.
      by_row = found_ >= KeptList::step && 4 * (found_ - before) <= 3 * size;
      done_ += size;
      if (done_ == Chunk::capacity) {
        half.done = done_ / 2;
        half.found = static_cast<std::size_t>(std::lower_bound(kept_, kept_ + found_, half.done) - kept_);
      }
      if (may_use_grid && found_ < limit_ && done_ == 2 * half.done && count_ - done_ > Chunk::capacity) {
        const Progress now{done_, found_, cost_of(chunk_, list_)};
        if (grid_is_cheaper(settings_, boxes_, rows_, count_, half, now, kept_)) {
          return finish_on_grid(settings_, scratch_, boxes_, rows_, done_, count_, found_, limit_, kept_);
        }
        half = now;
      }
    }
    return found_;
  }

private:
  // Each kept box, old or new, takes rows out of the chunk.
  void keep_by_box() {
    for (std::size_t i = 0; i < found_ && !chunk_.empty(); ++i) {
      chunk_.suppress(load_box(boxes_, rows_[kept_[i]]));
    }
    std::uint32_t place = 0;
    while (found_ < limit_ && !chunk_.empty() && chunk_.visit(place)) {
      kept_[found_++] = place;
      chunk_.suppress(load_box(boxes_, rows_[place]));
    }
  }

  // The best boxes filter the chunk, then each row that is left goes down the list until something suppresses it.
  void keep_by_row() {
    const std::size_t before = found_;
    list_.catch_up(kept_, found_);
    std::array<std::uint32_t, Chunk::capacity> left;
    const std::size_t live = chunk_.filter(list_.front(front_), left);
    for (std::size_t i = 0; i < live && found_ < limit_; ++i) {
      const NmsBox box = load_box(boxes_, rows_[left[i]]);
      if (!(box.area > 0.0F) || !list_.suppresses(box)) {
        kept_[found_++] = left[i];
        list_.catch_up(kept_, found_);
      }
    }
    // A wider filter costs each row a little, and saves a wrong guess for those that it takes out.
    if (live - (found_ - before) > Chunk::capacity / 4 && front_ < KeptList::most_front) {
      front_ += lanes;
    }
  }

  const NmsSettings &settings_;
  NmsScratch &scratch_;
  const float *boxes_;
  const std::uint32_t *rows_;
  std::size_t count_;
  std::size_t limit_;
  std::uint32_t *kept_;
  Chunk chunk_;
  KeptList list_;
  std::size_t done_ = 0;
  std::size_t found_ = 0;
  std::size_t front_ = KeptList::step;  // how many boxes filter
};

}  // namespace

std::size_t suppress_hard(const NmsSettings &settings, NmsScratch &scratch, const float *boxes, const std::uint32_t *rows,
                          std::size_t count, std::size_t limit, std::uint32_t *kept) {
  if (limit == 0 || count == 0) {
    return 0;
  }
  if (settings.iou_threshold >= 1.0) {
    // An intersection is rounded from smaller factors than both areas, so no IoU exceeds 1.
    const std::size_t all = std::min(count, limit);
    std::iota(kept, kept + all, 0U);
    return all;
  }
  return Group(settings, scratch, boxes, rows, count, limit, kept).run();
}

}  // namespace simaai::kernels::detail
