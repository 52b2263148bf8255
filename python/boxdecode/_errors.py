"""The exceptions of boxdecode."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from boxdecode._core import ErrorCode


class Error(ValueError):
    """A request, a frame or an argument that is refused.

    ``code`` says what kind of thing is wrong, ``field`` where (a path such as ``"inputs[0]"`` or
    ``"params.quantization[3].dequant_scale"``), ``message`` what was seen and what would do.
    """

    code: ErrorCode
    field: str
    message: str

    def __init__(self, code: ErrorCode, field: str, message: str) -> None:
        super().__init__(code, field, message)
        self.code = code
        self.field = field
        self.message = message

    def __str__(self) -> str:
        return self.message


class ContextBusy(Error):
    """Another call is using the context: take another one, or wait and call again."""


class FloatEnvironment(Error):
    """This thread's floating-point state is not the IEEE default.

    The usual cause is a shared library built with -ffast-math, which sets flush-to-zero as it is
    loaded; threads that start later inherit it.
    """
