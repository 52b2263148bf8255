"""Scenes for the tests of boxdecode.ops: random ones, and pairs whose IoU lies where it hurts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]

THRESHOLDS = (0.3, 0.45, 0.5, 0.6, 0.65, 0.7, 1 / 3)


@dataclass(frozen=True)
class Scene:
    boxes: Floats
    scores: Floats
    class_ids: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.scores)


def from_corners(corner: npt.NDArray[np.float64], size: npt.NDArray[np.float64]) -> Floats:
    boxes: Floats = np.concatenate([corner, corner + size], axis=1).astype(np.float32)
    return boxes


def _scores(random: np.random.Generator, count: int) -> Floats:
    kind = random.integers(4)
    if kind == 0:  # many ties
        return (random.integers(-2, 6, count) / 8).astype(np.float32)
    if kind == 1:  # a detector's scores: nearly all close to 0
        return (random.random(count) ** 8).astype(np.float32)
    if kind == 2:  # logits
        return random.normal(0, 4, count).astype(np.float32)
    return random.random(count, dtype=np.float32)


def clustered(random: np.random.Generator, count: int, objects: int | None = None) -> Scene:
    objects = max(1, count // 20) if objects is None else objects
    side = np.sqrt(objects) * 120
    corner = random.uniform(-side / 2, side / 2, (objects, 2))
    size = random.uniform(4, 120, (objects, 2))
    which = random.integers(0, objects, count)
    jitter = random.uniform(-0.15, 0.15, (count, 2))
    stretch = random.uniform(0.8, 1.25, (count, 2))
    boxes = from_corners(corner[which] + size[which] * jitter, size[which] * stretch)
    return Scene(boxes, _scores(random, count), random.integers(0, 80, objects)[which])


def spread(random: np.random.Generator, count: int) -> Scene:
    """Sizes over two orders of magnitude, any aspect, negative coordinates too."""
    side = np.sqrt(count) * random.choice([10, 40, 160])
    size = np.exp(random.uniform(np.log(2), np.log(200), (count, 2)))
    boxes = from_corners(random.uniform(-side, side, (count, 2)), size)
    return Scene(boxes, _scores(random, count), random.integers(0, 5, count))


def around_a_point(random: np.random.Generator, count: int) -> Scene:
    """Every box covers one point; half of the corners on a lattice, for IoUs at the threshold."""
    half = random.uniform(0, 320, (count, 4))
    coarse = random.random(count) < 0.5
    half[coarse] = np.rint(half[coarse] / 32) * 32
    boxes = (np.array([320, 320, 320, 320]) + half * [-1, -1, 1, 1]).astype(np.float32)
    return Scene(boxes, _scores(random, count), random.integers(0, 2, count))


def lattice(random: np.random.Generator, count: int) -> Scene:
    """Small integers: touching and identical boxes, zero areas, IoUs that are simple fractions."""
    corner = random.integers(-8, 24, (count, 2)).astype(np.float64)
    size = random.integers(0, 9, (count, 2)).astype(np.float64)
    return Scene(from_corners(corner, size), _scores(random, count), random.integers(-2, 2, count))


def wild(random: np.random.Generator, count: int) -> Scene:
    """Magnitudes from underflow to overflow of the area, and far-away small boxes."""
    scale = np.exp2(random.uniform(-90, 90, (count, 1)) * random.integers(0, 2, (count, 1)))
    corner = random.uniform(-3, 3, (count, 2)) * scale
    corner += random.choice([0, 0, 60000, -1e7], (count, 1))
    boxes = from_corners(corner, random.uniform(0, 2, (count, 2)) * scale)
    return Scene(boxes, _scores(random, count), random.integers(0, 3, count) * 2**40)


def steps_from(iou: Floats, threshold: float) -> npt.NDArray[np.int64]:
    """How many floats an IoU lies above the largest float that does not exceed the threshold."""
    below = np.float32(threshold)
    if float(below) > threshold:
        below = np.nextafter(below, np.float32(-1))
    return iou.view(np.int32).astype(np.int64) - int(below.view(np.int32))


def nested_pairs(
    random: np.random.Generator, threshold: float, count: int
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Widths (p, q) whose IoU is within two floats of the threshold, and how far it is off.

    The boxes have the height 1, one lies in the other, and widths are integers below 2^24: the
    areas are exact, the union nearly always.
    """
    wide = random.integers(2**22, 2**24, 400 * count).astype(np.float32)
    narrow = np.rint(wide.astype(np.float64) * threshold).astype(np.float32)
    narrow += random.integers(-1, 2, len(wide)).astype(np.float32)
    steps = steps_from(narrow / ((narrow + wide) - narrow), threshold)
    near = np.flatnonzero(np.abs(steps) <= 2)
    assert len(near) >= count
    # The rare ones first, so that each neighbour is there.
    _, first = np.unique(steps[near], return_index=True)
    near = np.concatenate([near[first], np.delete(near, first)])[:count]
    return np.stack([narrow[near], wide[near]], axis=1).astype(np.float64), steps[near]


@cache
def _pool_of_pairs(
    threshold: float,
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    widths, steps = nested_pairs(np.random.default_rng(43), threshold, 5000)
    assert {-1, 0, 1} <= set(steps.tolist())
    return widths, steps


def on_the_edge(random: np.random.Generator, threshold: float, pairs: int) -> Scene:
    """Pairs whose IoU is the threshold or a float beside it; different pairs lie apart."""
    widths, steps = _pool_of_pairs(threshold)
    near = np.flatnonzero(np.abs(steps) <= 1)
    widths = widths[random.choice(near, pairs)]
    swapped = random.integers(0, 2, pairs).astype(bool)
    widths[swapped] = widths[swapped][:, ::-1]
    boxes = np.zeros((2 * pairs, 4))
    boxes[:, 2] = widths.reshape(-1)
    height = np.exp2(random.integers(-3, 3, pairs))
    offset = np.arange(pairs) * 64.0
    boxes[:, 1] = np.repeat(offset, 2)
    boxes[:, 3] = np.repeat(offset + height, 2)
    order = random.permutation(2 * pairs)
    scores = random.permutation(2 * pairs).astype(np.float32)
    class_ids = np.repeat(random.integers(0, 3, pairs), 2)
    return Scene(boxes.astype(np.float32)[order], scores, class_ids[order])


def any_scene(random: np.random.Generator) -> tuple[Scene, float]:
    """One of all kinds with a threshold, a few dozen boxes."""
    threshold = float(random.choice(THRESHOLDS))
    count = int(random.integers(1, 48))
    match random.integers(5):
        case 0:
            return clustered(random, count, int(random.integers(1, 6))), threshold
        case 1:
            return spread(random, count), threshold
        case 2:
            return lattice(random, count), threshold
        case 3:
            return wild(random, count), threshold
        case _:
            return on_the_edge(random, threshold, 24), threshold
