#include "boxdecode/geometry/keypoints.h"

#include <cassert>

#include "boxdecode/numeric/score_map.h"

namespace simaai::kernels::ops::boxdecode::detail {
namespace {

// Numbers of one keypoint in the output.
constexpr std::uint32_t dims = 3;

// The values of a site as [x, y, visibility] of each keypoint. Tensors without visibility say 1: there is nothing to doubt.
// `decode` is applied to each of them that the tensor has.
template <typename Decode>
void decode_each(const Frame &frame, const HeadPlan &head, const Site &site, float *keypoints, Decode decode) {
  lane_values(frame, head.keypoints, site.cell, site.anchor, keypoints);
  const auto count = static_cast<std::uint32_t>(frame.plan.params.num_keypoints);
  if (head.keypoints.count == dims * count) {
    for (float *point = keypoints; point < keypoints + head.keypoints.count; point += dims) {
      decode(point);
    }
    return;
  }
  assert(head.keypoints.count == 2 * count);
  // Spread in place, the last one first.
  for (std::uint32_t i = count; i-- > 0;) {
    float *point = keypoints + static_cast<std::size_t>(dims) * i;
    const float x = keypoints[2 * i];
    const float y = keypoints[2 * i + 1];
    point[0] = x;
    point[1] = y;
    point[2] = 0.0F;
    decode(point);
    point[2] = 1.0F;
  }
}

// Ultralytics Pose.kpts_decode: kx = (2·x + gx)·s.
void twice_raw_plus_cell(const Frame &frame, const HeadPlan &head, const Site &site, float *keypoints) {
  decode_each(frame, head, site, keypoints, [&](float *point) {
    point[0] = (2.0F * point[0] + static_cast<float>(site.grid_x)) * head.stride_x;
    point[1] = (2.0F * point[1] + static_cast<float>(site.grid_y)) * head.stride_y;
    point[2] = sigmoid(point[2]);
  });
}

// Ultralytics Pose26: kx = (x + gx + ½)·s.
void raw_plus_cell_center(const Frame &frame, const HeadPlan &head, const Site &site, float *keypoints) {
  decode_each(frame, head, site, keypoints, [&](float *point) {
    point[0] = (point[0] + static_cast<float>(site.grid_x) + 0.5F) * head.stride_x;
    point[1] = (point[1] + static_cast<float>(site.grid_y) + 0.5F) * head.stride_y;
    point[2] = sigmoid(point[2]);
  });
}

// Already decoded; the visibility is whatever the export left.
void model_pixels(const Frame &frame, const HeadPlan &head, const Site &site, float *keypoints) {
  decode_each(frame, head, site, keypoints, [&](float *point) {
    point[0] *= frame.plan.keypoint_scale_x;
    point[1] *= frame.plan.keypoint_scale_y;
  });
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
