"""Split, decoded exports of YOLOv5 and v7: xy, wh and [objectness, classes] apart, anchor-major."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..boxes import Sites, box_unit_corners, corners_from_center
from ..drawing import (
    DETECTION,
    SEGMENTATION,
    Draft,
    Draw,
    Tensor,
    draw_centers,
    draw_extra,
    draw_grids,
    draw_scores,
    draw_task,
    finish_task,
)
from ..family import Family
from ..numeric import Float32
from ..request import Head, Request
from ..scores import Port, ScoreView


class YoloAnchorDecoded(Family):
    name = "YoloAnchorDecodedV1"
    tasks = (DETECTION, SEGMENTATION)
    takes = Family.takes | {"box_unit", "one_class_uses_objectness"}

    def anchor_count(self, request: Request, head_index: int) -> int:
        return request.inputs[request.heads[head_index].boxes].shape[2] // 2

    def whole_blocks(self, request: Request, role: str) -> bool:
        return role == "scores"

    def objectness_port(self, head: Head) -> int | None:
        return head.scores

    def score_view(self, request: Request, ports: list[Port], head_index: int) -> ScoreView:
        port = ports[request.heads[head_index].scores]
        shape = (len(port.raw), self.anchor_count(request, head_index), 1 + request.num_classes)
        raw, values = port.raw.reshape(shape), port.values.reshape(shape)
        if self.scores_by_objectness(request):
            return ScoreView(raw[:, :, :1], values[:, :, :1], None, port, None)
        return ScoreView(raw[:, :, 1:], values[:, :, 1:], values[:, :, 0], port, port)

    def corners(self, sites: Sites) -> Float32:
        assert sites.head.sizes is not None
        anchors = self.anchor_count(sites.request, sites.head_index)
        center = sites.rows(sites.port, anchors)
        size = sites.rows(sites.ports[sites.head.sizes], anchors)
        corners = corners_from_center(center[:, 0], center[:, 1], size[:, 0], size[:, 1])
        return box_unit_corners(corners, sites.request)

    def draw(self, draw: Draw, task: str, activation: str) -> Draft:
        """Any grid."""
        model = (draw.integer(8, 320), draw.integer(8, 320))
        _, grids = draw_grids(draw)
        options: dict[str, Any] = {}
        anchors = draw.integer(1, 5)
        classes = draw.class_count(max(w * h for w, h in grids) * anchors)
        extra = draw_task(draw, task, options)
        normalised = draw.chance(0.3)
        if normalised:
            options["box_unit"] = "Normalised"
        unit = np.array(model, np.float32) if normalised else np.ones(2, np.float32)
        if classes == 1 and draw.chance(0.5):
            options["one_class_uses_objectness"] = True
        tensors: list[Tensor] = []
        heads = []
        for width, height in grids:
            center, size = draw_centers(draw, model, height, width, anchors)
            scores = draw_scores(draw, activation, height, width, anchors * (1 + classes))
            first = len(tensors)
            tensors.append(Tensor("boxes", (center / unit).reshape(height, width, -1)))
            tensors.append(Tensor("scores", scores))
            tensors.append(Tensor("sizes", (size / unit).reshape(height, width, -1)))
            if extra:
                values = draw_extra(draw, task, 1.0, height, width, anchors * extra)
                tensors.append(Tensor("extra", values))
            heads.append(Head(first, first + 1, None, first + 3 if extra else None, first + 2))
        draft = Draft(tensors, heads, model, classes, options)
        finish_task(draw, task, draft, extra)
        return draft


FAMILIES = (YoloAnchorDecoded(),)
