"""Model space to original-image space."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .families import family_of
from .numeric import Array, Float32, maximum, minimum, round_half_away, round_half_away_scalar
from .request import Affine, Request


def resize_policy(request: Request) -> str | Affine:
    """The policy of the request, or the profile's own."""
    if request.resize is not None:
        return request.resize
    return family_of(request).resize


@dataclass(frozen=True)
class Mapping:
    """One image mapping: subtract-then-multiply for policies, multiply-then-add for Affine."""

    image_size: tuple[int, int]
    factor: tuple[np.float32, np.float32]
    shift: tuple[np.float32, np.float32]
    is_affine: bool

    def apply(self, values: Array, axis: int) -> Float32:
        """Maps x (axis 0) or y (axis 1) coordinates."""
        with np.errstate(all="ignore"):
            result: Float32
            if self.is_affine:
                result = values * self.factor[axis] + self.shift[axis]
            else:
                result = (values - self.shift[axis]) * self.factor[axis]
            return result


def letterbox(
    policy: str, model_size: tuple[int, int], image_size: tuple[int, int]
) -> tuple[int, int, int, int]:
    """(content width, content height, left, top) of a letterboxed image, whole pixels."""
    model_w, model_h = model_size
    image_w, image_h = image_size
    scale = min(model_w / image_w, model_h / image_h)
    if policy == "CenteredLetterbox":
        content_w = max(1, round_half_away_scalar(image_w * scale))
        content_h = max(1, round_half_away_scalar(image_h * scale))
        return content_w, content_h, (model_w - content_w) // 2, (model_h - content_h) // 2
    content_w = max(1, math.floor(image_w * scale))
    content_h = max(1, math.floor(image_h * scale))
    return content_w, content_h, 0, 0


def make_mapping(request: Request) -> Mapping:
    """Factors are computed in double and stored as FP32."""
    policy = resize_policy(request)
    image_w, image_h = request.original_image_size
    if isinstance(policy, Affine):
        return Mapping(
            (image_w, image_h),
            (np.float32(policy.scale_x), np.float32(policy.scale_y)),
            (np.float32(policy.offset_x), np.float32(policy.offset_y)),
            True,
        )
    if policy == "Stretch":
        content_w, content_h = request.model_input_size
        left = top = 0
    else:
        content_w, content_h, left, top = letterbox(
            policy, request.model_input_size, request.original_image_size
        )
    return Mapping(
        (image_w, image_h),
        (np.float32(image_w / content_w), np.float32(image_h / content_h)),
        (np.float32(left), np.float32(top)),
        False,
    )


def boxes_to_image(mapping: Mapping, corners: Float32) -> Array:
    """Maps, clips to the image, rounds each corner, and forms x, y, width, height (int32)."""
    rounded = []
    for column in range(4):
        axis = column % 2
        mapped = mapping.apply(corners[:, column], axis)
        limit = np.float32(mapping.image_size[axis])
        rounded.append(round_half_away(minimum(maximum(mapped, np.float32(0.0)), limit)))
    x1, y1, x2, y2 = rounded
    return np.stack([x1, y1, x2 - x1, y2 - y1], axis=-1).astype(np.int32)
