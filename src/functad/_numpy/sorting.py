"""Sorting, ranking, and what is read off a sorted array: medians, quantiles, places."""

from collections.abc import Callable

import numpy as np

from functad._core.program import Literal
from functad._core.tracer import Tracer, install
from functad._core.types import array_type
from functad._numpy.arguments import NO_VALUE, Axes, Operand, Result, Value, axes_of, axis_of, given, kept
from functad._numpy.dispatch import DOORS, implements, refuse
from functad._numpy.promote import cast, operand, promote, ravelled, with_shape
from functad._numpy.reducing import mean_of
from functad._numpy.shaping import part, stacked, transposed, unstacked
from functad._numpy.ufuncs import apply_ufunc
from functad._primitives import logic
from functad._primitives import sort as order
from functad._primitives.index import INT, along_axis, gather
from functad._primitives.reduce import reduce_any, reduce_sum

__all__ = ["sorted_along"]

_KINDS = (None, "quicksort", "mergesort", "heapsort", "stable")


def sorted_along(op: Operand, name: str, a: Operand, axis: Axes, kind: Operand, fields: Operand) -> Result:
    """sort or argsort over NumPy's `axis`."""
    if fields is not None:
        refuse(name, "order", fields)
    if kind not in _KINDS:
        raise ValueError(f"sort kind must be one of 'quick', 'heap', or 'stable' (got {kind!r})")
    x, axis = ravelled(operand(a), axis)
    return op(x, axis=axis)


def _kind_of(kind: Operand, stable: Operand) -> Result:
    """The one algorithm there is, a stable one, whichever way it is asked for."""
    if kind is not None and stable is not None:
        raise ValueError("`kind` and `stable` parameters can't be provided at the same time. Use only one of them.")
    return kind


@implements(np.sort, numeric=("a",), structural=("axis",))
def sort(a: Operand, axis: Axes = -1, kind: Operand = None, order: Operand = None, *, stable: Operand = None) -> Result:
    return sorted_along(_SORT, "sort", a, axis, _kind_of(kind, stable), order)


@implements(np.argsort, numeric=("a",), structural=("axis",), method="argsort")
def argsort(a: Operand, axis: Axes = -1, kind: Operand = None, order: Operand = None, *, stable: Operand = None) -> Result:
    return sorted_along(_ARGSORT, "argsort", a, axis, _kind_of(kind, stable), order)


@implements(np.partition, numeric=("a",), structural=("kth", "axis"))
def partition(a: Operand, kth: Operand, axis: Axes = -1, kind: str = "introselect", order: Operand = None) -> Result:
    return sorted_along(_SORT, "partition", a, axis, None, order)  # a sorted array is partitioned everywhere


@implements(np.argpartition, numeric=("a",), structural=("kth", "axis"))
def argpartition(a: Operand, kth: Operand, axis: Axes = -1, kind: str = "introselect", order: Operand = None) -> Result:
    return sorted_along(_ARGSORT, "argpartition", a, axis, None, order)


_SORT, _ARGSORT = order.sort, order.argsort

# ---- medians and quantiles


def _lanes(x: Operand, axis: Axes) -> tuple[Result, tuple[int, ...]]:
    """(x sorted along one last axis, the shape that `keepdims` gives)."""
    axes = axes_of(axis, x.type.ndim)
    rest = [i for i in range(x.type.ndim) if i not in axes]
    flat = transposed(x, [*rest, *axes])
    lead = flat.type.shape[: len(rest)]
    flat = with_shape(flat, (*lead, int(np.prod(flat.type.shape[len(rest) :], dtype=np.int64))))
    return order.sort(flat, axis=len(rest)), kept(x.type, axes)


def _at(ranked: Operand, i: int) -> Result:
    axis = ranked.type.ndim - 1
    return with_shape(part(ranked, axis, i, 1), ranked.type.shape[:-1])


def _or_nan(ranked: Operand, out: Operand) -> Result:
    """NaN sorts last: a lane that has one gives it."""
    last = cast(_at(ranked, ranked.type.shape[-1] - 1), out.type.dtype)
    return logic.select(logic.isnan(last), last, out)


@implements(np.median, numeric=("a",), structural=("axis",))
def median(a: Operand, axis: Axes = None, out: object = None, overwrite_input: bool = False, keepdims: bool = False) -> Result:
    x = operand(a)
    if x.type.dtype.kind == "c":
        refuse("median", "a", x.type, "complex numbers have no order")
    ranked, whole = _lanes(cast(x, x.type.dtype if x.type.dtype.kind == "f" else np.float64), axis)
    n = ranked.type.shape[-1]
    if n == 0:
        found: Result = mean_of(ranked, ranked.type.ndim - 1)  # NaN, as NumPy
    else:
        found = mean_of(part(ranked, ranked.type.ndim - 1, (n - 1) // 2, 2 - n % 2), ranked.type.ndim - 1)
        found = _or_nan(ranked, found)
    return with_shape(found, whole) if keepdims else found


def _check_quantile(name: str, method: str, weights: object, interpolation: object) -> None:
    if method != "linear" or interpolation is not None:
        refuse(name, "method", method if interpolation is None else interpolation, "only 'linear' is known")
    if weights is not None:
        refuse(name, "weights", "...")


def _interpolated(ranked: Value, fraction: float) -> Result:
    """The value between two neighbours, as NumPy interpolates, so that both ends are exact."""
    last = ranked.type.shape[-1] - 1
    place = fraction * last
    low = min(int(np.floor(place)), last)
    below, above = _at(ranked, low), _at(ranked, min(low + 1, last))
    step, weight = apply_ufunc(np.subtract, above, below), place - low
    if weight < 0.5:
        return _or_nan(ranked, apply_ufunc(np.add, below, apply_ufunc(np.multiply, step, weight)))
    return _or_nan(ranked, apply_ufunc(np.subtract, above, apply_ufunc(np.multiply, step, 1 - weight)))


def _quantile_door(function: Operand, scale: int, between: Callable[[Result, float], Result]) -> None:
    name = function.__name__

    @implements(function, numeric=("a", "weights"), structural=("q", "axis"))
    def implementation(
        a: Operand, q: Operand, axis: Axes = None, out: object = None, overwrite_input: bool = False, method: str = "linear", keepdims: bool = False,
        *, weights: Operand = None, interpolation: Operand = None,
    ) -> Result:  # fmt: skip
        _check_quantile(name, method, weights, interpolation)
        x = operand(a)
        sample = np.zeros(1, np.float64 if x.type.dtype.kind == "b" else x.type.dtype)
        dtype = function(sample, q).dtype  # q takes part in promotion; NumPy refuses what is out of range
        ranked, whole = _lanes(cast(x, dtype), axis)
        fractions = np.asarray(q, dtype=np.float64) / scale
        found = [between(ranked, float(fraction)) if ranked.type.shape[-1] else _empty_lanes(ranked) for fraction in fractions.reshape(-1)]
        found = [with_shape(value, whole) if keepdims else value for value in found]
        if fractions.ndim == 0:
            return found[0]
        stack = stacked(found, 0)
        return with_shape(stack, (*fractions.shape, *stack.type.shape[1:]))


_quantile_door(np.quantile, 1, _interpolated)
_quantile_door(np.percentile, 100, _interpolated)

# ---- places in a sorted array


def search(x: Operand, v: Operand, side: str) -> Result:
    """searchsorted on operands, in one dtype."""
    x, v = operand(x), operand(v)
    if x.type.ndim != 1:
        raise ValueError("object too deep for desired array")
    common = np.result_type(x.type.dtype, v.type.dtype)
    return order.searchsorted(cast(x, common), cast(v, common), side=side, batch=0)


@implements(np.searchsorted, numeric=("a", "v", "sorter"))
def searchsorted(a: Operand, v: Operand, side: str = "left", sorter: Operand = None) -> Result:
    x = operand(a)
    if side not in ("left", "right"):
        raise ValueError(f"side must be 'left' or 'right' (got {side!r})")
    if sorter is not None:
        x = gather(x, cast(sorter, np.int64))
    return search(x, v, side)


install("searchsorted", lambda self, v, side="left", sorter=None: searchsorted(self, v, side, sorter))


def _digitize(x: Operand, bins: Operand, right: bool = False) -> Result:
    """np.digitize: places among bins that rise or fall; concrete bins say which, traced ones are taken to rise."""
    edges = bins if isinstance(bins, Tracer) else np.asarray(bins)
    if not isinstance(edges, Tracer) and len(edges) > 1 and edges[0] > edges[-1]:
        return len(edges) - _digitize(x, np.ascontiguousarray(edges[::-1]), right)
    return searchsorted(edges, x, "left" if right else "right")


DOORS[np.digitize] = _digitize


@implements(np.isin, numeric=("element", "test_elements"))
def isin(element: Operand, test_elements: Operand, assume_unique: bool = False, invert: bool = False, *, kind: Operand = None) -> Result:
    x, table = operand(element), operand(test_elements)
    table = with_shape(table, (table.type.size,))
    if table.type.size == 0:
        return Literal(invert, array_type(x.type.shape, np.bool_))
    column, row = promote(with_shape(x, (*x.type.shape, 1)), table)
    found = reduce_any(logic.equal(column, row), axes=(x.type.ndim,))
    return logic.logical_not(found) if invert else found


# ---- medians and quantiles that skip NaN: it sorts last, so a lane ends before its first one


def _numbers(ranked: Value) -> Result:
    """How many elements of each lane are no NaN, with an axis of length 1."""
    axis = ranked.type.ndim - 1
    present = logic.logical_not(logic.isnan(ranked))
    count = reduce_sum(logic.convert(present, dtype=INT), axes=(axis,))
    return with_shape(count, (*count.type.shape, 1))


def _at_each(ranked: Value, place: Value) -> Result:
    """The element at a place of its own in each lane; of a lane that is NaN throughout, NaN."""
    inside = apply_ufunc(np.maximum, place, 0)
    return with_shape(along_axis(ranked, inside, ranked.type.ndim - 1), ranked.type.shape[:-1])


def _empty_lanes(ranked: Value) -> Result:
    return Literal(np.nan, array_type(ranked.type.shape[:-1], ranked.type.dtype))


@implements(np.nanmedian, numeric=("a",), structural=("axis",))
def nanmedian(a: Operand, axis: Axes = None, out: object = None, overwrite_input: bool = False, keepdims: bool = NO_VALUE) -> Result:
    x = operand(a)
    if x.type.dtype.kind == "c":
        refuse("nanmedian", "a", x.type, "complex numbers have no order")
    ranked, whole = _lanes(cast(x, x.type.dtype if x.type.dtype.kind == "f" else np.float64), axis)
    if ranked.type.shape[-1] == 0:
        found = _empty_lanes(ranked)
    else:
        count = _numbers(ranked)
        below, above = (_at_each(ranked, apply_ufunc(np.floor_divide, apply_ufunc(np.subtract, count, k), 2)) for k in (1, 0))
        odd = with_shape(apply_ufunc(np.equal, apply_ufunc(np.remainder, count, 2), 1), below.type.shape)
        found = logic.select(odd, below, apply_ufunc(np.multiply, apply_ufunc(np.add, below, above), 0.5))
    return with_shape(found, whole) if given(keepdims) and keepdims else found


def _interpolated_each(ranked: Value, fraction: float) -> Result:
    """The value between two neighbours, at a place of its own in each lane."""
    last = apply_ufunc(np.subtract, _numbers(ranked), 1)
    place = apply_ufunc(np.multiply, cast(last, np.float64), fraction)
    low = apply_ufunc(np.floor, place)
    weight = cast(with_shape(apply_ufunc(np.subtract, place, low), ranked.type.shape[:-1]), ranked.type.dtype)
    first = cast(low, INT)
    below = _at_each(ranked, first)
    above = _at_each(ranked, apply_ufunc(np.minimum, apply_ufunc(np.add, first, 1), last))
    step = apply_ufunc(np.subtract, above, below)
    upward = apply_ufunc(np.add, below, apply_ufunc(np.multiply, step, weight))
    downward = apply_ufunc(np.subtract, above, apply_ufunc(np.multiply, step, apply_ufunc(np.subtract, 1, weight)))
    return logic.select(apply_ufunc(np.less, weight, 0.5), upward, downward)


_quantile_door(np.nanquantile, 1, _interpolated_each)
_quantile_door(np.nanpercentile, 100, _interpolated_each)

# ---- other orders


@implements(np.lexsort, numeric=("keys",), structural=("axis",))
def lexsort(keys: Operand, axis: int = -1) -> Result:
    """The last key decides first: stable orders after each other, from the first key on."""
    rows = [operand(k) for k in keys] if isinstance(keys, (list, tuple)) else unstacked(operand(keys))
    if not rows:
        raise TypeError("need sequence of keys with len > 0 in lexsort")
    if any(k.type.shape != rows[0].type.shape for k in rows):
        raise ValueError("all keys need to be the same shape")
    if rows[0].type.ndim == 0:
        return Literal(0, array_type((), INT))
    place = axis_of(axis, rows[0].type.ndim)
    out = order.argsort(rows[0], axis=place)
    for key in rows[1:]:
        out = along_axis(out, order.argsort(along_axis(key, out, place), axis=place), place)
    return out


@implements(np.sort_complex, numeric=("a",))
def sort_complex(a: Operand) -> Result:
    x = operand(a)
    ranked = order.sort(x, axis=x.type.ndim - 1)
    if x.type.dtype.kind == "c":
        return ranked
    return cast(ranked, np.complex64 if x.type.dtype.char in "bhBH" else np.complex128)
