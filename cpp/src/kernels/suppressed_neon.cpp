#include "kernels/kernels.h"
#include "kernels/vectors_neon.h"

namespace simaai::kernels::detail {
namespace {

// inter · (256 + least_iou) ≥ least_iou · areas and areas > inter, in 64-bit lanes. inter < 2^32.
uint64x2_t suppressing_u64x2(uint32x2_t width, uint32x2_t height, uint32x2_t area, std::uint32_t candidate_area,
                             std::uint32_t least_iou) {
  const uint64x2_t inter = vmull_u32(width, height);
  const uint64x2_t areas = vaddw_u32(vdupq_n_u64(candidate_area), area);
  const uint64x2_t need = vmlal_n_u32(vdupq_n_u64(static_cast<std::uint64_t>(candidate_area) * least_iou), area, least_iou);
  const uint64x2_t have = vmull_n_u32(vmovn_u64(inter), 256U + least_iou);
  return vandq_u64(vcgeq_u64(have, need), vcgtq_u64(areas, inter));
}

// A block of which a box overlaps the candidate. Sides of those that do not are zero: nothing is suppressed by an
// intersection of zero unless the areas are zero too, and then they are not greater than it. Not inlined: the products
// would be computed before it is known that they are needed.
[[gnu::noinline]] bool block_suppresses(const SuppressionBlock &block, const RoundedBox &candidate, std::uint32_t least_iou) {
  for (std::size_t lane = 0; lane < SuppressionBlock::lanes; lane += 4) {
    const int32x4_t left = vmaxq_s32(vld1q_s32(block.x1 + lane), vdupq_n_s32(candidate.x1));
    const int32x4_t top = vmaxq_s32(vld1q_s32(block.y1 + lane), vdupq_n_s32(candidate.y1));
    const int32x4_t right = vminq_s32(vld1q_s32(block.x2 + lane), vdupq_n_s32(candidate.x2));
    const int32x4_t bottom = vminq_s32(vld1q_s32(block.y2 + lane), vdupq_n_s32(candidate.y2));
    const uint32x4_t overlap = vandq_u32(vcgtq_s32(right, left), vcgtq_s32(bottom, top));
    const uint32x4_t width = vandq_u32(vsubq_u32(vreinterpretq_u32_s32(right), vreinterpretq_u32_s32(left)), overlap);
    const uint32x4_t height = vsubq_u32(vreinterpretq_u32_s32(bottom), vreinterpretq_u32_s32(top));
    const uint32x4_t area = vld1q_u32(block.area + lane);
    const uint64x2_t low =
        suppressing_u64x2(vget_low_u32(width), vget_low_u32(height), vget_low_u32(area), candidate.area, least_iou);
    const uint64x2_t high =
        suppressing_u64x2(vget_high_u32(width), vget_high_u32(height), vget_high_u32(area), candidate.area, least_iou);
    if (byte_bits(vreinterpretq_u8_u64(vorrq_u64(low, high))) != 0) {
      return true;
    }
  }
  return false;
}

struct CandidateLanes {
  int32x4_t x1;
  int32x4_t y1;
  int32x4_t x2;
  int32x4_t y2;
};

uint32x4_t overlap_of(const SuppressionBlock &block, std::size_t lane, const CandidateLanes &candidate) {
  const int32x4_t left = vmaxq_s32(vld1q_s32(block.x1 + lane), candidate.x1);
  const int32x4_t top = vmaxq_s32(vld1q_s32(block.y1 + lane), candidate.y1);
  const int32x4_t right = vminq_s32(vld1q_s32(block.x2 + lane), candidate.x2);
  const int32x4_t bottom = vminq_s32(vld1q_s32(block.y2 + lane), candidate.y2);
  return vandq_u32(vcgtq_s32(right, left), vcgtq_s32(bottom, top));
}

}  // namespace

bool suppressed_neon(const SuppressionBlock *pool, std::uint32_t first, const RoundedBox &candidate, std::uint32_t least_iou) {
  const CandidateLanes lanes = {vdupq_n_s32(candidate.x1), vdupq_n_s32(candidate.y1), vdupq_n_s32(candidate.x2),
                                vdupq_n_s32(candidate.y2)};
  for (std::uint32_t index = first; index != SuppressionBlock::end; index = pool[index].next) {
    const SuppressionBlock &block = pool[index];
    const uint32x4_t overlap = vorrq_u32(overlap_of(block, 0, lanes), overlap_of(block, 4, lanes));
    if (byte_bits(vreinterpretq_u8_u32(overlap)) != 0 && block_suppresses(block, candidate, least_iou)) {
      return true;
    }
  }
  return false;
}

}  // namespace simaai::kernels::detail
