"""Runs a reference request through the boxdecode package: names are translated, nothing else."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import boxdecode
import numpy as np
from boxdecode import _core
from reference import Affine, Request, TensorSpec, layouts, pack
from reference.numeric import Array

_TYPED = {"Int8": np.int8, "UInt8": np.uint8, "BFloat16": np.uint16, "Float32": np.float32}


def available_kernels() -> list[str]:
    """The kernel variants that this CPU runs, best first."""
    return list(_core._available_kernels())


@contextlib.contextmanager
def forced_kernels(name: str | None) -> Iterator[None]:
    """Plans that are prepared inside use the named kernels."""
    _core._force_kernels(name)
    try:
        yield
    finally:
        _core._force_kernels(None)


def layout_of(spec: TensorSpec) -> Any:
    layout = spec.layout
    if isinstance(layout, layouts.Strided):
        return boxdecode.Strided(list(layouts.strides(spec.shape, layout.physical_channels)))
    if isinstance(layout, layouts.MlaCBlocked):
        return boxdecode.MlaCBlocked(layout.tile_h, layout.tile_w, layout.tile_c)
    if isinstance(layout, layouts.Planar):
        return boxdecode.Planar()
    return boxdecode.Contiguous()


def resize_of(request: Request) -> Any:
    if isinstance(request.resize, Affine):
        return boxdecode.Affine(*request.resize)
    if request.resize is None:
        return None
    return getattr(boxdecode.ResizePolicy, request.resize)


def plan_arguments(request: Request) -> dict[str, Any]:
    """Keyword arguments of `boxdecode.Plan`. Defaults are left out, so that they are tested too."""
    defaults = Request.__dataclass_fields__
    optional: dict[str, Any] = {}
    for name in (
        *("num_keypoints", "keypoint_dims", "anchors", "class_agnostic", "anchor_scale"),
        *("peak_window", "one_class_uses_objectness"),
    ):
        value = getattr(request, name)
        field = defaults[name]
        if name == "anchors":
            if value:
                optional[name] = value
        elif value != field.default:
            optional[name] = value
    if request.score_activation is not None:
        name = request.score_activation
        optional["score_activation"] = getattr(boxdecode.ScoreActivation, name)
    if request.box_activation != "Identity":
        name = request.box_activation
        optional["box_activation"] = getattr(boxdecode.ScoreActivation, name)
    if request.mask_encoding != "Probability":
        optional["mask_encoding"] = getattr(boxdecode.MaskEncoding, request.mask_encoding)
    if request.box_unit != "Pixels":
        optional["box_unit"] = getattr(boxdecode.BoxUnit, request.box_unit)
    if request.suppression_corners != "Integer":
        name = request.suppression_corners
        optional["suppression_corners"] = getattr(boxdecode.SuppressionCorners, name)
    if request.keypoint_unit is not None:
        optional["keypoint_unit"] = getattr(boxdecode.BoxUnit, request.keypoint_unit)
    if request.mask_prototype is not None:
        optional["mask_prototype"] = request.mask_prototype
    if request.quantization:
        optional["quantization"] = {
            port: boxdecode.Quantization(scale, zero_point)
            for port, (scale, zero_point) in request.quantization.items()
        }
    if request.resize is not None:
        optional["resize"] = resize_of(request)
    if request.task != "Detection":
        optional["task"] = getattr(boxdecode.Task, request.task)
    specs = [
        boxdecode.TensorSpec(
            list(spec.shape), getattr(boxdecode.DType, spec.dtype), layout_of(spec)
        )
        for spec in request.inputs
    ]
    return {
        "inputs": specs,
        "profile": getattr(boxdecode.Profile, request.profile),
        "heads": [boxdecode.Head(*head) for head in request.heads],
        "model_input_size": request.model_input_size,
        "original_image_size": request.original_image_size,
        "num_classes": request.num_classes,
        "max_detections": request.max_detections,
        "detection_threshold": request.detection_threshold,
        "nms_iou_threshold": request.nms_iou_threshold,
        **optional,
    }


def make_plan(request: Request) -> Any:
    """The plan of a request, or the error of the package."""
    return boxdecode.Plan(**plan_arguments(request))


def memory(request: Request, tensors: list[Array], seed: int) -> list[Array]:
    """The input arrays: bytes of every port, in typed form where the layout allows and by turns."""
    garbage = np.random.default_rng(seed)
    arrays: list[Array] = []
    for port, (spec, raw) in enumerate(zip(request.inputs, tensors, strict=True)):
        packed = pack(raw, spec.layout, garbage)
        if (seed + port) % 2 == 0:
            typed = np.float16 if spec.dtype == "Float16" else _TYPED[spec.dtype]
            height, width, channels = spec.shape
            if isinstance(spec.layout, layouts.Contiguous):
                arrays.append(packed.view(typed).reshape(height, width, channels))
                continue
            if isinstance(spec.layout, layouts.Planar):
                arrays.append(packed.view(typed).reshape(channels, height, width))
                continue
            arrays.append(packed.view(typed))
            continue
        arrays.append(packed)
    return arrays


def fill_with_garbage(outputs: list[Array]) -> None:
    for array in outputs:
        array.reshape(-1).view(np.uint8)[:] = 0xA5


def execute(plan: Any, context: Any, inputs: list[Array]) -> list[Array]:
    """One call into output buffers that hold garbage."""
    outputs: list[Array] = plan.allocate_outputs()
    fill_with_garbage(outputs)
    plan.execute(context, inputs, outputs)
    return outputs
