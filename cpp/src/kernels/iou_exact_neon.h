#pragma once

#include <arm_neon.h>

#include "kernels/nms_kernels.h"

// The rule of overlap in exact doubles, for all kernels of this instruction set that need it.
namespace simaai::kernels::detail {
namespace {

// Which of four quotients inter/both are past the threshold. An inter of zero is for the caller to rule out.
inline uint32x4_t past_f64x4(float32x4_t inter_f32x4, float32x4_t both_f32x4, const NmsThreshold &threshold) {
  const float64x2_t middle = vdupq_n_f64(threshold.middle);
  const float64x2_t inter_low = vcvt_f64_f32(vget_low_f32(inter_f32x4));
  const float64x2_t inter_high = vcvt_high_f64_f32(inter_f32x4);
  const float64x2_t bound_low = vmulq_f64(middle, vcvt_f64_f32(vget_low_f32(both_f32x4)));
  const float64x2_t bound_high = vmulq_f64(middle, vcvt_high_f64_f32(both_f32x4));
  const bool tie = threshold.tie_suppresses != 0;
  const uint64x2_t low = tie ? vcgeq_f64(inter_low, bound_low) : vcgtq_f64(inter_low, bound_low);
  const uint64x2_t high = tie ? vcgeq_f64(inter_high, bound_high) : vcgtq_f64(inter_high, bound_high);
  return vcombine_u32(vmovn_u64(low), vmovn_u64(high));
}

}  // namespace
}  // namespace simaai::kernels::detail
