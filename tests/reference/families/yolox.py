"""YOLOX: centre from the corner of the cell, log sizes, objectness in a port of its own."""

from __future__ import annotations

import numpy as np

from ..boxes import Sites, corners_from_center
from ..drawing import Draft, Draw, draw_split_heads, snapped
from ..family import Family
from ..numeric import Array, Float32, exp32


class YoloX(Family):
    name = "YoloXV1"
    names_objectness = True
    grid_divides_model = True

    def corners(self, sites: Sites) -> Float32:
        row = sites.port.values[sites.cell]
        return corners_from_center(
            (row[:, 0] + sites.gx) * sites.sx,
            (row[:, 1] + sites.gy) * sites.sy,
            exp32(row[:, 2]) * sites.sx,
            exp32(row[:, 3]) * sites.sy,
        )

    def draw(self, draw: Draw, task: str, activation: str) -> Draft:
        def boxes(height: int, width: int, _: int) -> Array:
            values = draw.normal(height, width, 4) * np.float32(0.6) + np.float32(0.4)
            return snapped(draw, values)

        return draw_split_heads(draw, task, activation, boxes, has_objectness=True)


FAMILIES = (YoloX(),)
