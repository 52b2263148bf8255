"""Soft-NMS: bit for bit the float32 formulas, and within 1e-6 of the mathematical ones."""

from __future__ import annotations

import os
from typing import Any, Literal

import numpy as np
import ops_reference as reference
import ops_scenes as scenes
import pytest
from boxdecode import Error, ErrorCode, ops

pytestmark = pytest.mark.usefixtures("kernels")

Method = Literal["linear", "gaussian", "adaptive"]
METHODS: tuple[Method, ...] = ("linear", "gaussian", "adaptive")


def boxes_with_iou_nine_tenths() -> Any:
    return np.array([[0, 0, 10, 10], [0, 0, 10, 9]], np.float32)


@pytest.mark.parametrize("method", METHODS)
def test_scenes_bit_by_bit(method: Method) -> None:
    random = np.random.default_rng([31, METHODS.index(method)])
    share = float(os.environ.get("BOXDECODE_FRAMES", "1"))
    for number in range(max(40, int(400 * share))):
        scene, threshold = scenes.any_scene(random)
        options: dict[str, Any] = {
            "iou_threshold": threshold,
            "sigma": float(random.choice([0.1, 0.5, 2.0])),
            "score_threshold": [None, 0.001, 0.2, -1.0, 0.0][number % 5],
            "max_detections": [None, 5][number % 2],
        }
        if number % 3 == 0:
            options["class_ids"] = scene.class_ids
        kept, scores = ops.soft_nms(scene.boxes, scene.scores, method=method, **options)
        expected = reference.soft(scene.boxes, scene.scores, method, **options)
        assert kept.tolist() == expected[0].tolist(), f"scene {number}"
        assert np.array_equal(scores, expected[1]), f"scene {number}"


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("by_class", [False, True])
def test_within_a_millionth_of_the_formulas(method: Method, by_class: bool) -> None:
    random = np.random.default_rng(37)
    scene = scenes.clustered(random, 900, objects=60)
    start = random.random(900, dtype=np.float32)
    class_ids = scene.class_ids if by_class else None
    kept, scores = ops.soft_nms(scene.boxes, start, method=method, class_ids=class_ids)
    _, values, excess = reference.soft(
        scene.boxes.astype(np.float64),
        start.astype(np.float64),
        method,
        class_ids=class_ids,
        follow=kept,
    )
    assert len(kept) > 60
    assert np.abs(values - scores).max() < 1e-6
    assert max(excess) < 1e-6  # each pick was the best, as far as float32 can tell
    assert np.all(np.diff(scores) <= 0)


def test_gaussian_example() -> None:
    """sigma .5, IoU .9, score .8: .8 · e^(−.81/.5) = .8 · .198 = .1583."""
    boxes = boxes_with_iou_nine_tenths()
    kept, scores = ops.soft_nms(boxes, np.array([0.9, 0.8], np.float32), sigma=0.5)
    assert kept.tolist() == [0, 1]
    assert scores[0] == np.float32(0.9)
    assert abs(float(scores[1]) - 0.1583) < 5e-5


def test_linear_example() -> None:
    """IoU .9: .8 · .1 = .08; at or below the threshold nothing happens."""
    boxes = boxes_with_iou_nine_tenths()
    start = np.array([0.9, 0.8], np.float32)
    _, scores = ops.soft_nms(boxes, start, method="linear", iou_threshold=0.3)
    assert abs(float(scores[1]) - 0.08) < 1e-6
    # 90/100 in float32 is more than the double .9 and not more than itself.
    above = float(np.float32(90) / np.float32(100))
    _, scores = ops.soft_nms(boxes, start, method="linear", iou_threshold=above)
    assert scores[1] == np.float32(0.8)


def test_adaptive_at_ratio_two_is_gaussian() -> None:
    """More than twice the area: linear without a threshold. Exactly twice, or equal: gaussian."""
    start = np.array([0.9, 0.8], np.float32)
    for height, expected in ((5.0, np.exp(-0.25 / 0.5)), (4.0, 1 - 0.4), (10.0, np.exp(-1 / 0.5))):
        for flip in (1, -1):
            boxes = np.array([[0, 0, 10, 10], [0, 0, 10, height]], np.float32)[::flip]
            kept, scores = ops.soft_nms(boxes, start, method="adaptive", sigma=0.5)
            assert kept.tolist() == [0, 1]
            assert abs(float(scores[1]) - 0.8 * expected) < 1e-6


def test_adaptive_without_area() -> None:
    """0/0 areas are no ratio above 2, and their IoU counts as 0: nothing decays."""
    boxes = np.array([[5, 5, 5, 5], [5, 5, 5, 5], [0, 0, 9, 9]], np.float32)
    start = np.array([0.5, 0.4, 0.3], np.float32)
    for method in METHODS:
        kept, scores = ops.soft_nms(boxes, start, method=method)
        assert kept.tolist() == [0, 1, 2]
        assert scores.tolist() == start.tolist()


def test_order_is_taken_anew_after_each_decay() -> None:
    """The second best falls behind the third, which it no longer decays first."""
    boxes = np.array([[0, 0, 10, 10], [0, 0, 10, 9], [100, 0, 110, 10]], np.float32)
    kept, _ = ops.soft_nms(boxes, np.array([0.9, 0.8, 0.5], np.float32))
    assert kept.tolist() == [0, 2, 1]


def test_equal_scores_pick_the_lower_index() -> None:
    """Also across classes, and among many."""
    count = 300
    corner = np.arange(count, dtype=np.float32)[:, None] * 20
    boxes = np.concatenate([corner, corner, corner + 10, corner + 10], axis=1)
    scores = np.full(count, 0.5, np.float32)
    class_ids = np.arange(count) % 7
    assert ops.soft_nms(boxes, scores)[0].tolist() == list(range(count))
    assert ops.soft_nms(boxes, scores, class_ids=class_ids)[0].tolist() == list(range(count))


def test_classes_do_not_decay_each_other() -> None:
    boxes = np.repeat(np.array([[0, 0, 10, 10]], np.float32), 3, axis=0)
    start = np.array([0.9, 0.8, 0.7], np.float32)
    kept, scores = ops.soft_nms(boxes, start, class_ids=np.array([4, -9, 4]))
    assert kept.tolist() == [0, 1, 2]
    assert scores[:2].tolist() == start[:2].tolist()
    assert abs(float(scores[2]) - 0.7 * np.exp(-2)) < 1e-6


def test_stops_below_the_threshold() -> None:
    """A score equal to it is kept; None keeps everything."""
    boxes = np.array([[0, 0, 1, 1], [5, 0, 6, 1], [9, 0, 10, 1]], np.float32)
    scores = np.array([0.5, 0.25, 1e-30], np.float32)
    assert ops.soft_nms(boxes, scores, score_threshold=0.25)[0].tolist() == [0, 1]
    assert ops.soft_nms(boxes, scores)[0].tolist() == [0, 1]
    assert ops.soft_nms(boxes, scores, score_threshold=None)[0].tolist() == [0, 1, 2]


def test_negative_scores_decay_towards_zero() -> None:
    """The formula multiplies, whatever the sign: such a score rises, perhaps to the threshold."""
    boxes = np.array([[0, 0, 10, 10], [0, 0, 10, 9]], np.float32)
    scores = np.array([-0.1, -4], np.float32)
    kept, decayed = ops.soft_nms(boxes, scores, method="linear", score_threshold=-1)
    assert kept.tolist() == [0, 1]
    assert abs(float(decayed[1]) + 0.4) < 1e-6


def test_infinite_scores_are_invalid() -> None:
    boxes = np.array([[0, 0, 1, 1], [5, 0, 6, 1]], np.float32)
    for value in (np.inf, -np.inf):
        scores = np.array([0.5, value], np.float32)
        with pytest.raises(Error) as caught:
            ops.soft_nms(boxes, scores)
        assert (caught.value.code, caught.value.field) == (ErrorCode.InvalidParameter, "scores[1]")
        assert ops.soft_nms(boxes, scores, invalid="drop")[0].tolist() == [0]


def test_wrong_parameters_name_themselves() -> None:
    boxes = np.array([[0, 0, 1, 1]], np.float32)
    scores = np.array([0.5], np.float32)
    cases: list[tuple[dict[str, Any], str]] = [
        ({"method": "hard"}, "method"),
        ({"method": "Gaussian"}, "method"),
        ({"method": None}, "method"),
        ({"method": None}, "method"),
        ({"sigma": 0.0}, "sigma"),
        ({"sigma": -0.5}, "sigma"),
        ({"sigma": np.nan}, "sigma"),
        ({"sigma": 1e39}, "sigma"),
        ({"sigma": 1e-60}, "sigma"),
        ({"iou_threshold": 1.5}, "iou_threshold"),
        ({"score_threshold": np.nan}, "score_threshold"),
        ({"invalid": "skip"}, "invalid"),
    ]
    for arguments, field in cases:
        with pytest.raises(Error) as caught:
            ops.soft_nms(boxes, scores, **arguments)
        assert (caught.value.code, caught.value.field) == (ErrorCode.InvalidParameter, field)


def test_thousands_of_boxes() -> None:
    """Large enough for lanes to be moved together again and again."""
    scene = scenes.clustered(np.random.default_rng(41), 3000)
    start = np.abs(scene.scores)
    options: dict[str, Any]
    for options in ({}, {"class_ids": scene.class_ids}):
        kept, scores = ops.soft_nms(scene.boxes, start, score_threshold=0.05, **options)
        expected = reference.soft(scene.boxes, start, "gaussian", score_threshold=0.05, **options)
        assert kept.tolist() == expected[0].tolist()
        assert np.array_equal(scores, expected[1])
