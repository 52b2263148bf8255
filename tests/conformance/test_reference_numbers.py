"""Pins the reference to the worked numbers of the contract and of the published projects."""

from __future__ import annotations

import math

import numpy as np
import pytest
from reference import Affine, Head, Request, TensorSpec, layouts, mapping, numeric, priors, suppress
from reference.layouts import Contiguous, MlaCBlocked, Planar, Strided


def make_request(**changes: object) -> Request:
    fields: dict[str, object] = {
        "inputs": [TensorSpec((1, 1, 4), "Float32"), TensorSpec((1, 1, 1), "Float32")],
        "profile": "Yolo26V1",
        "heads": [Head(0, 1)],
        "model_input_size": (640, 640),
        "original_image_size": (640, 640),
        "num_classes": 1,
        "max_detections": 1,
        "detection_threshold": 0.5,
        "nms_iou_threshold": 0.5,
        "score_activation": "Sigmoid",
    }
    fields.update(changes)
    return Request(**fields)  # type: ignore[arg-type]


# ---- layouts -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "dtype", "tile", "total", "places"),
    [
        ((5, 7, 33), "Int8", (2, 3, 16), 1680, {(2, 3, 17): (881,), (4, 6, 32): (1664,)}),
        (
            (5, 7, 20),
            "BFloat16",
            (2, 3, 16),
            2240,
            {(2, 3, 17): (1761, 1777), (4, 6, 19): (2211, 2227)},
        ),
        ((3, 4, 40), "Int8", (2, 3, 24), 576, {(2, 3, 17): (369,)}),
        ((1, 1, 213), "BFloat16", (1, 1, 64), 448, {}),
        ((19, 19, 273), "Int8", (19, 19, 273), 103_968, {}),
    ],
)
def test_blocked_check_values(shape, dtype, tile, total, places):
    layout = MlaCBlocked(*tile)
    assert layouts.required_bytes(shape, dtype, layout) == total
    raw = np.zeros(shape, dtype=numeric.RAW_TYPE[dtype])
    assert layouts.pack(raw, layout, np.random.default_rng(0)).size == total
    for place, offsets in places.items():
        assert layouts.blocked_byte_offsets(shape, dtype, layout, *place) == offsets


@pytest.mark.parametrize("dtype", ["Int8", "BFloat16"])
@pytest.mark.parametrize(
    ("shape", "tile"),
    [
        ((5, 7, 33), (2, 3, 16)),
        ((3, 4, 40), (2, 3, 24)),
        ((1, 1, 5), (4, 4, 16)),
        ((6, 5, 17), (6, 2, 5)),
    ],
)
def test_blocked_packing_walks_as_the_formula_says(dtype, shape, tile):
    rng = np.random.default_rng(7)
    element = numeric.RAW_TYPE[dtype]
    raw = rng.integers(-100, 100, shape).astype(element)
    layout = MlaCBlocked(*tile)
    packed = layouts.pack(raw, layout, rng)
    for place in np.ndindex(*shape):
        offsets = layouts.blocked_byte_offsets(shape, dtype, layout, *place)
        assert bytes(packed[list(offsets)]) == raw[place].tobytes()


def test_dense_layouts():
    rng = np.random.default_rng(3)
    raw = rng.integers(0, 60000, (3, 5, 4)).astype(np.uint16)
    little = raw.astype("<u2")
    contiguous = layouts.pack(raw, Contiguous(), rng)
    assert contiguous.tobytes() == little.tobytes()
    planar = layouts.pack(raw, Planar(), rng)
    # element (h, w, c) of a planar tensor is at c*H*W + h*W + w
    assert planar[2 * (3 * 3 * 5 + 1 * 5 + 2) :][:2].tobytes() == little[1, 2, 3].tobytes()
    strided = layouts.pack(raw, Strided(6), rng)
    assert (
        strided.size == layouts.required_bytes((3, 5, 4), "BFloat16", Strided(6)) == 3 * 5 * 6 * 2
    )
    assert strided[2 * ((1 * 5 + 2) * 6 + 3) :][:2].tobytes() == little[1, 2, 3].tobytes()
    assert layouts.strides((1, 1, 1, 3, 5, 4), 6) == (90, 90, 90, 30, 6, 1)


# ---- numbers -------------------------------------------------------------------------------------


def test_bfloat16_and_float16_round_trip():
    every = np.arange(65536, dtype=np.uint16)
    values = numeric.bfloat16_to_float32(every)
    finite = ~np.isnan(values)
    assert (numeric.float32_to_bfloat16(values)[finite] == every[finite]).all()
    assert numeric.bfloat16_to_float32(np.array([0x3F80], np.uint16))[0] == 1
    assert np.isnan(numeric.bfloat16_to_float32(numeric.float32_to_bfloat16(values))[~finite]).all()
    halves = numeric.float16_to_float32(every)
    finite = ~np.isnan(halves)
    assert (numeric.float32_to_float16(halves)[finite] == every[finite]).all()
    # ties go to even: 1 + 2^-8 lies midway between 0x3F80 and 0x3F81
    assert numeric.float32_to_bfloat16(np.array([1 + 2**-8], np.float32))[0] == 0x3F80


def test_exponential_and_sigmoid_endpoints():
    x = np.array([-np.inf, np.inf, np.nan, 0.0, -104.0, 88.73], np.float32)
    result = numeric.exp32(x)
    assert result.dtype == np.float32
    assert result[0] == 0
    assert np.isposinf(result[1])
    assert np.isnan(result[2])
    assert result[3] == 1
    assert result[4] == 0
    assert np.isposinf(result[5])
    assert numeric.exp32(np.array([-103.0], np.float32))[0] == np.float32(2**-149)
    scores = numeric.sigmoid(np.array([np.inf, -np.inf, np.nan, -0.0, -89.0], np.float32))
    assert scores[0] == 1
    assert scores[1] == 0
    assert np.isnan(scores[2])
    assert scores[3] == 0.5
    assert scores[4] == 0


def test_exponential_against_exact_rationals():
    fractions = pytest.importorskip("fractions")
    rng = np.random.default_rng(11)
    for x in rng.uniform(-20, 20, 200).astype(np.float32):
        exact = fractions.Fraction(1)
        term = fractions.Fraction(1)
        reduced = fractions.Fraction(float(x)) / 64
        for k in range(1, 30):
            term = term * reduced / k
            exact += term
        exact = exact**64
        got = numeric.exp32(np.array([x], np.float32))[0]
        below = fractions.Fraction(float(np.nextafter(got, np.float32(-np.inf))))
        above = fractions.Fraction(float(np.nextafter(got, np.float32(np.inf))))
        here = fractions.Fraction(float(got))
        assert (here + below) / 2 <= exact <= (here + above) / 2


def test_sums_use_four_partial_sums():
    big = np.float32(2**24)
    # s0 = 2^24 + 1 rounds to 2^24; a single running sum would differ
    terms = np.array([[big, 1, 1, 1, 1]], np.float32)
    assert numeric.sum_four(terms)[0] == np.float32((big + np.float32(1)) + np.float32(2))
    assert math.copysign(1, numeric.sum_four(np.array([[-0.0]], np.float32))[0]) == 1
    order = np.array([[1e30, 1, -1e30, 1]], np.float32)
    assert numeric.sum_four(order)[0] == 0


def test_rounding_is_half_away_from_zero():
    x = np.array([0.5, -0.5, 1.5, 2.5, -2.5, 0.49999997, 8388607.5], np.float32)
    assert numeric.round_half_away(x).tolist() == [1, -1, 2, 3, -3, 0, 8388608]
    assert numeric.round_half_away_scalar(2.5) == 3
    assert numeric.round_half_away_scalar(-2.5) == -3
    assert numeric.round_half_away_scalar(0.49999999999999994) == 0


def test_minimum_and_maximum_return_nan_for_nan():
    nan, one = np.float32(np.nan), np.float32(1)
    for pair in ((nan, one), (one, nan)):
        assert np.isnan(numeric.minimum(*pair))
        assert np.isnan(numeric.maximum(*pair))


def test_dequantization_multiplies():
    raw = np.array([-128, 0, 127], np.int8)
    expected = np.array([-121, 7, 134], np.float32) * np.float32(0.03125)
    assert (numeric.dequantize(raw, 0.03125, -7) == expected).all()
    level = numeric.dequantize(np.array([255], np.uint8), 0.00393, 0)[0]
    assert level == np.float32(255) * np.float32(0.00393)
    assert 1.0021 < level < 1.0022


def test_quantized_exponents_start_from_raw_differences():
    raw = np.arange(-128, 128).astype(np.int8)[None, :]
    values = numeric.dequantize(raw, 0.1, 5)
    got = numeric.softmax_exponents(raw, values, "Int8", (0.1, 5))
    below = np.arange(-255, 1).astype(np.float32)[None, :] * np.float32(0.1)
    assert (got == numeric.exp32(below)).all()
    # subtracting dequantized values instead gives other bits
    assert (numeric.softmax_exponents(raw, values, "Float32", None) != got).any()


# ---- suppression ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("threshold", "expected"),
    [
        *((0.1, 26), (0.3, 77), (0.45, 115), (0.5, 128), (0.6, 154), (0.65, 166), (0.7, 179)),
        *((0.0019, 0), (0.002, 1), (1.0, 256), (0.998047, 256), (0.998, 255), (0.0, 0)),
    ],
)
def test_threshold_256(threshold, expected):
    assert suppress.threshold_256(threshold) == expected


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ((0, 0, 10, 10), (5, 0, 15, 10), 85),
        ((0.5, 0.5, 10.5, 10.5), (0.4, 0.4, 10.4, 10.4), 174),
        ((0, 0, 16, 16), (15, 15, 31, 31), 0),
        ((0, 0, 2, 2), (1, 1, 3, 3), 36),
    ],
)
def test_iou_256(first, second, expected):
    boxes = np.array([first, second], np.float32)
    rounded = numeric.round_half_away(boxes)
    areas = numeric.round_half_away(suppress.box_areas(boxes))
    assert suppress.iou_256(rounded[0], areas[0], rounded[1:], areas[1:])[0] == expected


def test_intersection_may_exceed_the_area():
    box = np.array([[-1e7, -53.5, 1e7, 53.8]], np.float32)
    assert suppress.valid_boxes(box)[0]
    rounded = numeric.round_half_away(box)
    areas = numeric.round_half_away(suppress.box_areas(box))
    assert areas[0] == 2_146_000_000
    assert (rounded[0, 2] - rounded[0, 0]) * (rounded[0, 3] - rounded[0, 1]) == 2_160_000_000
    assert suppress.iou_256(rounded[0], areas[0], rounded, areas)[0] >= 256


def test_suppression_skips():
    assert suppress.skips_suppression(make_request(nms_iou_threshold=0.0))
    assert not suppress.skips_suppression(make_request(nms_iou_threshold=0.0019))
    assert not suppress.skips_suppression(make_request(profile="Yolo8V1", nms_iou_threshold=0.0))
    assert suppress.skips_suppression(make_request(profile="Yolo8V1", nms_iou_threshold=0.998047))
    assert suppress.skips_suppression(make_request(profile="DetrV1"))
    assert suppress.skips_suppression(make_request(profile="CenterNetV1"))


def test_geometry_limits():
    boxes = np.array(
        [
            [0, 0, 0.5, 1],  # area .5: kept
            [0, 0, 0.5, 0.999],
            [0, 0, 1e7, 1],
            [0, 0, 10000001, 1],
            [1, 1, 1, 2],
            [0, 0, np.nan, 2],
            [-np.inf, 0, 1, 2],
            [0, 0, 65536, 32768],  # area 2^31
            [0, 0, 65535, 32768],
        ],
        np.float32,
    )
    expected = [True, False, True, False, False, False, False, False, True]
    assert suppress.valid_boxes(boxes).tolist() == expected


# ---- mapping -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("image", "content"),
    [
        ((1280, 720), (640, 360, 0, 140)),
        ((641, 427), (640, 426, 0, 107)),
        ((333, 500), (426, 640, 107, 0)),
        ((1280, 721), (640, 361, 0, 139)),
        ((721, 1280), (361, 640, 139, 0)),
    ],
)
def test_centered_letterbox(image, content):
    assert mapping.letterbox("CenteredLetterbox", (640, 640), image) == content


def test_top_left_letterbox_truncates():
    assert mapping.letterbox("TopLeftLetterbox", (416, 416), (500, 335)) == (416, 278, 0, 0)
    assert mapping.letterbox("TopLeftLetterbox", (640, 640), (1280, 721)) == (640, 360, 0, 0)
    assert mapping.letterbox("TopLeftLetterbox", (640, 640), (721, 1280)) == (360, 640, 0, 0)
    assert mapping.letterbox("TopLeftLetterbox", (8, 8), (100000, 1)) == (8, 1, 0, 0)


def test_boxes_are_clipped_then_rounded():
    request = make_request(
        model_input_size=(64, 64), original_image_size=(99, 33), resize="Stretch"
    )
    boxes = np.array([[-5, -5, 70, 70], [63.9, 63.9, 65, 65]], np.float32)
    got = mapping.boxes_to_image(mapping.make_mapping(request), boxes)
    assert got.tolist() == [[0, 0, 99, 33], [99, 33, 0, 0]]


def test_affine_multiplies_then_adds():
    request = make_request(resize=Affine(2.0, -3.0, 0.5, 4.0))
    got = mapping.boxes_to_image(
        mapping.make_mapping(request), np.array([[10, 10, 20, 30]], np.float32)
    )
    assert got.tolist() == [[17, 9, 20, 10]]


def test_default_policies():
    expected = {
        "Yolo26V1": "CenteredLetterbox",
        "YoloXV1": "CenteredLetterbox",
        "CenterNetV1": "CenteredLetterbox",
        "RcnnStage1V1": "CenteredLetterbox",
        "EfficientDetV1": "TopLeftLetterbox",
        "Ssd300V1": "Stretch",
        "SsdLiteMobile320V1": "Stretch",
        "DetrV1": "Stretch",
    }
    for profile, policy in expected.items():
        assert mapping.resize_policy(make_request(profile=profile)) == policy


# ---- priors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("profile", "count"),
    [
        ("Ssd300V1", 8732),
        ("SsdMobile300V1", 1917),
        ("SsdMobile320V1", 2034),
        ("SsdLiteMobile320V1", 3234),
    ],
)
def test_ssd_prior_counts(profile, count):
    levels = [priors.ssd_priors(profile, level) for level in range(6)]
    assert sum(len(level) for level in levels) == count
    for level, grid, anchors in zip(
        levels, priors.SSD_GRIDS[profile], priors.SSD_ANCHORS[profile], strict=True
    ):
        assert len(level) == grid * grid * anchors


def test_dboxes300_rows():
    sizes_px = [
        [(21, 21), (30.7409, 30.7409), (29.6985, 14.8492)],
        [(45, 45), (66.7458, 66.7458), (63.6396, 31.8198), (31.8198, 63.6396), (77.9423, 25.9808)],
        [(99, 99), (123.0732, 123.0732), (140.0071, 70.0036), (70.0036, 140.0071)],
        [(153, 153), (177.9635, 177.9635), (216.3747, 108.1873), (108.1873, 216.3747)],
        [(207, 207), (232.4371, 232.4371), (292.7422, 146.3711), (146.3711, 292.7422)],
        [(261, 261), (286.7316, 286.7316), (300, 184.5549), (184.5549, 300)],
    ]
    for level, expected in enumerate(sizes_px):
        got = priors.ssd_priors("Ssd300V1", level)[: len(expected), 2:] * 300
        assert np.abs(got - np.array(expected)).max() < 1e-3
    level0 = priors.ssd_priors("Ssd300V1", 0)
    # cell (x 1, y 0): centre (1.5 * 8 / 300, .5 * 8 / 300)
    assert np.allclose(level0[4, :2], [12 / 300, 4 / 300], atol=1e-7)
    assert level0[:, :2].max() <= 1
    assert (priors.ssd_priors("Ssd300V1", 5)[:, :2] == 0.5).all()


def test_tensorflow_rows():
    level0 = [(0.1, 0.1), (0.141421, 0.282843), (0.282843, 0.141421)]
    level1 = [(0.35, 0.35), (0.247487, 0.494975), (0.494975, 0.247487)]
    level1 += [(0.202073, 0.606218), (0.606248, 0.202062), (0.41833, 0.41833)]
    level5 = [(0.95, 0.95), (0.671751, 1.343503), (1.343503, 0.671751)]
    level5 += [(0.548483, 1.645448), (1.645531, 0.548455), (0.974679, 0.974679)]
    for level, height_width in ((0, level0), (1, level1), (5, level5)):
        got = priors.ssd_priors("SsdMobile300V1", level)[: len(height_width)]
        assert np.abs(got[:, [3, 2]] - np.array(height_width)).max() < 1e-6
    grid = priors.ssd_priors("SsdMobile300V1", 0)
    assert np.allclose(grid[3, :2], [1.5 / 19, 0.5 / 19], atol=1e-7)


def test_torchvision_rows():
    squares = [0.264575, 0.41833, 0.570088, 0.72111, 0.87178, 0.974679]
    for level, square in enumerate(squares):
        rows = priors.ssd_priors("SsdLiteMobile320V1", level)
        assert np.abs(rows[1, 2:] - square).max() < 1e-6
        assert rows[:, 2:].max() <= 1
    clamped = {3: [(4, 1, 0.3753)], 4: [(2, 1, 0.5657), (4, 1, 0.4619)]}
    clamped[5] = [(2, 1, 0.6718), (4, 1, 0.5485)]
    for level, rows in clamped.items():
        got = priors.ssd_priors("SsdLiteMobile320V1", level)
        for row, width, height in rows:
            assert np.abs(got[row, 2:] - [width, height]).max() < 1e-4
            assert (got[row, 2:] == got[row + 1, [3, 2]]).all()


def test_efficientdet_rows():
    expected = [(32, 32), (45.2548, 22.6274), (22.6274, 45.2548)]
    expected += [(40.3175, 40.3175), (57.0175, 28.5088), (28.5088, 57.0175)]
    expected += [(50.7968, 50.7968), (71.8376, 35.9188), (35.9188, 71.8376)]
    rows = priors.efficientdet_anchors(64, 64, 512, 512, 4.0)
    assert len(rows) == 64 * 64 * 9
    assert np.abs(rows[:9, 2:] - np.array(expected)).max() < 1e-3
    assert (rows[9, :2] == (12, 4)).all()
    d0 = sum(9 * side * side for side in (64, 32, 16, 8, 4))
    assert d0 == 49104
    lite = priors.efficientdet_anchors(3, 3, 320, 320, 3.0)
    assert np.allclose(lite[-9:, :2], 2.5 * 320 / 3)


def test_rcnn_cell_anchors_follow_from_sizes_and_ratios():
    for level, size in enumerate((32, 64, 128, 256, 512)):
        for anchor, ratio in enumerate((0.5, 1.0, 2.0)):
            height = size * math.sqrt(ratio)
            width = size / math.sqrt(ratio)
            # corners are rounded half to even
            assert priors.RCNN[level][anchor] == (2 * round(width / 2), 2 * round(height / 2))
    corners = priors.rcnn_anchors(4, 2, 70, 33, priors.RCNN[0])
    # whole strides: 70 // 4 = 17, 33 // 2 = 16; cell (3, 1)
    assert corners[-1].tolist() == [51, 16, 22, 46]


def test_yolo_tables():
    assert priors.yolo_anchors("Yolo5V1", 3) == priors.YOLO5_P5
    assert priors.yolo_anchors("Yolo7V1", 3) == priors.YOLO7
    assert priors.yolo_anchors("Yolo7V1", 4) == priors.yolo_anchors("Yolo5V1", 4) == priors.YOLO5_P6
    assert priors.yolo_anchors("Yolo5V1", 2) is None
    assert np.float32(math.log(1000 / 16)) == numeric.LOG_SIZE_LIMIT
