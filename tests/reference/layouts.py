"""Where an element lives: packs a logical H x W x C array of raw elements into memory bytes.

In: raw elements and a layout. Out: a one-dimensional uint8 array of exactly `required_bytes` bytes.
Padding lanes and padding channels are filled from a random generator, so that a reader that looks
at them cannot agree with the reference by chance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .numeric import ELEMENT_BYTES, Array

Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Contiguous:
    """Compact HWC."""


@dataclass(frozen=True)
class Strided:
    """HWC whose cells are `physical_channels` elements apart."""

    physical_channels: int


@dataclass(frozen=True)
class MlaCBlocked:
    """Tiles in the order C, H, W; inside a tile: channel blocks of 16, H, W, 16 lanes."""

    tile_h: int
    tile_w: int
    tile_c: int


@dataclass(frozen=True)
class Planar:
    """Compact CHW."""


Layout = Contiguous | Strided | MlaCBlocked | Planar


def align16(count: int) -> int:
    """The next multiple of 16."""
    return (count + 15) // 16 * 16


def channel_slices(channels: int, tile_c: int) -> list[tuple[int, int]]:
    """(first channel, channels) of each slice of an MlaCBlocked tensor."""
    return [(c0, min(tile_c, channels - c0)) for c0 in range(0, channels, tile_c)]


def required_bytes(shape: tuple[int, int, int], dtype: str, layout: Layout) -> int:
    """The bytes that a view of this tensor must cover."""
    height, width, channels = shape
    element = ELEMENT_BYTES[dtype]
    if isinstance(layout, Strided):
        return element * height * width * layout.physical_channels
    if isinstance(layout, MlaCBlocked):
        slices = channel_slices(channels, layout.tile_c)
        return element * height * width * sum(align16(count) for _, count in slices)
    return element * height * width * channels


def blocked_offset(
    shape: tuple[int, int, int], element: int, layout: MlaCBlocked, h: int, w: int, c: int
) -> tuple[int, int]:
    """(base + stripe, lane) of one element of an MlaCBlocked tensor, by the formula."""
    height, width, channels = shape
    c0 = c // layout.tile_c * layout.tile_c
    h0 = h // layout.tile_h * layout.tile_h
    w0 = w // layout.tile_w * layout.tile_w
    ec = min(layout.tile_c, channels - c0)
    eh = min(layout.tile_h, height - h0)
    ew = min(layout.tile_w, width - w0)
    padded = align16(ec)
    before = sum(
        height * width * align16(count)
        for first, count in channel_slices(channels, layout.tile_c)
        if first < c0
    )
    base = element * (before + h0 * width * padded + eh * w0 * padded)
    stripe = (((c - c0) // 16 * eh + (h - h0)) * ew + (w - w0)) * 16 * element
    return base + stripe, (c - c0) % 16


def blocked_byte_offsets(
    shape: tuple[int, int, int], dtype: str, layout: MlaCBlocked, h: int, w: int, c: int
) -> tuple[int, ...]:
    """Byte offsets of one element: one for a byte dtype, (low, high) for BF16."""
    element = ELEMENT_BYTES[dtype]
    stripe, lane = blocked_offset(shape, element, layout, h, w, c)
    if element == 1:
        return (stripe + lane,)
    return (stripe + lane, stripe + 16 + lane)


def _pack_blocked(raw: Array, layout: MlaCBlocked, garbage: np.random.Generator) -> Bytes:
    """Walks the tiles in memory order and writes each one as it lies."""
    height, width, channels = raw.shape
    element = raw.dtype.itemsize
    pieces: list[Bytes] = []
    for c0, ec in channel_slices(channels, layout.tile_c):
        for h0 in range(0, height, layout.tile_h):
            for w0 in range(0, width, layout.tile_w):
                tile = raw[h0 : h0 + layout.tile_h, w0 : w0 + layout.tile_w, c0 : c0 + ec]
                eh, ew, _ = tile.shape
                padded = garbage.integers(0, 256, (eh, ew, align16(ec), element), dtype=np.uint8)
                padded[:, :, :ec] = (
                    np.ascontiguousarray(tile).view(np.uint8).reshape(eh, ew, ec, element)
                )
                # (h, w, block, lane, byte) -> (block, h, w, byte, lane): low bytes, then high ones.
                lanes = padded.reshape(eh, ew, align16(ec) // 16, 16, element)
                pieces.append(lanes.transpose(2, 0, 1, 4, 3).reshape(-1))
    return np.concatenate(pieces)


def pack(raw: Array, layout: Layout, garbage: np.random.Generator) -> Bytes:
    """The bytes of a logical H x W x C array in a layout."""
    raw = np.ascontiguousarray(raw)
    if isinstance(layout, Contiguous):
        compact: Bytes = raw.view(np.uint8).reshape(-1).copy()
        return compact
    if isinstance(layout, Planar):
        planes: Bytes = np.ascontiguousarray(raw.transpose(2, 0, 1)).view(np.uint8).reshape(-1)
        return planes
    if isinstance(layout, Strided):
        height, width, channels = raw.shape
        element = raw.dtype.itemsize
        padded = garbage.integers(
            0, 256, (height, width, layout.physical_channels * element), dtype=np.uint8
        )
        padded[:, :, : channels * element] = raw.view(np.uint8).reshape(height, width, -1)
        return padded.reshape(-1)
    return _pack_blocked(raw, layout, garbage)


def strides(shape: tuple[int, ...], physical_channels: int) -> tuple[int, ...]:
    """Element strides of a Strided tensor, one per dimension (outer ones are the frame span)."""
    height, width = shape[-3], shape[-2]
    frame = height * width * physical_channels
    inner = (width * physical_channels, physical_channels, 1)
    return (frame,) * (len(shape) - 3) + inner


def describe(layout: Layout) -> str:
    """A short text for failure messages."""
    fields: dict[str, Any] = vars(layout)
    return f"{type(layout).__name__}({', '.join(str(value) for value in fields.values())})"
