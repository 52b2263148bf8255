"""Which prototype pixels a mask covers, and plans of different prototypes side by side."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from boxdecode import (
    DType,
    MaskEncoding,
    Plan,
    Profile,
    Quantization,
    ScoreActivation,
    Task,
    TensorSpec,
)

Array = npt.NDArray[Any]
COEFFICIENTS = 32


def mask_plan(
    prototype: tuple[int, int],
    capacity: int = 4,
    cells: int = 1,
    dtype: DType = DType.Float32,
    encoding: MaskEncoding = MaskEncoding.Binary,
) -> Plan:
    """160 x 160 model of decoded boxes, one class: a box is what the test writes."""
    quantization = {2: Quantization(0.5, -3), 3: Quantization(0.25, 5)}
    return Plan(
        [
            TensorSpec((1, cells, 4), DType.Float32),
            TensorSpec((1, cells, 1), DType.Float32),
            TensorSpec((1, cells, COEFFICIENTS), dtype),
            TensorSpec((*prototype, COEFFICIENTS), dtype),
        ],
        profile=Profile.YoloDecodedV1,
        task=Task.Segmentation,
        heads=[(0, 1, None, 2)],
        mask_prototype=3,
        model_input_size=(160, 160),
        original_image_size=(160, 160),
        num_classes=1,
        max_detections=capacity,
        detection_threshold=0.25,
        nms_iou_threshold=1.0,
        score_activation=ScoreActivation.Identity,
        mask_encoding=encoding,
        quantization=quantization if dtype is DType.Int8 else {},
    )


def frame_of(plan: Plan, corners: list[tuple[float, float, float, float]]) -> list[Array]:
    """Coefficients and prototypes all one; one cell for each box, best first."""
    inputs = [
        np.zeros(spec.shape, np.int8 if spec.dtype is DType.Int8 else np.float32)
        for spec in plan.input_specs
    ]
    for cell, (x1, y1, x2, y2) in enumerate(corners):
        inputs[0][0, cell] = (x1 + x2) / 2, (y1 + y2) / 2, x2 - x1, y2 - y1
        inputs[1][0, cell] = 0.9 - 0.01 * cell
    inputs[2][:] = 1
    inputs[3][:] = 6 if inputs[3].dtype == np.int8 else 1
    return inputs


def masks_of(plan: Plan, inputs: list[Array]) -> tuple[int, Array]:
    outputs = plan.allocate_outputs()
    outputs[4][:] = 0xA5
    plan.execute(plan.create_context(), inputs, outputs)
    return int(outputs[3][0]), outputs[4]


def box_pixels(size: tuple[int, int], rows: slice, columns: slice) -> Array:
    mask = np.zeros(size, np.uint8)
    mask[rows, columns] = 255
    return mask


@pytest.mark.parametrize("dtype", [DType.Float32, DType.Int8])
@pytest.mark.parametrize(("side", "first", "last"), [(160, 40, 120), (40, 10, 30)])
def test_live_area_is_exact(dtype: DType, side: int, first: int, last: int) -> None:
    # The box [40, 40, 120, 120] is half the model: 80 of 160 pixels a side, 20 of 40.
    plan = mask_plan((side, side), dtype=dtype)
    count, masks = masks_of(plan, frame_of(plan, [(40, 40, 120, 120)]))
    assert count == 1
    live = slice(first, last)
    np.testing.assert_array_equal(masks[0], box_pixels((side, side), live, live))
    assert int((masks[0] == 255).sum()) == (last - first) ** 2
    assert not masks[1:].any()  # unused slots are zero


@pytest.mark.parametrize("dtype", [DType.Float32, DType.Int8])
@pytest.mark.parametrize(
    ("corners", "rows", "columns"),
    [
        ((0, 0, 160, 160), slice(0, 160), slice(0, 160)),
        ((-30, -20, 10, 12), slice(0, 12), slice(0, 10)),
        ((150, 140, 190, 200), slice(140, 160), slice(150, 160)),
        ((-50, 20, 500, 21), slice(20, 21), slice(0, 160)),
        ((7, 9, 8, 10), slice(9, 10), slice(7, 8)),
        # A pixel is live from its index on: x1 <= c < x2.
        ((7.5, 9.25, 8.5, 10.75), slice(10, 11), slice(8, 9)),
        ((200, 200, 300, 300), slice(0, 0), slice(0, 0)),
        ((-300, 20, -200, 60), slice(0, 0), slice(0, 0)),
    ],
)
def test_boxes_at_and_beyond_the_border(
    dtype: DType, corners: tuple[float, float, float, float], rows: slice, columns: slice
) -> None:
    plan = mask_plan((160, 160), dtype=dtype)
    count, masks = masks_of(plan, frame_of(plan, [corners]))
    assert count == 1
    np.testing.assert_array_equal(masks[0], box_pixels((160, 160), rows, columns))
    assert not masks[1:].any()


@pytest.mark.parametrize("dtype", [DType.Float32, DType.Int8])
@pytest.mark.parametrize("size", [(1, 1), (5, 7), (17, 33), (31, 15), (1, 47)])
def test_odd_prototypes(dtype: DType, size: tuple[int, int]) -> None:
    plan = mask_plan(size, dtype=dtype)
    _, masks = masks_of(plan, frame_of(plan, [(-1, -1, 161, 161)]))
    np.testing.assert_array_equal(masks[0], np.full(size, 255, np.uint8))
    assert not masks[1:].any()


def test_alternating_plans_and_threads_give_the_bytes_of_single_runs() -> None:
    rng = np.random.default_rng(11)
    plans = [
        mask_plan(size, 16, 12, DType.Int8, MaskEncoding.Probability)
        for size in ((40, 40), (23, 57))
    ]
    frames = []
    for plan in plans:
        corners = []
        for _ in range(12):
            x, y, w, h = rng.uniform(-20, 140), rng.uniform(-20, 140), *rng.uniform(1, 90, 2)
            corners.append((x, y, x + w, y + h))
        inputs = frame_of(plan, corners)
        inputs[2][:] = rng.integers(-128, 128, inputs[2].shape)
        inputs[3][:] = rng.integers(-128, 128, inputs[3].shape)
        frames.append(inputs)
    single = []
    for plan, inputs in zip(plans, frames, strict=True):
        outputs = plan.allocate_outputs()
        plan.execute(plan.create_context(), inputs, outputs)
        assert int(outputs[3][0]) == 12
        single.append([array.tobytes() for array in outputs])
    wrong: list[int] = []

    def run(start: int) -> None:
        contexts = [plan.create_context() for plan in plans]
        outputs = [plan.allocate_outputs() for plan in plans]
        for number in range(1000):
            which = (number + start) % 2
            plans[which].execute(contexts[which], frames[which], outputs[which])
            if [array.tobytes() for array in outputs[which]] != single[which]:
                wrong.append(number)

    threads = [threading.Thread(target=run, args=(start,)) for start in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
