#include <bit>
#include <cstring>

#include "boxdecode/geometry/mapping.h"
#include "boxdecode/outputs/outputs.h"
#include "numeric/rounding.h"

namespace simaai::kernels::ops::boxdecode::detail {
namespace {

using simaai::kernels::detail::round_half_away;

constexpr std::size_t count_port = 3;

template <typename Element>
Element *row(const Frame &frame, std::size_t port, std::size_t slot) {
  return reinterpret_cast<Element *>(static_cast<std::byte *>(frame.outputs[port].data) +
                                     slot * frame.plan.outputs[port].row_bytes);
}

std::int32_t clipped_and_rounded(float value, float high) {
  const float clipped = value < 0.0F ? 0.0F : value > high ? high : value;
  return round_half_away(clipped);
}

// NaN has many patterns and CPUs disagree about the one that they make.
float canonical(float value) { return value != value ? std::bit_cast<float>(0x7FC00000U) : value; }

}  // namespace

void write_detection(const Frame &frame, const Corners &corners, float score, std::uint32_t class_id,
                     std::size_t slot) noexcept {
  const std::int32_t x1 = clipped_and_rounded(map_x(frame.mapping, corners.x1), frame.image_width);
  const std::int32_t y1 = clipped_and_rounded(map_y(frame.mapping, corners.y1), frame.image_height);
  const std::int32_t x2 = clipped_and_rounded(map_x(frame.mapping, corners.x2), frame.image_width);
  const std::int32_t y2 = clipped_and_rounded(map_y(frame.mapping, corners.y2), frame.image_height);
  auto *box = row<std::int32_t>(frame, 0, slot);
  box[0] = x1;
  box[1] = y1;
  box[2] = x2 - x1;
  box[3] = y2 - y1;
  *row<float>(frame, 1, slot) = score;
  *row<std::int32_t>(frame, 2, slot) = static_cast<std::int32_t>(class_id);
}

void clear_rows_from(const Frame &frame, std::size_t count) noexcept {
  for (std::size_t port = 0; port < frame.plan.outputs.size(); ++port) {
    if (port != count_port) {
      const OutputPlan &output = frame.plan.outputs[port];
      std::memset(row<std::byte>(frame, port, count), 0, output.bytes - count * output.row_bytes);
    }
  }
}

void write_count(const Frame &frame, std::size_t count) noexcept {
  *row<std::int32_t>(frame, count_port, 0) = static_cast<std::int32_t>(count);
}

void write_keypoints(const Frame &frame, const HeadPlan &head, const Site &site, const Corners &corners, std::size_t slot) {
  (void)corners;
  auto *keypoints = row<float>(frame, 4, slot);
  frame.plan.decode_keypoints(frame, head, site, keypoints);
  const auto numbers = static_cast<std::uint32_t>(3 * frame.plan.params.num_keypoints);
  for (std::uint32_t i = 0; i < numbers; i += 3) {
    keypoints[i] = canonical(map_x(frame.mapping, keypoints[i]));
    keypoints[i + 1] = canonical(map_y(frame.mapping, keypoints[i + 1]));
    keypoints[i + 2] = canonical(keypoints[i + 2]);
  }
}

void write_proposal(const Frame &frame, const HeadPlan &head, const Site &site, const Corners &corners, std::size_t slot) {
  (void)head;
  (void)site;
  auto *box = row<float>(frame, 4, slot);
  box[0] = corners.x1;
  box[1] = corners.y1;
  box[2] = corners.x2;
  box[3] = corners.y2;
}

}  // namespace simaai::kernels::ops::boxdecode::detail
