"""Reading and adding at computed places, and counting along an axis.

`gather(x, i1, ..., ik)` is `x[i1, ..., ik]`: the indices are int64 arrays of one shape, non-negative and in range (the doors see to that), and
take the leading axes of x.  `scatter_add` is its transpose: what meets in one place adds up, and where nothing arrives is a structural zero.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from functad._core.primitive import Call, Host, Missing, Primitive
from functad._core.program import Equation, Literal
from functad._core.recorder import CURRENT
from functad._core.tracer import make
from functad._core.types import ArrayType, array_type
from functad._primitives.cumulative import cumsum, recurrence
from functad._primitives.kinds import spread, zeros_like
from functad._primitives.linear import apply, mask, passes_on
from functad._primitives.reduce import reduce_any
from functad._primitives.shape import broadcast, concatenate, flip, pad, reshape, slice_, transpose
from functad.errors import ShapeMismatchError

__all__ = ["alive", "along_axis", "gather", "iota", "nonzero", "scatter_add", "vanishing"]

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


# ---- which elements are no structural zeros


def alive(t: Any) -> Any:
    """Booleans of the shape of a tangent or cotangent: False where it has a structural zero (Note [structural zeros] in linear)."""
    shape = t.type.shape
    if isinstance(t, Literal):
        return Literal(not t.is_zero(), array_type(shape, np.bool_))
    builder = CURRENT.get()
    assert builder is not None
    made = builder.structural.get(t.atom)
    if made is None:
        return Literal(True, array_type(shape, np.bool_))
    inputs = [a if isinstance(a, Literal) else make(builder, a, None) for a in made.inputs]
    return _ALIVE.get(made.op.name, _alive_of_first)(made, inputs)


def _alive_of_first(made: Equation, inputs: Sequence[Any]) -> Any:
    """Elementwise on its first input: neg, convert, a product with a literal."""
    return alive(inputs[0])


def _alive_select(made: Equation, inputs: Sequence[Any]) -> Any:
    from functad._primitives.logic import select

    return select(inputs[0], alive(inputs[1]), alive(inputs[2]))


def _alive_add(made: Equation, inputs: Sequence[Any]) -> Any:
    from functad._primitives.logic import logical_or

    return logical_or(alive(inputs[0]), alive(inputs[1]))


def _alive_scatter(made: Equation, inputs: Sequence[Any]) -> Any:
    from functad._primitives.logic import convert, not_equal

    counts = scatter_add(convert(alive(inputs[0]), dtype=INT), *inputs[1:], **made.params)
    return not_equal(counts, zeros_like(counts))


def _alive_sum(made: Equation, inputs: Sequence[Any]) -> Any:
    return reduce_any(alive(inputs[0]), **made.params)


def _alive_join(made: Equation, inputs: Sequence[Any]) -> Any:
    return concatenate(*map(alive, inputs), **made.params)


def _alive_running(made: Equation, inputs: Sequence[Any]) -> Any:
    """Of `cumsum`, and of `recurrence` in its second operand."""
    from functad._primitives.logic import convert, not_equal

    counts = cumsum(convert(alive(inputs[-1]), dtype=INT), **made.params)
    return not_equal(counts, zeros_like(counts))


def _alive_moved(op: Primitive) -> Any:
    return lambda made, inputs: op(alive(inputs[0]), *inputs[1:], **made.params)


_ALIVE = {
    "select": _alive_select,
    "add": _alive_add,
    "scatter_add": _alive_scatter,
    "reduce_sum": _alive_sum,
    "concatenate": _alive_join,
    "cumsum": _alive_running,
    "recurrence": _alive_running,
    **{op.name: _alive_moved(op) for op in (broadcast, reshape, transpose, flip, slice_, pad, gather)},
}


# ---- operations that mix elements, so that a factor of an element cannot be moved inside


def _mixing_inward(primitive: Primitive) -> Any:
    """Multiply outside, where anything alive arrives."""

    def inward(op: Any, inputs: Any, p: Any, **params: Any) -> Any:
        builder = CURRENT.get()
        assert builder is not None
        out = primitive(*inputs, **params)
        return mask(alive(out), op(out, p))

    return inward


def _broadcast_inward(op: Any, inputs: Any, p: Any, shape: tuple[int, ...], axes: tuple[int, ...]) -> Any:
    """The zeros of a broadcast select: broadcast its parts instead, which costs nothing."""
    from functad._primitives.logic import select

    builder = CURRENT.get()
    assert builder is not None
    made = builder.structural[inputs[0].atom]
    if made.op is not select:
        return _mixing_inward(broadcast)(op, inputs, p, shape=shape, axes=axes)
    condition, *branches = [a if isinstance(a, Literal) else make(builder, a, None) for a in made.inputs]

    def grown(x: Any) -> Any:
        return Literal(x.value, array_type(shape, x.type.dtype)) if isinstance(x, Literal) else broadcast(x, shape=shape, axes=axes)

    return select(grown(condition), *[apply(op, grown(x), p) for x in branches])


cumsum.structural, cumsum.inward = passes_on, _mixing_inward(cumsum)
broadcast.structural, broadcast.inward = passes_on, _broadcast_inward
recurrence.structural, recurrence.inward = lambda equation, known: equation.inputs[1] in known, _mixing_inward(recurrence)


def _can_vanish(made: Equation, known: Mapping[Any, Equation]) -> bool:
    """Whether every element may be a structural zero: what a pad or an index leaves out never is all."""
    return made.op.name == "select" or any(_can_vanish(known[a], known) for a in made.inputs if a in known)


def vanishing(results: Sequence[Any], given: Sequence[Any]) -> Sequence[Any]:
    """Results of inner programs, which are linear in `given`: structural zeros where all that goes in are some.

    An inner program forgets the structural zeros of what it is given.
    """
    from functad._primitives.logic import logical_or

    builder = CURRENT.get()
    assert builder is not None
    known = builder.structural
    holds: Any = None
    for t in given:
        if t is None or (isinstance(t, Literal) and t.is_zero()):
            continue
        if isinstance(t, Literal) or t.atom not in known or not _can_vanish(known[t.atom], known):
            return results
        one = reduce_any(alive(t), axes=tuple(range(t.type.ndim)))
        holds = one if holds is None else logical_or(holds, one)
    if holds is None:
        return results
    return [r if r is None or isinstance(r, Literal) else mask(broadcast(holds, shape=r.type.shape, axes=()), r) for r in results]


def along_axis(x: Any, index: Any, axis: int) -> Any:
    """np.take_along_axis: `index` has the number of dimensions of x, and its shape wherever it is not 1 or `axis`."""
    if x.type.ndim == 1:
        return gather(x, index)
    shape = index.type.shape
    places = [index if i == axis else iota(shape=shape, axis=i, dtype=INT) for i in range(x.type.ndim)]
    return gather(x, *places)
