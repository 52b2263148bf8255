#include "kernels/dispatch.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/expected_kernels.h"

namespace simaai::kernels {
namespace {

TEST(Dispatch, PicksTheKernelsThatThisCpuAdmits) {
  const std::string expected = test_support::expected_kernels();
  if (expected.empty()) {
    GTEST_SKIP() << "nothing says which kernels to expect; pass --expect_kernels=NAME";
  }
  EXPECT_EQ(detail::select_kernels().name, expected);
}

TEST(Dispatch, ListsBestFirstAndScalarLast) {
  const std::vector<const char *> names = detail::available_kernels();
  ASSERT_FALSE(names.empty());
  EXPECT_STREQ(names.front(), detail::select_kernels().name);
  EXPECT_STREQ(names.back(), "scalar");
}

TEST(Dispatch, ForcesEachAvailableSetAndReturnsToTheBest) {
  const std::string best = detail::select_kernels().name;
  for (const char *name : detail::available_kernels()) {
    ASSERT_TRUE(detail::force_kernels(name)) << name;
    EXPECT_STREQ(detail::select_kernels().name, name);
  }
  EXPECT_TRUE(detail::force_kernels(nullptr));
  EXPECT_EQ(detail::select_kernels().name, best);
}

TEST(Dispatch, RefusesASetThatThisCpuDoesNotHave) {
  EXPECT_FALSE(detail::force_kernels("no_such_set"));
#if defined(SIMA_KERNELS_X86)
  EXPECT_FALSE(detail::force_kernels("neon"));
#else
  EXPECT_FALSE(detail::force_kernels("avx2"));
#endif
  EXPECT_STREQ(detail::select_kernels().name, detail::available_kernels().front());
}

}  // namespace
}  // namespace simaai::kernels
