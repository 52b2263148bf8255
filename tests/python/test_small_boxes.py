"""What whole corners do to small boxes, and that exact corners do not.

docs/numerics.md shows rates over every offset of a grid. They are measured here, with the library.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from boxdecode import (
    Decoder,
    DType,
    Plan,
    Profile,
    ScoreActivation,
    SuppressionCorners,
    TensorSpec,
    ops,
)

Boxes = npt.NDArray[np.float32]

NUMERICS = Path(__file__).parents[2] / "docs" / "numerics.md"
INTEGER, EXACT = SuppressionCorners.Integer, SuppressionCorners.Exact


def decoded(boxes: Boxes, threshold: float, corners: SuppressionCorners, **options: Any) -> Any:
    """Boxes [N, 4] as centres and sizes, best first, through a plan that changes none of them."""
    scores = np.linspace(0.9, 0.6, len(boxes), dtype=np.float32)
    rows = np.concatenate([boxes, scores[:, None]], axis=1)
    plan = Plan(
        [TensorSpec((1, len(rows), 5), DType.Float32)],
        profile=Profile.YoloDecodedV1,
        heads=[(0, 0)],
        model_input_size=(2**20, 2**20),
        original_image_size=(2**20, 2**20),
        num_classes=1,
        max_detections=65536,
        detection_threshold=0.5,
        nms_iou_threshold=threshold,
        score_activation=ScoreActivation.Identity,
        suppression_corners=corners,
        **options,
    )
    return Decoder(plan)(rows[None])


def share_kept(side: float, moved: float, threshold: float, corners: SuppressionCorners) -> float:
    """Of how many pairs both boxes stay: equal ones, the second `moved` widths to the right.

    Widths and heights are 8 steps each within half a pixel of `side`, places 16 x 16 steps inside
    a pixel; pairs lie 64 pixels apart. All numbers are exact in FP32.
    """
    sides = side - 0.5 + 1 / 16 + np.arange(8) / 8
    places = np.arange(16) / 16
    grid = np.meshgrid(sides, sides, places, places, indexing="ij")
    width, height, x, y = (axis.ravel() for axis in grid)
    pair = np.arange(len(x))
    left, top = x + 64.0 * (pair % 128), y + 64.0 * (pair // 128)
    first = np.stack([left + width / 2, top + height / 2, width, height], axis=1)
    second = first + np.stack([moved * width, 0 * x, 0 * x, 0 * x], axis=1)
    boxes = np.stack([first, second], axis=1).reshape(-1, 4).astype(np.float32)
    return (len(decoded(boxes, threshold, corners)) - len(pair)) / len(pair)


def table() -> list[list[str]]:
    text = NUMERICS.read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([\d.]+) px \|(.*)\|$", text, flags=re.MULTILINE)
    assert len(rows) == 8
    return [[side, *(cell.strip() for cell in cells.split("|"))] for side, cells in rows]


@pytest.mark.parametrize("row", table(), ids=lambda row: f"{row[0]} px")
def test_rates_are_what_the_page_says(row: list[str]) -> None:
    side, shown = float(row[0]), row[1:]

    def percent(share: float) -> str:
        if 0 < share < 0.0005:
            return "< 0.1 %"
        return "0" if share == 0 else f"{100 * share:.1f} %"

    measured = [percent(share_kept(side, 0.0, threshold, INTEGER)) for threshold in (0.45, 0.7)]
    measured += [
        percent(1 - share_kept(side, 0.5, threshold, INTEGER)) for threshold in (0.45, 0.7)
    ]
    assert shown == measured


@pytest.mark.parametrize("threshold", [0.45, 0.7])
@pytest.mark.parametrize("side", [1.5, 2.5, 3.5, 5, 8])
def test_exact_corners_keep_one_of_two_and_both_neighbours(side: float, threshold: float) -> None:
    assert share_kept(side, 0.0, threshold, EXACT) == 0
    assert share_kept(side, 0.5, threshold, EXACT) == 1  # an IoU of one third


@pytest.mark.parametrize("threshold", [0.0, 1 / 3, 0.45, 0.5, 0.7, 0.999, 1.0])
def test_exact_corners_keep_what_the_operator_keeps(threshold: float) -> None:
    draw = np.random.default_rng(20261207)
    count = 4000  # more than a chain that is searched instead of walked
    size = np.exp(draw.uniform(np.log(0.8), np.log(60), (count, 2)))
    boxes = np.concatenate([draw.uniform(0, 500, (count, 2)), size], axis=1)
    boxes[1::4] = boxes[::4] * [1, 1, 0.5, 1]  # nested, IoU near one half
    boxes[2::4] = np.round(boxes[2::4]) + [0, 0, 1, 1]
    boxes[3::4] = boxes[2::4] + [1, 0, 0, 0]
    boxes = boxes.astype(np.float32)
    half = boxes[:, 2:] * np.float32(0.5)
    corners = np.concatenate([boxes[:, :2] - half, boxes[:, :2] + half], axis=1)
    areas = ops.box_area(corners)
    boxes, corners = boxes[areas >= 0.5], corners[areas >= 0.5]
    scores = np.linspace(0.9, 0.6, len(boxes), dtype=np.float32)
    kept = ops.nms(corners, scores, float(np.float32(threshold)))
    detections = decoded(boxes, threshold, EXACT)
    np.testing.assert_array_equal(detections.scores, scores[kept])


def test_a_quotient_equal_to_the_threshold_stays() -> None:
    # Widths 4 and 2 of one height share half of their union; one step less suppresses.
    boxes = np.array([[2, 2, 4, 4], [1, 2, 2, 4]], dtype=np.float32)
    assert len(decoded(boxes, 0.5, EXACT)) == 2
    assert len(decoded(boxes, float(np.nextafter(np.float32(0.5), np.float32(0))), EXACT)) == 1


def test_describe_says_which_rule() -> None:
    arguments: dict[str, Any] = {
        "inputs": [TensorSpec((1, 1, 5), DType.Float32)],
        "profile": Profile.YoloDecodedV1,
        "heads": [(0, 0)],
        "model_input_size": (64, 64),
        "original_image_size": (64, 64),
        "num_classes": 1,
        "max_detections": 5,
        "detection_threshold": 0.5,
        "score_activation": ScoreActivation.Identity,
    }
    exact = Plan(**arguments, nms_iou_threshold=0.7, suppression_corners=EXACT).describe()
    assert "suppression: IoU of FP32 corners above 0.7, inside a class" in exact
    whole = Plan(**arguments, nms_iou_threshold=0.7).describe()
    assert "suppression: IoU in 256ths above 179, inside a class" in whole
    # 0.999 is 256 of 256ths, which suppress nothing; of FP32 corners only 1 is.
    near = {"nms_iou_threshold": 0.999}
    assert "suppression: skipped" in Plan(**arguments, **near).describe()
    exact = Plan(**arguments, **near, suppression_corners=EXACT).describe()
    assert "suppression: IoU of FP32 corners above 0.999" in exact
    one = Plan(**arguments, nms_iou_threshold=1, suppression_corners=EXACT).describe()
    assert "suppression: skipped at nms_iou_threshold 1" in one
