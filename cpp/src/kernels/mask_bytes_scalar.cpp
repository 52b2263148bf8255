#include "kernels/kernels.h"

namespace simaai::kernels::detail {

void mask_bytes_scalar(const std::int32_t *sums, std::size_t pixels, const MaskSteps &steps, std::uint8_t *bytes) {
  const std::int32_t last = static_cast<std::int32_t>(steps.buckets << steps.shift) - 1;
  for (std::size_t pixel = 0; pixel < pixels; ++pixel) {
    std::int32_t above = sums[pixel] - steps.low;
    above = above < 0 ? 0 : above > last ? last : above;
    const std::uint32_t bucket = static_cast<std::uint32_t>(above) >> steps.shift;
    const std::uint32_t inside = static_cast<std::uint32_t>(above) - (bucket << steps.shift);
    const std::uint32_t entry = steps.entries[bucket];
    bytes[pixel] = static_cast<std::uint8_t>((entry & 0xFFU) + (inside >= entry >> 8U ? 1U : 0U));
  }
}

}  // namespace simaai::kernels::detail
