"""Decoder and Detections, the everyday form."""

from __future__ import annotations

import gc
import json
import sys
from typing import Any

import numpy as np
import pytest
from boxdecode import (
    Affine,
    Decoder,
    Detection,
    Detections,
    DType,
    ErrorCode,
    Plan,
    Planar,
    Profile,
    ScoreActivation,
    TensorSpec,
)


def test_detections_hold_the_valid_prefix(plan: Plan, frame: Any) -> None:
    detections = Decoder(plan)(frame((1, 1, 2, 1, 0.5), (5, 2, 0, 1, 0.75)))
    assert len(detections) == 2
    assert detections.boxes.tolist() == [[72, 24, 32, 32], [8, 8, 32, 32]]
    assert detections.xyxy.tolist() == [[72, 24, 104, 56], [8, 8, 40, 40]]
    assert detections.scores.tolist() == [0.75, 0.5]
    assert detections.class_ids.tolist() == [0, 2]
    assert [a.dtype for a in (detections.boxes, detections.xyxy)] == [np.int32, np.int32]
    assert (detections.scores.dtype, detections.class_ids.dtype) == (np.float32, np.int32)
    assert detections.masks is None
    assert detections.keypoints is None
    assert detections.proposals is None
    assert repr(detections) == "<boxdecode.Detections: 2>"


def test_an_empty_frame_has_no_detections(plan: Plan, frame: Any) -> None:
    detections = Decoder(plan)(frame())
    assert len(detections) == 0
    assert detections.boxes.shape == (0, 4)
    assert detections.xyxy.shape == (0, 4)
    assert list(detections) == []
    assert not detections


def test_items_and_iteration(plan: Plan, frame: Any) -> None:
    detections = Decoder(plan)(frame((1, 1, 2, 1, 0.5), (5, 2, 0, 1, 0.75)))
    first = detections[0]
    assert first == Detection((72, 24, 32, 32), 0.75, 0)
    assert first.xyxy == (72, 24, 104, 56)
    assert [type(value) for value in (*first.box, first.score, first.class_id)] == [
        *[int] * 4,
        float,
        int,
    ]
    assert detections[-1] == detections[np.int64(1)] == list(detections)[1]
    for index in (2, -3):
        with pytest.raises(IndexError):
            detections[index]
    box, score, class_id, *_ = detections[1]
    assert (box, score, class_id) == ((8, 8, 32, 32), 0.5, 2)


def test_slices_masks_and_indexes_pick(plan: Plan, frame: Any) -> None:
    detections = Decoder(plan)(frame((1, 1, 2, 1, 0.5), (5, 2, 0, 1, 0.75), (3, 3, 1, 1, 0.625)))
    for pick, expected in (
        (slice(1, None), [1, 2]),
        (detections.class_ids == 2, [2]),
        ([2, 0], [2, 0]),
        (np.array([], int), []),
    ):
        part = detections[pick]
        assert isinstance(part, Detections)
        assert part.class_ids.tolist() == [[0, 1, 2][index] for index in expected]
        assert len(part.boxes) == len(part.scores) == len(expected)


def test_detections_are_safe_to_keep(plan: Plan, frame: Any) -> None:
    decoder = Decoder(plan)
    kept = decoder(frame((1, 1, 2, 1, 0.5)))
    for _ in range(3):
        decoder(frame((5, 2, 0, 1, 0.75), (1, 1, 1, 2, 0.5)))
    assert kept.boxes.tolist() == [[8, 8, 32, 32]]
    assert kept.class_ids.tolist() == [2]
    del decoder
    gc.collect()
    assert kept.scores.tolist() == [0.5]
    kept.boxes[0] = 7
    assert kept[0].box == (7, 7, 7, 7)


def test_another_image_size_for_one_frame(plan: Plan, frame: Any) -> None:
    decoder = Decoder(plan)
    heads = frame((1, 1, 2, 1, 0.5))
    for size, box in (
        (None, [8, 8, 32, 32]),
        ((64, 32), [4, 4, 16, 16]),
        ((64, 32), [4, 4, 16, 16]),
        ((640, 320), [40, 40, 160, 160]),
        (None, [8, 8, 32, 32]),
    ):
        assert decoder(heads, image_size=size).boxes.tolist() == [box]
    assert decoder(heads, (64, 32)).boxes.tolist() == [[4, 4, 16, 16]]


def test_a_frame_with_its_own_affine(arguments: Any, frame: Any, refused: Any) -> None:
    decoder = Decoder(Plan(**arguments(resize=Affine(1, 0, 1, 0))))
    heads = frame((1, 1, 2, 1, 0.5))
    assert decoder(heads).boxes.tolist() == [[4, 4, 16, 16]]
    assert decoder(heads, (500, 500), affine=(2, 1, 2, 1)).boxes.tolist() == [[9, 9, 32, 32]]
    assert decoder(heads, affine=(2, 1, 2, 1)).boxes.tolist() == [[9, 9, 32, 32]]
    assert decoder(heads, (20, 20), affine=Affine(2, 1, 2, 1)).boxes.tolist() == [[9, 9, 11, 11]]
    refused(lambda: decoder(heads, (20, 20)), ErrorCode.InvalidParameter, "affine")


def test_one_input_may_come_alone() -> None:
    """A one-tensor export: [1, 4 + classes, cells] as ONNX Runtime gives it."""
    plan = Plan(
        [TensorSpec((1, 10, 6), DType.Float32, Planar())],
        profile=Profile.YoloDecodedV1,
        heads=[(0, 0)],
        model_input_size=(64, 64),
        original_image_size=(64, 64),
        num_classes=2,
        max_detections=5,
        detection_threshold=0.25,
        nms_iou_threshold=0.5,
        score_activation=ScoreActivation.Identity,
    )
    export = np.zeros((1, 6, 10), np.float32)
    export[0, :, 3] = [20, 30, 10, 12, 0.25, 0.5]
    decoder = Decoder(plan)
    for heads in (export, [export]):
        detections = decoder(heads)
        assert detections.boxes.tolist() == [[15, 24, 10, 12]]
        assert detections.class_ids.tolist() == [1]


def test_a_decoder_takes_a_plan_only() -> None:
    with pytest.raises(TypeError, match=r"must be a boxdecode\.Plan, not dict"):
        Decoder({})  # type: ignore[arg-type]


def test_the_plan_of_a_decoder(plan: Plan) -> None:
    decoder = Decoder(plan)
    assert decoder.plan is plan
    assert "Yolo26V1" in repr(decoder)


def test_errors_leave_the_decoder_usable(plan: Plan, frame: Any, refused: Any) -> None:
    decoder = Decoder(plan)
    for _ in range(3):
        refused(lambda: decoder(frame()[:2]), ErrorCode.InvalidBuffer, "inputs", "2 arrays")
        assert len(decoder(frame((1, 1, 2, 1, 0.5)))) == 1


def test_to_supervision_needs_its_package_only_when_called(
    plan: Plan, frame: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    class FakeDetections:
        def __init__(self, **fields: Any) -> None:
            self.fields = fields

    detections = Decoder(plan)(frame((1, 1, 2, 1, 0.5)))
    module = type(sys)("supervision")
    module.Detections = FakeDetections  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "supervision", module)
    fields = detections.to_supervision().fields  # type: ignore[attr-defined]
    assert fields["xyxy"].tolist() == [[8, 8, 40, 40]]
    assert fields["xyxy"].dtype == np.float32
    assert fields["confidence"].tolist() == [0.5]
    assert fields["class_id"].tolist() == [2]
    monkeypatch.setitem(sys.modules, "supervision", None)
    with pytest.raises(ImportError):
        detections.to_supervision()


def test_a_call_allocates_little_and_keeps_nothing(plan: Plan, frame: Any) -> None:
    """From Python no more than the call itself needs: nothing stays after it."""
    context, heads, outputs = plan.create_context(), frame((1, 1, 2, 1, 0.5)), []
    outputs = plan.allocate_outputs()
    plan.execute(context, heads, outputs)
    before = sys.getallocatedblocks()
    for _ in range(1000):
        plan.execute(context, heads, outputs)
    assert sys.getallocatedblocks() - before < 20


def test_a_size_that_the_caller_changes_in_place_counts(arguments: Any, frame: Any) -> None:
    """A camera loop that keeps one list or array for the size: each call reads it anew.

    The cell's box is 4, 4, 16, 16 in the 64 x 32 model, so 8 units in an image of twice the size.
    """
    heads = frame((1, 1, 2, 1, 0.5))
    decoder = Decoder(Plan(**arguments()))
    sizes: list[Any] = [[128, 64], np.array([128, 64]), [np.array(128), np.array(64)]]
    for size in sizes:
        assert decoder(heads, size).boxes.tolist() == [[8, 8, 32, 32]]
        assert decoder(heads, size).boxes.tolist() == [[8, 8, 32, 32]]
        for side, pixels in enumerate((640, 320)):
            if isinstance(size[side], np.ndarray):
                size[side][...] = pixels
            else:
                size[side] = pixels
        assert decoder(heads, size).boxes.tolist() == [[40, 40, 160, 160]]
    decoder = Decoder(Plan(**arguments(resize=Affine(1, 0, 1, 0))))
    mappings: list[Any] = [[1, 0, 1, 0], np.array([1.0, 0, 1, 0])]
    for mapping in mappings:
        assert decoder(heads, affine=mapping).boxes.tolist() == [[4, 4, 16, 16]]
        mapping[1] = 3
        assert decoder(heads, affine=mapping).boxes.tolist() == [[7, 4, 16, 16]]


def test_sizes_that_are_no_two_integers_are_refused(plan: Plan, frame: Any) -> None:
    decoder = Decoder(plan)
    heads = frame((1, 1, 2, 1, 0.5))
    for size in ((64.0, 32.0), np.array([64.0, 32.0]), "ab", b"ab", 64, (64, None)):
        for _ in range(2):
            with pytest.raises(TypeError, match="original_image_size"):
                decoder(heads, size)  # type: ignore[arg-type]
    for size in ((64,), (64, 32, 3), np.zeros((0,), int)):
        with pytest.raises(ValueError, match="original_image_size"):
            decoder(heads, size)
    assert decoder(heads, (64, 32)).boxes.tolist() == [[4, 4, 16, 16]]


def test_a_decoder_that_is_called_inside_its_own_call(plan: Plan, frame: Any) -> None:
    """Reused buffers are one call's at a time: here the heads decode another frame on their way."""
    decoder = Decoder(plan)
    decoder(frame())
    inner: list[Detections] = []

    def heads() -> Any:
        inner.append(decoder(frame((5, 2, 0, 1, 0.75), (1, 1, 1, 1, 0.5))))
        yield from frame((1, 1, 2, 1, 0.5))

    outer = decoder(heads())
    assert outer.class_ids.tolist() == [2]
    assert inner[0].class_ids.tolist() == [0, 1]


PICKS: list[tuple[Any, Any]] = [
    (1, 1),
    (-1, 2),
    (np.int8(1), 1),
    (np.array(1), 1),
    (np.array(2, np.uint64), 2),
    (slice(None, None, -1), [2, 1, 0]),
    (slice(5, 9), []),
    ([], []),
    ([2, -3, 2], [2, 0, 2]),
    ([True, False, True], [0, 2]),
    ([np.True_, False, np.False_], [0]),
    (range(2), [0, 1]),
    (np.array([1]), [1]),
    (np.array([2, 0], np.uint8), [2, 0]),
    (np.array([-1], np.int8), [2]),
    (np.array([False, True, True]), [1, 2]),
]


@pytest.mark.parametrize(("index", "rows"), PICKS, ids=[repr(index) for index, _ in PICKS])
def test_an_index_gives_one_detection_or_detections(
    plan: Plan, frame: Any, index: Any, rows: Any
) -> None:
    detections = Decoder(plan)(frame((1, 1, 2, 1, 0.5), (5, 2, 0, 1, 0.75), (3, 3, 1, 1, 0.625)))
    part: Any = detections[index]
    if isinstance(rows, int):
        assert isinstance(part, Detection)
        assert part == list(detections)[rows]
    else:
        assert isinstance(part, Detections)
        assert part.class_ids.tolist() == [[0, 1, 2][row] for row in rows]
        assert part.boxes.shape == (len(rows), 4)
        assert part.boxes.tolist() == detections.boxes[np.array(rows, int)].tolist()


WRONG_INDEXES: list[tuple[Any, type[Exception], str]] = [
    (True, TypeError, "bool"),
    (np.True_, TypeError, "bool"),
    (np.array(True), TypeError, "ndarray"),
    (None, TypeError, "NoneType"),
    (..., TypeError, "ellipsis"),
    ((0, 1), TypeError, "tuple"),
    ("1", TypeError, "str"),
    (1.0, TypeError, "float"),
    ([[0, 1]], TypeError, "list with list"),
    ([[[0, 1]]], TypeError, "list with list"),
    ([True, 1, 2], TypeError, "mixes"),
    ([0.0], TypeError, "list with float"),
    (np.array([0.0]), TypeError, "float64 with 1 dim"),
    (np.array([[0, 1]]), TypeError, "int64 with 2 dim"),
    (np.zeros((3, 4), bool), TypeError, "bool with 2 dim"),
    (np.ma.array([0, 1], mask=[True, False]), TypeError, "MaskedArray"),
    ([True], IndexError, "1 booleans for 3"),
    (np.zeros(4, bool), IndexError, "4 booleans for 3"),
    (3, IndexError, "index 3 .* 3 detections"),
    (-4, IndexError, "index -4"),
    ([0, 3], IndexError, "index 3"),
    (np.array([2**63], np.uint64), IndexError, "out of range"),
    (10**30, IndexError, "out of range"),
]


@pytest.mark.parametrize(
    ("index", "error", "part"), WRONG_INDEXES, ids=[repr(index) for index, *_ in WRONG_INDEXES]
)
def test_an_index_of_another_kind_is_refused(
    plan: Plan, frame: Any, index: Any, error: type[Exception], part: str
) -> None:
    detections = Decoder(plan)(frame((1, 1, 2, 1, 0.5), (5, 2, 0, 1, 0.75), (3, 3, 1, 1, 0.625)))
    with pytest.raises(error, match=part):
        detections[index]


def test_detections_as_plain_numbers(plan: Plan, frame: Any) -> None:
    detections = Decoder(plan)(frame((1, 1, 2, 1, 0.5), (5, 2, 0, 1, 0.75)))
    one = {"box": [72, 24, 32, 32], "score": 0.75, "class_id": 0}
    assert json.loads(json.dumps(detections[0].to_dict())) == one
    assert json.loads(json.dumps(detections.to_dict())) == {
        "boxes": [[72, 24, 32, 32], [8, 8, 32, 32]],
        "scores": [0.75, 0.5],
        "class_ids": [0, 2],
    }
    assert Decoder(plan)(frame()).to_dict() == {"boxes": [], "scores": [], "class_ids": []}


def test_rows_beyond_the_count_are_the_private_forms_only(
    plan: Plan, frame: Any, garbage_outputs: Any
) -> None:
    """What Decoder calls leaves them; execute writes every byte."""
    heads = frame((1, 1, 2, 1, 0.5))
    kept, cleared = garbage_outputs(plan), garbage_outputs(plan)
    plan._execute_rows(plan.create_context(), None, heads, kept)
    plan.execute(plan.create_context(), heads, cleared)
    assert kept[3].tolist() == cleared[3].tolist() == [1]
    for rows, whole in zip(kept[:3], cleared[:3], strict=True):
        assert rows[0].tobytes() == whole[0].tobytes()
        assert (rows[1:].reshape(-1).view(np.uint8) == 0xA5).all()
        assert not whole[1:].any()
