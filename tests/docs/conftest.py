"""Makes `reference`, the conformance frames and the applier of CONTRIBUTING's blocks importable."""

from __future__ import annotations

import sys
from pathlib import Path

_TESTS = Path(__file__).resolve().parent.parent
for _folder in (_TESTS / "cpp" / "family_example", _TESTS / "conformance", _TESTS):
    if str(_folder) not in sys.path:
        sys.path.insert(0, str(_folder))
