"""The region proposal network of Faster R-CNN: one score an anchor, the class is the level."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import priors
from ..boxes import Sites, prior_corners
from ..drawing import Draft, Draw, Tensor, draw_anchors
from ..family import Family
from ..numeric import ZERO, Float32, maximum, minimum
from ..request import Head, Request
from ..scores import Candidates, Port


class RcnnStage1(Family):
    name = "RcnnStage1V1"
    takes = frozenset({"anchors", "resize", "model_input_size"})
    publishes_proposals = True

    def own_anchors(self, request: Request) -> priors.Table:
        return priors.RCNN

    def anchor_count(self, request: Request, head_index: int) -> int:
        return len(self.anchor_table(request)[head_index])

    def scores(self, request: Request, ports: list[Port], head_index: int) -> Candidates:
        found = super().scores(request, ports, head_index)
        found.class_id = np.full_like(found.class_id, head_index)
        return found

    def corners(self, sites: Sites) -> Float32:
        model_w, model_h = sites.request.model_input_size
        shapes = self.anchor_table(sites.request)[sites.head_index]
        port = sites.port
        table = priors.rcnn_anchors(port.grid_w, port.grid_h, model_w, model_h, shapes)
        anchor = sites.cell * len(shapes) + sites.anchor
        corners = prior_corners(sites.rows(port, len(shapes)), table[anchor])
        frame = np.array([model_w, model_h, model_w, model_h], dtype=np.float32)
        return minimum(maximum(corners, ZERO), frame)

    def draw(self, draw: Draw, task: str, activation: str) -> Draft:
        model = (draw.integer(8, 300), draw.integer(8, 300))
        options: dict[str, Any] = {}
        if draw.chance(0.3):
            options["anchors"] = draw_anchors(draw, 5, 3, 90)
        tensors: list[Tensor] = []
        heads = []
        for _ in range(5):
            width, height = draw.integer(1, 8), draw.integer(1, 8)
            heads.append(Head(len(tensors), len(tensors) + 1))
            spread = draw.one((np.float32(0.4), np.float32(0.4), np.float32(3)))
            boxes = spread * draw.normal(height, width, 12)
            scores = np.float32(2) * draw.normal(height, width, 3)
            tensors += [Tensor("boxes", boxes), Tensor("scores", scores)]
        return Draft(tensors, heads, model, 1, options)


FAMILIES = (RcnnStage1(),)
