"""Reading and adding at computed places, and counting along an axis.

`gather(x, i1, ..., ik)` is `x[i1, ..., ik]`: the indices are int64 arrays of one shape, non-negative and in range (the doors see to that), and
take the leading axes of x.  `scatter_add` is its transpose: what meets in one place adds up, and where nothing arrives is a structural zero.
"""

from typing import Any

import numpy as np

from functad._core.primitive import Call, Host, Missing, Primitive
from functad._core.program import Literal
from functad._core.types import ArrayType, array_type
from functad._primitives.kinds import spread
from functad._primitives.linear import apply, mask
from functad._primitives.shape import transpose
from functad.errors import ShapeMismatchError

__all__ = ["along_axis", "gather", "iota", "nonzero", "scatter_add"]

INT = np.dtype(np.int64)

# ---- counting

iota: Primitive = Primitive(
    name="iota",
    numpy=lambda shape, axis, dtype: _iota_numpy(shape, axis, dtype),
    infer=lambda shape, axis, dtype: (array_type(shape, dtype),),
    jvp=lambda transform, xs, ts, shape, axis, dtype: ([iota(shape=shape, axis=axis, dtype=dtype)], [None]),
    transpose=Missing("it has no input"),
    batch=lambda transform, xs, mapped, size, shape, axis, dtype: ([iota(shape=shape, axis=axis, dtype=dtype)], [False]),
    kernel=Call("iota"),
    kind="index",
    examples=lambda: [([], {"shape": s, "axis": a, "dtype": INT}) for s, a in (((4,), 0), ((2, 3), 0), ((2, 3), 1))],
    note="0, 1, 2, ... along `axis`",
)


def _iota_numpy(shape: tuple[int, ...], axis: int, dtype: Any) -> Any:
    column = np.arange(shape[axis], dtype=dtype).reshape([-1 if i == axis else 1 for i in range(len(shape))])
    return np.array(np.broadcast_to(column, shape))


# ---- where a mask holds.  The door asks for the number of places, which is a param; the places stay data of the program


def _nonzero_numpy(mask: Any, size: int) -> Any:
    found = np.flatnonzero(mask)
    return found if len(found) == size else np.resize(found, size)


nonzero: Primitive = Primitive(
    name="nonzero",
    numpy=_nonzero_numpy,
    infer=lambda mask, size: (array_type((size,), np.int64),),
    jvp=lambda transform, xs, ts, size: ([nonzero(xs[0], size=size)], [None]),
    transpose=Missing("not linear"),
    batch=Missing("the number of elements where a mask holds may differ from lane to lane"),
    kernel=Host("a library routine in NumPy"),
    kind="index",
    examples=lambda: [([np.array([True, False, True])], {"size": 2}), ([np.array([[False, True], [True, True]])], {"size": 3})],
    note="flat places where the mask holds; there are `size` of them",
)

# ---- gather


def _gather_infer(x: ArrayType, *indices: ArrayType) -> tuple[ArrayType, ...]:
    if not 1 <= len(indices) <= x.ndim or any(i.shape != indices[0].shape or i.dtype != INT for i in indices):
        raise ShapeMismatchError(f"gather from shape {x.shape} got indices {', '.join(repr(i) for i in indices)}")
    return (array_type((*indices[0].shape, *x.shape[len(indices) :]), x.dtype),)


def _gather_jvp(transform: Any, xs: Any, ts: Any) -> Any:
    x, *indices = xs
    return [gather(x, *indices)], [None if ts[0] is None else gather(ts[0], *indices)]


def _counted(size: int, index: Any) -> Any:
    """For mapped indices, the number of the lane."""
    return iota(shape=(size, *index.type.shape[1:]), axis=0, dtype=INT)


def _moved(x: Any, source: int, target: int) -> Any:
    """x with one axis moved, as np.moveaxis."""
    order = [i for i in range(x.type.ndim) if i != source]
    order.insert(target, source)
    return x if source == target else transpose(x, order=tuple(order))


def _gather_batch(transform: Any, xs: Any, mapped: Any, size: int) -> Any:
    x, *indices = xs
    if not any(mapped[1:]):  # the same places in each lane: the lanes ride along as a trailing axis
        found = gather(_moved(x, 0, len(indices)), *indices)
        return [_moved(found, indices[0].type.ndim, 0)], [True]
    indices = [i if m else spread(i, size) for i, m in zip(indices, mapped[1:], strict=True)]
    return [gather(x, _counted(size, indices[0]), *indices) if mapped[0] else gather(x, *indices)], [True]


def _gather_inward(op: Any, inputs: Any, p: Any) -> Any:
    """A factor cannot be spread over what was read (two of them may meet one element), so the zeros are read as well."""
    from functad._primitives.alive import alive

    x, *indices = inputs
    return mask(gather(alive(x), *indices), op(gather(x, *indices), p))


def _gather_examples() -> Any:
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
    structural=lambda equation, known: equation.inputs[0] in known,
    inward=_gather_inward,
    note="x[i1, ..., ik] with index arrays of one shape",
)

# ---- scatter_add


def _scatter_infer(updates: ArrayType, *indices: ArrayType, shape: tuple[int, ...]) -> tuple[ArrayType, ...]:
    if not indices or updates.shape != (*indices[0].shape, *shape[len(indices) :]):
        raise ShapeMismatchError(f"scatter_add of shape {updates.shape} into shape {shape} got indices {', '.join(repr(i) for i in indices)}")
    return (array_type(shape, updates.dtype),)


def _scatter_numpy(updates: Any, *indices: Any, shape: tuple[int, ...]) -> Any:
    out = np.zeros(shape, np.asarray(updates).dtype)
    np.add.at(out, indices, updates)
    return out


def _scatter_jvp(transform: Any, xs: Any, ts: Any, shape: tuple[int, ...]) -> Any:
    updates, *indices = xs
    return [scatter_add(updates, *indices, shape=shape)], [None if ts[0] is None else scatter_add(ts[0], *indices, shape=shape)]


def _scatter_batch(transform: Any, xs: Any, mapped: Any, size: int, shape: tuple[int, ...]) -> Any:
    updates, *indices = xs
    depth = len(indices)
    if not any(mapped[1:]):
        moved = _moved(updates, 0, indices[0].type.ndim)
        return [_moved(scatter_add(moved, *indices, shape=(*shape[:depth], size, *shape[depth:])), depth, 0)], [True]
    updates = updates if mapped[0] else spread(updates, size)
    indices = [i if m else spread(i, size) for i, m in zip(indices, mapped[1:], strict=True)]
    return [scatter_add(updates, _counted(size, indices[0]), *indices, shape=(size, *shape))], [True]


def _scatter_inward(op: Any, inputs: Any, p: Any, shape: tuple[int, ...]) -> Any:
    updates, *indices = inputs
    there = Literal(p.value, array_type(updates.type.shape, p.type.dtype)) if isinstance(p, Literal) else gather(p, *indices)
    return scatter_add(apply(op, updates, there), *indices, shape=shape)


def _scatter_examples() -> Any:
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
    note="adds updates into zeros of `shape` at [i1, ..., ik]; duplicates add up",
)


def along_axis(x: Any, index: Any, axis: int) -> Any:
    """np.take_along_axis: `index` has the number of dimensions of x, and its shape wherever it is not 1 or `axis`."""
    if x.type.ndim == 1:
        return gather(x, index)
    shape = index.type.shape
    places = [index if i == axis else iota(shape=shape, axis=i, dtype=INT) for i in range(x.type.ndim)]
    return gather(x, *places)
