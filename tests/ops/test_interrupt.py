"""A signal during one long call: its handler runs inside the call, and what it raises comes out.

No test looks at a clock. A signal is raised from C, with no step of Python before the call under
test, and both are items of one ``map`` that C code reads: what the list holds afterwards says
whether the call ended early (it is missing) or was finished before the handler could run.
"""

from __future__ import annotations

import ctypes
import functools
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from boxdecode import Error, _core, ops

pytestmark = pytest.mark.skipif(
    threading.current_thread() is not threading.main_thread(), reason="signals need the main thread"
)

COUNT = 4000
BOXES = np.tile(np.array([0, 0, 10, 10], np.float32), (COUNT, 1))
BOXES[:, 2] += np.arange(COUNT, dtype=np.float32) / COUNT  # all of them overlap
SCORES = np.linspace(1, 0.5, COUNT, dtype=np.float32)
APART = np.arange(4 * 20000, dtype=np.float32).reshape(-1, 4) // 4 * 2 + np.array(
    [0, 0, 1, 1], np.float32
)
APART_SCORES = np.linspace(1, 0, len(APART), dtype=np.float32)
# Of one area beyond the regular ones: on the grid they are held against everything.
HUGE = APART * np.float32(2**90)
LONG: dict[str, Callable[[], Any]] = {
    # Sixteen million decays.
    "soft_nms": functools.partial(
        _core._nms, BOXES, SCORES, None, 0.3, None, None, "raise", "gaussian", 1e4
    ),
    "soft_nms with classes": functools.partial(
        _core._nms, BOXES, SCORES, np.arange(COUNT) % 2, 0.3, None, None, "raise", "adaptive", 1e4
    ),
    # Two hundred million pairs, none of which overlap.
    "nms": functools.partial(
        _core._nms, APART, APART_SCORES, None, 0.0, None, None, "raise", None, None
    ),
    "nms on the grid": functools.partial(
        _core._nms, HUGE, APART_SCORES, None, 0.5, None, None, "raise", None, None
    ),
    "batched_nms": functools.partial(
        _core._nms,
        APART,
        APART_SCORES,
        np.zeros(len(APART), int),
        0.0,
        None,
        None,
        "raise",
        None,
        None,
    ),
    # Two bands of rows.
    "box_iou": functools.partial(_core._box_ious, APART[:5000], APART[:5000]),
    "box_iou in FP64": functools.partial(
        _core._box_ious, APART[:5000].astype(np.float64), APART[:5000].astype(np.float64)
    ),
}


# The first call imports what it needs of NumPy, in Python, where a signal is noticed too.
ops.soft_nms(BOXES[:1], SCORES[:1])
ops.box_iou(BOXES[:1], BOXES[:1])


@pytest.fixture
def send() -> Iterator[Callable[[Callable[[], None]], Callable[[], int]]]:
    """Makes a C function that raises SIGINT in this thread, for which the action is then called."""
    before = signal.getsignal(signal.SIGINT)

    def make(action: Callable[[], None]) -> Callable[[], int]:
        signal.signal(signal.SIGINT, lambda *_: action())
        return functools.partial(ctypes.CDLL(None)["raise"], int(signal.SIGINT))

    yield make
    signal.signal(signal.SIGINT, before)


def interrupt() -> None:
    raise KeyboardInterrupt


def results_of(*calls: Callable[[], Any]) -> tuple[list[Any], bool]:
    """What the calls return, without a step of Python between them; and whether one interrupted."""
    results: list[Any] = []
    try:
        results.extend(map(functools.partial.__call__, calls))
    except KeyboardInterrupt:
        return results, True
    return results, False


@pytest.mark.parametrize("name", LONG)
def test_a_long_call_ends_with_the_interrupt(name: str, send: Any) -> None:
    call = LONG[name]
    arguments = [value for value in call.args if isinstance(value, np.ndarray)]
    references = [sys.getrefcount(value) for value in arguments]
    results, interrupted = results_of(send(interrupt), call)
    assert interrupted
    assert results == [0]
    assert [sys.getrefcount(value) for value in arguments] == references
    # The next call starts afresh.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    again = call()
    assert np.array_equal(np.asarray(again[0] if isinstance(again, tuple) else again), _whole(name))


@functools.cache
def _whole(name: str) -> Any:
    if name.startswith("soft"):
        return LONG[name]()[0]
    if name.startswith("box_iou"):
        return np.eye(5000)
    return np.arange(len(APART))


def test_a_short_call_is_finished_first(send: Any) -> None:
    """No question in a short run: then the interrupt comes after it, which nobody can tell."""
    call = functools.partial(
        _core._nms, BOXES[:9], SCORES[:9], None, 0.5, None, None, "raise", None, None
    )
    results, interrupted = results_of(send(interrupt), call)
    assert interrupted
    assert results[0] == 0
    assert results[1].tolist() == [0]


def test_a_handler_that_returns_changes_nothing(send: Any) -> None:
    """It calls the same function in the middle of a call; neither sees the other's memory."""
    seen: list[Any] = []
    expected = LONG["soft_nms"]()

    def action() -> None:
        seen.append(ops.nms(BOXES, SCORES, 0.5).tolist())
        seen.append(ops.soft_nms(BOXES[:100], SCORES[:100], score_threshold=None)[0].tolist())

    results, interrupted = results_of(send(action), LONG["soft_nms"])
    assert not interrupted
    assert seen == [[0], ops.soft_nms(BOXES[:100], SCORES[:100], score_threshold=None)[0].tolist()]
    for result, wanted in zip(results[1], expected, strict=True):
        assert result.tobytes() == wanted.tobytes()


def test_a_handler_that_resizes_the_boxes_is_noticed(send: Any) -> None:
    boxes = BOXES.copy()
    call = functools.partial(
        _core._nms, boxes, SCORES, None, 0.3, None, None, "raise", "gaussian", 1e4
    )
    act = send(lambda: boxes.resize((1, 4), refcheck=False))
    with pytest.raises(Error, match="changed during the call"):
        results_of(act, call)
    many = APART[:5000].copy()
    act = send(lambda: many.resize((1, 4), refcheck=False))
    with pytest.raises(Error, match="a changed during the call"):
        results_of(act, functools.partial(_core._box_ious, many, APART[:5000]))


def test_the_interrupt_passes_the_public_functions(send: Any) -> None:
    """A number that raises the signal as it is read: its C code returns 0, the threshold."""

    class Threshold:
        __index__ = staticmethod(send(interrupt))

    number: Any = Threshold()
    finished: list[Any] = []
    with pytest.raises(KeyboardInterrupt):
        finished.append(ops.soft_nms(BOXES, SCORES, sigma=1e4, score_threshold=number))
    assert finished == []


def test_another_thread_is_not_disturbed() -> None:
    """Handlers run in the main thread only; a call elsewhere asks, and goes on."""
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(LONG["soft_nms"]()))
    thread.start()
    thread.join()
    assert results[0][0].tolist() == LONG["soft_nms"]()[0].tolist()
