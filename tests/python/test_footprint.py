"""What a call leaves behind, and what it takes while it runs."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from boxdecode import Plan


def resident_kib() -> int:
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    pytest.skip("the system does not say how much memory is resident")


def test_execute_takes_no_memory(plan: Plan, frame: Callable[..., list[Any]]) -> None:
    context, outputs = plan.create_context(), plan.allocate_outputs()
    empty, crowded = frame(), frame((3, 2, 1, 1.5, 0.75), (6, 0, 1, 1.5, 0.5), (1, 1, 0, 1, 0.5))
    plan.execute(context, empty, outputs)
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        for inputs in (empty, crowded, empty):
            plan.execute(context, inputs, outputs)
        after, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # A call makes a frame of the interpreter's own and nothing that grows with the tensors.
    assert after - before < 256
    assert peak - before < 1024


def test_resident_memory_does_not_grow(plan: Plan, frame: Callable[..., list[Any]]) -> None:
    context, outputs = plan.create_context(), plan.allocate_outputs()
    inputs = frame((3, 2, 1, 1.5, 0.75))
    for _ in range(1000):
        plan.execute(context, inputs, outputs)
    before = resident_kib()
    for _ in range(100_000):
        plan.execute(context, inputs, outputs)
    # The interpreter may touch a page of its own; a leak of 8 bytes a call would be 800 KiB.
    assert resident_kib() - before < 256
