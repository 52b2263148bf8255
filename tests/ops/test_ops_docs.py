"""The example of docs/ops.md runs, and the page names every function."""

from __future__ import annotations

import re
from pathlib import Path

from boxdecode import ops

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "ops.md").read_text(encoding="utf-8")


def test_the_example_runs() -> None:
    found = re.search(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    assert found is not None
    assert "assert ops.nms(" in found[1]
    exec(compile(found[1], "docs/ops.md", "exec"), {})


def test_every_function_has_its_row() -> None:
    rows = set(re.findall(r"^\| `(\w+)\(", PAGE, re.MULTILINE))
    assert rows == set(ops.__all__)
