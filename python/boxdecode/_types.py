"""Plain value types of the API. Each is a tuple, so a plain tuple in the same order will do."""

from __future__ import annotations

from typing import NamedTuple


class Head(NamedTuple):
    """The ports (indexes into ``inputs``) that together describe one grid of cells."""

    boxes: int
    scores: int
    objectness: int | None = None
    extra: int | None = None
    sizes: int | None = None


class Quantization(NamedTuple):
    """value = (raw - zero_point) * dequant_scale. The scale is a multiplier, not its reciprocal."""

    dequant_scale: float
    zero_point: int


class Anchor(NamedTuple):
    """Width and height of an anchor in model pixels."""

    width: float
    height: float


class ImageMapping(NamedTuple):
    """x_image = (x_model - shift_x) * scale_x if shift_first, else x_model * scale_x + shift_x."""

    scale_x: float
    shift_x: float
    scale_y: float
    shift_y: float
    shift_first: bool


class Affine(NamedTuple):
    """x_image = x_model * scale_x + offset_x, y alike: for crops and pads of any kind."""

    scale_x: float
    offset_x: float
    scale_y: float
    offset_y: float
