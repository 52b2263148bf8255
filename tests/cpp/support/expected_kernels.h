#pragma once

#include <string>

namespace simaai::kernels::test_support {

/// The kernel set that must be picked here: the program's argument --expect_kernels=NAME, else what the operating system's
/// own list of CPU features says. Empty where neither says anything.
[[nodiscard]] std::string expected_kernels();

/// Takes --expect_kernels=NAME; false for any other argument.
[[nodiscard]] bool take_argument(const std::string &argument);

}  // namespace simaai::kernels::test_support
