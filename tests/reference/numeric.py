"""What a raw value is worth: number formats, dequantization, activations, sums and rounding.

In: raw elements as NumPy arrays. Out: float32 arrays (or int64 where a value is rounded).
Every float operation here is one IEEE binary32 operation per element, in the written order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Float32 = npt.NDArray[np.float32]
Int64 = npt.NDArray[np.int64]
Bool = npt.NDArray[np.bool_]

ZERO = np.float32(0.0)
HALF = np.float32(0.5)
ONE = np.float32(1.0)
TWO = np.float32(2.0)

#: FP32 of ln(1000 / 16), the cap on the exponents of box sizes.
LOG_SIZE_LIMIT = np.array(0x40845349, dtype=np.uint32).view(np.float32)[()]

#: The NumPy element type in which the raw elements of each dtype are kept (16-bit floats as bits).
RAW_TYPE: dict[str, type[np.generic]] = {
    "Int8": np.int8,
    "UInt8": np.uint8,
    "BFloat16": np.uint16,
    "Float16": np.uint16,
    "Float32": np.float32,
}

ELEMENT_BYTES = {"Int8": 1, "UInt8": 1, "BFloat16": 2, "Float16": 2, "Float32": 4}

QUANTIZED = ("Int8", "UInt8")


def bfloat16_to_float32(bits: Array) -> Float32:
    """The value of BF16 bit patterns: the upper half of a binary32."""
    wide = bits.astype(np.uint32) << np.uint32(16)
    values: Float32 = wide.view(np.float32)
    return values


def float32_to_bfloat16(values: Array) -> npt.NDArray[np.uint16]:
    """The nearest BF16 bit patterns, ties to even; a NaN stays a NaN of the same sign."""
    narrow = np.ascontiguousarray(values, dtype=np.float32)
    bits = narrow.view(np.uint32).astype(np.uint64)
    upper = bits >> np.uint64(16)
    rounded = (bits + np.uint64(0x7FFF) + (upper & np.uint64(1))) >> np.uint64(16)
    nearest = np.where(np.isnan(narrow), upper | np.uint64(0x0040), rounded)
    result: npt.NDArray[np.uint16] = nearest.astype(np.uint16)
    return result


def float16_to_float32(bits: Array) -> Float32:
    """The value of FP16 bit patterns."""
    with np.errstate(all="ignore"):
        return np.ascontiguousarray(bits, dtype=np.uint16).view(np.float16).astype(np.float32)


def float32_to_float16(values: Array) -> npt.NDArray[np.uint16]:
    """The nearest FP16 bit patterns, ties to even."""
    with np.errstate(all="ignore"):
        return np.ascontiguousarray(values, dtype=np.float32).astype(np.float16).view(np.uint16)


def dequantize(raw: Array, scale: float, zero_point: int) -> Float32:
    """value = (raw - zero_point) * dequant_scale; the difference is an exact integer."""
    steps = (raw.astype(np.int32) - np.int32(zero_point)).astype(np.float32)
    with np.errstate(all="ignore"):
        result: Float32 = steps * np.float32(scale)
    return result


def to_float32(raw: Array, dtype: str, quantization: tuple[float, int] | None) -> Float32:
    """The FP32 value of raw elements of any dtype."""
    if dtype in QUANTIZED:
        if quantization is None:
            raise ValueError(f"a {dtype} port needs a quantization entry")
        return dequantize(raw, *quantization)
    if dtype == "BFloat16":
        return bfloat16_to_float32(raw)
    if dtype == "Float16":
        return float16_to_float32(raw)
    if dtype == "Float32":
        return raw.astype(np.float32, copy=False)
    raise ValueError(f"{dtype} is not an input dtype")


def exp32(x: Array) -> Float32:
    """The correctly rounded binary32 of e^x; exp32(-inf) = 0, exp32(+inf) = +inf, NaN stays NaN."""
    with np.errstate(all="ignore"):
        return np.exp(x.astype(np.float64)).astype(np.float32)


def sigmoid(x: Array) -> Float32:
    """1 / (1 + exp32(-x)), written like this for every x."""
    with np.errstate(all="ignore"):
        result: Float32 = ONE / (ONE + exp32(-x))
    return result


def activate(x: Float32, activation: str) -> Float32:
    """Identity or Sigmoid of a value."""
    if activation == "Identity":
        return x
    if activation == "Sigmoid":
        return sigmoid(x)
    raise ValueError(f"{activation} is not an element-wise activation")


def sum_four(terms: Array) -> Float32:
    """Sum over the last axis with four partial sums that start at +0.

    Term k goes into partial sum k mod 4, in ascending k; the result is (s0 + s1) + (s2 + s3).
    """
    partial = [np.zeros(terms.shape[:-1], dtype=np.float32) for _ in range(4)]
    with np.errstate(all="ignore"):
        for k in range(terms.shape[-1]):
            partial[k % 4] = partial[k % 4] + terms[..., k]
        result: Float32 = (partial[0] + partial[1]) + (partial[2] + partial[3])
    return result


def minimum(a: Any, b: Any) -> Float32:
    """The smaller float; NaN when either is NaN."""
    with np.errstate(all="ignore"):
        result: Float32 = np.minimum(a, b)
    return result


def maximum(a: Any, b: Any) -> Float32:
    """The larger float; NaN when either is NaN."""
    with np.errstate(all="ignore"):
        result: Float32 = np.maximum(a, b)
    return result


def softmax_exponents(
    raw: Array, values: Float32, dtype: str, quantization: tuple[float, int] | None
) -> Float32:
    """exp32(x - max) over the last axis: the shared front of softmax and DFL.

    On quantized ports x - max is (raw - raw_max) * dequant_scale; no logit is formed.
    """
    with np.errstate(all="ignore"):
        if dtype in QUANTIZED and quantization is not None:
            wide = raw.astype(np.int32)
            below = (wide - wide.max(axis=-1, keepdims=True)).astype(np.float32)
            return exp32(below * np.float32(quantization[0]))
        return exp32(values - np.max(values, axis=-1, keepdims=True))


def round_half_away(x: Any) -> Int64:
    """lround: to the nearest integer, exact halves away from zero. The input must be finite."""
    wide = np.asarray(x, dtype=np.float64)
    return np.copysign(np.floor(np.abs(wide) + 0.5), wide).astype(np.int64)


def round_half_away_scalar(x: float) -> int:
    """lround of one double, for the preparation of sizes (exact below 2^52)."""
    whole = int(abs(x))
    rounded = whole + 1 if abs(x) - whole >= 0.5 else whole
    return rounded if x >= 0 else -rounded


def quantized_levels(dtype: str) -> npt.NDArray[np.int32]:
    """Every raw value of a quantized dtype, ascending."""
    first = -128 if dtype == "Int8" else 0
    return np.arange(first, first + 256, dtype=np.int32)


def bits32(values: Sequence[float] | Array) -> npt.NDArray[np.uint32]:
    """The bit patterns of FP32 values, for bit-exact comparisons."""
    return np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
