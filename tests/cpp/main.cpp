#include <cstdio>

#include <gtest/gtest.h>

#include "support/expected_kernels.h"

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    if (!simaai::kernels::test_support::take_argument(argv[i])) {
      std::fprintf(stderr, "%s: unknown argument; --expect_kernels=NAME and GoogleTest's own are known\n", argv[i]);
      return 2;
    }
  }
  return RUN_ALL_TESTS();
}
