"""Masks from the prototype's frame to the pixels of the image."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from boxdecode._types import ImageMapping


class FrameGeometry(NamedTuple):
    """Where a frame's detections lie: sizes are (width, height)."""

    model_size: tuple[int, int]
    image_size: tuple[int, int]
    mapping: ImageMapping


class _Taps(NamedTuple):
    """For each image pixel of a box on one axis: two prototype pixels, weight of the second."""

    first: npt.NDArray[np.intp]
    second: npt.NDArray[np.intp]
    weight: npt.NDArray[np.float32]


def resize_masks(
    masks: npt.NDArray[np.uint8],
    boxes: npt.NDArray[np.int32],
    indices: Iterable[int],
    geometry: FrameGeometry,
) -> npt.NDArray[np.uint8]:
    """[len(indices), image height, image width]; see Detections.masks_in_image for the rule."""
    picked = list(indices)
    width, height = geometry.image_size
    mapping = geometry.mapping
    resized = np.zeros((len(picked), height, width), np.uint8)
    for image, index in zip(resized, picked, strict=True):
        mask = masks[index]
        x, y, w, h = boxes[index].tolist()
        if w == 0 or h == 0:
            continue
        ratio_x = mask.shape[1] / geometry.model_size[0]
        ratio_y = mask.shape[0] / geometry.model_size[1]
        shift_first = mapping.shift_first
        columns = _taps(x, w, mapping.scale_x, mapping.shift_x, shift_first, ratio_x, mask.any(0))
        rows = _taps(y, h, mapping.scale_y, mapping.shift_y, shift_first, ratio_y, mask.any(1))
        values = mask.astype(np.float32)
        lines = _mix(values[rows.first], values[rows.second], rows.weight[:, np.newaxis])
        patch = _mix(lines[:, columns.first], lines[:, columns.second], columns.weight)
        image[y : y + h, x : x + w] = np.floor(patch + np.float32(0.5))
    return resized


def _mix(first: npt.NDArray[Any], second: npt.NDArray[Any], weight: npt.NDArray[Any]) -> Any:
    return first + (second - first) * weight


def _taps(
    start: int,
    count: int,
    scale: float,
    shift: float,
    shift_first: bool,
    ratio: float,
    live: npt.NDArray[np.bool_],
) -> _Taps:
    """``live``: which lines across this axis of the mask have a value that is not 0."""

    def to_prototype(position: Any) -> Any:
        model = position / scale + shift if shift_first else (position - shift) / scale
        return model * ratio

    centres = to_prototype(np.arange(start, start + count) + 0.5) - 0.5

    # The mask is cropped to its box: sample what is inside, so that the crop leaves no dark border.
    # The box was rounded after that, so each end is known to half an image pixel only: within that
    # margin a line without any value counts as cropped.
    def first_inside(position: float) -> int:
        return min(max(int(np.ceil(to_prototype(position))), 0), len(live))

    last_line = len(live) - 1
    end = start + count
    lowest = min(first_inside(start - 0.5), last_line)
    while lowest < min(first_inside(start + 0.5), last_line) and not live[lowest]:
        lowest += 1
    highest = max(first_inside(end + 0.5) - 1, lowest)
    while highest > max(first_inside(end - 0.5) - 1, lowest) and not live[highest]:
        highest -= 1
    clamped = np.clip(centres, lowest, highest)
    first = np.floor(clamped).astype(np.intp)
    second = np.minimum(first + 1, highest)
    return _Taps(first, second, (clamped - first).astype(np.float32))
