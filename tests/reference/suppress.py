"""Geometry validation and greedy suppression: in whole numbers, or on FP32 corners."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .families import family_of
from .numeric import Bool, Float32, Int64, round_half_away
from .request import Request

#: Which of the candidates behind a position it suppresses, classes aside.
Suppressed = Callable[[int], Bool]

COORDINATE_LIMIT = np.float32(10_000_000.0)
SMALLEST_AREA = np.float32(0.5)
AREA_LIMIT = np.float32(2147483648.0)


def box_areas(corners: Float32) -> Float32:
    """(x2 - x1) * (y2 - y1) in FP32."""
    with np.errstate(all="ignore"):
        area: Float32 = (corners[:, 2] - corners[:, 0]) * (corners[:, 3] - corners[:, 1])
    return area


def valid_boxes(corners: Float32) -> Bool:
    """The admission rule of model-space boxes."""
    x1, y1, x2, y2 = (corners[:, column] for column in range(4))
    area = box_areas(corners)
    with np.errstate(all="ignore"):
        finite = np.isfinite(corners).all(axis=1)
        ordered = (x2 > x1) & (y2 > y1)
        near = (np.abs(corners) <= COORDINATE_LIMIT).all(axis=1)
        valid: Bool = finite & ordered & near & (area >= SMALLEST_AREA) & (area < AREA_LIMIT)
    return valid


def threshold_256(nms_iou_threshold: float) -> int:
    """T = lround(256 * nms_iou_threshold)."""
    return int(round_half_away(np.float32(256.0) * np.float32(nms_iou_threshold)))


def skips_suppression(request: Request) -> bool:
    """Whether every valid box is accepted, whatever it overlaps."""
    family = family_of(request)
    if not family.suppresses:
        return True
    if family.threshold_zero_keeps_all and np.float32(request.nms_iou_threshold) == 0:
        return True
    if request.suppression_corners == "Exact":
        return bool(np.float32(request.nms_iou_threshold) == 1)
    return threshold_256(request.nms_iou_threshold) == 256


def iou_256(corners: Int64, area: Int64, other_corners: Int64, other_area: Int64) -> Int64:
    """floor(256 * inter / union) of one box with many, from rounded corners; 0 if union <= 0."""
    right = np.minimum(corners[2], other_corners[:, 2])
    left = np.maximum(corners[0], other_corners[:, 0])
    bottom = np.minimum(corners[3], other_corners[:, 3])
    top = np.maximum(corners[1], other_corners[:, 1])
    inter = np.maximum(0, right - left) * np.maximum(0, bottom - top)
    union = area + other_area - inter
    safe = np.where(union > 0, union, 1)
    result: Int64 = np.where(union > 0, 256 * inter // safe, 0)
    return result


def iou_of_corners(corners: Float32, other_corners: Float32) -> Float32:
    """inter / ((a + b) - inter) of one box with many, each step in FP32."""
    with np.errstate(all="ignore"):
        right = np.minimum(corners[2], other_corners[:, 2])
        left = np.maximum(corners[0], other_corners[:, 0])
        bottom = np.minimum(corners[3], other_corners[:, 3])
        top = np.maximum(corners[1], other_corners[:, 1])
        inter = np.maximum(np.float32(0), right - left) * np.maximum(np.float32(0), bottom - top)
        areas = box_areas(corners[None])[0] + box_areas(other_corners)
        iou: Float32 = inter / (areas - inter)
    return iou


def suppressed_by_integers(request: Request, corners: Float32) -> Suppressed:
    """Boxes are compared by rounded corners and the rounded areas of unrounded boxes."""
    limit = threshold_256(request.nms_iou_threshold)
    rounded = round_half_away(corners)
    areas = round_half_away(box_areas(corners))

    def suppressed(position: int) -> Bool:
        later = slice(position + 1, None)
        iou = iou_256(rounded[position], areas[position], rounded[later], areas[later])
        return iou > limit

    return suppressed


def suppressed_exactly(request: Request, corners: Float32) -> Suppressed:
    """Boxes are compared as they are. The threshold is the FP32 number of the request."""
    threshold = np.float64(np.float32(request.nms_iou_threshold))

    def suppressed(position: int) -> Bool:
        iou = iou_of_corners(corners[position], corners[position + 1 :])
        return iou.astype(np.float64) > threshold

    return suppressed


def accept(request: Request, corners: Float32, classes: Int64) -> list[int]:
    """Indexes of the accepted candidates; the candidates come in visiting order."""
    valid = valid_boxes(corners)
    visiting = np.flatnonzero(valid)
    if skips_suppression(request):
        return [int(index) for index in visiting[: request.max_detections]]
    exact = request.suppression_corners == "Exact"
    rule = suppressed_exactly if exact else suppressed_by_integers
    suppressed = rule(request, corners[visiting])
    groups = np.zeros(len(visiting), dtype=np.int64)
    if not request.class_agnostic:
        groups = classes[visiting]
    standing = np.ones(len(visiting), dtype=np.bool_)
    accepted: list[int] = []
    for position in range(len(visiting)):
        if not standing[position]:
            continue
        accepted.append(int(visiting[position]))
        if len(accepted) == request.max_detections:
            break
        later = slice(position + 1, None)
        standing[later] &= ~(suppressed(position) & (groups[later] == groups[position]))
    return accepted
