#pragma once

#include <cstddef>
#include <cstdint>

// The end of a search for the first largest score, for each instruction set the same.
namespace simaai::kernels::detail {
namespace {

// Every lane has its own largest score and the step in which it first met it. Of equal scores the first position counts.
template <std::uint32_t lanes>
std::size_t first_of_lanes(const float *scores, const std::uint32_t *steps) {
  std::size_t found = std::size_t{steps[0]} * lanes;
  float found_score = scores[0];
  for (std::uint32_t lane = 1; lane < lanes; ++lane) {
    const std::size_t position = std::size_t{steps[lane]} * lanes + lane;
    if (scores[lane] > found_score || (scores[lane] == found_score && position < found)) {
      found = position;
      found_score = scores[lane];
    }
  }
  return found;
}

}  // namespace
}  // namespace simaai::kernels::detail
