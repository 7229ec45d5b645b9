"""What NumPy's functions take and give, as types, and the arguments that many of them share: axes, `keepdims`, "not given"."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from functad._core.program import Literal
from functad._core.tracer import Tracer
from functad._core.types import ArrayType

__all__ = [
    "NO_VALUE", "Array", "Axes", "DType", "DTypeLike", "Implementation", "Operand", "Result", "Value", "axes_of", "axis_of", "given", "kept",
]  # fmt: skip

Operand = Any  # what a user may pass where an array is wanted; an implementation finds a tracer, a literal, a Python number or a list of them
Value = Tracer | Literal  # what an implementation computes with
Result = Any  # one Value, or as many as NumPy gives: primitives are not typed, since some give several
Implementation = Callable[..., Result]
DType = np.dtype[Any]
Array = np.ndarray[Any, Any]
Axes = int | Sequence[int] | None
DTypeLike = npt.DTypeLike | None  # None: the dtype that NumPy would choose

NO_VALUE: Any = np._NoValue  # NumPy's own marker of "not given"


def given(x: object) -> bool:
    """Whether an argument was given, None counting as not."""
    return x is not NO_VALUE and x is not None


def axes_of(axis: Axes, ndim: int) -> tuple[int, ...]:
    """The axes as sorted non-negative numbers; None means all."""
    if axis is None:
        return tuple(range(ndim))
    return tuple(sorted(normalize_axis_tuple(axis, ndim, "axis")))


def axis_of(axis: Axes, ndim: int) -> int:
    """A non-negative axis, or NumPy's complaint, of a sequence as well."""
    return normalize_axis_index(axis, ndim)  # type: ignore[arg-type]


def kept(kind: ArrayType, axes: Sequence[int]) -> tuple[int, ...]:
    """The shape that `keepdims` gives a reduction over these axes."""
    return tuple(1 if i in axes else n for i, n in enumerate(kind.shape))
