#!/usr/bin/env bash
# Installs the CMake package into a folder of its own and builds two users of the project, one with find_package and one
# with add_subdirectory; both decode a frame. The last line counts the programs that ran.
#
# Usage: tests/install/run.sh WORK_DIRECTORY
set -euo pipefail

if [[ $# -ne 1 ]]; then
  echo "usage: $0 WORK_DIRECTORY" >&2
  exit 2
fi
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
source=$(realpath -- "$here/../..")
work=$(realpath -m -- "$1")
prefix=$work/prefix
rm -rf -- "$work"
mkdir -p "$work"

version=$(sed -nE 's/^project\(SimaKernels VERSION ([0-9.]+).*/\1/p' "$source/CMakeLists.txt")
strict="-Wall -Wextra -Wconversion -Wshadow -Werror"

cmake -S "$source" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DSIMA_KERNELS_TESTS=OFF \
  -DCMAKE_INSTALL_PREFIX="$prefix" -DCMAKE_INSTALL_LIBDIR=lib >"$work/log"
cmake --build "$work/build" >>"$work/log"
cmake --install "$work/build" >>"$work/log"

# What is installed is public: headers, static libraries, the CMake package. Nothing names the build folder.
unexpected=$(cd "$prefix" && find . -type f |
  grep -vE '^\./(include/simaai/kernels/[a-z_/]+\.h|lib/liba65_[a-z]+\.a|lib/cmake/SimaKernels/SimaKernels[A-Za-z-]+\.cmake)$' || true)
if [[ -n $unexpected ]]; then
  printf 'installed, but no part of the public package:\n%s\n' "$unexpected" >&2
  exit 1
fi
if grep -rlF "$work/build" "$prefix/lib/cmake" || grep -rlF "$source" "$prefix/lib/cmake"; then
  echo "the installed CMake package names folders of the build" >&2
  exit 1
fi
for header in status.h tensor.h version.h ops/boxdecode.h ops/nms.h; do
  [[ -f $prefix/include/simaai/kernels/$header ]] || { echo "$header is not installed" >&2; exit 1; }
done

passed=0
failed=0
run() { # program
  if "$1"; then
    passed=$((passed + 1))
  else
    echo "$1: status $?" >&2
    failed=$((failed + 1))
  fi
}

# The package can be moved.
mv "$prefix" "$work/moved"
cmake -S "$here/find_package" -B "$work/find_package" -G Ninja -DCMAKE_PREFIX_PATH="$work/moved" \
  -DEXPECTED_VERSION="$version" -DCMAKE_CXX_FLAGS="$strict" >>"$work/log"
cmake --build "$work/find_package" >>"$work/log"
run "$work/find_package/consumer"
run "$work/find_package/consumer_both"
run "$work/find_package/nms_consumer"

cmake -S "$here/add_subdirectory" -B "$work/add_subdirectory" -G Ninja -DCMAKE_CXX_FLAGS="$strict" >>"$work/log"
cmake --build "$work/add_subdirectory" >>"$work/log"
run "$work/add_subdirectory/consumer"

# Also in a project that scikit-build builds, which says so with a number. The project itself checks what it was given.
cmake -S "$here/add_subdirectory" -B "$work/add_subdirectory_of_a_wheel" -G Ninja -DSKBUILD=2 >>"$work/log"

echo "$passed passed, $failed failed"
[[ $failed -eq 0 ]]
