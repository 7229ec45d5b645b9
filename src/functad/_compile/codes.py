"""The dtypes that kernels know, and the codes by which sources and mathlib's helpers name them."""

from typing import Any

import numpy as np

from functad._core.program import Atom

__all__ = ["CODES", "DTYPES", "code_of"]

CODES: dict[np.dtype[Any], str] = {
    np.dtype(name): code
    for name, code in (
        ("float64", "f8"), ("float32", "f4"), ("int64", "i8"), ("int32", "i4"), ("int16", "i2"), ("int8", "i1"),
        ("uint64", "u8"), ("uint32", "u4"), ("uint16", "u2"), ("uint8", "u1"),
        ("bool", "b1"), ("complex128", "c16"), ("complex64", "c8"),
    )
}  # fmt: skip
DTYPES = {code: dtype for dtype, code in CODES.items()}


def code_of(atom: Atom) -> str:
    """The code of an atom's dtype; KeyError where kernels do not know it."""
    return CODES[atom.type.dtype]
