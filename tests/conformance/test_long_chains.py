"""Frames that keep thousands of boxes of one class, where suppression asks an index."""

from __future__ import annotations

import adapter
import frames
import numpy as np
import pytest
from reference import Head, Request, TensorSpec
from reference.numeric import Array
from test_conformance import first_difference

GRID = 64


def request_of(
    classes: int, threshold: float, class_agnostic: bool, capacity: int, corners: str
) -> Request:
    return Request(
        inputs=[
            TensorSpec((GRID, GRID, 4), "Float32"),
            TensorSpec((GRID, GRID, classes), "Float32"),
        ],
        profile="Yolo6V1",
        heads=[Head(0, 1)],
        model_input_size=(8 * GRID, 8 * GRID),
        original_image_size=(1280, 720),
        num_classes=classes,
        max_detections=capacity,
        detection_threshold=0.1,
        nms_iou_threshold=threshold,
        score_activation="Sigmoid",
        class_agnostic=class_agnostic,
        suppression_corners=corners,
    )


def tensors_of(classes: int, largest: float, seed: int) -> list[Array]:
    """Every cell is a candidate. Distances to the sides, in cells, are alike in each octave."""
    draw = np.random.default_rng(seed)
    sides = np.exp(draw.uniform(np.log(0.05), np.log(largest), (GRID, GRID, 4)))
    scores = draw.normal(1.0, 0.5, (GRID, GRID, classes))
    return [sides.astype(np.float32), scores.astype(np.float32)]


@pytest.mark.parametrize("threshold", [0.0, 0.3, 0.5, 0.7, 0.9])
@pytest.mark.parametrize(
    ("classes", "class_agnostic", "capacity"),
    [(1, False, GRID * GRID), (3, True, GRID * GRID), (3, False, GRID * GRID), (1, False, 1000)],
)
@pytest.mark.parametrize("largest", [0.6, 12.0])
@pytest.mark.parametrize("corners", ["Integer", "Exact"])
def test_outputs_equal_the_reference(
    corners: str,
    largest: float,
    classes: int,
    class_agnostic: bool,
    capacity: int,
    threshold: float,
) -> None:
    request = request_of(classes, threshold, class_agnostic, capacity, corners)
    tensors = tensors_of(classes, largest, 20261130)
    expected = frames.expectation(request, tensors)
    assert isinstance(expected, list)
    if largest < 1.0:
        assert expected[3][0] >= 1000  # small boxes are kept in their thousands
    inputs = adapter.memory(request, tensors, 0)
    for kernels in adapter.available_kernels():
        with adapter.forced_kernels(kernels):
            plan = adapter.make_plan(request)
        context = plan.create_context()
        for _ in range(2):
            difference = first_difference(adapter.execute(plan, context, inputs), expected)
            assert difference is None, f"{kernels}: {difference}"
