"""The dossiers: one module a family, found by looking into this folder.

A module lists its profiles in FAMILIES. Adding a family is adding a file.
"""

from __future__ import annotations

import importlib
import pkgutil

from ..family import Family
from ..request import Request

FAMILIES: dict[str, Family] = {}
for _module in sorted(found.name for found in pkgutil.iter_modules(__path__)):
    for _family in importlib.import_module(f"{__name__}.{_module}").FAMILIES:
        if _family.name in FAMILIES:
            raise ValueError(f"{_family.name} has two dossiers")
        FAMILIES[_family.name] = _family


def family_of(request: Request) -> Family:
    """The dossier of the request's profile."""
    return FAMILIES[request.profile]
