#!/usr/bin/env python3
"""Checks what is inside a wheel and a source distribution of boxdecode.

Usage: tools/check_packages.py FILE.whl|FILE.tar.gz ...
"""

from __future__ import annotations

import re
import sys
import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

WHEEL_ALLOWED = re.compile(
    r"boxdecode/([a-z_]+/)*[a-z_0-9]+\.pyi?$"
    r"|boxdecode/py\.typed$"
    r"|boxdecode/_core\.[a-z0-9_-]+\.so$"
    r"|boxdecode/data/[A-Za-z0-9_.-]+$"
    r"|boxdecode-[^/]+\.dist-info/(METADATA|WHEEL|RECORD|entry_points\.txt|licenses/LICENSE)$"
)
WHEEL_REQUIRED = [
    r"boxdecode/__init__\.py",
    r"boxdecode/cli\.py",
    r"boxdecode/py\.typed",
    r"boxdecode/_core\.pyi",
    r"boxdecode/_core\..*\.so",
    r"boxdecode-[^/]+\.dist-info/licenses/LICENSE",
]
SDIST_FORBIDDEN = re.compile(
    r"(^|/)(build[^/]*|dist|\.venv|\.git|\.mypy_cache|\.ruff_cache|\.pytest_cache|\.hypothesis|__pycache__)/"
    r"|\.(so|a|o|pyc|whl)$"
)
SDIST_REQUIRED = [
    "CMakeLists.txt",
    "LICENSE",
    "README.md",
    "pyproject.toml",
    "cmake/isa.cmake",
    "cpp/include/simaai/kernels/ops/boxdecode.h",
    "python/boxdecode/__init__.py",
    "python/boxdecode/py.typed",
]


def project_version() -> str:
    text = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    match = re.search(r"project\(SimaKernels VERSION ([0-9.]+)", text)
    if match is None:
        raise SystemExit("CMakeLists.txt has no project(SimaKernels VERSION ...)")
    return match[1]


def check_wheel(path: Path) -> list[str]:
    with zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/")]
        metadata_name = next(name for name in names if name.endswith(".dist-info/METADATA"))
        metadata = Parser().parsestr(archive.read(metadata_name).decode())
    problems = [f"{name} does not belong there" for name in names if not WHEEL_ALLOWED.match(name)]
    problems += [
        f"nothing matches {pattern}"
        for pattern in WHEEL_REQUIRED
        if not any(re.fullmatch(pattern, name) for name in names)
    ]
    if metadata["Version"] != project_version():
        problems.append(f"version {metadata['Version']}, CMakeLists.txt says {project_version()}")
    required = [one for one in metadata.get_all("Requires-Dist", []) if "extra ==" not in one]
    if len(required) != 1 or not required[0].startswith("numpy"):
        problems.append(f"requires {required}, expected NumPy alone")
    return problems


def check_sdist(path: Path) -> list[str]:
    with tarfile.open(path) as archive:
        names = [name.partition("/")[2] for name in archive.getnames()]
    problems = [f"{name} does not belong there" for name in names if SDIST_FORBIDDEN.search(name)]
    problems += [f"{name} is missing" for name in SDIST_REQUIRED if name not in names]
    return problems


def main() -> int:
    failed = False
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    for argument in sys.argv[1:]:
        path = Path(argument)
        problems = check_wheel(path) if path.suffix == ".whl" else check_sdist(path)
        print(f"{path.name}: {len(problems)} problems")
        for problem in problems:
            print(f"  {problem}")
        failed = failed or bool(problems)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
