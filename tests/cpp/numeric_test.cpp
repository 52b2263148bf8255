#include <bit>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "numeric/exp32.h"
#include "numeric/float_bits.h"
#include "numeric/fp_environment.h"
#include "numeric/rounding.h"

namespace simaai::kernels::detail {
namespace {

std::uint32_t bits(float value) { return std::bit_cast<std::uint32_t>(value); }

// The C library's long double exponential, narrowed once: wrong only where e^x lies within 2^-63 of a rounding boundary.
float exponential_oracle(float x) { return static_cast<float>(std::exp(static_cast<long double>(x))); }

TEST(Exp32, IsCorrectlyRoundedOnEveryBFloat16) {
  for (std::uint32_t word = 0; word < 0x10000; ++word) {
    const float x = bfloat16_value(static_cast<std::uint16_t>(word));
    if (std::isnan(x)) {
      EXPECT_TRUE(std::isnan(exp32(x)));
    } else {
      ASSERT_EQ(bits(exp32(x)), bits(exponential_oracle(x))) << "x = " << x;
    }
  }
}

TEST(Exp32, IsCorrectlyRoundedOnRandomFloatsAndAtTheEdges) {
  constexpr std::uint32_t seed = 20260;
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> wide(-104.5F, 89.5F);
  std::uniform_real_distribution<float> near(-1.0F, 1.0F);
  for (int i = 0; i < 100'000; ++i) {
    for (const float x : {wide(random), near(random)}) {
      ASSERT_EQ(bits(exp32(x)), bits(exponential_oracle(x))) << "x = " << x << ", seed " << seed;
    }
  }
  // Overflow, the start of gradual underflow, and zero: a few thousand floats to each side.
  for (const float edge : {88.72284F, -87.33655F, -103.2789F, -103.97208F, -104.0F, 89.0F}) {
    float x = edge;
    for (int i = 0; i < 2'000; ++i) {
      x = std::nextafter(x, 1000.0F);
    }
    for (int i = 0; i < 4'000; ++i) {
      ASSERT_EQ(bits(exp32(x)), bits(exponential_oracle(x))) << "x = " << x;
      x = std::nextafter(x, -1000.0F);
    }
  }
}

TEST(Exp32, HasTheLimitsOfTheExponential) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(bits(exp32(-infinity)), 0U);
  EXPECT_EQ(exp32(infinity), infinity);
  EXPECT_EQ(exp32(0.0F), 1.0F);
  EXPECT_EQ(exp32(-0.0F), 1.0F);
  EXPECT_EQ(bits(exp32(-103.97208F)), 1U);  // the smallest subnormal, not flushed
}

TEST(FloatBits, Float16ValuesAreExact) {
  for (std::uint32_t word = 0; word < 0x8000; ++word) {
    const auto half = static_cast<std::uint16_t>(word);
    const int exponent = static_cast<int>(word >> 10U);
    const auto fraction = static_cast<double>(word & 0x3FFU);
    const float value = float16_value(half);
    const float negative = float16_value(static_cast<std::uint16_t>(word | 0x8000U));
    if (exponent == 31) {
      EXPECT_EQ(std::isnan(value), fraction != 0);
      EXPECT_EQ(std::isinf(value), fraction == 0);
    } else {
      const double expected = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
      ASSERT_EQ(static_cast<double>(value), expected) << word;
      ASSERT_EQ(bits(negative), bits(value) | 0x80000000U) << word;
    }
  }
}

TEST(FloatBits, KeysOrderAsFloatsWithNanOnTopAndOneZero) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  const float ascending[] = {-infinity, -1.0F, -1e-40F, 0.0F, 1e-40F, 1.0F, infinity};
  for (std::size_t i = 1; i < std::size(ascending); ++i) {
    EXPECT_LT(float32_key(bits(ascending[i - 1])), float32_key(bits(ascending[i])));
    EXPECT_LT(float32_key(bits(ascending[i])), float32_key(bits(nan)));
    EXPECT_EQ(float32_key(bits(-nan)), float32_key(bits(nan)));
  }
  EXPECT_EQ(float32_key(bits(-0.0F)), float32_key(bits(0.0F)));
  EXPECT_EQ(float16_key(0x8000, 0x7F80), float16_key(0x0000, 0x7F80));
  EXPECT_EQ(float16_key(0xFF81, 0x7F80), float16_key(0x7FC0, 0x7F80));
  EXPECT_GT(float16_key(0xFC01, 0x7C00), float16_key(0x7C00, 0x7C00));
  EXPECT_LT(float16_key(0xFC00, 0x7C00), float16_key(0xFBFF, 0x7C00));
}

TEST(Rounding, HalvesGoAwayFromZero) {
  for (const double value : {0.0, 0.49999999999999994, 0.5, 0.75, 1.5, 2.5, 10'000'000.5, 2147483646.5, 2147483646.4999998}) {
    EXPECT_EQ(round_half_away(value), std::llround(value)) << value;
    EXPECT_EQ(round_half_away(-value), std::llround(-value)) << -value;
  }
}

TEST(FloatEnvironment, EachFpcrBitIsLookedAt) {
  EXPECT_TRUE(fpcr_is_default(0));
  // FIZ, AH, the trap enables, FZ16, RMode, FZ: the Arm architecture's bit numbers.
  for (const unsigned bit : {0U, 1U, 8U, 9U, 10U, 11U, 12U, 15U, 19U, 22U, 23U, 24U}) {
    EXPECT_FALSE(fpcr_is_default(std::uint64_t{1} << bit)) << bit;
  }
  // DN and AHP change no result of this library: NaN payloads are canonical, and no hardware half conversion is used.
  for (const unsigned bit : {25U, 26U}) {
    EXPECT_TRUE(fpcr_is_default(std::uint64_t{1} << bit)) << bit;
  }
}

TEST(FloatEnvironment, EachMxcsrBitIsLookedAt) {
  constexpr std::uint32_t usual = 0x1F80;
  EXPECT_TRUE(mxcsr_is_default(usual));
  EXPECT_TRUE(mxcsr_is_default(usual | 0x3F)) << "sticky flags are no setting";
  for (const unsigned bit : {6U, 13U, 14U, 15U}) {
    EXPECT_FALSE(mxcsr_is_default(usual | (1U << bit))) << bit;
  }
  for (unsigned bit = 7; bit <= 12; ++bit) {
    EXPECT_FALSE(mxcsr_is_default(usual & ~(1U << bit))) << bit;
  }
}

TEST(FloatEnvironment, SeesTheRoundingModeOfThisThread) {
  EXPECT_TRUE(float_environment_is_default());
  const int before = std::fegetround();
  ASSERT_EQ(std::fesetround(FE_UPWARD), 0);
  const bool seen = !float_environment_is_default();
  std::fesetround(before);
  EXPECT_TRUE(seen);
  EXPECT_TRUE(float_environment_is_default());
}

}  // namespace
}  // namespace simaai::kernels::detail
