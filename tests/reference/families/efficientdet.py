"""EfficientDet: nine anchors a cell, deltas in the order y, x, h, w."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import priors
from ..boxes import Sites, prior_corners
from ..drawing import Draft, Draw, Tensor, draw_scores
from ..family import Family
from ..numeric import Float32
from ..request import Head, Request

ANCHORS = 9


class EfficientDet(Family):
    name = "EfficientDetV1"
    takes = Family.takes | {"anchor_scale"}
    resize = "TopLeftLetterbox"
    takes_any_bf16_tile = False

    def anchor_count(self, request: Request, head_index: int) -> int:
        return ANCHORS

    def whole_blocks(self, request: Request, role: str) -> bool:
        return role == "scores"

    def corners(self, sites: Sites) -> Float32:
        grid = (sites.port.grid_w, sites.port.grid_h)
        model = sites.request.model_input_size
        table = priors.efficientdet_anchors(*grid, *model, sites.request.anchor_scale)
        row = sites.rows(sites.port, ANCHORS)[:, [1, 0, 3, 2]]  # [ty, tx, th, tw]
        return prior_corners(row, table[sites.cell * ANCHORS + sites.anchor])

    def draw(self, draw: Draw, task: str, activation: str) -> Draft:
        model = (draw.integer(8, 200), draw.integer(8, 200))
        grids = [(draw.integer(1, 5), draw.integer(1, 5)) for _ in range(draw.integer(1, 3))]
        classes = draw.class_count(max(w * h for w, h in grids) * ANCHORS)
        options: dict[str, Any] = {}
        if draw.chance(0.4):
            options["anchor_scale"] = draw.one((1.0, 3.0, 0.7, 5.0))
        tensors: list[Tensor] = []
        heads = []
        for width, height in grids:
            heads.append(Head(len(tensors), len(tensors) + 1))
            spread = draw.one((np.float32(0.4), np.float32(0.4), np.float32(3)))
            boxes = spread * draw.normal(height, width, 4 * ANCHORS)
            tensors.append(Tensor("boxes", boxes))
            scores = draw_scores(draw, activation, height, width, ANCHORS * classes)
            tensors.append(Tensor("scores", scores))
        return Draft(tensors, heads, model, classes, options)


FAMILIES = (EfficientDet(),)
