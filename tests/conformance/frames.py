"""Frames for the conformance suite: requests with raw tensors, each from one printed seed.

A frame is drawn as floats that make sense for its recipe, then converted to the dtypes of its
ports, then disturbed (ties, saturation, NaN, infinities, signed zeros, subnormals). Grids are
small; class and cell counts lie around the widths of vector registers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from reference import (
    Affine,
    Contiguous,
    MlaCBlocked,
    Planar,
    RefusalError,
    Request,
    Strided,
    TensorSpec,
    decode,
    numeric,
)
from reference.drawing import SEGMENTATION, Draw, Tensor
from reference.families import FAMILIES, family_of
from reference.family import Family
from reference.layouts import Layout, align16
from reference.numeric import Array

#: Every recipe: the tasks of each profile.
TASKS = {name: family.tasks for name, family in FAMILIES.items()}
RECIPES = [(profile, task) for profile, tasks in TASKS.items() for task in tasks]

DTYPES = ("Int8", "UInt8", "BFloat16", "Float16", "Float32")
BLOCKED_DTYPES = ("Int8", "UInt8", "BFloat16")

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
    has_many_priors = family_of(request).fixed_signature
    if kind == "zero" and not has_many_priors:
        return 0.0
    ports = decode.open_ports(request, tensors)
    scores = decode.scan(request, ports).score
    inside = scores[(scores > 0) & (scores < 1)]
    if not inside.size:
        return 0.0
    if has_many_priors:  # thousands of them: keep the frame fast
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
    draw: Draw, family: Family, model: tuple[int, int]
) -> tuple[tuple[int, int], str | Affine | None]:
    if draw.chance(0.25):
        image = (LARGEST_SIDE, LARGEST_SIDE - draw.one((0, 0, 1, 577)))
        if "resize" not in family.takes:
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
    if "resize" not in family.takes:
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
    family = FAMILIES[profile]
    draw = Draw(seed)
    content = str(draw.one(CONTENTS))
    activation: str | None = None
    if "score_activation" in family.takes:
        activation = str(draw.one(("Sigmoid", "Sigmoid", "Identity")))
    draft = family.draw(draw, task, activation or "Sigmoid")
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
    image, policy = draw_image(draw, family, draft.model_input_size)
    options = dict(draft.options)
    if family.suppresses and draw.chance(0.25):
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
        request.score_activation = family.score_activation(request)
    tensors = [tensor.raw for tensor in draft.tensors]
    if image[0] == LARGEST_SIDE and draw.chance(0.6):
        # Many boxes in a large image: their last bits show.
        request.max_detections, request.nms_iou_threshold = 400, 1.0
    request.detection_threshold = draw_threshold(draw, request, tensors)
    if task == SEGMENTATION:
        request.max_detections = min(request.max_detections, 20)
    # Drawn last, so that what was drawn before does not depend on it.
    if family.suppresses and draw.chance(0.3):
        request.suppression_corners = "Exact"
    return Frame(request, tensors, [tensor.role for tensor in draft.tensors], seed, content)


# ---- layouts -------------------------------------------------------------------------------------


def draw_layout(draw: Draw, request: Request, spec: TensorSpec, role: str, family: str) -> Layout:
    """One layout of a family that this port takes; Contiguous where the family is not allowed."""
    height, width, channels = spec.shape
    if family == "Planar":
        return Planar()
    if family == "Strided":
        if family_of(request).whole_blocks(request, role) or draw.chance(0.4):
            choices = [align16(channels), align16(channels) + 16]
            if draw.chance(0.2):
                choices = [channels]
            return Strided(int(draw.one(choices)))
        return Strided(channels + draw.integer(1, 19))
    if family == "MlaCBlocked" and spec.dtype in BLOCKED_DTYPES:
        tile_h = draw.integer(1, height + 1)
        tile_w = draw.integer(1, width + 1)
        dossier = family_of(request)
        any_bf16_tile = dossier.takes_any_bf16_tile and role != "combined"
        any_tile = dossier.takes_any_tile or (spec.dtype == "BFloat16" and any_bf16_tile)
        whole = [16, 32, align16(channels), channels, channels + 5]
        if any_tile:
            whole += [draw.integer(1, channels), 24, 40, 7]
        return MlaCBlocked(tile_h, tile_w, int(draw.one(whole)))
    return Contiguous()


LAYOUTS = ("Contiguous", "Strided", "MlaCBlocked", "Planar")


def with_layouts(frame: Frame, variant: str) -> Request:
    """The same request with every port in one family of layouts, or "mixed"."""
    if variant == "Contiguous":
        return frame.request
    draw = Draw((frame.seed[0], frame.seed[1] + variant, frame.seed[2]))
    specs = []
    for spec, role in zip(frame.request.inputs, frame.roles, strict=True):
        family = str(draw.one(LAYOUTS)) if variant == "mixed" else variant
        specs.append(replace(spec, layout=draw_layout(draw, frame.request, spec, role, family)))
    return replace(frame.request, inputs=specs)


def density(request: Request) -> tuple[bool, ...]:
    """Which ports are dense, where the recipe's result depends on it (see the raw-key rule)."""
    if not family_of(request).raw_keys:
        return ()
    return tuple(isinstance(spec.layout, (Contiguous, Strided)) for spec in request.inputs)


def expectation(request: Request, tensors: list[Array]) -> list[Array] | RefusalError:
    """The outputs, or the error that preparation must give."""
    try:
        return decode.run(request, tensors)
    except RefusalError as refusal:
        return refusal
