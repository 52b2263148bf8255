"""Makes the helpers of this folder importable, and runs tests on each form of the kernels."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from boxdecode import _core

_HERE = Path(__file__).resolve().parent
if str(_HERE) not in sys.path:
    sys.path.insert(0, str(_HERE))


@pytest.fixture(params=_core._available_kernels())
def kernels(request: pytest.FixtureRequest) -> Iterator[str]:
    """Runs the test with each set of kernels that this CPU can run."""
    _core._force_kernels(request.param)
    yield str(request.param)
    _core._force_kernels(None)
