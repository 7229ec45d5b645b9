"""Reading and adding at computed places, and counting along an axis.

`gather(x, i1, ..., ik)` is `x[i1, ..., ik]`: the indices are int64 arrays of one shape, non-negative and in range (the doors see to that), and
take the leading axes of x.  `scatter_add` is its transpose: what meets in one place adds up, and where nothing arrives is a structural zero.
"""

from collections.abc import Sequence

import numpy as np

from functad._core.primitive import Call, Host, Missing, Primitive
from functad._core.program import Literal
from functad._core.types import ArrayType, array_type
from functad._primitives.alive import passes_on
from functad._primitives.logic import counted
from functad._primitives.operands import Array, Example, Shape, Value, spread_literal
from functad._primitives.rules import NOT_LINEAR, Batched, Flags, Inferred, Pushed, Rule, Tangents, Transform, Values
from functad._primitives.shape import spread, transpose
from functad.errors import ShapeMismatchError

__all__ = ["along_axis", "gather", "iota", "nonzero", "scatter_add"]

INT = np.dtype(np.int64)

# ---- counting


def _iota_numpy(shape: Shape, axis: int, dtype: np.dtype[Array]) -> Array:
    column = np.arange(shape[axis], dtype=dtype).reshape([-1 if i == axis else 1 for i in range(len(shape))])
    return np.array(np.broadcast_to(column, shape))


iota: Primitive = Primitive(
    name="iota",
    numpy=_iota_numpy,
    infer=lambda shape, axis, dtype: (array_type(shape, dtype),),
    jvp=Missing("it has no input"),
    transpose=Missing("it has no input"),
    batch=Missing("it has no input"),
    kernel=Call("iota"),
    kind="index",
    examples=lambda: [([], {"shape": s, "axis": a, "dtype": INT}) for s, a in (((4,), 0), ((2, 3), 0), ((2, 3), 1))],
    note="0, 1, 2, ... along `axis`",
)

# ---- where a mask holds.  The door asks for the number of places, which is a param; the places stay data of the program


def _nonzero_numpy(mask: Array, size: int) -> Array:
    found = np.flatnonzero(mask)
    return found if len(found) == size else np.resize(found, size)


nonzero: Primitive = Primitive(
    name="nonzero",
    numpy=_nonzero_numpy,
    infer=lambda mask, size: (array_type((size,), np.int64),),
    jvp=lambda transform, xs, ts, size: ([nonzero(xs[0], size=size)], [None]),
    transpose=NOT_LINEAR,
    batch=Missing("the number of elements where a mask holds may differ from lane to lane"),
    kernel=Host("a library routine in NumPy"),
    kind="index",
    examples=lambda: [([np.array([True, False, True])], {"size": 2}), ([np.array([[False, True], [True, True]])], {"size": 3})],
    note="flat places where the mask holds; there are `size` of them",
)

# ---- gather


def _gather_infer(x: ArrayType, *indices: ArrayType) -> Inferred:
    if not 1 <= len(indices) <= x.ndim or any(i.shape != indices[0].shape or i.dtype != INT for i in indices):
        raise ShapeMismatchError(f"gather from shape {x.shape} got indices {', '.join(repr(i) for i in indices)}")
    return (array_type((*indices[0].shape, *x.shape[len(indices) :]), x.dtype),)


def _gather_jvp(transform: Transform, xs: Values, ts: Tangents) -> Pushed:
    x, *indices = xs
    return [gather(x, *indices)], [None if ts[0] is None else gather(ts[0], *indices)]


def _counted(size: int, index: Value) -> Value:
    """For mapped indices, the number of the lane."""
    return iota(shape=(size, *index.type.shape[1:]), axis=0, dtype=INT)


def _moved(x: Value, source: int, target: int) -> Value:
    """x with one axis moved, as np.moveaxis."""
    order = [i for i in range(x.type.ndim) if i != source]
    order.insert(target, source)
    return x if source == target else transpose(x, order=tuple(order))


def _gather_batch(transform: Transform, xs: Values, mapped: Flags, size: int) -> Batched:
    x, *indices = xs
    if not any(mapped[1:]):  # the same places in each lane: the lanes ride along as a trailing axis
        found = gather(_moved(x, 0, len(indices)), *indices)
        return [_moved(found, indices[0].type.ndim, 0)], [True]
    indices = [i if m else spread(i, size) for i, m in zip(indices, mapped[1:], strict=True)]
    return [gather(x, _counted(size, indices[0]), *indices) if mapped[0] else gather(x, *indices)], [True]


def _gather_examples() -> Sequence[Example]:
    x, i, j = np.arange(12.0).reshape(3, 4), np.array([2, 0, 2]), np.array([1, 3, 1])
    return [([x, i], {}), ([x, i, j], {}), ([x[0], i], {}), ([x, i.reshape(3, 1)], {}), ([x, np.array(1)], {}), ([x[0], np.array([], INT)], {})]


gather: Primitive = Primitive(
    name="gather",
    numpy=lambda x, *indices: x[indices],
    infer=_gather_infer,
    jvp=_gather_jvp,
    transpose=lambda transform, cts, xs, types: [scatter_add(cts[0], *xs[1:], shape=types[0].shape), *[None] * (len(xs) - 1)],
    batch=_gather_batch,
    kernel=Call("gather"),
    kind="index",
    examples=_gather_examples,
    structural=passes_on,  # no `inward`: a factor cannot be spread over what was read, two of them may meet one element
    note="x[i1, ..., ik] with index arrays of one shape",
)
gather.alive = gather

# ---- scatter_add


def _scatter_infer(updates: ArrayType, *indices: ArrayType, shape: Shape) -> Inferred:
    if not indices or updates.shape != (*indices[0].shape, *shape[len(indices) :]):
        raise ShapeMismatchError(f"scatter_add of shape {updates.shape} into shape {shape} got indices {', '.join(repr(i) for i in indices)}")
    return (array_type(shape, updates.dtype),)


def _scatter_numpy(updates: Array, *indices: Array, shape: Shape) -> Array:
    out = np.zeros(shape, np.asarray(updates).dtype)
    np.add.at(out, indices, updates)
    return out


def _scatter_jvp(transform: Transform, xs: Values, ts: Tangents, shape: Shape) -> Pushed:
    updates, *indices = xs
    return [scatter_add(updates, *indices, shape=shape)], [None if ts[0] is None else scatter_add(ts[0], *indices, shape=shape)]


def _scatter_batch(transform: Transform, xs: Values, mapped: Flags, size: int, shape: Shape) -> Batched:
    updates, *indices = xs
    depth = len(indices)
    if not any(mapped[1:]):
        moved = _moved(updates, 0, indices[0].type.ndim)
        return [_moved(scatter_add(moved, *indices, shape=(*shape[:depth], size, *shape[depth:])), depth, 0)], [True]
    updates = updates if mapped[0] else spread(updates, size)
    indices = [i if m else spread(i, size) for i, m in zip(indices, mapped[1:], strict=True)]
    return [scatter_add(updates, _counted(size, indices[0]), *indices, shape=(size, *shape))], [True]


def _scatter_inward(times: Rule, inputs: Values, p: Value, shape: Shape) -> Value:
    updates, *indices = inputs
    there = spread_literal(p, updates.type.shape) if isinstance(p, Literal) else gather(p, *indices)
    return scatter_add(times(updates, there), *indices, shape=shape)


def _scatter_examples() -> Sequence[Example]:
    i, j = np.array([2, 0, 2]), np.array([1, 3, 1])
    return [
        ([np.arange(1.0, 4.0), i], {"shape": (4,)}), ([np.arange(12.0).reshape(3, 4), i], {"shape": (3, 4)}),
        ([np.arange(1.0, 4.0), i, j], {"shape": (3, 4)}), ([np.arange(2.0), np.array(1)], {"shape": (3, 2)}),
    ]  # fmt: skip


scatter_add: Primitive = Primitive(
    name="scatter_add",
    numpy=_scatter_numpy,
    infer=_scatter_infer,
    jvp=_scatter_jvp,
    transpose=lambda transform, cts, xs, types, shape: [gather(cts[0], *xs[1:]), *[None] * (len(xs) - 1)],
    batch=_scatter_batch,
    kernel=Call("scatter_add"),
    kind="index",
    examples=_scatter_examples,
    structural=lambda equation, known: True,
    inward=_scatter_inward,
    alive=lambda updates, *indices, shape: counted(scatter_add, updates, *indices, shape=shape),
    note="adds updates into zeros of `shape` at [i1, ..., ik]; duplicates add up",
)


def along_axis(x: Value, index: Value, axis: int) -> Value:
    """np.take_along_axis: `index` has the number of dimensions of x, and its shape wherever it is not 1 or `axis`."""
    if x.type.ndim == 1:
        return gather(x, index)
    shape = index.type.shape
    places = [index if i == axis else iota(shape=shape, axis=i, dtype=INT) for i in range(x.type.ndim)]
    return gather(x, *places)
