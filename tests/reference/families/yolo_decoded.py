"""Exports with decoded boxes: centre and size, roles apart or in one tensor."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..boxes import Sites, box_unit_corners, corners_from_center
from ..drawing import (
    DETECTION,
    POSE,
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
from ..numeric import Array, Float32
from ..request import Head, Request
from ..scores import Port, ScoreView


class YoloDecoded(Family):
    name = "YoloDecodedV1"
    tasks = (DETECTION, POSE, SEGMENTATION)
    takes = Family.takes | {"box_unit", "keypoint_unit", "one_class_uses_objectness"}
    names_objectness = True

    def whole_blocks(self, request: Request, role: str) -> bool:
        has_objectness = any(head.objectness is not None for head in request.heads)
        return role == "combined" or (has_objectness and role in ("scores", "objectness"))

    def score_view(self, request: Request, ports: list[Port], head_index: int) -> ScoreView:
        head = request.heads[head_index]
        if head.boxes != head.scores:
            return super().score_view(request, ports, head_index)
        port = ports[head.scores]
        raw, values = port.raw[:, None], port.values[:, None]
        if head.objectness is None:
            classes = slice(4, 4 + request.num_classes)
            return ScoreView(raw[..., classes], values[..., classes], None, port, None)
        if self.scores_by_objectness(request):
            return ScoreView(raw[..., 4:5], values[..., 4:5], None, port, None)
        classes = slice(5, 5 + request.num_classes)
        return ScoreView(raw[..., classes], values[..., classes], port.values[:, 4:5], port, port)

    def corners(self, sites: Sites) -> Float32:
        row = sites.port.values[sites.cell]
        corners = corners_from_center(row[:, 0], row[:, 1], row[:, 2], row[:, 3])
        return box_unit_corners(corners, sites.request)

    def extra(self, sites: Sites, channels: int) -> tuple[Array, Float32, Port]:
        if sites.head.boxes != sites.head.scores:
            return super().extra(sites, channels)
        port, cell = sites.port, int(sites.cell[0])
        return port.raw[cell, -channels:], port.values[cell, -channels:], port

    def keypoints(self, sites: Sites, x: Float32, y: Float32) -> tuple[Float32, Float32]:
        request = sites.request
        if (request.keypoint_unit or request.box_unit) != "Normalised":
            return x, y
        model_w, model_h = request.model_input_size
        return x * np.float32(model_w), y * np.float32(model_h)

    def visibility(self, values: Float32) -> Float32:
        return values

    def draw(self, draw: Draw, task: str, activation: str) -> Draft:
        """With or without objectness, any grid."""
        model = (draw.integer(8, 320), draw.integer(8, 320))
        _, grids = draw_grids(draw)
        classes = draw.class_count(max(w * h for w, h in grids))
        options: dict[str, Any] = {}
        extra = draw_task(draw, task, options)
        combined, has_objectness = draw.chance(0.5), draw.chance(0.5)
        normalised = draw.chance(0.3)
        if normalised:
            options["box_unit"] = "Normalised"
        unit = np.array(model, np.float32) if normalised else np.ones(2, np.float32)
        keypoint_unit = draw.one((None, "Pixels", "Normalised")) if task == POSE else None
        if keypoint_unit is not None:
            options["keypoint_unit"] = keypoint_unit
        in_pixels = keypoint_unit == "Pixels" or (keypoint_unit is None and not normalised)
        if has_objectness and classes == 1 and draw.chance(0.5):
            options["one_class_uses_objectness"] = True
        tensors: list[Tensor] = []
        heads = []
        for width, height in grids:
            center, size = draw_centers(draw, model, height, width)
            parts = {"boxes": np.concatenate([center / unit, size / unit], axis=-1)}
            if has_objectness:
                parts["objectness"] = draw_scores(draw, activation, height, width, 1) + np.float32(
                    0.5
                )
            parts["scores"] = draw_scores(draw, activation, height, width, classes)
            if extra:
                spread = float(max(model)) if task == POSE and in_pixels else 1.0
                parts["extra"] = draw_extra(draw, task, spread, height, width, extra)
            first = len(tensors)
            if combined:
                combined_tensor = Tensor("combined", np.concatenate(list(parts.values()), axis=-1))
                combined_tensor.score_channels = np.zeros(combined_tensor.target.shape[2], np.bool_)
                combined_tensor.score_channels[4 : 4 + has_objectness + classes] = True
                tensors.append(combined_tensor)
                heads.append(
                    Head(
                        first,
                        first,
                        first if has_objectness else None,
                        first if extra else None,
                    )
                )
            else:
                position = {role: first + offset for offset, role in enumerate(parts)}
                tensors += [Tensor(role, values) for role, values in parts.items()]
                heads.append(
                    Head(
                        position["boxes"],
                        position["scores"],
                        position.get("objectness"),
                        position.get("extra"),
                    )
                )
        draft = Draft(tensors, heads, model, classes, options)
        finish_task(draw, task, draft, extra)
        return draft


FAMILIES = (YoloDecoded(),)
