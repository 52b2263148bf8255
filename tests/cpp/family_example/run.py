#!/usr/bin/env python3
"""Adds the family of CONTRIBUTING.md to a copy of the tree, builds it, and decodes a frame with it.

Fails when a block no longer fits the tree, when the compiler does not ask for what the page says it
asks for, when the result does not compile, or when the frame decodes to other numbers.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

import contributing

#: What the compiler must say before the blocks of "What the compiler asks for" are applied.
ASKED = {
    "cpp/src/boxdecode/check/check.cpp": "WrenV1",  # catalogue.h
    "cpp/src/boxdecode/recipes/recipe.h": "Relu",
    "cpp/src/boxdecode/geometry/boxes.cpp": "Relu",
    "tools/catalogue/families.cpp": "WrenV1",
}
COPIED = ("cmake", "cpp", "tools/catalogue", "python")


def copy_tree(source: Path, tree: Path) -> None:
    shutil.rmtree(tree, ignore_errors=True)
    for folder in COPIED:
        # Tests that run at the same time may write bytecode.
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(source / folder, tree / folder, ignore=ignored)
    shutil.copy(source / "CMakeLists.txt", tree)


def check_what_is_asked(tree: Path, compiler: str) -> None:
    includes = [f"-I{tree / folder}" for folder in ("cpp/include", "cpp/src", "tools/catalogue")]
    command = [compiler, "-std=c++20", "-fsyntax-only", "-Wall", "-Werror", *includes]
    for file, name in ASKED.items():
        done = subprocess.run([*command, str(tree / file)], capture_output=True, text=True)
        if done.returncode == 0 or name not in done.stderr or "switch" not in done.stderr:
            raise SystemExit(f"{file}: the compiler does not ask for {name}:\n{done.stderr}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--cmake", required=True)
    parser.add_argument("--generator", required=True)
    options = parser.parse_args()

    page = (options.source / "CONTRIBUTING.md").read_text(encoding="utf-8")
    tree = options.work / "tree"
    build = options.work / "build"
    copy_tree(options.source, tree)
    contributing.apply_group(page, tree, "write")
    check_what_is_asked(tree, options.compiler)
    contributing.apply_group(page, tree, "asked")
    contributing.apply_group(page, tree, "python")

    shutil.rmtree(build, ignore_errors=True)
    project = Path(__file__).resolve().parent / "project"
    configure = [options.cmake, "-S", str(project), "-B", str(build), "-G", options.generator]
    configure += [f"-DFAMILY_EXAMPLE_TREE={tree}", f"-DCMAKE_CXX_COMPILER={options.compiler}"]
    subprocess.run(configure, check=True)
    subprocess.run([options.cmake, "--build", str(build)], check=True)
    subprocess.run([str(build / "family_example")], check=True)
    shown = subprocess.run([str(build / "catalogue" / "sima_catalogue")], stdout=subprocess.PIPE)
    if shown.returncode != 0 or b"## WrenV1" not in shown.stdout:
        raise SystemExit("the catalogue of the copy does not show WrenV1")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (ValueError, subprocess.CalledProcessError) as error:
        sys.exit(str(error))
