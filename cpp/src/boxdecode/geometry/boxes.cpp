#include "boxdecode/geometry/boxes.h"

#include <bit>

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

Corners scaled(const Corners &box, float scale_x, float scale_y) noexcept {
  return {box.x1 * scale_x, box.y1 * scale_y, box.x2 * scale_x, box.y2 * scale_y};
}

struct Four {
  float v[4];
};

Four box_values(const Frame &frame, const HeadPlan &head, const Site &site) {
  Four box;
  lane_values(frame, head.boxes, site.cell, site.anchor, box.v);
  return box;
}

// Distances to the sides, in cells, around the centre of the cell.
Corners around_center(const HeadPlan &head, const Site &site, const float *ltrb) {
  const float center_x = static_cast<float>(site.grid_x) + 0.5F;
  const float center_y = static_cast<float>(site.grid_y) + 0.5F;
  return {(center_x - ltrb[0]) * head.stride_x, (center_y - ltrb[1]) * head.stride_y, (center_x + ltrb[2]) * head.stride_x,
          (center_y + ltrb[3]) * head.stride_y};
}

Corners ltrb_cells(const Frame &frame, const HeadPlan &head, const Site &site) {
  const Four box = box_values(frame, head, site);
  return around_center(head, site, box.v);
}

// d = Σ k·e_k / Σ e_k with e_k = exp32(x_k − max), for each side (Generalized Focal Loss, Li et al. 2020).
Corners ltrb_bins(const Frame &frame, const HeadPlan &head, const Site &site) {
  auto *values = frame.part<float>(frame.plan.context.values_offset);
  lane_values(frame, head.boxes, site.cell, site.anchor, values);
  float sides[4];
  frame.kernels.bin_distances_32(values, head.boxes.count / 4, sides);
  return around_center(head, site, sides);
}

Corners ltrb_from_table(const Frame &frame, const HeadPlan &head, const Site &site, const void *first_side,
                        std::size_t side_step) {
  const std::uint8_t flip = frame.port(head.boxes).type.dtype == DType::Int8 ? 0x80U : 0U;
  float sides[4];
  frame.kernels.bin_distances_8(static_cast<const std::uint8_t *>(first_side), side_step, head.boxes.count / 4, flip,
                                head.box_exponentials->data(), sides);
  return around_center(head, site, sides);
}

Corners ltrb_bins_from_table(const Frame &frame, const HeadPlan &head, const Site &site) {
  return ltrb_from_table(frame, head, site, raw_lane(frame, head.boxes, site.cell, site.anchor), head.boxes.count / 4);
}

// Each side is a block of stripes.
Corners ltrb_blocks_from_table(const Frame &frame, const HeadPlan &head, const Site &site) {
  const Lane &lane = head.boxes;
  const Blocks blocks = blocks_of_cell(frame.port(lane).reader, frame.input(lane.port), site.cell, lane.first(site.anchor));
  return ltrb_from_table(frame, head, site, blocks.first, blocks.step);
}

Corners center_size_pixels(const Frame &frame, const HeadPlan &head, const Site &site) {
  const Four box = box_values(frame, head, site);
  return scaled(corners_of(box.v[0], box.v[1], box.v[2], box.v[3]), frame.plan.box_scale_x, frame.plan.box_scale_y);
}

Corners exp_cells(const Frame &frame, const HeadPlan &head, const Site &site) {
  const Four box = box_values(frame, head, site);
  return corners_of((box.v[0] + static_cast<float>(site.grid_x)) * head.stride_x,
                    (box.v[1] + static_cast<float>(site.grid_y)) * head.stride_y, exp32(box.v[2]) * head.stride_x,
                    exp32(box.v[3]) * head.stride_y);
}

Corners sigmoid_anchor(const Frame &frame, const HeadPlan &head, const Site &site) {
  const Four box = box_values(frame, head, site);
  const Anchor &anchor = head.priors.sizes[site.anchor];
  const float cx = (2.0F * sigmoid(box.v[0]) + (static_cast<float>(site.grid_x) - 0.5F)) * head.stride_x;
  const float cy = (2.0F * sigmoid(box.v[1]) + (static_cast<float>(site.grid_y) - 0.5F)) * head.stride_y;
  const float double_w = 2.0F * sigmoid(box.v[2]);
  const float double_h = 2.0F * sigmoid(box.v[3]);
  return corners_of(cx, cy, (double_w * double_w) * anchor.width, (double_h * double_h) * anchor.height);
}

Corners center_size_split(const Frame &frame, const HeadPlan &head, const Site &site) {
  float center[2];
  float size[2];
  lane_values(frame, head.boxes, site.cell, site.anchor, center);
  lane_values(frame, head.sizes, site.cell, site.anchor, size);
  return scaled(corners_of(center[0], center[1], size[0], size[1]), frame.plan.box_scale_x, frame.plan.box_scale_y);
}

// Variances 0.1 and 0.2 against normalised priors (SSD, Liu et al. 2016): corners first, then the unit.
Corners with_variances(const Frame &frame, const HeadPlan &head, const Site &site, float dx, float dy, float dw, float dh) {
  const Anchor &prior = head.priors.sizes[site.anchor];
  const float cx = 0.1F * dx * prior.width + head.priors.center_x[site.grid_x];
  const float cy = 0.1F * dy * prior.height + head.priors.center_y[site.grid_y];
  const float w = capped_exp(0.2F * dw) * prior.width;
  const float h = capped_exp(0.2F * dh) * prior.height;
  return scaled(corners_of(cx, cy, w, h), frame.plan.box_scale_x, frame.plan.box_scale_y);
}

Corners variance_xyxy(const Frame &frame, const HeadPlan &head, const Site &site) {
  const Four box = box_values(frame, head, site);
  return with_variances(frame, head, site, box.v[0], box.v[1], box.v[2], box.v[3]);
}

Corners variance_yxyx(const Frame &frame, const HeadPlan &head, const Site &site) {
  const Four box = box_values(frame, head, site);
  return with_variances(frame, head, site, box.v[1], box.v[0], box.v[3], box.v[2]);
}

// Without variances against pixel anchors.
Corners against_anchor(const HeadPlan &head, const Site &site, float dx, float dy, float dw, float dh) {
  const Anchor &prior = head.priors.sizes[site.anchor];
  const float cx = dx * prior.width + head.priors.center_x[site.grid_x];
  const float cy = dy * prior.height + head.priors.center_y[site.grid_y];
  return corners_of(cx, cy, capped_exp(dw) * prior.width, capped_exp(dh) * prior.height);
}

Corners anchor_yxyx(const Frame &frame, const HeadPlan &head, const Site &site) {
  const Four box = box_values(frame, head, site);
  return against_anchor(head, site, box.v[1], box.v[0], box.v[3], box.v[2]);
}

float clipped(float value, float high) noexcept {
  // Comparisons in this form keep NaN.
  return value < 0.0F ? 0.0F : value > high ? high : value;
}

Corners anchor_xyxy_clipped(const Frame &frame, const HeadPlan &head, const Site &site) {
  const Four box = box_values(frame, head, site);
  const Corners corners = against_anchor(head, site, box.v[0], box.v[1], box.v[2], box.v[3]);
  const auto width = static_cast<float>(frame.plan.params.model_input_size.width);
  const auto height = static_cast<float>(frame.plan.params.model_input_size.height);
  return {clipped(corners.x1, width), clipped(corners.y1, height), clipped(corners.x2, width), clipped(corners.y2, height)};
}

Corners center_size_unit(const Frame &frame, const HeadPlan &head, const Site &site) {
  Four box = box_values(frame, head, site);
  for (float &value : box.v) {
    value = activate(frame.plan.params.box_activation, value);
  }
  return scaled(corners_of(box.v[0], box.v[1], box.v[2], box.v[3]), frame.plan.box_scale_x, frame.plan.box_scale_y);
}

Corners center_offset_cells(const Frame &frame, const HeadPlan &head, const Site &site) {
  float size[2];
  float offset[2];
  lane_values(frame, head.boxes, site.cell, site.anchor, size);
  lane_values(frame, head.extra, site.cell, site.anchor, offset);
  return corners_of((static_cast<float>(site.grid_x) + offset[0]) * head.stride_x,
                    (static_cast<float>(site.grid_y) + offset[1]) * head.stride_y, size[0] * head.stride_x,
                    size[1] * head.stride_y);
}

}  // namespace

DecodeBox box_decoder(BoxForm form, const PlanState &plan, const HeadPlan &head) noexcept {
  switch (form) {
    case BoxForm::LtrbCells: return ltrb_cells;
    case BoxForm::LtrbBins:
      if (head.box_exponentials == nullptr) {
        return ltrb_bins;
      }
      return head.boxes.count == 4 * block_lanes && in_blocks(plan, head.boxes) ? ltrb_blocks_from_table : ltrb_bins_from_table;
    case BoxForm::CenterSizePixels: return center_size_pixels;
    case BoxForm::ExpCells: return exp_cells;
    case BoxForm::SigmoidAnchor: return sigmoid_anchor;
    case BoxForm::CenterSizeSplit: return center_size_split;
    case BoxForm::VarianceXyxy: return variance_xyxy;
    case BoxForm::VarianceYxyx: return variance_yxyx;
    case BoxForm::AnchorYxyx: return anchor_yxyx;
    case BoxForm::AnchorXyxyClipped: return anchor_xyxy_clipped;
    case BoxForm::CenterSizeUnit: return center_size_unit;
    case BoxForm::CenterOffsetCells: return center_offset_cells;
  }
  return nullptr;
}

}  // namespace simaai::kernels::ops::boxdecode::detail
