"""The operators of boxdecode.ops as their rules are written, in NumPy, slow on purpose.

Everything is computed in the dtype of its arguments, operation by operation: with float32 results
can be compared bit by bit, with float64 they are the mathematical ones.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]


def iou_row(box: npt.NDArray[np.floating], others: npt.NDArray[np.floating]) -> Floats:
    """IoU of one box with each other one, in the dtype of the arguments; 0/0 is NaN."""
    zero = others.dtype.type(0)
    area = (box[2] - box[0]) * (box[3] - box[1])
    areas = (others[:, 2] - others[:, 0]) * (others[:, 3] - others[:, 1])
    width = np.maximum(zero, np.minimum(box[2], others[:, 2]) - np.maximum(box[0], others[:, 0]))
    height = np.maximum(zero, np.minimum(box[3], others[:, 3]) - np.maximum(box[1], others[:, 1]))
    inter = width * height
    result: Floats = inter / ((area + areas) - inter)
    return result


def score_order(scores: Floats) -> Indices:
    """Descending scores, equal ones by ascending index."""
    return np.argsort(-(scores + np.float32(0)), kind="stable").astype(np.int64)


def greedy(
    boxes: Floats,
    scores: Floats,
    iou_threshold: float,
    class_ids: npt.NDArray[np.integer] | None = None,
    score_threshold: float | None = None,
    max_detections: int | None = None,
) -> Indices:
    """Greedy suppression: the float32 IoU against the threshold as a double."""
    order = score_order(scores)
    if score_threshold is not None:
        order = order[scores[order] >= np.float32(score_threshold)]
    alive = np.ones(len(order), dtype=bool)
    sorted_boxes = boxes[order]
    sorted_classes = None if class_ids is None else class_ids[order]
    kept: list[int] = []
    with np.errstate(all="ignore"):
        for place in range(len(order)):
            if not alive[place]:
                continue
            kept.append(int(order[place]))
            later = slice(place + 1, None)
            iou = iou_row(sorted_boxes[place], sorted_boxes[later])
            suppressed = iou.astype(np.float64) > iou_threshold
            if sorted_classes is not None:
                suppressed &= sorted_classes[later] == sorted_classes[place]
            alive[later] &= ~suppressed
    return np.array(kept[:max_detections], dtype=np.int64)


def exp32(x: Floats) -> Floats:
    return np.exp(x.astype(np.float64)).astype(np.float32)


def decay(
    method: str,
    iou: npt.NDArray[np.floating],
    ratio: npt.NDArray[np.floating],
    iou_threshold: float,
    sigma: float,
) -> npt.NDArray[np.floating]:
    """Factor of each score. float32 IoUs give the float32 result, float64 the mathematical one."""
    iou = np.where(np.isnan(iou), iou.dtype.type(0), iou)
    one = iou.dtype.type(1)
    exponent = -(iou * iou) / iou.dtype.type(sigma)
    gaussian = exp32(exponent) if iou.dtype == np.float32 else np.exp(exponent)
    linear = one - iou
    if method == "gaussian":
        return gaussian
    if method == "linear":
        return np.where(iou.astype(np.float64) > iou_threshold, linear, one)
    return np.where(ratio > 2, linear, gaussian)


def soft(
    boxes: npt.NDArray[np.floating],
    scores: npt.NDArray[np.floating],
    method: str,
    *,
    sigma: float = 0.5,
    iou_threshold: float = 0.3,
    score_threshold: float | None = 0.001,
    class_ids: npt.NDArray[np.integer] | None = None,
    max_detections: int | None = None,
    follow: Indices | None = None,
) -> tuple[Indices, npt.NDArray[np.floating], list[float]]:
    """Soft-NMS in the dtype of boxes and scores.

    With ``follow`` the picks are given, and the third result says by how much the best remaining
    score exceeded each of them.
    """
    boxes = boxes.copy()
    scores = scores.copy()
    dtype = scores.dtype
    limit = -np.inf if score_threshold is None else float(np.float32(score_threshold))
    remaining = np.ones(len(scores), dtype=bool)
    with np.errstate(all="ignore"):
        areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    picks: list[int] = []
    values: list[float] = []
    excess: list[float] = []
    with np.errstate(all="ignore"):
        while remaining.any() and (max_detections is None or len(picks) < max_detections):
            candidates = np.flatnonzero(remaining)
            best = int(candidates[np.argmax(scores[candidates] + dtype.type(0))])
            if follow is not None:
                if len(picks) == len(follow):
                    break
                excess.append(float(scores[best] - scores[follow[len(picks)]]))
                best = int(follow[len(picks)])
            elif scores[best] < limit:
                break
            picks.append(best)
            values.append(scores[best])
            remaining[best] = False
            others = np.flatnonzero(remaining)
            if class_ids is not None:
                others = others[class_ids[others] == class_ids[best]]
            iou = iou_row(boxes[best], boxes[others])
            larger = np.maximum(areas[best], areas[others])
            ratio = larger / np.minimum(areas[best], areas[others])
            scores[others] *= decay(method, iou, ratio, iou_threshold, sigma)
    return np.array(picks, dtype=np.int64), np.array(values, dtype=dtype), excess
