"""Decoded exports whose shapes do not say what they hold: the smallest rows, the right values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from boxdecode import (
    BoxUnit,
    Decoder,
    Detections,
    DType,
    Error,
    ErrorCode,
    Head,
    Plan,
    Planar,
    Profile,
    ScoreActivation,
    Task,
    TensorSpec,
)

SIDE = 640


def plan_of(*shapes: tuple[int, ...], **changes: Any) -> Plan:
    """A plan of dense float32 tensors at 640 x 640, whose image has the same size."""
    arguments: dict[str, Any] = {
        "inputs": [TensorSpec(shape, DType.Float32) for shape in shapes],
        "profile": Profile.YoloDecodedV1,
        "heads": [(0, 0)],
        "model_input_size": (SIDE, SIDE),
        "original_image_size": (SIDE, SIDE),
        "num_classes": 1,
        "max_detections": 5,
        "detection_threshold": 0.25,
        "nms_iou_threshold": 0.7,
        "score_activation": ScoreActivation.Identity,
    }
    return Plan(**(arguments | changes))


def decode_row(plan: Plan, row: list[float]) -> Detections:
    """The detections of a frame whose only row that is not zero is the second one."""
    rows = np.zeros(plan.input_specs[0].shape, np.float32)
    rows[..., 1, :] = row
    return Decoder(plan)([rows])


ONE_CLASS_ROW = [320, 320, 100, 50, 0.9, 0.5]


def test_one_class_scores_by_the_product_or_by_objectness_alone() -> None:
    # YOLOv7 utils/general.py, non_max_suppression: with nc == 1, x[:, 5:] = x[:, 4:5].
    product = decode_row(plan_of((1, 1, 3, 6), heads=[(0, 0, 0)]), ONE_CLASS_ROW)
    assert product.scores.tolist() == [np.float32(0.9) * np.float32(0.5)]
    alone = plan_of((1, 1, 3, 6), heads=[(0, 0, 0)], one_class_uses_objectness=True)
    assert alone.params.one_class_uses_objectness is True
    detections = decode_row(alone, ONE_CLASS_ROW)
    assert detections.scores.tolist() == [np.float32(0.9)]
    assert detections.boxes.tolist() == [[270, 295, 100, 50]]


@pytest.mark.parametrize("class_score", [float("nan"), -1.0, 0.0, float("inf")])
def test_the_class_channel_is_not_read(class_score: float) -> None:
    plan = plan_of((1, 1, 3, 6), heads=[(0, 0, 0)], one_class_uses_objectness=True)
    assert decode_row(plan, [*ONE_CLASS_ROW[:5], class_score]).scores.tolist() == [np.float32(0.9)]


def test_objectness_alone_in_ports_of_their_own() -> None:
    plan = plan_of(
        (1, 1, 2, 4), (1, 1, 2, 1), (1, 1, 2, 1), heads=[(0, 1, 2)], one_class_uses_objectness=True
    )
    rows = np.array([[[[320, 320, 100, 50], [100, 100, 40, 40]]]], np.float32)
    classes = np.array([[[[0.5], [0.5]]]], np.float32)
    objectness = np.array([[[[0.9], [0.125]]]], np.float32)
    assert Decoder(plan)([rows, classes, objectness]).scores.tolist() == [np.float32(0.9)]


def test_objectness_alone_in_split_anchor_heads() -> None:
    plan = plan_of(
        *((1, 1, 1, 4), (1, 1, 1, 4), (1, 1, 1, 4)),
        profile=Profile.YoloAnchorDecodedV1,
        heads=[Head(0, 1, sizes=2)],
        one_class_uses_objectness=True,
    )
    centres = np.array([[[[320, 320, 100, 100]]]], np.float32)
    scores = np.array([[[[0.9, 0.5, 0.75, 0.25]]]], np.float32)
    sizes = np.array([[[[100, 50, 20, 20]]]], np.float32)
    detections = Decoder(plan)([centres, scores, sizes])
    assert detections.scores.tolist() == [np.float32(0.9), 0.75]


def test_objectness_of_a_port_of_its_own_decides_the_reach() -> None:
    def plan(**changes: Any) -> Plan:
        specs = [TensorSpec((1, 1, 2, c), DType.Int8) for c in (4, 1, 1)]
        # Classes reach 127 / 1000, objectness 127 / 100.
        quantization = {0: (1.0, 0), 1: (0.001, 0), 2: (0.01, 0)}
        return plan_of(inputs=specs, heads=[(0, 1, 2)], quantization=quantization, **changes)

    assert plan(one_class_uses_objectness=True).params.detection_threshold == 0.25
    with pytest.raises(Error, match=r"no raw value of any score port reaches it"):
        plan()


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        ({"num_classes": 2, "heads": [(0, 0)]}, ["num_classes is 2"]),
        ({"num_classes": 2, "heads": [(0, 0)], "profile": Profile.Yolo7V1}, ["Yolo7V1", "anyway"]),
        ({"heads": [(0, 0)]}, ["heads[0].objectness is empty", "name the port"]),
        ({"profile": Profile.Yolo5V1}, ["Yolo5V1", "does not use it"]),
        ({"profile": Profile.YoloXV1}, ["YoloXV1", "does not use it"]),
        ({"profile": Profile.Yolo8V1}, ["Yolo8V1", "does not use it"]),
    ],
)
def test_objectness_alone_is_refused_where_it_says_nothing(
    changes: dict[str, Any], parts: list[str]
) -> None:
    if changes.get("profile") in (Profile.Yolo5V1, Profile.Yolo7V1):
        changes = {**changes, "score_activation": None, "anchors": [[(8, 8)]]}
    with pytest.raises(Error) as raised:
        plan_of((1, 1, 3, 6), one_class_uses_objectness=True, **changes)
    assert raised.value.code is ErrorCode.InvalidParameter
    assert raised.value.field == "params.one_class_uses_objectness"
    assert all(part in str(raised.value) for part in parts), str(raised.value)


NORMALISED_POSE_ROW = [0.5, 0.5, 0.2, 0.2, 0.9, 300, 310, 0.75]


@pytest.mark.parametrize(
    ("box_unit", "keypoint_unit", "row", "point"),
    [
        # YOLOv8-pose TFLite: boxes normalised, keypoints in pixels.
        (BoxUnit.Normalised, BoxUnit.Pixels, NORMALISED_POSE_ROW, (300, 310)),
        # YOLO11-pose TFLite: both normalised. Left out, keypoints follow the boxes.
        (BoxUnit.Normalised, None, [0.5, 0.5, 0.2, 0.2, 0.9, 0.25, 0.5, 0.75], (160, 320)),
        (
            BoxUnit.Normalised,
            BoxUnit.Normalised,
            [0.5, 0.5, 0.2, 0.2, 0.9, 0.25, 0.5, 0.75],
            (160, 320),
        ),
        (BoxUnit.Pixels, None, [320, 320, 128, 128, 0.9, 300, 310, 0.75], (300, 310)),
        (
            BoxUnit.Pixels,
            BoxUnit.Normalised,
            [320, 320, 128, 128, 0.9, 0.25, 0.5, 0.75],
            (160, 320),
        ),
    ],
)
def test_keypoints_have_a_unit_of_their_own(
    box_unit: BoxUnit, keypoint_unit: BoxUnit | None, row: list[float], point: tuple[float, float]
) -> None:
    plan = plan_of(
        (1, 1, 3, 8),
        heads=[(0, 0, None, 0)],
        task=Task.Pose,
        num_keypoints=1,
        box_unit=box_unit,
        keypoint_unit=keypoint_unit,
    )
    assert plan.params.keypoint_unit is keypoint_unit
    detections = decode_row(plan, row)
    assert detections.boxes.tolist() == [[256, 256, 128, 128]]
    assert detections.keypoints is not None
    assert detections.keypoints.tolist() == [[[*point, 0.75]]]


def pose(channels: int, **changes: Any) -> Plan:
    return plan_of((1, 1, 3, channels), heads=[(0, 0, None, 0)], task=Task.Pose, **changes)


def test_keypoints_without_visibility() -> None:
    plan = pose(4 + 1 + 24, num_keypoints=12, keypoint_dims=2)
    assert plan.output_specs[4].shape == (5, 12, 3)
    points = [[100.0 + i, 200.0 + 2 * i] for i in range(12)]
    detections = decode_row(plan, [320, 320, 128, 128, 0.9, *np.ravel(points)])
    assert detections.keypoints is not None
    assert detections.keypoints.tolist() == [[[x, y, 1.0] for x, y in points]]


@pytest.mark.parametrize(
    ("profile", "point"),
    [
        # Cell (1, 0) of stride 320: (2 * .25 + 1) * 320 and (2 * .5 + 0) * 320.
        (Profile.Yolo8V1, (480, 320)),
        # (.25 + 1 + .5) * 320 and (.5 + 0 + .5) * 320.
        (Profile.Yolo26V1, (560, 320)),
    ],
)
def test_keypoints_without_visibility_in_cells(
    profile: Profile, point: tuple[float, float]
) -> None:
    sides = 64 if profile is Profile.Yolo8V1 else 4
    plan = plan_of(
        *((1, 2, 2, sides), (1, 2, 2, 1), (1, 2, 2, 2)),
        profile=profile,
        heads=[(0, 1, None, 2)],
        task=Task.Pose,
        num_keypoints=1,
        keypoint_dims=2,
    )
    boxes = np.full((1, 2, 2, sides), 0.25, np.float32)
    scores = np.array([[[[0], [0.9]], [[0], [0]]]], np.float32)
    extra = np.array([[[[0, 0], [0.25, 0.5]], [[0, 0], [0, 0]]]], np.float32)
    detections = Decoder(plan)([boxes, scores, extra])
    assert detections.keypoints is not None
    assert detections.keypoints.tolist() == [[[*point, 1.0]]]


def test_a_nan_of_two_numbers_is_canonical() -> None:
    plan = pose(4 + 1 + 2, num_keypoints=1, keypoint_dims=2)
    detections = decode_row(plan, [320, 320, 128, 128, 0.9, -np.float32("nan"), 7])
    assert detections.keypoints is not None
    bits = detections.keypoints.view(np.uint32)[0, 0]
    assert bits.tolist() == [0x7FC00000, 0x40E00000, 0x3F800000]


@pytest.mark.parametrize(
    ("channels", "changes", "parts"),
    [
        # The right count, but visibility expected.
        (
            4 + 1 + 24,
            {"num_keypoints": 12},
            ["24 channels are 12 keypoints of x, y with keypoint_dims 2", "8 of x, y, visibility"],
        ),
        # keypoint_dims 2 with another count.
        (
            4 + 1 + 24,
            {"num_keypoints": 8, "keypoint_dims": 2},
            ["29 channels", "24 channels are 12 keypoints of x, y", "or 8 of x, y, visibility"],
        ),
        (4 + 1 + 24, {"keypoint_dims": 2}, ["24 channels are 12 keypoints of x, y"]),
        (4 + 1 + 51, {"keypoint_dims": 2}, ["51 channels are 17 of x, y, visibility"]),
    ],
)
def test_another_count_of_keypoints_is_refused_with_the_way_out(
    channels: int, changes: dict[str, Any], parts: list[str]
) -> None:
    with pytest.raises(Error) as raised:
        pose(channels, **changes)
    assert raised.value.code is ErrorCode.InvalidTensor
    assert raised.value.field == "inputs[0].shape"
    assert all(part in str(raised.value) for part in parts), str(raised.value)


def test_an_extra_port_is_refused_with_the_way_out() -> None:
    with pytest.raises(Error, match="24 channels are 12 keypoints of x, y with keypoint_dims 2"):
        plan_of(
            *((1, 1, 3, 4), (1, 1, 3, 1), (1, 1, 3, 24)),
            heads=[(0, 1, None, 2)],
            task=Task.Pose,
            num_keypoints=12,
        )


def test_channels_without_a_way_out_get_no_hint() -> None:
    with pytest.raises(Error) as raised:
        pose(4 + 1 + 24)
    assert str(raised.value).endswith("needs 56 = 4 box + 1 classes + 51 keypoint channels")


@pytest.mark.parametrize("dims", [0, 1, 4, -2])
def test_other_numbers_a_keypoint_are_refused(dims: int) -> None:
    with pytest.raises(Error) as raised:
        pose(4 + 1 + 24, num_keypoints=12, keypoint_dims=dims)
    assert raised.value.field == "params.keypoint_dims"
    assert f"is {dims}; it must be 3 for x, y and visibility, or 2" in str(raised.value)


@pytest.mark.parametrize("changes", [{"keypoint_dims": 2}, {"keypoint_unit": BoxUnit.Pixels}])
def test_words_of_keypoints_are_refused_without_them(changes: dict[str, Any]) -> None:
    with pytest.raises(Error, match="only Pose reads keypoints"):
        plan_of((1, 1, 3, 6), heads=[(0, 0, 0)], **changes)


def test_a_unit_of_keypoints_that_are_not_decoded_is_refused() -> None:
    with pytest.raises(Error, match=r"keypoint_unit is set, but Yolo26V1 decodes its keypoints"):
        plan_of(
            *((1, 2, 2, 4), (1, 2, 2, 1), (1, 2, 2, 3)),
            profile=Profile.Yolo26V1,
            heads=[(0, 1, None, 2)],
            task=Task.Pose,
            num_keypoints=1,
            keypoint_unit=BoxUnit.Pixels,
        )


# ---- what describe() says where no shape can -----------------------------------------------------


def test_finished_rows_are_taken_and_told() -> None:
    # [1, 300, 6] of x1, y1, x2, y2, score, class is also 4 + 2 classes: nothing tells them apart.
    plan = plan_of((1, 1, 300, 6), num_classes=2)
    detections = decode_row(plan, [100, 100, 200, 200, 0.9, 3])
    assert detections.scores.tolist() == [3.0]
    assert detections.boxes.tolist() == [[0, 0, 200, 200]]
    text = plan.describe()
    assert "scores: published as they are, above 1 too" in text
    assert "class id of a finished row of x1, y1, x2, y2, score, class" in text
    assert "rows of corners give boxes around the objects' upper left corners, too large" in text


def test_scores_with_a_bound_get_no_line_about_it() -> None:
    assert (
        "published as they are"
        not in plan_of(
            (1, 1, 300, 6), num_classes=2, score_activation=ScoreActivation.Sigmoid
        ).describe()
    )
    specs = [TensorSpec((1, 1, 300, 6), DType.Int8)]
    quantized = plan_of(inputs=specs, num_classes=2, quantization={0: (2.5, 0)})
    assert "published as they are" not in quantized.describe()


def test_the_product_of_one_class_is_told() -> None:
    text = plan_of((1, 1, 3, 6), heads=[(0, 0, 0)]).describe()
    assert "about half of what they should be" in text
    assert "one_class_uses_objectness" in text
    alone = plan_of((1, 1, 3, 6), heads=[(0, 0, 0)], one_class_uses_objectness=True).describe()
    assert "scores (objectness alone) in inputs[0]" in alone
    assert "about half" not in alone


@pytest.mark.parametrize(
    ("channels", "changes", "line"),
    [
        (
            24,
            {"num_keypoints": 8},
            "keypoints: 8 keypoints x (x, y, visibility), 24 channels, in pixels; if points jump "
            "about, these are 12 keypoints x (x, y), keypoint_dims 2",
        ),
        (
            24,
            {"num_keypoints": 12, "keypoint_dims": 2},
            "keypoints: 12 keypoints x (x, y), 24 channels, in pixels; visibility is written as 1; "
            "if points jump about, these are 8 keypoints x (x, y, visibility), keypoint_dims 3",
        ),
        (51, {}, "keypoints: 17 keypoints x (x, y, visibility), 51 channels, in pixels"),
        (
            3,
            {"num_keypoints": 1, "keypoint_unit": BoxUnit.Normalised},
            "keypoints: 1 keypoint x (x, y, visibility), 3 channels, normalised, multiplied with "
            "the model size",
        ),
    ],
)
def test_keypoints_are_told(channels: int, changes: dict[str, Any], line: str) -> None:
    assert line in pose(5 + channels, **changes).describe().splitlines()


def test_planar_exports_are_read_alike() -> None:
    # [1, 4 + 1 + 24, N], as Ultralytics writes it.
    spec = TensorSpec((1, 1, 3, 29), DType.Float32, Planar())
    plan = plan_of(
        inputs=[spec], heads=[(0, 0, None, 0)], task=Task.Pose, num_keypoints=12, keypoint_dims=2
    )
    tensor = np.zeros((1, 29, 3), np.float32)
    tensor[0, :5, 2] = 320, 320, 128, 128, 0.9
    tensor[0, 5:, 2] = np.arange(24)
    detections = Decoder(plan)([tensor])
    assert detections.keypoints is not None
    assert detections.keypoints[0, :, :2].ravel().tolist() == list(range(24))
