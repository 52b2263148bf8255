"""The CPU side of an object detector: raw output tensors in, final detections out.

The everyday form is ``Decoder(Plan(...))(heads)``; the README has a whole example.
``boxdecode.ops`` has NMS and box functions for plain arrays.
"""

from boxdecode import ops
from boxdecode._core import (
    BoxUnit,
    Context,
    Contiguous,
    DType,
    ErrorCode,
    ImageGeometry,
    MaskEncoding,
    MlaCBlocked,
    MlaTiled,
    Params,
    Plan,
    Planar,
    Profile,
    ResizePolicy,
    ScoreActivation,
    Strided,
    SuppressionCorners,
    Task,
    TensorSpec,
    __version__,
)
from boxdecode._decoder import Decoder, Detection, Detections
from boxdecode._errors import ContextBusy, Error, FloatEnvironment
from boxdecode._types import Affine, Anchor, Head, ImageMapping, Quantization

__all__ = [
    "Affine",
    "Anchor",
    "BoxUnit",
    "Context",
    "ContextBusy",
    "Contiguous",
    "DType",
    "Decoder",
    "Detection",
    "Detections",
    "Error",
    "ErrorCode",
    "FloatEnvironment",
    "Head",
    "ImageGeometry",
    "ImageMapping",
    "MaskEncoding",
    "MlaCBlocked",
    "MlaTiled",
    "Params",
    "Plan",
    "Planar",
    "Profile",
    "Quantization",
    "ResizePolicy",
    "ScoreActivation",
    "Strided",
    "SuppressionCorners",
    "Task",
    "TensorSpec",
    "__version__",
    "ops",
]


def __dir__() -> list[str]:
    return sorted(__all__)
