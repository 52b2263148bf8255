"""Every output byte of the package against the reference, on drawn frames.

FRAMES is the number of frames per recipe; BOXDECODE_FRAMES (a factor such as 0.05) scales it down
for emulated CPUs. A failing frame is reproduced with
`pytest tests/conformance -k PROFILE-TASK`, or `explain(PROFILE, TASK, INDEX)` below.
"""

from __future__ import annotations

import os
from dataclasses import replace

import adapter
import boxdecode
import frames
import numpy as np
import pytest
from reference import Affine, RefusalError, required_bytes
from reference.families import FAMILIES, family_of
from reference.numeric import Array

FIRST_RECIPES = (("Yolo26V1", "Detection"), ("Yolo8V1", "Detection"), ("YoloXV1", "Detection"))
FRAMES_FIRST_RECIPES = 1200
FRAMES = 520

VARIANTS = ("Contiguous", "Strided", "MlaCBlocked", "Planar", "mixed")
OUTPUT_NAMES = ("boxes", "scores", "classes", "count", "task output")


def frame_count(recipe: tuple[str, str]) -> int:
    count = FRAMES_FIRST_RECIPES if recipe in FIRST_RECIPES else FRAMES
    factor = float(os.environ.get("BOXDECODE_FRAMES", "1"))
    return max(1, round(count * factor))


def first_difference(got: list[Array], expected: list[Array]) -> str | None:
    """Where two lists of outputs differ in a byte, or None."""
    if len(got) != len(expected):
        return f"{len(got)} outputs, expected {len(expected)}"
    for name, left, right in zip(OUTPUT_NAMES, got, expected, strict=False):
        if left.dtype != right.dtype or left.shape != right.shape:
            return f"{name}: {left.dtype}{left.shape}, expected {right.dtype}{right.shape}"
        if left.tobytes() != right.tobytes():
            item = left.dtype.itemsize
            unequal = (
                left.reshape(-1).view(np.uint8).reshape(-1, item)
                != right.reshape(-1).view(np.uint8).reshape(-1, item)
            ).any(axis=1)
            place = int(np.flatnonzero(unequal)[0])
            return (
                f"{name}[{np.unravel_index(place, left.shape)}] is {left.reshape(-1)[place]!r}, "
                f"expected {right.reshape(-1)[place]!r}; {int(unequal.sum())} elements differ; "
                f"counts {int(got[3][0])} and {int(expected[3][0])}"
            )
    return None


def variants_of(frame: frames.Frame) -> tuple[str, ...]:
    """Every layout family; two by turns where frames are always large."""
    index = frame.seed[2]
    if family_of(frame.request).frames_are_large:
        return VARIANTS[index % 5], VARIANTS[(index // 5) % 5]
    return VARIANTS


def check(frame: frames.Frame, kernels: list[str]) -> str | None:
    """The first disagreement on a frame, in words."""
    expectations: dict[tuple[bool, ...], list[Array] | RefusalError] = {}
    for variant in variants_of(frame):
        request = frames.with_layouts(frame, variant)
        # The raw-key exception looks at the layout; elsewhere one expectation serves all layouts.
        density = frames.density(request)
        if density not in expectations:
            expectations[density] = frames.expectation(request, frame.tensors)
        expected = expectations[density]
        inputs = adapter.memory(request, frame.tensors, frame.seed[2])
        for kernel in kernels:
            where = f"{variant}, kernels {kernel}: "
            with adapter.forced_kernels(kernel):
                try:
                    plan = adapter.make_plan(request)
                except boxdecode.Error as error:
                    if not isinstance(expected, RefusalError):
                        return f"{where}{error.code} at {error.field!r}: {error}"
                    if (error.code.name, error.field) != (expected.code, expected.field):
                        return f"{where}{error.code} at {error.field!r}, expected {expected}"
                    continue
            if isinstance(expected, RefusalError):
                return f"{where}a plan, expected {expected}"
            for port, spec in enumerate(request.inputs):
                if plan.required_bytes(port) != required_bytes(spec.shape, spec.dtype, spec.layout):
                    return f"{where}{plan.required_bytes(port)} bytes of inputs[{port}]"
            context = plan.create_context()
            large = family_of(request).frames_are_large and kernel != kernels[0]
            for turn in ("first",) if large else ("first", "second"):
                got = adapter.execute(plan, context, inputs)
                difference = first_difference(got, expected)
                if difference is not None:
                    layout = [str(spec.layout) for spec in request.inputs]
                    return f"{where}{turn} run: {difference}; layouts {layout}"
    return None


def check_image_size(frame: frames.Frame) -> str | None:
    """The same plan and context with another image size, and afterwards with its own again."""
    request = frame.request
    expected = frames.expectation(request, frame.tensors)
    if isinstance(expected, RefusalError):
        return None
    rng = np.random.default_rng(frame.seed[2])
    size = (int(rng.integers(1, 3000)), int(rng.integers(1, 3000)))
    changed = replace(request, original_image_size=size)
    affine = None
    if isinstance(request.resize, Affine):
        changed.resize = Affine(1.5, -3.25, 0.75, 2.0)
        affine = boxdecode.Affine(*changed.resize)
    other = frames.expectation(changed, frame.tensors)
    assert not isinstance(other, RefusalError)
    inputs = adapter.memory(request, frame.tensors, frame.seed[2])
    plan = adapter.make_plan(request)
    context, outputs = plan.create_context(), plan.allocate_outputs()
    adapter.fill_with_garbage(outputs)
    plan.with_image_size(size, affine).execute(context, inputs, outputs)
    difference = first_difference(outputs, other)
    if difference is not None:
        return f"image size {size}, {changed.resize}: {difference}"
    return first_difference(adapter.execute(plan, context, inputs), expected)


def explain(profile: str, task: str, index: int) -> str:
    """The frame of one seed in words, and its first disagreement."""
    frame = frames.make_frame(profile, task, index)
    return f"{frame}\n{check(frame, adapter.available_kernels())}"


@pytest.mark.parametrize("recipe", frames.RECIPES, ids=lambda recipe: "-".join(recipe))
def test_outputs_equal_the_reference(recipe: tuple[str, str]) -> None:
    kernels = adapter.available_kernels()
    problems = []
    for index in range(frame_count(recipe)):
        frame = frames.make_frame(*recipe, index)
        problem = check(frame, kernels)
        if problem is None and index % 8 == 0:
            problem = check_image_size(frame)
        if problem is not None:
            problems.append(f"{frame}\n    {problem}")
            if len(problems) == 3:
                break
    assert not problems, "\n".join(problems)


def test_every_profile_has_frames() -> None:
    members = boxdecode.Profile.__members__
    assert set(members) == set(FAMILIES)


def test_frames_reach_what_they_are_for() -> None:
    """The generator itself: detections, refusals, full and empty outputs all occur."""
    for recipe in frames.RECIPES:
        counts = []
        for index in range(40):
            frame = frames.make_frame(*recipe, index)
            expected = frames.expectation(frame.request, frame.tensors)
            if not isinstance(expected, RefusalError):
                counts.append((int(expected[3][0]), frame.request.max_detections))
        assert len(counts) >= 25, recipe
        assert any(count == 0 for count, _ in counts), recipe
        assert any(count == capacity for count, capacity in counts), recipe
        assert any(0 < count < capacity for count, capacity in counts), recipe
