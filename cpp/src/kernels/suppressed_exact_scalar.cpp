#include "kernels/iou_rule.h"
#include "kernels/kernels.h"

namespace simaai::kernels::detail {

bool suppressed_exact_scalar(const ExactBlock *pool, std::uint32_t first, const NmsBox &candidate,
                             const NmsThreshold &threshold) {
  for (std::uint32_t index = first; index != ExactBlock::end; index = pool[index].next) {
    const ExactBlock &block = pool[index];
    for (std::uint32_t lane = 0; lane < ExactBlock::lanes; ++lane) {
      const NmsBox accepted{block.x1[lane], block.y1[lane], block.x2[lane], block.y2[lane], block.area[lane]};
      if (suppresses(accepted, candidate, threshold)) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace simaai::kernels::detail
