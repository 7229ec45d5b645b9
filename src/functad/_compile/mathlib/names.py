"""What a name means in a kernel's source; importing this file imports neither llvmlite nor numba.

Names carry the kind of number: `sin_f8(x)`, `pow_f4(x, y)`, `floor_divide_i8(x, y)`.  Beside them: `select(condition, yes, no)`,
`offset(pointer, count)`, constructors `f8, f4, i8, ... c16`, `inf`, `nan`, and `gemm_f8` and its kin.
"""

from typing import Any

from functad._compile.codes import DTYPES

__all__ = ["LIMITS", "has_helper", "lookup"]

LIMITS = {"inf": float("inf"), "nan": float("nan")}


def lookup(name: str, careful: bool = False) -> Any:
    """What `name` means in a kernel's source, `careful` as in Note [doubt] of `functions`; KeyError if there is no such helper."""
    from functad._compile.mathlib.blas import ROUTINES, numba_routine
    from functad._compile.mathlib.intrinsics import numba_helper, offset, select

    if name in LIMITS:
        return LIMITS[name]
    if name in DTYPES:
        return DTYPES[name].type
    if name == "select":
        return select()
    if name == "offset":
        return offset()
    if name in ROUTINES:
        return numba_routine(name)
    return numba_helper(name, careful)


def has_helper(name: str) -> bool:
    """Whether `lookup(name)` would succeed; imports llvmlite, not numba."""
    from functad._compile.mathlib.blas import ROUTINES
    from functad._compile.mathlib.table import HELPERS

    return name in HELPERS or name in LIMITS or name in DTYPES or name in ("select", "offset") or name in ROUTINES
