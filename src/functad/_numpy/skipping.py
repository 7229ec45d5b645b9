"""Reductions that skip NaN.  What is skipped is masked out, so it takes no part in a derivative."""

from collections.abc import Callable

import numpy as np

from functad._core.program import Literal
from functad._core.types import array_type
from functad._numpy.arguments import NO_VALUE, Axes, DTypeLike, Operand, Result, Value, given
from functad._numpy.dispatch import implements, refuse
from functad._numpy.promote import as_bool, broadcast_to, cast, operand
from functad._numpy.reducing import (
    count_of,
    degrees,
    extreme_door,
    extreme_of,
    fold,
    inexact_dtype,
    mean_of,
    place_door,
    running_door,
    square_size,
    sum_of,
    total_door,
)
from functad._numpy.ufuncs import apply_ufunc
from functad._primitives import cumulative, logic, reduce
from functad._primitives import elementwise as e

__all__: list[str] = []


def _replacing(value: float) -> Callable[[Operand], Result]:
    """Reads an array with this value in the place of NaN."""

    def read(a: Operand) -> Result:
        x = operand(a)
        return logic.select(logic.isnan(x), Literal(value, x.type), x) if x.type.dtype.kind in "fc" else x

    return read


def _counted(x: Value, where: Operand) -> Result:
    """The mask of what counts: a number, and in `where`."""
    present = logic.logical_not(logic.isnan(x)) if x.type.dtype.kind in "fc" else Literal(True, array_type(x.type.shape, np.bool_))
    if where is NO_VALUE or where is True:
        return present
    return logic.logical_and(present, broadcast_to(as_bool(where), x.type.shape))


total_door(np.nansum, np.add, read=_replacing(0))
total_door(np.nanprod, np.multiply, read=_replacing(1))
place_door(np.nanargmax, reduce.argmax, read=_replacing(-np.inf))
place_door(np.nanargmin, reduce.argmin, read=_replacing(np.inf))
running_door(np.nancumsum, cumulative.cumsum, read=_replacing(0))
running_door(np.nancumprod, cumulative.cumprod, read=_replacing(1))


@implements(np.nanmean, numeric=("a", "where"), structural=("axis",))
def nanmean(
    a: Operand, axis: Axes = None, dtype: DTypeLike = None, out: object = None, keepdims: bool = NO_VALUE, *, where: Operand = NO_VALUE
) -> Result:
    x = operand(a)
    return mean_of(x, axis, keepdims, _counted(x, where), dtype)


def _variance(a: Operand, axis: Axes, dtype: DTypeLike, ddof: Operand, keepdims: bool, where: Operand, mean: Operand) -> Result:
    x = operand(a)
    if dtype is not None and np.dtype(dtype).kind != "f":
        refuse("nanvar", "dtype", dtype, "a spread is real: give a floating-point one")
    x = cast(x, dtype if dtype is not None else inexact_dtype(x.type.dtype))
    mask = _counted(x, where)
    centre = operand(mean) if given(mean) else mean_of(x, axis, True, mask)
    total = sum_of(square_size(apply_ufunc(np.subtract, x, centre)), axis, keepdims, mask)
    count = apply_ufunc(np.subtract, count_of(x, axis, keepdims, mask, total.type.dtype), ddof)
    found = apply_ufunc(np.true_divide, total, count)
    enough = apply_ufunc(np.greater, count, 0)
    return logic.select(broadcast_to(enough, found.type.shape), found, Literal(np.nan, found.type))


def _spread_door(function: Operand, last: Callable[[Result], Result]) -> None:
    @implements(function, numeric=("a", "where", "mean"), structural=("axis", "ddof", "correction"))
    def implementation(
        a: Operand, axis: Axes = None, dtype: DTypeLike = None, out: object = None, ddof: Operand = 0, keepdims: bool = NO_VALUE, *,
        where: Operand = NO_VALUE, mean: Operand = NO_VALUE, correction: Operand = NO_VALUE,
    ) -> Result:  # fmt: skip
        return last(_variance(a, axis, dtype, degrees(ddof, correction), keepdims, where, mean))


_spread_door(np.nanvar, lambda variance: variance)
_spread_door(np.nanstd, e.root)


def _extreme(name: str, a: Operand, axis: Axes, keepdims: bool, initial: Operand, where: Operand) -> Result:
    x = operand(a)
    if x.type.dtype.kind != "f":
        return extreme_of(name, x, axis, keepdims, initial, where)
    found = extreme_of(name, _replacing(-np.inf if name == "max" else np.inf)(x), axis, keepdims, initial, where)
    present = fold(reduce.reduce_any, _counted(x, where), axis, keepdims)
    return logic.select(present, found, Literal(np.nan, found.type)) if initial is NO_VALUE else found


extreme_door(np.nanmax, extreme=_extreme, name="max")
extreme_door(np.nanmin, extreme=_extreme, name="min")
