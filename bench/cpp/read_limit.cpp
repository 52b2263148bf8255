#include "read_limit.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace bench {

#if defined(__x86_64__)

__attribute__((target("avx2"))) std::uint64_t read_limit(const std::uint8_t *bytes, std::size_t size) {
  __m256i a = _mm256_setzero_si256();
  __m256i b = a;
  __m256i c = a;
  __m256i d = a;
  std::size_t i = 0;
  for (; i + 256 <= size; i += 256) {
    const auto at = [&](std::size_t k) __attribute__((target("avx2"), always_inline)) {
      return _mm256_loadu_si256(reinterpret_cast<const __m256i *>(bytes + i + 32 * k));
    };
    a = _mm256_max_epi8(a, _mm256_max_epi8(at(0), at(1)));
    b = _mm256_max_epi8(b, _mm256_max_epi8(at(2), at(3)));
    c = _mm256_max_epi8(c, _mm256_max_epi8(at(4), at(5)));
    d = _mm256_max_epi8(d, _mm256_max_epi8(at(6), at(7)));
  }
  a = _mm256_max_epi8(_mm256_max_epi8(a, b), _mm256_max_epi8(c, d));
  std::uint64_t sum =
      static_cast<std::uint64_t>(_mm256_extract_epi64(a, 0)) ^ static_cast<std::uint64_t>(_mm256_extract_epi64(a, 2));
  for (; i < size; ++i) {
    sum ^= bytes[i];
  }
  return sum;
}

void flush(const void *bytes, std::size_t size) {
  const auto *first = static_cast<const char *>(bytes);
  for (std::size_t i = 0; i < size; i += 64) {
    _mm_clflush(first + i);
  }
  _mm_mfence();
}

bool can_flush() { return true; }

#else

std::uint64_t read_limit(const std::uint8_t *bytes, std::size_t size) {
  std::uint64_t sum = 0;
  std::size_t i = 0;
#if defined(__aarch64__)
  uint8x16_t a = vdupq_n_u8(0);
  uint8x16_t b = a;
  for (; i + 64 <= size; i += 64) {
    a = vmaxq_u8(a, vmaxq_u8(vld1q_u8(bytes + i), vld1q_u8(bytes + i + 16)));
    b = vmaxq_u8(b, vmaxq_u8(vld1q_u8(bytes + i + 32), vld1q_u8(bytes + i + 48)));
  }
  sum = vmaxvq_u8(vmaxq_u8(a, b));
#endif
  for (; i < size; ++i) {
    sum ^= bytes[i];
  }
  return sum;
}

void flush(const void *, std::size_t) {}
bool can_flush() { return false; }

#endif

}  // namespace bench
