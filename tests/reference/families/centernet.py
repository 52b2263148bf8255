"""CenterNet: a heat map whose every class of every cell counts, sizes and offsets in cells."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..boxes import Sites, corners_from_center
from ..drawing import GRIDS, Draft, Draw, Tensor, draw_scores, snapped
from ..family import Family
from ..numeric import ZERO, Float32, activate
from ..request import Head, Request
from ..scores import Candidates, Port, eligible


class CenterNet(Family):
    name = "CenterNetV1"
    takes = Family.takes | {"peak_window"}
    suppresses = False

    def scores(self, request: Request, ports: list[Port], head_index: int) -> Candidates:
        """Every class of every cell; optionally only peaks of the 3 x 3 neighbourhood."""
        port = ports[request.heads[head_index].scores]
        score = activate(port.values, self.score_activation(request))
        passes = np.ones(score.shape, dtype=np.bool_)
        if request.peak_window == 3:
            if port.is_quantized:
                keys = port.raw.astype(np.float64)
            else:
                # An infinite heat is below a NaN: squeeze the numbers, put NaN on top.
                finite = np.clip(port.values.astype(np.float64), -1e39, 1e39)
                keys = np.where(np.isnan(port.values), np.inf, finite)
            keys = keys.reshape(port.grid_h, port.grid_w, -1)
            padded = np.pad(keys, ((1, 1), (1, 1), (0, 0)), constant_values=-np.inf)
            peak = np.ones(keys.shape, dtype=np.bool_)
            for dy in range(3):
                for dx in range(3):
                    peak &= keys >= padded[dy : dy + port.grid_h, dx : dx + port.grid_w]
            passes = peak.reshape(score.shape)
        cell, class_id = np.nonzero(passes & eligible(request, score))
        return Candidates(
            np.full(len(cell), head_index, dtype=np.int64),
            cell.astype(np.int64),
            np.zeros(len(cell), dtype=np.int64),
            class_id.astype(np.int64),
            score[cell, class_id] + ZERO,
        )

    def corners(self, sites: Sites) -> Float32:
        assert sites.head.extra is not None
        size = sites.port.values[sites.cell]
        offset = sites.ports[sites.head.extra].values[sites.cell]
        return corners_from_center(
            (sites.gx + offset[:, 0]) * sites.sx,
            (sites.gy + offset[:, 1]) * sites.sy,
            size[:, 0] * sites.sx,
            size[:, 1] * sites.sy,
        )

    def draw(self, draw: Draw, task: str, activation: str) -> Draft:
        width, height = GRIDS[draw.integer(0, len(GRIDS) - 1)]
        model = (width * draw.integer(1, 8), height * draw.integer(1, 8))
        classes = draw.class_count(width * height, 4000)
        options: dict[str, Any] = {}
        if draw.chance(0.6):
            options["peak_window"] = 3
        tensors = [
            Tensor("scores", snapped(draw, draw_scores(draw, activation, height, width, classes))),
            Tensor("boxes", draw.uniform(0.2, 6, height, width, 2)),
            Tensor("extra", draw.uniform(-0.2, 1.2, height, width, 2)),
        ]
        return Draft(tensors, [Head(1, 0, None, 2)], model, classes, options)


FAMILIES = (CenterNet(),)
