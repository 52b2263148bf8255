"""Plan files: the arguments of ``Plan`` as JSON. docs/plan-file.md has the whole format.

>>> plan_file = read_plan_file("plan.json")
>>> plan = plan_file.plan()
>>> detections = Decoder(plan)(plan_file.read_heads("heads.npz", plan))
"""

from __future__ import annotations

import difflib
import enum
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from boxdecode._core import (
    BoxUnit,
    Contiguous,
    DType,
    MaskEncoding,
    MlaCBlocked,
    MlaTiled,
    Plan,
    Planar,
    Profile,
    ResizePolicy,
    ScoreActivation,
    Strided,
    SuppressionCorners,
    Task,
    TensorSpec,
)
from boxdecode._errors import Error
from boxdecode._stored import Source, members, read_array, read_header, sources
from boxdecode._types import Affine, Anchor, Head, Quantization

__all__ = ["PlanFile", "PlanFileError", "parse_plan", "read_plan_file"]

EnumType = TypeVar("EnumType", bound=enum.Enum)
Stored = TypeVar("Stored")


def __dir__() -> list[str]:
    return sorted(__all__)


class PlanFileError(ValueError):
    """Something in a plan file, or in the heads that go with it, cannot be read. Says where."""


@dataclass(frozen=True)
class PlanFile:
    """What a plan file says."""

    arguments: Mapping[str, Any]
    """The arguments of ``Plan``; ``original_image_size`` may be missing."""
    input_names: tuple[str, ...] | None
    """Names of the arrays in port order, or None where the file gives none."""
    class_names: tuple[str, ...]
    """Names of the classes, for tables and pictures; may be empty."""

    def plan(self, original_image_size: tuple[int, int] | None = None) -> Plan:
        """Prepares the plan, for another image size than the file's where one is given."""
        arguments = dict(self.arguments)
        if original_image_size is not None:
            arguments["original_image_size"] = original_image_size
        if "original_image_size" not in arguments:
            raise PlanFileError("original_image_size is missing, and no image is given")
        return Plan(**arguments)

    def arrays(
        self, heads: Mapping[str, npt.NDArray[Any]] | npt.NDArray[Any]
    ) -> list[npt.NDArray[Any]]:
        """The arrays of a frame in port order: by name, or as they come without names.

        Of an open ``numpy.load`` no array is read before its header says a shape that can fit;
        ``read_heads`` looks at types and lengths as well. Masked arrays are refused.
        """
        specs: Sequence[TensorSpec] = self.arguments["inputs"]
        if isinstance(heads, np.lib.npyio.NpzFile) and heads.zip is not None:
            headers = [read_header(source) for source in self._in_port_order(members(heads.zip))]
            self._check_count(len(headers))
            for port, (header, spec) in enumerate(zip(headers, specs, strict=True)):
                if len(header.shape) != 1 and _sides(header.shape) != _sides(spec.shape):
                    raise PlanFileError(
                        f"inputs[{port}] is stored with the shape {header.shape}; the plan file"
                        f" says {spec.shape}"
                    )
        found = [heads] if isinstance(heads, np.ndarray) else self._in_port_order(heads)
        self._check_count(len(found))
        return [
            _as_before_storage(array, spec, f"inputs[{port}]")
            for port, (array, spec) in enumerate(zip(found, specs, strict=True))
        ]

    def read_heads(self, path: str | Path, plan: Plan) -> list[npt.NDArray[Any]]:
        """The arrays of a saved frame, a .npz or .npy file, in port order.

        ``plan`` is what this file's ``plan()`` gave. Every header is held against its port before
        any array is read: type, shape, and how many frames a flat array holds. Of a flat array that
        is longer than its port the part that the port needs is read. Raises boxdecode.Error for an
        array that does not fit, PlanFileError for a missing one or a broken file, or OSError.
        """
        path = Path(path)
        specs: Sequence[TensorSpec] = self.arguments["inputs"]
        try:
            with sources(path) as stored:
                if isinstance(stored, Source):
                    headers = [read_header(stored)]
                    found = [stored]
                else:
                    found = self._in_port_order(stored)
                    headers = [read_header(source) for source in found]
                self._check_count(len(found))
                for port, (header, spec) in enumerate(zip(headers, specs, strict=True)):
                    dtype = _dtype_before_storage(header.dtype, spec)
                    like = np.broadcast_to(np.zeros((), dtype), header.shape)
                    plan._check_stored(port, like)
                arrays = [
                    read_array(source, plan.required_bytes(port))
                    for port, source in enumerate(found)
                ]
        except (PlanFileError, Error, OSError):
            raise
        # zipfile, zlib, tokenize, memory: a broken file raises nearly anything.
        except Exception as error:
            raise PlanFileError(
                f"{path} is no .npz or .npy file of plain arrays: {error}"
            ) from error
        return [
            _as_before_storage(array, spec, f"inputs[{port}]")
            for port, (array, spec) in enumerate(zip(arrays, specs, strict=True))
        ]

    def _in_port_order(self, heads: Mapping[str, Stored]) -> list[Stored]:
        if self.input_names is None:
            return [heads[name] for name in heads]
        missing = [name for name in self.input_names if name not in heads]
        if missing:
            raise PlanFileError(
                f"the heads have no array {missing[0]!r}; they have {', '.join(heads)}"
            )
        return [heads[name] for name in self.input_names]

    def _check_count(self, count: int) -> None:
        inputs = len(self.arguments["inputs"])
        if count != inputs:
            raise PlanFileError(f"the heads have {count} arrays; the plan file has {inputs} inputs")

    def class_name(self, class_id: int) -> str:
        """The name of a class, or its number where it has none."""
        if 0 <= class_id < len(self.class_names):
            return self.class_names[class_id]
        return str(class_id)


def _as_before_storage(array: npt.NDArray[Any], spec: TensorSpec, where: str) -> npt.NDArray[Any]:
    """An array as it was before NumPy saved it, which forgets bfloat16 and keeps Fortran order."""
    if isinstance(array, np.ma.MaskedArray):
        raise PlanFileError(
            f"{where} is a numpy.ma.MaskedArray, whose mask would be ignored: pass"
            " array.filled(value), or array.data for all elements"
        )
    dtype = _dtype_before_storage(array.dtype, spec)
    return np.ascontiguousarray(array if dtype == array.dtype else array.view(dtype))


def _sides(shape: Sequence[int]) -> list[int]:
    """Sides that two arrays have in common if one is a transposition of the other."""
    return sorted(side for side in shape if side != 1)


def _dtype_before_storage(dtype: np.dtype[Any], spec: TensorSpec) -> np.dtype[Any]:
    forgotten = spec.dtype is DType.BFloat16 and dtype.kind == "V" and dtype.itemsize == 2
    return np.dtype(np.uint16) if forgotten else dtype


def read_plan_file(path: str | Path) -> PlanFile:
    """Reads a plan file. Raises PlanFileError for a wrong key, name or shape, or OSError."""
    path = Path(path)
    try:
        try:
            document = json.loads(path.read_text(encoding="utf-8-sig"), object_pairs_hook=_unique)
        except PlanFileError:
            raise
        except ValueError as error:  # malformed, not UTF-8, or a number of thousands of digits
            raise PlanFileError(f"not JSON: {error}") from error
        return parse_plan(document)
    except PlanFileError as error:
        raise PlanFileError(f"{path}: {error}") from error
    except RecursionError as error:
        raise PlanFileError(f"{path}: lists or objects are nested too deeply") from error


def parse_plan(document: object) -> PlanFile:
    """The same for a document that is already parsed."""
    content = _object(document, "the plan")
    _check_keys(
        content,
        "the plan",
        required=(*_REQUIRED, "inputs"),
        optional=(*_OPTIONAL, "original_image_size", "outputs", "class_names"),
    )
    inputs: list[TensorSpec] = []
    names: list[str | None] = []
    for index, entry in enumerate(_list(content["inputs"], "inputs")):
        name, spec = _input(entry, f"inputs[{index}]")
        names.append(name)
        inputs.append(spec)
    given = [name for name in names if name is not None]
    if given and len(given) != len(inputs):
        raise PlanFileError(f"inputs[{names.index(None)}] has no name, but others have one")
    if len(set(given)) != len(given):
        raise PlanFileError("two inputs have the same name")
    arguments: dict[str, Any] = {"inputs": inputs}
    if content.get("outputs") is not None:
        arguments["outputs"] = [
            _input(entry, f"outputs[{index}]")[1]
            for index, entry in enumerate(_list(content["outputs"], "outputs"))
        ]
    for key, read in (_REQUIRED | _OPTIONAL | {"original_image_size": _size}).items():
        if key in content and not (content[key] is None and key in _OPTIONAL):
            arguments[key] = read(content[key], key)
    class_names = tuple(
        _text(name, f"class_names[{index}]")
        for index, name in enumerate(_list(content.get("class_names", []), "class_names"))
    )
    return PlanFile(arguments, tuple(given) or None, class_names)


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    content = dict(pairs)
    if len(content) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise PlanFileError(f"the key {twice!r} stands twice in one object")
    return content


def _kind(value: object) -> str:
    if value is None:
        return "null"
    names = {bool: "true or false", int: "a number", float: "a number", str: "a text"}
    return names.get(type(value), "a list" if isinstance(value, list) else "an object")


def _wrong(where: str, wanted: str, value: object) -> PlanFileError:
    return PlanFileError(f"{where} must be {wanted}, not {_kind(value)}")


def _object(value: object, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _wrong(where, "an object", value)
    return value


def _list(value: object, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise _wrong(where, "a list", value)
    return value


def _text(value: object, where: str) -> str:
    if not isinstance(value, str):
        raise _wrong(where, "a text", value)
    return value


def _integer(value: object, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise PlanFileError(f"{where} must be an integer, not {json.dumps(value)}")
    return value


def _number(value: object, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise _wrong(where, "a number", value)
    return value


def _boolean(value: object, where: str) -> bool:
    if not isinstance(value, bool):
        raise _wrong(where, "true or false", value)
    return value


def _integers(value: object, where: str) -> tuple[int, ...]:
    return tuple(_integer(side, f"{where}[{i}]") for i, side in enumerate(_list(value, where)))


def _size(value: object, where: str) -> tuple[int, int]:
    sides = _integers(value, where)
    if len(sides) != 2:
        raise PlanFileError(f"{where} must be [width, height], but has {len(sides)} entries")
    return sides[0], sides[1]


def _suggestion(word: str, known: Sequence[str]) -> str:
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.5)
    return f"; did you mean {close[0]!r}?" if close else ""


def _check_keys(
    content: dict[str, Any], where: str, required: Sequence[str], optional: Sequence[str] = ()
) -> None:
    known = (*required, *optional)
    for key in content:
        if key not in known:
            raise PlanFileError(
                f"{where} has the unknown key {key!r}{_suggestion(key, known)}"
                f" (known: {', '.join(known)})"
            )
    missing = [key for key in required if key not in content]
    if missing:
        raise PlanFileError(f"{where} has no {', '.join(repr(key) for key in missing)}")


def _member(kind: type[EnumType]) -> Callable[[object, str], EnumType]:
    def read(value: object, where: str) -> EnumType:
        name = _text(value, where)
        names = [member.name for member in kind]
        if name not in names:
            raise PlanFileError(
                f"{where} is {name!r}, which is no {kind.__name__}{_suggestion(name, names)}"
                f" (known: {', '.join(names)})"
            )
        return kind[name]

    return read


class _Part(NamedTuple):
    """One entry of an object that may also be written as a list."""

    name: str
    read: Callable[[object, str], Any]
    optional: bool = False


def _parts(value: object, where: str, parts: Sequence[_Part]) -> list[Any]:
    """Values in the order of the parts, from an object with their names or a list in order."""
    names = [part.name for part in parts]
    required = [part.name for part in parts if not part.optional]
    if isinstance(value, list):
        if not len(required) <= len(value) <= len(parts):
            raise PlanFileError(
                f"{where} must be [{', '.join(names)}], but has {len(value)} entries"
            )
        value = dict(zip(names, value, strict=False))
    elif isinstance(value, dict):
        _check_keys(value, where, required, [part.name for part in parts if part.optional])
    else:
        raise _wrong(where, f"an object or a list with {', '.join(names)}", value)
    return [
        None
        if part.optional and value.get(part.name) is None
        else part.read(value[part.name], f"{where}.{part.name}")
        for part in parts
    ]


_HEAD = (
    _Part("boxes", _integer),
    _Part("scores", _integer),
    _Part("objectness", _integer, optional=True),
    _Part("extra", _integer, optional=True),
    _Part("sizes", _integer, optional=True),
)
_QUANTIZATION = (_Part("dequant_scale", _number), _Part("zero_point", _integer))
_ANCHOR = (_Part("width", _number), _Part("height", _number))
_AFFINE = tuple(_Part(name, _number) for name in Affine._fields)
_TILES = tuple(_Part(name, _integer) for name in ("tile_h", "tile_w", "tile_c"))


def _heads(value: object, where: str) -> list[Head]:
    heads = _list(value, where)
    return [Head(*_parts(head, f"{where}[{i}]", _HEAD)) for i, head in enumerate(heads)]


def _quantization(value: object, where: str) -> dict[int, Quantization]:
    entries = {}
    for key, entry in _object(value, where).items():
        if not (key.isascii() and key.isdecimal() and len(key) <= 18):
            raise PlanFileError(f'{where} has the key {key!r}; keys are ports, such as "0"')
        port = int(key)
        if port in entries:
            raise PlanFileError(f"{where} names port {port} twice")
        entries[port] = Quantization(*_parts(entry, f"{where}[{key}]", _QUANTIZATION))
    return entries


def _anchors(value: object, where: str) -> list[list[Anchor]]:
    return [
        [
            Anchor(*_parts(anchor, f"{where}[{i}][{j}]", _ANCHOR))
            for j, anchor in enumerate(_list(head, f"{where}[{i}]"))
        ]
        for i, head in enumerate(_list(value, where))
    ]


def _single(value: object, where: str, known: Sequence[str]) -> tuple[str, Any]:
    """The only key and value of an object such as {"Affine": [1, 0, 1, 0]}."""
    content = _object(value, where)
    if len(content) != 1:
        raise PlanFileError(f"{where} must have one key, one of {', '.join(known)}")
    _check_keys(content, where, (), known)
    return next(iter(content.items()))


def _resize(value: object, where: str) -> ResizePolicy | Affine:
    if isinstance(value, str):
        if value == "Affine":
            raise PlanFileError(
                f'{where}: Affine needs its numbers: {{"Affine": [{", ".join(Affine._fields)}]}}'
            )
        return _member(ResizePolicy)(value, where)
    _, numbers = _single(value, where, ("Affine",))
    return Affine(*_parts(numbers, f"{where}.Affine", _AFFINE))


def _layout(value: object, where: str) -> Contiguous | Planar | Strided | MlaCBlocked | MlaTiled:
    known = ("Contiguous", "Planar", "Strided", "MlaCBlocked", "MlaTiled")
    if isinstance(value, str):
        if value == "Contiguous":
            return Contiguous()
        if value == "Planar":
            return Planar()
        if value in known:
            numbers = "[strides]" if value == "Strided" else "[tile_h, tile_w, tile_c]"
            raise PlanFileError(f'{where}: {value} needs its numbers: {{"{value}": {numbers}}}')
        raise PlanFileError(
            f"{where} is {value!r}, which is no layout{_suggestion(value, known)}"
            f" (known: {', '.join(known)})"
        )
    name, numbers = _single(value, where, known)
    if name == "Strided":
        return Strided(_integers(numbers, f"{where}.Strided"))
    if name in ("Contiguous", "Planar"):
        raise PlanFileError(f'{where}: {name} has no numbers: write "{name}"')
    kind = MlaCBlocked if name == "MlaCBlocked" else MlaTiled
    return kind(*_parts(numbers, f"{where}.{name}", _TILES))


def _input(value: object, where: str) -> tuple[str | None, TensorSpec]:
    content = _object(value, where)
    _check_keys(content, where, ("shape", "dtype"), ("layout", "name"))
    shape = _integers(content["shape"], f"{where}.shape")
    dtype = _member(DType)(content["dtype"], f"{where}.dtype")
    layout = _layout(content.get("layout", "Contiguous"), f"{where}.layout")
    name = None if content.get("name") is None else _text(content["name"], f"{where}.name")
    return name, TensorSpec(shape, dtype, layout)


_REQUIRED: dict[str, Callable[[object, str], Any]] = {
    "profile": _member(Profile),
    "heads": _heads,
    "model_input_size": _size,
    "num_classes": _integer,
    "max_detections": _integer,
    "detection_threshold": _number,
    "nms_iou_threshold": _number,
}
_OPTIONAL: dict[str, Callable[[object, str], Any]] = {
    "task": _member(Task),
    "mask_prototype": _integer,
    "score_activation": _member(ScoreActivation),
    "quantization": _quantization,
    "num_keypoints": _integer,
    "anchors": _anchors,
    "resize": _resize,
    "mask_encoding": _member(MaskEncoding),
    "class_agnostic": _boolean,
    "box_unit": _member(BoxUnit),
    "anchor_scale": _number,
    "box_activation": _member(ScoreActivation),
    "peak_window": _integer,
    "suppression_corners": _member(SuppressionCorners),
    "one_class_uses_objectness": _boolean,
    "keypoint_unit": _member(BoxUnit),
    "keypoint_dims": _integer,
}
