#include "boxdecode/geometry/keypoints.h"

#include "boxdecode/numeric/score_map.h"

namespace simaai::kernels::ops::boxdecode::detail {
namespace {

// Ultralytics Pose.kpts_decode: kx = (2·x + gx)·s.
void twice_raw_plus_cell(const Frame &frame, const HeadPlan &head, const Site &site, float *keypoints) {
  lane_values(frame, head.extra, site.cell, site.anchor, keypoints);
  for (std::uint32_t i = 0; i < head.extra.count; i += 3) {
    keypoints[i] = (2.0F * keypoints[i] + static_cast<float>(site.grid_x)) * head.stride_x;
    keypoints[i + 1] = (2.0F * keypoints[i + 1] + static_cast<float>(site.grid_y)) * head.stride_y;
    keypoints[i + 2] = sigmoid(keypoints[i + 2]);
  }
}

// Ultralytics Pose26: kx = (x + gx + ½)·s.
void raw_plus_cell_center(const Frame &frame, const HeadPlan &head, const Site &site, float *keypoints) {
  lane_values(frame, head.extra, site.cell, site.anchor, keypoints);
  for (std::uint32_t i = 0; i < head.extra.count; i += 3) {
    keypoints[i] = (keypoints[i] + static_cast<float>(site.grid_x) + 0.5F) * head.stride_x;
    keypoints[i + 1] = (keypoints[i + 1] + static_cast<float>(site.grid_y) + 0.5F) * head.stride_y;
    keypoints[i + 2] = sigmoid(keypoints[i + 2]);
  }
}

// Already decoded; the visibility is whatever the export left.
void model_pixels(const Frame &frame, const HeadPlan &head, const Site &site, float *keypoints) {
  lane_values(frame, head.extra, site.cell, site.anchor, keypoints);
  for (std::uint32_t i = 0; i < head.extra.count; i += 3) {
    keypoints[i] *= frame.plan.box_scale_x;
    keypoints[i + 1] *= frame.plan.box_scale_y;
  }
}

}  // namespace

DecodeKeypoints keypoint_decoder(KeypointForm form) noexcept {
  switch (form) {
    case KeypointForm::None: return nullptr;
    case KeypointForm::TwiceRawPlusCell: return twice_raw_plus_cell;
    case KeypointForm::RawPlusCellCenter: return raw_plus_cell_center;
    case KeypointForm::ModelPixels: return model_pixels;
  }
  return nullptr;
}

}  // namespace simaai::kernels::ops::boxdecode::detail
