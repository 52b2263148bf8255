"""YOLOv5 and YOLOv7: combined heads [x, y, w, h, objectness, classes, extra] an anchor."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import priors
from ..boxes import Sites, corners_from_center
from ..drawing import (
    DETECTION,
    SEGMENTATION,
    Draft,
    Draw,
    Tensor,
    draw_anchors,
    draw_grids,
    draw_task,
    finish_task,
)
from ..family import Family
from ..numeric import HALF, TWO, Array, Float32, sigmoid
from ..request import Head, Request
from ..scores import Port, ScoreView


class AnchorYolo(Family):
    tasks = (DETECTION, SEGMENTATION)
    takes = frozenset({"anchors", "resize", "model_input_size"})

    def own_anchors(self, request: Request) -> priors.Table | None:
        return priors.yolo_anchors(self.name, len(request.heads))

    def anchor_count(self, request: Request, head_index: int) -> int:
        return len(self.anchor_table(request)[head_index])

    def objectness_port(self, head: Head) -> int | None:
        return head.boxes

    def score_view(self, request: Request, ports: list[Port], head_index: int) -> ScoreView:
        port = ports[request.heads[head_index].scores]
        shape = (len(port.raw), self.anchor_count(request, head_index), -1)
        raw, values = port.raw.reshape(shape), port.values.reshape(shape)
        if self.scores_by_objectness(request):
            # The class channel is not read: objectness is the score.
            return ScoreView(raw[:, :, 4:5], values[:, :, 4:5], None, port, None)
        classes = slice(5, 5 + request.num_classes)
        return ScoreView(raw[:, :, classes], values[:, :, classes], values[:, :, 4], port, port)

    def corners(self, sites: Sites) -> Float32:
        shapes = self.anchor_table(sites.request)[sites.head_index]
        row = sigmoid(sites.rows(sites.port, len(shapes))[:, :4])
        shape = np.array(shapes, dtype=np.float32)[sites.anchor]
        width, height = TWO * row[:, 2], TWO * row[:, 3]
        return corners_from_center(
            (TWO * row[:, 0] + (sites.gx - HALF)) * sites.sx,
            (TWO * row[:, 1] + (sites.gy - HALF)) * sites.sy,
            (width * width) * shape[:, 0],
            (height * height) * shape[:, 1],
        )

    def extra(self, sites: Sites, channels: int) -> tuple[Array, Float32, Port]:
        port, cell, anchor = sites.port, int(sites.cell[0]), int(sites.anchor[0])
        anchors = self.anchor_count(sites.request, sites.head_index)
        raw = port.raw[cell].reshape(anchors, -1)[anchor, -channels:]
        return raw, port.values[cell].reshape(anchors, -1)[anchor, -channels:], port

    def draw(self, draw: Draw, task: str, activation: str) -> Draft:
        """The profile's table or an explicit one."""
        options: dict[str, Any] = {}
        if draw.chance(0.4):
            levels = 3 if draw.chance(0.7) else 4
            unit = 8 << (levels - 1)
            model = (unit * draw.integer(1, 2), unit)
            strides = (8, 16, 32, 64)[:levels]
            grids = [(model[0] // stride, model[1] // stride) for stride in strides]
            anchors = 3
        else:
            model, grids = draw_grids(draw)
            anchors = draw.integer(1, 5)
            options["anchors"] = draw_anchors(draw, len(grids), anchors, 40)
        classes = draw.class_count(max(w * h for w, h in grids) * anchors)
        extra = draw_task(draw, task, options)
        tensors: list[Tensor] = []
        heads = []
        for width, height in grids:
            rows = np.float32(1.5) * draw.normal(height, width, anchors, 5 + classes + extra)
            rows[..., 5 + classes :] *= np.float32(0.3)
            heads.append(Head(len(tensors), len(tensors)))
            combined = Tensor("combined", rows.reshape(height, width, -1))
            one_anchor = np.zeros(5 + classes + extra, np.bool_)
            one_anchor[4 : 5 + classes] = True
            combined.score_channels = np.tile(one_anchor, anchors)
            tensors.append(combined)
        draft = Draft(tensors, heads, model, classes, options)
        finish_task(draw, task, draft, extra)
        return draft


class Yolo5(AnchorYolo):
    name = "Yolo5V1"


class Yolo7(AnchorYolo):
    name = "Yolo7V1"

    def scores_by_objectness(self, request: Request) -> bool:
        return request.num_classes == 1


FAMILIES = (Yolo5(), Yolo7())
