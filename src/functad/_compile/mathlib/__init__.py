"""The functions that a kernel's source may call beyond Python's operators.

What lives here: vector mathematics without branches (`exponential`, `logarithm`, `trigonometric`, `special`), NumPy's
arithmetic (`arithmetic`, `complex_numbers`), BLAS (`blas`), the table of them all (`table`), and how they reach LLVM
(`values`, `functions`, `intrinsics`).
What it may assume: numba and llvmlite may be imported, since nothing here runs before the first compile; this file
imports neither.
What it promises: right values (a few units in the last place, checked against mpmath) for zeros, subnormals,
infinities, NaN and huge arguments; no helper inherits a fast-math flag or an error model from the kernel that calls
it.

Names carry the kind of number: `sin_f8(x)`, `pow_f4(x, y)`, `floor_divide_i8(x, y)`.  Beside them: `select(condition, yes, no)`,
`offset(pointer, count)`, constructors `f8, f4, i8, ... c16`, `inf`, `nan`, and `gemm_f8` and its kin.
"""

from __future__ import annotations

from typing import Any

__all__ = ["CONSTRUCTORS", "has_helper", "lookup"]

CONSTRUCTORS = {
    **{f"{sign}{size}": f"{word}{8 * size}" for sign, word in (("i", "int"), ("u", "uint")) for size in (1, 2, 4, 8)},
    "f8": "float64",
    "f4": "float32",
    "c16": "complex128",
    "c8": "complex64",
    "b1": "bool_",
}
_LIMITS = {"inf": float("inf"), "nan": float("nan")}


def lookup(name: str, careful: bool = False) -> Any:
    """What `name` means in a kernel's source; `careful` as in Note [doubt] of `functions`.

    Raises
    ------
    KeyError
        If there is no such helper; the caller then runs NumPy instead.
    """
    import numpy as np

    from . import blas, intrinsics

    if name in _LIMITS:
        return _LIMITS[name]
    if name in CONSTRUCTORS:
        return getattr(np, CONSTRUCTORS[name])
    if name == "select":
        return intrinsics.select()
    if name == "offset":
        return intrinsics.offset()
    if name in blas.ROUTINES:
        return blas.numba_routine(name)
    return intrinsics.numba_helper(name, careful)


def has_helper(name: str) -> bool:
    """Whether `lookup(name)` would succeed; imports llvmlite, not numba."""
    from . import blas
    from .table import HELPERS

    return name in HELPERS or name in _LIMITS or name in CONSTRUCTORS or name in ("select", "offset") or name in blas.ROUTINES
