"""The request: the same names as the keyword arguments of `boxdecode.Plan`, as plain data.

Enumerators are strings. Sizes are (width, height). Nothing here computes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from .layouts import Contiguous, Layout


class Head(NamedTuple):
    """Port indexes of one feature level."""

    boxes: int
    scores: int
    objectness: int | None = None
    extra: int | None = None
    sizes: int | None = None


class Affine(NamedTuple):
    """x_img = x * scale_x + offset_x, y_img = y * scale_y + offset_y."""

    scale_x: float
    offset_x: float
    scale_y: float
    offset_y: float


@dataclass(frozen=True)
class TensorSpec:
    """A logical H x W x C tensor, its dtype and its memory layout."""

    shape: tuple[int, int, int]
    dtype: str
    layout: Layout = field(default_factory=Contiguous)


@dataclass
class Request:
    """One decoding job."""

    inputs: list[TensorSpec]
    profile: str
    heads: list[Head]
    model_input_size: tuple[int, int]
    original_image_size: tuple[int, int]
    num_classes: int
    max_detections: int
    detection_threshold: float
    nms_iou_threshold: float
    task: str = "Detection"
    mask_prototype: int | None = None
    score_activation: str | None = None
    quantization: dict[int, tuple[float, int]] = field(default_factory=dict)
    num_keypoints: int = 17
    anchors: list[list[tuple[float, float]]] = field(default_factory=list)
    resize: str | Affine | None = None
    mask_encoding: str = "Probability"
    class_agnostic: bool = False
    box_unit: str = "Pixels"
    anchor_scale: float = 4.0
    box_activation: str = "Identity"
    peak_window: int = 1
    suppression_corners: str = "Integer"
    one_class_uses_objectness: bool = False
    keypoint_unit: str | None = None
    keypoint_dims: int = 3


class RefusalError(Exception):
    """The error that preparation must give: code and field of the error table."""

    def __init__(self, code: str, field_name: str) -> None:
        super().__init__(f"{code} at {field_name}")
        self.code = code
        self.field = field_name
