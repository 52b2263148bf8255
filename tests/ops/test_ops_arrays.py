"""What arrays boxdecode.ops takes: exact or refused, never truncated."""

from __future__ import annotations

import array
import gc
import threading
from typing import Any

import ml_dtypes
import numpy as np
import ops_scenes as scenes
import pytest
from boxdecode import Error, ErrorCode, ops

SCENE = scenes.lattice(np.random.default_rng(47), 300)
KEPT = ops.batched_nms(SCENE.boxes, SCENE.scores, SCENE.class_ids, 0.4).tolist()


def run(boxes: Any = SCENE.boxes, scores: Any = SCENE.scores, ids: Any = SCENE.class_ids) -> Any:
    return ops.batched_nms(boxes, scores, ids, 0.4).tolist()


def refused(field: str, call: Any, *arguments: Any, **options: Any) -> str:
    with pytest.raises(Error) as caught:
        call(*arguments, **options)
    assert (caught.value.code, caught.value.field) == (ErrorCode.InvalidParameter, field)
    return str(caught.value)


@pytest.mark.parametrize(
    "dtype", [np.float16, np.float32, np.float64, ml_dtypes.bfloat16, np.int8, np.int16, np.int64]
)
def test_dtypes_that_hold_the_boxes_give_the_same_result(dtype: Any) -> None:
    """Small integers fit all of these, so the result cannot depend on the dtype."""
    assert run(boxes=SCENE.boxes.astype(dtype)) == KEPT


def test_halves_are_never_truncated() -> None:
    """1.5 stays 1.5: with integer areas this pair would have another IoU."""
    for dtype in (np.float16, ml_dtypes.bfloat16):
        boxes = np.array([[0, 0, 1.5, 1], [0, 0, 1, 1]], dtype)
        scores = np.array([1, 0.5], dtype)
        assert ops.nms(boxes, scores, 0.66).tolist() == [0]
        assert ops.nms(boxes, scores, 0.67).tolist() == [0, 1]


def test_float64_is_narrowed_once() -> None:
    """The rule is FP32: numbers between two floats count as the nearer one."""
    boxes = SCENE.boxes.astype(np.float64) * (1 + 1e-9)
    assert run(boxes=boxes) == KEPT
    scores = np.array([0.1, 0.1 + 1e-10])
    apart = np.array([[0, 0, 1, 1], [5, 5, 6, 6]])
    assert ops.nms(apart, scores, 0.5).tolist() == [0, 1]


def test_float64_beyond_float32_is_not_finite() -> None:
    boxes = np.array([[0, 0, 1e39, 1]])
    message = refused("boxes[0]", ops.nms, boxes, np.array([0.5]), 0.5)
    assert "finite" in message


def test_integers_that_float32_does_not_hold_are_refused() -> None:
    boxes = np.array([[0, 0, 1, 1], [0, 0, 2**24 + 1, 1]])
    scores = np.array([0.5, 0.4], np.float32)
    assert "16777217" in refused("boxes[1]", ops.nms, boxes, scores, 0.5)
    assert ops.nms(np.array([[0, 0, 1, 1], [0, 0, 2**24 + 2, 1]]), scores, 0.5).tolist() == [0, 1]
    for value in (2**63 - 1, 2**53 + 1, -(2**31) - 1):
        refused("scores[1]", ops.nms, boxes[:1].repeat(2, 0), np.array([0, value]), 0.5)
    refused("scores[0]", ops.nms, boxes[:1], np.array([2**64 - 1], np.uint64), 0.5)
    assert ops.nms(boxes[:1], np.array([2**63], np.uint64), 0.5).tolist() == [0]
    assert ops.nms(boxes[:1], np.array([-(2**63)]), 0.5).tolist() == [0]


def test_other_dtypes_are_refused() -> None:
    boxes, scores = SCENE.boxes[:4], SCENE.scores[:4]
    for dtype in (bool, np.complex64, np.longdouble, object, "U4", "M8[s]"):
        assert str(np.dtype(dtype)) in refused(
            "boxes", ops.nms, np.ones((4, 4)).astype(dtype), scores, 0.5
        )
        refused("scores", ops.nms, boxes, np.ones(4).astype(dtype), 0.5)
        refused("boxes", ops.box_area, np.ones((4, 4)).astype(dtype))


def test_class_ids_must_be_integers() -> None:
    boxes, scores = SCENE.boxes[:2], SCENE.scores[:2]
    for class_ids in (np.zeros(2), np.zeros(2, bool), np.array(["a", "b"])):
        refused("class_ids", ops.batched_nms, boxes, scores, class_ids, 0.5)
        refused("class_ids", ops.soft_nms, boxes, scores, class_ids=class_ids)
    refused("class_ids", ops.batched_nms, boxes, scores, None, 0.5)
    for dtype in (np.int8, np.uint8, np.int16, np.uint16, np.uint32, np.uint64, ">i4"):
        class_ids = (SCENE.class_ids % 2).astype(dtype)
        assert run(ids=class_ids) == run(ids=SCENE.class_ids % 2)


def test_strided_transposed_and_foreign_byte_order() -> None:
    """The same result as for a contiguous array, copied where it must be."""
    wide = np.zeros((300, 12), np.float32)
    wide[:, 3:11:2] = SCENE.boxes
    assert run(boxes=wide[:, 3:11:2]) == KEPT
    assert run(boxes=np.asfortranarray(SCENE.boxes)) == KEPT
    assert run(boxes=np.ascontiguousarray(SCENE.boxes.T).T) == KEPT
    assert run(boxes=SCENE.boxes.astype(">f4")) == KEPT
    assert run(scores=SCENE.scores[::-1].copy()[::-1]) == KEPT
    assert run(scores=np.repeat(SCENE.scores, 3)[1::3]) == KEPT
    assert run(ids=np.repeat(SCENE.class_ids, 2)[::2]) == KEPT
    raw = np.zeros(SCENE.boxes.nbytes + 1, np.uint8)
    unaligned = raw[1:].view(np.float32).reshape(-1, 4)
    unaligned[:] = SCENE.boxes
    assert not unaligned.flags.aligned
    assert run(boxes=unaligned) == KEPT
    assert ops.box_area(unaligned).tolist() == ops.box_area(SCENE.boxes).tolist()
    broadcast = np.broadcast_to(np.float32(0.5), (300,))
    assert run(scores=broadcast) == run(scores=broadcast.copy())


class OnlyDlpack:
    """An array of some other library."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __dlpack__(self, **arguments: Any) -> Any:
        return self._inner.__dlpack__(**arguments)

    def __dlpack_device__(self) -> Any:
        return self._inner.__dlpack_device__()


class OnTheGpu(OnlyDlpack):
    def __dlpack_device__(self) -> Any:
        return (2, 0)


def test_dlpack() -> None:
    arrays = (SCENE.boxes, SCENE.scores, SCENE.class_ids)
    assert run(*(OnlyDlpack(value) for value in arrays)) == KEPT
    assert ops.box_area(OnlyDlpack(SCENE.boxes)).shape == (300,)
    message = refused("boxes", ops.nms, OnTheGpu(SCENE.boxes), SCENE.scores, 0.5)
    assert "CPU" in message


def test_torch_tensors() -> None:
    torch = pytest.importorskip("torch")
    tensors = [torch.from_numpy(value) for value in (SCENE.boxes, SCENE.scores, SCENE.class_ids)]
    assert run(*tensors) == KEPT
    refused("boxes", ops.nms, tensors[0].requires_grad_(), SCENE.scores, 0.5)


def test_buffer_protocol() -> None:
    scores = array.array("f", SCENE.scores.tolist())
    boxes = memoryview(SCENE.boxes.tobytes()).cast("f", (300, 4))
    class_ids = array.array("q", SCENE.class_ids.tolist())
    assert run(boxes, scores, class_ids) == KEPT


def test_other_objects_are_refused() -> None:
    for value in (None, "boxes", 3, object(), {0: 1}, iter([[0, 0, 1, 1]])):
        assert type(value).__name__ in refused("boxes", ops.nms, value, SCENE.scores[:1], 0.5)


def test_shapes_must_fit() -> None:
    boxes, scores = SCENE.boxes, SCENE.scores
    for wrong in (boxes[0], boxes[:, :3], boxes[None], boxes.reshape(-1), np.empty(0, np.float32)):
        assert str(wrong.shape) in refused("boxes", ops.nms, wrong, scores, 0.5)
    for wrong in (scores[:-1], scores[:, None], scores[0], np.float32(1)):
        refused("scores", ops.nms, boxes, wrong, 0.5)
    for wrong in (SCENE.class_ids[1:], SCENE.class_ids[None]):
        refused("class_ids", ops.batched_nms, boxes, scores, wrong, 0.5)
        refused("class_ids", ops.soft_nms, boxes, scores, class_ids=wrong)
    assert ops.nms(np.empty((0, 4)), np.empty(0), 0.5).tolist() == []


def test_numbers_beyond_c_types() -> None:
    boxes, scores = SCENE.boxes, SCENE.scores
    refused("iou_threshold", ops.nms, boxes, scores, 10**400)
    refused("max_detections", ops.nms, boxes, scores, 0.5, max_detections=2**63)
    refused("score_threshold", ops.nms, boxes, scores, 0.5, score_threshold=10**400)
    with pytest.raises(TypeError, match="iou_threshold"):
        ops.nms(boxes, scores, "0.5")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="max_detections"):
        ops.nms(boxes, scores, 0.5, max_detections=2.5)  # type: ignore[arg-type]


def test_numpy_scalars_are_numbers() -> None:
    kept = ops.batched_nms(
        SCENE.boxes, SCENE.scores, SCENE.class_ids, np.float64(0.4), max_detections=np.int8(9)
    )
    assert kept.tolist() == KEPT[:9]


def test_results_stay_when_the_next_call_comes() -> None:
    """They are arrays of their own, not views of the memory that calls reuse."""
    first = ops.batched_nms(SCENE.boxes, SCENE.scores, SCENE.class_ids, 0.4)
    picks, values = ops.soft_nms(SCENE.boxes, SCENE.scores)
    before = values.copy()
    ops.nms(np.zeros((5000, 4), np.float32), np.zeros(5000, np.float32), 0.5)
    ops.soft_nms(SCENE.boxes[::-1].copy(), SCENE.scores)
    gc.collect()
    assert first.tolist() == KEPT
    assert np.array_equal(values, before)
    assert first.flags.owndata
    assert picks.flags.writeable


def test_threads_have_memory_of_their_own() -> None:
    """Several at once, growing and shrinking, each with its own right result."""
    random = np.random.default_rng(53)
    work = [scenes.clustered(random, count) for count in (50, 4000, 300, 9000)]
    expected = [ops.nms(scene.boxes, scene.scores, 0.5).tolist() for scene in work]
    wrong: list[int] = []

    def loop(start: int) -> None:
        for step in range(40):
            index = (start + step) % len(work)
            got = ops.nms(work[index].boxes, work[index].scores, 0.5).tolist()
            if got != expected[index]:
                wrong.append(index)

    threads = [threading.Thread(target=loop, args=(start,)) for start in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
