"""Real detector outputs against the float64 decode of the same heads by their own projects' rules.

The files are looked for in the folder BOXDECODE_GOLDENS names, else in ../shared/goldens beside the
checkout; without them these tests are skipped. The same tests run the NumPy reference and the
package.

Tolerances: boxes 1 px, because ours are rounded; scores 1e-5, because ours are FP32; keypoints
0.01 px, because the mapping is FP32.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from reference import (
    Affine,
    Head,
    MlaCBlocked,
    Planar,
    Request,
    Strided,
    TensorSpec,
    numeric,
    run,
)
from reference.layouts import Layout
from reference.numeric import Array

Decode = Callable[[Request, list[Array]], list[Array]]

DETECTION = (
    "ddddocr_yolox_416",
    "yolo26n_person_320_int8graph",
    "yolov5n_coco_640",
    "yolov8n_coco_640",
    "yolov8n_coco_640_int8graph",
    "yolox_nano_coco_416",
)
POSE = ("yolov8n_pose_coco_256_int8graph",)
SEGMENTATION = ("yolov8n_seg_coco_320_int8graph",)
QUANTIZED = ("ddddocr_yolox_416", "yolov5n_coco_640", "yolov8n_coco_640", "yolox_nano_coco_416")

#: (file stem, whether the heads of the .i8.npz file are meant)
CASES = [
    *((name, False) for name in DETECTION + POSE + SEGMENTATION),
    *((name, True) for name in QUANTIZED),
]


def goldens_folder() -> Path:
    named = os.environ.get("BOXDECODE_GOLDENS")
    if named:
        return Path(named)
    return Path(__file__).resolve().parents[3] / "shared" / "goldens"


pytestmark = pytest.mark.skipif(
    not goldens_folder().is_dir(),
    reason=f"no golden heads in {goldens_folder()}; BOXDECODE_GOLDENS names their folder",
)


@dataclass
class Golden:
    request: Request
    tensors: list[Array]
    corners: Array
    scores: Array
    classes: Array
    arrays: dict[str, Array]
    meta: dict[str, Any]


_PROFILES = {
    "reg_ltrb": "Yolo26V1",
    "reg_dfl16": "Yolo8V1",
    "reg_cxcywh": "YoloXV1",
    "anchor_major_xywh_obj_cls": "Yolo5V1",
}
_ROLES = {
    "obj_logits": "objectness",
    "cls_logits": "scores",
    "kpts_xyv": "extra",
    "mask_coef": "extra",
}


def load(name: str, quantized: bool) -> Golden:
    """One file as a request; the heads of a level are the ports with its stride."""
    with np.load(goldens_folder() / f"{name}.npz") as file:
        arrays = dict(file)
    meta = json.loads(bytes(arrays["meta"]))
    prefix = "ref"
    if quantized:
        with np.load(goldens_folder() / f"{name}.i8.npz") as file:
            arrays.update(file)
        prefix = "i8"
    tensors, specs = [], []
    quantization = {}
    levels: dict[int, dict[str, int]] = {}
    prototype = None
    for port, entry in enumerate(meta["heads"]):
        integers = quantized or meta["store"] == "i8native"
        if integers:
            raw, dtype = arrays[f"head{port}_i8"], "Int8"
            scale, zero_point = arrays["head_scale"][port], arrays["head_zp"][port]
            quantization[port] = (float(scale), int(zero_point))
        elif meta["store"] == "bf16":
            raw, dtype = arrays[f"head{port}_bf16"], "BFloat16"
        else:
            raw, dtype = arrays[f"head{port}"], "Float32"
        tensors.append(raw)
        specs.append(TensorSpec(raw.shape, dtype))
        if entry["role"] == "proto":
            prototype = port
            continue
        level = levels.setdefault(entry["stride"], {})
        if entry["role"] in _PROFILES:
            level["boxes"] = port
        else:
            level[_ROLES[entry["role"]]] = port
    profile = _PROFILES[meta["heads"][0]["role"]]
    heads = []
    for stride in sorted(levels):
        level = levels[stride]
        scores = level.get("scores", level["boxes"])
        heads.append(Head(level["boxes"], scores, level.get("objectness"), level.get("extra")))
    scale, pad_x, pad_y = (meta["preprocess"][key] for key in ("scale", "pad_x", "pad_y"))
    image_h, image_w = (int(side) for side in arrays["image_hw"])
    options: dict[str, Any] = {}
    if "kpts_xyv" in meta["heads"][-1]["role"]:
        options["task"] = "Pose"
    elif prototype is not None:
        options.update(task="Segmentation", mask_prototype=prototype, mask_encoding="Binary")
    if profile == "Yolo5V1":
        options["anchors"] = [[tuple(pair) for pair in level] for level in meta["anchors_px"]]
    else:
        options["score_activation"] = "Sigmoid"
    if meta["nms"] == "class-agnostic":
        options["class_agnostic"] = True
    request = Request(
        inputs=specs,
        profile=profile,
        heads=heads,
        model_input_size=(meta["model_hw"][1], meta["model_hw"][0]),
        original_image_size=(image_w, image_h),
        num_classes=meta["nc"],
        max_detections=meta["topk"] if prototype is None else 20,
        detection_threshold=meta["conf"],
        nms_iou_threshold=meta["iou"],
        quantization=quantization,
        resize=Affine(1 / scale, -pad_x / scale, 1 / scale, -pad_y / scale),
        **options,
    )
    return Golden(
        request,
        tensors,
        arrays[f"{prefix}_xyxy"].astype(np.float64),
        arrays[f"{prefix}_score"].astype(np.float64),
        arrays[f"{prefix}_class"],
        arrays,
        meta,
    )


def decode_with_package(request: Request, tensors: list[Array]) -> list[Array]:
    adapter = pytest.importorskip("adapter", reason="the boxdecode package is not installed")
    plan = adapter.make_plan(request)
    inputs = adapter.memory(request, tensors, 1)
    return list(adapter.execute(plan, plan.create_context(), inputs))


@pytest.fixture(params=["reference", "boxdecode"])
def decode(request: pytest.FixtureRequest) -> Decode:
    return run if request.param == "reference" else decode_with_package


def rounded(values: Array) -> Array:
    return np.copysign(np.floor(np.abs(values) + 0.5), values)


def match(golden: Golden, outputs: list[Array]) -> list[int]:
    """Pairs outputs with references, in order up to equal scores; returns the reference rows."""
    count = int(outputs[3][0])
    assert count == len(golden.scores)
    expected = rounded(golden.corners)
    boxes = outputs[0][:count].astype(np.int64)
    corners = np.concatenate([boxes[:, :2], boxes[:, :2] + boxes[:, 2:]], axis=1)
    assert (np.diff(outputs[1][:count]) <= 0).all()
    free = list(range(count))
    rows = []
    for row in range(count):
        close = [
            candidate
            for candidate in free
            if abs(golden.scores[candidate] - outputs[1][row]) <= 1e-5
            and golden.classes[candidate] == outputs[2][row]
            and np.abs(expected[candidate] - corners[row]).max() <= 1
        ]
        assert close, f"row {row}: {corners[row]} {outputs[1][row]} {outputs[2][row]}"
        # Equal scores may change places; others may not.
        assert abs(golden.scores[close[0]] - golden.scores[row]) <= 1e-5
        free.remove(close[0])
        rows.append(close[0])
    assert (outputs[1][count:] == 0).all()
    return rows


def case_id(case: tuple[str, bool]) -> str:
    return case[0] + (".i8" if case[1] else "")


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_detections(case: tuple[str, bool], decode: Decode) -> None:
    golden = load(*case)
    match(golden, decode(golden.request, golden.tensors))


@pytest.mark.parametrize("name", POSE)
def test_keypoints(name: str, decode: Decode) -> None:
    golden = load(name, False)
    outputs = decode(golden.request, golden.tensors)
    rows = match(golden, outputs)
    expected = golden.arrays["ref_kpts"].astype(np.float64)[rows]
    got = outputs[4][: len(rows)].astype(np.float64)
    assert np.abs(got[..., :2] - expected[..., :2]).max() <= 0.01
    assert np.abs(got[..., 2] - expected[..., 2]).max() <= 1e-5


@pytest.mark.parametrize("name", SEGMENTATION)
def test_masks(name: str, decode: Decode) -> None:
    """Ours lie in the prototype frame; the references were enlarged smoothly to the image.

    Every prototype pixel is looked up at its centre in the reference mask. Only pixels whose whole
    neighbourhood agrees in the reference are compared, since enlarging moves the outline.
    """
    golden = load(name, False)
    outputs = decode(golden.request, golden.tensors)
    rows = match(golden, outputs)
    _, height, width = golden.arrays["ref_mask_shape"]
    bits = np.unpackbits(golden.arrays["ref_mask_bits"], axis=-1)[..., :width].astype(bool)
    affine = golden.request.resize
    assert isinstance(affine, Affine)
    _, side_y, side_x = outputs[4].shape
    model_w, model_h = golden.request.model_input_size
    x = (np.arange(side_x) + 0.5) * model_w / side_x * affine.scale_x + affine.offset_x
    y = (np.arange(side_y) + 0.5) * model_h / side_y * affine.scale_y + affine.offset_y
    inside = ((y >= 0) & (y < height))[:, None] & ((x >= 0) & (x < width))[None, :]
    columns = np.clip(np.round(x).astype(int), 0, width - 1)
    lines = np.clip(np.round(y).astype(int), 0, height - 1)
    reach = 12  # image pixels: more than one prototype pixel (9.6) and its bilinear neighbour
    compared = 0
    for row, source in enumerate(rows):
        padded = np.pad(bits[source], reach, mode="edge")
        windows = np.lib.stride_tricks.sliding_window_view(padded, (2 * reach + 1, 2 * reach + 1))
        means = windows[lines][:, columns].mean(axis=(2, 3))
        sure = inside & ((means == 0) | (means == 1))
        ours = outputs[4][row] == 255
        assert (ours[sure] == (means[sure] == 1)).all()
        compared += int((sure & ours).sum())
    assert compared > 300


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_package_gives_the_same_bytes_as_the_reference(case: tuple[str, bool]) -> None:
    golden = load(*case)
    expected = run(golden.request, golden.tensors)
    got = decode_with_package(golden.request, golden.tensors)
    assert [array.tobytes() for array in got] == [array.tobytes() for array in expected]


def layouts_of(spec: TensorSpec) -> dict[str, Layout]:
    channels = spec.shape[2]
    layouts: dict[str, Layout] = {
        "Strided": Strided((channels + 31) // 16 * 16),
        "Planar": Planar(),
    }
    if spec.dtype in ("Int8", "BFloat16"):
        layouts["MlaCBlocked"] = MlaCBlocked(7, 11, 64)
    return layouts


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_every_layout_gives_the_same_bytes(case: tuple[str, bool]) -> None:
    golden = load(*case)
    expected = decode_with_package(golden.request, golden.tensors)
    for family in layouts_of(golden.request.inputs[0]):
        specs = [replace(spec, layout=layouts_of(spec)[family]) for spec in golden.request.inputs]
        got = decode_with_package(replace(golden.request, inputs=specs), golden.tensors)
        assert [array.tobytes() for array in got] == [array.tobytes() for array in expected], family


@pytest.mark.parametrize(
    "case", [case for case in CASES if case[1] or "int8graph" in case[0]], ids=case_id
)
def test_exactly_dequantized_heads(case: tuple[str, bool], decode: Decode) -> None:
    """FP32 heads that hold the exact dequantized values.

    Scores and classes come from the same FP32 values in the same order of keys, so they are equal
    in every bit. Boxes are too, except after DFL, whose exponents start from raw differences on
    quantized ports: there they stay within a rounding of each corner. Masks are not compared:
    quantized pairs are accumulated in integers.
    """
    golden = load(*case)
    quantized = decode(golden.request, golden.tensors)
    tensors: list[Array] = []
    specs = []
    for port, (spec, raw) in enumerate(zip(golden.request.inputs, golden.tensors, strict=True)):
        tensors.append(numeric.dequantize(raw, *golden.request.quantization[port]))
        specs.append(replace(spec, dtype="Float32"))
    floats = decode(replace(golden.request, inputs=specs, quantization={}), tensors)
    assert quantized[1].tobytes() == floats[1].tobytes()
    assert quantized[2].tobytes() == floats[2].tobytes()
    assert quantized[3].tobytes() == floats[3].tobytes()
    if golden.request.profile == "Yolo8V1":
        assert np.abs(quantized[0] - floats[0]).max() <= 1
    else:
        assert quantized[0].tobytes() == floats[0].tobytes()


def decoded_columns(golden: Golden) -> Array:
    """The float64 decode of raw YOLOv8 heads as one tensor [4 + nc, cells], as its export has it:
    box centre and size in pixels, then probabilities (Ultralytics, nn/modules/head.py)."""
    columns = []
    model_w = golden.request.model_input_size[0]
    for head in golden.request.heads:
        bins = float_values(golden, head.boxes)
        logits = float_values(golden, head.scores)
        height, width, channels = bins.shape
        sides = bins.reshape(height, width, 4, channels // 4)
        weights = np.exp(sides - sides.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        distances = weights @ np.arange(channels // 4, dtype=np.float64)
        center_y, center_x = np.mgrid[0:height, 0:width] + 0.5
        x1, y1 = center_x - distances[..., 0], center_y - distances[..., 1]
        x2, y2 = center_x + distances[..., 2], center_y + distances[..., 3]
        stride = model_w / width
        box = np.stack([(x1 + x2) / 2, (y1 + y2) / 2, x2 - x1, y2 - y1]) * stride
        scores = np.moveaxis(1 / (1 + np.exp(-logits)), -1, 0)
        columns.append(np.concatenate([box, scores]).reshape(4 + logits.shape[-1], -1))
    joined: Array = np.concatenate(columns, axis=1).astype(np.float32)
    return joined


def float_values(golden: Golden, port: int) -> Array:
    raw = golden.tensors[port]
    if golden.request.inputs[port].dtype == "BFloat16":
        raw = numeric.bfloat16_to_float32(raw)
    values: Array = raw.astype(np.float64)
    return values


@pytest.mark.parametrize("transposed", [False, True], ids=["planar", "rows"])
def test_one_tensor_export(transposed: bool, decode: Decode) -> None:
    """[84, 8400] as Ultralytics exports it and [8400, 84] give the detections of the raw heads."""
    golden = load("yolov8n_coco_640", False)
    columns = decoded_columns(golden)
    rows = np.ascontiguousarray(columns.T)[None]  # H = 1, W = 8400, C = 84
    assert rows.shape == (1, 8400, 84)
    spec = (
        TensorSpec(rows.shape, "Float32")
        if transposed
        else TensorSpec(rows.shape, "Float32", Planar())
    )
    request = replace(
        golden.request,
        inputs=[spec],
        profile="YoloDecodedV1",
        heads=[Head(0, 0)],
        score_activation="Identity",
    )
    match(golden, decode(request, [rows]))
