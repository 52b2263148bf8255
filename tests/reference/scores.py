"""Scores of the cells of one head: what a rule reads, and the candidates that come of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .layouts import Contiguous, Strided
from .numeric import QUANTIZED, ZERO, Array, Bool, Float32, Int64, to_float32
from .request import Request


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


@dataclass(frozen=True)
class ScoreView:
    """What the score rule of one head reads."""

    raw: Array  # (cells, anchors, classes)
    values: Float32
    objectness: Float32 | None  # (cells, anchors), not activated
    port: Port
    objectness_port: Port | None


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
