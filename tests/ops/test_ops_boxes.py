"""Formats, areas, IoU, clipping and scaling of plain boxes."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import ops_reference as reference
import ops_scenes as scenes
import pytest
from boxdecode import Affine, Error, ErrorCode, ResizePolicy, ops

FORMATS = ("xyxy", "xywh", "cxcywh")
BOX = {"xyxy": [2, 3, 8, 13], "xywh": [2, 3, 6, 10], "cxcywh": [5, 8, 6, 10]}


@pytest.mark.parametrize("out_fmt", FORMATS)
@pytest.mark.parametrize("in_fmt", FORMATS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_convert(in_fmt: Any, out_fmt: Any, dtype: Any) -> None:
    boxes = np.array([BOX[in_fmt]], dtype)
    converted = ops.box_convert(boxes, in_fmt, out_fmt)
    assert converted.tolist() == [BOX[out_fmt]]
    assert converted.dtype == dtype
    assert not np.shares_memory(converted, boxes)


def test_convert_goes_through_corners_in_the_dtype_of_the_boxes() -> None:
    random = np.random.default_rng(59)
    for dtype in (np.float32, np.float64):
        boxes = random.normal(0, 100, (500, 4)).astype(dtype)
        x, y, w, h = boxes.T
        half = dtype(0.5)
        corners = np.stack([x - half * w, y - half * h, x + half * w, y + half * h], axis=1)
        assert np.array_equal(ops.box_convert(boxes, "cxcywh", "xyxy"), corners)
        assert np.array_equal(ops.xywh2xyxy(boxes), corners)
        x1, y1, x2, y2 = corners.T
        expected = np.stack([x1, y1, x2 - x1, y2 - y1], axis=1)
        assert np.array_equal(ops.box_convert(boxes, "cxcywh", "xywh"), expected)
        x2, y2 = x + w, y + h
        expected = np.stack([(x + x2) / 2, (y + y2) / 2, x2 - x, y2 - y], axis=1)
        assert np.array_equal(ops.box_convert(boxes, "xywh", "cxcywh"), expected)


def test_convert_against_torchvision() -> None:
    torch = pytest.importorskip("torch")
    torchvision = pytest.importorskip("torchvision")
    boxes = np.random.default_rng(61).normal(0, 100, (500, 4)).astype(np.float32)
    for in_fmt in FORMATS:
        for out_fmt in FORMATS:
            expected = torchvision.ops.box_convert(torch.from_numpy(boxes), in_fmt, out_fmt)
            got = ops.box_convert(boxes, in_fmt, out_fmt)  # type: ignore[arg-type]
            assert np.array_equal(got, expected.numpy()), (in_fmt, out_fmt)


def test_xywh2xyxy_means_centre_and_size() -> None:
    """The seed's pitfall: with the top-left corner the box would be [5, 8, 11, 18]."""
    boxes = np.array([BOX["cxcywh"]], np.float32)
    assert ops.xywh2xyxy(boxes).tolist() == [BOX["xyxy"]]
    assert ops.box_convert(boxes, "xywh", "xyxy").tolist() == [[5, 8, 11, 18]]


DTYPES = [
    (np.float16, np.float32),
    (ml_dtypes.bfloat16, np.float32),
    (np.float32, np.float32),
    (np.float64, np.float64),
    (np.uint8, np.float64),
    (np.int64, np.float64),
]


@pytest.mark.parametrize(("dtype", "expected"), DTYPES)
def test_dtypes_of_results(dtype: Any, expected: Any) -> None:
    boxes = np.array([[0, 1, 7, 9], [2, 2, 5, 4]]).astype(dtype)
    assert ops.box_area(boxes).dtype == expected
    assert ops.box_area(boxes).tolist() == [56, 6]
    assert ops.box_convert(boxes, "xyxy", "cxcywh").dtype == expected
    assert ops.box_convert(boxes, "xyxy", "cxcywh").tolist() == [[3.5, 5, 7, 8], [3.5, 3, 3, 2]]
    assert ops.box_convert(boxes, "xyxy", "xyxy").dtype == expected
    assert ops.clip_boxes(boxes, (4, 3)).dtype == expected
    assert ops.clip_boxes(boxes, (4, 3)).tolist() == [[0, 1, 4, 3], [2, 2, 4, 3]]
    scaled = ops.scale_boxes(boxes, (10, 10), (20, 30), ResizePolicy.Stretch)
    assert scaled.dtype == expected
    assert scaled.tolist() == [[0, 3, 14, 27], [4, 6, 10, 12]]
    for other, other_expected in DTYPES:
        iou = ops.box_iou(boxes, boxes.astype(other))
        assert iou.dtype == max(expected, other_expected, key=lambda kind: np.dtype(kind).itemsize)


def test_leading_dimensions() -> None:
    boxes = np.arange(2 * 3 * 4, dtype=np.float32).reshape(2, 3, 4)
    flat = boxes.reshape(-1, 4)
    assert ops.box_area(boxes).shape == (2, 3)
    assert ops.box_area(boxes[0, 0]).shape == ()
    assert float(ops.box_area(boxes[0, 0])) == 4
    assert ops.box_area(np.empty((0, 4))).shape == (0,)
    calls: list[Any] = [
        lambda value: ops.box_convert(value, "xywh", "xyxy"),
        lambda value: ops.clip_boxes(value, (9, 11)),
        lambda value: ops.scale_boxes(value, (64, 64), (100, 70), ResizePolicy.CenteredLetterbox),
        lambda value: ops.scale_boxes(value, (64, 64), (100, 70), Affine(2, 1, 3, 4)),
    ]
    for call in calls:
        assert np.array_equal(call(boxes).reshape(-1, 4), call(flat))
        assert np.array_equal(call(boxes[0, 0]), call(flat)[0])
        assert call(np.empty((2, 0, 4), np.float32)).shape == (2, 0, 4)


def test_area_is_not_clamped() -> None:
    boxes = np.array([[0, 0, 2, 3], [5, 5, 5, 9], [4, 0, 1, 2], [4, 2, 1, 0]], np.float32)
    assert ops.box_area(boxes).tolist() == [6, 0, -6, 6]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_iou_is_the_formula(dtype: Any) -> None:
    random = np.random.default_rng(67)
    a = scenes.lattice(random, 60).boxes.astype(dtype)
    b = scenes.spread(random, 70).boxes.astype(dtype)
    with np.errstate(invalid="ignore"):
        expected = np.stack([reference.iou_row(box, b) for box in a])
    expected[np.isnan(expected)] = 0
    got = ops.box_iou(a, b)
    assert got.shape == (60, 70)
    assert np.array_equal(got, expected)


def test_iou_edges() -> None:
    boxes = np.array([[0, 0, 10, 10], [5, 0, 15, 10], [10, 0, 20, 10], [3, 3, 3, 3]], np.float32)
    iou = ops.box_iou(boxes, boxes)
    assert iou[0].tolist() == [1, np.float32(1 / 3), 0, 0]
    assert iou[3, 3] == 0  # 0/0
    assert ops.box_iou(boxes, boxes[:0]).shape == (4, 0)
    assert ops.box_iou(boxes[:0], boxes).shape == (0, 4)
    assert np.isnan(ops.box_iou(boxes[:1], np.array([[np.nan, 0, 1, 1]], np.float32))).all()


def test_clip_keeps_nan_and_every_box() -> None:
    boxes = np.array([[-5, -5, 700, 500], [800, 10, 900, 20], [np.nan, 1, 2, 3]])
    clipped = ops.clip_boxes(boxes, size=(640, 480))
    assert clipped[0].tolist() == [0, 0, 640, 480]
    assert clipped[1].tolist() == [640, 10, 640, 20]
    assert np.isnan(clipped[2, 0])
    assert clipped[2, 1:].tolist() == [1, 2, 3]


LETTERBOXES = [
    ((1280, 720), (640, 360), 0, 140),
    ((641, 427), (640, 426), 0, 107),
    ((333, 500), (426, 640), 107, 0),
    ((1280, 721), (640, 361), 0, 139),
]


@pytest.mark.parametrize(("image", "content", "left", "top"), LETTERBOXES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scale_from_a_letterbox(image: Any, content: Any, left: int, top: int, dtype: Any) -> None:
    """The corners of the content are the corners of the image; between them as written."""
    corners = np.array([[left, top, left + content[0], top + content[1]]], dtype)
    scaled = ops.scale_boxes(corners, (640, 640), image, ResizePolicy.CenteredLetterbox)
    assert np.allclose(scaled, [[0, 0, *image]], rtol=1e-6)
    boxes = np.random.default_rng(71).uniform(0, 640, (200, 4)).astype(dtype)
    shift = np.array([left, top] * 2, dtype)
    factor = np.array([image[0] / content[0], image[1] / content[1]] * 2).astype(dtype)
    got = ops.scale_boxes(boxes, (640, 640), image, ResizePolicy.CenteredLetterbox)
    assert np.array_equal(got, (boxes - shift) * factor)


def test_scale_from_top_left_stretch_and_affine() -> None:
    boxes = np.array([[0, 0, 320, 180], [10, 20, 30, 40]])
    got = ops.scale_boxes(boxes, (416, 416), (1000, 667), ResizePolicy.TopLeftLetterbox)
    factors = np.array([1000 / 416, 667 / 277] * 2)  # int(667 · .416) = 277
    assert np.array_equal(got, boxes * factors)
    got = ops.scale_boxes(boxes, (300, 200), (900, 1000), ResizePolicy.Stretch)
    assert np.array_equal(got, boxes * [3.0, 5.0, 3.0, 5.0])
    for affine in (Affine(2, -3, 0.5, 7), (2, -3, 0.5, 7)):
        got = ops.scale_boxes(boxes, (300, 200), (900, 1000), affine)  # type: ignore[arg-type]
        assert np.array_equal(got, boxes * [2, 0.5, 2, 0.5] + [-3, 7, -3, 7])


def test_scale_neither_clips_nor_rounds() -> None:
    boxes = np.array([[-10.5, 0.25, 700, 700]])
    got = ops.scale_boxes(boxes, (640, 640), (640, 640), ResizePolicy.CenteredLetterbox)
    assert got.tolist() == boxes.tolist()


def test_wrong_arguments_name_themselves() -> None:
    boxes = np.zeros((2, 4), np.float32)
    stretch = ResizePolicy.Stretch
    cases: list[tuple[Any, str]] = [
        (lambda: ops.box_convert(boxes, "xxyy", "xyxy"), "in_fmt"),  # type: ignore[arg-type]
        (lambda: ops.box_convert(boxes, "xyxy", None), "out_fmt"),  # type: ignore[arg-type]
        (lambda: ops.box_convert(boxes[:, :3], "xyxy", "xywh"), "boxes"),
        (lambda: ops.box_area(np.float32(1)), "boxes"),
        (lambda: ops.box_area({0: 1}), "boxes"),
        (lambda: ops.box_iou(boxes[0], boxes), "a"),
        (lambda: ops.box_iou(boxes, boxes[None]), "b"),
        (lambda: ops.box_iou(boxes, boxes > 0), "b"),
        (lambda: ops.clip_boxes(boxes, (640, -1)), "size"),
        (lambda: ops.clip_boxes(boxes, (640, np.inf)), "size"),
        (lambda: ops.clip_boxes(boxes, (640, 480, 3)), "size"),  # type: ignore[arg-type]
        (lambda: ops.clip_boxes(boxes, 640), "size"),  # type: ignore[arg-type]
        (lambda: ops.scale_boxes(boxes, (0, 640), (1, 1), stretch), "model_size"),
        (lambda: ops.scale_boxes(boxes, (640, 640.5), (1, 1), stretch), "model_size"),  # type: ignore[arg-type]
        (lambda: ops.scale_boxes(boxes, (640, 640), (1, 2**20 + 1), stretch), "image_size"),
        (lambda: ops.scale_boxes(boxes, (640, 640), (1, 2), "stretch"), "policy"),  # type: ignore[arg-type]
        (lambda: ops.scale_boxes(boxes, (640, 640), (1, 2), Affine(0, 0, 1, 0)), "policy"),
        (lambda: ops.scale_boxes(boxes, (640, 640), (1, 2), Affine(1, np.nan, 1, 0)), "policy"),
    ]
    for call, field in cases:
        with pytest.raises(Error) as caught:
            call()
        assert (caught.value.code, caught.value.field) == (ErrorCode.InvalidParameter, field)
