"""Plan files: what they say, and the errors for what they must not say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from boxdecode import (
    Affine,
    BoxUnit,
    Contiguous,
    DType,
    Error,
    Head,
    MaskEncoding,
    MlaCBlocked,
    MlaTiled,
    Planar,
    Profile,
    Quantization,
    ResizePolicy,
    ScoreActivation,
    Strided,
    SuppressionCorners,
    Task,
    TensorSpec,
)
from boxdecode.plan_file import PlanFileError, parse_plan, read_plan_file

Document = dict[str, Any]


def document(**changes: Any) -> Document:
    """A plan file of one level; keywords change it, ... leaves a key out."""
    content: Document = {
        "inputs": [
            {"shape": [1, 4, 8, 4], "dtype": "Float32"},
            {"shape": [1, 4, 8, 3], "dtype": "Float32"},
        ],
        "profile": "Yolo26V1",
        "heads": [[0, 1]],
        "model_input_size": [64, 32],
        "original_image_size": [128, 64],
        "num_classes": 3,
        "max_detections": 5,
        "detection_threshold": 0.25,
        "nms_iou_threshold": 0.5,
        "score_activation": "Identity",
    }
    return {name: value for name, value in (content | changes).items() if value is not Ellipsis}


def test_a_plan_file_is_the_arguments_of_plan(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(document(class_names=["a", "b"])))
    plan_file = read_plan_file(path)
    assert plan_file.input_names is None
    assert plan_file.class_names == ("a", "b")
    assert [plan_file.class_name(index) for index in (-1, 0, 1, 2)] == ["-1", "a", "b", "2"]
    plan = plan_file.plan()
    assert plan.params.heads == (Head(0, 1),)
    assert plan.params.original_image_size == (128, 64)
    assert plan_file.plan((640, 480)).params.original_image_size == (640, 480)


def test_every_argument_has_its_form() -> None:
    plan_file = parse_plan(
        document(
            inputs=[
                {"shape": [4, 8, 4], "dtype": "Int8", "name": "b"},
                {"shape": [4, 8, 3], "dtype": "BFloat16", "layout": "Planar", "name": "s"},
                {"shape": [1], "dtype": "UInt8", "layout": {"Strided": [8, 4, 1]}, "name": "t"},
                {
                    "shape": [1],
                    "dtype": "Float16",
                    "layout": {"MlaCBlocked": [1, 2, 16]},
                    "name": "u",
                },
                {
                    "shape": [1],
                    "dtype": "Int32",
                    "layout": {"MlaTiled": {"tile_h": 1, "tile_w": 2, "tile_c": 3}},
                    "name": "v",
                },
                {"shape": [1], "dtype": "Float32", "layout": "Contiguous", "name": "w"},
            ],
            outputs=[{"shape": [5, 4], "dtype": "Int32"}],
            heads=[[0, 1, 2, None, 4], {"boxes": 0, "scores": 1, "extra": 3}],
            task="Segmentation",
            mask_prototype=5,
            quantization={"0": [0.5, -3], "2": {"dequant_scale": 0.25, "zero_point": 7}},
            num_keypoints=3,
            anchors=[[[1, 2.5], {"width": 3, "height": 4}], []],
            resize={"Affine": [1, 2, 3, 4]},
            mask_encoding="Binary",
            class_agnostic=True,
            box_unit="Normalised",
            anchor_scale=2,
            box_activation="Sigmoid",
            peak_window=3,
            suppression_corners="Exact",
            one_class_uses_objectness=True,
            keypoint_unit="Pixels",
            keypoint_dims=2,
            score_activation=None,
        )
    )
    assert plan_file.input_names == ("b", "s", "t", "u", "v", "w")
    assert plan_file.arguments == {
        "inputs": [
            TensorSpec((4, 8, 4), DType.Int8, Contiguous()),
            TensorSpec((4, 8, 3), DType.BFloat16, Planar()),
            TensorSpec((1,), DType.UInt8, Strided((8, 4, 1))),
            TensorSpec((1,), DType.Float16, MlaCBlocked(1, 2, 16)),
            TensorSpec((1,), DType.Int32, MlaTiled(1, 2, 3)),
            TensorSpec((1,), DType.Float32, Contiguous()),
        ],
        "outputs": [TensorSpec((5, 4), DType.Int32)],
        "profile": Profile.Yolo26V1,
        "heads": [Head(0, 1, 2, None, 4), Head(0, 1, extra=3)],
        "model_input_size": (64, 32),
        "original_image_size": (128, 64),
        "num_classes": 3,
        "max_detections": 5,
        "detection_threshold": 0.25,
        "nms_iou_threshold": 0.5,
        "task": Task.Segmentation,
        "mask_prototype": 5,
        "quantization": {0: Quantization(0.5, -3), 2: Quantization(0.25, 7)},
        "num_keypoints": 3,
        "anchors": [[(1, 2.5), (3, 4)], []],
        "resize": Affine(1, 2, 3, 4),
        "mask_encoding": MaskEncoding.Binary,
        "class_agnostic": True,
        "box_unit": BoxUnit.Normalised,
        "anchor_scale": 2,
        "box_activation": ScoreActivation.Sigmoid,
        "peak_window": 3,
        "suppression_corners": SuppressionCorners.Exact,
        "one_class_uses_objectness": True,
        "keypoint_unit": BoxUnit.Pixels,
        "keypoint_dims": 2,
    }
    assert parse_plan(document(resize="Stretch")).arguments["resize"] is ResizePolicy.Stretch
    named = {"Affine": {"scale_x": 1, "offset_x": 2, "scale_y": 3, "offset_y": 4}}
    assert parse_plan(document(resize=named)).arguments["resize"] == (1, 2, 3, 4)


WRONG: list[tuple[Any, list[str]]] = [
    ([], ["the plan must be an object, not a list"]),
    (document(profile=...), ["the plan has no 'profile'"]),
    (document(inputs=..., heads=...), ["'heads'", "'inputs'"]),
    (document(threshold=1), ["unknown key 'threshold'", "known:", "detection_threshold"]),
    (document(detection_treshold=1), ["did you mean 'detection_threshold'?"]),
    (document(profile="YoloX"), ["profile is 'YoloX'", "did you mean 'YoloXV1'?", "Yolo26V1"]),
    (document(profile=5), ["profile must be a text, not a number"]),
    (document(task="Poses"), ["task is 'Poses'", "did you mean 'Pose'?"]),
    (document(score_activation="sigmoid"), ["score_activation", "did you mean 'Sigmoid'?"]),
    (document(num_classes=3.5), ["num_classes must be an integer, not 3.5"]),
    (document(num_classes=True), ["num_classes must be an integer, not true"]),
    (document(num_classes=None), ["num_classes must be an integer, not null"]),
    (document(detection_threshold="0.5"), ["detection_threshold must be a number, not a text"]),
    (document(detection_threshold=False), ["must be a number, not true or false"]),
    (document(class_agnostic=1), ["class_agnostic must be true or false, not a number"]),
    (document(model_input_size=[64]), ["model_input_size must be [width, height]", "1 entries"]),
    (document(model_input_size=64), ["model_input_size must be a list, not a number"]),
    (document(heads={}), ["heads must be a list, not an object"]),
    (document(heads=[0, 1]), ["heads[0] must be an object or a list", "boxes, scores"]),
    (document(heads=[[0]]), ["heads[0] must be [boxes, scores", "1 entries"]),
    (document(heads=[[0, 1, 2, 3, 4, 5]]), ["heads[0]", "6 entries"]),
    (document(heads=[[0, "1"]]), ["heads[0].scores must be an integer"]),
    (document(heads=[{"boxes": 0}]), ["heads[0] has no 'scores'"]),
    (document(heads=[{"boxes": 0, "score": 1}]), ["heads[0]", "did you mean 'scores'?"]),
    (document(quantization=[]), ["quantization must be an object"]),
    (document(quantization={"a": [1, 2]}), ["quantization has the key 'a'", "ports"]),
    (document(quantization={"-1": [1, 2]}), ["quantization has the key '-1'"]),
    (document(quantization={"1": [1, 2], "01": [1, 2]}), ["port 1 twice"]),
    (document(quantization={"0": 1}), ["quantization[0] must be", "dequant_scale, zero_point"]),
    (document(quantization={"0": [1, 0.5]}), ["quantization[0].zero_point must be an integer"]),
    (document(anchors=[[1, 2]]), ["anchors[0][0] must be", "width, height"]),
    (document(resize="Letterbox"), ["resize is 'Letterbox'", "CenteredLetterbox"]),
    (document(resize="Affine"), ["Affine needs its numbers", "scale_x"]),
    (document(resize={"Affine": [1, 2, 3]}), ["resize.Affine must be", "3 entries"]),
    (document(resize={"Stretch": []}), ["resize", "unknown key 'Stretch'"]),
    (document(inputs=[{"shape": [1]}]), ["inputs[0] has no 'dtype'"]),
    (document(inputs=[{"shape": [1], "dtype": "float32"}]), ["did you mean 'Float32'?"]),
    (document(inputs=[{"shape": 1, "dtype": "Int8"}]), ["inputs[0].shape must be a list"]),
    (document(inputs=[{"shape": ["a"], "dtype": "Int8"}]), ["inputs[0].shape[0]"]),
    (
        document(inputs=[{"shape": [1], "dtype": "Int8", "layout": "NCHW"}]),
        ["inputs[0].layout is 'NCHW'", "Planar"],
    ),
    (
        document(inputs=[{"shape": [1], "dtype": "Int8", "layout": "Strided"}]),
        ["Strided needs its numbers"],
    ),
    (
        document(inputs=[{"shape": [1], "dtype": "Int8", "layout": {"Planar": []}}]),
        ["Planar has no numbers"],
    ),
    (
        document(inputs=[{"shape": [1], "dtype": "Int8", "layout": {"MlaCBlocked": [1, 2]}}]),
        ["inputs[0].layout.MlaCBlocked must be [tile_h, tile_w, tile_c]"],
    ),
    (
        document(inputs=[{"shape": [1], "dtype": "Int8", "layout": {}}]),
        ["inputs[0].layout must have one key"],
    ),
    (
        document(
            inputs=[
                {"shape": [1], "dtype": "Int8", "name": "a"},
                {"shape": [1], "dtype": "Int8"},
            ]
        ),
        ["inputs[1] has no name"],
    ),
    (
        document(inputs=[{"shape": [1], "dtype": "Int8", "name": "a"}] * 2),
        ["two inputs have the same name"],
    ),
    (document(class_names="ab"), ["class_names must be a list"]),
    (document(class_names=[1]), ["class_names[0] must be a text"]),
]


@pytest.mark.parametrize(("content", "parts"), WRONG)
def test_wrong_files_say_where_and_what_would_do(
    tmp_path: Path, content: Any, parts: list[str]
) -> None:
    path = tmp_path / "wrong.json"
    path.write_text(json.dumps(content))
    with pytest.raises(PlanFileError) as caught:
        read_plan_file(path)
    assert str(path) in str(caught.value)
    for part in parts:
        assert part in str(caught.value)


def test_files_that_are_no_json(tmp_path: Path) -> None:
    path = tmp_path / "wrong.json"
    for content, part in (
        (b'{"inputs": [,]}', "line 1 column"),
        (b"\xff\xfe", "not JSON"),
        (b'{"num_classes": 1, "num_classes": 2}', "'num_classes' stands twice"),
    ):
        path.write_bytes(content)
        with pytest.raises(PlanFileError, match=part):
            read_plan_file(path)
    with pytest.raises(FileNotFoundError):
        read_plan_file(tmp_path / "none.json")


def test_rules_of_the_plan_are_left_to_the_plan() -> None:
    for content, field in (
        (document(max_detections=0), "params.max_detections"),
        (document(detection_threshold=float("nan")), "params.detection_threshold"),
        (document(num_classes=10**30), "params.num_classes"),
        (document(heads=[[0, -1]]), "params.heads[0].scores"),
    ):
        with pytest.raises(Error) as caught:
            parse_plan(content).plan()
        assert caught.value.field == field


def test_the_image_size_may_come_later() -> None:
    plan_file = parse_plan(document(original_image_size=...))
    with pytest.raises(PlanFileError, match="original_image_size is missing"):
        plan_file.plan()
    assert plan_file.plan((10, 20)).params.original_image_size == (10, 20)


def named_inputs(dtype: str = "Float32") -> Document:
    return document(
        inputs=[
            {"shape": [4, 8, 4], "dtype": "Float32", "name": "boxes"},
            {"shape": [4, 8, 3], "dtype": dtype, "name": "scores"},
        ]
    )


def test_arrays_come_by_name_or_in_order() -> None:
    boxes, scores = np.zeros((4, 8, 4), np.float32), np.ones((4, 8, 3), np.float32)
    named = parse_plan(named_inputs())
    found = named.arrays({"scores": scores, "more": boxes, "boxes": boxes})
    assert found[0] is boxes
    assert found[1] is scores
    unnamed = parse_plan(document())
    assert unnamed.arrays({"b": boxes, "a": scores})[1] is scores
    with pytest.raises(PlanFileError, match="no array 'boxes'; they have scores, other"):
        named.arrays({"scores": scores, "other": boxes})
    with pytest.raises(PlanFileError, match="3 arrays; the plan file has 2 inputs"):
        unnamed.arrays({"a": boxes, "b": scores, "c": boxes})
    with pytest.raises(PlanFileError, match="1 arrays; the plan file has 2 inputs"):
        unnamed.arrays(boxes)


def test_arrays_are_put_right_after_storage(tmp_path: Path) -> None:
    """A NumPy file forgets that two bytes were a bfloat16, and keeps Fortran order."""
    scores = np.zeros((4, 8, 3), ml_dtypes.bfloat16)
    scores[1, 1, 2] = 0.5
    boxes = np.asfortranarray(np.ones((4, 8, 4), np.float32))
    np.savez(tmp_path / "heads.npz", boxes=boxes, scores=scores)
    plan_file = parse_plan(named_inputs("BFloat16"))
    with np.load(tmp_path / "heads.npz") as heads:
        arrays = plan_file.arrays(heads)
    assert arrays[1].dtype == np.uint16
    plan = plan_file.plan()
    outputs = plan.allocate_outputs()
    plan.execute(plan.create_context(), arrays, outputs)
    assert outputs[3].tolist() == [1]
    assert outputs[2][0] == 2


def test_masked_arrays_do_not_lose_their_masks() -> None:
    boxes = np.zeros((4, 8, 4), np.float32)
    scores = np.ma.array(np.ones((4, 8, 3), np.float32), mask=True)
    with pytest.raises(PlanFileError, match=r"inputs\[1\] is a numpy\.ma\.MaskedArray"):
        parse_plan(document()).arrays({"a": boxes, "b": scores})


def test_an_open_file_is_not_read_where_a_header_does_not_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.savez(tmp_path / "a.npz", boxes=np.zeros((4, 8, 4), "f"), scores=np.zeros((4, 80, 3), "f"))
    read: list[str] = []
    get = np.lib.npyio.NpzFile.__getitem__
    monkeypatch.setattr(
        np.lib.npyio.NpzFile,
        "__getitem__",
        lambda self, name: read.append(name) or get(self, name),
    )
    with np.load(tmp_path / "a.npz") as heads:
        with pytest.raises(PlanFileError, match=r"inputs\[1\] is stored .* \(4, 80, 3\)"):
            parse_plan(named_inputs()).arrays(heads)
        assert read == []
        with pytest.raises(PlanFileError, match="2 arrays; the plan file has 1 inputs"):
            parse_plan(document(inputs=document()["inputs"][:1])).arrays(heads)
    np.savez(tmp_path / "a.npz", boxes=np.zeros((4, 8, 4), "f"), scores=np.zeros((3, 4, 8), "f"))
    with np.load(tmp_path / "a.npz") as heads:  # its axes turned: the plan's own error says more
        assert parse_plan(named_inputs()).arrays(heads)[1].shape == (3, 4, 8)
    assert read == ["boxes", "scores"]


def test_heads_are_read_from_a_file(tmp_path: Path) -> None:
    """bfloat16 and Fortran order as in memory, and flat arrays of every kind."""
    scores = np.zeros((4, 8, 3), ml_dtypes.bfloat16)
    scores[1, 1, 2] = 0.5
    boxes = np.asfortranarray(np.arange(128, dtype=np.float32).reshape(4, 8, 4))
    path = tmp_path / "heads.npz"
    plan_file = parse_plan(named_inputs("BFloat16"))
    plan = plan_file.plan()
    longer = np.zeros(100, ml_dtypes.bfloat16)
    longer[:96] = scores.reshape(-1)
    for stored in (scores, scores.reshape(-1), longer, longer.view(np.uint16).view(np.uint8)):
        np.savez_compressed(path, scores=stored, boxes=boxes)
        arrays = plan_file.read_heads(str(path), plan)
        np.testing.assert_array_equal(arrays[0], boxes)
        assert arrays[0].flags.c_contiguous
        outputs = plan.allocate_outputs()
        plan.execute(plan.create_context(), arrays, outputs)
        assert outputs[3].tolist() == [1]
        assert outputs[2][0] == 2
