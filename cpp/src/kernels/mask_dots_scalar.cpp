#include "kernels/elements_scalar.h"

namespace simaai::kernels::detail {

void mask_dots_8_scalar(const MaskCoefficients &coefficients, const std::uint8_t *prototypes, std::size_t pixels,
                        std::size_t pixel_step, std::int32_t *dots) {
  for (std::size_t pixel = 0; pixel < pixels; ++pixel) {
    const std::uint8_t *prototype = prototypes + pixel * pixel_step;
    std::int32_t sum = 0;
    for (std::uint32_t j = 0; j < coefficients.length; ++j) {
      const std::int32_t value = as_signed<std::uint8_t>(prototype[j] ^ coefficients.prototype_flip);
      sum += coefficients.centred[j] * (value - coefficients.prototype_zero);
    }
    dots[pixel] = sum;
  }
}

}  // namespace simaai::kernels::detail
