#include "support/expected_kernels.h"

#include <fstream>
#include <sstream>

namespace simaai::kernels::test_support {
namespace {

std::string &argument_value() {
  static std::string value;
  return value;
}

}  // namespace

std::string expected_kernels() {
  if (!argument_value().empty()) {
    return argument_value();
  }
#if defined(SIMA_KERNELS_X86)
  std::ifstream cpu_info("/proc/cpuinfo");
  std::string line;
  while (std::getline(cpu_info, line)) {
    if (line.rfind("flags", 0) != 0) {
      continue;
    }
    std::istringstream words(line);
    std::string word;
    while (words >> word) {
      if (word == "avx2") {
        return "avx2";
      }
    }
    return "scalar";
  }
#endif
  return {};
}

bool take_argument(const std::string &argument) {
  const std::string prefix = "--expect_kernels=";
  if (argument.rfind(prefix, 0) != 0) {
    return false;
  }
  argument_value() = argument.substr(prefix.size());
  return true;
}

}  // namespace simaai::kernels::test_support
