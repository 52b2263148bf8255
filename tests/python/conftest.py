"""A small request that is right, to be changed by each test in one place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import boxdecode
import numpy as np
import numpy.typing as npt
import pytest
from boxdecode import DType, Plan, Profile, ScoreActivation, TensorSpec

Array = npt.NDArray[Any]
Arguments = dict[str, Any]


def arguments_of(**changes: Any) -> Arguments:
    """Yolo26V1 with two levels of a 64 x 32 model, three classes, float heads."""
    arguments: Arguments = {
        "inputs": [
            TensorSpec((1, 4, 8, 4), DType.Float32),
            TensorSpec((1, 4, 8, 3), DType.Float32),
            TensorSpec((1, 2, 4, 4), DType.Float32),
            TensorSpec((1, 2, 4, 3), DType.Float32),
        ],
        "profile": Profile.Yolo26V1,
        "heads": [(0, 1), (2, 3)],
        "model_input_size": (64, 32),
        "original_image_size": (128, 64),
        "num_classes": 3,
        "max_detections": 5,
        "detection_threshold": 0.25,
        "nms_iou_threshold": 0.5,
        "score_activation": ScoreActivation.Identity,
    }
    return {name: value for name, value in (arguments | changes).items() if value is not Ellipsis}


def frame_with(*found: tuple[int, int, int, int, float]) -> list[Array]:
    """Heads of that request; each detection is (x, y, class, reach in cells, score) on level 0."""
    heads: list[Array] = [
        np.zeros((1, 4, 8, 4), np.float32),
        np.zeros((1, 4, 8, 3), np.float32),
        np.zeros((1, 2, 4, 4), np.float32),
        np.zeros((1, 2, 4, 3), np.float32),
    ]
    for x, y, class_id, reach, score in found:
        heads[0][0, y, x] = reach
        heads[1][0, y, x, class_id] = score
    return heads


@pytest.fixture
def arguments() -> Callable[..., Arguments]:
    """Arguments of Plan; keywords change them, ... leaves one out."""
    return arguments_of


@pytest.fixture
def frame() -> Callable[..., list[Array]]:
    """Heads for the request of ``arguments``."""
    return frame_with


@pytest.fixture
def plan() -> Plan:
    """The plan of ``arguments()``."""
    return Plan(**arguments_of())


@pytest.fixture
def garbage_outputs() -> Callable[[Plan], list[Array]]:
    """Output arrays in which every byte is 0xA5."""

    def make(plan: Plan) -> list[Array]:
        outputs = plan.allocate_outputs()
        for array in outputs:
            array.reshape(-1).view(np.uint8)[:] = 0xA5
        return outputs

    return make


@pytest.fixture
def refused() -> Callable[..., None]:
    """Checks that a call raises boxdecode.Error with this code, field and parts of the message."""

    def check(call: Callable[[], Any], code: boxdecode.ErrorCode, field: str, *parts: str) -> None:
        with pytest.raises(boxdecode.Error) as caught:
            call()
        error = caught.value
        assert (error.code, error.field) == (code, field), str(error)
        for part in parts:
            assert part in str(error)

    return check
