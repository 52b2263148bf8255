"""Where the candidates of one head are, and the steps that box formulas share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .numeric import HALF, LOG_SIZE_LIMIT, Array, Float32, Int64, exp32, minimum
from .request import Head, Request
from .scores import Port


@dataclass(frozen=True)
class Sites:
    """Some candidates of one head."""

    request: Request
    ports: list[Port]
    head_index: int
    cell: Int64
    anchor: Int64

    @property
    def head(self) -> Head:
        return self.request.heads[self.head_index]

    @property
    def port(self) -> Port:
        """The port of the boxes."""
        return self.ports[self.head.boxes]

    @property
    def gx(self) -> Float32:
        return (self.cell % self.port.grid_w).astype(np.float32)

    @property
    def gy(self) -> Float32:
        return (self.cell // self.port.grid_w).astype(np.float32)

    @property
    def sx(self) -> np.float32:
        return np.float32(self.request.model_input_size[0]) / np.float32(self.port.grid_w)

    @property
    def sy(self) -> np.float32:
        return np.float32(self.request.model_input_size[1]) / np.float32(self.port.grid_h)

    def rows(self, port: Port, anchors: int) -> Float32:
        """The values of each site's anchor, anchor-major."""
        values: Array = port.values.reshape(len(port.values), anchors, -1)
        return values[self.cell, self.anchor]


def corners_from_center(cx: Float32, cy: Float32, width: Float32, height: Float32) -> Float32:
    """[cx - w/2, cy - h/2, cx + w/2, cy + h/2]."""
    half_w, half_h = HALF * width, HALF * height
    return np.stack([cx - half_w, cy - half_h, cx + half_w, cy + half_h], axis=-1)


def scale_corners(corners: Float32, request: Request) -> Float32:
    """Normalised corners times the model width and height."""
    width, height = np.float32(request.model_input_size[0]), np.float32(request.model_input_size[1])
    return corners * np.array([width, height, width, height], dtype=np.float32)


def box_unit_corners(corners: Float32, request: Request) -> Float32:
    """Corners in the unit that the request names, as pixels."""
    return scale_corners(corners, request) if request.box_unit == "Normalised" else corners


def distance_corners(sites: Sites, distances: Float32) -> Float32:
    """l, t, r, b in cells around the centre of the cell."""
    left, top, right, bottom = (distances[:, side] for side in range(4))
    return np.stack(
        [
            ((sites.gx + HALF) - left) * sites.sx,
            ((sites.gy + HALF) - top) * sites.sy,
            ((sites.gx + HALF) + right) * sites.sx,
            ((sites.gy + HALF) + bottom) * sites.sy,
        ],
        axis=-1,
    )


def prior_corners(deltas: Float32, prior: Float32) -> Float32:
    """Center-form boxes from [dx, dy, dw, dh] relative to a prior, exponents capped."""
    cx = deltas[:, 0] * prior[:, 2] + prior[:, 0]
    cy = deltas[:, 1] * prior[:, 3] + prior[:, 1]
    width = exp32(minimum(deltas[:, 2], LOG_SIZE_LIMIT)) * prior[:, 2]
    height = exp32(minimum(deltas[:, 3], LOG_SIZE_LIMIT)) * prior[:, 3]
    return corners_from_center(cx, cy, width, height)
