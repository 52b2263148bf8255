#include "boxdecode/geometry/boxes.h"

#include <bit>
#include <cassert>

#include "boxdecode/numeric/score_map.h"
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

// From the unit of the corners to pixels, which a factor of 1 leaves as they are, and into the frame where that is asked for.
Corners finished(const PlanState &plan, const Corners &box) noexcept {
  const Corners corners = {box.x1 * plan.box_scale_x, box.y1 * plan.box_scale_y, box.x2 * plan.box_scale_x,
                           box.y2 * plan.box_scale_y};
  if (!plan.recipe->box.clip) {
    return corners;
  }
  const auto width = static_cast<float>(plan.params.model_input_size.width);
  const auto height = static_cast<float>(plan.params.model_input_size.height);
  return {clipped(corners.x1, width), clipped(corners.y1, height), clipped(corners.x2, width), clipped(corners.y2, height)};
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

// ---- distances --------------------------------------------------------------------------------------------------------

using ReadSides = void (*)(const Frame &frame, const HeadPlan &head, const Site &site, float *sides);

void read_sides(const Frame &frame, const HeadPlan &head, const Site &site, float *sides) {
  lane_values(frame, head.boxes, site.cell, site.anchor, sides);
  for (std::size_t side = 0; side < 4; ++side) {
    sides[side] = curved(frame.plan.recipe->box.curve, frame.plan.params.box_activation, sides[side]);
  }
}

// d = Σ k·e_k / Σ e_k with e_k = exp32(x_k − max), for each side (Generalized Focal Loss, Li et al. 2020).
void read_bins(const Frame &frame, const HeadPlan &head, const Site &site, float *sides) {
  auto *values = frame.part<float>(frame.plan.context.values_offset);
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

template <ReadSides read>
Corners decode_distances(const Frame &frame, const HeadPlan &head, const Site &site) {
  assert(site.cell < head.cells && site.anchor < head.anchors && head.boxes.count % 4 == 0);
  float ltrb[4];
  read(frame, head, site, ltrb);
  const float point_x = static_cast<float>(site.grid_x) + frame.plan.grid_offset;
  const float point_y = static_cast<float>(site.grid_y) + frame.plan.grid_offset;
  return {(point_x - ltrb[0]) * head.stride_x, (point_y - ltrb[1]) * head.stride_y, (point_x + ltrb[2]) * head.stride_x,
          (point_y + ltrb[3]) * head.stride_y};
}

// ---- centres and sizes, offsets from priors ---------------------------------------------------------------------------

struct Four {
  float cx;
  float cy;
  float w;
  float h;
};

// The numbers of a box, from one lane or from one of centres and one of sizes.
Four box_values(const Frame &frame, const HeadPlan &head, const Site &site) {
  assert(site.cell < head.cells && site.anchor < head.anchors);
  assert(head.boxes.count + head.sizes.count == 4);
  float values[4];
  lane_values(frame, head.boxes, site.cell, site.anchor, values);
  if (!head.sizes.empty()) {
    lane_values(frame, head.sizes, site.cell, site.anchor, values + 2);
  }
  if (frame.plan.recipe->box.y_first) {
    return {values[1], values[0], values[3], values[2]};
  }
  return {values[0], values[1], values[2], values[3]};
}

Corners decode_center_size(const Frame &frame, const HeadPlan &head, const Site &site) {
  const PlanState &plan = frame.plan;
  const BoxRule &rule = plan.recipe->box;
  const Four raw = box_values(frame, head, site);
  float cx = curved(rule.curve, plan.params.box_activation, raw.cx);
  float cy = curved(rule.curve, plan.params.box_activation, raw.cy);
  float w = curved(rule.size_curve, plan.params.box_activation, raw.w);
  float h = curved(rule.size_curve, plan.params.box_activation, raw.h);
  switch (rule.unit) {
    case LengthUnit::Cells:
      cx = (cx + (static_cast<float>(site.grid_x) + plan.grid_offset)) * head.stride_x;
      cy = (cy + (static_cast<float>(site.grid_y) + plan.grid_offset)) * head.stride_y;
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
Corners decode_deltas(const Frame &frame, const HeadPlan &head, const Site &site) {
  const BoxRule &rule = frame.plan.recipe->box;
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

DecodeBox distance_decoder(const PlanState &plan, const HeadPlan &head) noexcept {
  switch (plan.recipe->box.curve) {
    case BoxCurve::Bins: break;
    case BoxCurve::Raw:
    case BoxCurve::Exp:
    case BoxCurve::DoubleSigmoid:
    case BoxCurve::SquaredDoubleSigmoid:
    case BoxCurve::Told: return decode_distances<read_sides>;
  }
  if (head.box_exponentials == nullptr) {
    return decode_distances<read_bins>;
  }
  return head.boxes.count == 4 * block_lanes && in_blocks(plan, head.boxes) ? decode_distances<read_blocks_from_table>
                                                                            : decode_distances<read_bins_from_table>;
}

}  // namespace

DecodeBox box_decoder(const PlanState &plan, const HeadPlan &head) noexcept {
  switch (plan.recipe->box.coding) {
    case BoxCoding::Distances: return distance_decoder(plan, head);
    case BoxCoding::CenterSize: return decode_center_size;
    case BoxCoding::Deltas: return decode_deltas;
  }
  return nullptr;
}

}  // namespace simaai::kernels::ops::boxdecode::detail
