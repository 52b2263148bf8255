#pragma once

#include <cstdint>

// Distances of any number of bins, for each instruction set the same.
namespace simaai::kernels::detail {
namespace {

// `exponentials` is the set's kernel of that name; `distance(terms, bins)` may write behind the terms.
template <std::uint32_t most, typename Exponentials, typename Distance>
void distances_of_bins(const float *x, std::uint32_t bins, Exponentials exponentials, Distance distance, float *sides) {
  float terms[most];
  for (std::uint32_t side = 0; side < 4; ++side) {
    const float *values = x + side * bins;
    float largest = values[0];
    for (std::uint32_t k = 1; k < bins; ++k) {
      largest = values[k] > largest ? values[k] : largest;
    }
    exponentials(values, bins, largest, terms);
    sides[side] = distance(terms, bins);
  }
}

}  // namespace
}  // namespace simaai::kernels::detail
