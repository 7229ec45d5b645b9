"""What a name in a kernel's source means: the one way into this room from a source.

What it promises: importing it imports neither numba nor llvmlite; `has_helper` imports llvmlite only.
"""

from typing import Any

import numpy as np

from functad._compile.mathlib.names import CONSTRUCTORS, LIMITS

__all__ = ["has_helper", "lookup"]


def lookup(name: str, careful: bool = False) -> Any:
    """What `name` means in a kernel's source; `careful` as in Note [doubt] of `functions`.

    Raises
    ------
    KeyError
        If there is no such helper; the caller then runs NumPy instead.
    """
    import functad._compile.mathlib.blas as blas
    import functad._compile.mathlib.intrinsics as intrinsics

    if name in LIMITS:
        return LIMITS[name]
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
    import functad._compile.mathlib.blas as blas
    from functad._compile.mathlib.table import HELPERS

    return name in HELPERS or name in LIMITS or name in CONSTRUCTORS or name in ("select", "offset") or name in blas.ROUTINES
