"""Sorting, ranking, and what is read off a sorted array: medians, quantiles, places."""

import numpy as np

from functad._core.program import Literal
from functad._core.tracer import Tracer, install
from functad._core.types import array_type
from functad._numpy.arguments import Axes, Operand, Result, Value, axes_of, kept
from functad._numpy.dispatch import DOORS, implements, refuse
from functad._numpy.promote import cast, operand, promote, ravelled, with_shape
from functad._numpy.reducing import mean_of
from functad._numpy.shaping import part, stacked, transposed
from functad._numpy.ufuncs import apply_ufunc
from functad._primitives import logic
from functad._primitives import sort as order
from functad._primitives.index import gather
from functad._primitives.reduce import reduce_any

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


def _interpolated(ranked: Value, place: float) -> Result:
    """The value between two neighbours, as NumPy interpolates, so that both ends are exact."""
    last = ranked.type.shape[-1] - 1
    low = min(int(np.floor(place)), last)
    below, above = _at(ranked, low), _at(ranked, min(low + 1, last))
    step, weight = apply_ufunc(np.subtract, above, below), place - low
    if weight < 0.5:
        return _or_nan(ranked, apply_ufunc(np.add, below, apply_ufunc(np.multiply, step, weight)))
    return _or_nan(ranked, apply_ufunc(np.subtract, above, apply_ufunc(np.multiply, step, 1 - weight)))


def _quantile_door(function: Operand, scale: int) -> None:
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
        found = [_interpolated(ranked, float(fraction) * (ranked.type.shape[-1] - 1)) for fraction in fractions.reshape(-1)]
        found = [with_shape(value, whole) if keepdims else value for value in found]
        if fractions.ndim == 0:
            return found[0]
        stack = stacked(found, 0)
        return with_shape(stack, (*fractions.shape, *stack.type.shape[1:]))


_quantile_door(np.quantile, 1)
_quantile_door(np.percentile, 100)

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
