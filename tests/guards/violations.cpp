// Breaks each rule of audit.py on purpose; never part of a library or a test program.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#if defined(__ARM_FEATURE_DOTPROD)
#include <arm_neon.h>
#elif defined(__AVX2__)
#include <immintrin.h>
#endif

double fused(double a, double b, double c) { return a * b + c; }

void prints_and_ends() {
  if (std::getenv("VIOLATION") != nullptr) std::abort();
  std::puts("violation");
}

#if defined(__ARM_FEATURE_DOTPROD)
int32x4_t dot(int32x4_t sum, int8x16_t a, int8x16_t b) { return vdotq_s32(sum, a, b); }

int counts(std::atomic<int> &counter) { return counter.fetch_add(1); }
#elif defined(__AVX2__)
__m256i wide(__m256i a, __m256i b) { return _mm256_add_epi32(a, b); }
#endif
