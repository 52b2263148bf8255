"""Masks, keypoints and proposals of a Decoder, and masks resized to the image."""

from __future__ import annotations

import json
import math
import sys
from typing import Any

import numpy as np
import pytest
from boxdecode import (
    Affine,
    Decoder,
    Detections,
    DType,
    Plan,
    Profile,
    ResizePolicy,
    ScoreActivation,
    Task,
    TensorSpec,
)

F32 = DType.Float32


def segmenter(**changes: Any) -> Decoder:
    """64 x 32 model, prototype 16 x 8 of one coefficient, image 128 x 100 in a letterbox."""
    arguments: dict[str, Any] = {
        "inputs": [
            TensorSpec((4, 8, 4), F32),
            TensorSpec((4, 8, 3), F32),
            TensorSpec((4, 8, 1), F32),
            TensorSpec((8, 16, 1), F32),
        ],
        "profile": Profile.Yolo26V1,
        "task": Task.Segmentation,
        "heads": [(0, 1, None, 2)],
        "mask_prototype": 3,
        "model_input_size": (64, 32),
        "original_image_size": (128, 100),
        "num_classes": 3,
        "max_detections": 4,
        "detection_threshold": 0.25,
        "nms_iou_threshold": 0.5,
        "score_activation": ScoreActivation.Identity,
    }
    return Decoder(Plan(**(arguments | changes)))


def segment_frame(prototype: Any) -> list[Any]:
    """Two detections: cells (4, 2) and (6, 0), reaching over the border of the frame."""
    heads = [np.zeros(shape, np.float32) for shape in ((4, 8, 4), (4, 8, 3), (4, 8, 1))]
    for x, y, reach, score in ((4, 2, 1.3, 0.75), (6, 0, 1.6, 0.5)):
        heads[0][y, x], heads[1][y, x, 1], heads[2][y, x] = reach, score, 1
    return [*heads, np.asarray(prototype, np.float32).reshape(8, 16, 1)]


def expected_mask(detections: Detections, index: int, geometry: Any) -> Any:
    """The documented rule, pixel by pixel, in Python numbers."""
    assert detections.masks is not None
    mask, (x, y, w, h) = detections.masks[index], detections.boxes[index].tolist()
    width, height = geometry.image_size
    scale_x, shift_x, scale_y, shift_y, shift_first = geometry.mapping

    def prototype(position: float, scale: float, shift: float, ratio: float) -> float:
        return (position / scale + shift if shift_first else (position - shift) / scale) * ratio

    def taps(pixel: int, start: int, end: int, scale: float, shift: float, ratio: float, live: Any):
        # All lines that may belong to the box, without outer zeros among those that may not.
        size = len(live)
        first = [prototype(start + d, scale, shift, ratio) for d in (-0.5, 0.5)]
        last = [prototype(end + d, scale, shift, ratio) for d in (-0.5, 0.5)]
        sure = [line for line in range(size) if live[line]]
        lowest = min([line for line in sure if line >= first[0]] + [math.ceil(first[1])])
        lowest = min(max(lowest, 0), size - 1)
        highest = max([line for line in sure if line < last[1]] + [math.ceil(last[0]) - 1])
        highest = min(max(highest, lowest), size - 1)
        place = prototype(pixel + 0.5, scale, shift, ratio) - 0.5
        place = min(max(place, lowest), highest)
        return math.floor(place), min(math.floor(place) + 1, highest), place % 1

    image = np.zeros((height, width))
    for row in range(y, y + h):
        r0, r1, fr = taps(row, y, y + h, scale_y, shift_y, mask.shape[0] / 32, mask.any(axis=1))
        for column in range(x, x + w):
            c0, c1, fc = taps(
                column, x, x + w, scale_x, shift_x, mask.shape[1] / 64, mask.any(axis=0)
            )
            upper = mask[r0, c0] * (1 - fc) + mask[r0, c1] * fc
            lower = mask[r1, c0] * (1 - fc) + mask[r1, c1] * fc
            image[row, column] = upper * (1 - fr) + lower * fr
    return image


@pytest.mark.parametrize(
    ("policy", "size"),
    [
        (None, None),
        (None, (333, 90)),
        (ResizePolicy.TopLeftLetterbox, None),
        (ResizePolicy.Stretch, (50, 60)),
        (Affine(1.5, -7, 2.5, 3), None),
    ],
)
def test_masks_in_the_image_follow_the_documented_rule(policy: Any, size: Any) -> None:
    decoder = segmenter(resize=policy)
    chance = np.random.default_rng(3)
    detections = decoder(segment_frame(chance.normal(0, 3, (8, 16))), size)
    assert detections.masks is not None
    assert detections.masks.shape == (2, 8, 16)
    own = policy if isinstance(policy, Affine) else None
    geometry = decoder.plan.with_image_size(size or (128, 100), own)
    masks = detections.masks_in_image()
    assert masks.dtype == np.uint8
    assert masks.shape == (2, *reversed(size or (128, 100)))
    for index in range(2):
        expected = expected_mask(detections, index, geometry)
        # FP32 sums against double ones: a byte may round the other way.
        np.testing.assert_allclose(masks[index], expected, atol=0.51)
        assert masks[index].any()


def test_a_mask_without_holes_fills_its_box() -> None:
    detections = segmenter()(segment_frame(np.full((8, 16), 50)))
    masks = detections.masks_in_image()
    for mask, (x1, y1, x2, y2) in zip(masks, detections.xyxy, strict=True):
        inside = np.zeros_like(mask)
        inside[y1:y2, x1:x2] = 255
        np.testing.assert_array_equal(mask, inside)


def test_rounding_of_the_box_leaves_no_dark_border() -> None:
    chance = np.random.default_rng(5)
    frame = segment_frame(np.full((8, 16), 50))
    decoder = segmenter()
    for _ in range(100):
        frame[0][2, 4], frame[0][0, 6] = chance.uniform(0.7, 2, (2, 4))
        size = (int(chance.integers(100, 900)), int(chance.integers(100, 900)))
        detections = decoder(frame, size)
        assert len(detections) == 2
        for mask, (x1, y1, x2, y2) in zip(
            detections.masks_in_image(), detections.xyxy, strict=True
        ):
            assert (mask[y1:y2, x1:x2] == 255).all()


def test_indices_of_masks_pick_as_those_of_detections_do() -> None:
    detections = segmenter()(segment_frame(np.full((8, 16), 50)))
    whole = detections.masks_in_image()
    for indices in (np.array([False, True]), [True, False], slice(1, None), slice(None, None, -1)):
        np.testing.assert_array_equal(detections.masks_in_image(indices), whole[indices])
    for index in (1, -1, np.int64(0)):
        np.testing.assert_array_equal(detections.masks_in_image(index), whole[index])
    np.testing.assert_array_equal(detections.masks_in_image(iter([1])), whole[1:])
    with pytest.raises(IndexError):
        detections.masks_in_image(np.array([True]))


def test_masks_only_for_the_boxes_asked_for() -> None:
    detections = segmenter()(segment_frame(np.full((8, 16), 50)))
    whole = detections.masks_in_image()
    for indices in ([1], [1, 0], [], np.array([0]), [-1]):
        np.testing.assert_array_equal(detections.masks_in_image(indices), whole[list(indices)])
    np.testing.assert_array_equal(detections[1:].masks_in_image(), whole[1:])
    with pytest.raises(IndexError):
        detections.masks_in_image([2])
    first = detections[0].mask
    assert first is not None
    assert first.shape == (8, 16)


def test_a_box_without_area_in_the_image_has_no_mask() -> None:
    decoder = segmenter(resize=Affine(1, -1000, 1, 0))
    detections = decoder(segment_frame(np.full((8, 16), 50)))
    assert detections.boxes[:, 2].tolist() == [0, 0]
    assert not detections.masks_in_image().any()


def test_detections_without_masks_say_so(plan: Plan, frame: Any) -> None:
    with pytest.raises(ValueError, match="not Segmentation"):
        Decoder(plan)(frame()).masks_in_image()


def test_keypoints_of_a_pose(arguments: Any) -> None:
    decoder = Decoder(
        Plan(
            **arguments(
                inputs=[TensorSpec((4, 8, c), F32) for c in (4, 1, 6)],
                heads=[(0, 1, None, 2)],
                task=Task.Pose,
                num_classes=1,
                num_keypoints=2,
            )
        )
    )
    heads = [np.zeros((4, 8, c), np.float32) for c in (4, 1, 6)]
    heads[0][1, 1], heads[1][1, 1] = 1, 0.5
    heads[2][1, 1] = [0.5, -0.25, 0, -1, 2, 100]
    detections = decoder(heads)
    assert detections.masks is None
    assert detections.keypoints is not None
    assert detections.keypoints.shape == (1, 2, 3)
    # YOLO26: (raw + cell + 1/2) * stride 8, and the image is twice the model.
    np.testing.assert_allclose(detections.keypoints[0], [[32, 20, 0.5], [8, 56, 1]])
    item = detections[0]
    assert item.keypoints is not None
    assert item.keypoints.shape == (2, 3)
    assert repr(detections) == "<boxdecode.Detections: 1, with keypoints>"


def test_proposals_of_a_first_stage() -> None:
    sides = (16, 8, 4, 2, 1)
    plan = Plan(
        [TensorSpec((side, side, c), F32) for side in sides for c in (12, 3)],
        profile=Profile.RcnnStage1V1,
        heads=[(2 * level, 2 * level + 1) for level in range(5)],
        model_input_size=(64, 64),
        original_image_size=(128, 128),
        num_classes=1,
        max_detections=3,
        detection_threshold=0.5,
        nms_iou_threshold=0.7,
    )
    heads = [np.zeros(spec.shape, np.float32) for spec in plan.input_specs]
    for scores in heads[1::2]:
        scores[...] = -9
    heads[3][4, 4, 1] = 9
    detections = Decoder(plan)(heads)
    assert detections.proposals is not None
    # Level 1, stride 8: the square anchor of 64 around (32, 32), as large as the model.
    assert detections.proposals.tolist() == [[0, 0, 64, 64]]
    assert detections.boxes.tolist() == [[0, 0, 128, 128]]
    assert detections.class_ids.tolist() == [1]


def test_kept_masks_hold_nothing_but_their_rows() -> None:
    """60 frames of one mask out of a capacity of 300: 60 masks stay in memory, not 18,000."""
    decoder = segmenter(max_detections=300)
    frame = segment_frame(np.full((8, 16), 50))
    frame[1][0, 6] = 0  # one detection is left
    kept = [decoder(frame) for _ in range(60)]
    for detections in kept:
        for array in (
            detections.boxes,
            detections.scores,
            detections.class_ids,
            detections.masks,
        ):
            assert array is not None
            assert array.base is None
            assert len(array) == 1
    assert sum(detections.masks.nbytes for detections in kept if detections.masks is not None) == (
        60 * 8 * 16
    )


def test_what_is_picked_holds_nothing_but_its_rows() -> None:
    detections = segmenter()(segment_frame(np.full((8, 16), 50)))
    assert detections.masks is not None
    for part in (detections[:1], detections[[0]], detections[np.array([True, False])]):
        assert part.masks is not None
        assert not np.shares_memory(part.masks, detections.masks)
        assert part.masks.base is None
        assert part.boxes.base is None
    first = detections[0].mask
    assert first is not None
    assert first.base is None


def test_frames_with_fewer_masks_do_not_see_older_ones() -> None:
    """Buffers are reused: a mask is whole in its own frame whatever lay there before."""
    decoder = segmenter()
    full, empty = segment_frame(np.full((8, 16), 50)), segment_frame(np.full((8, 16), 50))
    empty[1][...] = 0
    one = [head.copy() for head in full]
    one[1][0, 6] = 0
    one[0][2, 4] = 0.5  # a smaller box: its mask has zeros where the larger one had values
    expected = segmenter()(one)
    for heads, count in ((full, 2), (empty, 0), (full, 2), (one, 1), (full, 2)):
        detections = decoder(heads)
        assert detections.masks is not None
        assert len(detections.masks) == len(detections) == count
        if heads is one:
            assert expected.masks is not None
            assert detections.masks.tobytes() == expected.masks.tobytes()
            assert (detections.masks == 0).any()


def test_detections_with_arrays_can_be_compared() -> None:
    detections = segmenter()(segment_frame(np.full((8, 16), 50)))
    first, second = detections
    assert first == detections[0]
    assert first != second
    assert second in list(detections)
    other = detections[0]
    assert other.mask is not None
    other.mask[0, 0] ^= 255
    assert first != other
    assert first != "mask"
    assert first != (*first[:3], None, None)


def pose_decoder(arguments: Any) -> tuple[Decoder, list[Any]]:
    """One person with two keypoints; see test_keypoints_of_a_pose for the numbers."""
    decoder = Decoder(
        Plan(
            **arguments(
                inputs=[TensorSpec((4, 8, c), F32) for c in (4, 1, 6)],
                heads=[(0, 1, None, 2)],
                task=Task.Pose,
                num_classes=1,
                num_keypoints=2,
            )
        )
    )
    heads = [np.zeros((4, 8, c), np.float32) for c in (4, 1, 6)]
    heads[0][1, 1], heads[1][1, 1] = 1, 0.5
    heads[2][1, 1] = [0.5, -0.25, 0, -1, 2, 100]
    return decoder, heads


def test_a_pose_as_plain_numbers(arguments: Any) -> None:
    decoder, heads = pose_decoder(arguments)
    heads[2][1, 1, 3] = np.nan
    detections = decoder(heads)
    keypoints = [[32, 20, 0.5], [None, 56, 1]]
    one = {"box": [8, 8, 32, 32], "score": 0.5, "class_id": 0, "keypoints": keypoints}
    assert json.loads(json.dumps(detections[0].to_dict(), allow_nan=False)) == one
    many = json.loads(json.dumps(detections.to_dict(), allow_nan=False))
    assert many["keypoints"] == [keypoints]


def test_masks_as_plain_numbers() -> None:
    detections = segmenter()(segment_frame(np.full((8, 16), 50)))
    assert detections.masks is not None
    assert json.loads(json.dumps(detections.to_dict()))["masks"] == detections.masks.tolist()
    assert json.loads(json.dumps(detections[1].to_dict()))["mask"] == detections.masks[1].tolist()
    assert "mask" not in detections[1]._replace(mask=None).to_dict()


def test_a_pose_does_not_lose_its_keypoints_on_the_way_to_supervision(arguments: Any) -> None:
    decoder, heads = pose_decoder(arguments)
    with pytest.raises(ValueError, match="to_supervision_keypoints"):
        decoder(heads).to_supervision()
    with pytest.raises(ValueError, match="not Pose"):
        segmenter()(segment_frame(np.full((8, 16), 50))).to_supervision_keypoints()


class Recorder:
    """Stands for a class of supervision: keeps what it was given."""

    def __init__(self, **fields: Any) -> None:
        self.fields = fields


def test_keypoints_for_supervision(arguments: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    module: Any = type(sys)("supervision")
    module.KeyPoints = Recorder
    monkeypatch.setitem(sys.modules, "supervision", module)
    decoder, heads = pose_decoder(arguments)
    fields = decoder(heads).to_supervision_keypoints().fields
    assert fields["xy"].tolist() == [[[32, 20], [8, 56]]]
    assert fields["keypoint_confidence"].tolist() == [[0.5, 1]]
    assert fields["detection_confidence"].tolist() == [0.5]
    assert fields["class_id"].tolist() == [0]
    assert fields["data"]["xyxy"].tolist() == [[8, 8, 40, 40]]
    monkeypatch.setitem(sys.modules, "supervision", None)
    with pytest.raises(ImportError):
        decoder(heads).to_supervision_keypoints()


def test_supervision_itself_takes_the_keypoints(arguments: Any) -> None:
    pytest.importorskip("supervision", minversion="0.29")
    decoder, heads = pose_decoder(arguments)
    points = decoder(heads).to_supervision_keypoints()
    assert points.xy.tolist() == [[[32, 20], [8, 56]]]
    assert points.keypoint_confidence.tolist() == [[0.5, 1]]
    assert points.as_detections().xyxy.tolist() == [[8, 20, 32, 56]]
    nobody = decoder([head * 0 for head in heads]).to_supervision_keypoints()
    assert nobody.xy.shape == (0, 2, 2)
