#include <arm_neon.h>

#include "kernels/kernels.h"

namespace simaai::kernels::detail {

void mask_bytes_neon(const std::int32_t *sums, std::size_t pixels, const MaskSteps &steps, std::uint8_t *bytes) {
  const int32x4_t low_s32x4 = vdupq_n_s32(steps.low);
  const int32x4_t last_s32x4 = vdupq_n_s32(static_cast<std::int32_t>(steps.buckets << steps.shift) - 1);
  const int32x4_t shift_s32x4 = vdupq_n_s32(-static_cast<std::int32_t>(steps.shift));
  const uint32x4_t inside_mask_u32x4 = vdupq_n_u32((1U << steps.shift) - 1U);
  const std::uint32_t *entries = steps.entries;
  // The byte in the low bits of each lane.
  const auto four = [&](const std::int32_t *from) {
    const int32x4_t above_s32x4 = vsubq_s32(vld1q_s32(from), low_s32x4);
    const uint32x4_t above_u32x4 = vreinterpretq_u32_s32(vminq_s32(vmaxq_s32(above_s32x4, vdupq_n_s32(0)), last_s32x4));
    const uint64x2_t buckets_u64x2 = vreinterpretq_u64_u32(vshlq_u32(above_u32x4, shift_s32x4));
    const std::uint64_t buckets01 = vgetq_lane_u64(buckets_u64x2, 0);
    const std::uint64_t buckets23 = vgetq_lane_u64(buckets_u64x2, 1);
    uint32x4_t entry_u32x4 = vdupq_n_u32(entries[static_cast<std::uint32_t>(buckets01)]);
    entry_u32x4 = vsetq_lane_u32(entries[buckets01 >> 32U], entry_u32x4, 1);
    entry_u32x4 = vsetq_lane_u32(entries[static_cast<std::uint32_t>(buckets23)], entry_u32x4, 2);
    entry_u32x4 = vsetq_lane_u32(entries[buckets23 >> 32U], entry_u32x4, 3);
    const uint32x4_t reached_u32x4 = vcgeq_u32(vandq_u32(above_u32x4, inside_mask_u32x4), vshrq_n_u32(entry_u32x4, 8));
    return vreinterpretq_u16_u32(vsubq_u32(entry_u32x4, reached_u32x4));
  };
  const auto eight = [&](std::size_t pixel) {
    vst1_u8(bytes + pixel, vmovn_u16(vuzp1q_u16(four(sums + pixel), four(sums + pixel + 4))));
  };
  if (pixels < 8) {
    mask_bytes_scalar(sums, pixels, steps, bytes);
    return;
  }
  // The last eight may overlap those before them.
  for (std::size_t pixel = 0; pixel < pixels - 8; pixel += 8) {
    eight(pixel);
  }
  eight(pixels - 8);
}

}  // namespace simaai::kernels::detail
