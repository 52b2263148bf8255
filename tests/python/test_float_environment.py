"""A process in which a -ffast-math library has set flush-to-zero is refused by name."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

COMPILER = (
    os.environ.get("CC") or shutil.which("gcc") or shutil.which("cc") or shutil.which("clang")
)

FAST_MATH_LIBRARY = "float answer(float x) { return x * 0.5f; }\n"

# What crtfastmath.o does, which -ffast-math links into a shared library: recent GCCs leave it out.
CONSTRUCTOR = r"""
__attribute__((constructor)) static void as_fast_math_does(void) {
#if defined(__x86_64__)
  __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040);
#elif defined(__aarch64__)
  unsigned long control;
  __asm__ volatile("mrs %0, fpcr" : "=r"(control));
  __asm__ volatile("msr fpcr, %0" : : "r"(control | (1UL << 24)));
#endif
}
"""

PROGRAM = r"""
import ctypes
import sys
import threading

import numpy as np
import boxdecode
from boxdecode import *


def make():
    return Plan(
        [TensorSpec((4, 8, 4), DType.Float32), TensorSpec((4, 8, 3), DType.Float32)],
        profile=Profile.Yolo26V1, heads=[(0, 1)], model_input_size=(64, 32),
        original_image_size=(64, 32), num_classes=3, max_detections=5, detection_threshold=0.25,
        nms_iou_threshold=0.5, score_activation=ScoreActivation.Identity,
    )


def check(call):
    try:
        call()
    except Error as error:
        assert type(error) is FloatEnvironment, type(error)
        assert error.code is ErrorCode.FloatEnvironment, error.code
        assert error.field == "", error.field
        assert "-ffast-math" in str(error), str(error)
        assert "flush-to-zero" in str(error), str(error)
    else:
        raise AssertionError("not refused")


plan = make()
context, outputs = plan.create_context(), plan.allocate_outputs()
heads = [np.ones((4, 8, 4), np.float32), np.zeros((4, 8, 3), np.float32)]
plan.execute(context, heads, outputs)
for output in outputs:
    output.reshape(-1).view(np.uint8)[:] = 0xA5
ctypes.CDLL(sys.argv[1])
check(lambda: plan.execute(context, heads, outputs))
check(lambda: plan.with_image_size((10, 10)))
check(make)
assert all((output.reshape(-1).view(np.uint8) == 0xA5).all() for output in outputs)
# Threads that start afterwards inherit the state.
inherited = []
def in_thread():
    try:
        plan.execute(context, heads, outputs)
    except FloatEnvironment:
        inherited.append(True)
thread = threading.Thread(target=in_thread)
thread.start()
thread.join()
assert inherited == [True]
print("refused as it should be")
"""


@pytest.mark.native
@pytest.mark.skipif(COMPILER is None, reason="no C compiler")
@pytest.mark.skipif(
    platform.machine() not in ("x86_64", "AMD64", "aarch64"), reason="no flush-to-zero known here"
)
def test_a_fast_math_library_is_named_as_the_cause(tmp_path: Path) -> None:
    assert COMPILER is not None
    source, library = tmp_path / "fast.c", tmp_path / "libfast.so"
    source.write_text(FAST_MATH_LIBRARY + CONSTRUCTOR)
    subprocess.run(
        [COMPILER, "-O2", "-ffast-math", "-shared", "-fPIC", str(source), "-o", str(library)],
        check=True,
    )
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(library)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "refused as it should be\n"
