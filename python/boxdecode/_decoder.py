"""The everyday form: one object to call for each frame, one object that holds what it found."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, SupportsFloat, SupportsIndex, overload

import numpy as np
import numpy.typing as npt

from boxdecode._core import Context, ImageGeometry, Plan, Profile, Task
from boxdecode._masks import FrameGeometry, resize_masks
from boxdecode._types import Affine

if TYPE_CHECKING:
    import supervision as _supervision


class Detection(NamedTuple):
    """One detection. ``box`` is x, y, width, height in original-image pixels."""

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


class Detections:
    """What one frame holds, best score first. The arrays belong to this object and can be kept.

    - ``boxes`` [N, 4] int32: x, y, width, height in original-image pixels
    - ``scores`` [N] float32, ``class_ids`` [N] int32
    - ``masks`` [N, H, W] uint8 in the prototype's frame; task Segmentation, else None
    - ``keypoints`` [N, num_keypoints, 3] float32: x, y in original-image pixels, visibility;
      task Pose, else None
    - ``proposals`` [N, 4] float32: x1, y1, x2, y2 in model pixels; RcnnStage1V1, else None
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
        """One detection for an integer; else those that a slice, mask or index array picks."""
        if isinstance(index, (int, np.integer)) and not isinstance(index, bool):
            x, y, width, height = self.boxes[index].tolist()
            return Detection(
                (x, y, width, height),
                float(self.scores[index]),
                int(self.class_ids[index]),
                None if self.masks is None else self.masks[index],
                None if self.keypoints is None else self.keypoints[index],
                None if self.proposals is None else self.proposals[index],
            )
        return Detections(
            self.boxes[index],
            self.scores[index],
            self.class_ids[index],
            masks=None if self.masks is None else self.masks[index],
            keypoints=None if self.keypoints is None else self.keypoints[index],
            proposals=None if self.proposals is None else self.proposals[index],
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
        self, indices: int | np.integer[Any] | slice | Iterable[int] | None = None
    ) -> npt.NDArray[np.uint8]:
        """[N, height, width] uint8: masks in original-image pixels, all by default.

        ``indices`` picks as ``detections[indices]`` does: a slice, a boolean mask or indexes; an
        integer gives one mask, [height, width].

        Each pixel of a box takes the bilinear mean of the four mask pixels around its centre
        (both frames have pixel centres at one half), from the part of the mask that belongs to the
        box, rounded to the nearest byte; pixels outside the box are 0. Compare with >= 128 for a
        yes or no. The part that belongs to the box is known to half an image pixel, because the
        box is rounded: mask rows and columns in that margin belong to it from the first one on
        that is not all zero.
        """
        if self.masks is None or self._geometry is None:
            raise ValueError("these detections have no masks: the plan's task is not Segmentation")
        one = isinstance(indices, (int, np.integer)) and not isinstance(indices, bool)
        if indices is None:
            indices = slice(None)
        elif one:
            indices = [int(indices)]  # type: ignore[arg-type]
        elif not isinstance(indices, (slice, np.ndarray)):
            indices = list(indices)  # type: ignore[arg-type]
        picked = np.arange(len(self))[indices].tolist()
        resized = resize_masks(self.masks, self.boxes, picked, self._geometry)
        return resized[0] if one else resized

    def to_supervision(self) -> _supervision.Detections:
        """The same as ``supervision.Detections`` (that package must be installed)."""
        import supervision

        return supervision.Detections(
            xyxy=self.xyxy.astype(np.float32),
            confidence=self.scores.copy(),
            class_id=self.class_ids.astype(np.int64),
            mask=None if self.masks is None else self.masks_in_image() >= 128,
        )


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
        self._extra = (
            "proposals"
            if params.profile is Profile.RcnnStage1V1
            else {Task.Pose: "keypoints", Task.Segmentation: "masks"}.get(params.task)
        )
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
