"""The exception classes: contents, kinds, copies; and the order in which a call is checked."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from boxdecode import ContextBusy, Error, ErrorCode, FloatEnvironment, Plan


def test_an_error_has_code_field_and_message() -> None:
    error = Error(ErrorCode.InvalidTensor, "inputs[1].shape", "inputs[1] has 84 channels")
    assert isinstance(error, ValueError)
    assert error.code is ErrorCode.InvalidTensor
    assert error.field == "inputs[1].shape"
    assert error.message == str(error) == "inputs[1] has 84 channels"


@pytest.mark.parametrize("kind", [Error, ContextBusy, FloatEnvironment])
def test_errors_survive_copies_and_processes(kind: type[Error]) -> None:
    error = kind(ErrorCode.ContextBusy, "context", "busy")
    for twin in (copy.copy(error), copy.deepcopy(error), pickle.loads(pickle.dumps(error))):
        assert type(twin) is kind
        assert (twin.code, twin.field, str(twin)) == (ErrorCode.ContextBusy, "context", "busy")


def test_situations_to_handle_apart_have_their_own_class() -> None:
    assert issubclass(ContextBusy, Error)
    assert issubclass(FloatEnvironment, Error)


def test_a_context_of_another_plan_is_refused(
    arguments: Any, frame: Any, refused: Any, garbage_outputs: Any
) -> None:
    plan, twin = Plan(**arguments()), Plan(**arguments())
    outputs = garbage_outputs(plan)
    for call in (plan.execute, plan.with_image_size((10, 10)).execute):
        refused(
            lambda call=call: call(twin.create_context(), frame(), outputs),
            ErrorCode.ContextMismatch,
            "context",
            "plan",
        )
    assert all((output.reshape(-1).view(np.uint8) == 0xA5).all() for output in outputs)


def test_outputs_must_not_overlap(
    plan: Plan, frame: Any, refused: Any, garbage_outputs: Any
) -> None:
    outputs = garbage_outputs(plan)
    context = plan.create_context()
    memory = np.full(200, 0xA5, np.uint8)
    shared = [outputs[0], memory[:20], memory[16:36], outputs[3]]
    refused(
        lambda: plan.execute(context, frame(), shared),
        ErrorCode.BufferOverlap,
        "outputs[2]",
        "outputs[1]",
    )
    heads = frame((0, 0, 0, 1, 0.5))
    inside = [*outputs[:3], heads[2].reshape(-1)[-1:].view(np.int32)]
    before = heads[2].copy()
    refused(
        lambda: plan.execute(context, heads, inside),
        ErrorCode.BufferOverlap,
        "outputs[3]",
        "inputs[2]",
    )
    np.testing.assert_array_equal(heads[2], before)
    assert (memory == 0xA5).all()
    assert all((output.reshape(-1).view(np.uint8) == 0xA5).all() for output in outputs)


def test_neighbours_do_not_overlap(plan: Plan, frame: Any) -> None:
    memory = np.zeros(80 + 20 + 20 + 4, np.uint8)
    outputs = [memory[:80], memory[80:100], memory[100:120], memory[120:124]]
    plan.execute(plan.create_context(), frame((0, 0, 2, 1, 0.5)), outputs)
    assert outputs[3].view(np.int32).tolist() == [1]


def test_inputs_may_be_the_same_memory(arguments: Any) -> None:
    """Both levels read one array: allowed, because nothing is written to it."""
    from boxdecode import DType, TensorSpec

    plan = Plan(**arguments(inputs=[TensorSpec((4, 8, c), DType.Float32) for c in (4, 3, 4, 3)]))
    boxes, scores = np.ones((4, 8, 4), np.float32), np.zeros((4, 8, 3), np.float32)
    scores[0, 0, 0] = 0.5
    outputs = plan.allocate_outputs()
    plan.execute(plan.create_context(), [boxes, scores, boxes, scores], outputs)
    assert outputs[3].tolist() == [1]


def test_the_context_is_checked_before_sizes(arguments: Any, frame: Any, refused: Any) -> None:
    plan, twin = Plan(**arguments()), Plan(**arguments())
    heads = [head.reshape(-1)[:-1] for head in frame()]
    refused(
        lambda: plan.execute(twin.create_context(), heads, plan.allocate_outputs()),
        ErrorCode.ContextMismatch,
        "context",
    )
    refused(
        lambda: plan.execute(plan.create_context(), heads, plan.allocate_outputs()),
        ErrorCode.InvalidBuffer,
        "inputs[0]",
    )
