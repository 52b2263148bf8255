#include "kernels/iou_exact_neon.h"
#include "kernels/kernels.h"

namespace simaai::kernels::detail {
namespace {

// A box that is held against others, in every lane.
struct Candidate {
  float32x4_t x1, y1, x2, y2, area;
};

// Half a block and what it shares with the candidate.
struct Overlap {
  float32x4_t width, height, area;
  uint32x4_t lanes;
};

Overlap overlap_at(const ExactBlock &block, std::uint32_t lane, const Candidate &candidate) {
  Overlap part;
  part.width =
      vsubq_f32(vminq_f32(vld1q_f32(block.x2 + lane), candidate.x2), vmaxq_f32(vld1q_f32(block.x1 + lane), candidate.x1));
  part.height =
      vsubq_f32(vminq_f32(vld1q_f32(block.y2 + lane), candidate.y2), vmaxq_f32(vld1q_f32(block.y1 + lane), candidate.y1));
  part.area = vld1q_f32(block.area + lane);
  part.lanes = vcgtzq_f32(vminq_f32(part.width, part.height));
  return part;
}

// Whether a lane that overlaps suppresses the candidate.
bool suppressing(const Overlap &part, const Candidate &candidate, const NmsThreshold &threshold) {
  const float32x4_t inter = vmulq_f32(part.width, part.height);
  const float32x4_t both = vsubq_f32(vaddq_f32(part.area, candidate.area), inter);
  // The FP32 neighbours of the threshold decide nearly every pair.
  const uint32x4_t positive = vandq_u32(part.lanes, vcgtzq_f32(inter));
  const uint32x4_t maybe = vandq_u32(positive, vcgeq_f32(inter, vmulq_n_f32(both, threshold.low)));
  if (vmaxvq_u32(maybe) == 0) {
    return false;
  }
  if (vmaxvq_u32(vandq_u32(maybe, vcgtq_f32(inter, vmulq_n_f32(both, threshold.high)))) != 0) {
    return true;
  }
  return vmaxvq_u32(vandq_u32(maybe, past_f64x4(inter, both, threshold))) != 0;
}

}  // namespace

bool suppressed_exact_neon(const ExactBlock *pool, std::uint32_t first, const NmsBox &candidate,
                           const NmsThreshold &threshold) {
  constexpr std::uint32_t half = ExactBlock::lanes / 2;
  const Candidate everywhere{vdupq_n_f32(candidate.x1), vdupq_n_f32(candidate.y1), vdupq_n_f32(candidate.x2),
                             vdupq_n_f32(candidate.y2), vdupq_n_f32(candidate.area)};
  for (std::uint32_t index = first; index != ExactBlock::end; index = pool[index].next) {
    const Overlap low = overlap_at(pool[index], 0, everywhere);
    const Overlap high = overlap_at(pool[index], half, everywhere);
    if (vmaxvq_u32(vorrq_u32(low.lanes, high.lanes)) == 0) {
      continue;
    }
    if (suppressing(low, everywhere, threshold) || suppressing(high, everywhere, threshold)) {
      return true;
    }
  }
  return false;
}

}  // namespace simaai::kernels::detail
