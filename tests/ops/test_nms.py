"""Hard suppression: set and order of the kept boxes are exactly those of the written rule."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np
import numpy.typing as npt
import ops_reference as reference
import ops_scenes as scenes
import pytest
from boxdecode import Error, ErrorCode, _core, ops

pytestmark = pytest.mark.usefixtures("kernels")

Floats = npt.NDArray[np.float32]


def boxes_of(*rows: tuple[float, float, float, float]) -> Floats:
    return np.array(rows, dtype=np.float32).reshape(-1, 4)


def descending(count: int) -> Floats:
    return np.linspace(1, 0.1, count).astype(np.float32)


# Below 1 fewer scenes and fewer objects in large ones, for emulated CPUs.
SHARE = float(os.environ.get("BOXDECODE_FRAMES", "1"))


def scene_count(kernels: str) -> int:
    """All of them with the kernels that are used on this CPU, some with each other set."""
    return int(SHARE * (10_000 if kernels == _core._available_kernels()[0] else 1_000))


def test_ten_thousand_scenes(kernels: str) -> None:
    random = np.random.default_rng(20261130)
    for number in range(scene_count(kernels)):
        scene, threshold = scenes.any_scene(random)
        expected = reference.greedy(scene.boxes, scene.scores, threshold)
        got = ops.nms(scene.boxes, scene.scores, threshold)
        assert got.dtype == np.int64
        assert got.tolist() == expected.tolist(), f"scene {number}, {kernels}"
        if number % 3 == 0:
            expected = reference.greedy(scene.boxes, scene.scores, threshold, scene.class_ids)
            got = ops.batched_nms(scene.boxes, scene.scores, scene.class_ids, threshold)
            assert got.tolist() == expected.tolist(), f"scene {number} by class, {kernels}"


def test_ten_thousand_scenes_against_torchvision(kernels: str) -> None:
    torch = pytest.importorskip("torch")
    torchvision = pytest.importorskip("torchvision")
    random = np.random.default_rng(7)
    for number in range(scene_count(kernels)):
        scene, threshold = scenes.any_scene(random)
        boxes, scores = torch.from_numpy(scene.boxes), torch.from_numpy(scene.scores)
        expected = torchvision.ops.nms(boxes, scores, threshold).tolist()
        assert ops.nms(scene.boxes, scene.scores, threshold).tolist() == expected, f"scene {number}"


@pytest.mark.parametrize("threshold", scenes.THRESHOLDS)
def test_iou_at_the_threshold_and_one_float_beside_it(threshold: float) -> None:
    """The float32 IoU is compared with the threshold as a double: the neighbours decide."""
    random = np.random.default_rng(3)
    widths, steps = scenes.nested_pairs(random, threshold, 400)
    assert {-2, -1, 0, 1, 2} <= set(steps.tolist())
    for (narrow, wide), step in zip(widths, steps, strict=True):
        for first, second in ((narrow, wide), (wide, narrow)):
            boxes = boxes_of((0, 0, first, 1), (0, 0, second, 1))
            kept = ops.nms(boxes, descending(2), threshold).tolist()
            assert kept == ([0] if step > 0 else [0, 1]), (narrow, wide, step)


def test_iou_of_exactly_one_half_is_kept_at_one_half() -> None:
    """Suppression is strict, and .5 is a float: equality keeps."""
    boxes = boxes_of((0, 0, 10, 10), (0, 0, 10, 5), (0, 0, 10, 20))
    assert ops.nms(boxes, descending(3), 0.5).tolist() == [0, 1, 2]
    assert ops.nms(boxes, descending(3), math.nextafter(0.5, 0)).tolist() == [0]


def test_one_third_as_float_exceeds_one_third_as_double() -> None:
    """RN32(1/3) is a little more than the double 1/3, so that the pair is suppressed."""
    boxes = boxes_of((0, 0, 3, 1), (0, 0, 1, 1))
    assert ops.nms(boxes, descending(2), 1 / 3).tolist() == [0]
    assert ops.nms(boxes, descending(2), float(np.float32(1 / 3))).tolist() == [0, 1]


def test_threshold_zero_keeps_touching_and_disjoint_boxes() -> None:
    """A shared edge has no area: IoU 0 is not above 0. The least overlap is."""
    boxes = boxes_of((0, 0, 10, 10), (10, 0, 20, 10), (50, 50, 60, 60), (9, 0, 19, 10))
    assert ops.nms(boxes, descending(4), 0.0).tolist() == [0, 1, 2]


def test_threshold_one_keeps_identical_boxes() -> None:
    """No IoU is above 1."""
    boxes = np.repeat(boxes_of((1, 2, 3, 4)), 40, axis=0)
    assert ops.nms(boxes, descending(40), 1).tolist() == list(range(40))


def test_chain_keeps_both_ends() -> None:
    """A suppressed box suppresses nothing: B goes because of A, so C stays. (Fast NMS drops C.)"""
    boxes = boxes_of((0, 0, 10, 10), (4, 0, 14, 10), (8, 0, 18, 10))
    iou = ops.box_iou(boxes, boxes)
    assert round(float(iou[0, 1]), 2) == round(float(iou[1, 2]), 2) == 0.43
    assert round(float(iou[0, 2]), 2) == 0.11
    assert ops.nms(boxes, descending(3), 0.4).tolist() == [0, 2]


def test_equal_scores_keep_the_lower_index() -> None:
    """The order is stable, whatever the number of boxes and the way of sorting."""
    for count in (2, 9, 100, 1000):
        boxes = np.repeat(boxes_of((0, 0, 10, 10)), count, axis=0)
        assert ops.nms(boxes, np.full(count, 0.5, np.float32), 0.5).tolist() == [0]
        apart = boxes + (np.arange(count, dtype=np.float32) * 20)[:, None]
        assert ops.nms(apart, np.full(count, 0.5, np.float32), 0.5).tolist() == list(range(count))


def test_minus_zero_equals_plus_zero() -> None:
    """Scores are numbers, not bits."""
    boxes = boxes_of((0, 0, 10, 10), (50, 0, 60, 10), (90, 0, 99, 10))
    scores = np.array([-0.0, 0.0, -0.0], np.float32)
    assert ops.nms(boxes, scores, 0.5).tolist() == [0, 1, 2]
    assert ops.nms(boxes, scores, 0.5, score_threshold=0.0).tolist() == [0, 1, 2]


def test_infinite_scores_rank() -> None:
    boxes = boxes_of(*((20.0 * i, 0, 20.0 * i + 10, 10) for i in range(40)))
    scores = np.arange(40).astype(np.float32)
    scores[7], scores[8], scores[9] = -np.inf, np.inf, np.inf
    kept = ops.nms(boxes, scores, 0.5).tolist()
    assert kept[:2] == [8, 9]
    assert kept[-1] == 7


def test_tiny_boxes_of_class_79() -> None:
    """An offset of class · size would round these coordinates until their IoU changes."""
    boxes = boxes_of((100.3, 100.3, 100.34, 100.34), (100.31, 100.3, 100.35, 100.34))
    class_ids = np.array([79, 79])
    iou = float(reference.iou_row(boxes[0], boxes[1:])[0])
    assert 0.5 < iou < 0.7
    assert ops.batched_nms(boxes, descending(2), class_ids, iou - 1e-3).tolist() == [0]
    assert ops.batched_nms(boxes, descending(2), class_ids, iou).tolist() == [0, 1]
    far = boxes + np.float32(79 * 7680)
    assert not np.array_equal(far[0] - far[1], boxes[0] - boxes[1])


def test_negative_coordinates_do_not_cross_classes() -> None:
    """With an offset of max + 1, the box at -30 of class 1 would fall on the one of class 0."""
    boxes = boxes_of((-20, -20, 10, 10), (-31, -31, -1, -1), (-31, -31, -1, -1))
    class_ids = np.array([0, 1, 0])
    assert ops.batched_nms(boxes, descending(3), class_ids, 0.2).tolist() == [0, 1]


def test_boxes_of_sixty_thousand_pixels() -> None:
    """Areas beyond 2^31 are ordinary floats."""
    boxes = boxes_of((0, 0, 60000, 60000), (1, 1, 60000, 60000), (0, 0, 30000, 60000))
    assert ops.nms(boxes, descending(3), 0.5).tolist() == [0, 2]


def test_zero_area_twice() -> None:
    """0/0 suppresses nothing: a point, twice, stays twice; so does a line across a box."""
    boxes = boxes_of((5, 5, 5, 5), (5, 5, 5, 5), (0, 0, 10, 10), (2, 0, 2, 10), (2, 0, 2, 10))
    for threshold in (0.0, 0.5):
        assert ops.nms(boxes, descending(5), threshold).tolist() == [0, 1, 2, 3, 4]


def test_areas_that_underflow_and_overflow() -> None:
    """FP32 decides, even where it rounds coarsely: the same sets as the formula gives."""
    tiny = 1e-22
    boxes = boxes_of(
        (0, 0, tiny, tiny),
        (0, 0, tiny, tiny * 0.9),
        (0, 0, 3e38, 3e38),
        (-3e38, -3e38, 3e38, 3e38),
        (0, 0, 1e25, 1e-25),
        (0, 0, 1e25, 1.2e-25),
    )
    for threshold in (0.0, 0.3, 0.5, 0.8):
        expected = reference.greedy(boxes, descending(6), threshold).tolist()
        assert ops.nms(boxes, descending(6), threshold).tolist() == expected


@pytest.mark.parametrize("count", [0, 1])
def test_none_and_one(count: int) -> None:
    boxes = np.repeat(boxes_of((0, 0, 1, 1)), count, axis=0)
    scores = descending(count)
    expected = list(range(count))
    for kept in (
        ops.nms(boxes, scores, 0.5),
        ops.batched_nms(boxes, scores, np.zeros(count, np.int64), 0.5),
        ops.soft_nms(boxes, scores)[0],
    ):
        assert kept.tolist() == expected
        assert kept.dtype == np.int64
    assert ops.soft_nms(boxes, scores)[1].dtype == np.float32


@pytest.mark.parametrize("count", [2, 999, 1001, 30001])
@pytest.mark.parametrize("kind", ["clustered", "spread"])
def test_agnostic_and_aware_at_many_sizes(count: int, kind: str) -> None:
    """Each size takes another way through the code; the result follows from the rule alone."""
    random = np.random.default_rng([count, 5])
    if kind == "spread":
        # Nearly all is kept, which the reference pays for.
        scene = scenes.spread(random, count if count < 10_000 else int(SHARE * count) // 3)
    else:
        scene = scenes.clustered(random, count, objects=max(2, int(SHARE * count) // 20))
    got = ops.nms(scene.boxes, scene.scores, 0.5)
    assert np.array_equal(got, reference.greedy(scene.boxes, scene.scores, 0.5))
    got = ops.batched_nms(scene.boxes, scene.scores, scene.class_ids, 0.5)
    expected = reference.greedy(scene.boxes, scene.scores, 0.5, scene.class_ids)
    assert np.array_equal(got, expected)


@pytest.mark.parametrize("threshold", [0.0, 0.05, 0.1, 0.3, 0.9, 0.99, 0.9999, 1.0])
def test_every_threshold_on_medium_scenes(threshold: float) -> None:
    random = np.random.default_rng(11)
    makers = (
        scenes.clustered,
        scenes.spread,
        scenes.around_a_point,
        scenes.lattice,
        scenes.wild,
    )
    for make in makers:
        scene = make(random, 1500)
        got = ops.nms(scene.boxes, scene.scores, threshold)
        assert np.array_equal(got, reference.greedy(scene.boxes, scene.scores, threshold)), make


def test_one_irregular_box_among_many() -> None:
    """A huge, a flat and a tiny box beside 2000 ordinary ones must neither hide nor be hidden."""
    random = np.random.default_rng(13)
    scene = scenes.spread(random, 2000)
    odd = boxes_of((-1e20, -1e20, 1e20, 1e20), (0, 0, 1e-20, 1e-20), (-500, 3, 500, 3))
    boxes = np.concatenate([np.repeat(odd, 2, axis=0), scene.boxes])
    scores = np.concatenate([np.full(6, np.median(scene.scores), np.float32), scene.scores])
    got = ops.nms(boxes, scores, 0.5)
    assert np.array_equal(got, reference.greedy(boxes, scores, 0.5))


def test_scores_in_one_heap() -> None:
    """Nearly all scores in one spot, a few far away: the order must not suffer."""
    random = np.random.default_rng(17)
    scene = scenes.clustered(random, 5000)
    scores = (1e-6 * random.random(5000)).astype(np.float32)
    scores[::700] = 1e6
    got = ops.nms(scene.boxes, scores, 0.5)
    assert np.array_equal(got, reference.greedy(scene.boxes, scores, 0.5))


def test_class_ids_anywhere_in_64_bits() -> None:
    """Only equality counts: close, far apart, negative, and 2^64 − 1 unsigned."""
    random = np.random.default_rng(19)
    scene = scenes.clustered(random, 3000, objects=20)
    dense = random.integers(0, 40, 3000)
    expected = reference.greedy(scene.boxes, scene.scores, 0.5, dense)
    spread = random.permutation(2**62 // np.arange(1, 41))
    spread[:2] = -(2**63), 2**63 - 1
    for class_ids in (
        dense.astype(np.int8),
        dense.astype(np.uint16),
        dense.astype(np.int32) - 20,
        dense + 2**40,
        spread[dense],
        spread[dense].view(np.uint64),
    ):
        got = ops.batched_nms(scene.boxes, scene.scores, class_ids, 0.5)
        assert np.array_equal(got, expected), class_ids.dtype


def test_every_box_its_own_class() -> None:
    random = np.random.default_rng(23)
    scene = scenes.clustered(random, 2000)
    got = ops.batched_nms(scene.boxes, scene.scores, random.permutation(2000), 0.1)
    assert np.array_equal(got, reference.score_order(scene.scores))


def test_score_threshold_is_inclusive_and_fp32() -> None:
    boxes = boxes_of(*((20.0 * i, 0, 20.0 * i + 10, 10) for i in range(4)))
    scores = np.array([0.1, 0.3, 0.2, np.nextafter(np.float32(0.2), np.float32(0))], np.float32)
    assert ops.nms(boxes, scores, 0.5, score_threshold=0.2).tolist() == [1, 2]
    assert ops.nms(boxes, scores - 5, 0.5, score_threshold=-4.85).tolist() == [1, 2, 3]
    assert ops.nms(boxes, scores, 0.5, score_threshold=2).tolist() == []
    assert ops.nms(boxes, scores, 0.5, score_threshold=1e300).tolist() == []
    assert len(ops.nms(boxes, scores, 0.5, score_threshold=-1e300)) == 4


def test_score_threshold_and_limit_on_large_scenes() -> None:
    random = np.random.default_rng(29)
    scene = scenes.clustered(random, 6000)
    level = float(np.quantile(scene.scores, 0.4))
    options: dict[str, Any]
    for options in (
        {"score_threshold": level},
        {"max_detections": 17},
        {"max_detections": 200, "score_threshold": level},
        {"max_detections": 10**18},
    ):
        got = ops.nms(scene.boxes, scene.scores, 0.5, **options)
        assert np.array_equal(got, reference.greedy(scene.boxes, scene.scores, 0.5, **options))
        got = ops.batched_nms(scene.boxes, scene.scores, scene.class_ids, 0.5, **options)
        expected = reference.greedy(scene.boxes, scene.scores, 0.5, scene.class_ids, **options)
        assert np.array_equal(got, expected)


def test_max_detections_zero_is_empty_and_negative_an_error() -> None:
    boxes, scores = boxes_of((0, 0, 1, 1)), descending(1)
    assert ops.nms(boxes, scores, 0.5, max_detections=0).tolist() == []
    assert ops.batched_nms(boxes, scores, np.zeros(1, int), 0.5, max_detections=0).tolist() == []
    assert [len(part) for part in ops.soft_nms(boxes, scores, max_detections=0)] == [0, 0]
    for limit in (-1, -(2**70)):
        with pytest.raises(Error) as caught:
            ops.nms(boxes, scores, 0.5, max_detections=limit)
        assert (caught.value.code, caught.value.field) == (
            ErrorCode.InvalidParameter,
            "max_detections",
        )


BAD_ROWS = {
    "NaN score": ((0, 0, 1, 1), np.nan, "scores[3]"),
    "NaN coordinate": ((0, np.nan, 1, 1), 0.5, "boxes[3]"),
    "infinite coordinate": ((0, 0, np.inf, 1), 0.5, "boxes[3]"),
    "minus infinity": ((-np.inf, 0, 1, 1), 0.5, "boxes[3]"),
    "inverted x": ((2, 0, 1, 1), 0.5, "boxes[3]"),
    "inverted y": ((0, 2, 1, 1), 0.5, "boxes[3]"),
}


@pytest.mark.parametrize("name", BAD_ROWS)
@pytest.mark.parametrize("count", [5, 40])
def test_invalid_rows_are_refused_or_dropped(name: str, count: int) -> None:
    """Never ranked silently, at any place: in a vector, behind the last one, first of two."""
    box, score, field = BAD_ROWS[name]
    boxes = boxes_of(*((20.0 * i, 0, 20.0 * i + 10, 10) for i in range(count)))
    scores = descending(count)
    boxes[3], scores[3] = box, score
    boxes[count - 1], scores[count - 1] = box, score
    class_ids = np.zeros(count, np.int32)
    calls: list[Any] = [
        lambda **options: ops.nms(boxes, scores, 0.5, **options),
        lambda **options: ops.batched_nms(boxes, scores, class_ids, 0.5, **options),
        lambda **options: ops.soft_nms(boxes, scores, **options)[0],
    ]
    for call in calls:
        with pytest.raises(Error) as caught:
            call()
        assert (caught.value.code, caught.value.field) == (ErrorCode.InvalidParameter, field)
        assert "drop" in str(caught.value)
        if "inverted" in name:
            assert "cxcywh" in str(caught.value)
        assert call(invalid="drop").tolist() == [i for i in range(count - 1) if i != 3]


def test_an_invalid_row_below_the_score_threshold_is_still_refused() -> None:
    """A row is checked before it is looked at: nothing is silently wrong."""
    boxes = boxes_of((0, 0, 1, 1), (3, 3, 1, 1))
    scores = np.array([0.9, 0.1], np.float32)
    with pytest.raises(Error, match=r"boxes\[1\]"):
        ops.nms(boxes, scores, 0.5, score_threshold=0.5)
    kept = ops.nms(boxes, scores, 0.5, score_threshold=0.5, invalid="drop")
    assert kept.tolist() == [0]


def test_all_rows_invalid() -> None:
    boxes = np.full((20, 4), np.nan, np.float32)
    assert ops.nms(boxes, descending(20), 0.5, invalid="drop").tolist() == []
    assert ops.soft_nms(boxes, descending(20), invalid="drop")[0].tolist() == []


def test_wrong_parameters_name_themselves() -> None:
    boxes, scores = boxes_of((0, 0, 1, 1)), descending(1)
    cases: list[tuple[dict[str, Any], str]] = [
        ({"iou_threshold": -0.01}, "iou_threshold"),
        ({"iou_threshold": 1.01}, "iou_threshold"),
        ({"iou_threshold": np.nan}, "iou_threshold"),
        ({"iou_threshold": 0.5, "score_threshold": np.nan}, "score_threshold"),
        ({"iou_threshold": 0.5, "score_threshold": np.inf}, "score_threshold"),
        ({"iou_threshold": 0.5, "max_detections": -1}, "max_detections"),
        ({"iou_threshold": 0.5, "invalid": "ignore"}, "invalid"),
        ({"iou_threshold": 0.5, "invalid": None}, "invalid"),
    ]
    for arguments, field in cases:
        with pytest.raises(Error) as caught:
            ops.nms(boxes, scores, **arguments)
        assert (caught.value.code, caught.value.field) == (ErrorCode.InvalidParameter, field)
        assert field in str(caught.value)


def test_nothing_is_modified() -> None:
    scene = scenes.clustered(np.random.default_rng(31), 700)
    boxes, scores, class_ids = scene.boxes.copy(), scene.scores.copy(), scene.class_ids.copy()
    for array in (boxes, scores, class_ids):
        array.flags.writeable = False
    ops.nms(boxes, scores, 0.5)
    ops.batched_nms(boxes, scores, class_ids, 0.5)
    ops.soft_nms(boxes, scores, class_ids=class_ids)
    assert np.array_equal(boxes, scene.boxes)
    assert np.array_equal(scores, scene.scores)
