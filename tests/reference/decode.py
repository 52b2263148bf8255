"""The decoder, plainly: scores of every cell, order, geometry, suppression, outputs.

In: a request and one logical H x W x C array of raw elements per input port. Out: the output arrays
of the recipe, bit for bit as the contract demands. Nothing is lazy here and nothing is approximate.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from . import priors
from .boxes import Sites
from .families import family_of
from .mapping import boxes_to_image, make_mapping
from .numeric import (
    QUANTIZED,
    ZERO,
    Array,
    Float32,
    Int64,
    activate,
    dequantize,
    quantized_levels,
    round_half_away,
    sigmoid,
    sum_four,
    to_float32,
)
from .request import RefusalError, Request
from .scores import Candidates, Port, open_ports
from .suppress import accept

__all__ = ["check_reach", "decode_corners", "open_ports", "priors", "run", "scan"]


_CANONICAL_NAN = np.array(0x7FC00000, dtype=np.uint32).view(np.float32)[()]


def scan(request: Request, ports: list[Port]) -> Candidates:
    """Every candidate, in visiting order: descending score, then head, cell, anchor, class."""
    rule = family_of(request).scores
    parts = [rule(request, ports, index) for index in range(len(request.heads))]
    joined = Candidates(
        np.concatenate([part.head for part in parts]),
        np.concatenate([part.cell for part in parts]),
        np.concatenate([part.anchor for part in parts]),
        np.concatenate([part.class_id for part in parts]),
        np.concatenate([part.score for part in parts]).astype(np.float32),
    )
    return joined.take(np.argsort(-joined.score.astype(np.float64), kind="stable"))


# ---------------------------------------------------------------------------------------------
# The threshold's reach.


def best_reachable_score(request: Request, head_index: int) -> float | None:
    """The highest eligible score of a quantized score head; None where every score counts."""
    family = family_of(request)
    activation = family.score_activation(request)
    head = request.heads[head_index]
    score_port = head.scores
    objectness_port = family.objectness_port(head)
    if family.scores_by_objectness(request):
        assert objectness_port is not None
        score_port, objectness_port = objectness_port, None
    if activation == "Softmax" or request.inputs[score_port].dtype not in QUANTIZED:
        return None

    def levels(port: int) -> Float32:
        scale, zero_point = request.quantization[port]
        raw = quantized_levels(request.inputs[port].dtype)
        return activate(dequantize(raw, scale, zero_point), activation)

    scores = levels(score_port)
    if objectness_port is not None:
        if request.inputs[objectness_port].dtype not in QUANTIZED:
            return None
        objectness = levels(objectness_port)
        with np.errstate(all="ignore"):
            products = objectness[objectness > ZERO][:, None] * scores[scores >= ZERO][None, :]
        scores = products.reshape(-1)
    with np.errstate(all="ignore"):
        reachable = scores[np.isfinite(scores) & (scores >= ZERO)]
    return float(reachable.max()) if reachable.size else -1.0


def check_reach(request: Request) -> None:
    """Refuses a threshold in (0, 1) that no raw value of any score port reaches."""
    threshold = np.float32(request.detection_threshold)
    if threshold == 0:
        return
    for head_index in range(len(request.heads)):
        best = best_reachable_score(request, head_index)
        if best is None or np.float32(best) >= threshold:
            return
    raise RefusalError("InvalidParameter", "params.detection_threshold")


# ---------------------------------------------------------------------------------------------
# Geometry.


def head_corners(
    request: Request, ports: list[Port], head_index: int, cell: Int64, anchor: Int64
) -> Float32:
    """Model-space corners of candidates of one head."""
    return family_of(request).corners(Sites(request, ports, head_index, cell, anchor))


def decode_corners(request: Request, ports: list[Port], candidates: Candidates) -> Float32:
    """Model-space corners of every candidate."""
    corners = np.zeros((len(candidates.cell), 4), dtype=np.float32)
    with np.errstate(all="ignore"):
        for head_index in range(len(request.heads)):
            here = candidates.head == head_index
            if here.any():
                corners[here] = head_corners(
                    request, ports, head_index, candidates.cell[here], candidates.anchor[here]
                )
    return corners


# ---------------------------------------------------------------------------------------------
# Task outputs.


def site_of(request: Request, ports: list[Port], accepted: Candidates, index: int) -> Sites:
    """One accepted detection."""
    one = slice(index, index + 1)
    return Sites(
        request, ports, int(accepted.head[index]), accepted.cell[one], accepted.anchor[one]
    )


def write_keypoints(
    request: Request, ports: list[Port], accepted: Candidates, rows: Float32
) -> None:
    """x, y in original pixels and visibility; every NaN has one bit pattern."""
    family = family_of(request)
    mapping = make_mapping(request)
    dims = request.keypoint_dims
    for index in range(len(accepted.cell)):
        site = site_of(request, ports, accepted, index)
        _, values, _ = family.extra(site, dims * request.num_keypoints)
        points = values.reshape(request.num_keypoints, dims)
        with np.errstate(all="ignore"):
            x, y = family.keypoints(site, points[:, 0], points[:, 1])
            visibility = family.visibility(points[:, 2]) if dims == 3 else np.ones_like(x)
        row = np.stack([mapping.apply(x, 0), mapping.apply(y, 1), visibility], axis=-1)
        rows[index] = np.where(np.isnan(row), _CANONICAL_NAN, row)


def mask_logits(
    coefficients: tuple[Array, Float32, Port], prototype_raw: Array, prototype: Port
) -> Float32:
    """sum_j coef_j * proto_j of prototype rows (pixels, M)."""
    raw, values, port = coefficients
    with np.errstate(all="ignore"):
        if port.is_quantized and prototype.is_quantized:
            assert port.quantization is not None
            assert prototype.quantization is not None
            left = raw.astype(np.int64) - port.quantization[1]
            right = prototype_raw.astype(np.int64) - prototype.quantization[1]
            scale = np.float32(port.quantization[0]) * np.float32(prototype.quantization[0])
            logits: Float32 = (right @ left).astype(np.float32) * scale
            return logits
        rows = to_float32(prototype_raw, prototype.dtype, prototype.quantization)
        return sum_four(values * rows)


def mask_levels(logits: Float32, encoding: str) -> Array:
    """Bytes of mask logits."""
    with np.errstate(all="ignore"):
        scaled = np.float32(255.0) * sigmoid(logits)
    levels = round_half_away(np.where(np.isnan(scaled), ZERO, scaled)).astype(np.uint8)
    if encoding == "Binary":
        levels = np.where(levels >= 128, 255, 0).astype(np.uint8)
    return levels


def write_masks(
    request: Request, ports: list[Port], accepted: Candidates, corners: Float32, masks: Array
) -> None:
    """Masks in the prototype frame, cropped by the unclipped model box."""
    assert request.mask_prototype is not None
    family = family_of(request)
    prototype = ports[request.mask_prototype]
    height, width, channels = request.inputs[request.mask_prototype].shape
    model_w, model_h = request.model_input_size
    factor_x, factor_y = np.float32(width / model_w), np.float32(height / model_h)
    columns = np.arange(width, dtype=np.float32)
    rows = np.arange(height, dtype=np.float32)
    for index in range(len(accepted.cell)):
        x1, y1, x2, y2 = corners[index]
        live_x = (columns >= x1 * factor_x) & (columns < x2 * factor_x)
        live_y = (rows >= y1 * factor_y) & (rows < y2 * factor_y)
        live = live_y[:, None] & live_x[None, :]
        coefficients = family.extra(site_of(request, ports, accepted, index), channels)
        logits = mask_logits(coefficients, prototype.raw[live.reshape(-1)], prototype)
        masks[index][live] = mask_levels(logits, request.mask_encoding)


def run(request: Request, tensors: Sequence[Array]) -> list[Array]:
    """Decodes one frame: [boxes, scores, classes, count] and the task's own output."""
    with np.errstate(all="ignore"):
        return _run(request, tensors)


def _run(request: Request, tensors: Sequence[Array]) -> list[Array]:
    check_reach(request)
    ports = open_ports(request, tensors)
    candidates = scan(request, ports)
    corners = decode_corners(request, ports, candidates)
    chosen = np.array(accept(request, corners, candidates.class_id), dtype=np.int64)
    accepted, corners = candidates.take(chosen), corners[chosen]
    count, capacity = len(chosen), request.max_detections
    outputs: list[Array] = [
        np.zeros((capacity, 4), dtype=np.int32),
        np.zeros(capacity, dtype=np.float32),
        np.zeros(capacity, dtype=np.int32),
        np.array([count], dtype=np.int32),
    ]
    outputs[0][:count] = boxes_to_image(make_mapping(request), corners)
    outputs[1][:count] = accepted.score
    outputs[2][:count] = accepted.class_id
    if request.task == "Pose":
        keypoints = np.zeros((capacity, request.num_keypoints, 3), dtype=np.float32)
        write_keypoints(request, ports, accepted, keypoints)
        outputs.append(keypoints)
    elif request.task == "Segmentation":
        assert request.mask_prototype is not None
        height, width, _ = request.inputs[request.mask_prototype].shape
        masks = np.zeros((capacity, height, width), dtype=np.uint8)
        write_masks(request, ports, accepted, corners, masks)
        outputs.append(masks)
    elif family_of(request).publishes_proposals:
        proposals = np.zeros((capacity, 4), dtype=np.float32)
        proposals[:count] = corners
        outputs.append(proposals)
    return outputs
