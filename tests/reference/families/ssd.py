"""The SSDs: four published signatures of six levels, class 0 is background and keeps its index."""

from __future__ import annotations

import numpy as np

from .. import priors
from ..boxes import Sites, corners_from_center, scale_corners
from ..drawing import Draft, Draw, Tensor
from ..family import Family
from ..numeric import (
    LOG_SIZE_LIMIT,
    Array,
    Bool,
    Float32,
    exp32,
    minimum,
    sigmoid,
    softmax_exponents,
    sum_four,
)
from ..request import Head, Request
from ..scores import Candidates, Port, emit, first_best, pick


class Ssd(Family):
    takes = frozenset()
    resize = "Stretch"
    fixed_signature = True
    takes_any_tile = True
    side = 320
    #: Channels are [coordinate or class][anchor], not the other way round.
    part_major = False

    def anchor_count(self, request: Request, head_index: int) -> int:
        return priors.SSD_ANCHORS[self.name][head_index]

    def anchor_rows(self, array: Array, anchors: int) -> Array:
        """(cells, anchors, channels of one anchor)."""
        if self.part_major:
            rows = array.reshape(len(array), -1, anchors).transpose(0, 2, 1)
            return np.ascontiguousarray(rows)
        return array.reshape(len(array), anchors, -1)

    def scores(self, request: Request, ports: list[Port], head_index: int) -> Candidates:
        """One best foreground class per prior."""
        port = ports[request.heads[head_index].scores]
        anchors = self.anchor_count(request, head_index)
        raw, values = self.anchor_rows(port.raw, anchors), self.anchor_rows(port.values, anchors)
        foreground = slice(1, request.num_classes)
        by_raw_bits = self.raw_keys and port.dtype == "BFloat16" and port.is_dense
        class_id = 1 + first_best(raw[..., foreground], values[..., foreground], port, by_raw_bits)
        passes: Bool = np.ones(class_id.shape, dtype=np.bool_)
        score: Float32
        if self.activation == "Sigmoid":
            score = sigmoid(pick(values, class_id))
        else:
            exponents = softmax_exponents(raw, values, port.dtype, port.quantization)
            with np.errstate(all="ignore"):
                score = (pick(exponents, class_id) / sum_four(exponents)).astype(np.float32)
            if not port.is_quantized:
                passes &= ~(np.isnan(values) | np.isposinf(values)).any(axis=-1)
        return emit(request, head_index, class_id, score, passes)

    def corners(self, sites: Sites) -> Float32:
        """Variances .1 and .2, normalised corners, then pixels."""
        anchors = self.anchor_count(sites.request, sites.head_index)
        rows = self.anchor_rows(sites.port.values, anchors)[sites.cell, sites.anchor]
        if self.raw_keys:
            rows = rows[:, [1, 0, 3, 2]]  # [ty, tx, th, tw]
        table = priors.ssd_priors(self.name, sites.head_index)
        prior = table[sites.cell * anchors + sites.anchor]
        center_variance, size_variance = np.float32(0.1), np.float32(0.2)
        cx = center_variance * rows[:, 0] * prior[:, 2] + prior[:, 0]
        cy = center_variance * rows[:, 1] * prior[:, 3] + prior[:, 1]
        width = exp32(minimum(size_variance * rows[:, 2], LOG_SIZE_LIMIT)) * prior[:, 2]
        height = exp32(minimum(size_variance * rows[:, 3], LOG_SIZE_LIMIT)) * prior[:, 3]
        return scale_corners(corners_from_center(cx, cy, width, height), sites.request)

    def draw_class_counts(self, draw: Draw) -> tuple[int, int]:
        """Encoded classes and those that are read."""
        classes = int(draw.one((91, 2, 3, 5, 9, 17)))
        return classes, classes

    def draw(self, draw: Draw, task: str, activation: str) -> Draft:
        encoded, classes = self.draw_class_counts(draw)
        grids, counts = priors.SSD_GRIDS[self.name], priors.SSD_ANCHORS[self.name]
        tensors: list[Tensor] = []
        heads = []
        for grid, anchors in zip(grids, counts, strict=True):
            boxes = draw.normal(grid, grid, 4 * anchors)
            scores = draw.normal(grid, grid, anchors, encoded)
            if self.activation == "Sigmoid":
                scores -= np.float32(4)
            else:
                scores[..., 0] += np.float32(3)
            if self.part_major:
                scores = scores.transpose(0, 1, 3, 2)
            first = len(tensors)
            tensors.append(Tensor("boxes", boxes))
            tensors.append(Tensor("scores", scores.reshape(grid, grid, -1)))
            heads.append(Head(first, first + 1))
        if draw.chance(0.5):  # all boxes first, then all scores
            tensors = tensors[0::2] + tensors[1::2]
            heads = [Head(level, level + 6) for level in range(6)]
        return Draft(tensors, heads, (self.side, self.side), classes)


class Ssd300(Ssd):
    name = "Ssd300V1"
    activation = "Softmax"
    side = 300
    part_major = True
    may_read_fewer_classes = True
    frames_are_large = True

    def draw_class_counts(self, draw: Draw) -> tuple[int, int]:
        return 81, int(draw.one((81, 81, 2, 21, 80)))


class SsdMobile320(Ssd):
    name = "SsdMobile320V1"
    raw_keys = True


class SsdMobile300(SsdMobile320):
    name = "SsdMobile300V1"
    side = 300


class SsdLiteMobile320(Ssd):
    name = "SsdLiteMobile320V1"
    activation = "Softmax"


FAMILIES = (Ssd300(), SsdMobile300(), SsdMobile320(), SsdLiteMobile320())
