"""Priors and anchors, spelled out from their published definitions.

Everything is prepared in double and stored as FP32. Cells are row-major, anchors inside a cell.
"""

from __future__ import annotations

import functools
import math

import numpy as np

from .numeric import Float32

Table = list[list[tuple[float, float]]]

#: YOLOv5 n..x at 640: three anchors (width, height) per level, pixels.
YOLO5_P5: Table = [
    [(10, 13), (16, 30), (33, 23)],
    [(30, 61), (62, 45), (59, 119)],
    [(116, 90), (156, 198), (373, 326)],
]

#: The four-level models at 1280 (YOLOv5 P6, and YOLOv7 w6, e6, d6, e6e).
YOLO5_P6: Table = [
    [(19, 27), (44, 40), (38, 94)],
    [(96, 68), (86, 152), (180, 137)],
    [(140, 301), (303, 264), (238, 542)],
    [(436, 615), (739, 380), (925, 792)],
]

#: YOLOv7 and YOLOv7-x.
YOLO7: Table = [
    [(12, 16), (19, 36), (40, 28)],
    [(36, 75), (76, 55), (72, 146)],
    [(142, 110), (192, 243), (459, 401)],
]

#: RPN cell anchors, ratios h/w 1/2, 1, 2: full width and height of the rounded, centred corners.
RCNN: Table = [
    [(2 * 23, 2 * 11), (2 * 16, 2 * 16), (2 * 11, 2 * 23)],
    [(2 * 45, 2 * 23), (2 * 32, 2 * 32), (2 * 23, 2 * 45)],
    [(2 * 91, 2 * 45), (2 * 64, 2 * 64), (2 * 45, 2 * 91)],
    [(2 * 181, 2 * 91), (2 * 128, 2 * 128), (2 * 91, 2 * 181)],
    [(2 * 362, 2 * 181), (2 * 256, 2 * 256), (2 * 181, 2 * 362)],
]

SSD_GRIDS = {
    "Ssd300V1": (38, 19, 10, 5, 3, 1),
    "SsdMobile300V1": (19, 10, 5, 3, 2, 1),
    "SsdMobile320V1": (20, 10, 5, 3, 2, 1),
    "SsdLiteMobile320V1": (20, 10, 5, 3, 2, 1),
}

SSD_ANCHORS = {
    "Ssd300V1": (4, 6, 6, 6, 4, 4),
    "SsdMobile300V1": (3, 6, 6, 6, 6, 6),
    "SsdMobile320V1": (3, 6, 6, 6, 6, 6),
    "SsdLiteMobile320V1": (6, 6, 6, 6, 6, 6),
}


def yolo_anchors(profile: str, head_count: int) -> Table | None:
    """The profile's own table for this number of heads, or None."""
    if head_count == 4:
        return YOLO5_P6
    if head_count == 3:
        return YOLO5_P5 if profile == "Yolo5V1" else YOLO7
    return None


def _dboxes300_sizes(level: int) -> list[tuple[float, float]]:
    """(w, h) of one level of NVIDIA's 300-pixel default boxes, normalised."""
    sizes_px = (21, 45, 99, 153, 207, 261, 315)
    ratios = ((2,), (2, 3), (2, 3), (2, 3), (2,), (2,))
    size = sizes_px[level] / 300
    following = sizes_px[level + 1] / 300
    geometric_mean = math.sqrt(size * following)
    shapes = [(size, size), (geometric_mean, geometric_mean)]
    for ratio in ratios[level]:
        long, short = size * math.sqrt(ratio), size / math.sqrt(ratio)
        shapes += [(long, short), (short, long)]
    return shapes


def _tensorflow_sizes(level: int) -> list[tuple[float, float]]:
    """(w, h) of one level of the TensorFlow generator; the lowest level has three boxes."""
    scales = (0.2, 0.35, 0.5, 0.65, 0.8, 0.95, 1.0)
    if level == 0:
        pairs = [(0.1, 1.0), (0.2, 2.0), (0.2, 0.5)]
    else:
        # 0.3333 is the literal of the published configurations, not a third.
        pairs = [(scales[level], ratio) for ratio in (1.0, 2.0, 0.5, 3.0, 0.3333)]
        pairs.append((math.sqrt(scales[level] * scales[level + 1]), 1.0))
    return [(scale * math.sqrt(ratio), scale / math.sqrt(ratio)) for scale, ratio in pairs]


def _torchvision_sizes(level: int) -> list[tuple[float, float]]:
    """(w, h) of one level of torchvision's default boxes, each side at most 1."""
    scales = (0.2, 0.35, 0.5, 0.65, 0.8, 0.95, 1.0)
    size = scales[level]
    geometric_mean = math.sqrt(size * scales[level + 1])
    shapes = [(size, size), (geometric_mean, geometric_mean)]
    for ratio in (2, 3):
        long, short = size * math.sqrt(ratio), size / math.sqrt(ratio)
        shapes += [(long, short), (short, long)]
    return [(min(width, 1.0), min(height, 1.0)) for width, height in shapes]


@functools.cache
def ssd_priors(profile: str, level: int) -> Float32:
    """Normalised [cx, cy, w, h] priors of one level, shape (cells * anchors, 4)."""
    grid = SSD_GRIDS[profile][level]
    if profile == "Ssd300V1":
        step = (8, 16, 32, 64, 100, 300)[level]
        centres = [(g + 0.5) * step / 300 for g in range(grid)]
        shapes = _dboxes300_sizes(level)
    else:
        centres = [(g + 0.5) / grid for g in range(grid)]
        lite = profile == "SsdLiteMobile320V1"
        shapes = _torchvision_sizes(level) if lite else _tensorflow_sizes(level)
    rows = [(cx, cy, width, height) for cy in centres for cx in centres for width, height in shapes]
    priors = np.array(rows, dtype=np.float64)
    if profile == "Ssd300V1":
        priors = np.clip(priors, 0.0, 1.0)
    return priors.astype(np.float32)


def efficientdet_anchors(
    grid_w: int, grid_h: int, model_w: int, model_h: int, anchor_scale: float
) -> Float32:
    """[cx, cy, w, h] anchors of one level in pixels, shape (cells * 9, 4)."""
    stride_x, stride_y = model_w / grid_w, model_h / grid_h
    scale = float(np.float32(anchor_scale))
    rows = []
    for gy in range(grid_h):
        for gx in range(grid_w):
            for octave in range(3):
                for ratio in (1.0, 2.0, 0.5):
                    size = 2.0 ** (octave / 3)
                    width = scale * stride_x * size * math.sqrt(ratio)
                    height = scale * stride_y * size * (1.0 / math.sqrt(ratio))
                    rows.append(((gx + 0.5) * stride_x, (gy + 0.5) * stride_y, width, height))
    return np.array(rows, dtype=np.float64).astype(np.float32)


def rcnn_anchors(
    grid_w: int, grid_h: int, model_w: int, model_h: int, shapes: list[tuple[float, float]]
) -> Float32:
    """[cx, cy, w, h] anchors of one level in pixels; centres are multiples of the whole stride."""
    stride_x, stride_y = model_w // grid_w, model_h // grid_h
    rows = [
        (gx * stride_x, gy * stride_y, width, height)
        for gy in range(grid_h)
        for gx in range(grid_w)
        for width, height in shapes
    ]
    return np.array(rows, dtype=np.float64).astype(np.float32)
