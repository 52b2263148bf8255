#pragma once

#include <vector>

#include "kernels/kernels.h"

namespace simaai::kernels::detail {

/// What this CPU and its operating system admit.
struct CpuFeatures {
  bool avx2 = false;
  bool neon_dotprod = false;
};
[[nodiscard]] CpuFeatures cpu_features() noexcept;

/// Names of the kernel sets that this CPU can run, best first; the last is "scalar".
[[nodiscard]] std::vector<const char *> available_kernels();

/// The set that a plan prepared now gets: the best one, or the forced one.
[[nodiscard]] const Kernels &select_kernels() noexcept;

/// For tests: plans prepared from now on get the named set; null returns to the best one. False when this CPU has no such set.
bool force_kernels(const char *name) noexcept;

}  // namespace simaai::kernels::detail
