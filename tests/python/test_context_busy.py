"""A context in use is refused before the arrays of the second call matter.

Python of the main thread runs while another one is inside a call: the call does not hold the GIL.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

# The first call is stopped in its scan, so with the context locked: its scores stand on a page that
# may not be read. Python's handler of the fault returns, so the read is tried until the page may be
# read, and writes a byte to the wakeup pipe: from then on the call is known to be inside. With the
# GIL held in there the main thread would wait for ever.
PROGRAM = r"""
import ctypes
import mmap
import os
import signal
import threading

import numpy as np
from boxdecode import *

PROT_NONE = 0
libc = ctypes.CDLL(None, use_errno=True)

plan = Plan(
    [TensorSpec((4, 8, 4), DType.Float32), TensorSpec((4, 8, 3), DType.Float32)],
    profile=Profile.Yolo26V1, heads=[(0, 1)], model_input_size=(64, 32),
    original_image_size=(64, 32), num_classes=3, max_detections=5, detection_threshold=0.25,
    nms_iou_threshold=0.5, score_activation=ScoreActivation.Identity,
)
context, outputs = plan.create_context(), plan.allocate_outputs()
page = mmap.mmap(-1, mmap.PAGESIZE)
boxes = np.ones((4, 8, 4), np.float32)
scores = np.frombuffer(page, np.float32, 4 * 8 * 3).reshape(4, 8, 3)
scores[1, 2, 0] = 0.5


def protect(protection):
    address = ctypes.c_void_p(scores.ctypes.data)
    assert libc.mprotect(address, ctypes.c_size_t(mmap.PAGESIZE), protection) == 0


def refused(call):
    try:
        call()
    except Error as error:
        return type(error), error.code, error.field
    return None


faulted, waker = os.pipe()
os.set_blocking(waker, False)
signal.signal(signal.SIGSEGV, lambda number, place: None)
signal.set_wakeup_fd(waker, warn_on_full_buffer=False)

right = [boxes, np.zeros((4, 8, 3), np.float32)]
own = plan.allocate_outputs()
for output in own:
    output.reshape(-1).view(np.uint8)[:] = 0xA5
read_only = own[0].copy()
read_only.flags.writeable = False
calls = {
    "right arrays": (right, own),
    "no inputs": ([], own),
    "no list": (None, own),
    "no arrays": ([None, None], own),
    "wrong type": ([boxes, right[1].astype(np.float64)], own),
    "wrong shape": ([boxes, right[1].transpose(2, 0, 1)], own),
    "too short": ([boxes, right[1].reshape(-1)[:-1]], own),
    "no outputs": (right, []),
    "read-only output": (right, [read_only, *own[1:]]),
    "outputs that overlap": (right, [own[0], own[1], own[1].view(np.int32), own[3]]),
}
executes = [plan.execute, plan.with_image_size((640, 320)).execute]
busy = (ContextBusy, ErrorCode.ContextBusy, "context")
idle = refused(lambda: plan.execute(context, [], own))
assert idle == (Error, ErrorCode.InvalidBuffer, "inputs"), idle

protect(PROT_NONE)
failures = []
first = threading.Thread(target=lambda: failures.append(
    refused(lambda: plan.execute(context, [boxes, scores], outputs))))
first.start()
try:
    os.read(faulted, 1)
    seen = {
        (name, index): refused(lambda: execute(context, inputs, own_outputs))
        for name, (inputs, own_outputs) in calls.items()
        for index, execute in enumerate(executes)
    }
    inside = first.is_alive() and not failures
finally:
    protect(mmap.PROT_READ | mmap.PROT_WRITE)
    first.join()
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGSEGV, signal.SIG_DFL)

assert inside, "the first call ended before it could"
assert seen == dict.fromkeys(seen, busy), {k: v for k, v in seen.items() if v != busy}
assert len(seen) == 2 * len(calls)
assert all((output.reshape(-1).view(np.uint8) == 0xA5).all() for output in own)
# The call that was inside noticed nothing, and the context is free again.
assert failures == [None], failures
assert outputs[3].tolist() == [1] and outputs[1][0] == 0.5
assert refused(lambda: plan.execute(context, right, own)) is None
assert own[3].tolist() == [0]
print("busy as it should be")
"""


@pytest.mark.native
def test_a_busy_context_comes_before_wrong_arrays() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "busy as it should be\n"
