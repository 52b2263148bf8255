#include "boxdecode/geometry/boxes.h"

#include <bit>
#include <cassert>
#include <utility>

#include "boxdecode/numeric/score_map.h"
#include "boxdecode/recipes/catalogue.h"
#include "numeric/exp32.h"

namespace simaai::kernels::ops::boxdecode::detail {
namespace {

using simaai::kernels::detail::exp32;

// ln(1000 / 16), where log sizes are cut (torchvision _utils.py, BoxCoder).
const float largest_log_size = std::bit_cast<float>(0x40845349U);

// NaN stays NaN, which std::min does not promise.
float capped_exp(float log_size) noexcept { return exp32(log_size > largest_log_size ? largest_log_size : log_size); }

Corners corners_of(float cx, float cy, float w, float h) noexcept {
  return {cx - 0.5F * w, cy - 0.5F * h, cx + 0.5F * w, cy + 0.5F * h};
}

float clipped(float value, float high) noexcept {
  // Comparisons in this form keep NaN.
  return value < 0.0F ? 0.0F : value > high ? high : value;
}

float curved(BoxCurve curve, ScoreActivation told, float value) noexcept {
  switch (curve) {
    case BoxCurve::Raw:
    case BoxCurve::Bins: return value;  // whoever reads bins has made a number of them
    case BoxCurve::Exp: return exp32(value);
    case BoxCurve::DoubleSigmoid: return 2.0F * sigmoid(value);
    case BoxCurve::SquaredDoubleSigmoid: {
      const float twice = 2.0F * sigmoid(value);
      return twice * twice;
    }
    case BoxCurve::Told: return activate(told, value);
  }
  return value;
}

// d = Σ k·e_k / Σ e_k with e_k = exp32(x_k − max), for each side (Generalized Focal Loss, Li et al. 2020).
void read_bins(const Frame &frame, const HeadPlan &head, const Site &site, float *sides) {
  auto *values = frame.scratch.values;
  lane_values(frame, head.boxes, site.cell, site.anchor, values);
  frame.kernels.bin_distances_32(values, head.boxes.count / 4, sides);
}

void bins_from_table(const Frame &frame, const HeadPlan &head, const void *first_side, std::size_t side_step, float *sides) {
  const std::uint8_t flip = frame.port(head.boxes).type.dtype == DType::Int8 ? 0x80U : 0U;
  frame.kernels.bin_distances_8(static_cast<const std::uint8_t *>(first_side), side_step, head.boxes.count / 4, flip,
                                head.box_exponentials->data(), sides);
}

void read_bins_from_table(const Frame &frame, const HeadPlan &head, const Site &site, float *sides) {
  bins_from_table(frame, head, raw_lane(frame, head.boxes, site.cell, site.anchor), head.boxes.count / 4, sides);
}

// Each side is a block of stripes.
void read_blocks_from_table(const Frame &frame, const HeadPlan &head, const Site &site, float *sides) {
  const Lane &lane = head.boxes;
  const Blocks blocks = blocks_of_cell(frame.port(lane).reader, frame.input(lane.port), site.cell, lane.first(site.anchor));
  bins_from_table(frame, head, blocks.first, blocks.step, sides);
}

using ReadSides = void (*)(const Frame &frame, const HeadPlan &head, const Site &site, float *sides);

struct Four {
  float cx;
  float cy;
  float w;
  float h;
};

// The three codings. Their words are constants here: asked for each box they would cost a fifth of a crowded frame.
template <const Recipe *recipe>
struct Decoder {
  static constexpr const BoxRule &rule = recipe->box;

  static float position(const PlanState &plan, float value) { return curved(rule.curve, plan.params.box_activation, value); }
  static float size(const PlanState &plan, float value) { return curved(rule.size_curve, plan.params.box_activation, value); }
  static float on_grid(std::uint32_t cell) {
    constexpr float offset = offset_of(rule.point);
    return offset == 0.0F ? static_cast<float>(cell) : static_cast<float>(cell) + offset;
  }

  // From the unit of the corners to pixels, and into the frame where that is asked for.
  static Corners finished(const PlanState &plan, Corners corners) {
    if constexpr (may_be_normalised(rule.unit)) {
      corners = {corners.x1 * plan.box_scale_x, corners.y1 * plan.box_scale_y, corners.x2 * plan.box_scale_x,
                 corners.y2 * plan.box_scale_y};
    }
    if constexpr (rule.clip) {
      const auto width = static_cast<float>(plan.params.model_input_size.width);
      const auto height = static_cast<float>(plan.params.model_input_size.height);
      corners = {clipped(corners.x1, width), clipped(corners.y1, height), clipped(corners.x2, width),
                 clipped(corners.y2, height)};
    }
    return corners;
  }

  static void read_sides(const Frame &frame, const HeadPlan &head, const Site &site, float *sides) {
    lane_values(frame, head.boxes, site.cell, site.anchor, sides);
    for (std::size_t side = 0; side < 4; ++side) {
      sides[side] = position(frame.plan, sides[side]);
    }
  }

  template <ReadSides read>
  static Corners distances(const Frame &frame, const HeadPlan &head, const Site &site) {
    assert(site.cell < head.cells && site.anchor < head.anchors && head.boxes.count % 4 == 0);
    float ltrb[4];
    read(frame, head, site, ltrb);
    const float point_x = on_grid(site.grid_x);
    const float point_y = on_grid(site.grid_y);
    return {(point_x - ltrb[0]) * head.stride_x, (point_y - ltrb[1]) * head.stride_y, (point_x + ltrb[2]) * head.stride_x,
            (point_y + ltrb[3]) * head.stride_y};
  }

  static Four in_order(float first, float second, float third, float fourth) {
    if constexpr (rule.y_first) {
      return {second, first, fourth, third};
    } else {
      return {first, second, third, fourth};
    }
  }

  // The numbers of a box, from one lane or from one of centres and one of sizes.
  static Four box_values(const Frame &frame, const HeadPlan &head, const Site &site) {
    assert(site.cell < head.cells && site.anchor < head.anchors);
    assert(head.boxes.count + head.sizes.count == 4);
    if constexpr (recipe->has(Part::Size)) {
      float center[2];
      float size[2];
      lane_values(frame, head.sizes, site.cell, site.anchor, size);
      lane_values(frame, head.boxes, site.cell, site.anchor, center);
      return in_order(center[0], center[1], size[0], size[1]);
    } else {
      float values[4];
      lane_values(frame, head.boxes, site.cell, site.anchor, values);
      return in_order(values[0], values[1], values[2], values[3]);
    }
  }

  static Corners center_size(const Frame &frame, const HeadPlan &head, const Site &site) {
    const PlanState &plan = frame.plan;
    const Four raw = box_values(frame, head, site);
    float cx = position(plan, raw.cx);
    float cy = position(plan, raw.cy);
    float w = size(plan, raw.w);
    float h = size(plan, raw.h);
    switch (rule.unit) {
      case LengthUnit::Cells:
        cx = (cx + on_grid(site.grid_x)) * head.stride_x;
        cy = (cy + on_grid(site.grid_y)) * head.stride_y;
        break;
      case LengthUnit::Anchors:
      case LengthUnit::Pixels:
      case LengthUnit::Frame:
      case LengthUnit::Told: break;
    }
    switch (rule.size_unit) {
      case LengthUnit::Cells:
        w *= head.stride_x;
        h *= head.stride_y;
        break;
      case LengthUnit::Anchors:
        w *= head.priors.sizes[site.anchor].width;
        h *= head.priors.sizes[site.anchor].height;
        break;
      case LengthUnit::Pixels:
      case LengthUnit::Frame:
      case LengthUnit::Told: break;
    }
    return finished(plan, corners_of(cx, cy, w, h));
  }

  // SSD (Liu et al. 2016) has variances; a variance of 1 changes no bit.
  static Corners deltas(const Frame &frame, const HeadPlan &head, const Site &site) {
    const Four delta = box_values(frame, head, site);
    assert(site.anchor < head.priors.sizes.size());
    assert(site.grid_x < head.priors.center_x.size() && site.grid_y < head.priors.center_y.size());
    const Anchor &prior = head.priors.sizes[site.anchor];
    const float cx = rule.center_variance * delta.cx * prior.width + head.priors.center_x[site.grid_x];
    const float cy = rule.center_variance * delta.cy * prior.height + head.priors.center_y[site.grid_y];
    const float w = capped_exp(rule.size_variance * delta.w) * prior.width;
    const float h = capped_exp(rule.size_variance * delta.h) * prior.height;
    return finished(frame.plan, corners_of(cx, cy, w, h));
  }

  static DecodeBox of_distances(const PlanState &plan, const HeadPlan &head) {
    if (!has_bins(rule.curve)) {
      return distances<read_sides>;
    }
    if (head.box_exponentials == nullptr) {
      return distances<read_bins>;
    }
    return head.boxes.count == 4 * block_lanes && in_blocks(plan, head.boxes) ? distances<read_blocks_from_table>
                                                                              : distances<read_bins_from_table>;
  }

  static DecodeBox of(const PlanState &plan, const HeadPlan &head) {
    switch (rule.coding) {
      case BoxCoding::Distances: return of_distances(plan, head);
      case BoxCoding::CenterSize: return center_size;
      case BoxCoding::Deltas: return deltas;
    }
    return nullptr;
  }
};

// Whether two recipes decode boxes alike: one function serves both.
constexpr bool same_box(const Recipe &a, const Recipe &b) { return a.box == b.box && a.has(Part::Size) == b.has(Part::Size); }

constexpr std::size_t first_alike(const Recipe &recipe) {
  std::size_t index = 0;
  while (!same_box(*all_recipes[index], recipe)) {
    ++index;
  }
  return index;
}

template <std::size_t... index>
DecodeBox find_decoder(const PlanState &plan, const HeadPlan &head, std::index_sequence<index...> /*recipes*/) {
  DecodeBox found = nullptr;
  ((found = found == nullptr && same_box(*all_recipes[index], *plan.recipe)
                ? Decoder<all_recipes[first_alike(*all_recipes[index])]>::of(plan, head)
                : found),
   ...);
  return found;
}

}  // namespace

DecodeBox box_decoder(const PlanState &plan, const HeadPlan &head) noexcept {
  return find_decoder(plan, head, std::make_index_sequence<all_recipes.size()>());
}

}  // namespace simaai::kernels::ops::boxdecode::detail
