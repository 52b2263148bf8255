"""Makes `reference` (tests/reference) and the helpers of this folder importable.

Without a dossier for each profile of the package nothing is collected.
"""

from __future__ import annotations

import sys
from pathlib import Path

import boxdecode
import pytest

_HERE = Path(__file__).resolve().parent
for _folder in (_HERE, _HERE.parent):
    if str(_folder) not in sys.path:
        sys.path.insert(0, str(_folder))


def _refuse_missing_dossiers() -> None:
    from reference.families import FAMILIES

    missing = sorted(set(boxdecode.Profile.__members__) - set(FAMILIES))
    if missing:
        raise pytest.UsageError(f"no dossier in tests/reference/families for {', '.join(missing)}")


_refuse_missing_dossiers()
