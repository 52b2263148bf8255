"""What families draw their frames with: the random source, grids, scores, boxes, tasks.

A frame's bytes follow from its seed and the order of the calls. Whoever changes one draws other
frames, which is allowed and worth a thought.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from .numeric import Array
from .request import Head

T = TypeVar("T")

DETECTION, POSE, SEGMENTATION = "Detection", "Pose", "Segmentation"

CLASS_COUNTS = (1, 1, 2, 3, 5, 15, 16, 17, 31, 32, 33, 63, 64, 65, 79, 80, 81)
GRIDS = (
    *((1, 1), (1, 1), (2, 2), (3, 5), (5, 7), (7, 5), (4, 4), (8, 8)),
    *((1, 15), (16, 1), (17, 1), (1, 31), (32, 1), (33, 1), (1, 79), (80, 1), (81, 1), (9, 9)),
)
STRIDES = (1, 2, 3, 4, 5, 7, 8, 8, 8, 12, 16, 20, 32)

_NORMALS = np.random.default_rng(20260).standard_normal(1_500_000).astype(np.float32)


@dataclass
class Tensor:
    """One port while a frame is being drawn."""

    role: str
    target: Array  # H x W x C float32
    dtype: str = "Float32"
    raw: Array = field(default_factory=lambda: np.zeros(0))
    score_channels: Array | None = None  # mask over the channels of a combined tensor


@dataclass
class Draft:
    """What a recipe's own function draws."""

    tensors: list[Tensor]
    heads: list[Head]
    model_input_size: tuple[int, int]
    num_classes: int
    options: dict[str, Any] = field(default_factory=dict)


class Draw:
    """The random source of one frame."""

    def __init__(self, seed: tuple[str, str, int]) -> None:
        name = f"{seed[0]}/{seed[1]}".encode()
        self.rng = np.random.default_rng([zlib.crc32(name), seed[2]])

    def normal(self, *shape: int) -> Array:
        """Standard normals, a window of one large table (drawing them anew is slow)."""
        count = int(np.prod(shape))
        first = int(self.rng.integers(0, len(_NORMALS) - count))
        return _NORMALS[first : first + count].reshape(shape).copy()

    def uniform(self, low: float, high: float, *shape: int) -> Array:
        return self.rng.uniform(low, high, shape).astype(np.float32)

    def chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def one(self, choices: Sequence[T]) -> T:
        return choices[int(self.rng.integers(len(choices)))]

    def integer(self, low: int, high: int) -> int:
        """Both ends included."""
        return int(self.rng.integers(low, high + 1))

    def class_count(self, cells: int, most_values: int = 9000) -> int:
        fitting = [count for count in CLASS_COUNTS if count * cells <= most_values]
        return int(self.one(fitting or [1]))


def divisors(number: int, most: int) -> list[int]:
    return [value for value in range(1, most + 1) if number % value == 0]


def draw_grids(draw: Draw, most_heads: int = 3) -> tuple[tuple[int, int], list[tuple[int, int]]]:
    """(model width, height) and the (W, H) of each head, sides dividing the model's."""
    first = GRIDS[draw.integer(0, len(GRIDS) - 1)]
    strides = [STRIDES[draw.integer(0, len(STRIDES) - 1)] for _ in range(2)]
    if draw.chance(0.7):
        strides[1] = strides[0]
    model = (first[0] * strides[0], first[1] * strides[1])
    grids = [first]
    heads = draw.integer(1, most_heads) if draw.chance(0.95) else 9
    for _ in range(heads - 1):
        columns = divisors(model[0], min(first[0], 12))
        rows = divisors(model[1], min(first[1], 12))
        grids.append(
            (columns[draw.integer(0, len(columns) - 1)], rows[draw.integer(0, len(rows) - 1)])
        )
    return model, grids


def draw_scores(draw: Draw, activation: str, *shape: int) -> Array:
    if activation == "Identity":
        return 0.35 + 0.35 * draw.normal(*shape)
    return draw.one((-1.0, -2.5)) + 2.0 * draw.normal(*shape)


def snapped(draw: Draw, values: Array) -> Array:
    """Sometimes multiples of a quarter: corners on halves, equal boxes, touching boxes."""
    return np.round(values * 4) / 4 if draw.chance(0.4) else values


def draw_distances(draw: Draw, height: int, width: int) -> Array:
    most = draw.one((1.0, 2.0, 4.0, 12.0))
    return snapped(draw, draw.uniform(-0.3, most, height, width, 4))


def draw_centers(draw: Draw, model: tuple[int, int], *shape: int) -> tuple[Array, Array]:
    """Centres and sizes in model pixels, shape (..., 2) each."""
    frame = np.array(model, np.float32)
    if draw.chance(0.15):  # a few pixels, on eighths: rounded corners say more than the area
        center = draw.rng.integers(0, 41, (*shape, 2)) / np.float32(8)
        size = draw.rng.integers(2, 21, (*shape, 2)) / np.float32(8)
        return center.astype(np.float32), size.astype(np.float32)
    center = draw.uniform(0, 1, *shape, 2) * frame
    size = draw.uniform(0.01, draw.one((0.3, 1.0)), *shape, 2) * frame
    return snapped(draw, center), snapped(draw, size)


def draw_task(
    draw: Draw, task: str, options: dict[str, Any], coefficients: int | None = None
) -> int:
    """Channels of the extra role per anchor (0 for none)."""
    if task == POSE:
        keypoints = int(draw.one((1, 2, 5, 17, 17, 33)))
        options["num_keypoints"] = keypoints
        dims = 2 if draw.chance(0.3) else 3
        options["keypoint_dims"] = dims
        return dims * keypoints
    if task == SEGMENTATION:
        return coefficients or int(draw.one((1, 3, 8, 15, 16, 17, 32, 32, 33, 64)))
    return 0


def draw_extra(draw: Draw, task: str, spread: float, *shape: int) -> Array:
    values = draw.normal(*shape)
    if task == POSE:
        return values * np.float32(spread)
    return values * np.float32(0.5)


def finish_task(draw: Draw, task: str, draft: Draft, channels: int) -> None:
    """Adds the mask prototype."""
    if task == SEGMENTATION:
        height, width = draw.integer(1, 13), draw.integer(1, 18)
        prototype = Tensor("prototype", draw.normal(height, width, channels))
        position = draw.integer(0, len(draft.tensors))
        draft.tensors.insert(position, prototype)
        for index, head in enumerate(draft.heads):
            moved = {
                role: port + 1
                for role, port in head._asdict().items()
                if port is not None and port >= position
            }
            draft.heads[index] = head._replace(**moved)
        draft.options["mask_prototype"] = position
        draft.options["mask_encoding"] = draw.one(("Probability", "Binary"))


def draw_anchors(
    draw: Draw, heads: int, anchors: int, spread: float
) -> list[list[tuple[float, float]]]:
    sizes = draw.uniform(1, spread, heads, anchors, 2)
    return [[(float(w), float(h)) for w, h in level] for level in sizes]


def draw_split_heads(
    draw: Draw,
    task: str,
    activation: str,
    draw_boxes: Callable[[int, int, int], Array],
    has_objectness: bool = False,
) -> Draft:
    """Heads with a port for each role; `draw_boxes` makes boxes of (height, width, bins)."""
    model, grids = draw_grids(draw)
    classes = draw.class_count(max(w * h for w, h in grids))
    options: dict[str, Any] = {}
    extra = draw_task(draw, task, options)
    bins = int(draw.one((2, 3, 7, 8, 15, 16, 16, 17, 31, 33, 64)))
    if max(w * h for w, h in grids) > 20:
        bins = min(bins, 17)
    tensors: list[Tensor] = []
    heads = []
    for width, height in grids:
        boxes = draw_boxes(height, width, bins)
        ports = [len(tensors), len(tensors) + 1]
        tensors.append(Tensor("boxes", boxes))
        tensors.append(Tensor("scores", draw_scores(draw, activation, height, width, classes)))
        objectness = extra_port = None
        if has_objectness:
            objectness = len(tensors)
            scores = draw_scores(draw, activation, height, width, 1) + np.float32(0.5)
            tensors.append(Tensor("objectness", scores))
        if extra:
            extra_port = len(tensors)
            tensors.append(Tensor("extra", draw_extra(draw, task, 2.0, height, width, extra)))
        heads.append(Head(ports[0], ports[1], objectness, extra_port))
    draft = Draft(tensors, heads, model, classes, options)
    finish_task(draw, task, draft, extra)
    return draft
