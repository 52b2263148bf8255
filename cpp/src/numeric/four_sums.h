#pragma once

#include <cstdint>

namespace simaai::kernels::detail {

/// The sum rule of every FP32 sum: term k goes to partial sum k mod 4 in ascending k, combined as (s0 + s1) + (s2 + s3).
class FourSums {
public:
  void add(std::uint32_t k, float term) noexcept { sums_[k % 4] += term; }
  [[nodiscard]] float total() const noexcept { return (sums_[0] + sums_[1]) + (sums_[2] + sums_[3]); }

private:
  float sums_[4] = {0.0F, 0.0F, 0.0F, 0.0F};
};

}  // namespace simaai::kernels::detail
