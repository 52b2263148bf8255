"""The everyday form: one object to call for each frame, one object that holds what it found."""

from __future__ import annotations

import math
import operator
import threading
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, SupportsFloat, SupportsIndex, overload

import numpy as np
import numpy.typing as npt

from boxdecode._core import Context, ImageGeometry, Plan, Task
from boxdecode._masks import FrameGeometry, resize_masks
from boxdecode._types import Affine

if TYPE_CHECKING:
    import supervision as _supervision


def _finite(value: Any) -> Any:
    """Numbers and nested lists of them, with None for what JSON has no number for."""
    if isinstance(value, list):
        return [_finite(entry) for entry in value]
    return value if math.isfinite(value) else None


def _equal(left: Any, right: Any) -> bool:
    if isinstance(left, np.ndarray) or isinstance(right, np.ndarray):
        return left is right or np.array_equal(left, right)
    return bool(left is right or left == right)


class Detection(NamedTuple):
    """One detection, with arrays of its own.

    - ``box``: x, y, width, height in original-image pixels
    - ``mask`` [H, W] uint8, ``keypoints`` [num_keypoints, 3] float32, ``proposal`` [4] float32 as
      in ``Detections``, or None
    """

    box: tuple[int, int, int, int]
    score: float
    class_id: int
    mask: npt.NDArray[np.uint8] | None = None
    keypoints: npt.NDArray[np.float32] | None = None
    proposal: npt.NDArray[np.float32] | None = None

    @property
    def xyxy(self) -> tuple[int, int, int, int]:
        """x1, y1, x2, y2 in original-image pixels."""
        x, y, width, height = self.box
        return x, y, x + width, y + height

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, for ``json.dumps``: the fields that are not None, by name.

        A number that is not finite, such as a NaN keypoint, becomes None. A mask becomes H lists of
        W integers; ``detection._replace(mask=None).to_dict()`` leaves it out.
        """
        entry: dict[str, Any] = {
            "box": list(self.box),
            "score": _finite(self.score),
            "class_id": self.class_id,
        }
        for name in ("mask", "keypoints", "proposal"):
            array = getattr(self, name)
            if array is not None:
                entry[name] = _finite(array.tolist()) if array.dtype.kind == "f" else array.tolist()
        return entry

    def __eq__(self, other: object) -> bool:
        """Equal fields; arrays are equal when all their elements are."""
        if not isinstance(other, tuple):
            return NotImplemented
        return len(self) == len(other) and all(map(_equal, self, other))

    def __ne__(self, other: object) -> bool:
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else not equal


class Detections:
    """What one frame holds, best score first. The arrays belong to this object and can be kept.

    They hold the rows of this object and no others; ``detections[...]`` copies what it picks.

    - ``boxes`` [N, 4] int32: x, y, width, height in original-image pixels
    - ``scores`` [N] float32, ``class_ids`` [N] int32
    - ``masks`` [N, H, W] uint8 in the prototype's frame; task Segmentation, else None
    - ``keypoints`` [N, num_keypoints, 3] float32: x, y in original-image pixels, visibility;
      task Pose, else None
    - ``proposals`` [N, 4] float32: x1, y1, x2, y2 in model pixels; first stages of two, else None
    """

    __slots__ = ("_geometry", "boxes", "class_ids", "keypoints", "masks", "proposals", "scores")

    boxes: npt.NDArray[np.int32]
    scores: npt.NDArray[np.float32]
    class_ids: npt.NDArray[np.int32]
    masks: npt.NDArray[np.uint8] | None
    keypoints: npt.NDArray[np.float32] | None
    proposals: npt.NDArray[np.float32] | None

    def __init__(
        self,
        boxes: npt.NDArray[np.int32],
        scores: npt.NDArray[np.float32],
        class_ids: npt.NDArray[np.int32],
        *,
        masks: npt.NDArray[np.uint8] | None = None,
        keypoints: npt.NDArray[np.float32] | None = None,
        proposals: npt.NDArray[np.float32] | None = None,
        geometry: FrameGeometry | None = None,
    ) -> None:
        self.boxes = boxes
        self.scores = scores
        self.class_ids = class_ids
        self.masks = masks
        self.keypoints = keypoints
        self.proposals = proposals
        self._geometry = geometry

    @property
    def xyxy(self) -> npt.NDArray[np.int32]:
        """[N, 4] int32: x1, y1, x2, y2 in original-image pixels."""
        corners = self.boxes.copy()
        corners[:, 2:] += corners[:, :2]
        return corners

    def __len__(self) -> int:
        return len(self.scores)

    @overload
    def __getitem__(self, index: int | np.integer[Any]) -> Detection: ...
    @overload
    def __getitem__(self, index: slice | Sequence[int] | npt.NDArray[Any]) -> Detections: ...
    def __getitem__(self, index: Any) -> Detection | Detections:
        """One detection for an integer; else those that a slice, mask or list of indexes picks.

        Taken are an integer (of Python or NumPy, or a 0-d array of integers), a slice, a list or
        1-D array of integers in any order, and a list or 1-D array of one boolean per detection.
        Raises TypeError for anything else and IndexError for what points beyond the detections.
        """
        picked = _picked(index, len(self))
        if isinstance(picked, int):
            x, y, width, height = self.boxes[picked].tolist()
            return Detection(
                (x, y, width, height),
                float(self.scores[picked]),
                int(self.class_ids[picked]),
                None if self.masks is None else self.masks[picked].copy(),
                None if self.keypoints is None else self.keypoints[picked].copy(),
                None if self.proposals is None else self.proposals[picked].copy(),
            )
        return Detections(
            self.boxes[picked],
            self.scores[picked],
            self.class_ids[picked],
            masks=None if self.masks is None else self.masks[picked],
            keypoints=None if self.keypoints is None else self.keypoints[picked],
            proposals=None if self.proposals is None else self.proposals[picked],
            geometry=self._geometry,
        )

    def __iter__(self) -> Iterator[Detection]:
        for index in range(len(self)):
            yield self[index]

    def __repr__(self) -> str:
        extras = [
            name for name in ("masks", "keypoints", "proposals") if getattr(self, name) is not None
        ]
        return f"<boxdecode.Detections: {', with '.join([str(len(self)), *extras])}>"

    def masks_in_image(
        self,
        indices: int | np.integer[Any] | slice | Iterable[int] | npt.NDArray[Any] | None = None,
    ) -> npt.NDArray[np.uint8]:
        """[N, height, width] uint8: masks in original-image pixels, all by default.

        ``indices`` picks as ``detections[indices]`` does, and may be any iterable of integers or of
        booleans; an integer gives one mask, [height, width].

        Each pixel of a box takes the bilinear mean of the four mask pixels around its centre
        (both frames have pixel centres at one half), from the part of the mask that belongs to the
        box, rounded to the nearest byte; pixels outside the box are 0. Compare with >= 128 for a
        yes or no. The part that belongs to the box is known to half an image pixel, because the
        box is rounded: mask rows and columns in that margin belong to it from the first one on
        that is not all zero.
        """
        if self.masks is None or self._geometry is None:
            raise ValueError("these detections have no masks: the plan's task is not Segmentation")
        if indices is None:
            indices = slice(None)
        elif isinstance(indices, Iterable) and not isinstance(indices, str | bytes):
            indices = indices if hasattr(indices, "__array__") else list(indices)
        picked = _picked(indices, len(self))
        if isinstance(picked, int):
            resized = resize_masks(self.masks, self.boxes, [picked], self._geometry)
            return resized.reshape(resized.shape[1:])
        return resize_masks(self.masks, self.boxes, picked.tolist(), self._geometry)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, for ``json.dumps``: the arrays that are not None, by name.

        A number that is not finite, such as a NaN keypoint, becomes None. Masks become N x H x W
        integers, which is a lot of text; where they are not wanted, set ``masks`` to None before.
        ``[detection.to_dict() for detection in detections]`` has one object per detection.
        """
        content: dict[str, Any] = {
            "boxes": self.boxes.tolist(),
            "scores": _finite(self.scores.tolist()),
            "class_ids": self.class_ids.tolist(),
        }
        for name in ("masks", "keypoints", "proposals"):
            array = getattr(self, name)
            if array is not None:
                entry = array.tolist()
                content[name] = _finite(entry) if array.dtype.kind == "f" else entry
        return content

    def to_supervision(self) -> _supervision.Detections:
        """The same as ``supervision.Detections`` (that package must be installed).

        Masks are resized to the image, and proposals are in ``data["proposals"]``. That class has
        no place for keypoints, so a pose result raises ValueError: see to_supervision_keypoints.
        """
        if self.keypoints is not None:
            raise ValueError(
                "supervision.Detections has no keypoints: use to_supervision_keypoints(), whose "
                "as_detections() gives boxes around the keypoints"
            )
        import supervision

        data = {} if self.proposals is None else {"proposals": self.proposals.copy()}
        return supervision.Detections(
            xyxy=self.xyxy.astype(np.float32),
            confidence=self.scores.copy(),
            class_id=self.class_ids.astype(np.int64),
            mask=None if self.masks is None else self.masks_in_image() >= 128,
            data=data,
        )

    def to_supervision_keypoints(self) -> _supervision.KeyPoints:
        """A pose result as ``supervision.KeyPoints`` (that package must be installed).

        ``xy`` [N, num_keypoints, 2] in original-image pixels, visibility as
        ``keypoint_confidence``, scores as ``detection_confidence``, and the boxes, x1, y1, x2, y2,
        in ``data["xyxy"]``. Needs supervision 0.29 or newer. Raises ValueError where the plan's
        task is not Pose.
        """
        if self.keypoints is None:
            raise ValueError("these detections have no keypoints: the plan's task is not Pose")
        import supervision

        return supervision.KeyPoints(
            xy=self.keypoints[:, :, :2].copy(),
            class_id=self.class_ids.astype(np.int64),
            keypoint_confidence=self.keypoints[:, :, 2].copy(),
            detection_confidence=self.scores.copy(),
            data={"xyxy": self.xyxy.astype(np.float32)},
        )


_TAKEN = (
    "taken are an integer, a slice, and a list or 1-D array of integers or of one boolean for each"
    " detection"
)


def _picked(index: Any, count: int) -> int | npt.NDArray[np.intp]:
    """The row, or the rows, of ``count`` that an index of Detections means."""
    if isinstance(index, slice):
        return np.arange(count)[index]
    if isinstance(index, list):
        kinds = {isinstance(entry, bool | np.bool_) for entry in index}
        if len(kinds) > 1:
            raise TypeError(f"the index mixes integers and booleans: {_TAKEN}")
        if kinds == {True}:
            index = np.array(index, np.bool_)
        else:
            return _in_range([_integer(entry, "a list with ") for entry in index], count)
    elif isinstance(index, Sequence) and not isinstance(index, str | bytes | tuple):
        return _picked(list(index), count)
    elif hasattr(index, "__array__") and not isinstance(index, np.generic):
        if isinstance(index, np.ma.MaskedArray):
            raise TypeError(f"the index is a numpy.ma.MaskedArray, whose mask is no rule: {_TAKEN}")
        index = np.asarray(index)
    if not isinstance(index, np.ndarray) or index.ndim == 0:
        row = _integer(index, "")
        return int(_in_range([row], count)[0])
    if index.ndim != 1 or index.dtype.kind not in "biu":
        kind = f"an array of {index.dtype} with {index.ndim} dimensions"
        raise TypeError(f"the index is {kind}: {_TAKEN}")
    if index.dtype.kind != "b":
        return _in_range(index, count)
    if len(index) != count:
        raise IndexError(f"the mask has {len(index)} booleans for {count} detections")
    return np.flatnonzero(index)


def _integer(value: Any, where: str) -> int:
    try:
        if not isinstance(value, bool | np.bool_):
            return operator.index(value)
    except TypeError:
        pass
    raise TypeError(f"the index is {where}{type(value).__name__}: {_TAKEN}")


def _in_range(rows: list[int] | npt.NDArray[Any], count: int) -> npt.NDArray[np.intp]:
    """Rows counted from 0, those below 0 from the end."""
    for row in (int(min(rows)), int(max(rows))) if len(rows) else ():
        if not -count <= row < count:
            raise IndexError(f"index {row} is out of range: there are {count} detections")
    picked = np.array(rows, np.intp)
    return np.where(picked < 0, picked + count, picked)


class _ThreadState(threading.local):
    """What a thread keeps between calls. Scratch is made with a thread's first frame."""

    context: Context | None = None
    outputs: list[npt.NDArray[Any]] | None = None


def _frame_geometry(plan: Plan, geometry: ImageGeometry) -> FrameGeometry:
    return FrameGeometry(plan.params.model_input_size, geometry.image_size, geometry.mapping)


class Decoder:
    """Decodes frames with one plan, from any number of threads: each has a context of its own.

    >>> decoder = Decoder(plan)
    >>> for box, score, class_id, *_ in decoder(heads):
    ...     print(class_id, score, box)
    """

    def __init__(self, plan: Plan) -> None:
        if not isinstance(plan, Plan):
            raise TypeError(f"plan must be a boxdecode.Plan, not {type(plan).__name__}")
        self._plan = plan
        self._threads = _ThreadState()
        params = plan.params
        by_task = {Task.Pose: "keypoints", Task.Segmentation: "masks"}
        has_extra = len(plan.output_specs) > 4
        self._extra = by_task.get(params.task, "proposals") if has_extra else None
        self._frame_geometry: FrameGeometry | None = None
        if params.task is Task.Segmentation:
            own_affine = params.resize if isinstance(params.resize, Affine) else None
            self._frame_geometry = _frame_geometry(
                plan, plan.with_image_size(params.original_image_size, own_affine)
            )

    @property
    def plan(self) -> Plan:
        """The plan that this decoder runs."""
        return self._plan

    def __call__(
        self,
        heads: Any,
        image_size: Sequence[SupportsIndex] | npt.NDArray[Any] | None = None,
        *,
        affine: Affine | Sequence[SupportsFloat] | npt.NDArray[Any] | None = None,
    ) -> Detections:
        """Decodes one frame.

        ``heads``: the raw output arrays in port order; where the plan has one input, the array
        alone does as well. ``image_size``: width and height of this frame's image where they
        differ from the plan's original_image_size. ``affine``: the frame's own mapping, required
        with image_size exactly when the plan's resize policy is Affine. Both are read in this call
        and not kept.
        """
        state = self._threads
        context = state.context
        if context is None:
            context = state.context = self._plan.create_context()
        geometry = None
        frame_geometry = self._frame_geometry
        if image_size is not None or affine is not None:
            if image_size is None:
                image_size = self._plan.params.original_image_size
            geometry = self._plan.with_image_size(image_size, affine)
            if frame_geometry is not None:
                frame_geometry = _frame_geometry(self._plan, geometry)
        # Whole outputs are large where there are masks, so they are reused and their valid rows
        # copied. A signal handler may call this decoder before that is done: it finds none to use.
        outputs, state.outputs = state.outputs, None
        if outputs is None:
            outputs = self._plan.allocate_outputs()
        self._plan._execute_rows(context, geometry, heads, outputs)
        count = int(outputs[3][0])
        detections = Detections(
            outputs[0][:count].copy(),
            outputs[1][:count].copy(),
            outputs[2][:count].copy(),
            geometry=frame_geometry,
        )
        if self._extra is not None:
            setattr(detections, self._extra, outputs[4][:count].copy())
        state.outputs = outputs
        return detections

    def __repr__(self) -> str:
        return f"<boxdecode.Decoder of {self._plan!r}>"
