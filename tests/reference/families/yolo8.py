"""YOLOv8 to 12: a distance is the expectation of a distribution over bins (DFL)."""

from __future__ import annotations

import numpy as np

from ..boxes import Sites, distance_corners
from ..drawing import DETECTION, POSE, SEGMENTATION, Draft, Draw, draw_split_heads
from ..family import Family
from ..numeric import TWO, Array, Float32, sigmoid, softmax_exponents, sum_four


def draw_bins(draw: Draw, bins: int, height: int, width: int) -> Array:
    logits = draw.one((0.5, 2.0, 8.0)) * draw.normal(height, width, 4, bins)
    if draw.chance(0.5):
        peak = draw.rng.integers(0, bins, (height, width, 4, 1))
        np.put_along_axis(logits, peak, np.float32(12), axis=-1)
    return logits.reshape(height, width, 4 * bins)


class Yolo8(Family):
    name = "Yolo8V1"
    tasks = (DETECTION, POSE, SEGMENTATION)
    grid_divides_model = True

    def corners(self, sites: Sites) -> Float32:
        port, cell = sites.port, sites.cell
        bins = port.raw.shape[1] // 4
        raw = port.raw[cell].reshape(len(cell), 4, bins)
        values = port.values[cell].reshape(len(cell), 4, bins)
        exponents = softmax_exponents(raw, values, port.dtype, port.quantization)
        weights = np.arange(bins, dtype=np.float32)
        return distance_corners(sites, sum_four(weights * exponents) / sum_four(exponents))

    def keypoints(self, sites: Sites, x: Float32, y: Float32) -> tuple[Float32, Float32]:
        return (TWO * x + sites.gx) * sites.sx, (TWO * y + sites.gy) * sites.sy

    def visibility(self, values: Float32) -> Float32:
        return sigmoid(values)

    def draw(self, draw: Draw, task: str, activation: str) -> Draft:
        return draw_split_heads(
            draw, task, activation, lambda height, width, bins: draw_bins(draw, bins, height, width)
        )


FAMILIES = (Yolo8(),)
