"""The product of two arrays summed over pairs of axes: every matrix product, `einsum` step and `tensordot` is this one primitive.

`dot(x, y, contract=((i, ...), (j, ...)), batch=((k, ...), (l, ...)))`: axes `i` of x are summed against axes `j` of y, axes `k` of x and `l` of y
run together, all others are free.  The axes of the result are: batch (in the order given), free of x, free of y.  Both operands have one dtype.
The product is plain bilinear: nothing is conjugated.  The rules assume nothing about the order of axes; they are spelt so that the operands of an
ordinary matrix product need no transposition in the derivatives either.
"""

import functools
import math
from collections.abc import Callable, Sequence

import numpy as np

from functad._core.primitive import Call, Primitive
from functad._core.types import ArrayType, array_type
from functad._primitives.alive import has_zeros
from functad._primitives.arithmetic import scale, total
from functad._primitives.operands import Array, Example, Value
from functad._primitives.rules import Batched, Flags, Inferred, Pulled, Pushed, Tangents, Transform, Types, Values
from functad._primitives.shape import broadcast, transpose
from functad.errors import ShapeMismatchError

__all__ = ["dot", "matrix_product", "reordered"]

Axes = tuple[tuple[int, ...], tuple[int, ...]]


def _free(ndim: int, *taken: Sequence[int]) -> tuple[int, ...]:
    return tuple(i for i in range(ndim) if not any(i in t for t in taken))


def reordered(x: Value, order: Sequence[int]) -> Value:
    """x with its axes in that order; nothing is recorded where nothing moves."""
    return x if tuple(order) == tuple(range(len(order))) else transpose(x, order=tuple(order))


def _infer(x: ArrayType, y: ArrayType, contract: Axes, batch: Axes) -> Inferred:
    pairs = [*zip(contract[0], contract[1], strict=True), *zip(batch[0], batch[1], strict=True)]
    if any(x.shape[i] != y.shape[j] for i, j in pairs):
        raise ShapeMismatchError(f"a product of arrays of shapes {x.shape} and {y.shape}: axes {contract[0]} and {contract[1]} differ in length")
    if x.dtype != y.dtype:
        raise ShapeMismatchError(f"a product of arrays of dtypes {x.dtype} and {y.dtype}")
    free_x, free_y = _free(x.ndim, contract[0], batch[0]), _free(y.ndim, contract[1], batch[1])
    shape = (*[x.shape[i] for i in batch[0]], *[x.shape[i] for i in free_x], *[y.shape[j] for j in free_y])
    return (array_type(shape, x.dtype),)


# ---- evaluation


@functools.lru_cache(maxsize=1024)
def _plan(contract: Axes, batch: Axes, ndim_x: int, ndim_y: int) -> Callable[[Array, Array], Array]:
    """How to compute it: np.dot itself for vectors and matrices (0.6 us a call), else np.matmul between transpositions and reshapes."""
    if not batch[0]:
        if not contract[0]:
            return np.multiply.outer
        if len(contract[0]) == 1 and ndim_x <= 2 and ndim_y <= 2:
            turn_x = ndim_x == 2 and contract[0] == (0,)
            turn_y = ndim_y == 2 and contract[1] == (1,)
            return _PLAIN[turn_x, turn_y]
    free_x, free_y = _free(ndim_x, contract[0], batch[0]), _free(ndim_y, contract[1], batch[1])
    order_x, order_y = (*batch[0], *free_x, *contract[0]), (*batch[1], *contract[1], *free_y)

    def run(x: Array, y: Array) -> Array:
        kept = [x.shape[i] for i in batch[0]]
        rows, columns = [x.shape[i] for i in free_x], [y.shape[j] for j in free_y]
        inner = math.prod([x.shape[i] for i in contract[0]])
        left = np.transpose(x, order_x).reshape(*kept, math.prod(rows), inner)
        right = np.transpose(y, order_y).reshape(*kept, inner, math.prod(columns))
        return np.matmul(left, right).reshape((*kept, *rows, *columns))[()]

    return run


_PLAIN: dict[tuple[bool, bool], Callable[[Array, Array], Array]] = {
    (False, False): np.dot,
    (False, True): lambda x, y: np.dot(x, y.T),
    (True, False): lambda x, y: np.dot(x.T, y),
    (True, True): lambda x, y: np.dot(x.T, y.T),
}


def _numpy(x: Array, y: Array, contract: Axes, batch: Axes) -> Array:
    return _plan(contract, batch, np.ndim(x), np.ndim(y))(x, y)  # a scalar may be a Python number


# ---- rules


def _scaled(x: Value, y: Value, contract: Axes, batch: Axes, linear: int) -> Value:
    """The product, one factor being a tangent or cotangent, whose structural zeros stay zeros where no sum mixes them."""
    if contract[0] or not has_zeros((x, y)[linear]):
        return dot(x, y, contract=contract, batch=batch)
    free_x, free_y = _free(x.type.ndim, batch[0]), _free(y.type.ndim, batch[1])
    shared, between = len(batch[0]), len(batch[0]) + len(free_x)
    shape = (*[x.type.shape[i] for i in (*batch[0], *free_x)], *[y.type.shape[j] for j in free_y])
    wide_x = broadcast(reordered(x, (*batch[0], *free_x)), shape=shape, axes=tuple(range(between)))
    wide_y = broadcast(reordered(y, (*batch[1], *free_y)), shape=shape, axes=(*range(shared), *range(between, len(shape))))
    return scale(wide_x, wide_y) if linear == 0 else scale(wide_y, wide_x)


def _jvp(transform: Transform, xs: Values, ts: Tangents, contract: Axes, batch: Axes) -> Pushed:
    (x, y), (tx, ty) = xs, ts
    parts = [None if tx is None else _scaled(tx, y, contract, batch, 0), None if ty is None else _scaled(x, ty, contract, batch, 1)]
    return [dot(x, y, contract=contract, batch=batch)], [total(parts)]


def _cotangent_of_x(ct: Value, y: Value, ndim_x: int, contract: Axes, batch: Axes) -> Value:
    """ct . y over the free axes of y; the result has the axes (batch, free of x, contracted in y's order), which move to x's places."""
    shared = len(batch[0])
    free_x, free_y = _free(ndim_x, contract[0], batch[0]), _free(y.type.ndim, contract[1], batch[1])
    after = shared + len(free_x)
    out = _scaled(ct, y, (tuple(range(after, after + len(free_y))), free_y), (tuple(range(shared)), batch[1]), 0)
    partner = dict(zip(contract[1], contract[0], strict=True))
    places = (*batch[0], *free_x, *[partner[j] for j in sorted(contract[1])])
    return reordered(out, [places.index(i) for i in range(ndim_x)])


def _cotangent_of_y(ct: Value, x: Value, ndim_y: int, contract: Axes, batch: Axes) -> Value:
    """x . ct over the free axes of x, in this order: for a matrix product the result lies as y does."""
    shared = len(batch[0])
    free_x, free_y = _free(x.type.ndim, contract[0], batch[0]), _free(ndim_y, contract[1], batch[1])
    out = _scaled(x, ct, (free_x, tuple(range(shared, shared + len(free_x)))), (batch[0], tuple(range(shared))), 1)
    partner = dict(zip(contract[0], contract[1], strict=True))
    places = (*batch[1], *[partner[i] for i in sorted(contract[0])], *free_y)
    return reordered(out, [places.index(j) for j in range(ndim_y)])


def _transpose(transform: Transform, cts: Values, xs: Tangents, types: Types, contract: Axes, batch: Axes) -> Pulled:
    x, y = xs
    if y is not None:
        return [_cotangent_of_x(cts[0], y, types[0].ndim, contract, batch), None]
    assert x is not None
    return [None, _cotangent_of_y(cts[0], x, types[1].ndim, contract, batch)]


def _batch(transform: Transform, xs: Values, mapped: Flags, size: int, contract: Axes, batch: Axes) -> Batched:
    """An axis mapped on both sides is one more batch axis; on one side it is a free axis, moved to the front."""
    moved: list[tuple[tuple[int, ...], ...]] = [
        tuple(tuple(i + 1 for i in axes[side]) if mapped[side] else axes[side] for axes in (contract, batch)) for side in (0, 1)
    ]
    summed, shared = (moved[0][0], moved[1][0]), (moved[0][1], moved[1][1])
    if all(mapped):
        return [dot(*xs, contract=summed, batch=((0, *shared[0]), (0, *shared[1])))], [True]
    out = dot(*xs, contract=summed, batch=shared)
    place = len(batch[0]) if mapped[0] else len(batch[0]) + xs[0].type.ndim - len(contract[0]) - len(batch[0])
    return [reordered(out, [place, *[i for i in range(out.type.ndim) if i != place]])], [True]


def _examples() -> list[Example]:
    random = np.random.default_rng(5)

    def case(shape_x: Sequence[int], shape_y: Sequence[int], contract: Axes, batch: Axes = ((), ()), kind: str = "f") -> Example:
        xs = [random.uniform(-2, 2, s) for s in (shape_x, shape_y)]
        if kind == "c":
            xs = [x + 1j * random.uniform(-1, 1, x.shape) for x in xs]
        if kind == "i":
            xs = [np.rint(3 * x).astype(np.int64) for x in xs]
        return xs, {"contract": contract, "batch": batch}

    return [
        case((3,), (3,), ((0,), (0,))), case((2, 3), (3,), ((1,), (0,))), case((3,), (3, 2), ((0,), (0,))), case((2, 3), (3, 4), ((1,), (0,))),
        case((3, 2), (3, 4), ((0,), (0,))), case((2, 3), (4, 3), ((1,), (1,))), case((3, 2), (4, 3), ((0,), (1,))), case((2,), (3,), ((), ())),
        case((2, 3, 4), (2, 4, 5), ((2,), (1,)), ((0,), (0,))), case((3, 4, 2), (4, 2, 3), ((1, 0), (0, 2)), ((2,), (1,))),
        case((2, 3, 4), (5, 4, 3), ((1, 2), (2, 1))), case((2, 3), (3, 2), ((1,), (0,)), ((0,), (1,))), case((2, 0), (0, 3), ((1,), (0,))),
        case((), (2, 3), ((), ())), case((2, 3), (3, 4), ((1,), (0,)), kind="c"), case((2, 3), (3, 4), ((1,), (0,)), kind="i"),
    ]  # fmt: skip


dot = Primitive(
    name="dot",
    numpy=_numpy,
    infer=_infer,
    jvp=_jvp,
    transpose=_transpose,
    batch=_batch,
    kernel=Call("dot"),
    kind="dot",
    examples=_examples,
    note="sums over the axes in `contract`; the axes in `batch` run together",
)


def matrix_product(x: Value, y: Value) -> Value:
    """Products of the matrices in the last two axes; both have the same leading axes."""
    n = x.type.ndim
    leading = tuple(range(n - 2))
    return dot(x, y, contract=((n - 1,), (n - 2,)), batch=(leading, leading))
