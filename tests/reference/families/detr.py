"""DETR: one grid of queries, softmax over the classes and a final background, no suppression."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..boxes import Sites, corners_from_center, scale_corners
from ..drawing import GRIDS, Draft, Draw, Tensor
from ..family import Family
from ..numeric import Bool, Float32, activate, softmax_exponents, sum_four
from ..request import Head, Request
from ..scores import Candidates, Port, emit, first_best, pick


class Detr(Family):
    name = "DetrV1"
    takes = frozenset({"box_activation", "resize", "model_input_size"})
    activation = "Softmax"
    resize = "Stretch"
    suppresses = False

    def scores(self, request: Request, ports: list[Port], head_index: int) -> Candidates:
        """Softmax over the classes and the background; a nonfinite logit discards the query."""
        port = ports[request.heads[head_index].scores]
        classes = request.num_classes
        class_id = first_best(port.raw[:, :classes], port.values[:, :classes], port)
        exponents = softmax_exponents(port.raw, port.values, port.dtype, port.quantization)
        with np.errstate(all="ignore"):
            score = (pick(exponents, class_id) / sum_four(exponents)).astype(np.float32)
        passes: Bool = np.ones(len(port.raw), dtype=np.bool_)
        if not port.is_quantized:
            passes &= np.isfinite(port.values).all(axis=-1)
        return emit(request, head_index, class_id[:, None], score[:, None], passes[:, None])

    def corners(self, sites: Sites) -> Float32:
        row = activate(sites.port.values[sites.cell], sites.request.box_activation)
        corners = corners_from_center(row[:, 0], row[:, 1], row[:, 2], row[:, 3])
        return scale_corners(corners, sites.request)

    def draw(self, draw: Draw, task: str, activation: str) -> Draft:
        model = (draw.integer(8, 400), draw.integer(8, 400))
        width, height = GRIDS[draw.integer(0, len(GRIDS) - 1)]
        classes = draw.class_count(width * height)
        options: dict[str, Any] = {}
        boxes = draw.uniform(0, 1, height, width, 4)
        if draw.chance(0.3):
            options["box_activation"] = "Sigmoid"
            boxes = draw.normal(height, width, 4)
        scores = np.float32(2) * draw.normal(height, width, classes + 1)
        tensors = [Tensor("boxes", boxes), Tensor("scores", scores)]
        return Draft(tensors, [Head(0, 1)], model, classes, options)


FAMILIES = (Detr(),)
