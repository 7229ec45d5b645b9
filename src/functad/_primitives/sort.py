"""Order: sorting, the permutation that sorts, and places in a sorted array.

The derivative of sorting follows the permutation that NumPy chose; the permutation itself is locally constant.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from functad._core.primitive import Host, Primitive
from functad._core.types import ArrayType, array_type
from functad._primitives.index import INT, along_axis
from functad._primitives.operands import Array, Example
from functad._primitives.rules import NOT_LINEAR, Batched, Flags, Inferred, Pushed, Transform, Values
from functad._primitives.shape import aligned
from functad.errors import ShapeMismatchError

__all__ = ["argsort", "searchsorted", "sort"]

Side = Literal["left", "right"]
_HOST = Host("a library routine in NumPy")
X = np.array([[0.5, -1.5, 2.0], [3.0, 0.25, 1.0]])


def _examples() -> Sequence[Example]:
    return [([X], {"axis": 0}), ([X], {"axis": 1}), ([X[0]], {"axis": 0}), ([np.array([1, 0, 1])], {"axis": 0})]


def _sort_jvp(transform: Transform, xs: Values, ts: Values, axis: int) -> Pushed:
    return [sort(xs[0], axis=axis)], [along_axis(ts[0], argsort(xs[0], axis=axis), axis)]


sort: Primitive = Primitive(
    name="sort",
    numpy=lambda x, axis: np.sort(x, axis),
    infer=lambda x, axis: (array_type(x.shape, x.dtype),),
    jvp=_sort_jvp,
    transpose=NOT_LINEAR,
    batch=lambda transform, xs, mapped, size, axis: ([sort(xs[0], axis=axis + 1)], [True]),
    kernel=_HOST,
    kind="order",
    examples=_examples,
)
argsort: Primitive = Primitive(
    name="argsort",
    numpy=lambda x, axis: np.argsort(x, axis, stable=True),
    infer=lambda x, axis: (array_type(x.shape, INT),),
    jvp=lambda transform, xs, ts, axis: ([argsort(xs[0], axis=axis)], [None]),
    transpose=NOT_LINEAR,
    batch=lambda transform, xs, mapped, size, axis: ([argsort(xs[0], axis=axis + 1)], [True]),
    kernel=_HOST,
    kind="order",
    examples=_examples,
    note="equal elements keep their order",
)


def _searchsorted_numpy(x: Array, values: Array, side: Side, batch: int) -> Array:
    if not batch:
        return np.asarray(np.searchsorted(x, values, side), np.int64)[()]
    out = np.empty(np.shape(values), np.int64)
    for lane in np.ndindex(np.shape(x)[:-1]):
        out[lane] = np.searchsorted(x[lane], values[lane], side)
    return out


def _searchsorted_infer(x: ArrayType, values: ArrayType, side: Side, batch: int) -> Inferred:
    if x.ndim != batch + 1 or x.shape[:batch] != values.shape[:batch]:
        raise ShapeMismatchError(f"searchsorted needs a sorted array of one dimension, not shape {x.shape[batch:]}")
    return (array_type(values.shape, INT),)


def _searchsorted_batch(transform: Transform, xs: Values, mapped: Flags, size: int, side: Side, batch: int) -> Batched:
    if not mapped[0] and batch == 0:
        return [searchsorted(*xs, side=side, batch=0)], [True]
    return [searchsorted(*aligned(xs, mapped, size), side=side, batch=batch + 1)], [True]


searchsorted: Primitive = Primitive(
    name="searchsorted",
    numpy=_searchsorted_numpy,
    infer=_searchsorted_infer,
    jvp=lambda transform, xs, ts, side, batch: ([searchsorted(*xs, side=side, batch=batch)], [None]),
    transpose=NOT_LINEAR,
    batch=_searchsorted_batch,
    kernel=_HOST,
    kind="order",
    examples=lambda: [([np.array([0.0, 1.0, 1.0, 4.0]), np.array([[-1.0, 1.0], [3.0, 9.0]])], {"side": s, "batch": 0}) for s in ("left", "right")],
    note="the leading `batch` axes number separate searches",
)
