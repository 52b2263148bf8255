"""Worked frames for the reference itself: each expected number is computed by hand here.

Values are chosen so that the arithmetic is exact, or is written out with FP32 constants.
"""

from __future__ import annotations

import numpy as np
import pytest
from reference import (
    Contiguous,
    Head,
    MlaCBlocked,
    Planar,
    RefusalError,
    Request,
    TensorSpec,
    decode,
    numeric,
    run,
)
from reference.numeric import Array

f32 = np.float32


def spec_of(raw: Array, dtype: str = "Float32") -> TensorSpec:
    height, width, channels = raw.shape
    return TensorSpec((height, width, channels), dtype)


def job(profile: str, heads: list[Head], tensors: list[Array], **changes: object) -> Request:
    fields: dict[str, object] = {
        "inputs": [spec_of(raw) for raw in tensors],
        "profile": profile,
        "heads": heads,
        "model_input_size": (64, 64),
        "original_image_size": (64, 64),
        "num_classes": 1,
        "max_detections": 4,
        "detection_threshold": 0.25,
        "nms_iou_threshold": 0.5,
        "score_activation": None,
        "resize": "Stretch",
    }
    fields.update(changes)
    return Request(**fields)  # type: ignore[arg-type]


def grid(height: int, width: int, channels: int, fill: float = 0.0) -> Array:
    return np.full((height, width, channels), fill, np.float32)


def boxes_of(request: Request, tensors: list[Array]) -> list[list[int]]:
    outputs = run(request, tensors)
    rows: list[list[int]] = outputs[0][: int(outputs[3][0])].tolist()
    return rows


# ---- boxes of each recipe ------------------------------------------------------------------------


@pytest.mark.parametrize("profile", ["Yolo26V1", "Yolo6V1"])
def test_distances(profile):
    boxes, scores = grid(8, 8, 4), grid(8, 8, 1, -1)
    boxes[2, 3] = (1, 0.5, 2, 3)
    scores[2, 3] = 0.5
    request = job(profile, [Head(0, 1)], [boxes, scores], score_activation="Identity")
    outputs = run(request, [boxes, scores])
    # x: (3.5 - 1) * 8 = 20 .. (3.5 + 2) * 8 = 44; y: (2.5 - .5) * 8 = 16 .. (2.5 + 3) * 8 = 44
    assert outputs[0].tolist() == [[20, 16, 24, 28], [0] * 4, [0] * 4, [0] * 4]
    assert outputs[1].tolist() == [0.5, 0, 0, 0]
    assert outputs[2].tolist() == [0, 0, 0, 0]
    assert outputs[3].tolist() == [1]


def test_strides_differ_per_axis():
    boxes, scores = grid(4, 8, 4, 1), grid(4, 8, 1, -1)
    scores[1, 2] = 0.5
    request = job("Yolo26V1", [Head(0, 1)], [boxes, scores], score_activation="Identity")
    # strides 8 and 16: x (1.5 .. 3.5) * 8, y (.5 .. 2.5) * 16
    assert boxes_of(request, [boxes, scores]) == [[12, 8, 16, 32]]


def test_distribution_focal_loss():
    bins = 5
    boxes, scores = grid(8, 8, 4 * bins, -1000), grid(8, 8, 1, 3)
    scores[:] = -9
    scores[4, 4] = 3
    row = boxes[4, 4].reshape(4, bins)
    row[0, 1] = 0  # left 1
    row[1, [1, 3]] = 0  # top: half 1, half 3 = 2
    row[2, :] = 0  # right: mean of 0..4 = 2
    row[3, 4] = 700  # bottom 4: the maximum is subtracted, nothing overflows
    request = job("Yolo8V1", [Head(0, 1)], [boxes, scores], score_activation="Sigmoid")
    # (4.5 - 1) * 8 = 28, (4.5 - 2) * 8 = 20, (4.5 + 2) * 8 = 52, (4.5 + 4) * 8 = 68 -> clipped 64
    assert boxes_of(request, [boxes, scores]) == [[28, 20, 24, 44]]


def test_quantized_distribution_uses_raw_differences():
    raw = np.zeros((1, 1, 8), np.int8)
    raw[0, 0] = (10, 0, 10, 0, 0, 10, 0, 10)
    scores = np.full((1, 1, 1), 127, np.int8)
    request = job(
        "Yolo8V1",
        [Head(0, 1)],
        [raw, scores],
        inputs=[spec_of(raw, "Int8"), spec_of(scores, "Int8")],
        quantization={0: (0.1, -3), 1: (0.01, 0)},
        score_activation="Identity",
    )
    ports = decode.open_ports(request, [raw, scores])
    got = decode.head_corners(request, ports, 0, np.array([0]), np.array([0]))
    small = numeric.exp32(np.array([f32(-10) * f32(0.1)], np.float32))[0]
    near = small / (f32(1) + small)  # left, top: bin 0 is the maximum
    far = f32(1) / (small + f32(1))
    half, stride = f32(0.5), f32(64)
    expected = [(half - near) * stride, (half - near) * stride]
    expected += [(half + far) * stride, (half + far) * stride]
    assert got[0].tolist() == [float(value) for value in expected]


def test_decoded_boxes_apart_combined_and_normalised():
    boxes, scores = grid(1, 3, 4), grid(1, 3, 2, 0.1)
    boxes[0, 1] = (32, 16, 10, 4)
    scores[0, 1] = (0.25, 0.75)
    request = job(
        "YoloDecodedV1",
        [Head(0, 1)],
        [boxes, scores],
        num_classes=2,
        score_activation="Identity",
    )
    assert boxes_of(request, [boxes, scores]) == [[27, 14, 10, 4]]
    combined = np.concatenate([boxes / 64, grid(1, 3, 1, 0.5), scores], axis=-1)
    request = job(
        "YoloDecodedV1",
        [Head(0, 0, 0)],
        [combined],
        num_classes=2,
        score_activation="Identity",
        box_unit="Normalised",
    )
    outputs = run(request, [combined])
    assert outputs[0][0].tolist() == [27, 14, 10, 4]
    assert outputs[1][0] == 0.375
    assert outputs[2][0] == 1


def test_yolox_has_no_half_cell():
    boxes, scores, objectness = grid(8, 8, 4), grid(8, 8, 2, -9), grid(8, 8, 1, 0)
    boxes[1, 2] = (0.5, 0.25, 0, 0)  # w = e^0 * 8
    scores[1, 2] = (-1, 9)
    tensors = [boxes, objectness, scores]
    request = job("YoloXV1", [Head(0, 2, 1)], tensors, num_classes=2, score_activation="Sigmoid")
    outputs = run(request, tensors)
    # centre (2.5 * 8, 1.25 * 8) = (20, 10), size 8
    assert outputs[0][0].tolist() == [16, 6, 8, 8]
    assert outputs[1][0] == f32(0.5) * numeric.sigmoid(np.array([9], np.float32))[0]
    assert outputs[2][0] == 1


@pytest.mark.parametrize(("profile", "anchor"), [("Yolo5V1", (30, 61)), ("Yolo7V1", (36, 75))])
def test_anchor_yolo_uses_its_table(profile, anchor):
    tensors = [grid(8, 8, 21, -20), grid(4, 4, 21, -20), grid(2, 2, 21, -20)]
    row = tensors[1][1, 2].reshape(3, 7)
    row[0] = (0, 0, 0, 0, 4, -20, 4)
    request = job(
        profile,
        [Head(port, port) for port in range(3)],
        tensors,
        num_classes=2,
        original_image_size=(640, 640),
        model_input_size=(64, 64),
    )
    ports = decode.open_ports(request, tensors)
    candidates = decode.scan(request, ports)
    assert (candidates.head[0], candidates.cell[0], candidates.anchor[0]) == (1, 6, 0)
    assert candidates.class_id[0] == 1
    four = numeric.sigmoid(np.array([4], np.float32))[0]
    assert candidates.score[0] == four * four
    got = decode.decode_corners(request, ports, candidates)[0]
    # sigmoid(0) = .5: centre (1 + (2 - .5)) * 16, (1 + (1 - .5)) * 16; size = the anchor
    width, height = anchor
    assert got.tolist() == [40 - width / 2, 24 - height / 2, 40 + width / 2, 24 + height / 2]


def test_yolo7_with_one_class_scores_by_objectness_alone():
    tensor = grid(1, 1, 6)
    tensor[0, 0] = (0, 0, 0, 0, 0, np.nan)
    anchors = [[(8.0, 8.0)]]
    common = {"model_input_size": (8, 8), "anchors": anchors}
    request = job("Yolo7V1", [Head(0, 0)], [tensor], **common)
    outputs = run(request, [tensor])
    assert outputs[3][0] == 1
    assert outputs[1][0] == 0.5
    # an objectness that underflowed to 0 is refused even by a threshold of 0
    tensor[0, 0, 4] = -95
    request = job("Yolo7V1", [Head(0, 0)], [tensor], detection_threshold=0.0, **common)
    assert run(request, [tensor])[3][0] == 0
    tensor[0, 0, 4] = -80
    assert run(request, [tensor])[3][0] == 1
    tensor[0, 0, 4] = 0
    request = job("Yolo5V1", [Head(0, 0)], [tensor], **common)
    assert run(request, [tensor])[3][0] == 0  # the NaN class is selected, then discarded
    tensor[0, 0, 5] = 0
    request = job("Yolo5V1", [Head(0, 0)], [tensor], **common)
    assert run(request, [tensor])[1][0] == 0.25


def test_anchor_decoded_is_anchor_major():
    centers, sizes, scores = grid(1, 2, 6), grid(1, 2, 6), grid(1, 2, 9)
    centers[0, 1, 2:4] = (20, 30)  # anchor 1
    sizes[0, 1, 2:4] = (8, 4)
    scores[0, 1, 3:6] = (0.5, 0.25, 0.75)
    tensors = [centers, scores, sizes]
    request = job(
        "YoloAnchorDecodedV1",
        [Head(0, 1, None, None, 2)],
        tensors,
        num_classes=2,
        score_activation="Identity",
    )
    outputs = run(request, tensors)
    assert outputs[3][0] == 1
    assert outputs[0][0].tolist() == [16, 28, 8, 4]
    assert outputs[1][0] == 0.375
    assert outputs[2][0] == 1


def ssd_tensors(profile: str, encoded: int) -> list[Array]:
    tensors = []
    for side, anchors in zip(
        decode.priors.SSD_GRIDS[profile], decode.priors.SSD_ANCHORS[profile], strict=True
    ):
        tensors.append(grid(side, side, 4 * anchors))
        scores = grid(side, side, anchors * encoded, -30)
        if profile == "Ssd300V1":
            scores[:, :, :anchors] = 30
        elif profile == "SsdLiteMobile320V1":
            scores.reshape(side, side, anchors, encoded)[..., 0] = 30
        tensors.append(scores)
    return tensors


SSD_HEADS = [Head(2 * level, 2 * level + 1) for level in range(6)]


def test_ssd300_channel_orders_background_and_prefix():
    tensors = ssd_tensors("Ssd300V1", 81)
    # level 5: one cell, four anchors; anchor 2, class 7
    scores = tensors[11][0, 0].reshape(81, 4)
    scores[0, 2], scores[7, 2] = -30, 30
    location = tensors[10][0, 0].reshape(4, 4)
    location[:, 2] = (1, 0, 0, 0)  # dx
    request = job(
        "Ssd300V1",
        SSD_HEADS,
        tensors,
        model_input_size=(300, 300),
        original_image_size=(3000, 3000),
        num_classes=81,
        resize=None,
    )
    outputs = run(request, tensors)
    assert outputs[3][0] == 1
    assert outputs[2][0] == 7
    # prior (.5, .5, 1 (clamped), 184.5549 / 300): the centre moves to .6, the box to .1 .. 1.1
    height = 1845.549
    top = 1500 - height / 2
    assert outputs[0][0].tolist() == [300, round(top), 2700, round(height)]
    request.num_classes = 7  # the prefix excludes class 7
    assert run(request, tensors)[3][0] == 0


def test_ssd_softmax_discards_nan_and_infinity_but_not_minus_infinity():
    tensors = ssd_tensors("SsdLiteMobile320V1", 91)
    row = tensors[11][0, 0].reshape(6, 91)
    row[1, 5] = row[2, 5] = row[3, 5] = 40
    row[1, 0] = np.nan
    row[2, 90] = np.inf
    row[3, 90] = -np.inf
    request = job(
        "SsdLiteMobile320V1",
        SSD_HEADS,
        tensors,
        model_input_size=(320, 320),
        num_classes=91,
        nms_iou_threshold=1.0,
    )
    ports = decode.open_ports(request, tensors)
    assert decode.scan(request, ports).anchor.tolist() == [3]


@pytest.mark.parametrize(
    ("layout", "class_id"), [(Contiguous(), 3), (Planar(), 2), (MlaCBlocked(1, 1, 64), 2)]
)
def test_raw_key_exception_of_dense_bfloat16(layout, class_id):
    tensors = ssd_tensors("SsdMobile300V1", 5)
    scores = tensors[11][0, 0].reshape(6, 5)
    scores[0, 2], scores[0, 3] = -0.0, 0.0
    bits = [numeric.float32_to_bfloat16(tensor) for tensor in tensors]
    specs = [TensorSpec(raw.shape, "BFloat16", layout) for raw in bits]
    request = job(
        "SsdMobile300V1",
        SSD_HEADS,
        bits,
        inputs=specs,
        model_input_size=(300, 300),
        num_classes=5,
    )
    outputs = run(request, bits)
    assert outputs[1][0] == 0.5
    assert outputs[2][0] == class_id


def test_ssd_mobile_reads_y_first():
    tensors = ssd_tensors("SsdMobile320V1", 3)
    tensors[11][0, 0].reshape(6, 3)[0, 1] = 30
    tensors[10][0, 0].reshape(6, 4)[0] = (1, 0, 0, 0)  # ty
    request = job(
        "SsdMobile320V1",
        SSD_HEADS,
        tensors,
        model_input_size=(320, 320),
        original_image_size=(1000, 1000),
        num_classes=3,
    )
    # prior (.5, .5, .95, .95): y centre .5 + .1 * .95
    assert boxes_of(request, tensors) == [[25, 120, 950, 880]]  # 120 .. 1070 is clipped to 1000


def test_efficientdet_is_top_left_and_y_first():
    boxes, scores = grid(2, 2, 36), grid(2, 2, 18, -30)
    scores[1, 0, 1 * 2 + 1] = 30  # anchor 1: ratio 2
    boxes[1, 0, 4:8] = (0.25, 0, 0, 0)
    request = job(
        "EfficientDetV1",
        [Head(0, 1)],
        [boxes, scores],
        num_classes=2,
        model_input_size=(512, 512),
        original_image_size=(1024, 512),
        anchor_scale=0.25,
        score_activation="Sigmoid",
        resize=None,
    )
    # stride 256, size .25 * 256 = 64: w 64 * 1.41421 = 90.5097, h 45.2548,
    # centre (128, 384 + h / 4)
    outputs = run(request, [boxes, scores])
    # model corners (82.745, 372.686) .. (173.255, 417.941), both factors 2 without pads
    assert outputs[0][0].tolist() == [165, 512, 182, 0]
    request.original_image_size = (512, 512)
    assert run(request, [boxes, scores])[0][0].tolist() == [83, 373, 90, 45]
    assert outputs[2][0] == 1


def test_detr_leaves_out_the_last_class_and_nonfinite_rows():
    boxes, scores = grid(1, 4, 4, 0.5), grid(1, 4, 4)
    boxes[0, :, 2:] = 0.25
    scores[0, 0] = (0, 0, 0, 9)  # background is best: class 0 is the first of the tied
    scores[0, 1] = (0, 0, np.inf, 0)
    scores[0, 2] = (0, 0, -np.inf, 0)
    scores[0, 3] = (0, 0, 0, 0)
    request = job("DetrV1", [Head(0, 1)], [boxes, scores], num_classes=3, detection_threshold=0.0)
    outputs = run(request, [boxes, scores])
    assert outputs[3][0] == 2
    assert outputs[1][0] == 0.25
    assert outputs[0][:2].tolist() == [[24, 24, 16, 16]] * 2
    one = f32(1)
    small = numeric.exp32(np.array([-9], np.float32))[0]
    assert outputs[1][1] == small / ((small + small) + (small + one))


def test_centernet_peaks():
    heat, size, offset = grid(3, 3, 2), grid(3, 3, 2, 2), grid(3, 3, 2, 0.5)
    heat[1, 1, 0], heat[1, 2, 0], heat[0, 0, 1] = 0.5, 0.75, 0.5
    tensors = [heat, size, offset]
    request = job(
        "CenterNetV1",
        [Head(1, 0, None, 2)],
        tensors,
        num_classes=2,
        model_input_size=(12, 12),
        original_image_size=(12, 12),
        score_activation="Identity",
    )
    outputs = run(request, tensors)
    assert outputs[3][0] == 3
    assert outputs[2].tolist() == [0, 1, 0, 0]  # .75; then cell 0 class 1, cell 4 class 0
    assert outputs[0][0].tolist() == [6, 2, 6, 8]  # (2.5, 1.5) * 4 -+ 4, clipped to 12
    request.peak_window = 3
    outputs = run(request, tensors)
    assert outputs[3][0] == 2
    assert outputs[2].tolist() == [0, 1, 0, 0]
    heat[0, 1, 1] = np.nan
    assert run(request, tensors)[3][0] == 1


def test_rcnn_clips_to_the_model_frame_and_suppresses_per_level():
    tensors = []
    for _ in range(5):
        tensors += [grid(1, 1, 12), grid(1, 1, 3, -30)]
    for level in (0, 1):
        tensors[2 * level + 1][0, 0, 1] = 1
    request = job(
        "RcnnStage1V1",
        [Head(2 * level, 2 * level + 1) for level in range(5)],
        tensors,
        model_input_size=(20, 40),
        original_image_size=(20, 40),
        nms_iou_threshold=0.0,
    )
    outputs = run(request, tensors)
    # anchors 32 x 32 and 64 x 64 around (0, 0), clipped to 20 x 40: different levels, both stay
    assert outputs[4][:2].tolist() == [[0, 0, 16, 16], [0, 0, 20, 32]]
    assert outputs[2].tolist() == [0, 1, 0, 0]
    request.class_agnostic = True
    assert run(request, tensors)[3][0] == 1


# ---- scores, order, suppression ------------------------------------------------------------------


def identity_job(scores: Array, **changes: object) -> tuple[Request, list[Array]]:
    height, width, classes = scores.shape
    boxes = grid(height, width, 4, 0.25)  # half a cell: nothing overlaps
    tensors = [boxes, scores]
    request = job(
        "Yolo26V1",
        [Head(0, 1)],
        tensors,
        num_classes=classes,
        model_input_size=(width * 16, height * 16),
        original_image_size=(width * 16, height * 16),
        score_activation="Identity",
        max_detections=height * width,
        **changes,
    )
    return request, tensors


def test_threshold_is_inclusive_and_narrowed():
    scores = np.array([[[0.3]]], np.float32)
    request, tensors = identity_job(scores, detection_threshold=0.3)
    assert run(request, tensors)[3][0] == 1
    request.detection_threshold = float(np.nextafter(f32(0.3), f32(1)))
    assert run(request, tensors)[3][0] == 0


def test_zero_threshold_admits_zeros_and_publishes_plus_zero():
    scores = np.array([[[-0.0], [0.0], [-1e-45], [1e-45], [np.inf], [np.nan]]], np.float32)
    request, tensors = identity_job(scores, detection_threshold=0.0)
    outputs = run(request, tensors)
    assert outputs[3][0] == 3
    assert outputs[0][:3, 0].tolist() == [3 * 16 + 4, 4, 16 + 4]
    assert numeric.bits32(outputs[1][:3]).tolist() == [1, 0, 0]


def test_class_reduction_ties_and_nan():
    scores = np.array(
        [[[0.5, 0.5], [-0.0, 0.0], [0.9, np.nan], [np.inf, 0.9], [0.25, 0.75]]], np.float32
    )
    request, tensors = identity_job(scores, detection_threshold=0.0)
    candidates = decode.scan(request, decode.open_ports(request, tensors))
    assert candidates.cell.tolist() == [4, 0, 1]
    assert candidates.class_id.tolist() == [1, 0, 0]


def test_saturated_sigmoids_are_compared_by_their_raw_key():
    scores = np.array([[[200, 300]]], np.float32)
    request, tensors = identity_job(scores)
    request.score_activation = "Sigmoid"
    outputs = run(request, tensors)
    assert outputs[1][0] == 1
    assert outputs[2][0] == 1


def test_equal_scores_go_by_head_then_cell():
    scores = grid(2, 2, 1, 0.5)
    boxes = grid(2, 2, 4, 0.25)
    request = job(
        "Yolo26V1",
        [Head(2, 3), Head(0, 1)],
        [boxes, scores, boxes, scores],
        model_input_size=(32, 32),
        original_image_size=(32, 32),
        score_activation="Identity",
        nms_iou_threshold=0.0,
        max_detections=5,
    )
    outputs = run(request, [boxes, scores, boxes, scores])
    cells = [[4, 4], [20, 4], [4, 20], [20, 20]]
    assert outputs[0][:, :2].tolist() == [*cells, cells[0]]
    assert outputs[3][0] == 5  # YOLO26 at threshold 0 does not suppress


def test_objectness_must_be_positive_and_class_not_negative():
    boxes = grid(1, 4, 4, 8)
    scores = np.array([[[0.5], [-1e-45], [0.5], [0.5]]], np.float32)
    objectness = np.array([[[0.0], [1e-30], [-0.5], [0.5]]], np.float32)
    tensors = [boxes, scores, objectness]
    request = job(
        "YoloDecodedV1",
        [Head(0, 1, 2)],
        tensors,
        score_activation="Identity",
        detection_threshold=0.0,
    )
    candidates = decode.scan(request, decode.open_ports(request, tensors))
    assert candidates.cell.tolist() == [3]


def test_suppressed_and_invalid_boxes_do_not_suppress():
    boxes = np.array(
        [[[15, 15, 20, 20], [22, 15, 20, 20], [29, 15, 20, 20], [15, 15, -20, 20]]], np.float32
    )
    scores = np.array([[[0.8], [0.7], [0.6], [0.9]]], np.float32)
    request = job(
        "YoloDecodedV1",
        [Head(0, 1)],
        [boxes, scores],
        score_activation="Identity",
        nms_iou_threshold=0.4,
    )
    # neighbours overlap by 13/27 = .48, the outer two by 6/34: the middle one alone is suppressed
    assert [row[0] for row in boxes_of(request, [boxes, scores])] == [5, 19]


@pytest.mark.parametrize(("nms", "kept"), [(0.0, 1), (0.3, 1), (0.332, 2), (1.0, 2)])
def test_iou_is_floored_and_compared_strictly(nms, kept):
    boxes = np.array([[[5, 5, 10, 10], [10, 5, 10, 10]]], np.float32)  # iou256 85, T(.332) = 85
    scores = np.array([[[0.5], [0.5]]], np.float32)
    request = job(
        "YoloDecodedV1",
        [Head(0, 1)],
        [boxes, scores],
        score_activation="Identity",
        nms_iou_threshold=nms,
    )
    assert len(boxes_of(request, [boxes, scores])) == kept


def test_suppression_is_per_class_unless_agnostic():
    boxes = grid(1, 2, 4, 8)
    scores = np.array([[[0.5, 0.1], [0.1, 0.5]]], np.float32)
    request = job(
        "YoloDecodedV1", [Head(0, 1)], [boxes, scores], num_classes=2, score_activation="Identity"
    )
    assert len(boxes_of(request, [boxes, scores])) == 2
    request.class_agnostic = True
    assert len(boxes_of(request, [boxes, scores])) == 1


# ---- reach ---------------------------------------------------------------------------------------


def quantized_job(
    profile: str, dtype: str, quantization: dict[int, tuple[float, int]], **changes: object
) -> Request:
    head = Head(0, 1, 2) if profile == "YoloXV1" else Head(0, 1)
    tensors = [np.zeros((1, 1, channels), numeric.RAW_TYPE[dtype]) for channels in (4, 1, 1)]
    tensors = tensors[: 3 if profile == "YoloXV1" else 2]
    changes.setdefault("score_activation", "Sigmoid")
    return job(
        profile,
        [head],
        tensors,
        inputs=[spec_of(raw, dtype) for raw in tensors],
        quantization=quantization,
        **changes,
    )


def test_unreachable_threshold():
    # zero point 127: the highest logit is 0, the highest score .5
    request = quantized_job("Yolo26V1", "Int8", {0: (1, 0), 1: (0.1, 127)})
    request.detection_threshold = 0.5
    decode.check_reach(request)
    request.detection_threshold = float(np.nextafter(f32(0.5), f32(1)))
    with pytest.raises(RefusalError) as caught:
        decode.check_reach(request)
    assert (caught.value.code, caught.value.field) == (
        "InvalidParameter",
        "params.detection_threshold",
    )
    request.detection_threshold = 0.0
    decode.check_reach(request)


def test_objectness_reach_is_the_largest_finite_product():
    request = quantized_job("YoloXV1", "Int8", {0: (1, 0), 1: (0.1, 127), 2: (0.1, 127)})
    request.detection_threshold = 0.25
    decode.check_reach(request)
    request.detection_threshold = 0.2500001
    with pytest.raises(RefusalError):
        decode.check_reach(request)


def test_levels_that_overflow_do_not_reach():
    # (raw - 126) * 3e38: levels 0 and 3e38 are finite, everything below is negative
    request = quantized_job(
        "Yolo26V1", "Int8", {0: (1, 0), 1: (3e38, 126)}, score_activation="Identity"
    )
    assert decode.best_reachable_score(request, 0) == float(f32(3e38))
    request.quantization[1] = (3e38, -128)
    assert decode.best_reachable_score(request, 0) == float(f32(3e38))
    request.quantization[1] = (3e38, 127)
    assert decode.best_reachable_score(request, 0) == 0


# ---- tasks ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("profile", "expected"),
    [
        # stride 8, cell (1, 2): x = 3, y = -1
        ("Yolo26V1", (36.0, 12.0)),  # (3 + 1 + .5) * 8, (-1 + 2 + .5) * 8
        ("Yolo8V1", (56.0, 0.0)),  # (2 * 3 + 1) * 8, (2 * -1 + 2) * 8
        ("YoloDecodedV1", (3.0, -1.0)),
    ],
)
def test_keypoints(profile, expected):
    bins = 2
    channels = 4 * bins if profile == "Yolo8V1" else 4
    boxes, scores, extra = grid(8, 8, channels, 8), grid(8, 8, 1, -9), grid(8, 8, 6)
    scores[2, 1] = 2
    extra[2, 1] = (3, -1, 0, np.nan, -1, np.nan)
    tensors = [boxes, scores, extra]
    request = job(
        profile,
        [Head(0, 1, None, 2)],
        tensors,
        task="Pose",
        num_keypoints=2,
        score_activation="Sigmoid",
        original_image_size=(128, 32),
    )
    outputs = run(request, tensors)
    assert outputs[3][0] == 1
    assert outputs[4].shape == (4, 2, 3)
    x, y = expected
    visibility = 0.0 if profile == "YoloDecodedV1" else 0.5
    assert outputs[4][0, 0].tolist() == [2 * x, y / 2, visibility]
    assert numeric.bits32(outputs[4][0, 1, [0, 2]]).tolist() == [0x7FC00000, 0x7FC00000]
    assert not outputs[4][1:].any()


def mask_job(dtype: str, encoding: str) -> tuple[Request, list[Array]]:
    boxes, scores = grid(1, 1, 4, 0.25), grid(1, 1, 1, 0.5)
    coefficients = np.array([[[1, -1]]], numeric.RAW_TYPE[dtype])
    prototype = np.zeros((4, 4, 2), numeric.RAW_TYPE[dtype])
    prototype[..., 0] = np.arange(16).reshape(4, 4)
    prototype[..., 1] = 5
    tensors = [boxes, scores, coefficients, prototype]
    quantization = {2: (0.5, 0), 3: (0.25, 0)} if dtype == "Int8" else {}
    request = job(
        "Yolo26V1",
        [Head(0, 1, None, 2)],
        tensors,
        inputs=[*map(spec_of, tensors[:2]), *(spec_of(raw, dtype) for raw in tensors[2:])],
        quantization=quantization,
        task="Segmentation",
        mask_prototype=3,
        mask_encoding=encoding,
        score_activation="Identity",
        max_detections=2,
        model_input_size=(16, 16),
        original_image_size=(16, 16),
    )
    return request, tensors


@pytest.mark.parametrize("dtype", ["Int8", "Float32"])
def test_masks(dtype):
    request, tensors = mask_job(dtype, "Probability")
    masks = run(request, tensors)[4]
    assert masks.shape == (2, 4, 4)
    # the box is 4 .. 12 of 16 pixels: columns and rows 1 and 2 of the prototype are live
    live = np.zeros((4, 4), bool)
    live[1:3, 1:3] = True
    factor = f32(0.125) if dtype == "Int8" else f32(1)
    logits = (np.arange(16, dtype=np.float32).reshape(4, 4) - f32(5)) * factor
    expected = np.floor(f32(255) * numeric.sigmoid(logits) + 0.5).astype(np.uint8)
    assert (masks[0] == np.where(live, expected, 0)).all()
    assert masks[0, 1, 1] == 128  # logit 0: 127.5 rounds away
    assert not masks[1].any()
    request.mask_encoding = "Binary"
    binary = run(request, tensors)[4]
    assert (binary[0] == np.where(live & (expected >= 128), 255, 0)).all()


def test_mask_of_nan_is_zero():
    request, tensors = mask_job("Float32", "Probability")
    tensors[3][1, 1, 0] = np.nan
    masks = run(request, tensors)[4]
    assert masks[0, 1, 1] == 0
    assert masks[0, 1, 2] > 0


def test_binary_cut_is_where_probability_reaches_128():
    cut = f32(float.fromhex("-0x1.7ffffcp-23"))
    below = np.nextafter(cut, f32(-1))
    logits = np.array([below, cut, 0, np.inf, -np.inf, np.nan], np.float32)
    assert decode.mask_levels(logits, "Probability").tolist() == [127, 128, 128, 255, 0, 0]
    assert decode.mask_levels(logits, "Binary").tolist() == [0, 255, 255, 255, 0, 0]


def test_masks_of_anchor_yolo_take_the_last_channels_of_their_anchor():
    tensor = grid(1, 1, 2 * 8, -30)  # two anchors of 5 + 1 + 2
    row = tensor[0, 0].reshape(2, 8)
    row[1] = (0, 0, 0, 0, 9, 9, 2, 3)
    prototype = grid(1, 1, 2, 1)
    request = job(
        "Yolo5V1",
        [Head(0, 0)],
        [tensor, prototype],
        task="Segmentation",
        mask_prototype=1,
        anchors=[[(4.0, 4.0), (8.0, 8.0)]],
        model_input_size=(4, 4),
        original_image_size=(4, 4),
    )
    five = numeric.sigmoid(np.array([5], np.float32))[0]
    assert run(request, [tensor, prototype])[4][0, 0, 0] == round(float(255 * five))
