"""YOLOv6 n, s, lite: distances in cells around the centre of the cell."""

from __future__ import annotations

from ..boxes import Sites, distance_corners
from ..drawing import Draft, Draw, draw_distances, draw_split_heads
from ..family import Family
from ..numeric import Float32


class Yolo6(Family):
    name = "Yolo6V1"
    grid_divides_model = True

    def corners(self, sites: Sites) -> Float32:
        return distance_corners(sites, sites.port.values[sites.cell])

    def draw(self, draw: Draw, task: str, activation: str) -> Draft:
        return draw_split_heads(
            draw, task, activation, lambda height, width, _: draw_distances(draw, height, width)
        )


FAMILIES = (Yolo6(),)
