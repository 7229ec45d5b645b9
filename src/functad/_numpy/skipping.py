"""Reductions that skip NaN.  What is skipped is masked out, so it takes no part in a derivative."""

from typing import Any

import numpy as np

from functad._core.program import Literal
from functad._core.types import array_type
from functad._numpy.dispatch import NO_VALUE, implements
from functad._numpy.promote import as_bool, broadcast_to, cast, operand
from functad._numpy.reducing import count_of, extreme_of, fold, mean_of, no_out, place_of, prod_of, running, sum_of, with_initial
from functad._numpy.ufuncs import apply_ufunc
from functad._primitives import cumulative, logic, reduce
from functad._primitives import elementwise as e

__all__: list[str] = []

_DATA = ("a", "initial", "where")


def _present(x: Any) -> Any:
    """Where x is a number."""
    if x.type.dtype.kind not in "fc":
        return Literal(True, array_type(x.type.shape, np.bool_))
    return logic.logical_not(logic.isnan(x))


def _replaced(x: Any, value: Any) -> Any:
    return x if x.type.dtype.kind not in "fc" else logic.select(logic.isnan(x), Literal(value, x.type), x)


def _counted(x: Any, where: Any) -> Any:
    """The mask of what counts: present, and in `where`."""
    if where is NO_VALUE or where is True:
        return _present(x)
    return logic.logical_and(_present(x), broadcast_to(as_bool(where), x.type.shape))


@implements(np.nansum, numeric=_DATA, structural=("axis",))
def nansum(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = NO_VALUE, initial: Any = NO_VALUE, where: Any = NO_VALUE
) -> Any:
    no_out("nansum", out)
    return with_initial(np.add, sum_of(_replaced(operand(a), 0), axis, keepdims, where, dtype), initial)


@implements(np.nanprod, numeric=_DATA, structural=("axis",))
def nanprod(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = NO_VALUE, initial: Any = NO_VALUE, where: Any = NO_VALUE
) -> Any:
    no_out("nanprod", out)
    return with_initial(np.multiply, prod_of(_replaced(operand(a), 1), axis, keepdims, where, dtype), initial)


@implements(np.nanmean, numeric=("a", "where"), structural=("axis",))
def nanmean(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = NO_VALUE, *, where: Any = NO_VALUE) -> Any:
    no_out("nanmean", out)
    x = operand(a)
    return mean_of(x, axis, keepdims, _counted(x, where), dtype)


def _spread(name: str, a: Any, axis: Any, dtype: Any, out: Any, ddof: Any, keepdims: Any, where: Any) -> Any:
    no_out(name, out)
    x = operand(a)
    x = cast(x, dtype if dtype is not None else x.type.dtype if x.type.dtype.kind in "fc" else np.float64)
    mask = _counted(x, where)
    apart = apply_ufunc(np.subtract, x, mean_of(x, axis, True, mask))
    square = e.add(e.square(logic.real(apart)), e.square(logic.imag(apart))) if x.type.dtype.kind == "c" else e.square(apart)
    total = sum_of(square, axis, keepdims, mask)
    count = apply_ufunc(np.subtract, count_of(x, axis, keepdims, mask, total.type.dtype), ddof)
    out = apply_ufunc(np.true_divide, total, count)
    enough = apply_ufunc(np.greater, count, 0)
    return logic.select(broadcast_to(enough, out.type.shape), out, Literal(np.nan, out.type))


@implements(np.nanvar, numeric=("a", "where"), structural=("axis", "ddof"))
def nanvar(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = NO_VALUE, *, where: Any = NO_VALUE) -> Any:
    return _spread("nanvar", a, axis, dtype, out, ddof, keepdims, where)


@implements(np.nanstd, numeric=("a", "where"), structural=("axis", "ddof"))
def nanstd(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = NO_VALUE, *, where: Any = NO_VALUE) -> Any:
    return e.root(_spread("nanstd", a, axis, dtype, out, ddof, keepdims, where))


def _skipping_extreme(name: str, a: Any, axis: Any, keepdims: Any, initial: Any, where: Any) -> Any:
    x = operand(a)
    if x.type.dtype.kind != "f":
        return extreme_of(name, x, axis, keepdims, initial, where)
    lowest = -np.inf if name == "max" else np.inf
    out = extreme_of(name, _replaced(x, lowest), axis, keepdims, initial, where)
    present = fold(reduce.reduce_any, _counted(x, where), axis, keepdims)
    return logic.select(present, out, Literal(np.nan, out.type)) if initial is NO_VALUE else out


@implements(np.nanmax, numeric=_DATA, structural=("axis",))
def nanmax(a: Any, axis: Any = None, out: Any = None, keepdims: Any = NO_VALUE, initial: Any = NO_VALUE, where: Any = NO_VALUE) -> Any:
    no_out("nanmax", out)
    return _skipping_extreme("max", a, axis, keepdims, initial, where)


@implements(np.nanmin, numeric=_DATA, structural=("axis",))
def nanmin(a: Any, axis: Any = None, out: Any = None, keepdims: Any = NO_VALUE, initial: Any = NO_VALUE, where: Any = NO_VALUE) -> Any:
    no_out("nanmin", out)
    return _skipping_extreme("min", a, axis, keepdims, initial, where)


@implements(np.nanargmax, numeric=("a",), structural=("axis",))
def nanargmax(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = NO_VALUE) -> Any:
    no_out("nanargmax", out)
    return place_of(reduce.argmax, _replaced(operand(a), -np.inf), axis, keepdims)


@implements(np.nanargmin, numeric=("a",), structural=("axis",))
def nanargmin(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = NO_VALUE) -> Any:
    no_out("nanargmin", out)
    return place_of(reduce.argmin, _replaced(operand(a), np.inf), axis, keepdims)


@implements(np.nancumsum, numeric=("a",), structural=("axis",))
def nancumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    no_out("nancumsum", out)
    return running(cumulative.cumsum, _replaced(operand(a), 0), axis, dtype)


@implements(np.nancumprod, numeric=("a",), structural=("axis",))
def nancumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    no_out("nancumprod", out)
    return running(cumulative.cumprod, _replaced(operand(a), 1), axis, dtype)
