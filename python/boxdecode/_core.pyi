"""The C++ core of boxdecode under Python names."""

import enum
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn, SupportsFloat, SupportsIndex, type_check_only

import numpy.typing as npt

from boxdecode._types import Affine, Anchor, Head, ImageMapping, Quantization

__version__: str

# What pybind11 puts below the classes and enumerations of an extension module.
@type_check_only
class _ExtensionType(type): ...

@type_check_only
class _NativeEnum:
    __pybind11_native_enum__: Any

class ErrorCode(_NativeEnum, enum.Enum):
    InvalidParameter = 0
    InvalidTensor = 1
    UnsupportedLayout = 2
    UnsupportedRecipe = 3
    InvalidQuantization = 4
    InvalidBuffer = 5
    BufferOverlap = 6
    ContextMismatch = 7
    ContextBusy = 8
    FloatEnvironment = 9
    ResourceLimit = 10

class DType(_NativeEnum, enum.Enum):
    Int8 = 0
    BFloat16 = 1
    Int32 = 2
    Float32 = 3
    UInt8 = 4
    Float16 = 5

class Profile(_NativeEnum, enum.Enum):
    Yolo26V1 = 0
    Yolo6V1 = 1
    Yolo8V1 = 2
    YoloDecodedV1 = 3
    YoloXV1 = 4
    Yolo5V1 = 5
    Yolo7V1 = 6
    YoloAnchorDecodedV1 = 7
    Ssd300V1 = 8
    SsdMobile300V1 = 9
    SsdMobile320V1 = 10
    SsdLiteMobile320V1 = 11
    EfficientDetV1 = 12
    DetrV1 = 13
    CenterNetV1 = 14
    RcnnStage1V1 = 15

class Task(_NativeEnum, enum.Enum):
    Detection = 0
    Pose = 1
    Segmentation = 2

class ScoreActivation(_NativeEnum, enum.Enum):
    Identity = 0
    Sigmoid = 1
    Softmax = 2

class MaskEncoding(_NativeEnum, enum.Enum):
    Probability = 0
    Binary = 1

class BoxUnit(_NativeEnum, enum.Enum):
    Pixels = 0
    Normalised = 1

class SuppressionCorners(_NativeEnum, enum.Enum):
    Integer = 0
    Exact = 1

class ResizePolicy(_NativeEnum, enum.Enum):
    CenteredLetterbox = 0
    TopLeftLetterbox = 1
    Stretch = 2

class Contiguous(metaclass=_ExtensionType):
    def __init__(self) -> None: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

class Planar(metaclass=_ExtensionType):
    def __init__(self) -> None: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

class Strided(metaclass=_ExtensionType):
    def __init__(self, strides: Sequence[SupportsIndex]) -> None: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    @property
    def strides(self) -> tuple[int, ...]: ...

class MlaCBlocked(metaclass=_ExtensionType):
    def __init__(
        self, tile_h: SupportsIndex, tile_w: SupportsIndex, tile_c: SupportsIndex
    ) -> None: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    @property
    def tile_h(self) -> int: ...
    @property
    def tile_w(self) -> int: ...
    @property
    def tile_c(self) -> int: ...

class MlaTiled(metaclass=_ExtensionType):
    def __init__(
        self, tile_h: SupportsIndex, tile_w: SupportsIndex, tile_c: SupportsIndex
    ) -> None: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    @property
    def tile_h(self) -> int: ...
    @property
    def tile_w(self) -> int: ...
    @property
    def tile_c(self) -> int: ...

class TensorSpec(metaclass=_ExtensionType):
    def __init__(
        self,
        shape: Sequence[SupportsIndex],
        dtype: DType,
        layout: Contiguous | Strided | MlaCBlocked | MlaTiled | Planar | None = None,
    ) -> None: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> DType: ...
    @property
    def layout(self) -> Contiguous | Strided | MlaCBlocked | MlaTiled | Planar: ...

class Params(metaclass=_ExtensionType):
    def __init__(self, *args: NoReturn, **kwargs: NoReturn) -> None: ...
    @property
    def profile(self) -> Profile: ...
    @property
    def task(self) -> Task: ...
    @property
    def heads(self) -> tuple[Head, ...]: ...
    @property
    def mask_prototype(self) -> int | None: ...
    @property
    def model_input_size(self) -> tuple[int, int]: ...
    @property
    def original_image_size(self) -> tuple[int, int]: ...
    @property
    def num_classes(self) -> int: ...
    @property
    def max_detections(self) -> int: ...
    @property
    def detection_threshold(self) -> float: ...
    @property
    def nms_iou_threshold(self) -> float: ...
    @property
    def score_activation(self) -> ScoreActivation | None: ...
    @property
    def quantization(self) -> dict[int, Quantization]: ...
    @property
    def num_keypoints(self) -> int: ...
    @property
    def anchors(self) -> tuple[tuple[Anchor, ...], ...]: ...
    @property
    def resize(self) -> ResizePolicy | Affine | None: ...
    @property
    def mask_encoding(self) -> MaskEncoding: ...
    @property
    def class_agnostic(self) -> bool: ...
    @property
    def box_unit(self) -> BoxUnit: ...
    @property
    def anchor_scale(self) -> float: ...
    @property
    def box_activation(self) -> ScoreActivation: ...
    @property
    def peak_window(self) -> int: ...
    @property
    def suppression_corners(self) -> SuppressionCorners: ...
    @property
    def one_class_uses_objectness(self) -> bool: ...
    @property
    def keypoint_unit(self) -> BoxUnit | None: ...
    @property
    def keypoint_dims(self) -> int: ...

class Context(metaclass=_ExtensionType):
    def __init__(self, *args: NoReturn, **kwargs: NoReturn) -> None: ...

class ImageGeometry(metaclass=_ExtensionType):
    def __init__(self, *args: NoReturn, **kwargs: NoReturn) -> None: ...
    @property
    def image_size(self) -> tuple[int, int]: ...
    @property
    def mapping(self) -> ImageMapping: ...
    def execute(self, context: Context, inputs: Any, outputs: Any) -> None: ...

class Plan(metaclass=_ExtensionType):
    def __init__(
        self,
        inputs: Iterable[TensorSpec],
        outputs: Iterable[TensorSpec] | None = None,
        *,
        profile: Profile,
        heads: Iterable[Head | Sequence[SupportsIndex | None]],
        model_input_size: Sequence[SupportsIndex],
        original_image_size: Sequence[SupportsIndex],
        num_classes: SupportsIndex,
        max_detections: SupportsIndex,
        detection_threshold: SupportsFloat,
        nms_iou_threshold: SupportsFloat,
        task: Task = ...,
        mask_prototype: SupportsIndex | None = None,
        score_activation: ScoreActivation | None = None,
        quantization: Mapping[int, Quantization | tuple[SupportsFloat, SupportsIndex]]
        | None = None,
        num_keypoints: SupportsIndex = 17,
        anchors: Iterable[Iterable[Anchor | Sequence[SupportsFloat]]] | None = None,
        resize: ResizePolicy | Affine | Sequence[SupportsFloat] | None = None,
        mask_encoding: MaskEncoding = ...,
        class_agnostic: bool = False,
        box_unit: BoxUnit = ...,
        anchor_scale: SupportsFloat = 4.0,
        box_activation: ScoreActivation = ...,
        peak_window: SupportsIndex = 1,
        suppression_corners: SuppressionCorners = ...,
        one_class_uses_objectness: bool = False,
        keypoint_unit: BoxUnit | None = None,
        keypoint_dims: SupportsIndex = 3,
    ) -> None: ...
    @property
    def params(self) -> Params: ...
    @property
    def input_specs(self) -> tuple[TensorSpec, ...]: ...
    @property
    def output_specs(self) -> tuple[TensorSpec, ...]: ...
    def required_bytes(self, port: SupportsIndex) -> int: ...
    @property
    def context_bytes(self) -> int: ...
    def describe(self) -> str: ...
    def create_context(self) -> Context: ...
    def allocate_outputs(self) -> list[npt.NDArray[Any]]: ...
    def execute(self, context: Context, inputs: Any, outputs: Any) -> None: ...
    def _execute_rows(
        self, context: Context, geometry: ImageGeometry | None, inputs: Any, outputs: Any
    ) -> None: ...
    def _check_stored(self, port: SupportsIndex, array: npt.NDArray[Any]) -> None: ...
    def with_image_size(
        self,
        image_size: Sequence[SupportsIndex] | npt.NDArray[Any],
        affine: Affine | Sequence[SupportsFloat] | npt.NDArray[Any] | None = None,
    ) -> ImageGeometry: ...

def _available_kernels() -> list[str]: ...
def _force_kernels(name: str | None) -> None: ...

# Behind boxdecode.ops, which makes the arrays fit. NotImplemented: they do not fit yet.
def _nms(
    boxes: Any,
    scores: Any,
    class_ids: Any,
    iou_threshold: Any,
    score_threshold: Any,
    max_detections: Any,
    invalid: Any,
    method: Any,
    sigma: Any,
) -> Any: ...
def _convert_boxes(boxes: Any, in_format: str, out_format: str) -> Any: ...
def _box_areas(boxes: Any) -> Any: ...
def _box_ious(a: Any, b: Any) -> Any: ...
