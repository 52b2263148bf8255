#include "kernels/dispatch.h"

#include <atomic>
#include <cstring>

#if defined(SIMA_KERNELS_X86)
#include <cpuid.h>
#elif defined(SIMA_KERNELS_ARM) && defined(__linux__)
#include <sys/auxv.h>
#endif

namespace simaai::kernels::detail {
namespace {

std::atomic<const Kernels *> forced_kernels{nullptr};

// Calls visit(set) for each set that this CPU can run, best first, until it returns true.
template <typename Visit>
void visit_available(Visit visit) {
#if defined(SIMA_KERNELS_X86)
  if (cpu_features().avx2 && visit(avx2_kernels)) {
    return;
  }
#elif defined(SIMA_KERNELS_ARM)
  if (cpu_features().neon_dotprod && visit(neon_dotprod_kernels)) {
    return;
  }
  if (visit(neon_kernels)) {
    return;
  }
#endif
  visit(scalar_kernels);
}

CpuFeatures detect_features() noexcept {
  CpuFeatures features;
#if defined(SIMA_KERNELS_X86)
  // Asked of the CPU itself: the compiler's builtin needs a runtime library that not every linker brings.
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0) {
    return features;
  }
  constexpr unsigned osxsave = 1U << 27U;
  constexpr unsigned avx = 1U << 28U;
  if ((ecx & (osxsave | avx)) != (osxsave | avx)) {
    return features;
  }
  unsigned enabled = 0;
  unsigned enabled_high = 0;
  __asm__ volatile("xgetbv" : "=a"(enabled), "=d"(enabled_high) : "c"(0));
  constexpr unsigned xmm_and_ymm = 6U;
  if ((enabled & xmm_and_ymm) != xmm_and_ymm || __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0) {
    return features;
  }
  features.avx2 = (ebx & (1U << 5U)) != 0;
#elif defined(SIMA_KERNELS_ARM) && defined(__linux__)
  constexpr unsigned long hwcap_asimddp = 1UL << 20U;
  features.neon_dotprod = (getauxval(AT_HWCAP) & hwcap_asimddp) != 0;
#endif
  return features;
}

}  // namespace

CpuFeatures cpu_features() noexcept {
  // Asked once: in a virtual machine each CPUID traps, which takes tens of microseconds.
  static const CpuFeatures features = detect_features();
  return features;
}

std::vector<const char *> available_kernels() {
  std::vector<const char *> names;
  visit_available([&names](const Kernels &kernels) {
    names.push_back(kernels.name);
    return false;
  });
  return names;
}

const Kernels &select_kernels() noexcept {
  if (const Kernels *forced = forced_kernels.load(std::memory_order_acquire)) {
    return *forced;
  }
  const Kernels *best = &scalar_kernels;
  visit_available([&best](const Kernels &kernels) {
    best = &kernels;
    return true;
  });
  return *best;
}

bool force_kernels(const char *name) noexcept {
  const Kernels *found = nullptr;
  if (name != nullptr) {
    visit_available([&found, name](const Kernels &kernels) {
      if (std::strcmp(kernels.name, name) == 0) {
        found = &kernels;
      }
      return found != nullptr;
    });
    if (found == nullptr) {
      return false;
    }
  }
  forced_kernels.store(found, std::memory_order_release);
  return true;
}

}  // namespace simaai::kernels::detail
