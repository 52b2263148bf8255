#include "kernels/kernels.h"

namespace simaai::kernels::detail {

bool suppressed_scalar(const SuppressionBlock *pool, std::uint32_t first, const RoundedBox &candidate,
                       std::uint32_t least_iou) {
  for (std::uint32_t index = first; index != SuppressionBlock::end; index = pool[index].next) {
    const SuppressionBlock &block = pool[index];
    for (std::uint32_t box = 0; box < block.used; ++box) {
      const std::int32_t left = block.x1[box] > candidate.x1 ? block.x1[box] : candidate.x1;
      const std::int32_t top = block.y1[box] > candidate.y1 ? block.y1[box] : candidate.y1;
      const std::int32_t right = block.x2[box] < candidate.x2 ? block.x2[box] : candidate.x2;
      const std::int32_t bottom = block.y2[box] < candidate.y2 ? block.y2[box] : candidate.y2;
      if (right <= left || bottom <= top) {
        continue;
      }
      // Sides are below 2^25 and the product below 2^32 (the smaller box has area < 2^31 before rounding), so 64 bits hold all.
      const std::uint64_t inter =
          static_cast<std::uint64_t>(static_cast<std::uint32_t>(right - left)) * static_cast<std::uint32_t>(bottom - top);
      const std::uint64_t areas = static_cast<std::uint64_t>(block.area[box]) + candidate.area;
      if (areas > inter && inter * (256U + least_iou) >= least_iou * areas) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace simaai::kernels::detail
