#include "numeric/fp_environment.h"

#if defined(SIMA_KERNELS_X86)
#include <xmmintrin.h>
#else
#include <cfenv>
#include <limits>
#endif

namespace simaai::kernels::detail {

bool float_environment_is_default() noexcept {
#if defined(SIMA_KERNELS_X86)
  return mxcsr_is_default(_mm_getcsr());
#elif defined(SIMA_KERNELS_ARM)
  std::uint64_t fpcr = 0;
  __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
  return fpcr_is_default(fpcr);
#else
  // No register to read: ask the C library for the rounding mode and try what flushing would lose.
  const volatile float smallest = std::numeric_limits<float>::min();
  const volatile float half = smallest * 0.5F;
  return std::fegetround() == FE_TONEAREST && half + half == smallest;
#endif
}

}  // namespace simaai::kernels::detail
