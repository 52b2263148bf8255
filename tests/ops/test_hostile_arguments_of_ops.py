"""Numbers and arrays whose own code resizes an array while a call reads its arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from boxdecode import Error, ResizePolicy, ops

COUNT = 100_000  # large enough for memory that goes back to the system when it is freed


class Hostile:
    """A number that resizes arrays as it is read."""

    def __init__(self, value: float, *arrays: Any) -> None:
        self._value = value
        self._arrays = arrays

    def _resize(self) -> None:
        for array in self._arrays:
            array.resize((1, *array.shape[1:]), refcheck=False)

    def __float__(self) -> float:
        self._resize()
        return float(self._value)

    def __index__(self) -> int:
        self._resize()
        return int(self._value)


class HostileArray:
    """An array that resizes others as it is exported."""

    def __init__(self, array: Any, *arrays: Any) -> None:
        self._array = array
        self._number = Hostile(0, *arrays)

    def __dlpack__(self, **_: Any) -> Any:
        float(self._number)
        return self._array.__dlpack__()

    def __dlpack_device__(self) -> Any:
        return self._array.__dlpack_device__()


def scene() -> tuple[Any, Any, Any]:
    corners = np.arange(COUNT, dtype=np.float32)[:, None] % 1000
    boxes = np.concatenate([corners, corners, corners + 10, corners + 10], axis=1)
    return boxes, np.linspace(0, 1, COUNT, dtype=np.float32), np.zeros(COUNT, np.int64)


NUMBERS: dict[str, tuple[float, Callable[..., Any]]] = {
    "iou_threshold": (0.5, lambda b, s, _, n: ops.nms(b, s, n)),
    "threshold": (0.5, lambda b, s, _, n: ops.nms(b, s, threshold=n)),
    "score_threshold": (0.5, lambda b, s, _, n: ops.nms(b, s, 0.5, score_threshold=n)),
    "max_detections": (9, lambda b, s, _, n: ops.nms(b, s, 0.5, max_detections=n)),
    "batched iou_threshold": (0.5, lambda b, s, i, n: ops.batched_nms(b, s, i, n)),
    "batched max_detections": (
        9,
        lambda b, s, i, n: ops.batched_nms(b, s, i, 0.5, max_detections=n),
    ),
    "sigma": (0.5, lambda b, s, i, n: ops.soft_nms(b, s, class_ids=i, sigma=n, max_detections=3)),
    "soft score_threshold": (
        0.5,
        lambda b, s, i, n: ops.soft_nms(b, s, class_ids=i, score_threshold=n, max_detections=3),
    ),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_may_resize_every_array(name: str) -> None:
    """All three become one row: that row is the answer, because numbers are read before arrays."""
    value, call = NUMBERS[name]
    boxes, scores, ids = scene()
    scores[0] = 0.75
    result = call(boxes, scores, ids, Hostile(value, boxes, scores, ids))
    assert len(boxes) == 1
    kept = result[0] if isinstance(result, tuple) else result
    assert kept.tolist() == [0]


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("which", [0, 1, 2])
def test_a_number_may_resize_one_array(name: str, which: int) -> None:
    """Then they no longer fit each other, which is an error."""
    value, call = NUMBERS[name]
    arrays = scene()
    hostile = Hostile(value, arrays[which])
    uses_ids = name.startswith(("batched", "sigma", "soft"))
    if which == 2 and not uses_ids:
        assert len(call(*arrays, hostile)) > 0
        return
    with pytest.raises(Error) as caught:
        call(*arrays, hostile)
    assert caught.value.field in ("boxes", "scores", "class_ids")
    assert len(arrays[which]) == 1


@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_may_resize_arrays_that_are_converted(name: str) -> None:
    """The scores are float64: converted once, and the boxes resized afterwards."""
    value, call = NUMBERS[name]
    boxes, scores, ids = scene()
    with pytest.raises(Error, match="boxes"):
        call(boxes, scores.astype(np.float64), ids, Hostile(value, boxes))


def test_an_array_may_resize_another() -> None:
    for other in (0, 2):
        arrays = scene()
        exporter = HostileArray(arrays[1], arrays[other])
        with pytest.raises(Error):
            ops.batched_nms(arrays[0], exporter, arrays[2], 0.5)
        assert len(arrays[other]) == 1
    boxes, scores, ids = scene()
    with pytest.raises(Error, match="changed during the call"):
        ops.batched_nms(boxes, scores, HostileArray(ids, boxes), 0.5)
    boxes, _, _ = scene()
    assert ops.box_iou(boxes, HostileArray(boxes[:3].copy(), boxes)).shape == (1, 3)


def test_box_functions_read_numbers_first() -> None:
    boxes, _, _ = scene()
    assert ops.clip_boxes(boxes, (Hostile(5, boxes), 5)).tolist() == [[0, 0, 5, 5]]
    boxes, _, _ = scene()
    size = (Hostile(4, boxes), 4)
    assert len(ops.scale_boxes(boxes, size, (8, 8), ResizePolicy.Stretch)) == 1
    boxes, _, _ = scene()
    affine: Any = (Hostile(2, boxes), 0, 1, 0)
    assert ops.scale_boxes(boxes, (4, 4), (8, 8), affine).tolist() == [[0, 0, 20, 10]]
