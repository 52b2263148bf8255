"""Plan, TensorSpec and the layouts as Python objects; numbers that C++ cannot hold; wrong types."""

from __future__ import annotations

import ast
import copy
import enum
import pickle
from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType
from typing import Any

import boxdecode
import numpy as np
import pytest
from boxdecode import (
    Affine,
    Anchor,
    BoxUnit,
    Context,
    Contiguous,
    DType,
    Error,
    ErrorCode,
    Head,
    ImageGeometry,
    MaskEncoding,
    MlaCBlocked,
    MlaTiled,
    Plan,
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
from boxdecode._core import Params

BEYOND = 2**63


def test_all_names_are_there() -> None:
    for name in boxdecode.__all__:
        assert hasattr(boxdecode, name), name
    major, minor, patch = boxdecode.__version__.split(".")
    assert all(part.isdecimal() for part in (major, minor, patch))


def stub_enumerations() -> dict[str, dict[str, int]]:
    """Members and values of every enumeration in the stub of the extension module."""
    tree = ast.parse(Path(boxdecode.__file__).with_name("_core.pyi").read_text(encoding="utf-8"))
    return {
        node.name: {
            line.targets[0].id: line.value.value
            for line in node.body
            if isinstance(line, ast.Assign)
            and isinstance(line.targets[0], ast.Name)
            and isinstance(line.value, ast.Constant)
        }
        for node in tree.body
        if isinstance(node, ast.ClassDef) and "enum.Enum" in map(ast.unparse, node.bases)
    }


def test_enumerations_are_those_of_the_stub() -> None:
    """The profiles are compared with the catalogue of recipes in tests/docs."""
    real = {
        name: {member.name: member.value for member in value}
        for name, value in vars(boxdecode._core).items()
        if isinstance(value, type) and issubclass(value, enum.Enum)
    }
    assert {"DType", "ErrorCode", "Profile", "ScoreActivation", "Task"} <= set(real)
    assert real == stub_enumerations()
    for name, members in real.items():
        assert list(members.values()) == list(range(len(members))), name


def test_tensor_specs_are_values() -> None:
    spec = TensorSpec((1, 4, 8, 3), DType.Int8, Strided([128, 128, 16, 1]))
    assert (spec.shape, spec.dtype) == ((1, 4, 8, 3), DType.Int8)
    assert spec.layout == Strided((128, 128, 16, 1))
    assert repr(spec) == "TensorSpec((1, 4, 8, 3), DType.Int8, Strided((128, 128, 16, 1)))"
    same = TensorSpec(np.array([1, 4, 8, 3]), dtype=DType.Int8, layout=spec.layout)
    assert spec == same
    assert hash(spec) == hash(same)
    others = [
        TensorSpec((4, 8, 3), DType.Int8, spec.layout),
        TensorSpec((1, 4, 8, 3), DType.UInt8, spec.layout),
        TensorSpec((1, 4, 8, 3), DType.Int8),
        "spec",
    ]
    assert all(spec != other for other in others)
    assert TensorSpec((1,), DType.Int8).layout == Contiguous()


@pytest.mark.parametrize(
    ("layout", "text"),
    [
        (Contiguous(), "Contiguous()"),
        (Planar(), "Planar()"),
        (Strided((6, 2, 1)), "Strided((6, 2, 1))"),
        (MlaCBlocked(2, 3, 16), "MlaCBlocked(tile_h=2, tile_w=3, tile_c=16)"),
        (MlaTiled(tile_h=1, tile_w=2, tile_c=3), "MlaTiled(tile_h=1, tile_w=2, tile_c=3)"),
    ],
)
def test_layouts_are_values(layout: Any, text: str) -> None:
    assert repr(layout) == text
    twin = eval(text)
    assert layout == twin
    assert hash(layout) == hash(twin)
    others = [MlaCBlocked(2, 3, 32), MlaTiled(2, 3, 16), Strided((2, 3, 16)), (6, 2, 1), None]
    assert all(layout != other for other in others)


def test_params_are_resolved_and_owned(arguments: Any) -> None:
    params = Plan(**arguments()).params
    assert params.profile is Profile.Yolo26V1
    assert params.task is Task.Detection
    assert params.heads == (Head(0, 1), Head(2, 3))
    assert params.mask_prototype is None
    assert params.model_input_size == (64, 32)
    assert params.original_image_size == (128, 64)
    assert (params.num_classes, params.max_detections) == (3, 5)
    assert (params.detection_threshold, params.nms_iou_threshold) == (0.25, 0.5)
    assert params.score_activation is ScoreActivation.Identity
    assert params.quantization == {}
    assert params.num_keypoints == 17
    assert params.anchors == ()
    assert params.resize is ResizePolicy.CenteredLetterbox
    assert params.mask_encoding is MaskEncoding.Probability
    assert params.class_agnostic is False
    assert params.box_unit is BoxUnit.Pixels
    assert params.anchor_scale == 4.0
    assert params.box_activation is ScoreActivation.Identity
    assert params.peak_window == 1
    assert params.suppression_corners is SuppressionCorners.Integer
    assert params.one_class_uses_objectness is False
    assert params.keypoint_unit is None
    assert params.keypoint_dims == 3


def test_arguments_are_taken_in_every_plain_form(arguments: Any) -> None:
    specs = [
        TensorSpec((1, 4, 8, 4), DType.Int8),
        TensorSpec((1, 4, 8, 3), DType.Int8),
    ]
    plain = arguments(
        inputs=iter(specs),
        heads=np.array([[0, 1]]),
        quantization=MappingProxyType({np.int64(0): [0.5, -3], 1: Quantization(0.25, 7)}),
        resize=(2, 1.5, np.float32(3), 0),
        model_input_size=[np.int32(64), 32],
        num_classes=np.uint8(3),
        detection_threshold=np.float64(0.3),
        class_agnostic=np.True_,
    )
    params = Plan(**plain).params
    assert params.heads == (Head(0, 1),)
    assert params.quantization == {0: (0.5, -3), 1: (0.25, 7)}
    assert params.resize == Affine(2.0, 1.5, 3.0, 0.0)
    assert isinstance(params.resize, Affine)
    assert isinstance(params.quantization[0], Quantization)
    assert params.detection_threshold == float(np.float32(0.3))
    assert params.class_agnostic is True


def test_none_leaves_the_default(arguments: Any) -> None:
    plan = Plan(
        **arguments(outputs=None, mask_prototype=None, quantization=None, anchors=None, resize=None)
    )
    assert plan.params.resize is ResizePolicy.CenteredLetterbox


def test_specs_bytes_and_outputs(arguments: Any) -> None:
    plan = Plan(**arguments())
    assert plan.input_specs == tuple(arguments()["inputs"])
    assert [(spec.shape, spec.dtype) for spec in plan.output_specs] == [
        ((5, 4), DType.Int32),
        ((5,), DType.Float32),
        ((5,), DType.Int32),
        ((1,), DType.Int32),
    ]
    assert [plan.required_bytes(port) for port in range(4)] == [512, 384, 128, 96]
    assert plan.context_bytes > 0
    outputs = plan.allocate_outputs()
    assert [(output.shape, output.dtype) for output in outputs] == [
        ((5, 4), np.int32),
        ((5,), np.float32),
        ((5,), np.int32),
        ((1,), np.int32),
    ]
    again = Plan(**arguments(outputs=plan.output_specs))
    assert again.output_specs == plan.output_specs
    assert repr(plan) == "<boxdecode.Plan Yolo26V1 Detection, 4 inputs, up to 5 detections>"


def test_describe_is_text(plan: Plan) -> None:
    text = plan.describe()
    assert "Yolo26V1" in text
    assert "scalar" in text or "avx2" in text or "neon" in text


def test_ports_that_do_not_exist_have_no_bytes(plan: Plan, refused: Any) -> None:
    for port in (4, -1, BEYOND):
        refused(lambda port=port: plan.required_bytes(port), ErrorCode.InvalidParameter, "port")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"num_classes": BEYOND}, "params.num_classes"),
        ({"num_classes": -BEYOND - 1}, "params.num_classes"),
        ({"max_detections": BEYOND}, "params.max_detections"),
        ({"num_keypoints": 10**30}, "params.num_keypoints"),
        ({"peak_window": BEYOND}, "params.peak_window"),
        ({"keypoint_dims": BEYOND}, "params.keypoint_dims"),
        ({"mask_prototype": BEYOND}, "params.mask_prototype"),
        ({"mask_prototype": -1}, "params.mask_prototype"),
        ({"model_input_size": (BEYOND, 32)}, "params.model_input_size"),
        ({"original_image_size": (64, 10**5000)}, "params.original_image_size"),
        ({"heads": [(0, 1), (BEYOND, 3)]}, "params.heads[1].boxes"),
        ({"heads": [(0, -1), (2, 3)]}, "params.heads[0].scores"),
        ({"heads": [(0, 1), (2, 3, -1)]}, "params.heads[1].objectness"),
        ({"heads": [(0, 1), (2, 3, None, BEYOND)]}, "params.heads[1].extra"),
        ({"heads": [(0, 1), (2, 3, None, None, -5)]}, "params.heads[1].sizes"),
        ({"heads": [(0,), (2, 3)]}, "params.heads[0]"),
        ({"heads": [(0, 1), (2, 3, None, None, None, 4)]}, "params.heads[1]"),
        ({"detection_threshold": 10**400}, "params.detection_threshold"),
        ({"nms_iou_threshold": -(10**400)}, "params.nms_iou_threshold"),
        ({"anchor_scale": 10**400}, "params.anchor_scale"),
        ({"quantization": {BEYOND: (1, 0)}}, f"params.quantization[{BEYOND}]"),
        ({"quantization": {-1: (1, 0)}}, "params.quantization[-1]"),
        ({"quantization": {0: (1, BEYOND)}}, "params.quantization[0].zero_point"),
        ({"quantization": {0: (10**400, 0)}}, "params.quantization[0].dequant_scale"),
        ({"quantization": {0: (1, 0, 0)}}, "params.quantization[0]"),
        ({"anchors": [[(1, 2), (1, 2, 3)]]}, "params.anchors[0][1]"),
        ({"anchors": [[(10**400, 2)]]}, "params.anchors[0][0].width"),
        ({"resize": (1, 0, 1)}, "params.resize"),
        ({"resize": (1, 0, 1, 10**400)}, "params.resize"),
        ({"model_input_size": (1, 2, 3)}, "params.model_input_size"),
        ({"original_image_size": ()}, "params.original_image_size"),
    ],
)
def test_values_beyond_the_types_are_errors_with_a_place(
    arguments: Any, refused: Any, change: dict[str, Any], field: str
) -> None:
    refused(lambda: Plan(**arguments(**change)), ErrorCode.InvalidParameter, field, field)


def test_sides_beyond_the_type_are_errors_with_a_place(refused: Any) -> None:
    for make, field in (
        (lambda: TensorSpec((1, BEYOND), DType.Int8), "shape[1]"),
        (lambda: Strided((BEYOND, 1)), "strides[0]"),
        (lambda: MlaCBlocked(1, BEYOND, 1), "tile_w"),
        (lambda: MlaTiled(1, 1, -BEYOND - 1), "tile_c"),
    ):
        refused(make, ErrorCode.InvalidParameter, field, field)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"profile": "Yolo26V1"}, r"params\.profile must be a member of boxdecode\.Profile"),
        ({"profile": 0}, r"params\.profile must be a member of boxdecode\.Profile"),
        ({"task": Profile.Yolo8V1}, r"params\.task must be a member of boxdecode\.Task"),
        ({"score_activation": 1}, r"params\.score_activation .* boxdecode\.ScoreActivation"),
        ({"mask_encoding": None}, r"params\.mask_encoding .* boxdecode\.MaskEncoding"),
        ({"box_unit": "Pixels"}, r"params\.box_unit .* boxdecode\.BoxUnit"),
        ({"suppression_corners": "Exact"}, r"params\.suppression_corners .* boxdecode\.Supp"),
        ({"box_activation": 0}, r"params\.box_activation .* boxdecode\.ScoreActivation"),
        ({"resize": "Stretch"}, r"params\.resize must be .*ResizePolicy or an Affine, not str"),
        ({"resize": 1}, r"params\.resize must be"),
        ({"num_classes": 3.0}, r"params\.num_classes must be an integer, not float"),
        ({"num_classes": None}, r"params\.num_classes must be an integer, not NoneType"),
        ({"max_detections": "5"}, r"params\.max_detections must be an integer, not str"),
        ({"detection_threshold": None}, r"params\.detection_threshold must be a number"),
        ({"detection_threshold": "0.5"}, r"params\.detection_threshold must be a number, not str"),
        ({"class_agnostic": 1}, r"params\.class_agnostic must be True or False, not int"),
        ({"heads": [0, 1]}, r"params\.heads\[0\] must be a Head or a tuple"),
        ({"heads": 7}, r"params\.heads must be a list of heads, not int"),
        ({"heads": "01"}, r"params\.heads must be a list of heads, not str"),
        ({"heads": [(0, 1.5), (2, 3)]}, r"params\.heads\[0\]\.scores must be an integer"),
        ({"heads": [(0, None), (2, 3)]}, r"params\.heads\[0\]\.scores must be an integer"),
        ({"quantization": [(1.0, 0)]}, r"params\.quantization must be a mapping"),
        ({"quantization": {0: 1.0}}, r"params\.quantization\[0\] must be a Quantization"),
        ({"quantization": {0: (1.0, 0.0)}}, r"quantization\[0\]\.zero_point must be an integer"),
        ({"anchors": [(1, 2)]}, r"params\.anchors\[0\]\[0\] must be an Anchor"),
        ({"model_input_size": 640}, r"params\.model_input_size must be a tuple \(width, height\)"),
        ({"model_input_size": (64.0, 32)}, r"params\.model_input_size must be an integer"),
        ({"inputs": [((1, 4, 8, 4), DType.Int8)]}, r"inputs\[0\] must be a TensorSpec, not tuple"),
        ({"inputs": 4}, r"inputs must be a list of TensorSpec, not int"),
        ({"outputs": [None]}, r"outputs\[0\] must be a TensorSpec, not NoneType"),
        ({"threshold": 0.5}, r"unexpected keyword argument 'threshold'"),
        (
            {"heads": ..., "num_classes": ...},
            r"missing the keyword arguments 'heads', 'num_classes'",
        ),
    ],
)
def test_wrong_types_are_type_errors_that_name_the_argument(
    arguments: Any, change: dict[str, Any], text: str
) -> None:
    with pytest.raises(TypeError, match=text):
        Plan(**arguments(**change))


def test_wrong_types_of_specs() -> None:
    for make, text in (
        (lambda: TensorSpec(4, DType.Int8), "shape must be a sequence of integers, not int"),
        (lambda: TensorSpec("4", DType.Int8), "shape must be a sequence of integers, not str"),
        (lambda: TensorSpec((4.0,), DType.Int8), r"shape\[0\] must be an integer, not float"),
        (lambda: TensorSpec((4,), DType.Int8, "Planar"), "layout must be Contiguous"),
        (lambda: TensorSpec((4,), DType.Int8, Planar), "layout must be Contiguous"),
        (lambda: MlaCBlocked(1, 2, 3.5), "tile_c must be an integer"),
    ):
        with pytest.raises(TypeError, match=text):
            make()


def test_exceptions_of_an_argument_pass_through(arguments: Any) -> None:
    def heads() -> Any:
        yield (0, 1)
        raise RuntimeError("no more heads")

    with pytest.raises(RuntimeError, match="no more heads"):
        Plan(**arguments(heads=heads()))


def test_image_size_changes_the_mapping_alone(plan: Plan, frame: Any, refused: Any) -> None:
    context, outputs = plan.create_context(), plan.allocate_outputs()
    heads = frame((1, 1, 0, 1, 0.5))
    geometry = plan.with_image_size((64, 32))
    assert geometry.image_size == (64, 32)
    assert repr(geometry) == "<boxdecode.ImageGeometry (64, 32)>"
    geometry.execute(context, heads, outputs)
    assert outputs[0][0].tolist() == [4, 4, 16, 16]
    plan.execute(context, heads, outputs)
    assert outputs[0][0].tolist() == [8, 8, 32, 32]
    for size in ((0, 32), (64, -1), (2**20 + 1, 32), (BEYOND, 1), (1, 2, 3)):
        refused(
            lambda size=size: plan.with_image_size(size),
            ErrorCode.InvalidParameter,
            "original_image_size",
        )
    with pytest.raises(TypeError, match=r"tuple \(width, height\)"):
        plan.with_image_size(64)  # type: ignore[arg-type]


def test_affine_is_given_exactly_where_the_policy_is_affine(
    arguments: Any, frame: Any, refused: Any
) -> None:
    heads = frame((1, 1, 0, 1, 0.5))
    plan = Plan(**arguments(resize=Affine(1, 0, 1, 0)))
    context, outputs = plan.create_context(), plan.allocate_outputs()
    plan.execute(context, heads, outputs)
    assert outputs[0][0].tolist() == [4, 4, 16, 16]
    plan.with_image_size((640, 640), (2, 10, 3, 20)).execute(context, heads, outputs)
    assert outputs[0][0].tolist() == [18, 32, 32, 48]
    plan.with_image_size((640, 640), affine=Affine(1, 1, 1, 1)).execute(context, heads, outputs)
    assert outputs[0][0].tolist() == [5, 5, 16, 16]
    refused(lambda: plan.with_image_size((640, 640)), ErrorCode.InvalidParameter, "affine")
    letterbox = Plan(**arguments())
    refused(
        lambda: letterbox.with_image_size((64, 32), Affine(1, 0, 1, 0)),
        ErrorCode.InvalidParameter,
        "affine",
    )
    for wrong in ((1, 0, 1), (0, 0, 1, 0), (1, 0, float("nan"), 0)):
        refused(
            lambda wrong=wrong: plan.with_image_size((64, 32), wrong),
            ErrorCode.InvalidParameter,
            "affine",
        )


def test_a_geometry_keeps_its_plan_alive(arguments: Any, frame: Any) -> None:
    plan = Plan(**arguments())
    geometry, context, outputs = (
        plan.with_image_size((64, 32)),
        plan.create_context(),
        plan.allocate_outputs(),
    )
    del plan
    geometry.execute(context, frame((1, 1, 0, 1, 0.5)), outputs)
    assert outputs[3].tolist() == [1]


def test_params_keep_their_plan_alive(arguments: Any) -> None:
    params = Plan(**arguments()).params
    assert params.heads == (Head(0, 1), Head(2, 3))


def test_objects_that_only_a_plan_makes() -> None:
    for kind in (boxdecode.Context, boxdecode.ImageGeometry, boxdecode.Params):
        with pytest.raises(TypeError, match="constructor"):
            kind()


def test_plans_are_not_copied_by_accident(plan: Plan) -> None:
    with pytest.raises(TypeError):
        copy.deepcopy(plan)


def test_plain_types_are_tuples() -> None:
    assert Head(1, 2) == (1, 2, None, None, None)
    assert Quantization(dequant_scale=0.5, zero_point=3) == (0.5, 3)
    assert Anchor(3, 4) == (3, 4)
    assert Affine(1, 2, 3, 4) == (1, 2, 3, 4)


def test_errors_of_the_core_are_value_errors(arguments: Any) -> None:
    with pytest.raises(ValueError, match="max_detections") as caught:
        Plan(**arguments(max_detections=0))
    assert isinstance(caught.value, Error)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_specs_and_layouts_can_be_pickled_and_the_rest_cannot(plan: Plan, protocol: int) -> None:
    layouts = [Contiguous(), Planar(), Strided((9, 3, 1)), MlaCBlocked(2, 3, 16), MlaTiled(1, 2, 3)]
    for item in (*layouts, *(TensorSpec((2, 3, 4), DType.Int8, layout) for layout in layouts)):
        for twin in (pickle.loads(pickle.dumps(item, protocol)), copy.deepcopy(item)):
            assert type(twin) is type(item)
            assert twin == item
    for item in (plan, plan.params, plan.create_context(), plan.with_image_size((9, 9))):
        with pytest.raises(TypeError, match="cannot pickle"):
            pickle.dumps(item, protocol)
        with pytest.raises(TypeError, match="cannot pickle"):
            item.__reduce_ex__(protocol)


def test_objects_that_were_not_initialised_are_refused(plan: Plan, arguments: Any) -> None:
    calls: list[Callable[[], object]] = [
        lambda: Plan.__new__(Plan).describe(),
        lambda: repr(Plan.__new__(Plan)),
        lambda: Plan.__new__(Plan).with_image_size((9, 9)),
        lambda: Plan.__new__(Plan).__reduce_ex__(0),
        lambda: boxdecode.Decoder(Plan.__new__(Plan)),
        lambda: Params.__new__(Params).profile,
        lambda: ImageGeometry.__new__(ImageGeometry).mapping,
        lambda: plan.execute(Context.__new__(Context), [], []),
        lambda: TensorSpec.__new__(TensorSpec).shape,
        lambda: pickle.dumps(TensorSpec.__new__(TensorSpec), 0),
        lambda: Plan(**arguments(inputs=[TensorSpec.__new__(TensorSpec)])),
        lambda: TensorSpec((1, 2, 3), DType.Int8, Strided.__new__(Strided)),
        lambda: Strided.__new__(Strided).strides,
        lambda: MlaCBlocked.__new__(MlaCBlocked).tile_h,
    ]
    for call in calls:
        with pytest.raises(TypeError):
            call()


def test_a_dtype_must_be_a_member() -> None:
    with pytest.raises(TypeError, match=r"dtype must be a member of boxdecode.DType, not str"):
        TensorSpec((1, 2, 3), "Float32")  # type: ignore[arg-type]


def test_describe_names_the_tile(arguments: Any) -> None:
    specs = [
        TensorSpec((4, 8, 4), DType.Float32),
        TensorSpec((4, 8, 3), DType.Int8, MlaCBlocked(4, 8, 16)),
    ]
    plan = Plan(**arguments(inputs=specs, heads=[(0, 1)], quantization={1: (0.01, 0)}))
    assert "Int8 MlaCBlocked 4x8x16, " in plan.describe()
