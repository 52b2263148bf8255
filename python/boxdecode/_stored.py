"""Arrays in .npz and .npy files, whose headers are read and judged before their elements.

In: a file. Out: headers, then the arrays that the caller still wants. Never: more elements than the
caller asked for, however many the file says that it has.
"""

from __future__ import annotations

import contextlib
import math
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import numpy.typing as npt

NPY_MAGIC = b"\x93NUMPY"
ZIP_MAGICS = (b"PK\x03\x04", b"PK\x05\x06")


class Header(NamedTuple):
    """What a file says of an array. ``stored_bytes``: what it takes in the file."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    fortran_order: bool
    stored_bytes: int


class Source(NamedTuple):
    """One array of a file; ``open`` gives a stream from its header on."""

    open: Callable[[], contextlib.AbstractContextManager[IO[bytes]]]
    total_bytes: int


@contextlib.contextmanager
def sources(path: Path) -> Iterator[dict[str, Source] | Source]:
    """The arrays of a .npz file by name in the file's order, or the array of a .npy file.

    Raises OSError, ValueError for a file of another kind, or what zipfile raises.
    """
    with path.open("rb") as file:
        start = file.read(len(NPY_MAGIC))
        size = file.seek(0, 2)
        if start == NPY_MAGIC:
            file.seek(0)
            yield Source(lambda: contextlib.nullcontext(_rewound(file)), size)
        elif start.startswith(ZIP_MAGICS):
            with zipfile.ZipFile(file) as archive:
                yield members(archive)
        else:
            raise ValueError("it begins like neither of the two")


def _rewound(file: IO[bytes]) -> IO[bytes]:
    file.seek(0)
    return file


def members(archive: zipfile.ZipFile) -> dict[str, Source]:
    """The arrays of an open .npz file by name, in its order."""
    found: dict[str, Source] = {}
    for info in archive.infolist():
        name = info.filename.removesuffix(".npy")
        if name in found:
            raise ValueError(f"the name {name!r} stands twice in it")
        found[name] = Source(lambda info=info: archive.open(info), info.file_size)  # type: ignore[misc]
    return found


def read_header(source: Source) -> Header:
    """Raises ValueError for anything but one array of plain elements, all of which are there."""
    with source.open() as stream:
        return _header(stream, source.total_bytes)


def _header(stream: IO[bytes], total_bytes: int) -> Header:
    version = np.lib.format.read_magic(stream)
    if version == (1, 0):
        shape, fortran_order, dtype = np.lib.format.read_array_header_1_0(stream)
    elif version == (2, 0):
        shape, fortran_order, dtype = np.lib.format.read_array_header_2_0(stream)
    else:
        raise ValueError(f"version {version} of the format is for fields with names")
    if dtype.hasobject:
        raise ValueError("Python objects are not read")
    stored_bytes = math.prod(shape) * dtype.itemsize
    there = total_bytes - stream.tell()
    if there != stored_bytes:
        raise ValueError(
            f"an array of {dtype} with the shape {shape} takes {stored_bytes} bytes, but there are"
            f" {there}"
        )
    return Header(dtype, shape, fortran_order, stored_bytes)


def read_array(source: Source, needed_bytes: int) -> npt.NDArray[Any]:
    """Reads an array; of a flat one as many elements as cover ``needed_bytes``, if it has more."""
    with source.open() as stream:
        header = _header(stream, source.total_bytes)
        length = header.stored_bytes
        item_bytes = header.dtype.itemsize
        if len(header.shape) == 1 and 0 < item_bytes and needed_bytes < length:
            length = -(-needed_bytes // item_bytes) * item_bytes
        content = np.empty(length, np.uint8)
        if stream.readinto(content) != length:  # type: ignore[attr-defined]
            raise ValueError(f"it ends before {length} bytes of an array")
    array = content.view(header.dtype)
    if len(header.shape) == 1:
        return array
    return array.reshape(header.shape, order="F" if header.fortran_order else "C")
