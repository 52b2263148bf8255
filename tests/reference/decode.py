"""The decoder, plainly: scores of every cell, order, geometry, suppression, outputs.

In: a request and one logical H x W x C array of raw elements per input port. Out: the output arrays
of the recipe, bit for bit as the contract demands. Nothing is lazy here and nothing is approximate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from . import priors
from .layouts import Contiguous, Strided
from .mapping import boxes_to_image, make_mapping
from .numeric import (
    HALF,
    LOG_SIZE_LIMIT,
    QUANTIZED,
    TWO,
    ZERO,
    Array,
    Bool,
    Float32,
    Int64,
    activate,
    dequantize,
    exp32,
    maximum,
    minimum,
    quantized_levels,
    round_half_away,
    sigmoid,
    softmax_exponents,
    sum_four,
    to_float32,
)
from .request import Head, RefusalError, Request
from .suppress import accept

SSD_PROFILES = ("Ssd300V1", "SsdMobile300V1", "SsdMobile320V1", "SsdLiteMobile320V1")
RAW_KEY_PROFILES = ("SsdMobile300V1", "SsdMobile320V1")
ANCHOR_YOLO_PROFILES = ("Yolo5V1", "Yolo7V1")

_CANONICAL_NAN = np.array(0x7FC00000, dtype=np.uint32).view(np.float32)[()]


@dataclass(frozen=True)
class Port:
    """One input tensor as cells x channels."""

    raw: Array
    values: Float32
    dtype: str
    quantization: tuple[float, int] | None
    grid_w: int
    grid_h: int
    is_dense: bool

    @property
    def is_quantized(self) -> bool:
        return self.dtype in QUANTIZED


@dataclass
class Candidates:
    """Parallel arrays in (head, cell, anchor, class) order, later in visiting order."""

    head: Int64
    cell: Int64
    anchor: Int64
    class_id: Int64
    score: Float32

    def take(self, index: Array) -> Candidates:
        return Candidates(
            self.head[index],
            self.cell[index],
            self.anchor[index],
            self.class_id[index],
            self.score[index],
        )


def open_ports(request: Request, tensors: Sequence[Array]) -> list[Port]:
    """Gives every tensor its FP32 values."""
    ports = []
    for index, (spec, tensor) in enumerate(zip(request.inputs, tensors, strict=True)):
        height, width, channels = spec.shape
        raw = tensor.reshape(height * width, channels)
        quantization = request.quantization.get(index)
        values = to_float32(raw, spec.dtype, quantization)
        is_dense = isinstance(spec.layout, (Contiguous, Strided))
        ports.append(Port(raw, values, spec.dtype, quantization, width, height, is_dense))
    return ports


# ---------------------------------------------------------------------------------------------
# Parameters that a recipe resolves.


def score_activation(request: Request) -> str:
    """The activation that applies, fixed by the recipe or explicit."""
    fixed = {
        "Yolo5V1": "Sigmoid",
        "Yolo7V1": "Sigmoid",
        "RcnnStage1V1": "Sigmoid",
        "DetrV1": "Softmax",
        "Ssd300V1": "Softmax",
        "SsdLiteMobile320V1": "Softmax",
        "SsdMobile300V1": "Sigmoid",
        "SsdMobile320V1": "Sigmoid",
    }
    if request.profile in fixed:
        return fixed[request.profile]
    if request.score_activation is None:
        raise RefusalError("InvalidParameter", "params.score_activation")
    return request.score_activation


def anchor_table(request: Request) -> priors.Table:
    """The anchors of Yolo5V1, Yolo7V1 and RcnnStage1V1."""
    if request.anchors:
        return request.anchors
    if request.profile == "RcnnStage1V1":
        return priors.RCNN
    table = priors.yolo_anchors(request.profile, len(request.heads))
    if table is None:
        raise RefusalError("InvalidParameter", "params.anchors")
    return table


def anchor_count(request: Request, head_index: int) -> int:
    """Anchors per cell of one head."""
    if request.profile in ANCHOR_YOLO_PROFILES or request.profile == "RcnnStage1V1":
        return len(anchor_table(request)[head_index])
    if request.profile == "YoloAnchorDecodedV1":
        return request.inputs[request.heads[head_index].boxes].shape[2] // 2
    if request.profile in SSD_PROFILES:
        return priors.SSD_ANCHORS[request.profile][head_index]
    return 9 if request.profile == "EfficientDetV1" else 1


def is_combined(request: Request, head: Head) -> bool:
    """Whether one tensor of YoloDecodedV1 holds every role."""
    return request.profile == "YoloDecodedV1" and head.boxes == head.scores


def scores_by_objectness(request: Request) -> bool:
    """Whether one class scores by objectness alone: YOLOv7's rule, or asked for."""
    rule = request.profile == "Yolo7V1" or request.one_class_uses_objectness
    return rule and request.num_classes == 1


# ---------------------------------------------------------------------------------------------
# Class scores: the channels of a head as (cells, anchors, classes), and objectness.


@dataclass(frozen=True)
class ScoreView:
    """What the score rule of one head reads."""

    raw: Array  # (cells, anchors, classes)
    values: Float32
    objectness: Float32 | None  # (cells, anchors), not activated
    port: Port
    objectness_port: Port | None


def score_view(request: Request, ports: list[Port], head_index: int) -> ScoreView:
    """Slices classes and objectness out of the head's tensors."""
    head = request.heads[head_index]
    port = ports[head.scores]
    cells = len(port.raw)
    anchors = anchor_count(request, head_index)
    classes = request.num_classes
    objectness: Float32 | None = None
    objectness_port: Port | None = None
    if request.profile in ANCHOR_YOLO_PROFILES:
        raw = port.raw.reshape(cells, anchors, -1)
        values = port.values.reshape(cells, anchors, -1)
        if scores_by_objectness(request):
            # The class channel is not read: objectness is the score.
            return ScoreView(raw[:, :, 4:5], values[:, :, 4:5], None, port, None)
        objectness, objectness_port = values[:, :, 4], port
        raw, values = raw[:, :, 5 : 5 + classes], values[:, :, 5 : 5 + classes]
    elif request.profile == "YoloAnchorDecodedV1":
        raw = port.raw.reshape(cells, anchors, 1 + classes)
        values = port.values.reshape(cells, anchors, 1 + classes)
        if scores_by_objectness(request):
            return ScoreView(raw[:, :, :1], values[:, :, :1], None, port, None)
        objectness, objectness_port = values[:, :, 0], port
        raw, values = raw[:, :, 1:], values[:, :, 1:]
    elif is_combined(request, head):
        first = 4
        if head.objectness is not None:
            if scores_by_objectness(request):
                raw, values = port.raw[:, None, 4:5], port.values[:, None, 4:5]
                return ScoreView(raw, values, None, port, None)
            objectness, objectness_port = port.values[:, 4:5], port
            first = 5
        raw = port.raw[:, None, first : first + classes]
        values = port.values[:, None, first : first + classes]
    else:
        raw = port.raw.reshape(cells, anchors, -1)
        values = port.values.reshape(cells, anchors, -1)
        if head.objectness is not None:
            objectness_port = ports[head.objectness]
            if scores_by_objectness(request):
                raw, values = objectness_port.raw[:, None, :], objectness_port.values[:, None, :]
                return ScoreView(raw, values, None, objectness_port, None)
            objectness = objectness_port.values[:, :1]
    return ScoreView(raw, values, objectness, port, objectness_port)


def first_best(raw: Array, values: Float32, port: Port, by_raw_bits: bool = False) -> Int64:
    """The first class with the greatest comparison key, over the last axis.

    Quantized keys are the raw integers. Float keys are the values: -0 equals +0 and a NaN is above
    every number (argmax returns the first NaN). `by_raw_bits` ranks +0 above -0.
    """
    keys: Array = raw if port.is_quantized else values
    if by_raw_bits and not port.is_quantized:
        bits = np.ascontiguousarray(values).view(np.int32).astype(np.int64)
        ordered = np.where(bits < 0, -(bits & 0x7FFFFFFF) - 1, bits)
        keys = np.where(np.isnan(values), np.int64(1) << 40, ordered)
    best: Int64 = np.argmax(keys, axis=-1)
    return best


def pick(array: Array, index: Int64) -> Array:
    """array[..., index] element by element."""
    picked: Array = np.take_along_axis(array, index[..., None], axis=-1)[..., 0]
    return picked


def eligible(request: Request, score: Float32) -> Bool:
    """Finite, not negative, and at least the threshold."""
    threshold = np.float32(request.detection_threshold)
    with np.errstate(all="ignore"):
        passes: Bool = np.isfinite(score) & (score >= ZERO) & (score >= threshold)
    return passes


def emit(
    request: Request, head_index: int, class_id: Int64, score: Float32, passes: Bool
) -> Candidates:
    """Candidates of one head from (cells, anchors) arrays, one class each."""
    cell, anchor = np.nonzero(passes & eligible(request, score))
    return Candidates(
        np.full(len(cell), head_index, dtype=np.int64),
        cell.astype(np.int64),
        anchor.astype(np.int64),
        class_id[cell, anchor],
        score[cell, anchor] + ZERO,  # -0 is published as +0
    )


def scan_best_class(request: Request, ports: list[Port], head_index: int) -> Candidates:
    """One best class per cell and anchor, with or without objectness."""
    activation = score_activation(request)
    view = score_view(request, ports, head_index)
    class_id = first_best(view.raw, view.values, view.port)
    class_score = activate(pick(view.values, class_id), activation)
    passes = np.ones(class_score.shape, dtype=np.bool_)
    score = class_score
    if view.objectness is not None:
        objectness = activate(view.objectness, activation)
        with np.errstate(all="ignore"):
            passes = (objectness > ZERO) & ~(class_score < ZERO)
            score = objectness * class_score
    elif scores_by_objectness(request):
        # One class: the score is the objectness itself, which still has to be positive.
        passes = class_score > ZERO
    if request.profile == "RcnnStage1V1":
        class_id = np.full_like(class_id, head_index)
    return emit(request, head_index, class_id, score, passes)


def scan_every_class(request: Request, ports: list[Port], head_index: int) -> Candidates:
    """CenterNet: every class of every cell; optionally only peaks of the 3 x 3 neighbourhood."""
    port = ports[request.heads[head_index].scores]
    score = activate(port.values, score_activation(request))
    passes = np.ones(score.shape, dtype=np.bool_)
    if request.peak_window == 3:
        if port.is_quantized:
            keys = port.raw.astype(np.float64)
        else:
            # An infinite heat is below a NaN: squeeze the numbers, put NaN on top.
            finite = np.clip(port.values.astype(np.float64), -1e39, 1e39)
            keys = np.where(np.isnan(port.values), np.inf, finite)
        keys = keys.reshape(port.grid_h, port.grid_w, -1)
        padded = np.pad(keys, ((1, 1), (1, 1), (0, 0)), constant_values=-np.inf)
        peak = np.ones(keys.shape, dtype=np.bool_)
        for dy in range(3):
            for dx in range(3):
                peak &= keys >= padded[dy : dy + port.grid_h, dx : dx + port.grid_w]
        passes = peak.reshape(score.shape)
    cell, class_id = np.nonzero(passes & eligible(request, score))
    return Candidates(
        np.full(len(cell), head_index, dtype=np.int64),
        cell.astype(np.int64),
        np.zeros(len(cell), dtype=np.int64),
        class_id.astype(np.int64),
        score[cell, class_id] + ZERO,
    )


def ssd_score_arrays(request: Request, port: Port, head_index: int) -> tuple[Array, Float32]:
    """(cells, anchors, encoded classes) raw elements and values of one SSD level."""
    cells = len(port.raw)
    anchors = anchor_count(request, head_index)
    if request.profile == "Ssd300V1":
        raw = port.raw.reshape(cells, -1, anchors).transpose(0, 2, 1)
        values = port.values.reshape(cells, -1, anchors).transpose(0, 2, 1)
        return np.ascontiguousarray(raw), np.ascontiguousarray(values)
    return port.raw.reshape(cells, anchors, -1), port.values.reshape(cells, anchors, -1)


def scan_ssd(request: Request, ports: list[Port], head_index: int) -> Candidates:
    """One best foreground class per prior; class 0 is background and keeps its index."""
    port = ports[request.heads[head_index].scores]
    raw, values = ssd_score_arrays(request, port, head_index)
    foreground = slice(1, request.num_classes)
    by_raw_bits = request.profile in RAW_KEY_PROFILES and port.dtype == "BFloat16" and port.is_dense
    class_id = 1 + first_best(raw[..., foreground], values[..., foreground], port, by_raw_bits)
    passes: Bool = np.ones(class_id.shape, dtype=np.bool_)
    score: Float32
    if score_activation(request) == "Sigmoid":
        score = sigmoid(pick(values, class_id))
    else:
        exponents = softmax_exponents(raw, values, port.dtype, port.quantization)
        with np.errstate(all="ignore"):
            score = (pick(exponents, class_id) / sum_four(exponents)).astype(np.float32)
        if not port.is_quantized:
            passes &= ~(np.isnan(values) | np.isposinf(values)).any(axis=-1)
    return emit(request, head_index, class_id, score, passes)


def scan_detr(request: Request, ports: list[Port], head_index: int) -> Candidates:
    """Softmax over the classes and the final background; a nonfinite logit discards the query."""
    port = ports[request.heads[head_index].scores]
    classes = request.num_classes
    class_id = first_best(port.raw[:, :classes], port.values[:, :classes], port)
    exponents = softmax_exponents(port.raw, port.values, port.dtype, port.quantization)
    with np.errstate(all="ignore"):
        score = (pick(exponents, class_id) / sum_four(exponents)).astype(np.float32)
    passes: Bool = np.ones(len(port.raw), dtype=np.bool_)
    if not port.is_quantized:
        passes &= np.isfinite(port.values).all(axis=-1)
    return emit(request, head_index, class_id[:, None], score[:, None], passes[:, None])


def scan(request: Request, ports: list[Port]) -> Candidates:
    """Every candidate, in visiting order: descending score, then head, cell, anchor, class."""
    rule = scan_best_class
    if request.profile == "CenterNetV1":
        rule = scan_every_class
    elif request.profile == "DetrV1":
        rule = scan_detr
    elif request.profile in SSD_PROFILES:
        rule = scan_ssd
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
    activation = score_activation(request)
    head = request.heads[head_index]
    score_port = head.scores
    objectness_port: int | None = head.objectness
    if request.profile in ANCHOR_YOLO_PROFILES:
        objectness_port = head.boxes
    elif request.profile == "YoloAnchorDecodedV1":
        objectness_port = head.scores
    if scores_by_objectness(request):
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


def corners_from_center(cx: Float32, cy: Float32, width: Float32, height: Float32) -> Float32:
    """[cx - w/2, cy - h/2, cx + w/2, cy + h/2]."""
    half_w, half_h = HALF * width, HALF * height
    return np.stack([cx - half_w, cy - half_h, cx + half_w, cy + half_h], axis=-1)


def scale_corners(corners: Float32, request: Request) -> Float32:
    """Normalised corners times the model width and height."""
    width, height = np.float32(request.model_input_size[0]), np.float32(request.model_input_size[1])
    return corners * np.array([width, height, width, height], dtype=np.float32)


def distance_corners(
    request: Request, port: Port, cell: Int64, gx: Float32, gy: Float32, stride: Float32
) -> Float32:
    """l, t, r, b in cells, raw or as the expectation of a distribution (DFL)."""
    distances = port.values[cell]
    if request.profile == "Yolo8V1":
        bins = port.raw.shape[1] // 4
        raw = port.raw[cell].reshape(len(cell), 4, bins)
        values = distances.reshape(len(cell), 4, bins)
        exponents = softmax_exponents(raw, values, port.dtype, port.quantization)
        weights = np.arange(bins, dtype=np.float32)
        distances = sum_four(weights * exponents) / sum_four(exponents)
    left, top, right, bottom = (distances[:, side] for side in range(4))
    return np.stack(
        [
            ((gx + HALF) - left) * stride[0],
            ((gy + HALF) - top) * stride[1],
            ((gx + HALF) + right) * stride[0],
            ((gy + HALF) + bottom) * stride[1],
        ],
        axis=-1,
    )


def prior_corners(deltas: Float32, prior: Float32) -> Float32:
    """Center-form boxes from [dx, dy, dw, dh] relative to a prior, exponents capped."""
    cx = deltas[:, 0] * prior[:, 2] + prior[:, 0]
    cy = deltas[:, 1] * prior[:, 3] + prior[:, 1]
    width = exp32(minimum(deltas[:, 2], LOG_SIZE_LIMIT)) * prior[:, 2]
    height = exp32(minimum(deltas[:, 3], LOG_SIZE_LIMIT)) * prior[:, 3]
    return corners_from_center(cx, cy, width, height)


def ssd_corners(
    request: Request, port: Port, head_index: int, cell: Int64, anchor: Int64
) -> Float32:
    """SSD locations: variances .1 and .2, normalised corners, then pixels."""
    anchors = anchor_count(request, head_index)
    if request.profile == "Ssd300V1":
        rows = port.values.reshape(-1, 4, anchors).transpose(0, 2, 1)[cell, anchor]
    else:
        rows = port.values.reshape(-1, anchors, 4)[cell, anchor]
    if request.profile in RAW_KEY_PROFILES:
        rows = rows[:, [1, 0, 3, 2]]  # [ty, tx, th, tw]
    prior = priors.ssd_priors(request.profile, head_index)[cell * anchors + anchor]
    center_variance, size_variance = np.float32(0.1), np.float32(0.2)
    cx = center_variance * rows[:, 0] * prior[:, 2] + prior[:, 0]
    cy = center_variance * rows[:, 1] * prior[:, 3] + prior[:, 1]
    width = exp32(minimum(size_variance * rows[:, 2], LOG_SIZE_LIMIT)) * prior[:, 2]
    height = exp32(minimum(size_variance * rows[:, 3], LOG_SIZE_LIMIT)) * prior[:, 3]
    return scale_corners(corners_from_center(cx, cy, width, height), request)


def head_corners(
    request: Request, ports: list[Port], head_index: int, cell: Int64, anchor: Int64
) -> Float32:
    """Model-space corners of candidates of one head."""
    head = request.heads[head_index]
    profile = request.profile
    port = ports[head.boxes]
    model_w, model_h = request.model_input_size
    gx = (cell % port.grid_w).astype(np.float32)
    gy = (cell // port.grid_w).astype(np.float32)
    sx = np.float32(model_w) / np.float32(port.grid_w)
    sy = np.float32(model_h) / np.float32(port.grid_h)
    anchors = anchor_count(request, head_index)
    if profile in ("Yolo26V1", "Yolo6V1", "Yolo8V1"):
        return distance_corners(request, port, cell, gx, gy, np.array([sx, sy]))
    if profile == "YoloDecodedV1":
        row = port.values[cell]
        corners = corners_from_center(row[:, 0], row[:, 1], row[:, 2], row[:, 3])
        return scale_corners(corners, request) if request.box_unit == "Normalised" else corners
    if profile == "YoloXV1":
        row = port.values[cell]
        return corners_from_center(
            (row[:, 0] + gx) * sx,
            (row[:, 1] + gy) * sy,
            exp32(row[:, 2]) * sx,
            exp32(row[:, 3]) * sy,
        )
    if profile in ANCHOR_YOLO_PROFILES:
        row = sigmoid(port.values.reshape(len(port.values), anchors, -1)[cell, anchor, :4])
        shapes = np.array(anchor_table(request)[head_index], dtype=np.float32)[anchor]
        width, height = TWO * row[:, 2], TWO * row[:, 3]
        return corners_from_center(
            (TWO * row[:, 0] + (gx - HALF)) * sx,
            (TWO * row[:, 1] + (gy - HALF)) * sy,
            (width * width) * shapes[:, 0],
            (height * height) * shapes[:, 1],
        )
    if profile == "YoloAnchorDecodedV1":
        assert head.sizes is not None
        center = port.values.reshape(-1, anchors, 2)[cell, anchor]
        size = ports[head.sizes].values.reshape(-1, anchors, 2)[cell, anchor]
        corners = corners_from_center(center[:, 0], center[:, 1], size[:, 0], size[:, 1])
        return scale_corners(corners, request) if request.box_unit == "Normalised" else corners
    if profile in SSD_PROFILES:
        return ssd_corners(request, port, head_index, cell, anchor)
    if profile == "EfficientDetV1":
        table = priors.efficientdet_anchors(
            port.grid_w, port.grid_h, model_w, model_h, request.anchor_scale
        )
        row = port.values.reshape(-1, 9, 4)[cell, anchor][:, [1, 0, 3, 2]]  # [ty, tx, th, tw]
        return prior_corners(row, table[cell * 9 + anchor])
    if profile == "DetrV1":
        row = activate(port.values[cell], request.box_activation)
        corners = corners_from_center(row[:, 0], row[:, 1], row[:, 2], row[:, 3])
        return scale_corners(corners, request)
    if profile == "CenterNetV1":
        assert head.extra is not None
        size, offset = port.values[cell], ports[head.extra].values[cell]
        return corners_from_center(
            (gx + offset[:, 0]) * sx, (gy + offset[:, 1]) * sy, size[:, 0] * sx, size[:, 1] * sy
        )
    assert profile == "RcnnStage1V1", profile
    table = priors.rcnn_anchors(
        port.grid_w, port.grid_h, model_w, model_h, anchor_table(request)[head_index]
    )
    row = port.values.reshape(-1, anchors, 4)[cell, anchor]
    corners = prior_corners(row, table[cell * anchors + anchor])
    frame = np.array([model_w, model_h, model_w, model_h], dtype=np.float32)
    return minimum(maximum(corners, ZERO), frame)


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


def extra_rows(
    request: Request, ports: list[Port], one: Candidates, channels: int
) -> tuple[Array, Float32, Port]:
    """Raw elements, values and port of the extra channels of one accepted detection."""
    head_index, cell, anchor = int(one.head[0]), int(one.cell[0]), int(one.anchor[0])
    head = request.heads[head_index]
    anchors = anchor_count(request, head_index)
    if request.profile in ANCHOR_YOLO_PROFILES:
        port = ports[head.boxes]
        raw = port.raw[cell].reshape(anchors, -1)[anchor, -channels:]
        values = port.values[cell].reshape(anchors, -1)[anchor, -channels:]
    elif is_combined(request, head):
        port = ports[head.boxes]
        raw, values = port.raw[cell, -channels:], port.values[cell, -channels:]
    else:
        assert head.extra is not None
        port = ports[head.extra]
        chosen = slice(anchor * channels, (anchor + 1) * channels)
        raw, values = port.raw[cell, chosen], port.values[cell, chosen]
    return raw, values, port


def write_keypoints(
    request: Request, ports: list[Port], accepted: Candidates, rows: Float32
) -> None:
    """x, y in original pixels and visibility; every NaN has one bit pattern."""
    mapping = make_mapping(request)
    model_w, model_h = request.model_input_size
    for index in range(len(accepted.cell)):
        one = accepted.take(np.array([index]))
        dims = request.keypoint_dims
        _, values, port = extra_rows(request, ports, one, dims * request.num_keypoints)
        points = values.reshape(request.num_keypoints, dims)
        x, y = points[:, 0], points[:, 1]
        visibility = points[:, 2] if dims == 3 else np.ones_like(x)
        gx = np.float32(int(one.cell[0]) % port.grid_w)
        gy = np.float32(int(one.cell[0]) // port.grid_w)
        sx = np.float32(model_w) / np.float32(port.grid_w)
        sy = np.float32(model_h) / np.float32(port.grid_h)
        with np.errstate(all="ignore"):
            if request.profile == "YoloDecodedV1":
                if (request.keypoint_unit or request.box_unit) == "Normalised":
                    x, y = x * np.float32(model_w), y * np.float32(model_h)
            else:
                if dims == 3:
                    visibility = sigmoid(visibility)
                if request.profile == "Yolo26V1":
                    x, y = (x + gx + HALF) * sx, (y + gy + HALF) * sy
                else:
                    x, y = (TWO * x + gx) * sx, (TWO * y + gy) * sy
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
        coefficients = extra_rows(request, ports, accepted.take(np.array([index])), channels)
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
    elif request.profile == "RcnnStage1V1":
        proposals = np.zeros((capacity, 4), dtype=np.float32)
        proposals[:count] = corners
        outputs.append(proposals)
    return outputs
