"""YOLO26: distances in cells around the centre of the cell, keypoints from it too."""

from __future__ import annotations

from ..boxes import Sites, distance_corners
from ..drawing import (
    DETECTION,
    POSE,
    SEGMENTATION,
    Draft,
    Draw,
    draw_distances,
    draw_split_heads,
)
from ..family import Family
from ..numeric import HALF, Float32, sigmoid


class Yolo26(Family):
    name = "Yolo26V1"
    tasks = (DETECTION, POSE, SEGMENTATION)
    threshold_zero_keeps_all = True
    grid_divides_model = True

    def corners(self, sites: Sites) -> Float32:
        return distance_corners(sites, sites.port.values[sites.cell])

    def keypoints(self, sites: Sites, x: Float32, y: Float32) -> tuple[Float32, Float32]:
        return (x + sites.gx + HALF) * sites.sx, (y + sites.gy + HALF) * sites.sy

    def visibility(self, values: Float32) -> Float32:
        return sigmoid(values)

    def draw(self, draw: Draw, task: str, activation: str) -> Draft:
        return draw_split_heads(
            draw, task, activation, lambda height, width, _: draw_distances(draw, height, width)
        )


FAMILIES = (Yolo26(),)
