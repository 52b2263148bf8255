"""third_party/packages.toml against what the project asks for: nothing missing, bounds equal."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("bench", "cmake", "cpp", "python", "tests", "tools", ".ci")
KEYS = {"name", "version", "licence", "purpose", "found"}
OPTIONAL = {"cmake", "cmake_in", "pip", "pip_in", "apt", "programs", "module", "imported_by"}
#: Not from outside: what the install test looks for.
OWN_PACKAGE = "SimaKernels"


def toml(path: str) -> dict[str, Any]:
    return tomllib.loads((ROOT / path).read_text(encoding="utf-8"))


PACKAGES: list[dict[str, Any]] = toml("third_party/packages.toml")["package"]


def files(*patterns: str) -> Iterator[tuple[str, str]]:
    """(path, text) of the project's own files: not of a build tree or an environment."""
    for folder in FOLDERS:
        for pattern in patterns:
            for path in sorted((ROOT / folder).rglob(pattern)):
                yield str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def requirement(text: str) -> tuple[str, str]:
    """("name", "bounds") of "Name>=1,<2"."""
    found = re.fullmatch(r"([\w.-]+?)\s*((?:[<>=!~]=?.*)?)", text.strip())
    assert found is not None, text
    return canonical(found[1]), found[2].replace(" ", "")


def asked_of_pip() -> set[tuple[str, str, str]]:
    """(who asks, name, bounds) of every requirement. The oldest version is a lower bound."""
    project = toml("pyproject.toml")
    asked = {("build-system", *requirement(one)) for one in project["build-system"]["requires"]}
    asked |= {("dependencies", *requirement(one)) for one in project["project"]["dependencies"]}
    for extra, requirements in project["project"]["optional-dependencies"].items():
        asked |= {(f"extra {extra}", *requirement(one)) for one in requirements}
    for line in (ROOT / "bench/requirements.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            asked.add(("bench", *requirement(line)))
    return asked


def installed_by_ci() -> set[tuple[str, str]]:
    """(name, bounds) of the arguments of `pip install` and `pip download` in .ci/run."""
    text = (ROOT / ".ci/run").read_text(encoding="utf-8").replace("\\\n", " ")
    found = set()
    for arguments in re.findall(r"bin/pip\" (?:install|download) (.*)$", text, re.MULTILINE):
        words = re.sub(r"--(?:dest|platform|python-version|implementation|abi) \S+", "", arguments)
        for word in words.replace('"', "").split():
            if not word.startswith("-") and "$" not in word:
                found.add(requirement(word))
    assert len(found) > 5
    return found


def listed(key: str) -> dict[str, dict[str, Any]]:
    return {canonical(one[key]): one for one in PACKAGES if key in one}


def test_each_table_is_complete() -> None:
    names = [one["name"] for one in PACKAGES]
    assert len(set(names)) == len(names)
    for one in PACKAGES:
        assert KEYS <= set(one) <= KEYS | OPTIONAL, one["name"]
        assert all(one[key] for key in KEYS - {"version"}), one["name"]
        assert re.fullmatch(r"((>=|<|==)[\d.]+(,(?=.)|$))*", one["version"]), one["name"]
        for name, places in (("cmake", "cmake_in"), ("pip", "pip_in"), ("module", "imported_by")):
            assert (name in one) == (places in one), one["name"]


def test_python_requirements() -> None:
    declared = {
        (place, canonical(one["pip"]), one["version"])
        for one in PACKAGES
        for place in one.get("pip_in", ())
        if place != ".ci/run"
    }
    assert declared == asked_of_pip()


def test_what_ci_installs_with_pip() -> None:
    found = installed_by_ci()
    packages = listed("pip")
    declared = {name for name, one in packages.items() if ".ci/run" in one["pip_in"]}
    assert {name for name, _ in found} == declared
    for name, bounds in found:
        oldest = ">=" + bounds.removeprefix("==").removesuffix(".*")
        assert bounds in ("", packages[name]["version"]) or oldest == packages[name]["version"]


def test_what_ci_installs_with_apt() -> None:
    text = (ROOT / ".ci/run").read_text(encoding="utf-8")
    found = {
        name
        for line in re.findall(r"^\s*install_packages ([^(){}\n]+)$", text, re.MULTILINE)
        for name in line.split()
    }
    assert found == {name for one in PACKAGES for name in one.get("apt", ())}


def find_package_bounds(arguments: str) -> str:
    """ ">=3,<4" of "3...<4 CONFIG REQUIRED"."""
    found = re.match(r"(\d[\d.]*?)(?:\.\.\.(<?)(\d[\d.]*))?(?:\s|$)", arguments.strip())
    if found is None:
        return ""
    upper = f",{found[2] or '<='}{found[3]}" if found[3] else ""
    return f">={found[1]}{upper}"


def test_bounds_of_find_package() -> None:
    assert find_package_bounds(" 3...<4 CONFIG REQUIRED") == ">=3,<4"
    assert find_package_bounds("3.10 REQUIRED") == ">=3.10"
    assert find_package_bounds("QUIET") == ""


def test_cmake_packages() -> None:
    found = {
        (path, name, find_package_bounds(arguments))
        for path, text in files("CMakeLists.txt", "*.cmake")
        for name, arguments in re.findall(r"\bfind_package\((\w+)([^)]*)\)", text)
        if name != OWN_PACKAGE
    }
    versions = {name: one["version"] for one in PACKAGES for name in one.get("cmake", ())}
    assert {name for _, name, _ in found} == set(versions)
    for path, name, bounds in found:
        assert bounds == versions[name], f"{path}: find_package({name})"
    places = {(path, versions[name]) for path, name, _ in found}
    declared = {(path, one["version"]) for one in PACKAGES for path in one.get("cmake_in", ())}
    assert places == declared


def test_cmake_programs() -> None:
    found = {
        program
        for _, text in files("CMakeLists.txt", "*.cmake")
        for program in re.findall(r"\bfind_program\(\w+ (\w+)", text)
    }
    assert found == {name for one in PACKAGES for name in one.get("programs", ())}


def test_versions_of_cmake_and_python() -> None:
    versions = {one["name"]: one["version"] for one in PACKAGES}
    project = toml("pyproject.toml")
    assert project["project"]["requires-python"] == versions["CPython"]
    assert project["tool"]["scikit-build"]["cmake"]["version"] == versions["CMake"]
    top = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    texts = {"CMakeLists.txt": top, **dict(files("CMakeLists.txt"))}
    for path, text in texts.items():
        for least in re.findall(r"^cmake_minimum_required\(VERSION ([\d.]+)\)", text, re.MULTILINE):
            assert f">={least}" == versions["CMake"], path


def imported_modules(tree: ast.AST) -> Iterator[str]:
    """Top-level names of import statements, and of imports by name."""
    by_name = ("importorskip", "import_module", "find_spec")
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module.partition(".")[0]
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            called = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if called in by_name and isinstance(node.args[0].value, str):
                yield node.args[0].value.partition(".")[0]


def test_imports() -> None:
    own = {"boxdecode", "bench", "reference"}
    python = list(files("*.py", "*.pyi"))
    own |= {Path(path).stem for path, _ in python}
    used: dict[str, set[str]] = {}
    for path, text in python:
        for module in imported_modules(ast.parse(text)):
            if module not in own | set(sys.stdlib_module_names):
                used.setdefault(module, set()).add(path)
    allowed = {one["module"]: one["imported_by"] for one in PACKAGES if "module" in one}
    # Before 3.11 the standard library does not list tomllib.
    assert set(used) - {"tomllib"} == set(allowed)
    for module, folders in allowed.items():
        for path in used[module]:
            assert any(path.startswith(f"{folder}/") for folder in folders), f"{path}: {module}"
        for folder in folders:
            users = [path for path in used[module] if path.startswith(f"{folder}/")]
            assert users, f"{folder}: {module}"


@pytest.mark.parametrize("text", ["pybind11>=3,<4", "ml_dtypes>=0.4", "numba"])
def test_requirements_are_read(text: str) -> None:
    name, bounds = requirement(text)
    assert re.fullmatch(r"[a-z0-9-]+", name)
    assert bounds == text[len(name) :]


def test_nothing_is_vendored() -> None:
    names = {path.name for path in (ROOT / "third_party").iterdir()}
    assert names == {"README.md", "packages.toml"}
