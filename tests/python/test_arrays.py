"""What a port takes from Python: dtypes, shapes, memory; and what it refuses without a copy."""

from __future__ import annotations

import array
import ctypes
import gc
import sys
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from boxdecode import (
    DType,
    ErrorCode,
    MlaCBlocked,
    Plan,
    Planar,
    Strided,
    TensorSpec,
)

NUMPY_TYPE = {
    DType.Int8: np.int8,
    DType.UInt8: np.uint8,
    DType.BFloat16: np.uint16,
    DType.Float16: np.float16,
    DType.Float32: np.float32,
}
QUANTIZATION = {DType.Int8: (0.01, 0), DType.UInt8: (0.01, 0)}


def single_level(arguments: Any, dtype: DType, layout: Any = None, **changes: Any) -> Plan:
    """One level whose score port, port 1, has this dtype and layout: 4 x 8 cells, 3 classes."""
    quantization = {1: QUANTIZATION[dtype]} if dtype in QUANTIZATION else {}
    return Plan(
        **arguments(
            inputs=[
                TensorSpec((1, 4, 8, 4), DType.Float32),
                TensorSpec((1, 4, 8, 3), dtype, layout),
            ],
            heads=[(0, 1)],
            quantization=quantization,
            **changes,
        )
    )


def run(plan: Plan, boxes: Any, scores: Any) -> int:
    """Decodes one frame and gives the number of detections."""
    outputs = plan.allocate_outputs()
    plan.execute(plan.create_context(), [boxes, scores], outputs)
    return int(outputs[3][0])


def boxes_of_one() -> Any:
    return np.ones((1, 4, 8, 4), np.float32)


def one_score(dtype: DType, shape: tuple[int, ...] = (4, 8, 3)) -> Any:
    """Scores in which only cell (0, 0) passes, with class 1."""
    scores = np.zeros(shape, NUMPY_TYPE[dtype])
    value = {DType.BFloat16: 0x3F40, DType.Int8: 75, DType.UInt8: 75}.get(dtype, 0.75)
    scores.reshape(-1)[1] = value
    return scores


@pytest.mark.parametrize("dtype", NUMPY_TYPE)
@pytest.mark.parametrize(
    "shape", [(4, 8, 3), (1, 4, 8, 3), (1, 1, 4, 8, 1, 3), (96,), (1, 1, 1, 4, 8, 3)]
)
def test_typed_arrays_of_the_logical_shape_fit(
    arguments: Any, dtype: DType, shape: tuple[int, ...]
) -> None:
    assert run(single_level(arguments, dtype), boxes_of_one(), one_score(dtype).reshape(shape)) == 1


@pytest.mark.parametrize("dtype", NUMPY_TYPE)
def test_flat_byte_buffers_fit_every_port(arguments: Any, dtype: DType) -> None:
    plan = single_level(arguments, dtype)
    scores = one_score(dtype)
    flat = scores.reshape(-1).view(np.uint8)
    for buffer in (flat, scores.tobytes(), bytearray(scores.tobytes()), memoryview(flat)):
        assert run(plan, boxes_of_one(), buffer) == 1


@pytest.mark.parametrize("dtype", NUMPY_TYPE)
def test_flat_arrays_may_be_longer_than_needed(arguments: Any, dtype: DType) -> None:
    plan = single_level(arguments, dtype)
    longer = np.concatenate([one_score(dtype).reshape(-1), np.full(7, 100, NUMPY_TYPE[dtype])])
    assert run(plan, boxes_of_one(), longer) == 1
    assert run(plan, boxes_of_one(), longer.view(np.uint8)) == 1


@pytest.mark.parametrize("dtype", NUMPY_TYPE)
@pytest.mark.parametrize("frames", [2, 3, 8])
def test_a_flat_batch_is_refused(arguments: Any, refused: Any, dtype: DType, frames: int) -> None:
    """Frames one behind the other: decoding the first without a word would lose the others."""
    plan = single_level(arguments, dtype)
    batch = np.concatenate([one_score(dtype).reshape(-1)] * frames)
    needed = plan.required_bytes(1)
    for flat, n in (
        (batch, 96),
        (batch.view(np.uint8), needed),
        (batch.tobytes(), needed),
        (memoryview(batch), 96),
        (DLPackOnly(batch), 96),
    ):
        refused(
            lambda flat=flat: run(plan, boxes_of_one(), flat),
            ErrorCode.InvalidBuffer,
            "inputs[1]",
            f"exactly {frames} times the {needed} bytes",
            f"array[i * n : (i + 1) * n] with n = {n}",
        )
    for i in range(frames):  # the way out that the error names
        assert run(plan, boxes_of_one(), batch[i * 96 : (i + 1) * 96]) == 1
    assert run(plan, boxes_of_one(), batch[:-1]) == 1


def test_small_ports_may_lie_in_padded_buffers(arguments: Any, refused: Any) -> None:
    """A port below a cache line divides lines, pages and arenas: that is padding, no batch."""
    specs = [TensorSpec((2, 2, 4), DType.Int8), TensorSpec((2, 2, 1), DType.Int8)]
    plan = Plan(
        **arguments(
            inputs=specs,
            heads=[(0, 1)],
            model_input_size=(16, 16),
            num_classes=1,
            quantization={0: (0.01, 0), 1: (0.01, 0)},
        )
    )
    boxes, scores = np.full(16, 100, np.int8), np.zeros(4, np.int8)
    scores[0] = 75
    for length in (64, 128, 4096, 1 << 20):
        padded = np.zeros(length, np.int8)
        padded[:4] = scores
        assert run(plan, boxes, padded) == 1
    refused(lambda: run(plan, boxes, np.tile(scores, 3)), ErrorCode.InvalidBuffer, "inputs[1]", "3")
    refused(lambda: run(plan, np.tile(boxes, 2), scores), ErrorCode.InvalidBuffer, "inputs[0]", "2")


@pytest.mark.parametrize(
    "layout", [Strided((128, 32, 4, 1)), MlaCBlocked(2, 3, 16)], ids=["strided", "blocked"]
)
def test_a_batch_in_a_padded_layout_is_refused(arguments: Any, refused: Any, layout: Any) -> None:
    plan = single_level(arguments, DType.Int8, layout)
    needed = plan.required_bytes(1)
    assert run(plan, boxes_of_one(), bytes(2 * needed + 1)) == 0
    refused(
        lambda: run(plan, boxes_of_one(), bytes(2 * needed)),
        ErrorCode.InvalidBuffer,
        "inputs[1]",
        f"exactly 2 times the {needed} bytes",
    )


def test_masked_arrays_are_refused_by_name(arguments: Any, refused: Any) -> None:
    """A mask lies beside the memory: a masked row would be decoded as if it were not."""
    plan = single_level(arguments, DType.Float32)
    scores = one_score(DType.Float32)
    masked = np.ma.array(scores, mask=scores > 0)
    for array_ in (masked, masked.reshape(-1), np.ma.array(scores)):
        refused(
            lambda array_=array_: run(plan, boxes_of_one(), array_),
            ErrorCode.InvalidBuffer,
            "inputs[1]",
            "numpy.ma.MaskedArray",
            "array.filled(value)",
        )
    assert run(plan, boxes_of_one(), masked.filled(0)) == 0
    assert run(plan, boxes_of_one(), masked.data) == 1
    outputs = plan.allocate_outputs()
    outputs[1] = np.ma.array(outputs[1])
    refused(
        lambda: plan.execute(plan.create_context(), [boxes_of_one(), scores], outputs),
        ErrorCode.InvalidBuffer,
        "outputs[1]",
        "numpy.ma.MaskedArray",
    )


def test_other_subclasses_of_arrays_are_taken(arguments: Any, tmp_path: Any) -> None:
    scores = one_score(DType.Float32)
    np.save(tmp_path / "scores.npy", scores)
    mapped = np.load(tmp_path / "scores.npy", mmap_mode="r")
    assert isinstance(mapped, np.memmap)
    assert run(single_level(arguments, DType.Float32), boxes_of_one(), mapped) == 1


def test_ml_dtypes_bfloat16_is_taken(arguments: Any) -> None:
    plan = single_level(arguments, DType.BFloat16)
    scores = np.zeros((4, 8, 3), ml_dtypes.bfloat16)
    scores[0, 0, 1] = 0.75
    assert run(plan, boxes_of_one(), scores) == 1


def test_other_buffer_providers_are_taken(arguments: Any) -> None:
    plan = single_level(arguments, DType.Float32)
    scores = one_score(DType.Float32)
    flat = array.array("f", scores.reshape(-1).tolist())
    c_array = (ctypes.c_float * 96)(*scores.reshape(-1).tolist())
    shaped = memoryview(flat).cast("B").cast("f", (4, 8, 3))
    for buffer in (flat, c_array, shaped, memoryview(scores)):
        assert run(plan, boxes_of_one(), buffer) == 1


class DLPackOnly:
    """An array of another library: nothing but the DLPack protocol."""

    def __init__(self, content: Any, device: tuple[int, int] = (1, 0)) -> None:
        self.content = content
        self.device = device

    def __dlpack__(self, **keywords: Any) -> Any:
        if isinstance(self.content, Exception):
            raise self.content
        return self.content.__dlpack__(**keywords)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device


@pytest.mark.parametrize(
    "dtype", [DType.Int8, DType.UInt8, DType.BFloat16, DType.Float16, DType.Float32]
)
def test_dlpack_is_taken_without_a_copy(arguments: Any, dtype: DType) -> None:
    plan = single_level(arguments, dtype)
    scores = one_score(dtype)
    assert run(plan, boxes_of_one(), DLPackOnly(scores)) == 1
    assert run(plan, boxes_of_one(), DLPackOnly(scores, device=(3, 0))) == 1
    scores[...] = 0
    assert run(plan, boxes_of_one(), DLPackOnly(scores)) == 0


class TensorOfCapsule:
    """A DLPack capsule made by hand: what PyTorch gives for its bfloat16, which NumPy cannot."""

    class _Tensor(ctypes.Structure):
        _fields_ = (
            ("data", ctypes.c_void_p),
            ("device_type", ctypes.c_int32),
            ("device_id", ctypes.c_int32),
            ("ndim", ctypes.c_int32),
            ("code", ctypes.c_uint8),
            ("bits", ctypes.c_uint8),
            ("lanes", ctypes.c_uint16),
            ("shape", ctypes.POINTER(ctypes.c_int64)),
            ("strides", ctypes.POINTER(ctypes.c_int64)),
            ("byte_offset", ctypes.c_uint64),
            ("manager", ctypes.c_void_p),
            ("deleter", ctypes.c_void_p),
        )

    def __init__(self, words: Any, code: int, byte_offset: int = 0) -> None:
        self.words = words
        self.shape = (ctypes.c_int64 * words.ndim)(*words.shape)
        self.tensor = self._Tensor(
            data=words.ctypes.data - byte_offset,
            device_type=1,
            ndim=words.ndim,
            code=code,
            bits=16,
            lanes=1,
            shape=self.shape,
            byte_offset=byte_offset,
        )

    def __dlpack__(self) -> Any:
        make = ctypes.pythonapi.PyCapsule_New
        make.restype = ctypes.py_object
        make.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return make(ctypes.addressof(self.tensor), b"dltensor", None)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


def test_dlpack_bfloat16_is_taken(arguments: Any) -> None:
    plan = single_level(arguments, DType.BFloat16)
    words = one_score(DType.BFloat16)
    bfloat = 4
    assert run(plan, boxes_of_one(), TensorOfCapsule(words, bfloat)) == 1
    assert run(plan, boxes_of_one(), TensorOfCapsule(words, bfloat, byte_offset=32)) == 1


def test_dlpack_that_does_not_fit_is_refused(arguments: Any, refused: Any) -> None:
    plan = single_level(arguments, DType.Float32)
    scores = one_score(DType.Float32)
    for content, parts in (
        (DLPackOnly(scores, device=(2, 0)), ["another device"]),
        (DLPackOnly(BufferError("tensor requires grad: use detach()")), ["use detach()"]),
        (DLPackOnly(scores.transpose(1, 0, 2).copy().transpose(1, 0, 2)), ["not C-contiguous"]),
        (DLPackOnly(scores.astype(np.float64)), ["Float32"]),
        (DLPackOnly(scores.astype(np.complex64)), ["Float32"]),
        (DLPackOnly(scores[:2]), ["(2, 8, 3)", "(4, 8, 3)"]),
    ):
        refused(
            lambda content=content: run(plan, boxes_of_one(), content),
            ErrorCode.InvalidBuffer,
            "inputs[1]",
            *parts,
        )


def test_exceptions_that_no_array_causes_pass_through(arguments: Any) -> None:
    plan = single_level(arguments, DType.Float32)
    with pytest.raises(MemoryError):
        run(plan, boxes_of_one(), DLPackOnly(MemoryError()))


def test_planar_ports_take_planes(arguments: Any, refused: Any) -> None:
    plan = single_level(arguments, DType.Float32, Planar())
    scores = np.zeros((1, 3, 4, 8), np.float32)
    scores[0, 1, 0, 0] = 0.75
    assert run(plan, boxes_of_one(), scores) == 1
    assert run(plan, boxes_of_one(), scores.reshape(-1)) == 1
    refused(
        lambda: run(plan, boxes_of_one(), one_score(DType.Float32)),
        ErrorCode.InvalidBuffer,
        "inputs[1]",
        "(4, 8, 3)",
        "(3, 4, 8)",
        "NHWC",
        "Contiguous()",
    )


def test_planes_at_a_contiguous_port_are_named(arguments: Any, refused: Any) -> None:
    plan = single_level(arguments, DType.Float32)
    refused(
        lambda: run(plan, boxes_of_one(), np.zeros((1, 3, 4, 8), np.float32)),
        ErrorCode.InvalidBuffer,
        "inputs[1]",
        "(1, 3, 4, 8)",
        "NCHW",
        "Planar()",
    )


@pytest.mark.parametrize(
    "layout", [Strided((128, 32, 4, 1)), MlaCBlocked(2, 3, 16)], ids=["strided", "blocked"]
)
def test_padded_layouts_take_flat_arrays_only(arguments: Any, refused: Any, layout: Any) -> None:
    plan = single_level(arguments, DType.Int8, layout)
    needed = plan.required_bytes(1)
    assert run(plan, boxes_of_one(), np.zeros(needed, np.int8)) == 0
    assert run(plan, boxes_of_one(), bytes(needed)) == 0
    for shape in ((4, 8, 3), (1, needed)):
        refused(
            lambda shape=shape: run(plan, boxes_of_one(), np.zeros(shape, np.int8)),
            ErrorCode.InvalidBuffer,
            "inputs[1]",
            "flat (1-D)",
        )


WRONG_INPUTS: dict[str, tuple[Callable[[], Any], list[str]]] = {
    "wide float": (lambda: np.zeros((4, 8, 3)), ["float64", "Float32", "float32"]),
    "integer": (lambda: np.zeros((4, 8, 3), np.int32), ["int32", "Float32"]),
    "half": (lambda: np.zeros((4, 8, 3), np.float16), ["float16", "Float32"]),
    "bool": (lambda: np.zeros((4, 8, 3), np.bool_), ["bool", "Float32"]),
    "bytes in rows": (lambda: np.zeros((4, 8, 12), np.uint8), ["uint8", "flat"]),
    "other byte order": (lambda: np.zeros((4, 8, 3), ">f4"), [">f4", "Float32"]),
    "too few rows": (lambda: np.zeros((3, 8, 3), np.float32), ["(3, 8, 3)", "(4, 8, 3)"]),
    "too many rows": (lambda: np.zeros((5, 8, 3), np.float32), ["(5, 8, 3)", "(4, 8, 3)"]),
    "rows in one": (lambda: np.zeros((32, 3), np.float32), ["(32, 3)", "(4, 8, 3)"]),
    "batch of two": (lambda: np.zeros((2, 4, 8, 3), np.float32), ["(2, 4, 8, 3)"]),
    "no side": (lambda: np.array(1, np.float32), ["()", "(4, 8, 3)"]),
    "every second": (lambda: np.zeros((4, 8, 6), np.float32)[:, :, ::2], ["ascontiguousarray"]),
    "Fortran": (lambda: np.zeros((4, 8, 3), np.float32, order="F"), ["ascontiguousarray"]),
    "backwards": (lambda: np.zeros(96, np.float32)[::-1], ["ascontiguousarray"]),
    "short": (lambda: np.zeros(95, np.float32), ["380", "384"]),
    "short bytes": (lambda: bytes(383), ["383", "384"]),
    "empty": (lambda: np.zeros(0, np.float32), ["384"]),
    "list": (lambda: [[0.0]], ["list", "NumPy array"]),
    "nothing": (lambda: None, ["NoneType", "NumPy array"]),
    "text": (lambda: "heads", ["str", "NumPy array"]),
    "odd address": (lambda: np.zeros(385, np.uint8)[1:], ["align"]),
}


@pytest.mark.parametrize("name", WRONG_INPUTS)
def test_wrong_inputs_are_refused_and_outputs_stay(
    arguments: Any, refused: Any, garbage_outputs: Any, name: str
) -> None:
    make, parts = WRONG_INPUTS[name]
    plan = single_level(arguments, DType.Float32)
    outputs = garbage_outputs(plan)
    refused(
        lambda: plan.execute(plan.create_context(), [boxes_of_one(), make()], outputs),
        ErrorCode.InvalidBuffer,
        "inputs[1]",
        *parts,
    )
    assert all((output.reshape(-1).view(np.uint8) == 0xA5).all() for output in outputs)


@pytest.mark.parametrize(
    ("dtype", "array_type", "part"),
    [
        (DType.Int8, np.uint8, "int8"),
        (DType.UInt8, np.int8, "uint8"),
        (DType.BFloat16, np.int16, "numpy.uint16"),
        (DType.BFloat16, np.float16, "ml_dtypes.bfloat16"),
        (DType.BFloat16, np.float32, "ml_dtypes.bfloat16"),
        (DType.Float16, np.uint16, "float16"),
        (DType.Float16, ml_dtypes.bfloat16, "float16"),
        (DType.Float32, ml_dtypes.bfloat16, "float32"),
    ],
)
def test_dtypes_of_the_same_size_are_not_mixed_up(
    arguments: Any, refused: Any, dtype: DType, array_type: Any, part: str
) -> None:
    plan = single_level(arguments, dtype)
    refused(
        lambda: run(plan, boxes_of_one(), np.zeros((4, 8, 3), array_type)),
        ErrorCode.InvalidBuffer,
        "inputs[1]",
        np.dtype(array_type).name,
        part,
    )


def wrong_outputs() -> dict[str, tuple[int, Callable[[Any], Any], list[str]]]:
    def read_only(output: Any) -> Any:
        output.flags.writeable = False
        return output

    return {
        "read-only": (0, read_only, ["read-only"]),
        "bytes": (0, lambda output: output.tobytes(), ["read-only"]),
        "wide integer": (2, lambda output: output.astype(np.int64), ["int64", "Int32"]),
        "wide float": (1, lambda output: output.astype(np.float64), ["float64", "Float32"]),
        "turned": (0, lambda _: np.zeros((4, 5), np.int32), ["(4, 5)", "(5, 4)"]),
        "strided": (0, lambda _: np.zeros((5, 8), np.int32)[:, ::2], ["not C-contiguous"]),
        "short": (1, lambda _: np.zeros(4, np.float32), ["16", "20"]),
        "list": (3, lambda _: [0], ["list", "NumPy array"]),
        "DLPack": (3, lambda output: DLPackOnly(output), ["NumPy array"]),
        "odd address": (1, lambda _: np.zeros(21, np.uint8)[1:], ["align"]),
    }


@pytest.mark.parametrize("name", wrong_outputs())
def test_wrong_outputs_are_refused_and_all_stay(
    plan: Plan, frame: Any, refused: Any, garbage_outputs: Any, name: str
) -> None:
    port, change, parts = wrong_outputs()[name]
    outputs = garbage_outputs(plan)
    changed: list[Any] = list(outputs)
    changed[port] = change(outputs[port])
    refused(
        lambda: plan.execute(plan.create_context(), frame(), changed),
        ErrorCode.InvalidBuffer,
        f"outputs[{port}]",
        *parts,
    )
    assert all((output.reshape(-1).view(np.uint8) == 0xA5).all() for output in outputs)


def test_outputs_may_be_any_writable_memory(plan: Plan, frame: Any) -> None:
    boxes = bytearray(5 * 4 * 4)
    scores = array.array("f", [9.0] * 5)
    classes = np.full((5, 1), 9, np.int32)
    count = (ctypes.c_int32 * 1)(9)
    plan.execute(plan.create_context(), frame((1, 1, 2, 1, 0.5)), [boxes, scores, classes, count])
    assert count[0] == 1
    assert scores.tolist() == [0.5, 0.0, 0.0, 0.0, 0.0]
    assert classes.reshape(-1).tolist() == [2, 0, 0, 0, 0]
    # Cell (1, 1), from its centre one cell to each side, stride 8, image twice the model.
    assert np.frombuffer(boxes, np.int32).tolist() == [8, 8, 32, 32, *[0] * 16]


@pytest.mark.parametrize(
    ("heads", "parts"),
    [
        (lambda frame: frame[:3], ["3 arrays", "4"]),
        (lambda frame: [*frame, frame[0]], ["5 arrays", "4"]),
        (lambda _: [], ["0 arrays", "4"]),
        (lambda frame: frame[0], ["one numpy.ndarray", "4 ports"]),
        (lambda _: 7, ["int", "list of arrays"]),
    ],
)
def test_a_wrong_number_of_inputs_is_refused(
    plan: Plan, frame: Any, refused: Any, heads: Any, parts: list[str]
) -> None:
    refused(
        lambda: plan.execute(plan.create_context(), heads(frame()), plan.allocate_outputs()),
        ErrorCode.InvalidBuffer,
        "inputs",
        *parts,
    )


def test_a_wrong_number_of_outputs_is_refused(plan: Plan, frame: Any, refused: Any) -> None:
    refused(
        lambda: plan.execute(plan.create_context(), frame(), plan.allocate_outputs()[:3]),
        ErrorCode.InvalidBuffer,
        "outputs",
        "3 arrays",
        "4",
    )


def test_inputs_and_outputs_may_come_in_any_iterable(plan: Plan, frame: Any) -> None:
    heads = frame((0, 0, 0, 1, 0.5))
    for inputs in (heads, tuple(heads), iter(heads), dict(enumerate(heads)).values()):
        outputs = plan.allocate_outputs()
        plan.execute(plan.create_context(), inputs, tuple(outputs))
        assert outputs[3].tolist() == [1]


def test_inputs_are_read_in_place(plan: Plan, frame: Any) -> None:
    heads = frame()
    context, outputs = plan.create_context(), plan.allocate_outputs()
    for score in (0.5, 0.0, 0.75):
        heads[1][0, 2, 3, 1] = score
        heads[0][0, 2, 3] = 1
        plan.execute(context, heads, outputs)
        assert outputs[1][0] == score


def test_read_only_inputs_are_fine(plan: Plan, frame: Any) -> None:
    heads = frame((0, 0, 0, 1, 0.5))
    for head in heads:
        head.flags.writeable = False
    outputs = plan.allocate_outputs()
    plan.execute(plan.create_context(), heads, outputs)
    assert outputs[3].tolist() == [1]


def test_no_reference_is_kept_and_none_is_lost(plan: Plan, frame: Any, refused: Any) -> None:
    heads, outputs, context = frame(), plan.allocate_outputs(), plan.create_context()
    before = [sys.getrefcount(item) for item in (*heads, *outputs)]
    for _ in range(10):
        plan.execute(context, heads, outputs)
        wrong = [*outputs[:3], outputs[3].astype(np.int64)]
        refused(
            lambda wrong=wrong: plan.execute(context, heads, wrong),
            ErrorCode.InvalidBuffer,
            "outputs[3]",
        )
    del wrong
    gc.collect()  # the exceptions and their frames
    assert [sys.getrefcount(item) for item in (*heads, *outputs)] == before


def test_many_ports_are_no_special_case(arguments: Any) -> None:
    """More ports than the call keeps on its stack."""
    levels = 12
    plan = Plan(
        **arguments(
            inputs=[
                TensorSpec((4, 8, channels), DType.Float32)
                for _ in range(levels)
                for channels in (4, 3)
            ],
            heads=[(2 * level, 2 * level + 1) for level in range(levels)],
            max_detections=50,
        )
    )
    heads = [np.zeros(spec.shape, np.float32) for spec in plan.input_specs]
    heads[-1][3, 7, 2] = 0.5
    heads[-2][3, 7] = 1
    outputs = plan.allocate_outputs()
    plan.execute(plan.create_context(), heads, outputs)
    assert outputs[3].tolist() == [1]
    assert outputs[2][0] == 2


def test_dlpack_that_is_read_only_is_taken(arguments: Any) -> None:
    scores = one_score(DType.Float32)
    scores.flags.writeable = False
    try:
        scores.__dlpack__(max_version=(1, 0))
    except TypeError:
        pytest.skip("this NumPy has no DLPack 1")
    assert run(single_level(arguments, DType.Float32), boxes_of_one(), DLPackOnly(scores)) == 1


def test_dlpack_of_another_type_is_named(arguments: Any, refused: Any) -> None:
    plan = single_level(arguments, DType.Float32)
    wrong = DLPackOnly(np.zeros((4, 8, 3)))
    refused(
        lambda: run(plan, boxes_of_one(), wrong),
        ErrorCode.InvalidBuffer,
        "inputs[1]",
        "array of float64",
    )


def test_context_comes_before_the_arrays(plan: Plan, arguments: Any, refused: Any) -> None:
    foreign = Plan(**arguments()).create_context()
    outputs = plan.allocate_outputs()
    for call in (plan.execute, plan.with_image_size((64, 64)).execute):
        refused(lambda call=call: call(foreign, [], outputs), ErrorCode.ContextMismatch, "context")
        refused(
            lambda call=call: call(plan.create_context(), [], outputs),
            ErrorCode.InvalidBuffer,
            "inputs",
        )
