"""Arguments whose own code runs while a call reads them, and masked arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from boxdecode import Decoder, Error, ErrorCode, Plan, ResizePolicy, TensorSpec, ops

Array = Any


class Exporter:
    """An array of another library; exporting it runs an action first."""

    def __init__(self, array: Array, action: Callable[[], None]) -> None:
        self._array = array
        self._action = action

    def __dlpack__(self, **_: Any) -> Any:
        self._action()
        return self._array.__dlpack__()

    def __dlpack_device__(self) -> Any:
        return self._array.__dlpack_device__()


class Items:
    """A sequence that runs an action as it is read."""

    def __init__(self, items: list[Any], action: Callable[[], None]) -> None:
        self._items = items
        self._action = action

    def __iter__(self) -> Iterator[Any]:
        self._action()
        return iter(self._items)


def shrink(array: Array) -> Callable[[], None]:
    def action() -> None:
        array.resize((1,), refcheck=False)

    return action


def flat(arrays: list[Array]) -> list[Array]:
    """Arrays that own their memory, in one dimension."""
    return [array.reshape(-1).copy() for array in arrays]


def test_an_input_resized_by_a_later_input_is_refused(plan: Plan, frame: Any) -> None:
    """The memory of inputs[0] is gone when inputs[3] has been read: reading it would be a fault."""
    heads = flat(frame((1, 1, 0, 1, 0.5)))
    heads[3] = Exporter(heads[3], shrink(heads[0]))
    geometry = plan.with_image_size((10, 10))
    for call in (plan.execute, geometry.execute):
        heads[0].resize((128,), refcheck=False)
        with pytest.raises(Error, match="resized") as caught:
            call(plan.create_context(), heads, plan.allocate_outputs())
        assert (caught.value.code, caught.value.field) == (ErrorCode.InvalidBuffer, "inputs[0]")


def test_an_input_resized_as_the_outputs_are_read_is_refused(plan: Plan, frame: Any) -> None:
    heads = flat(frame((1, 1, 0, 1, 0.5)))
    outputs = Items(plan.allocate_outputs(), shrink(heads[1]))
    with pytest.raises(Error, match="resized") as caught:
        plan.execute(plan.create_context(), heads, outputs)  # type: ignore[arg-type]
    assert caught.value.field == "inputs[1]"


def test_an_input_resized_before_it_is_read_does_not_fit(plan: Plan, frame: Any) -> None:
    heads = flat(frame((1, 1, 0, 1, 0.5)))
    inputs = Items(heads, shrink(heads[0]))
    with pytest.raises(Error) as caught:
        plan.execute(plan.create_context(), inputs, plan.allocate_outputs())  # type: ignore[arg-type]
    assert (caught.value.code, caught.value.field) == (ErrorCode.InvalidBuffer, "inputs[0]")


def test_an_exported_buffer_cannot_be_resized(plan: Plan, frame: Any) -> None:
    """A bytearray says no while a call holds it; the call fails with that very error."""
    heads = flat(frame((1, 1, 0, 1, 0.5)))
    held = bytearray(heads[0].tobytes())
    seen: list[str] = []

    def grow() -> None:
        try:
            held.extend(b"x")
        except BufferError as error:
            seen.append(str(error))

    inputs = [held, *heads[1:3], Exporter(heads[3], grow)]
    outputs = plan.allocate_outputs()
    plan.execute(plan.create_context(), inputs, outputs)
    assert len(seen) == 1
    assert outputs[3][0] == 1
    held.extend(b"x")  # and lets go afterwards


def test_a_decoder_in_a_decoder(plan: Plan, frame: Any) -> None:
    """The inner call takes a context of its own; both give what they give alone."""
    decoder = Decoder(plan)
    inner: list[Any] = []
    heads = frame((1, 1, 0, 1, 0.5))
    expected = decoder(heads).boxes.tolist()
    other = frame((2, 2, 1, 1, 0.75))
    heads[3] = Exporter(heads[3], lambda: inner.append(decoder(other)))
    assert decoder(heads).boxes.tolist() == expected
    assert [found.boxes.tolist() for found in inner] == [decoder(other).boxes.tolist()]


class Shrinking:
    """A number that shortens a list as it is read."""

    def __init__(self, items: list[Any], value: Any) -> None:
        self._items = items
        self._value = value

    def __index__(self) -> int:
        del self._items[1:]
        return int(self._value)

    def __float__(self) -> float:
        del self._items[1:]
        return float(self._value)


def test_lists_that_shrink_as_a_plan_reads_them(arguments: Any) -> None:
    """An error or a plan, of what was there; never a fault."""
    names = ("model_input_size", "original_image_size", "num_classes", "detection_threshold")
    for name in names:
        changed = arguments()
        heads = list(changed["heads"])
        value = changed[name]
        hostile = (
            (Shrinking(heads, value[0]), value[1])
            if isinstance(value, tuple)
            else Shrinking(heads, value)
        )
        # The heads are read before or after that number; a plan of one head lacks none.
        made = Plan(**(changed | {"heads": heads, name: hostile}))
        assert len(made.params.heads) in (1, 2)
    sides: list[Any] = [1, 4, 8, 4]
    sides[0] = Shrinking(sides, 1)
    assert TensorSpec(sides, arguments()["inputs"][0].dtype).shape == (1,)
    port: list[Any] = [0, 1]
    port[0] = Shrinking(port, 0)
    assert Plan(**arguments(heads=[port, (2, 3)])).params.heads[0][:2] == (0, 1)


class Pairs:
    def __init__(self, pairs: list[Any]) -> None:
        self._pairs = pairs

    def __getitem__(self, key: Any) -> Any:
        raise KeyError(key)

    def items(self) -> list[Any]:
        return self._pairs


@pytest.mark.parametrize("pair", [3, None, (), (1,), (1, (1.0, 0), 2)])
def test_a_mapping_of_no_pairs_is_refused(arguments: Any, pair: Any) -> None:
    with pytest.raises((Error, TypeError), match="quantization"):
        Plan(**arguments(quantization=Pairs([pair])))


def test_an_array_below_the_mask_of_an_input_is_refused(plan: Any, frame: Any) -> None:
    heads, outputs = frame((1, 1, 0, 1, 0.5)), plan.allocate_outputs()
    context = plan.create_context()
    mask = heads[1] > 0
    wrong = [heads[0], np.ma.array(heads[1], mask=mask), *heads[2:]]
    with pytest.raises(Error, match="MaskedArray") as caught:
        plan.execute(context, wrong, outputs)
    assert (caught.value.code, caught.value.field) == (ErrorCode.InvalidBuffer, "inputs[1]")
    with pytest.raises(Error, match="MaskedArray"):
        Decoder(plan)(wrong)


@pytest.mark.parametrize("kind", [KeyboardInterrupt, ZeroDivisionError, MemoryError])
def test_what_a_number_raises_comes_out(arguments: Any, kind: type[BaseException]) -> None:
    """A Ctrl-C that is noticed as a number is read is no wrong type."""

    class Number:
        def __index__(self) -> int:
            raise kind

        def __float__(self) -> float:
            raise kind

    number: Any = Number()
    boxes, scores = np.zeros((1, 4), np.float32), np.zeros(1, np.float32)
    for name in ("num_classes", "max_detections", "detection_threshold", "nms_iou_threshold"):
        with pytest.raises(kind):
            Plan(**arguments(**{name: number}))
    with pytest.raises(kind):
        ops.nms(boxes, scores, number)
    with pytest.raises(kind):
        ops.nms(boxes, scores, 0.5, max_detections=number)
    with pytest.raises(kind):
        ops.clip_boxes(boxes, (number, 1))
    with pytest.raises(kind):
        ops.scale_boxes(boxes, (number, 1), (1, 1), ResizePolicy.Stretch)


def test_of_an_array_and_a_number_the_array_is_named_first() -> None:
    with pytest.raises(Error) as caught:
        ops.nms(np.zeros((1, 3), np.float32), np.zeros(1, np.float32), 2)
    assert caught.value.field == "boxes"
