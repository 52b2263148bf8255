"""The code of README.md and docs/ does what it says."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from boxdecode.plan_file import parse_plan

ROOT = Path(__file__).resolve().parents[2]
COMPILERS = [
    path
    for path in (os.environ.get("CXX") or shutil.which("g++"), shutil.which("clang++"))
    if path is not None
]
STRICT = ["-std=c++20", "-Wall", "-Wextra", "-Wconversion", "-Werror"]


def block(document: str, name: str) -> str:
    """The code block after the marker <!-- test:NAME -->."""
    text = (ROOT / document).read_text(encoding="utf-8")
    found = re.search(rf"<!-- test:{name} -->\n```\w+\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    assert found is not None, f"{document} has no block {name}"
    return found.group(1)


@pytest.mark.native
def test_the_python_example_prints_its_comment() -> None:
    code = block("README.md", "python")
    expected = re.findall(r"^    print\(.*\)  # (.*)$", code, re.MULTILINE)
    assert len(expected) == 1
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout.splitlines() == expected


def test_the_plan_of_the_documentation_is_one() -> None:
    plan_file = parse_plan(json.loads(block("docs/plan-file.md", "plan")))
    assert len(plan_file.plan().input_specs) == 4


@pytest.mark.native
@pytest.mark.skipif(not COMPILERS, reason="no C++ compiler")
@pytest.mark.parametrize("compiler", COMPILERS)
def test_the_cpp_example_compiles(compiler: str, tmp_path: Path) -> None:
    """Without a warning; it runs where SIMA_KERNELS_LIBRARIES names the libraries' folder."""
    source, program = tmp_path / "example.cpp", tmp_path / "example"
    source.write_text(block("README.md", "cpp"), encoding="utf-8")
    command = [compiler, *STRICT, f"-I{ROOT / 'cpp' / 'include'}", str(source), "-o", str(program)]
    libraries = os.environ.get("SIMA_KERNELS_LIBRARIES")
    if libraries is None:
        subprocess.run([*command, "-c"], check=True)
        return
    subprocess.run([*command, f"-L{libraries}", "-la65_boxdecode", "-la65_common"], check=True)
    done = subprocess.run([str(program)], capture_output=True, text=True, check=True)
    assert done.stdout == "0 detections\n"


@pytest.mark.parametrize("document", ["README.md", "docs/python.md", "docs/plan-file.md"])
def test_links_lead_somewhere(document: str) -> None:
    path = ROOT / document
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", path.read_text(encoding="utf-8"))
    missing = [link for link in links if "://" not in link and not (path.parent / link).exists()]
    assert missing == []
