"""Lists and tuples of numbers, masked arrays, and the other name of the threshold."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from boxdecode import Error, ErrorCode, ResizePolicy, ops

# The first two share 81 of 100 + 100 - 81: IoU 0.68. The third stands alone.
ROWS = [[0, 0, 10, 10], [1, 1, 10.0, 10], [20, 20, 30, 30]]
SCORES = [0.9, 0.8, 0.7]
IDS = [4, 4, 5]
MASK = [[False] * 4, [False, False, True, False], [False] * 4]


def refused(field: str, call: Any, *arguments: Any, **options: Any) -> str:
    with pytest.raises(Error) as caught:
        call(*arguments, **options)
    assert (caught.value.code, caught.value.field) == (ErrorCode.InvalidParameter, field)
    return str(caught.value)


def test_lists_and_tuples_are_what_numpy_makes_of_them() -> None:
    for boxes, scores in ((ROWS, SCORES), (tuple(map(tuple, ROWS)), tuple(SCORES))):
        assert ops.nms(boxes, scores, 0.5).tolist() == [0, 2]
        assert ops.batched_nms(boxes, scores, IDS, 0.5).tolist() == [0, 2]
        assert ops.batched_nms(boxes, scores, (4, 5, 4), 0.5).tolist() == [0, 1, 2]
        picks, decayed = ops.soft_nms(boxes, scores, class_ids=IDS)
        same_picks, same = ops.soft_nms(np.array(ROWS), np.array(SCORES), class_ids=np.array(IDS))
        assert picks.tolist() == same_picks.tolist()
        assert decayed.tolist() == same.tolist()
        assert ops.box_area(boxes).tolist() == [100, 81, 100]
        assert ops.box_iou(boxes, boxes[:1]).tolist() == [[1], [0.81], [0]]
        assert ops.xywh2xyxy(boxes)[2].tolist() == [5, 5, 35, 35]
        assert ops.clip_boxes(boxes, (25, 25))[2].tolist() == [20, 20, 25, 25]
        scaled = ops.scale_boxes(boxes, (40, 40), (80, 80), ResizePolicy.Stretch)
        assert scaled[2].tolist() == [40, 40, 60, 60]


def test_elements_may_be_any_numbers() -> None:
    scores = [np.float16(0.5), ml_dtypes.bfloat16(0.25), np.array(0.125)]
    assert ops.nms([np.array(row) for row in ROWS], scores, 0.5).tolist() == [0, 2]
    boxes = [[2**24 + 1, 0, 2**24 + 1, 1]]  # as an array of the same numbers is
    assert "16777217" in refused("boxes[0]", ops.nms, boxes, [1], 0.5)
    assert ops.box_area([[0.0, 0, 2**24 + 1, 1]]).tolist() == [2**24 + 1]


def test_an_empty_list_is_no_box() -> None:
    for empty in ([], ()):
        assert ops.nms(empty, empty, 0.5).tolist() == []
        assert ops.batched_nms(empty, empty, empty, 0.5).tolist() == []
        assert [part.tolist() for part in ops.soft_nms(empty, empty, class_ids=empty)] == [[], []]
        assert ops.box_area(empty).shape == (0,)
        assert ops.box_iou(empty, ROWS).shape == (0, 3)
        assert ops.box_convert(empty, "xywh", "xyxy").shape == (0, 4)
        assert ops.clip_boxes(empty, (1, 1)).shape == (0, 4)
        scaled = ops.scale_boxes(empty, (4, 4), (8, 8), ResizePolicy.Stretch)
        assert scaled.shape == (0, 4)
    refused("scores", ops.nms, ROWS, [], 0.5)
    refused("boxes", ops.nms, [[]], [0.5], 0.5)


def test_ragged_lists_are_refused_by_name() -> None:
    for ragged in ([[0, 0, 1, 1], [0, 0, 1]], [[0, 0, 1, 1], 3], [0, [0, 0, 1, 1]]):
        assert "ragged" in refused("boxes", ops.nms, ragged, [0.5, 0.5], 0.5)
        assert "ragged" in refused("b", ops.box_iou, ROWS, ragged)
    assert "ragged" in refused("scores", ops.nms, ROWS, [0.5, [0.5], 0.5], 0.5)
    arrays = [np.zeros(4), np.zeros(3)]
    assert "ragged" in refused("boxes", ops.box_area, arrays)
    endless: list[Any] = []
    endless.append(endless)
    assert "nested" in refused("boxes", ops.box_area, endless)


@pytest.mark.parametrize(
    "wrong", [True, np.True_, "1", b"1", None, 1j, np.array(True), np.array("1")]
)
def test_elements_that_are_no_numbers_are_refused_by_place(wrong: Any) -> None:
    """Among floats NumPy would take True for 1.0."""
    message = refused("boxes[1][2]", ops.nms, [[0.0, 0, 1, 1], [0, 0, wrong, 1]], [0.5, 0.5], 0.5)
    assert "must be a number" in message
    refused("scores[0]", ops.nms, ROWS, [wrong, 0.5, 0.5], 0.5)
    refused("class_ids[2]", ops.batched_nms, ROWS, SCORES, [1, 2, wrong], 0.5)


def test_class_ids_in_lists_must_be_integers() -> None:
    refused("class_ids", ops.batched_nms, ROWS, SCORES, [1, 2, 3.0], 0.5)
    assert "object" in refused("class_ids", ops.batched_nms, ROWS, SCORES, [1, 2, 2**70], 0.5)


CALLS = {
    "nms": lambda boxes: ops.nms(boxes, SCORES, 0.5),
    "batched_nms": lambda boxes: ops.batched_nms(boxes, SCORES, IDS, 0.5),
    "soft_nms": lambda boxes: ops.soft_nms(boxes, SCORES),
    "box_convert": lambda boxes: ops.box_convert(boxes, "xywh", "xyxy"),
    "xywh2xyxy": ops.xywh2xyxy,
    "box_area": ops.box_area,
    "box_iou": lambda boxes: ops.box_iou(boxes, ROWS),
    "clip_boxes": lambda boxes: ops.clip_boxes(boxes, (5, 5)),
    "scale_boxes": lambda boxes: ops.scale_boxes(boxes, (4, 4), (8, 8), ResizePolicy.Stretch),
}


def test_every_function_is_among_the_calls() -> None:
    assert set(CALLS) == set(ops.__all__)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_masked_boxes_are_refused(name: str, dtype: Any) -> None:
    """A masked row would count: the functions read the elements below the mask."""
    boxes = np.ma.array(np.array(ROWS, dtype), mask=MASK)
    field = "a" if name == "box_iou" else "boxes"
    assert "masked at [1, 2]" in refused(field, CALLS[name], boxes)
    refused(f"{field}[1]", CALLS[name], list(boxes))
    # Where nothing is masked, nothing is missing.
    for whole in (np.ma.array(boxes.data), np.ma.array(boxes.data, mask=False)):
        result, same = CALLS[name](whole), CALLS[name](boxes.data)
        assert np.array_equal(result, same)
        assert not isinstance(result, np.ma.MaskedArray)


def test_masked_scores_and_class_ids_are_refused() -> None:
    boxes = np.array(ROWS, np.float32)
    scores = np.ma.array(np.array(SCORES, np.float32), mask=[0, 1, 0])
    ids = np.ma.array(IDS, mask=[0, 0, 1])
    for call in (ops.nms, ops.soft_nms):
        threshold = {"iou_threshold": 0.5}
        assert "masked at [1]" in refused("scores", call, boxes, scores, **threshold)
    assert "masked at [2]" in refused("class_ids", ops.batched_nms, boxes, scores.data, ids, 0.5)
    refused("class_ids", ops.soft_nms, boxes, scores.data, class_ids=ids)
    refused("b", ops.box_iou, boxes, np.ma.array(boxes, mask=MASK))
    refused("scores[0]", ops.nms, boxes, [np.ma.masked, 0.5, 0.5], 0.5)


def test_threshold_is_another_name_of_iou_threshold() -> None:
    """IoU 0.81 of 1 and 0.8: 0.81 / 1 > 0.5 drops the second, 0.85 keeps it."""
    assert ops.nms(ROWS, SCORES, threshold=0.5).tolist() == [0, 2]
    assert ops.nms(ROWS, SCORES, threshold=0.85).tolist() == [0, 1, 2]
    assert ops.batched_nms(ROWS, SCORES, IDS, threshold=0.5).tolist() == [0, 2]
    for threshold, second in ((0.5, 0.8 * (1 - 0.81)), (0.85, 0.8)):
        picks, scores = ops.soft_nms(ROWS, SCORES, method="linear", threshold=threshold)
        assert dict(zip(picks.tolist(), scores.tolist(), strict=True))[1] == pytest.approx(second)
    # The call of the operator's own document.
    boxes = [[5, 5, 10, 10], [5.5, 5.5, 9, 9]]
    assert ops.nms(ops.xywh2xyxy(boxes), [0.9, 0.8], threshold=0.5).tolist() == [0]


def test_one_of_the_two_names_is_wanted() -> None:
    for call, arguments in (
        (ops.nms, (ROWS, SCORES)),
        (ops.batched_nms, (ROWS, SCORES, IDS)),
        (ops.soft_nms, (ROWS, SCORES)),
    ):
        # Also when both say the same, or what the default says.
        for first, second in ((0.5, 0.5), (0.3, 0.5), (0.5, 0.3)):
            message = refused("threshold", call, *arguments, iou_threshold=first, threshold=second)
            assert "iou_threshold" in message
        if call is not ops.soft_nms:  # which has a default
            with pytest.raises(TypeError, match="iou_threshold"):
                call(*arguments)
        with pytest.raises(TypeError, match="iou_threshold must be a number"):
            call(*arguments, iou_threshold=None)
        refused("iou_threshold", call, *arguments, threshold=2)
