"""One wrong thing in an otherwise valid request: code and field of the contract's error table.

Each fault is applied to valid requests of every recipe that it concerns. Two faults of different
groups give the error of the earlier group: parameters, ports and roles, shapes, layouts,
quantization, outputs.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import adapter
import boxdecode
import frames
import numpy as np
import pytest
from reference import RefusalError, Request, decode, layouts
from reference.families import family_of

Arguments = dict[str, Any]
Expected = tuple[str, str]

PARAMETERS, PORTS, SHAPES, LAYOUTS, QUANTIZATION, OUTPUTS = range(6)

#: The parameters as the contract declares them.
DECLARED = (
    *("profile", "task", "heads", "mask_prototype", "model_input_size", "original_image_size"),
    *("num_classes", "max_detections", "detection_threshold", "nms_iou_threshold"),
    *("score_activation", "quantization", "num_keypoints", "anchors", "resize", "mask_encoding"),
    *("class_agnostic", "box_unit", "anchor_scale", "box_activation", "peak_window"),
    "suppression_corners",
    *("one_class_uses_objectness", "keypoint_unit", "keypoint_dims"),
)

NAN, INFINITY = float("nan"), float("inf")


@dataclass(frozen=True)
class Fault:
    """`apply` spoils the arguments and returns (code, field); None where it does not concern."""

    name: str
    group: int
    apply: Callable[[Arguments, Request], Expected | None]


FAULTS: list[Fault] = []


def fault(group: int) -> Callable[[Callable[[Arguments, Request], Expected | None]], Any]:
    def register(apply: Callable[[Arguments, Request], Expected | None]) -> Any:
        FAULTS.append(Fault(apply.__name__, group, apply))
        return apply

    return register


def bad_values(name: str, *values: Any, unless: Callable[[Request], bool] | None = None) -> None:
    """A parameter whose value is wrong, whatever the recipe (or unless it uses the parameter)."""
    for number, value in enumerate(values):

        def apply(arguments: Arguments, request: Request, value: Any = value) -> Expected | None:
            if unless is not None and unless(request):
                return None
            arguments[name] = value
            return "InvalidParameter", f"params.{name}"

        FAULTS.append(Fault(f"{name} {number}: {value}", PARAMETERS, apply))


def takes(parameter: str) -> Callable[[Request], bool]:
    return lambda request: parameter in family_of(request).takes


def suppresses(request: Request) -> bool:
    return family_of(request).suppresses


def lacks(parameter: str) -> Callable[[Request], bool]:
    return lambda request: parameter not in family_of(request).takes


def is_task(name: str) -> Callable[[Request], bool]:
    return lambda request: request.task == name


def always(condition: Callable[[Request], bool]) -> Callable[[Request], bool]:
    return lambda request: not condition(request)


bad_values("model_input_size", (0, 32), (32, 0), (1_048_577, 32), unless=lacks("model_input_size"))
bad_values("original_image_size", (0, 32), (32, 0), (1_048_577, 32), (32, 1_048_577))
bad_values("num_classes", 0, -1)
bad_values("max_detections", 0, -1, 65_537)
bad_values("detection_threshold", 1.0, -0.25, NAN, INFINITY, 0.99999999999)
bad_values("nms_iou_threshold", 1.25, -0.25, NAN, INFINITY)
bad_values("num_keypoints", 5, unless=is_task("Pose"))
bad_values("num_keypoints", 0, -1, 65, unless=always(is_task("Pose")))
bad_values("anchors", [[(8.0, 8.0)]], unless=takes("anchors"))
bad_values("peak_window", 3, unless=takes("peak_window"))
bad_values("peak_window", 0, 2, 5, unless=lacks("peak_window"))
bad_values("anchor_scale", 3.0, unless=takes("anchor_scale"))
bad_values("anchor_scale", 0.0, -1.0, NAN, INFINITY, unless=lacks("anchor_scale"))
bad_values("box_activation", boxdecode.ScoreActivation.Sigmoid, unless=takes("box_activation"))
bad_values("box_activation", boxdecode.ScoreActivation.Softmax, unless=lacks("box_activation"))
bad_values(
    "box_unit",
    boxdecode.BoxUnit.Normalised,
    unless=takes("box_unit"),
)
bad_values("keypoint_dims", 2, unless=is_task("Pose"))
bad_values("keypoint_dims", 0, -1, 1, 4, unless=always(is_task("Pose")))
bad_values(
    "keypoint_unit",
    boxdecode.BoxUnit.Pixels,
    boxdecode.BoxUnit.Normalised,
    unless=lambda request: takes("keypoint_unit")(request) and request.task == "Pose",
)


def can_score_by_objectness(request: Request) -> bool:
    """One class, and an objectness beside it."""
    family = family_of(request)
    has_objectness = family.objectness_port(request.heads[0]) is not None
    is_taken = "one_class_uses_objectness" in family.takes
    return is_taken and has_objectness and request.num_classes == 1


bad_values("one_class_uses_objectness", True, unless=can_score_by_objectness)
bad_values("mask_encoding", boxdecode.MaskEncoding.Binary, unless=is_task("Segmentation"))
bad_values("class_agnostic", True, unless=suppresses)
bad_values("suppression_corners", boxdecode.SuppressionCorners.Exact, unless=suppresses)
bad_values("mask_prototype", 0, unless=is_task("Segmentation"))
bad_values(
    "resize",
    boxdecode.ResizePolicy.CenteredLetterbox,
    boxdecode.ResizePolicy.TopLeftLetterbox,
    boxdecode.Affine(1.0, 0.0, 1.0, 0.0),
    unless=takes("resize"),
)
bad_values(
    "score_activation",
    boxdecode.ScoreActivation.Softmax,
    None,
    unless=lacks("score_activation"),
)
bad_values(
    "score_activation",
    boxdecode.ScoreActivation.Identity,
    unless=takes("score_activation"),
)


@fault(PARAMETERS)
def task_that_the_profile_does_not_have(arguments: Arguments, request: Request) -> Expected | None:
    for task in ("Pose", "Segmentation"):
        if task not in family_of(request).tasks:
            arguments["task"] = getattr(boxdecode.Task, task)
            return "UnsupportedRecipe", "params.task"
    return None


@fault(PARAMETERS)
def affine_scale_of_zero(arguments: Arguments, request: Request) -> Expected | None:
    if "resize" not in family_of(request).takes:
        return None
    arguments["resize"] = boxdecode.Affine(0.0, 0.0, 1.0, 0.0)
    return "InvalidParameter", "params.resize"


@fault(PARAMETERS)
def affine_scale_not_finite(arguments: Arguments, request: Request) -> Expected | None:
    if "resize" not in family_of(request).takes:
        return None
    arguments["resize"] = boxdecode.Affine(1.0, 0.0, INFINITY, 0.0)
    return "InvalidParameter", "params.resize"


# ---- ports and roles -----------------------------------------------------------------------------


def rebuild(arguments: Arguments, index: int, **roles: int | None) -> None:
    """One head with other ports."""
    heads = list(arguments["heads"])
    head = heads[index]
    names = ("boxes", "scores", "objectness", "extra", "sizes")
    ports = {name: getattr(head, name) for name in names}
    ports.update(roles)
    heads[index] = boxdecode.Head(*(ports[name] for name in names))
    arguments["heads"] = heads


def is_single_port(request: Request) -> bool:
    head = request.heads[-1]
    return head.boxes == head.scores


@fault(PORTS)
def port_that_does_not_exist(arguments: Arguments, request: Request) -> Expected | None:
    if is_single_port(request):
        return None
    last = len(request.heads) - 1
    rebuild(arguments, last, scores=len(request.inputs))
    return "InvalidParameter", f"params.heads[{last}].scores"


@fault(PORTS)
def port_used_by_two_heads(arguments: Arguments, request: Request) -> Expected | None:
    if is_single_port(request) or len(request.heads) < 2:
        return None
    last = len(request.heads) - 1
    rebuild(arguments, last, boxes=request.heads[0].boxes)
    return "InvalidParameter", f"params.heads[{last}].boxes"


@fault(PORTS)
def input_that_nothing_uses(arguments: Arguments, request: Request) -> Expected | None:
    spec = arguments["inputs"][0]
    float_spec = boxdecode.TensorSpec(list(spec.shape), boxdecode.DType.Float32)
    arguments["inputs"] = [*arguments["inputs"], float_spec]
    return "InvalidParameter", f"inputs[{len(request.inputs)}]"


@fault(PORTS)
def objectness_on_a_recipe_without(arguments: Arguments, request: Request) -> Expected | None:
    if family_of(request).names_objectness:
        return None
    rebuild(arguments, 0, objectness=len(request.inputs))
    spec = boxdecode.TensorSpec([*request.inputs[0].shape[:2], 1], boxdecode.DType.Float32)
    arguments["inputs"] = [*arguments["inputs"], spec]
    return "InvalidParameter", "params.heads[0].objectness"


@fault(PARAMETERS)
def no_heads(arguments: Arguments, request: Request) -> Expected | None:
    if family_of(request).fixed_signature:
        return None
    arguments["heads"] = []
    return "InvalidParameter", "params.heads"


# ---- shapes --------------------------------------------------------------------------------------


def respecify(arguments: Arguments, port: int, **changes: Any) -> None:
    spec = arguments["inputs"][port]
    fields = {"shape": list(spec.shape), "dtype": spec.dtype, "layout": spec.layout}
    fields.update(changes)
    inputs = list(arguments["inputs"])
    inputs[port] = boxdecode.TensorSpec(fields["shape"], fields["dtype"], fields["layout"])
    arguments["inputs"] = inputs


@fault(SHAPES)
def one_channel_too_many(arguments: Arguments, request: Request) -> Expected | None:
    if family_of(request).fixed_signature or request.task == "Segmentation":
        return None
    port = request.heads[0].boxes
    height, width, channels = request.inputs[port].shape
    if request.heads[0].sizes is not None:  # the boxes' channels say how many anchors there are
        port = request.heads[0].scores
        height, width, channels = request.inputs[port].shape
    respecify(arguments, port, shape=[height, width, channels + 1])
    return "InvalidTensor", f"inputs[{port}].shape"


@fault(SHAPES)
def outer_dimension_of_two(arguments: Arguments, request: Request) -> Expected | None:
    port = request.heads[0].boxes
    respecify(arguments, port, shape=[2, *request.inputs[port].shape])
    return "InvalidTensor", f"inputs[{port}].shape"


@fault(SHAPES)
def rank_of_two(arguments: Arguments, request: Request) -> Expected | None:
    port = request.heads[0].boxes
    respecify(arguments, port, shape=list(request.inputs[port].shape[1:]))
    return "InvalidTensor", f"inputs[{port}].shape"


@fault(SHAPES)
def rank_of_seven(arguments: Arguments, request: Request) -> Expected | None:
    port = request.heads[0].boxes
    respecify(arguments, port, shape=[1, 1, 1, 1, *request.inputs[port].shape])
    return "InvalidTensor", f"inputs[{port}].shape"


@fault(SHAPES)
def side_of_zero(arguments: Arguments, request: Request) -> Expected | None:
    port = request.heads[0].boxes
    height, width, _ = request.inputs[port].shape
    respecify(arguments, port, shape=[height, width, 0])
    return "InvalidTensor", f"inputs[{port}].shape"


@fault(SHAPES)
def integer_32_input(arguments: Arguments, request: Request) -> Expected | None:
    port = request.heads[0].boxes
    respecify(arguments, port, dtype=boxdecode.DType.Int32)
    return "InvalidTensor", f"inputs[{port}].dtype"


@fault(SHAPES)
def grids_of_one_head_differ(arguments: Arguments, request: Request) -> Expected | None:
    if is_single_port(request) or family_of(request).fixed_signature:
        return None
    head = request.heads[0]
    height, width, channels = request.inputs[head.scores].shape
    respecify(arguments, head.scores, shape=[height, width + 1, channels])
    return "InvalidTensor", f"inputs[{head.scores}].shape"


@fault(SHAPES)
def grid_that_does_not_divide_the_model(arguments: Arguments, request: Request) -> Expected | None:
    if not family_of(request).grid_divides_model:
        return None
    width = request.inputs[request.heads[0].boxes].shape[1]
    if width == 1:
        return None
    arguments["model_input_size"] = (width * 8 + 1, request.model_input_size[1])
    return "InvalidTensor", f"inputs[{request.heads[0].boxes}].shape"


@fault(SHAPES)
def ssd_signature_with_another_input_size(
    arguments: Arguments, request: Request
) -> Expected | None:
    if not family_of(request).fixed_signature:
        return None
    arguments["model_input_size"] = (301, 300)
    return "UnsupportedRecipe", "params.profile"


@fault(SHAPES)
def ssd_class_count_against_the_conf_depths(
    arguments: Arguments, request: Request
) -> Expected | None:
    if not family_of(request).fixed_signature or family_of(request).may_read_fewer_classes:
        return None
    arguments["num_classes"] = request.num_classes + 1
    return "InvalidParameter", "params.num_classes"


@fault(PARAMETERS)
def ssd300_class_count_beyond_its_signature(
    arguments: Arguments, request: Request
) -> Expected | None:
    if not family_of(request).may_read_fewer_classes:
        return None
    arguments["num_classes"] = 82
    return "InvalidParameter", "params.num_classes"


# ---- layouts -------------------------------------------------------------------------------------


def strided(shape: tuple[int, int, int], physical: int) -> Any:
    return boxdecode.Strided(list(layouts.strides(shape, physical)))


@fault(LAYOUTS)
def strides_of_a_gap_between_rows(arguments: Arguments, request: Request) -> Expected | None:
    port = request.heads[0].boxes
    height, width, channels = request.inputs[port].shape
    physical = (channels + 15) // 16 * 16
    layout = boxdecode.Strided([width * physical + 16, physical, 1])
    if height == 1:
        return None
    respecify(arguments, port, layout=layout)
    return "UnsupportedLayout", f"inputs[{port}].layout"


@fault(LAYOUTS)
def channel_stride_of_two(arguments: Arguments, request: Request) -> Expected | None:
    port = request.heads[0].boxes
    _, width, channels = request.inputs[port].shape
    physical = 2 * ((channels + 15) // 16 * 16)
    respecify(arguments, port, layout=boxdecode.Strided([width * physical, physical, 2]))
    return "UnsupportedLayout", f"inputs[{port}].layout"


@fault(LAYOUTS)
def fewer_physical_channels_than_logical(arguments: Arguments, request: Request) -> Expected | None:
    port = request.heads[0].boxes
    shape = request.inputs[port].shape
    respecify(arguments, port, layout=strided(shape, shape[2] - 1))
    return "UnsupportedLayout", f"inputs[{port}].layout"


@fault(LAYOUTS)
def physical_channels_beyond_the_bound(arguments: Arguments, request: Request) -> Expected | None:
    port = request.heads[0].boxes
    respecify(arguments, port, layout=strided(request.inputs[port].shape, 4112))
    return "UnsupportedLayout", f"inputs[{port}].layout"


@fault(LAYOUTS)
def one_stride_too_few(arguments: Arguments, request: Request) -> Expected | None:
    port = request.heads[0].boxes
    _, width, channels = request.inputs[port].shape
    del width
    respecify(arguments, port, layout=boxdecode.Strided([channels, 1]))
    return "UnsupportedLayout", f"inputs[{port}].layout"


@fault(LAYOUTS)
def pixel_major_tiles(arguments: Arguments, request: Request) -> Expected | None:
    port = request.heads[0].boxes
    respecify(arguments, port, layout=boxdecode.MlaTiled(1, 1, 16))
    return "UnsupportedLayout", f"inputs[{port}].layout"


@fault(LAYOUTS)
def tile_of_zero(arguments: Arguments, request: Request) -> Expected | None:
    port = request.heads[0].boxes
    if request.inputs[port].dtype not in frames.BLOCKED_DTYPES:
        return None
    respecify(arguments, port, layout=boxdecode.MlaCBlocked(1, 0, 16))
    return "UnsupportedLayout", f"inputs[{port}].layout"


@fault(LAYOUTS)
def blocked_floats(arguments: Arguments, request: Request) -> Expected | None:
    port = request.heads[0].boxes
    if request.inputs[port].dtype not in ("Float32", "Float16"):
        return None
    respecify(arguments, port, layout=boxdecode.MlaCBlocked(1, 1, 16))
    return "UnsupportedLayout", f"inputs[{port}].layout"


@fault(LAYOUTS)
def channel_tile_of_24(arguments: Arguments, request: Request) -> Expected | None:
    if family_of(request).takes_any_tile:
        return None
    for port, (spec, role) in enumerate(zip(request.inputs, frames_roles(request), strict=True)):
        restricted = (
            spec.dtype in ("Int8", "UInt8")
            or (spec.dtype == "BFloat16" and role == "combined")
            or (spec.dtype == "BFloat16" and not family_of(request).takes_any_bf16_tile)
        )
        if spec.shape[2] > 24 and restricted:
            respecify(arguments, port, layout=boxdecode.MlaCBlocked(1, 1, 24))
            return "UnsupportedLayout", f"inputs[{port}].layout"
    return None


@fault(LAYOUTS)
def padding_that_is_no_multiple_of_16(arguments: Arguments, request: Request) -> Expected | None:
    for port, (spec, role) in enumerate(zip(request.inputs, frames_roles(request), strict=True)):
        physical = spec.shape[2] + 1
        if family_of(request).whole_blocks(request, role) and role != "objectness":
            if physical % 16 == 0:
                physical += 1
            respecify(arguments, port, layout=strided(spec.shape, physical))
            return "UnsupportedLayout", f"inputs[{port}].layout"
    return None


def frames_roles(request: Request) -> list[str]:
    """The role of every port."""
    roles = [""] * len(request.inputs)
    if request.mask_prototype is not None:
        roles[request.mask_prototype] = "prototype"
    for head in request.heads:
        for role, port in head._asdict().items():
            if port is not None:
                roles[port] = "combined" if head.boxes == head.scores else role
    return roles


# ---- quantization --------------------------------------------------------------------------------


def first_quantized(request: Request) -> int | None:
    return min(request.quantization, default=None)


@fault(QUANTIZATION)
def entry_is_missing(arguments: Arguments, request: Request) -> Expected | None:
    port = first_quantized(request)
    if port is None:
        return None
    entries = dict(arguments["quantization"])
    del entries[port]
    arguments["quantization"] = entries
    return "InvalidQuantization", f"params.quantization[{port}]"


@fault(QUANTIZATION)
def entry_of_a_float_port(arguments: Arguments, request: Request) -> Expected | None:
    for port, spec in enumerate(request.inputs):
        if spec.dtype not in ("Int8", "UInt8"):
            entries = dict(arguments.get("quantization", {}))
            entries[port] = boxdecode.Quantization(1.0, 0)
            arguments["quantization"] = entries
            return "InvalidQuantization", f"params.quantization[{port}]"
    return None


@fault(QUANTIZATION)
def entry_of_an_absent_port(arguments: Arguments, request: Request) -> Expected | None:
    entries = dict(arguments.get("quantization", {}))
    entries[len(request.inputs)] = boxdecode.Quantization(1.0, 0)
    arguments["quantization"] = entries
    return "InvalidQuantization", f"params.quantization[{len(request.inputs)}]"


def requantize(arguments: Arguments, port: int, scale: float, zero_point: int) -> None:
    entries = dict(arguments["quantization"])
    entries[port] = boxdecode.Quantization(scale, zero_point)
    arguments["quantization"] = entries


def bad_scale(scale: float) -> None:
    def apply(arguments: Arguments, request: Request) -> Expected | None:
        port = first_quantized(request)
        if port is None:
            return None
        requantize(arguments, port, scale, 0)
        return "InvalidQuantization", f"params.quantization[{port}].dequant_scale"

    FAULTS.append(Fault(f"scale {scale}", QUANTIZATION, apply))


def bad_zero_point(dtype: str, zero_point: int) -> None:
    def apply(arguments: Arguments, request: Request) -> Expected | None:
        for port in sorted(request.quantization):
            if request.inputs[port].dtype == dtype:
                requantize(arguments, port, 1.0, zero_point)
                return "InvalidQuantization", f"params.quantization[{port}].zero_point"
        return None

    FAULTS.append(Fault(f"zero point {zero_point} of {dtype}", QUANTIZATION, apply))


for _scale in (0.0, -1.0, NAN, INFINITY):
    bad_scale(_scale)
for _dtype, _zero_point in (("Int8", -129), ("Int8", 128), ("UInt8", -1), ("UInt8", 256)):
    bad_zero_point(_dtype, _zero_point)


# ---- outputs -------------------------------------------------------------------------------------


def output_specs(request: Request) -> list[Any]:
    capacity = request.max_detections
    dtypes = boxdecode.DType
    specs = [
        ([capacity, 4], dtypes.Int32),
        ([capacity], dtypes.Float32),
        ([capacity], dtypes.Int32),
        ([1], dtypes.Int32),
    ]
    if request.task == "Pose":
        specs.append(([capacity, request.num_keypoints, 3], dtypes.Float32))
    elif request.mask_prototype is not None:
        height, width, _ = request.inputs[request.mask_prototype].shape
        specs.append(([capacity, height, width], dtypes.UInt8))
    elif family_of(request).publishes_proposals:
        specs.append(([capacity, 4], dtypes.Float32))
    return [boxdecode.TensorSpec(shape, dtype) for shape, dtype in specs]


@fault(OUTPUTS)
def one_output_too_few(arguments: Arguments, request: Request) -> Expected | None:
    arguments["outputs"] = output_specs(request)[:-1]
    return "InvalidTensor", "outputs"


@fault(OUTPUTS)
def one_output_too_many(arguments: Arguments, request: Request) -> Expected | None:
    specs = output_specs(request)
    arguments["outputs"] = [*specs, specs[-1]]
    return "InvalidTensor", "outputs"


def bad_output(port: int) -> None:
    def shape(arguments: Arguments, request: Request) -> Expected | None:
        specs = output_specs(request)
        if port >= len(specs):
            return None
        sides = list(specs[port].shape)
        sides[0] += 1
        specs[port] = boxdecode.TensorSpec(sides, specs[port].dtype)
        arguments["outputs"] = specs
        return "InvalidTensor", f"outputs[{port}].shape"

    def dtype(arguments: Arguments, request: Request) -> Expected | None:
        specs = output_specs(request)
        if port >= len(specs):
            return None
        specs[port] = boxdecode.TensorSpec(list(specs[port].shape), boxdecode.DType.Int8)
        arguments["outputs"] = specs
        return "InvalidTensor", f"outputs[{port}].dtype"

    FAULTS.append(Fault(f"shape of output {port}", OUTPUTS, shape))
    FAULTS.append(Fault(f"dtype of output {port}", OUTPUTS, dtype))


for _port in range(5):
    bad_output(_port)


@fault(OUTPUTS)
def output_that_is_not_contiguous(arguments: Arguments, request: Request) -> Expected | None:
    specs = output_specs(request)
    specs[1] = boxdecode.TensorSpec(list(specs[1].shape), specs[1].dtype, boxdecode.Strided([1]))
    arguments["outputs"] = specs
    return "UnsupportedLayout", "outputs[1].layout"


# ---- tests ---------------------------------------------------------------------------------------


@functools.cache
def valid_request(profile: str, task: str, index: int) -> Request:
    request = frames.make_frame(profile, task, index).request
    # A threshold of 0 leaves the reach out of the faults' way.
    request.detection_threshold = 0.0
    return request


def valid_requests(recipe: tuple[str, str], count: int) -> list[Request]:
    """Requests that the package accepts, one for each of several dtypes, the caller's own."""
    return [copy.deepcopy(valid_request(*recipe, 10_000 + index)) for index in range(count)]


def refusal(arguments: Arguments) -> Expected | None:
    try:
        boxdecode.Plan(**arguments)
    except boxdecode.Error as error:
        return error.code.name, error.field
    return None


@pytest.mark.parametrize("recipe", frames.RECIPES, ids=lambda recipe: "-".join(recipe))
def test_valid_requests_and_explicit_outputs_are_accepted(recipe: tuple[str, str]) -> None:
    for request in valid_requests(recipe, 10):
        arguments = adapter.plan_arguments(request)
        arguments["outputs"] = output_specs(request)
        assert refusal(arguments) is None, request


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_one_fault(fault: Fault) -> None:
    concerned = 0
    problems = []
    for recipe in frames.RECIPES:
        for request in valid_requests(recipe, 5):
            arguments = adapter.plan_arguments(request)
            expected = fault.apply(arguments, request)
            if expected is None:
                continue
            concerned += 1
            got = refusal(arguments)
            if got != expected:
                dtypes = {spec.dtype for spec in request.inputs}
                problems.append(f"{recipe} {dtypes}: {got}, expected {expected}")
    assert concerned > 0
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("recipe", frames.RECIPES, ids=lambda recipe: "-".join(recipe))
def test_the_earlier_group_is_named(recipe: tuple[str, str]) -> None:
    rng = np.random.default_rng(5)
    requests = valid_requests(recipe, 5)
    problems = []
    for _ in range(400):
        request = requests[int(rng.integers(len(requests)))]
        pair = [FAULTS[int(index)] for index in rng.integers(0, len(FAULTS), 2)]
        first, second = sorted(pair, key=lambda fault: fault.group)
        arguments = adapter.plan_arguments(request)
        later = second.apply(arguments, request)
        expected = first.apply(arguments, request)
        if later is None or expected is None:
            continue
        if first.group == second.group:
            # Inside a group only the parameters can be compared: by declaration.
            if first.group != PARAMETERS or expected == later:
                continue
            expected = min(expected, later, key=lambda refused: DECLARED.index(refused[1][7:]))
        got = refusal(arguments)
        if got != expected:
            problems.append(f"{first.name} with {second.name}: {got}, expected {expected}")
    assert not problems, "\n".join(problems)


def test_unreachable_threshold_is_checked_last_in_its_group() -> None:
    for index in range(10_000, 10_200):
        frame = frames.make_frame("Yolo26V1", "Detection", index)
        request = frame.request
        if not all(head.scores in request.quantization for head in request.heads):
            continue
        for head in request.heads:
            request.quantization[head.scores] = (0.001, 0)
        request.detection_threshold = 0.9
        with pytest.raises(RefusalError):
            decode.check_reach(request)
        arguments = adapter.plan_arguments(request)
        assert refusal(arguments) == ("InvalidParameter", "params.detection_threshold")
        requantize(arguments, request.heads[0].boxes, 1.0, 300)
        field = f"params.quantization[{request.heads[0].boxes}].zero_point"
        assert refusal(arguments) == ("InvalidQuantization", field)
        return
    raise AssertionError("no quantized frame")
