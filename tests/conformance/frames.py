"""Frames for the conformance suite: requests with raw tensors, each from one printed seed.

A frame is drawn as floats that make sense for its recipe, then converted to the dtypes of its
ports, then disturbed (ties, saturation, NaN, infinities, signed zeros, subnormals). Grids are
small; class and cell counts lie around the widths of vector registers.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
from reference import (
    Affine,
    Contiguous,
    Head,
    MlaCBlocked,
    Planar,
    RefusalError,
    Request,
    Strided,
    TensorSpec,
    decode,
    numeric,
    priors,
)
from reference.layouts import Layout, align16
from reference.numeric import Array

T = TypeVar("T")

DETECTION, POSE, SEGMENTATION = "Detection", "Pose", "Segmentation"

#: Every recipe: the tasks of each profile.
TASKS: dict[str, tuple[str, ...]] = {
    "Yolo26V1": (DETECTION, POSE, SEGMENTATION),
    "Yolo8V1": (DETECTION, POSE, SEGMENTATION),
    "YoloXV1": (DETECTION,),
    "Yolo6V1": (DETECTION,),
    "YoloDecodedV1": (DETECTION, POSE, SEGMENTATION),
    "Yolo5V1": (DETECTION, SEGMENTATION),
    "Yolo7V1": (DETECTION, SEGMENTATION),
    "YoloAnchorDecodedV1": (DETECTION, SEGMENTATION),
    "EfficientDetV1": (DETECTION,),
    "DetrV1": (DETECTION,),
    "CenterNetV1": (DETECTION,),
    "RcnnStage1V1": (DETECTION,),
    "Ssd300V1": (DETECTION,),
    "SsdMobile300V1": (DETECTION,),
    "SsdMobile320V1": (DETECTION,),
    "SsdLiteMobile320V1": (DETECTION,),
}
RECIPES = [(profile, task) for profile, tasks in TASKS.items() for task in tasks]

DTYPES = ("Int8", "UInt8", "BFloat16", "Float16", "Float32")
BLOCKED_DTYPES = ("Int8", "UInt8", "BFloat16")
NO_SUPPRESSION = ("DetrV1", "CenterNetV1")
FIXED_ACTIVATION = (
    "Yolo5V1",
    "Yolo7V1",
    "RcnnStage1V1",
    "DetrV1",
    *decode.SSD_PROFILES,
)

CONTENTS = (
    "plain",
    "plain",
    "crowded",
    "tied",
    "few levels",
    "saturated",
    "special",
    "special",
    "zeros",
    "tiny",
    "empty",
)
CLASS_COUNTS = (1, 1, 2, 3, 5, 15, 16, 17, 31, 32, 33, 63, 64, 65, 79, 80, 81)
GRIDS = (
    *((1, 1), (1, 1), (2, 2), (3, 5), (5, 7), (7, 5), (4, 4), (8, 8)),
    *((1, 15), (16, 1), (17, 1), (1, 31), (32, 1), (33, 1), (1, 79), (80, 1), (81, 1), (9, 9)),
)
STRIDES = (1, 2, 3, 4, 5, 7, 8, 8, 8, 12, 16, 20, 32)
NMS_THRESHOLDS = (
    0.0,
    0.0,
    0.0019,
    0.002,
    0.1,
    0.3,
    0.45,
    0.5,
    0.6,
    0.65,
    0.7,
    0.998,
    0.998047,
    1.0,
)

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


@dataclass
class Frame:
    """A request whose ports are all Contiguous, its raw tensors, and how it was drawn."""

    request: Request
    tensors: list[Array]
    roles: list[str]
    seed: tuple[str, str, int]
    content: str

    def __str__(self) -> str:
        ports = [
            f"{role} {spec.dtype} {'x'.join(map(str, spec.shape))}"
            for role, spec in zip(self.roles, self.request.inputs, strict=True)
        ]
        facts = replace(self.request, inputs=[])
        return f"frame {self.seed} ({self.content}): {ports} {facts}"


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


# ---- the recipes ---------------------------------------------------------------------------------


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


def draw_bins(draw: Draw, bins: int, height: int, width: int) -> Array:
    logits = draw.one((0.5, 2.0, 8.0)) * draw.normal(height, width, 4, bins)
    if draw.chance(0.5):
        peak = draw.rng.integers(0, bins, (height, width, 4, 1))
        np.put_along_axis(logits, peak, np.float32(12), axis=-1)
    return logits.reshape(height, width, 4 * bins)


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


def draw_split_yolo(draw: Draw, profile: str, task: str, activation: str) -> Draft:
    """Yolo26V1, Yolo6V1, Yolo8V1, YoloXV1."""
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
        if profile == "Yolo8V1":
            boxes = draw_bins(draw, bins, height, width)
        elif profile == "YoloXV1":
            boxes = draw.normal(height, width, 4) * np.float32(0.6) + np.float32(0.4)
            boxes = snapped(draw, boxes)
        else:
            boxes = draw_distances(draw, height, width)
        ports = [len(tensors), len(tensors) + 1]
        tensors.append(Tensor("boxes", boxes))
        tensors.append(Tensor("scores", draw_scores(draw, activation, height, width, classes)))
        objectness = extra_port = None
        if profile == "YoloXV1":
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


def draw_decoded(draw: Draw, task: str, activation: str) -> Draft:
    """YoloDecodedV1: roles apart or combined, with or without objectness, any grid."""
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
            parts["objectness"] = draw_scores(draw, activation, height, width, 1) + np.float32(0.5)
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


def draw_anchors(
    draw: Draw, heads: int, anchors: int, spread: float
) -> list[list[tuple[float, float]]]:
    sizes = draw.uniform(1, spread, heads, anchors, 2)
    return [[(float(w), float(h)) for w, h in level] for level in sizes]


def draw_anchor_yolo(draw: Draw, task: str) -> Draft:
    """Yolo5V1, Yolo7V1: combined heads, the profile's table or an explicit one."""
    options: dict[str, Any] = {}
    if draw.chance(0.4):
        levels = 3 if draw.chance(0.7) else 4
        unit = 8 << (levels - 1)
        model = (unit * draw.integer(1, 2), unit)
        grids = [(model[0] // stride, model[1] // stride) for stride in (8, 16, 32, 64)[:levels]]
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


def draw_anchor_decoded(draw: Draw, task: str, activation: str) -> Draft:
    """YoloAnchorDecodedV1: xy, wh and [obj, classes] apart, anchor-major, any grid."""
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


def draw_ssd(draw: Draw, profile: str) -> Draft:
    """The four complete signatures; other encoded class counts where the recipe allows them."""
    if profile == "Ssd300V1":
        encoded = 81
        classes = int(draw.one((81, 81, 2, 21, 80)))
        model = (300, 300)
    else:
        encoded = classes = int(draw.one((91, 2, 3, 5, 9, 17)))
        model = (300, 300) if profile == "SsdMobile300V1" else (320, 320)
    sigmoid = profile in decode.RAW_KEY_PROFILES
    tensors: list[Tensor] = []
    heads = []
    for grid, anchors in zip(priors.SSD_GRIDS[profile], priors.SSD_ANCHORS[profile], strict=True):
        boxes = draw.normal(grid, grid, 4 * anchors)
        scores = draw.normal(grid, grid, anchors, encoded)
        if sigmoid:
            scores -= np.float32(4)
        else:
            scores[..., 0] += np.float32(3)
        if profile == "Ssd300V1":
            scores = scores.transpose(0, 1, 3, 2)
        first = len(tensors)
        tensors.append(Tensor("boxes", boxes))
        tensors.append(Tensor("scores", scores.reshape(grid, grid, -1)))
        heads.append(Head(first, first + 1))
    if draw.chance(0.5):  # all boxes first, then all scores
        tensors = tensors[0::2] + tensors[1::2]
        heads = [Head(level, level + 6) for level in range(6)]
    return Draft(tensors, heads, model, classes)


def draw_efficientdet(draw: Draw, activation: str) -> Draft:
    model = (draw.integer(8, 200), draw.integer(8, 200))
    grids = [(draw.integer(1, 5), draw.integer(1, 5)) for _ in range(draw.integer(1, 3))]
    classes = draw.class_count(max(w * h for w, h in grids) * 9)
    options: dict[str, Any] = {}
    if draw.chance(0.4):
        options["anchor_scale"] = draw.one((1.0, 3.0, 0.7, 5.0))
    tensors: list[Tensor] = []
    heads = []
    for width, height in grids:
        heads.append(Head(len(tensors), len(tensors) + 1))
        spread = draw.one((np.float32(0.4), np.float32(0.4), np.float32(3)))
        boxes = spread * draw.normal(height, width, 36)
        tensors.append(Tensor("boxes", boxes))
        tensors.append(Tensor("scores", draw_scores(draw, activation, height, width, 9 * classes)))
    return Draft(tensors, heads, model, classes, options)


def draw_detr(draw: Draw) -> Draft:
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


def draw_centernet(draw: Draw, activation: str) -> Draft:
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


def draw_rcnn(draw: Draw) -> Draft:
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


def draw_recipe(draw: Draw, profile: str, task: str, activation: str) -> Draft:
    if profile in ("Yolo26V1", "Yolo6V1", "Yolo8V1", "YoloXV1"):
        return draw_split_yolo(draw, profile, task, activation)
    if profile == "YoloDecodedV1":
        return draw_decoded(draw, task, activation)
    if profile in decode.ANCHOR_YOLO_PROFILES:
        return draw_anchor_yolo(draw, task)
    if profile == "YoloAnchorDecodedV1":
        return draw_anchor_decoded(draw, task, activation)
    if profile in decode.SSD_PROFILES:
        return draw_ssd(draw, profile)
    if profile == "EfficientDetV1":
        return draw_efficientdet(draw, activation)
    if profile == "DetrV1":
        return draw_detr(draw)
    if profile == "CenterNetV1":
        return draw_centernet(draw, activation)
    return draw_rcnn(draw)


# ---- contents and dtypes -------------------------------------------------------------------------


def is_score(tensor: Tensor) -> bool:
    return tensor.role in ("scores", "objectness", "combined")


def shape_content(draw: Draw, tensor: Tensor, content: str, activation: str) -> None:
    """Changes the float targets of score tensors and of the score channels of combined ones."""
    if tensor.score_channels is not None:
        scores = tensor.target[:, :, tensor.score_channels]
        tensor.target[:, :, tensor.score_channels] = shaped(draw, scores, content, activation)
    elif is_score(tensor):
        tensor.target = shaped(draw, tensor.target, content, activation)


def shaped(draw: Draw, values: Array, content: str, activation: str) -> Array:
    """Scores of the drawn content."""
    identity = activation == "Identity"
    if content == "crowded":
        values = values + np.float32(0.4 if identity else 3)
    elif content == "tied":
        values = np.full_like(values, draw.one((0.3, 0.5, 0.9) if identity else (-1, 0, 2)))
    elif content == "few levels":
        values = np.round(values * 2) / 2
    elif content == "saturated":
        values = np.where(values > 0.5, 1, 0) if identity else np.sign(values) * 95
    elif content == "zeros":
        values = np.where(draw.rng.random(values.shape) < 0.5, -0.0, 0.0)
    elif content == "tiny":
        centered = values - np.float32(0.35 if identity else 0)
        values = centered * draw.one((1e-43, 1e-39, 1e-20, 1e-7))
    elif content == "empty":
        values = values * 0 - np.float32(1 if identity else 12)
    return values.astype(np.float32)


def quantization_of(draw: Draw, tensor: Tensor, content: str) -> tuple[float, int]:
    """A scale and zero point: fitting the values, a round number, or near the limits of FP32."""
    low, high = (-128, 127) if tensor.dtype == "Int8" else (0, 255)
    least, most = float(tensor.target.min()), float(tensor.target.max())
    if least == most:
        least, most = min(least, 0.0), max(most, 0.0, least + 1e-3)
    scale = np.float32((most - least) / 255 * draw.rng.uniform(0.7, 1.5))
    scale = max(scale, np.float32(2**-149))
    zero_point = int(np.clip(round(low - least / float(scale)), low, high))
    if content == "saturated" and draw.chance(0.15):
        scale = np.float32(draw.one((1e38, 3e37, 1e-40, 2.0)))
    elif draw.chance(0.2):
        scale = np.float32(draw.one((0.5, 0.25, 0.125, 0.0625, 1 / 256)))
        zero_point = draw.one((low, 0, high, 1, zero_point))
        zero_point = int(np.clip(zero_point, low, high))
    return float(scale), zero_point


def quantize(tensor: Tensor, scale: float, zero_point: int) -> None:
    """Fills `raw` of an integer port."""
    low, high = (-128, 127) if tensor.dtype == "Int8" else (0, 255)
    steps = np.round(tensor.target.astype(np.float64) / scale) + zero_point
    tensor.raw = np.clip(steps, low, high).astype(numeric.RAW_TYPE[tensor.dtype])


# Quiet and signalling NaN of both signs, infinities, zeros, subnormals, the largest numbers.
_SPECIAL_32 = (
    *(0x7FC00000, 0xFFC00001, 0x7F800001, 0xFF812345, 0x7F800000, 0xFF800000, 0x00000000),
    *(0x80000000, 0x00000001, 0x80000001, 0x007FFFFF, 0x7F7FFFFF, 0xFF7FFFFF),
)
_SPECIAL_16 = {
    "BFloat16": (
        *(0x7FC0, 0xFFC1, 0x7F81, 0xFF92, 0x7F80, 0xFF80, 0x0000),
        *(0x8000, 0x0001, 0x8001, 0x007F, 0x7F7F, 0xFF7F),
    ),
    "Float16": (
        *(0x7E00, 0xFE01, 0x7C01, 0xFC02, 0x7C00, 0xFC00, 0x0000),
        *(0x8000, 0x0001, 0x8001, 0x03FF, 0x7BFF, 0xFBFF),
    ),
}


def sprinkle(draw: Draw, tensor: Tensor) -> None:
    """Overwrites a few raw elements with NaN of both signs, infinities, zeros, subnormals."""
    if not is_score(tensor) and draw.chance(0.5):
        return
    raw = tensor.raw
    channels = raw.shape[2]
    probability = min(0.1, float(draw.one((0.3, 1.0))) / channels)
    where = np.nonzero(draw.rng.random(raw.shape, dtype=np.float32) < probability)
    if tensor.dtype in numeric.QUANTIZED:
        limits = np.iinfo(raw.dtype)
        pool = np.array([limits.min, limits.max, limits.max - 1, limits.min + 1], raw.dtype)
    elif tensor.dtype == "Float32":
        pool = np.array(_SPECIAL_32, np.uint32)
    else:
        pool = np.array(_SPECIAL_16[tensor.dtype], np.uint16)
    if draw.chance(0.3):  # one kind only, so that the other cells survive
        pool = pool[[draw.integer(0, len(pool) - 1)]]
    chosen = pool[draw.rng.integers(0, len(pool), len(where[0]))]
    bits = raw.view(np.uint32) if tensor.dtype == "Float32" else raw
    bits[where] = chosen


def convert(tensor: Tensor) -> None:
    """Raw elements of a float port."""
    if tensor.dtype == "BFloat16":
        tensor.raw = numeric.float32_to_bfloat16(tensor.target)
    elif tensor.dtype == "Float16":
        tensor.raw = numeric.float32_to_float16(tensor.target)
    else:
        tensor.raw = np.ascontiguousarray(tensor.target, dtype=np.float32).copy()


# ---- frames --------------------------------------------------------------------------------------


def draw_threshold(draw: Draw, request: Request, tensors: list[Array]) -> float:
    """0, a typical value, or exactly one of the frame's scores."""
    kind = draw.one(("zero", "typical", "typical", "lattice", "lattice", "high"))
    if kind == "typical":
        return float(draw.one((0.05, 0.25, 0.3, 0.5, 0.6)))
    if kind == "high":
        return float(draw.one((0.75, 0.9, 0.999)))
    if kind == "zero" and request.profile not in decode.SSD_PROFILES:
        return 0.0
    ports = decode.open_ports(request, tensors)
    scores = decode.scan(request, ports).score
    inside = scores[(scores > 0) & (scores < 1)]
    if not inside.size:
        return 0.0
    if request.profile in decode.SSD_PROFILES:  # thousands of priors: keep the frame fast
        inside = inside[: draw.integer(1, 400)]
        return float(inside[-1])
    return float(draw.one(list(inside)))


LARGEST_SIDE = 1_048_576


def magnifier(draw: Draw, model: tuple[int, int]) -> Affine:
    """Enlarges a part of the model frame so much that whole image pixels show the last bits.

    Multiplying by a power of two is exact, so what is published is the corner itself.
    """
    values = []
    part = draw.one((2, 8))
    for side in model:
        window = 2.0 ** np.ceil(np.log2(max(1, side // part)))
        scale = LARGEST_SIDE / window
        values += [scale, -draw.integer(0, side) * scale]
    return Affine(*values)


def draw_image(
    draw: Draw, profile: str, model: tuple[int, int]
) -> tuple[tuple[int, int], str | Affine | None]:
    if draw.chance(0.25):
        image = (LARGEST_SIDE, LARGEST_SIDE - draw.one((0, 0, 1, 577)))
        if profile in decode.SSD_PROFILES:
            return image, None
        return image, magnifier(draw, model)
    kind = draw.integer(0, 4)
    if kind == 0:
        image = model
    elif kind == 1:
        image = (draw.integer(1, 5), draw.integer(1, 5000))
    elif kind == 2:
        image = (draw.integer(1, 4000), draw.integer(1, 10))
    else:
        image = (draw.integer(20, 2000), draw.integer(20, 2000))
    if profile in decode.SSD_PROFILES:
        return image, draw.one((None, "Stretch"))
    policies = (None, None, "CenteredLetterbox", "TopLeftLetterbox", "Stretch", "Affine")
    policy = draw.one(policies)
    if policy == "Affine":
        scales, offsets = draw.uniform(0.1, 5, 2), draw.uniform(-60, 60, 2)
        return image, Affine(
            float(scales[0]), float(offsets[0]), float(scales[1]), float(offsets[1])
        )
    return image, policy


def make_frame(profile: str, task: str, index: int) -> Frame:
    """The frame of one seed."""
    with np.errstate(all="ignore"):
        return _make_frame(profile, task, index)


def _make_frame(profile: str, task: str, index: int) -> Frame:
    seed = (profile, task, index)
    draw = Draw(seed)
    content = str(draw.one(CONTENTS))
    activation: str | None = None
    if profile not in FIXED_ACTIVATION:
        activation = str(draw.one(("Sigmoid", "Sigmoid", "Identity")))
    draft = draw_recipe(draw, profile, task, activation or "Sigmoid")
    for tensor in draft.tensors:
        shape_content(draw, tensor, content, activation or "Sigmoid")
    dtype = DTYPES[index % len(DTYPES)]
    mixed = draw.chance(0.15)
    # Equal parameters on several ports: what a plan may share must not depend on the port.
    shared: dict[tuple[str, str], tuple[float, int]] | None = {} if draw.chance(0.2) else None
    quantization = {}
    for port, tensor in enumerate(draft.tensors):
        tensor.dtype = str(draw.one(DTYPES)) if mixed else dtype
        if tensor.dtype in numeric.QUANTIZED:
            entry = quantization_of(draw, tensor, content)
            if shared is not None:
                entry = shared.setdefault((tensor.role, tensor.dtype), entry)
            quantization[port] = entry
            quantize(tensor, *entry)
        else:
            convert(tensor)
        if content == "special":
            sprinkle(draw, tensor)
    image, policy = draw_image(draw, profile, draft.model_input_size)
    options = dict(draft.options)
    if profile not in NO_SUPPRESSION and draw.chance(0.25):
        options["class_agnostic"] = True
    specs = []
    for tensor in draft.tensors:
        height, width, channels = tensor.raw.shape
        specs.append(TensorSpec((height, width, channels), tensor.dtype))
    request = Request(
        inputs=specs,
        profile=profile,
        heads=draft.heads,
        model_input_size=draft.model_input_size,
        original_image_size=image,
        num_classes=draft.num_classes,
        max_detections=int(draw.one((1, 2, 3, 7, 20, 150))),
        detection_threshold=0.0,
        nms_iou_threshold=float(draw.one(NMS_THRESHOLDS)),
        task=task,
        score_activation=activation,
        quantization=quantization,
        resize=policy,
        **options,
    )
    if activation is None and draw.chance(0.3):
        request.score_activation = decode.score_activation(request)
    tensors = [tensor.raw for tensor in draft.tensors]
    if image[0] == LARGEST_SIDE and draw.chance(0.6):
        # Many boxes in a large image: their last bits show.
        request.max_detections, request.nms_iou_threshold = 400, 1.0
    request.detection_threshold = draw_threshold(draw, request, tensors)
    if task == SEGMENTATION:
        request.max_detections = min(request.max_detections, 20)
    # Drawn last, so that what was drawn before does not depend on it.
    if profile not in NO_SUPPRESSION and draw.chance(0.3):
        request.suppression_corners = "Exact"
    return Frame(request, tensors, [tensor.role for tensor in draft.tensors], seed, content)


# ---- layouts -------------------------------------------------------------------------------------


def needs_whole_channel_blocks(request: Request, role: str) -> bool:
    """Ports whose physical channels, where padded, must be a multiple of 16."""
    if role == "combined":
        return True
    if request.profile == "EfficientDetV1":
        return role == "scores"
    if request.profile == "YoloAnchorDecodedV1":
        return role == "scores"
    with_objectness = any(head.objectness is not None for head in request.heads)
    return (
        request.profile == "YoloDecodedV1"
        and with_objectness
        and role
        in (
            "scores",
            "objectness",
        )
    )


def draw_layout(draw: Draw, request: Request, spec: TensorSpec, role: str, family: str) -> Layout:
    """One layout of a family that this port takes; Contiguous where the family is not allowed."""
    height, width, channels = spec.shape
    if family == "Planar":
        return Planar()
    if family == "Strided":
        if needs_whole_channel_blocks(request, role) or draw.chance(0.4):
            choices = [align16(channels), align16(channels) + 16]
            if draw.chance(0.2):
                choices = [channels]
            return Strided(int(draw.one(choices)))
        return Strided(channels + draw.integer(1, 19))
    if family == "MlaCBlocked" and spec.dtype in BLOCKED_DTYPES:
        tile_h = draw.integer(1, height + 1)
        tile_w = draw.integer(1, width + 1)
        any_tile = request.profile in decode.SSD_PROFILES or (
            spec.dtype == "BFloat16" and role != "combined" and request.profile != "EfficientDetV1"
        )
        whole = [16, 32, align16(channels), channels, channels + 5]
        if any_tile:
            whole += [draw.integer(1, channels), 24, 40, 7]
        return MlaCBlocked(tile_h, tile_w, int(draw.one(whole)))
    return Contiguous()


FAMILIES = ("Contiguous", "Strided", "MlaCBlocked", "Planar")


def with_layouts(frame: Frame, variant: str) -> Request:
    """The same request with every port in one family of layouts, or "mixed"."""
    if variant == "Contiguous":
        return frame.request
    draw = Draw((frame.seed[0], frame.seed[1] + variant, frame.seed[2]))
    specs = []
    for spec, role in zip(frame.request.inputs, frame.roles, strict=True):
        family = str(draw.one(FAMILIES)) if variant == "mixed" else variant
        specs.append(replace(spec, layout=draw_layout(draw, frame.request, spec, role, family)))
    return replace(frame.request, inputs=specs)


def density(request: Request) -> tuple[bool, ...]:
    """Which ports are dense, where the recipe's result depends on it (see the raw-key rule)."""
    if request.profile not in decode.RAW_KEY_PROFILES:
        return ()
    return tuple(isinstance(spec.layout, (Contiguous, Strided)) for spec in request.inputs)


def expectation(request: Request, tensors: list[Array]) -> list[Array] | RefusalError:
    """The outputs, or the error that preparation must give."""
    try:
        return decode.run(request, tensors)
    except RefusalError as refusal:
        return refusal
