"""Sorting, ranking, and what is read off a sorted array: medians, quantiles, places."""

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from functad._core.program import Literal
from functad._core.tracer import Tracer, install
from functad._core.types import array_type
from functad._numpy.dispatch import DOORS, implements, refuse
from functad._numpy.promote import cast, operand, promote, with_shape
from functad._numpy.reducing import axes_of, mean_of, no_out
from functad._numpy.shaping import part, transposed
from functad._numpy.ufuncs import apply_ufunc
from functad._primitives import logic
from functad._primitives import sort as order

__all__ = ["sorted_along"]

_KINDS = (None, "quicksort", "mergesort", "heapsort", "stable")


def sorted_along(op: Any, name: str, a: Any, axis: Any, kind: Any, fields: Any) -> Any:
    """sort or argsort over NumPy's `axis`."""
    if fields is not None:
        refuse(name, "order", fields)
    if kind not in _KINDS:
        raise ValueError(f"sort kind must be one of 'quick', 'heap', or 'stable' (got {kind!r})")
    x = operand(a)
    if axis is None:
        x, axis = with_shape(x, (x.type.size,)), 0
    return op(x, axis=normalize_axis_index(axis, x.type.ndim))


def _kind_of(kind: Any, stable: Any) -> Any:
    """The one algorithm there is, a stable one, whichever way it is asked for."""
    if kind is not None and stable is not None:
        raise ValueError("`kind` and `stable` parameters can't be provided at the same time. Use only one of them.")
    return kind


@implements(np.sort, numeric=("a",), structural=("axis",))
def sort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    return sorted_along(_SORT, "sort", a, axis, _kind_of(kind, stable), order)


@implements(np.argsort, numeric=("a",), structural=("axis",), method="argsort")
def argsort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    return sorted_along(_ARGSORT, "argsort", a, axis, _kind_of(kind, stable), order)


@implements(np.partition, numeric=("a",), structural=("kth", "axis"))
def partition(a: Any, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None) -> Any:
    return sorted_along(_SORT, "partition", a, axis, None, order)  # a sorted array is partitioned everywhere


@implements(np.argpartition, numeric=("a",), structural=("kth", "axis"))
def argpartition(a: Any, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None) -> Any:
    return sorted_along(_ARGSORT, "argpartition", a, axis, None, order)


_SORT, _ARGSORT = order.sort, order.argsort

# ---- medians and quantiles


def _lanes(x: Any, axis: Any) -> tuple[Any, tuple[int, ...], tuple[int, ...]]:
    """(x sorted along one last axis, axes that it stands for, shape with those axes 1)."""
    axes = axes_of(axis, x.type.ndim)
    rest = [i for i in range(x.type.ndim) if i not in axes]
    kept = tuple(1 if i in axes else n for i, n in enumerate(x.type.shape))
    flat = transposed(x, [*rest, *axes])
    lead = flat.type.shape[: len(rest)]
    flat = with_shape(flat, (*lead, int(np.prod(flat.type.shape[len(rest) :], dtype=np.int64))))
    return order.sort(flat, axis=len(rest)), axes, kept


def _at(ranked: Any, i: int) -> Any:
    axis = ranked.type.ndim - 1
    return with_shape(part(ranked, axis, i, 1), ranked.type.shape[:-1])


def _or_nan(ranked: Any, out: Any) -> Any:
    """NaN sorts last: a lane that has one gives it."""
    if ranked.type.dtype.kind != "f":
        return out
    last = cast(_at(ranked, ranked.type.shape[-1] - 1), out.type.dtype)
    return logic.select(logic.isnan(last), last, out)


@implements(np.median, numeric=("a",), structural=("axis",))
def median(a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: bool = False) -> Any:
    no_out("median", out)
    x = operand(a)
    if x.type.dtype.kind == "c":
        refuse("median", "a", x.type, "complex numbers have no order")
    ranked, _, kept = _lanes(cast(x, x.type.dtype if x.type.dtype.kind == "f" else np.float64), axis)
    n = ranked.type.shape[-1]
    if n == 0:
        found: Any = mean_of(ranked, ranked.type.ndim - 1)  # NaN, as NumPy
    else:
        found = mean_of(part(ranked, ranked.type.ndim - 1, (n - 1) // 2, 2 - n % 2), ranked.type.ndim - 1)
        found = _or_nan(ranked, found)
    return with_shape(found, kept) if keepdims else found


def _quantile(name: str, a: Any, q: Any, axis: Any, out: Any, method: str, keepdims: bool, weights: Any, interpolation: Any) -> Any:
    no_out(name, out)
    if method != "linear" or interpolation is not None:
        refuse(name, "method", method if interpolation is None else interpolation, "only 'linear' is known")
    if weights is not None:
        refuse(name, "weights", "...")
    x = operand(a)
    dtype = np.float64 if x.type.dtype.kind == "b" else getattr(np, name)(np.zeros(1, x.type.dtype), q).dtype  # q takes part in promotion
    ranked, _, kept = _lanes(cast(x, dtype), axis)
    n = ranked.type.shape[-1]
    fractions = np.asarray(q, dtype=np.float64) / (100 if name == "percentile" else 1)
    if not ((fractions >= 0) & (fractions <= 1)).all():
        raise ValueError("Percentiles must be in the range [0, 100]" if name == "percentile" else "Quantiles must be in the range [0, 1]")
    found = []
    for fraction in fractions.reshape(-1):
        place = float(fraction) * (n - 1)
        low = min(int(np.floor(place)), n - 1)
        high, weight = min(low + 1, n - 1), place - low
        below, above = _at(ranked, low), _at(ranked, high)
        step = apply_ufunc(np.subtract, above, below)
        if weight < 0.5:  # as NumPy interpolates, so that both ends are exact
            value = apply_ufunc(np.add, below, apply_ufunc(np.multiply, step, weight))
        else:
            value = apply_ufunc(np.subtract, above, apply_ufunc(np.multiply, step, 1 - weight))
        value = _or_nan(ranked, value)
        found.append(with_shape(value, kept) if keepdims else value)
    if fractions.ndim == 0:
        return found[0]
    from functad._numpy.shaping import stacked

    stack = stacked(found, 0)
    return with_shape(stack, (*fractions.shape, *stack.type.shape[1:]))


def _declare_quantile(function: Any) -> None:
    name = function.__name__

    def implementation(
        a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, method: str = "linear", keepdims: bool = False, *,
        weights: Any = None, interpolation: Any = None,
    ) -> Any:  # fmt: skip
        return _quantile(name, a, q, axis, out, method, keepdims, weights, interpolation)

    implements(function, numeric=("a", "weights"), structural=("q", "axis"))(implementation)


_declare_quantile(np.quantile)
_declare_quantile(np.percentile)

# ---- places in a sorted array


def search(x: Any, v: Any, side: str) -> Any:
    """searchsorted on operands, in one dtype."""
    x, v = operand(x), operand(v)
    if x.type.ndim != 1:
        raise ValueError("object too deep for desired array")
    common = np.result_type(x.type.dtype, v.type.dtype)
    return order.searchsorted(cast(x, common), cast(v, common), side=side, batch=0)


@implements(np.searchsorted, numeric=("a", "v", "sorter"))
def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    x = operand(a)
    if side not in ("left", "right"):
        raise ValueError(f"side must be 'left' or 'right' (got {side!r})")
    if sorter is not None:
        from functad._primitives.index import gather

        x = gather(x, cast(sorter, np.int64))
    return search(x, v, side)


install("searchsorted", lambda self, v, side="left", sorter=None: searchsorted(self, v, side, sorter))


def _digitize(x: Any, bins: Any, right: bool = False) -> Any:
    """np.digitize: places among bins that rise or fall; concrete bins say which, traced ones are taken to rise."""
    if isinstance(bins, Tracer):
        return searchsorted(bins, x, "left" if right else "right")
    edges = np.asarray(bins)
    if len(edges) > 1 and edges[0] > edges[-1]:
        return len(edges) - searchsorted(np.ascontiguousarray(edges[::-1]), x, "left" if right else "right")
    return searchsorted(edges, x, "left" if right else "right")


DOORS[np.digitize] = _digitize


@implements(np.isin, numeric=("element", "test_elements"))
def isin(element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, *, kind: Any = None) -> Any:
    x, table = operand(element), operand(test_elements)
    table = with_shape(table, (table.type.size,))
    if table.type.size == 0:
        return Literal(invert, array_type(x.type.shape, np.bool_))
    from functad._primitives.reduce import reduce_any

    column, row = promote(with_shape(x, (*x.type.shape, 1)), table)
    found = reduce_any(logic.equal(column, row), axes=(x.type.ndim,))
    return logic.logical_not(found) if invert else found
