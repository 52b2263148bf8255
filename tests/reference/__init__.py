"""An independent NumPy specification of the decoder.

Written from the contract alone. It shares no table and no code with the library under test, and it
is slow on purpose: every step is spelled as the contract writes it.
"""

from .decode import run
from .layouts import Contiguous, MlaCBlocked, Planar, Strided, pack, required_bytes
from .request import Affine, Head, RefusalError, Request, TensorSpec

__all__ = [
    "Affine",
    "Contiguous",
    "Head",
    "MlaCBlocked",
    "Planar",
    "RefusalError",
    "Request",
    "Strided",
    "TensorSpec",
    "pack",
    "required_bytes",
    "run",
]
