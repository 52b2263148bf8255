"""dir(), tab completion and help() show public names, and every public module does."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import pydoc

import boxdecode
import pytest

MODULES = sorted(
    ["boxdecode"]
    + [
        f"boxdecode.{module.name}"
        for module in pkgutil.iter_modules(boxdecode.__path__)
        if not module.name.startswith("_")
    ]
)


def test_the_public_modules() -> None:
    assert MODULES == ["boxdecode", "boxdecode.cli", "boxdecode.ops", "boxdecode.plan_file"]


@pytest.mark.parametrize("name", MODULES)
def test_a_public_module_shows_its_public_names(name: str) -> None:
    module = importlib.import_module(name)
    assert dir(module) == sorted(module.__all__)
    for public in module.__all__:
        value = getattr(module, public)
        # Its own, or the package's: nothing that a module has imported for itself.
        owner = value.__name__ if inspect.ismodule(value) else getattr(value, "__module__", name)
        assert owner.startswith("boxdecode")


@pytest.mark.parametrize("name", MODULES)
def test_help_shows_no_imports(name: str) -> None:
    text = pydoc.plain(pydoc.render_doc(importlib.import_module(name)))
    for word in ("class Any", "class Sequence", "numpy.typing", "annotations = _Feature"):
        assert word not in text
    for public in importlib.import_module(name).__all__:
        assert public in text or public == "__version__"  # which has a section
