"""Every rule by which a request is refused: its code, its field, and what the message must say.

The three recipes Yolo26V1, Yolo8V1 and YoloXV1 stand for the rules that all recipes share.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from boxdecode import (
    Affine,
    BoxUnit,
    Contiguous,
    DType,
    Error,
    ErrorCode,
    Head,
    MaskEncoding,
    MlaCBlocked,
    MlaTiled,
    Plan,
    Planar,
    Profile,
    ResizePolicy,
    ScoreActivation,
    Strided,
    Task,
    TensorSpec,
)

NAN, INFINITY = math.nan, math.inf
F32 = DType.Float32


def heads_of(*shapes: tuple[int, ...], dtype: DType = F32, **changes: Any) -> dict[str, Any]:
    """Inputs of these shapes; port p of heads (0, 1), (2, 3), ..."""
    inputs = [TensorSpec(shape, dtype) for shape in shapes]
    heads = [(port, port + 1) for port in range(0, len(inputs) - 1, 2)]
    return {"inputs": inputs, "heads": heads, **changes}


def with_port(port: int, spec: TensorSpec, **changes: Any) -> dict[str, Any]:
    """The usual four inputs with one of them exchanged."""
    inputs = [
        TensorSpec((1, 4, 8, 4), F32),
        TensorSpec((1, 4, 8, 3), F32),
        TensorSpec((1, 2, 4, 4), F32),
        TensorSpec((1, 2, 4, 3), F32),
    ]
    inputs[port] = spec
    return {"inputs": inputs, **changes}


def quantized(
    scores: tuple[float, int], dtype: DType = DType.Int8, **changes: Any
) -> dict[str, Any]:
    """One level whose scores, port 1, are quantized."""
    return {
        "inputs": [TensorSpec((4, 8, 4), F32), TensorSpec((4, 8, 3), dtype)],
        "heads": [(0, 1)],
        "quantization": {1: scores},
        **changes,
    }


def dfl(*boxes: tuple[int, ...], **changes: Any) -> dict[str, Any]:
    """Yolo8V1 with these box shapes; scores fit them."""
    shapes = [shape for box in boxes for shape in (box, (*box[:-1], 3))]
    return heads_of(*shapes, profile=Profile.Yolo8V1, **changes)


def yolox(
    *roles: tuple[int, ...], shapes: tuple[tuple[int, ...], ...] = (), **changes: Any
) -> dict[str, Any]:
    """YoloXV1 with ports boxes, objectness, scores per level."""
    shapes = shapes or ((4, 8, 4), (4, 8, 1), (4, 8, 3))
    return {
        "inputs": [TensorSpec(shape, F32) for shape in shapes],
        "heads": list(roles) or [(0, 2, 1)],
        "profile": Profile.YoloXV1,
        **changes,
    }


def blocked(
    tile: tuple[int, int, int], dtype: DType = DType.Int8, channels: int = 3
) -> dict[str, Any]:
    """One level whose scores, port 1, lie in blocks."""
    return {
        "inputs": [
            TensorSpec((4, 8, 4), F32),
            TensorSpec((4, 8, channels), dtype, MlaCBlocked(*tile)),
        ],
        "heads": [(0, 1)],
        "num_classes": channels,
        "quantization": {1: (0.01, 0)} if dtype in (DType.Int8, DType.UInt8) else {},
    }


def strided(*strides: int, shape: tuple[int, ...] = (1, 4, 8, 3)) -> dict[str, Any]:
    return with_port(1, TensorSpec(shape, F32, Strided(strides)))


def outputs_with(port: int, spec: TensorSpec) -> dict[str, Any]:
    outputs = [
        TensorSpec((5, 4), DType.Int32),
        TensorSpec((5,), F32),
        TensorSpec((5,), DType.Int32),
        TensorSpec((1,), DType.Int32),
    ]
    outputs[port] = spec
    return {"outputs": outputs}


PARAMETERS: list[tuple[dict[str, Any], str, list[str]]] = [
    ({"heads": []}, "params.heads", ["0 heads", "1 to 64"]),
    (
        heads_of(*[(4, 8, 4), (4, 8, 3)] * 65),
        "params.heads",
        ["65 heads", "1 to 64"],
    ),
    ({"model_input_size": (0, 32)}, "params.model_input_size", ["0", "1 to 1048576"]),
    ({"model_input_size": (64, -1)}, "params.model_input_size", ["-1", "1 to 1048576"]),
    ({"model_input_size": (64, 2**20 + 1)}, "params.model_input_size", ["1048577"]),
    ({"original_image_size": (0, 64)}, "params.original_image_size", ["0", "1 to 1048576"]),
    ({"original_image_size": (2**20 + 1, 64)}, "params.original_image_size", ["1048577"]),
    ({"num_classes": 0}, "params.num_classes", ["0"]),
    ({"num_classes": -3}, "params.num_classes", ["-3"]),
    ({"max_detections": 0}, "params.max_detections", ["0", "65536"]),
    ({"max_detections": -1}, "params.max_detections", ["-1", "65536"]),
    ({"max_detections": 65537}, "params.max_detections", ["65537", "65536"]),
    *[
        ({"detection_threshold": value}, "params.detection_threshold", ["[0, 1)"])
        for value in (NAN, -NAN, -0.01, 1, 1.5, INFINITY, -INFINITY, 0.99999999, 1e300)
    ],
    *[
        ({"nms_iou_threshold": value}, "params.nms_iou_threshold", ["[0, 1]"])
        for value in (NAN, -0.01, 1.01, INFINITY, 1e300)
    ],
    ({"score_activation": None}, "params.score_activation", ["Yolo26V1", "Sigmoid", "Identity"]),
    ({"score_activation": ScoreActivation.Softmax}, "params.score_activation", ["Softmax"]),
    ({"num_keypoints": 16}, "params.num_keypoints", ["16", "17"]),
    ({"mask_prototype": 0}, "params.mask_prototype", ["Segmentation"]),
    ({"anchors": [[(1, 2)], [(1, 2)]]}, "params.anchors", ["Yolo26V1"]),
    ({"mask_encoding": MaskEncoding.Binary}, "params.mask_encoding", ["Probability"]),
    ({"box_unit": BoxUnit.Normalised}, "params.box_unit", ["Yolo26V1", "Pixels"]),
    ({"anchor_scale": 3}, "params.anchor_scale", ["Yolo26V1", "4"]),
    ({"anchor_scale": NAN}, "params.anchor_scale", ["Yolo26V1", "4"]),
    ({"box_activation": ScoreActivation.Sigmoid}, "params.box_activation", ["Identity"]),
    ({"peak_window": 3}, "params.peak_window", ["Yolo26V1", "1"]),
    *[
        ({"resize": affine}, "params.resize", ["finite"])
        for affine in (
            (0, 0, 1, 0),
            (1, 0, -1, 0),
            (NAN, 0, 1, 0),
            (1, INFINITY, 1, 0),
            (1, 0, INFINITY, 0),
            (1, 0, 1, NAN),
            (1e300, 0, 1, 0),
        )
    ],
    # Ports and roles.
    ({"heads": [(0, 1), (2, 9)]}, "params.heads[1].scores", ["9", "4"]),
    ({"heads": [(4, 1), (2, 3)]}, "params.heads[0].boxes", ["4"]),
    ({"heads": [(0, 0), (2, 3)]}, "params.heads[0].scores", ["0"]),
    ({"heads": [(0, 1), (2, 1)]}, "params.heads[1].scores", ["1", "params.heads[0].scores"]),
    ({"heads": [(0, 1), (0, 3)]}, "params.heads[1].boxes", ["params.heads[0].boxes"]),
    ({"heads": [(0, 1)]}, "inputs[2]", ["inputs[2]"]),
    ({"heads": [(2, 3)]}, "inputs[0]", ["inputs[0]"]),
    ({"heads": [Head(0, 1, 2), (2, 3)]}, "params.heads[0].objectness", ["Yolo26V1"]),
    ({"heads": [Head(0, 1, extra=2), (2, 3)]}, "params.heads[0].extra", ["Yolo26V1"]),
    ({"heads": [(0, 1), Head(2, 3, sizes=1)]}, "params.heads[1].sizes", ["Yolo26V1"]),
    (yolox((0, 2)), "params.heads[0].objectness", ["YoloXV1"]),
    (
        yolox((0, 2, 1), (3, 4), shapes=((4, 8, 4), (4, 8, 1), (4, 8, 3), (2, 4, 4), (2, 4, 3))),
        "params.heads[1].objectness",
        ["YoloXV1"],
    ),
    # Reach of the threshold, last of the quantization group.
    (quantized((0.001, 0)), "params.detection_threshold", ["0.25", "0.127", "dequant_scale"]),
    (
        quantized((0.1, 127), score_activation=ScoreActivation.Sigmoid, detection_threshold=0.75),
        "params.detection_threshold",
        ["0.75", "0.5"],
    ),
    (quantized((0.001, 55), DType.UInt8), "params.detection_threshold", ["0.25", "0.2"]),
]


@pytest.mark.parametrize(("change", "field", "parts"), PARAMETERS)
def test_parameters(
    arguments: Any, refused: Any, change: dict[str, Any], field: str, parts: list[str]
) -> None:
    refused(lambda: Plan(**arguments(**change)), ErrorCode.InvalidParameter, field, field, *parts)


RECIPES: list[tuple[dict[str, Any], str, list[str]]] = [
    (yolox(task=Task.Pose), "params.task", ["Pose", "YoloXV1"]),
    (yolox(task=Task.Segmentation, mask_prototype=0), "params.task", ["Segmentation", "YoloXV1"]),
]


@pytest.mark.parametrize(("change", "field", "parts"), RECIPES)
def test_profile_with_task(
    arguments: Any, refused: Any, change: dict[str, Any], field: str, parts: list[str]
) -> None:
    refused(lambda: Plan(**arguments(**change)), ErrorCode.UnsupportedRecipe, field, field, *parts)


TENSORS: list[tuple[dict[str, Any], str, list[str]]] = [
    *[
        (with_port(1, TensorSpec(shape, F32)), "inputs[1].shape", [])
        for shape in (
            (),
            (3,),
            (8, 3),
            (1, 1, 1, 1, 4, 8, 3),
            (2, 4, 8, 3),
            (2, 1, 4, 8, 3),
            (0, 4, 8, 3),
            (4, 0, 3),
            (4, 8, -3),
            (4, 2**20 + 1, 3),
            (4, 2**62, 3),
        )
    ],
    (with_port(1, TensorSpec((4, 8, 3), DType.Int32)), "inputs[1].dtype", ["Int32"]),
    (with_port(0, TensorSpec((4, 8, 4), DType.Int32)), "inputs[0].dtype", ["Int32"]),
    (with_port(1, TensorSpec((2, 8, 3), F32)), "inputs[1].shape", ["2", "4"]),
    (with_port(1, TensorSpec((8, 4, 3), F32)), "inputs[1].shape", []),
    (with_port(0, TensorSpec((4, 8, 5), F32)), "inputs[0].shape", ["5 channels", "4"]),
    (with_port(1, TensorSpec((4, 8, 84), F32)), "inputs[1].shape", ["84 channels", "3"]),
    (with_port(1, TensorSpec((4, 8, 2), F32)), "inputs[1].shape", ["2 channels", "3"]),
    (heads_of((4, 7, 4), (4, 7, 3)), "inputs[0].shape", ["7", "64"]),
    (heads_of((3, 8, 4), (3, 8, 3)), "inputs[0].shape", ["3", "32"]),
    (dfl((4, 8, 62)), "inputs[0].shape", ["62"]),
    (dfl((4, 8, 4)), "inputs[0].shape", ["4"]),
    (dfl((4, 8, 260)), "inputs[0].shape", ["260"]),
    (dfl((4, 8, 64), (2, 4, 32)), "inputs[2].shape", ["32", "64"]),
    (yolox(shapes=((4, 8, 4), (4, 8, 2), (4, 8, 3))), "inputs[1].shape", ["2 channels", "1"]),
    (yolox(shapes=((4, 8, 4), (4, 4, 1), (4, 8, 3))), "inputs[1].shape", []),
    # Outputs.
    ({"outputs": []}, "outputs", ["0", "4"]),
    ({"outputs": [TensorSpec((5, 4), DType.Int32)] * 5}, "outputs", ["5", "4"]),
    (outputs_with(0, TensorSpec((6, 4), DType.Int32)), "outputs[0].shape", ["6", "5"]),
    (outputs_with(0, TensorSpec((20,), DType.Int32)), "outputs[0].shape", ["20"]),
    (outputs_with(1, TensorSpec((5, 1), F32)), "outputs[1].shape", ["5, 1"]),
    (outputs_with(3, TensorSpec((), DType.Int32)), "outputs[3].shape", []),
    (outputs_with(0, TensorSpec((5, 4), F32)), "outputs[0].dtype", ["Float32", "Int32"]),
    (outputs_with(1, TensorSpec((5,), DType.BFloat16)), "outputs[1].dtype", ["BFloat16"]),
]


@pytest.mark.parametrize(("change", "field", "parts"), TENSORS)
def test_tensors(
    arguments: Any, refused: Any, change: dict[str, Any], field: str, parts: list[str]
) -> None:
    place = field.split(".")[0]
    refused(lambda: Plan(**arguments(**change)), ErrorCode.InvalidTensor, field, place, *parts)


LAYOUTS: list[tuple[dict[str, Any], str, list[str]]] = [
    (
        with_port(1, TensorSpec((4, 8, 3), F32, MlaTiled(4, 8, 16))),
        "inputs[1].layout",
        ["MlaTiled", "pixel-major", "MlaCBlocked"],
    ),
    (strided(8, 4, 1), "inputs[1].layout", ["3", "4"]),
    (strided(), "inputs[1].layout", []),
    (strided(128, 32, 4, 2), "inputs[1].layout", ["2", "1"]),
    (strided(64, 16, 2, 1), "inputs[1].layout", ["2", "3"]),
    (strided(64, 16, -4, 1), "inputs[1].layout", ["-4"]),
    (strided(128, 40, 4, 1), "inputs[1].layout", ["40", "32"]),
    (strided(256, 32, 4, 1), "inputs[1].layout", ["256", "128"]),
    (strided(4097 * 32, 4097 * 8, 4097, 1), "inputs[1].layout", ["4097", "4096"]),
    (strided(2**62, 2**62, 2**62, 1), "inputs[1].layout", ["4096"]),
    (
        {
            **heads_of((4, 8, 4), (4, 8, 4097), num_classes=4097),
        },
        "inputs[1].layout",
        ["4097", "4096"],
    ),
    (blocked((2, 3, 16), F32), "inputs[1].layout", ["MlaCBlocked", "Float32"]),
    (blocked((2, 3, 16), DType.Float16), "inputs[1].layout", ["Float16"]),
    (blocked((0, 3, 16)), "inputs[1].layout", ["0"]),
    (blocked((2, -1, 16)), "inputs[1].layout", ["-1"]),
    (blocked((2, 3, 0)), "inputs[1].layout", ["0"]),
    (
        blocked((2, 3, 20), channels=40),
        "inputs[1].layout",
        ["20", "16"],
    ),
    (outputs_with(0, TensorSpec((5, 4), DType.Int32, Planar())), "outputs[0].layout", ["Planar"]),
    (
        outputs_with(0, TensorSpec((5, 4), DType.Int32, Strided((4, 1)))),
        "outputs[0].layout",
        ["Strided"],
    ),
]


@pytest.mark.parametrize(("change", "field", "parts"), LAYOUTS)
def test_layouts(
    arguments: Any, refused: Any, change: dict[str, Any], field: str, parts: list[str]
) -> None:
    refused(lambda: Plan(**arguments(**change)), ErrorCode.UnsupportedLayout, field, field, *parts)


def test_strides_in_bytes_are_told_in_elements(arguments: Any, refused: Any) -> None:
    """NumPy's strides of a [1, 4, 8, 3] array: divided by the element they are what is wanted."""
    layouts = {DType.Float32: np.float32, DType.Float16: np.float16, DType.BFloat16: np.uint16}
    for dtype, element in layouts.items():
        array = np.zeros((1, 4, 8, 3), element)
        spec = TensorSpec(array.shape, dtype, Strided(array.strides))
        refused(
            lambda spec=spec: Plan(**arguments(**with_port(1, spec))),
            ErrorCode.UnsupportedLayout,
            "inputs[1].layout",
            f"channel stride of {array.itemsize}; it must be 1. Strides count elements",
            "they are [96, 24, 3, 1]",
        )
    elements = TensorSpec((1, 4, 8, 3), F32, Strided((96, 24, 3, 1)))
    assert Plan(**arguments(**with_port(1, elements))).input_specs[1] == elements


@pytest.mark.parametrize("strides", [(128, 32, 4, 2), (64, 16, 8, 8), (98, 24, 4, 4)])
def test_other_strides_are_not_taken_for_bytes(arguments: Any, strides: Any) -> None:
    with pytest.raises(Error) as caught:
        Plan(**arguments(**strided(*strides)))
    assert str(caught.value).endswith("; it must be 1")


QUANTIZATIONS: list[tuple[dict[str, Any], str, list[str]]] = [
    (quantized((0.01, 0), quantization={}), "params.quantization[1]", ["Int8"]),
    (quantized((0.01, 0), quantization=None), "params.quantization[1]", ["Int8"]),
    ({"quantization": {2: (0.01, 0)}}, "params.quantization[2]", ["Float32"]),
    (
        quantized((0.01, 0), quantization={1: (0.01, 0), 7: (0.01, 0)}),
        "params.quantization[7]",
        ["2 inputs"],
    ),
    *[
        (quantized((scale, 0)), "params.quantization[1].dequant_scale", ["multiplier"])
        for scale in (0, -0.5, NAN, INFINITY, 1e-60, 1e60)
    ],
    (quantized((0.01, 128)), "params.quantization[1].zero_point", ["128", "-128 to 127"]),
    (quantized((0.01, -129)), "params.quantization[1].zero_point", ["-129", "-128 to 127"]),
    (quantized((0.01, 256), DType.UInt8), "params.quantization[1].zero_point", ["0 to 255"]),
    (quantized((0.01, -1), DType.UInt8), "params.quantization[1].zero_point", ["0 to 255"]),
]


@pytest.mark.parametrize(("change", "field", "parts"), QUANTIZATIONS)
def test_quantization(
    arguments: Any, refused: Any, change: dict[str, Any], field: str, parts: list[str]
) -> None:
    refused(
        lambda: Plan(**arguments(**change)), ErrorCode.InvalidQuantization, field, field, *parts
    )


def test_tensors_of_more_than_two_gibibytes(arguments: Any, refused: Any) -> None:
    side = 2**20
    refused(
        lambda: Plan(
            **arguments(
                **heads_of(
                    (1024, side, 4),
                    (1024, side, 3),
                    model_input_size=(side, 1024),
                )
            )
        ),
        ErrorCode.ResourceLimit,
        "inputs[0]",
        "2147483647",
    )


def test_contexts_of_more_than_two_gibibytes(arguments: Any, refused: Any) -> None:
    """Each tensor is small enough; the candidates of both together are not."""
    side = 2**20
    refused(
        lambda: Plan(
            **arguments(
                **heads_of((256, side, 4), (256, side, 1), dtype=DType.Int8),
                quantization={0: (0.1, 0), 1: (0.01, 0)},
                model_input_size=(side, 256),
                num_classes=1,
            )
        ),
        ErrorCode.ResourceLimit,
        "context",
        "2147483647",
    )


ACCEPTED: dict[str, dict[str, Any]] = {
    "one head": heads_of((4, 8, 4), (4, 8, 3)),
    "64 heads": heads_of(*[(4, 8, 4), (4, 8, 3)] * 64),
    "largest sides": {"original_image_size": (2**20, 2**20)},
    "largest K": {"max_detections": 65536},
    "threshold 0": {"detection_threshold": 0},
    "minus zero": {"detection_threshold": -0.0, "nms_iou_threshold": -0.0},
    "just below 1": {"detection_threshold": 0.9999999},
    "overlap 0 and 1": {"nms_iou_threshold": 1},
    "class agnostic": {"class_agnostic": True},
    "every policy": {"resize": ResizePolicy.TopLeftLetterbox},
    "stretch": {"resize": ResizePolicy.Stretch},
    "affine": {"resize": Affine(0.5, -3, 2, 9)},
    "six sides": with_port(1, TensorSpec((1, 1, 1, 4, 8, 3), F32)),
    "planar": with_port(1, TensorSpec((4, 8, 3), F32, Planar())),
    "strided": strided(128, 32, 4, 1),
    "no padding": strided(96, 24, 3, 1),
    "widest padding": strided(4096 * 32, 4096 * 8, 4096, 1),
    "blocks": blocked((2, 3, 16)),
    "bfloat blocks": blocked((3, 8, 32), DType.BFloat16),
    "a tile of all channels": blocked((2, 3, 40), channels=40),
    "tiles beyond the tensor": blocked((400, 300, 160)),
    "bins": dfl((4, 8, 8), (2, 4, 8)),
    "most bins": dfl((4, 8, 256)),
    "objectness": yolox(),
    "one port of two reaches": {
        "inputs": [TensorSpec((4, 8, 4), F32), TensorSpec((4, 8, 3), DType.Int8)] * 2,
        "quantization": {1: (0.01, 0), 3: (0.001, 0)},
    },
    "scale exactly at the threshold": quantized((0.25 / 127, 0)),
    "unsigned": quantized((1 / 255, 0), DType.UInt8),
    "explicit outputs": outputs_with(0, TensorSpec((5, 4), DType.Int32, Contiguous())),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_what_the_limits_still_admit(arguments: Any, name: str) -> None:
    assert Plan(**arguments(**ACCEPTED[name])).context_bytes >= 0


ORDER: list[tuple[str, dict[str, Any], str]] = [
    ("parameters", {"max_detections": 0}, "params.max_detections"),
    ("ports and roles", {"heads": [(0, 1), (2, 3), (4, 9)]}, "params.heads[2].scores"),
    ("shapes", {"port 1": TensorSpec((4, 8, 84), F32)}, "inputs[1].shape"),
    ("layouts", {"port 2": TensorSpec((2, 4, 4), F32, MlaTiled(1, 1, 1))}, "inputs[2].layout"),
    ("quantization", {"quantization": {0: (1, 0)}}, "params.quantization[0]"),
    ("outputs", {"outputs": []}, "outputs"),
]


@pytest.mark.parametrize("first", range(len(ORDER)), ids=[group for group, _, _ in ORDER])
def test_the_first_group_wins(arguments: Any, first: int) -> None:
    """One mistake in every group from `first` on: that of `first` is reported."""
    inputs = [
        TensorSpec((4, 8, 4), F32),
        TensorSpec((4, 8, 3), F32),
        TensorSpec((2, 4, 4), F32),
        TensorSpec((2, 4, 3), F32),
        TensorSpec((1, 2, 4), F32),
        TensorSpec((1, 2, 3), F32),
    ]
    change: dict[str, Any] = {"heads": [(0, 1), (2, 3), (4, 5)]}
    for _, mistake, _ in ORDER[first:]:
        for name, value in mistake.items():
            if name.startswith("port "):
                inputs[int(name[5:])] = value
            else:
                change[name] = value
    with pytest.raises(Error) as caught:
        Plan(**arguments(inputs=inputs, **change))
    assert caught.value.field == ORDER[first][2]


def test_of_several_mistakes_in_a_group_the_first_port_is_named(arguments: Any) -> None:
    wrong = [TensorSpec((4, 8, channels), F32) for channels in (4, 9, 5, 9)]
    with pytest.raises(Error) as caught:
        Plan(**arguments(inputs=wrong))
    assert caught.value.field == "inputs[1].shape"


def test_the_same_request_gives_the_same_error(arguments: Any) -> None:
    texts = set()
    for _ in range(3):
        with pytest.raises(Error) as caught:
            Plan(**arguments(num_classes=0, max_detections=0, detection_threshold=2))
        texts.add((caught.value.field, str(caught.value)))
    assert len(texts) == 1
