"""NMS and box functions for plain arrays.

Boxes are rows ``x1, y1, x2, y2`` unless a function says otherwise, in continuous coordinates: a
box from 10 to 20 is 10 wide, not 11. Arrays are NumPy arrays, anything on the CPU that has the
buffer protocol or ``__dlpack__``, torch tensors for example, or lists and tuples of numbers, which
count as what ``numpy.asarray`` makes of them. Nothing is modified. A masked array in which
anything is masked is refused: the functions know no missing rows.

The suppressing functions compute in FP32 and take float32, float64 (narrowed to float32 once),
float16, bfloat16, and integers that FP32 holds exactly. Integers that it does not hold, bool and
every other dtype are refused. The others keep float32 and float64, give float32 for 16-bit floats
and float64 for integers.

What is refused raises ``boxdecode.Error`` with the argument's name in ``field``. docs/ops.md has
the exact rules.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, SupportsFloat, SupportsIndex, TypeAlias

import numpy as np
import numpy.typing as npt

from boxdecode import _core
from boxdecode._core import ErrorCode, ResizePolicy
from boxdecode._errors import Error
from boxdecode._types import Affine

__all__ = [
    "batched_nms",
    "box_area",
    "box_convert",
    "box_iou",
    "clip_boxes",
    "nms",
    "scale_boxes",
    "soft_nms",
    "xywh2xyxy",
]

Floats: TypeAlias = npt.NDArray[np.float32] | npt.NDArray[np.float64]
Indices: TypeAlias = npt.NDArray[np.int64]
if TYPE_CHECKING:
    _BoxFormat: TypeAlias = Literal["xyxy", "xywh", "cxcywh"]
    _Invalid: TypeAlias = Literal["raise", "drop"]
    _SoftMethod: TypeAlias = Literal["linear", "gaussian", "adaptive"]

_SOFT_IOU_THRESHOLD = float("0.3")  # an object of its own: this very one was not passed by a caller
_FORMATS = ("xyxy", "xywh", "cxcywh")
_MOST_SIDE = 1_048_576
_MOST_NESTED = 32  # lists in lists; no NumPy has fewer dimensions
_HOST_MEMORY = (1, 3, 11)  # DLPack's kDLCPU, kDLCUDAHost, kDLROCMHost


def __dir__() -> list[str]:
    return sorted(__all__)


# ---- suppression ---------------------------------------------------------------------------------


def nms(
    boxes: Any,
    scores: Any,
    iou_threshold: SupportsFloat | None = None,
    *,
    score_threshold: SupportsFloat | None = None,
    max_detections: SupportsIndex | None = None,
    invalid: _Invalid = "raise",
    threshold: SupportsFloat | None = None,
) -> Indices:
    """Greedy non-maximum suppression: the indices of the kept boxes, best score first.

    A box is dropped when its IoU with a better kept box exceeds ``iou_threshold``: the FP32 IoU
    against the threshold as a double, exactly as ``torchvision.ops.nms`` decides. Equal scores are
    taken in the order of their index. Classes are not looked at: see ``batched_nms``.

    boxes: [N, 4], x1, y1, x2, y2 with x2 >= x1 and y2 >= y1.
    scores: [N]. Any numbers, logits too.
    iou_threshold: 0 to 1. Required; ``threshold`` is another name of it.
    score_threshold: boxes below it are left out first; None keeps every score.
    max_detections: at most so many indices are returned; None sets no limit.
    invalid: what to do with a row that has a NaN score, a coordinate that is not finite, or
        x2 < x1 or y2 < y1: "raise" an Error that names the first one, or "drop" them.
    """
    if iou_threshold is None or threshold is not None:
        iou_threshold = _one_threshold(iou_threshold, threshold, "nms")
    rest = (iou_threshold, score_threshold, max_detections, invalid, None, None)
    result = _core._nms(boxes, scores, None, *rest)
    if result is NotImplemented:
        result = _suppress(boxes, scores, None, rest)
    return result  # type: ignore[no-any-return]


def batched_nms(
    boxes: Any,
    scores: Any,
    class_ids: Any,
    iou_threshold: SupportsFloat | None = None,
    *,
    score_threshold: SupportsFloat | None = None,
    max_detections: SupportsIndex | None = None,
    invalid: _Invalid = "raise",
    threshold: SupportsFloat | None = None,
) -> Indices:
    """As ``nms``, but only boxes of one class suppress each other.

    Classes are compared, never turned into an offset of the coordinates: negative coordinates, huge
    images and thousands of classes change nothing.

    class_ids: [N], any integers; a class need not be numbered from 0.
    """
    if iou_threshold is None or threshold is not None:
        iou_threshold = _one_threshold(iou_threshold, threshold, "batched_nms")
    rest = (iou_threshold, score_threshold, max_detections, invalid, None, None)
    class_ids = _some(class_ids)
    result = _core._nms(boxes, scores, class_ids, *rest)
    if result is NotImplemented:
        result = _suppress(boxes, scores, class_ids, rest)
    return result  # type: ignore[no-any-return]


def soft_nms(
    boxes: Any,
    scores: Any,
    *,
    method: _SoftMethod = "gaussian",
    sigma: SupportsFloat = 0.5,
    iou_threshold: SupportsFloat = _SOFT_IOU_THRESHOLD,
    score_threshold: SupportsFloat | None = 0.001,
    class_ids: Any = None,
    max_detections: SupportsIndex | None = None,
    invalid: _Invalid = "raise",
    threshold: SupportsFloat | None = None,
) -> tuple[Indices, npt.NDArray[np.float32]]:
    """Soft-NMS: overlapping boxes lose score instead of being dropped.

    Repeatedly picks the best remaining box (equal scores: the lower index) and decays the others of
    its class, until the best is below ``score_threshold``. Returns the picked indices in this
    order, and their decayed scores.

    method: how a score decays, with the IoU of the two boxes:
        "gaussian"  score * exp(-IoU**2 / sigma), always
        "linear"    score * (1 - IoU) where IoU > iou_threshold
        "adaptive"  score * (1 - IoU) where the larger area is more than twice the smaller one,
                    otherwise as "gaussian"
    sigma: > 0. This is the paper's convention; TensorFlow's sigma is half of it.
    iou_threshold: 0 to 1, for "linear". ``threshold`` is another name of it, as in ``nms``.
    class_ids: [N] integers; None decays across classes.
    score_threshold, max_detections, invalid: as in ``nms``; an infinite score is invalid here.
    """
    if method is None:  # which means no soft suppression further down
        raise _refused("method", "method must be a str, not NoneType")
    if threshold is not None:
        given = None if iou_threshold is _SOFT_IOU_THRESHOLD else iou_threshold
        iou_threshold = _one_threshold(given, threshold, "soft_nms")
    rest = (iou_threshold, score_threshold, max_detections, invalid, method, sigma)
    result = _core._nms(boxes, scores, class_ids, *rest)
    if result is NotImplemented:
        result = _suppress(boxes, scores, class_ids, rest)
    return result  # type: ignore[no-any-return]


# ---- boxes ---------------------------------------------------------------------------------------


def box_convert(boxes: Any, in_fmt: _BoxFormat, out_fmt: _BoxFormat) -> Floats:
    """Converts [..., 4] boxes between "xyxy", "xywh" and "cxcywh"; always a new array.

    xyxy: two corners. xywh: top-left corner and size, as in COCO files. cxcywh: centre and size, as
    most YOLO exports have it. Conversions go through xyxy.
    """
    for name, value in (("in_fmt", in_fmt), ("out_fmt", out_fmt)):
        if value not in _FORMATS:
            raise _refused(name, f"{name} is {value!r}; it must be one of {', '.join(_FORMATS)}")
    return _floats(_core._convert_boxes(_boxes(boxes, "boxes"), in_fmt, out_fmt))


def xywh2xyxy(boxes: Any) -> Floats:
    """``box_convert(boxes, "cxcywh", "xyxy")``: centre and size to corners.

    Mind the name. It is the one that Ultralytics made common, where "xywh" means centre and size.
    Boxes from COCO files are "xywh" with the top-left corner: for those take
    ``box_convert(boxes, "xywh", "xyxy")``. The wrong one shifts every box by half its size.
    """
    return box_convert(boxes, "cxcywh", "xyxy")


def box_area(boxes: Any) -> Floats:
    """(x2 - x1) * (y2 - y1) of [..., 4] boxes, not clamped: inverted ones may be negative."""
    return _floats(_core._box_areas(_boxes(boxes, "boxes")))


def box_iou(a: Any, b: Any) -> Floats:
    """IoU of each of [N, 4] boxes with each of [M, 4]: [N, M]. 0/0 is 0.

    The result has the wider dtype of the two.
    """
    first, second = _boxes(a, "a"), _boxes(b, "b")
    for name, value in (("a", first), ("b", second)):
        if value.ndim != 2:
            raise _refused(name, f"{name} has the shape {value.shape}; it must be [N, 4]")
    wider = np.result_type(first, second)
    first = np.ascontiguousarray(first, dtype=wider)
    second = np.ascontiguousarray(second, dtype=wider)
    return _floats(_core._box_ious(first, second))


def clip_boxes(boxes: Any, size: tuple[SupportsFloat, SupportsFloat]) -> Floats:
    """[..., 4] boxes clipped to x in [0, width] and y in [0, height]; ``size`` is (width, height).

    A box outside becomes one without area; none is removed. NaN stays NaN.
    """
    width, height = _pair(size, "size")
    limits = []
    for side in (width, height):
        try:
            limit = float(side)
        except (TypeError, ValueError, OverflowError):
            limit = math.nan
        if not (0 <= limit < math.inf):
            raise _refused("size", f"size is {size!r}; width and height must be finite and >= 0")
        limits.append(limit)
    array = _boxes(boxes, "boxes")
    return _floats(np.clip(array, 0, np.array(limits * 2, dtype=array.dtype)))


def scale_boxes(
    boxes: Any,
    model_size: tuple[SupportsIndex, SupportsIndex],
    image_size: tuple[SupportsIndex, SupportsIndex],
    policy: ResizePolicy | Affine,
) -> Floats:
    """[..., 4] boxes in model pixels to image pixels, the inverse of how the image was resized.

    model_size, image_size: (width, height). policy: a ``ResizePolicy``, or an ``Affine`` that says
    it outright. The result is neither clipped nor rounded: see ``clip_boxes``.
    """
    model_width, model_height = _image_size(model_size, "model_size")
    image_width, image_height = _image_size(image_size, "image_size")
    affine = None if isinstance(policy, ResizePolicy) else _affine(policy)
    array = _boxes(boxes, "boxes")
    if affine is None:
        content_width, content_height, left, top = model_width, model_height, 0, 0
        if policy is not ResizePolicy.Stretch:
            scale = min(model_width / image_width, model_height / image_height)
            centered = policy is ResizePolicy.CenteredLetterbox
            fit = _round_half_up if centered else math.floor
            content_width = max(1, fit(image_width * scale))
            content_height = max(1, fit(image_height * scale))
            if centered:
                left = (model_width - content_width) // 2
                top = (model_height - content_height) // 2
        factor_x, factor_y = image_width / content_width, image_height / content_height
        shift = np.array([left, top, left, top], dtype=array.dtype)
        factor = np.array([factor_x, factor_y] * 2, dtype=array.dtype)
        return _floats((array - shift) * factor)
    scale_x, offset_x, scale_y, offset_y = affine
    factor = np.array([scale_x, scale_y] * 2, dtype=array.dtype)
    shift = np.array([offset_x, offset_y] * 2, dtype=array.dtype)
    return _floats(array * factor + shift)


# ---- arguments -----------------------------------------------------------------------------------


def _refused(field: str, message: str) -> Error:
    return Error(ErrorCode.InvalidParameter, field, message)


def _some(value: Any) -> Any:
    """The value, or something that is no array and no name: None has a meaning further down."""
    return NotImplemented if value is None else value


def _one_threshold(iou_threshold: Any, threshold: Any, function: str) -> Any:
    """The one of the two names that was given."""
    if threshold is None:
        raise TypeError(
            f"iou_threshold must be a number, not NoneType: {function}() needs it, and "
            "has no default for it"
        )
    if iou_threshold is not None:
        raise _refused(
            "threshold",
            f"threshold is {threshold!r} and iou_threshold is {iou_threshold!r}; they are two "
            "names of one number: pass one of them",
        )
    return threshold


def _suppress(boxes: Any, scores: Any, class_ids: Any, rest: tuple[Any, ...]) -> Any:
    """What the core does with arrays that it reads, for all others: they are converted first."""
    boxes = _nms_boxes(boxes)
    scores = _nms_scores(scores, len(boxes))
    if class_ids is not None:
        class_ids = _nms_class_ids(class_ids, len(boxes))
    result = _core._nms(boxes, scores, class_ids, *rest)
    if result is NotImplemented:  # reading one argument has changed another
        raise _refused("boxes", "boxes changed during the call; leave them alone until it returns")
    return result


def _array(value: Any, name: str) -> npt.NDArray[Any]:
    """The value as a plain NumPy array, which shares its memory unless it is a list or a tuple."""
    if isinstance(value, np.ndarray):
        if isinstance(value, np.ma.MaskedArray):
            rows = np.argwhere(np.ma.getmaskarray(value))
            if len(rows) != 0:
                raise _refused(
                    name,
                    f"{name} is a masked array, masked at {[int(i) for i in rows[0]]}; leave "
                    "masked rows out (array[~array.mask]) or fill them (array.filled(value)) first",
                )
        return np.asarray(value)
    if _is_list(value):
        return _array_of_list(value, name)
    try:
        return np.asarray(memoryview(value))
    except (TypeError, ValueError, BufferError):
        pass  # no buffer protocol, or one that NumPy cannot read
    if not hasattr(value, "__dlpack__"):
        raise _refused(
            name,
            f"{name} is a {type(value).__name__}; pass a NumPy array, a list of numbers, or an "
            "array on the CPU with the buffer protocol or __dlpack__",
        )
    try:
        device = value.__dlpack_device__()[0]
        if device not in _HOST_MEMORY:
            raise BufferError(f"it lies on a device of the DLPack type {int(device)}")
        return np.from_dlpack(value)
    except (AttributeError, BufferError, RuntimeError, TypeError, ValueError) as error:
        raise _refused(
            name,
            f"{name} is a {type(value).__name__} that cannot be read through __dlpack__: {error}. "
            "It must lie in CPU memory and need no gradient; convert bfloat16 to float32 first",
        ) from error


def _array_of_list(value: Sequence[Any], name: str) -> npt.NDArray[Any]:
    """What ``numpy.asarray`` makes of numbers in nested lists, tuples and arrays."""
    items, _ = _numbers(value, name, 1)
    try:
        return np.asarray(items)
    except (TypeError, ValueError, OverflowError) as error:
        raise _refused(name, f"{name} makes no array of numbers: {error}") from error


def _numbers(value: Sequence[Any], name: str, depth: int) -> tuple[list[Any], tuple[int, ...]]:
    """A copy in which there are numbers, lists and plain arrays only, and its shape."""
    if depth > _MOST_NESTED:
        raise _refused(name.partition("[")[0], f"{name[:20]}... is nested too deep for an array")
    items = list(value)
    first: tuple[int, ...] = ()
    for index, item in enumerate(items):
        shape: tuple[int, ...] = ()
        kind = type(item)
        if kind is not float and kind is not int:
            place = f"{name}[{index}]"
            if isinstance(item, (list, tuple)):
                items[index], shape = _numbers(item, place, depth + 1)
            else:
                items[index] = _item(item, place)
                shape = items[index].shape
        if index == 0:
            first = shape
        elif shape != first:
            raise _refused(
                name,
                f"{name} is ragged: {name}[0] has the shape {first}, {name}[{index}] has {shape}",
            )
    return items, (len(items), *first)


def _item(item: Any, place: str) -> npt.NDArray[Any]:
    """An element of a list that is neither a list nor a plain number, as an array."""
    known = isinstance(item, (int, float, complex, str, bytes, np.generic)) or item is None
    array = np.asarray(item) if known else _array(item, place)
    if not (_is_float(array.dtype) or array.dtype.kind in "iu"):
        raise _refused(place, f"{place} is {item!r}; it must be a number")
    # NumPy 1.26 knows no common dtype of bfloat16 and others. Every operator reads it as float32.
    return array.astype(np.float32) if array.dtype.name == "bfloat16" else array


def _is_float(dtype: np.dtype[Any]) -> bool:
    """float16, float32, float64 in either byte order, or bfloat16 of ml_dtypes."""
    return (dtype.kind == "f" and dtype.itemsize <= 8) or dtype.name == "bfloat16"


def _dtype_refused(array: npt.NDArray[Any], name: str, wanted: str) -> Error:
    return _refused(name, f"{name} has the dtype {array.dtype}; it must be {wanted}")


def _float32(array: npt.NDArray[Any], name: str) -> npt.NDArray[np.float32]:
    """Exactly the same numbers as float32, or float64 rounded once; C-contiguous and aligned."""
    kind = array.dtype.kind
    if kind in "iu":
        narrowed = array.astype(np.float32)
        # Compared as integers where they fit: FP32 rounds up to 2^63 and 2^64, which do not.
        limit = np.float32(np.iinfo(array.dtype).max) if array.dtype.itemsize == 8 else np.inf
        fits = narrowed < limit
        exact = np.where(fits, narrowed, 0).astype(array.dtype) == array
        wrong = np.argwhere(~(fits & exact))
        if len(wrong) != 0:
            place = tuple(int(i) for i in wrong[0])
            raise _refused(
                f"{name}[{place[0]}]" if place else name,
                f"{name}{list(place)} is {array[place]}, which FP32 does not hold exactly; convert "
                "to float yourself if rounding it is what you want",
            )
    elif _is_float(array.dtype):
        with np.errstate(over="ignore"):
            narrowed = array.astype(np.float32, copy=False)
    else:
        raise _dtype_refused(
            array, name, "float32, float64, float16, bfloat16 or integers that FP32 holds exactly"
        )
    return np.require(narrowed, dtype=np.float32, requirements=["C", "A"])


def _array_of_boxes(value: Any, name: str) -> npt.NDArray[Any]:
    """As ``_array``; an empty list holds no box, which is [0, 4]."""
    array = _array(value, name)
    return array.reshape(0, 4) if array.shape == (0,) and _is_list(value) else array


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple))


def _nms_boxes(value: Any) -> npt.NDArray[np.float32]:
    array = _array_of_boxes(value, "boxes")
    if array.ndim != 2 or array.shape[1] != 4:
        raise _refused("boxes", f"boxes has the shape {array.shape}; it must be [N, 4]")
    return _float32(array, "boxes")


def _row_vector(value: Any, name: str, count: int) -> npt.NDArray[Any]:
    array = _array(value, name)
    if array.ndim != 1:
        raise _refused(name, f"{name} has the shape {array.shape}; it must be [N]")
    if len(array) != count:
        raise _refused(name, f"{name} has {len(array)} elements; boxes has {count} rows")
    return array


def _nms_scores(value: Any, count: int) -> npt.NDArray[np.float32]:
    return _float32(_row_vector(value, "scores", count), "scores")


def _nms_class_ids(value: Any, count: int) -> npt.NDArray[np.int32] | npt.NDArray[np.int64]:
    array = _row_vector(value, "class_ids", count)
    if len(array) == 0 and _is_list(value):  # which names no type
        array = np.empty(0, np.int64)
    if array.dtype.kind not in "iu":
        raise _dtype_refused(array, "class_ids", "an integer type")
    if array.dtype.kind == "u" and array.dtype.itemsize == 8:
        # Only equality counts, and that survives the change of sign.
        array = array.astype(np.uint64, copy=False).view(np.int64)
    return np.require(array, dtype=np.int64, requirements=["C", "A"])


def _boxes(value: Any, name: str) -> Any:
    """[..., 4] boxes as float32 or float64, C-contiguous and aligned."""
    array = _array_of_boxes(value, name)
    if array.ndim == 0 or array.shape[-1] != 4:
        raise _refused(name, f"{name} has the shape {array.shape}; it must be [..., 4]")
    dtype: type[np.float32] | type[np.float64]
    if _is_float(array.dtype) and array.dtype.itemsize < 8:
        dtype = np.float32
    elif _is_float(array.dtype) or array.dtype.kind in "iu":
        dtype = np.float64
    else:
        raise _dtype_refused(array, name, "float32, float64, float16, bfloat16 or an integer type")
    return np.require(array.astype(dtype, copy=False), requirements=["C", "A"])


def _floats(array: Any) -> Floats:
    return array  # type: ignore[no-any-return]


def _pair(value: Any, name: str) -> Sequence[Any]:
    try:
        pair = tuple(value)
    except TypeError:
        pair = ()
    if len(pair) != 2:
        raise _refused(name, f"{name} is {value!r}; it must be (width, height)")
    return pair


def _image_size(value: Any, name: str) -> tuple[int, int]:
    try:
        width, height = (operator.index(side) for side in _pair(value, name))
    except TypeError:
        width = height = 0
    if not (1 <= width <= _MOST_SIDE and 1 <= height <= _MOST_SIDE):
        raise _refused(
            name, f"{name} is {value!r}; width and height must be integers from 1 to {_MOST_SIDE}"
        )
    return width, height


def _affine(policy: Any) -> Affine:
    try:
        affine = Affine(*(float(value) for value in policy))
    except (TypeError, ValueError, OverflowError):
        raise _refused(
            "policy", f"policy is {policy!r}; it must be a ResizePolicy or an Affine"
        ) from None
    # FP32 as everywhere else; a scale that it makes 0 or infinite maps nothing.
    with np.errstate(over="ignore"):
        scales = np.array([affine.scale_x, affine.scale_y], dtype=np.float32)
        offsets = np.array([affine.offset_x, affine.offset_y], dtype=np.float32)
    if not (np.isfinite(scales).all() and (scales > 0).all() and np.isfinite(offsets).all()):
        raise _refused(
            "policy", f"policy is {affine!r}; scales must be finite and > 0, offsets finite"
        )
    return affine


def _round_half_up(value: float) -> int:
    """lround of a value that is not negative."""
    whole = math.floor(value)
    return whole + (value - whole >= 0.5)
