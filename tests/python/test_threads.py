"""Threads: contexts are locked, one plan serves many contexts.

That the GIL is released during a call is shown by test_context_busy.py.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from boxdecode import (
    ContextBusy,
    Decoder,
    DType,
    ErrorCode,
    Plan,
    Profile,
    ScoreActivation,
    TensorSpec,
)


@pytest.fixture(scope="module")
def slow() -> tuple[Callable[[], Plan], list[Any]]:
    """A request whose frame takes a while: every one of 10,000 cells is kept."""
    side = 100

    def make() -> Plan:
        return Plan(
            [
                TensorSpec((side, side, 4), DType.Float32),
                TensorSpec((side, side, 1), DType.Float32),
            ],
            profile=Profile.Yolo26V1,
            heads=[(0, 1)],
            model_input_size=(8 * side, 8 * side),
            original_image_size=(8 * side, 8 * side),
            num_classes=1,
            max_detections=10000,
            detection_threshold=0.0,
            nms_iou_threshold=0.5,
            score_activation=ScoreActivation.Sigmoid,
        )

    chance = np.random.default_rng(5)
    boxes = np.full((side, side, 4), 0.4, np.float32)
    scores = chance.standard_normal((side, side, 1), np.float32)
    return make, [boxes, scores]


def test_a_context_serves_one_call_at_a_time(slow: Any) -> None:
    """Each of two calls at once is refused or right. test_context_busy.py makes one meet another.

    How often they meet here is up to the machine: never, on a single core that is not interrupted.
    """
    make, heads = slow
    plan = make()
    context = plan.create_context()
    alone = plan.allocate_outputs()
    plan.execute(context, heads, alone)
    expected = [output.tobytes() for output in alone]
    outcomes: list[str] = []

    def work() -> None:
        outputs = plan.allocate_outputs()
        for _ in range(20):
            outputs[3][0] = -7
            try:
                plan.execute(context, heads, outputs)
            except ContextBusy as error:
                place = (error.code, error.field, int(outputs[3][0]))
                right = place == (ErrorCode.ContextBusy, "context", -7)
                outcomes.append("refused" if right else f"refused wrongly: {place}")
            else:
                right = [output.tobytes() for output in outputs] == expected
                outcomes.append("right" if right else "wrong")

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(outcomes) == 40
    assert set(outcomes) <= {"right", "refused"}
    assert "right" in outcomes  # whoever comes first is served
    work()  # and nobody holds the context any longer
    assert outcomes[40:] == ["right"] * 20


def test_contexts_of_one_plan_work_side_by_side(slow: Any) -> None:
    make, heads = slow
    plan = make()
    expected = plan.allocate_outputs()
    plan.execute(plan.create_context(), heads, expected)
    results: list[list[Any]] = []

    def work() -> None:
        context, outputs = plan.create_context(), plan.allocate_outputs()
        for _ in range(5):
            plan.execute(context, heads, outputs)
        results.append(outputs)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 3
    for outputs in results:
        for output, wanted in zip(outputs, expected, strict=True):
            assert output.tobytes() == wanted.tobytes()


def test_one_decoder_serves_many_threads(plan: Plan, frame: Any) -> None:
    decoder = Decoder(plan)
    failures: list[str] = []

    def work(index: int) -> None:
        class_id, size = index % 3, (64 * (index + 1), 32 * (index + 1))
        heads = frame((1, 1, class_id, 1, 0.5))
        for _ in range(300):
            detections = decoder(heads, image_size=size)
            box = [4 * (index + 1)] * 2 + [16 * (index + 1)] * 2
            if detections.boxes.tolist() != [box] or detections.class_ids.tolist() != [class_id]:
                failures.append(f"{index}: {detections.boxes} {detections.class_ids}")

    threads = [threading.Thread(target=work, args=(index,)) for index in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_inputs_stay_alive_while_a_call_reads_them(slow: Any) -> None:
    """Another thread empties the caller's list in the middle of a call."""
    make, heads = slow
    plan = make()
    context, outputs = plan.create_context(), plan.allocate_outputs()
    expected = plan.allocate_outputs()
    plan.execute(context, heads, expected)
    for _ in range(10):
        own = [head.copy() for head in heads]
        own_outputs = list(outputs)
        started = threading.Event()

        def drop(own: list[Any] = own, started: threading.Event = started) -> None:
            started.wait()
            own.clear()
            garbage = [np.full(10000 * 4, np.nan, np.float32) for _ in range(4)]
            del garbage

        thread = threading.Thread(target=drop)
        thread.start()
        started.set()
        while True:
            try:
                plan.execute(context, own, own_outputs)
            except ValueError:  # the list was emptied before the call looked at it
                break
            assert outputs[0].tobytes() == expected[0].tobytes()
            if not own:
                break
        thread.join()
