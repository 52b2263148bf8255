#!/bin/sh
# Cross-builds the program and the plugin, counts twice, compares the counts, prints Markdown tables.
#   bench/arm/run.sh [BUILD_FOLDER]
# Needs g++-aarch64-linux-gnu, qemu-user (plugin API version 1), CMake, a native C++ compiler, Python 3.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
build=${1:-$root/build/bench-arm}
cpu=cortex-a76

cmake -S "$here" -B "$build" -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_TOOLCHAIN_FILE="$root/cmake/toolchains/aarch64-linux-gnu.cmake" >&2
cmake --build "$build" --target boxdecode_arm_cost -j "${JOBS:-2}" >&2
"${CXX:-c++}" -std=c++20 -O2 -Wall -Wextra -shared -fPIC -fvisibility=hidden -o "$build/libcost_plugin.so" "$here/cost_plugin.cpp"

for run in 1 2; do
  # An empty environment: what lies above the stack decides how some of libc's copies are aligned.
  env -i qemu-aarch64 -cpu "$cpu" -plugin "$build/libcost_plugin.so,counts=$build/counts-$run.csv" \
    "$build/boxdecode_arm_cost" >"$build/regions-$run.txt"
done
cmp "$build/counts-1.csv" "$build/counts-2.csv" >&2
cmp "$build/regions-1.txt" "$build/regions-2.txt" >&2

echo "Compiler: $(aarch64-linux-gnu-g++ --version | head -n 1), -O3"
echo "Emulator: $(qemu-aarch64 --version | head -n 1), -cpu $cpu"
changes=
if [ -n "$(git -C "$root" status --porcelain -- cpp bench)" ]; then
  changes=' with local changes'
fi
echo "Commit: $(git -C "$root" rev-parse --short=12 HEAD)$changes"
echo "Counted twice: the counts of all $(wc -l <"$build/regions-1.txt") regions agree to the instruction."
"${PYTHON:-python3}" "$here/table.py" "$build/regions-1.txt" "$build/counts-1.csv"
