"""What the reference and the frames know of one profile: its dossier's form, and the common rules.

A dossier in `families/` overrides what its family does otherwise. Nobody else asks for a profile's
name: a question that a family must answer is an attribute or a method here.
"""

from __future__ import annotations

import numpy as np

from .boxes import Sites
from .drawing import DETECTION, Draft, Draw
from .numeric import ZERO, Array, Float32, activate
from .priors import Table
from .request import Head, RefusalError, Request
from .scores import Candidates, Port, ScoreView, emit, first_best, pick


class Family:
    """One profile."""

    name: str
    tasks: tuple[str, ...] = (DETECTION,)
    #: Parameters of a request that this family takes and not every family does.
    takes: frozenset[str] = frozenset({"score_activation", "resize", "model_input_size"})
    #: The activation where it is no parameter.
    activation = "Sigmoid"
    #: The resize policy where the request names none.
    resize = "CenteredLetterbox"
    suppresses = True
    #: A request with an IoU threshold of 0 keeps every box.
    threshold_zero_keeps_all = False
    #: A head may name a port of objectness.
    names_objectness = False
    #: The model's sides must be multiples of the grid's.
    grid_divides_model = False
    #: The fifth output is the accepted boxes in model space.
    publishes_proposals = False
    #: Dense BF16 scores are compared by their bits, see `first_best`.
    raw_keys = False
    #: Grids, anchors and model size are one published signature.
    fixed_signature = False
    #: The class count may be less than the encoded one.
    may_read_fewer_classes = False
    #: MlaCBlocked with any channel tile: in every type, and in BF16.
    takes_any_tile = False
    takes_any_bf16_tile = True
    #: A frame costs so much that fewer layouts and kernels have to do.
    frames_are_large = False

    # ---- parameters ----

    def score_activation(self, request: Request) -> str:
        if "score_activation" not in self.takes:
            return self.activation
        if request.score_activation is None:
            raise RefusalError("InvalidParameter", "params.score_activation")
        return request.score_activation

    def own_anchors(self, request: Request) -> Table | None:
        """The family's table for this number of heads."""
        return None

    def anchor_table(self, request: Request) -> Table:
        """The anchors of the request, or the family's own."""
        table = request.anchors or self.own_anchors(request)
        if table is None:
            raise RefusalError("InvalidParameter", "params.anchors")
        return table

    def anchor_count(self, request: Request, head_index: int) -> int:
        """Anchors per cell of one head."""
        return 1

    def whole_blocks(self, request: Request, role: str) -> bool:
        """Whether the physical channels of a padded port must be a multiple of 16."""
        return role == "combined"

    # ---- scores ----

    def objectness_port(self, head: Head) -> int | None:
        """Where the objectness of a head is."""
        return head.objectness

    def scores_by_objectness(self, request: Request) -> bool:
        """Whether one class scores by objectness alone."""
        return request.one_class_uses_objectness and request.num_classes == 1

    def score_view(self, request: Request, ports: list[Port], head_index: int) -> ScoreView:
        """Slices classes and objectness out of the head's tensors."""
        head = request.heads[head_index]
        port = ports[head.scores]
        shape = (len(port.raw), self.anchor_count(request, head_index), -1)
        raw, values = port.raw.reshape(shape), port.values.reshape(shape)
        if head.objectness is None:
            return ScoreView(raw, values, None, port, None)
        beside = ports[head.objectness]
        if self.scores_by_objectness(request):
            return ScoreView(beside.raw[:, None, :], beside.values[:, None, :], None, beside, None)
        return ScoreView(raw, values, beside.values[:, :1], port, beside)

    def scores(self, request: Request, ports: list[Port], head_index: int) -> Candidates:
        """One best class per cell and anchor, with or without objectness."""
        activation = self.score_activation(request)
        view = self.score_view(request, ports, head_index)
        class_id = first_best(view.raw, view.values, view.port)
        class_score = activate(pick(view.values, class_id), activation)
        passes = np.ones(class_score.shape, dtype=np.bool_)
        score = class_score
        if view.objectness is not None:
            objectness = activate(view.objectness, activation)
            with np.errstate(all="ignore"):
                passes = (objectness > ZERO) & ~(class_score < ZERO)
                score = objectness * class_score
        elif self.scores_by_objectness(request):
            # One class: the score is the objectness itself, which still has to be positive.
            passes = class_score > ZERO
        return emit(request, head_index, class_id, score, passes)

    # ---- boxes and task outputs ----

    def corners(self, sites: Sites) -> Float32:
        """Model-space corners x1, y1, x2, y2 of candidates of one head."""
        raise NotImplementedError

    def extra(self, sites: Sites, channels: int) -> tuple[Array, Float32, Port]:
        """Raw elements, values and port of the extra channels of the one site."""
        assert sites.head.extra is not None
        port = sites.ports[sites.head.extra]
        cell, anchor = int(sites.cell[0]), int(sites.anchor[0])
        chosen = slice(anchor * channels, (anchor + 1) * channels)
        return port.raw[cell, chosen], port.values[cell, chosen], port

    def keypoints(self, sites: Sites, x: Float32, y: Float32) -> tuple[Float32, Float32]:
        """Model-space keypoints of the one site."""
        raise NotImplementedError

    def visibility(self, values: Float32) -> Float32:
        raise NotImplementedError

    # ---- frames ----

    def draw(self, draw: Draw, task: str, activation: str) -> Draft:
        """Tensors that make sense, with heads and parameters."""
        raise NotImplementedError
