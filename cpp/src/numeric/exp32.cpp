#include "numeric/exp32.h"

#include <bit>
#include <cstdint>

namespace simaai::kernels::detail {
namespace {

// e^x = 2^n · e^r with n = round(x / ln 2), |r| ≤ ln(2)/2, in binary64. n·ln2_high is exact (11 significant bits times 33).
constexpr double inverse_ln2 = 0x1.71547652b82fep+0;
constexpr double ln2_high = 0x1.62e42fee00000p-1;
constexpr double ln2_low = 0x1.a39ef35793c76p-33;
constexpr double round_shift = 0x1.8p+52;

}  // namespace

float exp32(float x) noexcept {
  if (x != x) {
    return x;
  }
  if (x > 89.0F) {
    return std::bit_cast<float>(0x7F800000U);
  }
  if (x < -104.0F) {
    return 0.0F;
  }
  const double wide = static_cast<double>(x);
  const double shifted = wide * inverse_ln2 + round_shift;
  const double n = shifted - round_shift;
  const double r = (wide - n * ln2_high) - n * ln2_low;
  // (e^r − 1 − r) / r² interpolated in nine Chebyshev nodes: off by less than 2^-49 of e^r. That is no proof of correct
  // rounding; comparing every binary32 between −104 and 89 with a wider exponential is, and none differed.
  double sum = 0x1.288060f149570p-22;
  sum = sum * r + 0x1.72c75c67ac6b9p-19;
  sum = sum * r + 0x1.a019c98e708e7p-16;
  sum = sum * r + 0x1.a019ad80eed25p-13;
  sum = sum * r + 0x1.6c16c173948e7p-10;
  sum = sum * r + 0x1.1111111c4e74fp-7;
  sum = sum * r + 0x1.5555555554cb0p-5;
  sum = sum * r + 0x1.5555555553b63p-3;
  sum = sum * r + 0x1.0000000000000p-1;
  sum = (sum * r) * r;
  const double power = 1.0 + (r + sum);
  // The exponent of the scale is n + 1023: n is in −150..129, so the scale is normal and the product is exact.
  const std::uint64_t exponent = std::bit_cast<std::uint64_t>(shifted) + 1023U;
  const double scale = std::bit_cast<double>(exponent << 52U);
  return static_cast<float>(power * scale);
}

}  // namespace simaai::kernels::detail
