#!/usr/bin/env bash
# Formats every C++ and Python file the way .ci/run checks it. Needs clang-format-14 and ruff.
#
# Usage: tools/format.sh
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
git ls-files -z --cached --others --exclude-standard -- '*.cpp' '*.h' | xargs -0 clang-format-14 -i
ruff check --fix .
ruff format .
