#include <simaai/kernels/version.h>

#include <string>

#include <gtest/gtest.h>

// The build hands over the version of CMakeLists.txt: the header and the package must say the same.
TEST(Version, HeaderEqualsTheProject) {
  EXPECT_STREQ(SIMAAI_KERNELS_VERSION, SIMA_PROJECT_VERSION);
  EXPECT_EQ(SIMAAI_KERNELS_VERSION, std::to_string(SIMAAI_KERNELS_VERSION_MAJOR) + "." +
                                        std::to_string(SIMAAI_KERNELS_VERSION_MINOR) + "." +
                                        std::to_string(SIMAAI_KERNELS_VERSION_PATCH));
}
