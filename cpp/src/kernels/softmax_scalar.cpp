#include "kernels/kernels.h"
#include "numeric/exp32.h"
#include "numeric/four_sums.h"

namespace simaai::kernels::detail {
void exponentials_scalar(const float *x, std::size_t length, float largest, float *terms) {
  for (std::size_t k = 0; k < length; ++k) {
    terms[k] = exp32(x[k] - largest);
  }
}

void bin_distances_8_scalar(const std::uint8_t *raw, std::size_t side_step, std::uint32_t bins, std::uint8_t flip,
                            const float *table, float *sides) {
  for (std::uint32_t side = 0; side < 4; ++side) {
    const std::uint8_t *x = raw + side * side_step;
    std::uint32_t largest = 0;
    for (std::uint32_t k = 0; k < bins; ++k) {
      const std::uint32_t value = x[k] ^ flip;
      largest = value > largest ? value : largest;
    }
    FourSums weighted;
    FourSums plain;
    for (std::uint32_t k = 0; k < bins; ++k) {
      const float e = table[largest - static_cast<std::uint32_t>(x[k] ^ flip)];
      weighted.add(k, static_cast<float>(k) * e);
      plain.add(k, e);
    }
    sides[side] = weighted.total() / plain.total();
  }
}

void bin_distances_32_scalar(const float *x, std::uint32_t bins, float *sides) {
  for (std::uint32_t side = 0; side < 4; ++side) {
    const float *values = x + side * bins;
    float largest = values[0];
    for (std::uint32_t k = 1; k < bins; ++k) {
      // A NaN that is not the largest still reaches its own exponential, and with it both sums.
      largest = values[k] > largest ? values[k] : largest;
    }
    FourSums weighted;
    FourSums plain;
    for (std::uint32_t k = 0; k < bins; ++k) {
      const float e = exp32(values[k] - largest);
      weighted.add(k, static_cast<float>(k) * e);
      plain.add(k, e);
    }
    sides[side] = weighted.total() / plain.total();
  }
}

}  // namespace simaai::kernels::detail
