"""Repeating, shifting, reversing, padding, differences, diagonals and triangles: elements moved to places that are known beforehand."""

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from functad._core.program import Literal
from functad._core.types import array_type
from functad._numpy.arguments import NO_VALUE, Axes, DTypeLike, Operand, Result, Value, axis_of
from functad._numpy.dispatch import implements, refuse
from functad._numpy.promote import as_array, broadcast_to, cast, operand, ravelled, with_shape
from functad._numpy.shaping import flipped, joined, part, static_take, transposed, unstacked
from functad._numpy.ufuncs import apply_ufunc
from functad._primitives import logic
from functad._primitives import shape as s
from functad._primitives.index import iota
from functad.errors import ShapeMismatchError

__all__ = ["repeated"]

# ---- repeating


@implements(np.tile, numeric=("A",), structural=("reps",))
def tile(A: Operand, reps: Operand) -> Result:  # NumPy's name
    x = operand(A)
    counts = tuple(int(n) for n in reps) if isinstance(reps, (tuple, list, np.ndarray)) else (int(reps),)
    ndim = max(len(counts), x.type.ndim)
    counts = (*[1] * (ndim - len(counts)), *counts)
    shape = (*[1] * (ndim - x.type.ndim), *x.type.shape)
    if all(n == 1 for n in counts):
        return with_shape(x, shape)
    x = with_shape(x, [k for n in shape for k in (1, n)])
    x = broadcast_to(x, [k for c, n in zip(counts, shape, strict=True) for k in (c, n)])
    return with_shape(x, [c * n for c, n in zip(counts, shape, strict=True)])


def repeated(x: Operand, count: int, axis: Axes) -> Result:
    """np.repeat with one number for all."""
    x, axis = ravelled(operand(x), axis)
    if count < 0:
        raise ValueError("repeats may not contain negative values.")
    shape = x.type.shape
    x = with_shape(x, (*shape[: axis + 1], 1, *shape[axis + 1 :]))
    x = broadcast_to(x, (*shape[: axis + 1], count, *shape[axis + 1 :]))
    return with_shape(x, (*shape[:axis], shape[axis] * count, *shape[axis + 1 :]))


@implements(np.resize, numeric=("a",), structural=("new_shape",))
def resize(a: Operand, new_shape: Operand) -> Result:
    x = operand(a)
    shape = tuple(int(n) for n in new_shape) if isinstance(new_shape, (tuple, list, np.ndarray)) else (int(new_shape),)
    if any(n < 0 for n in shape):
        raise ValueError("all elements of `new_shape` must be non-negative")
    size = int(np.prod(shape, dtype=np.int64))
    if x.type.size == 0 or size == 0:
        return Literal(0, array_type(shape, x.type.dtype))
    flat = with_shape(x, (1, x.type.size))
    times = -(-size // x.type.size)
    return with_shape(part(with_shape(broadcast_to(flat, (times, x.type.size)), (times * x.type.size,)), 0, 0, size), shape)


# ---- shifting and reversing


@implements(np.roll, numeric=("a",), structural=("shift", "axis"))
def roll(a: Operand, shift: Operand, axis: Axes = None) -> Result:
    x = operand(a)
    shape = x.type.shape
    if axis is None:
        x, axis = with_shape(x, (x.type.size,)), 0
    pairs = np.broadcast(np.asarray(shift), np.asarray(normalize_axis_tuple(axis, x.type.ndim, allow_duplicate=True)))
    if pairs.ndim > 1:
        raise ValueError("'shift' and 'axis' should be scalars or 1D sequences")
    for step, i in pairs:
        n = x.type.shape[int(i)]
        k = int(step) % n if n else 0
        if k:
            x = joined([part(x, int(i), n - k, k), part(x, int(i), 0, n - k)], int(i))
    return with_shape(x, shape)


@implements(np.flip, numeric=("m",), structural=("axis",), view=True)
def flip(m: Operand, axis: Axes = None) -> Result:
    x = operand(m)
    return flipped(x, range(x.type.ndim) if axis is None else normalize_axis_tuple(axis, x.type.ndim))


def _flip_door(function: Operand, axis: int) -> None:
    @implements(function, numeric=("m",), view=True)
    def implementation(m: Operand) -> Result:
        x = operand(m)
        if x.type.ndim <= axis:
            raise ValueError(f"Input must be >= {axis + 1}-d.")
        return flipped(x, (axis,))


_flip_door(np.flipud, 0)
_flip_door(np.fliplr, 1)


@implements(np.rot90, numeric=("m",), structural=("k", "axes"), view=True)
def rot90(m: Operand, k: int = 1, axes: Operand = (0, 1)) -> Result:
    x = operand(m)
    ndim = x.type.ndim
    if len(axes) != 2 or ndim < 2 or axes[0] % ndim == axes[1] % ndim:
        raise ValueError("Axes must be different." if len(axes) == 2 and ndim >= 2 else "len(axes) must be 2.")
    i, j = normalize_axis_tuple(axes, ndim)
    order = list(range(ndim))
    order[i], order[j] = j, i
    turns = k % 4
    if turns == 0:
        return x
    if turns == 2:
        return flipped(x, (i, j))
    return transposed(flipped(x, (j,)), order) if turns == 1 else flipped(transposed(x, order), (j,))


# ---- padding


def _pairs(widths: Operand, ndim: int) -> list[tuple[int, int]]:
    if isinstance(widths, dict):
        rows: list[Result] = [(0, 0)] * ndim
        for axis, width in widths.items():
            rows[axis_of(axis, ndim)] = (width, width) if isinstance(width, int) else tuple(width)
        widths = rows
    table = np.asarray(widths)
    if table.dtype.kind not in "iu":
        raise TypeError("`pad_width` must be of integral type.")
    table = np.broadcast_to(table, (ndim, 2))
    if table.size and table.min() < 0:
        raise ValueError("index can't contain negative values")
    return [(int(a), int(b)) for a, b in table]


def _per_side(values: Operand, ndim: int) -> list[tuple[Result, Result]]:
    """`constant_values` as one pair for each axis."""
    if not isinstance(values, (tuple, list)):
        x = operand(values)
        if x.type.ndim == 0:
            return [(x, x)] * ndim
        rows = unstacked(x)
        return _per_side(rows if x.type.ndim == 1 else [tuple(unstacked(r)) for r in rows], ndim)
    rows = [tuple(v) if isinstance(v, (tuple, list)) else None for v in values]
    if all(r is None for r in rows):  # (v,) or (before, after)
        pair = tuple(values) * 2 if len(values) == 1 else tuple(values)
        return [pair[:2]] * ndim
    full = [r * 2 if r is not None and len(r) == 1 else r for r in rows]
    return (full * ndim if len(full) == 1 else full)[:ndim]  # mixed nesting is refused by NumPy as well


def _filled(shape: tuple[int, ...], value: Operand, dtype: DTypeLike) -> Result:
    return broadcast_to(cast(value, dtype), shape)


def _check_pad_keywords(mode: Operand, stat_length: Operand, constant_values: Operand, end_values: Operand, reflect_type: Operand) -> None:
    """Refuse the modes that are not known, and keywords that the mode does not take."""
    if mode not in ("constant", "empty", "edge", "reflect", "symmetric", "wrap"):
        refuse("pad", "mode", mode, "constant, empty, edge, reflect, symmetric and wrap are known")
    if reflect_type != "even":
        refuse("pad", "reflect_type", reflect_type)
    changed = {
        "stat_length": stat_length is not None,
        "constant_values": mode != "constant" and not (type(constant_values) is int and constant_values == 0),
        "end_values": not (type(end_values) is int and end_values == 0),
    }
    for name in (n for n, yes in changed.items() if yes):
        raise ValueError(f"unsupported keyword arguments for mode {mode!r}: {name}")


@implements(np.pad, numeric=("array", "constant_values"), structural=("pad_width",))
def pad(
    array: Operand, pad_width: Operand, mode: Operand = "constant", *, stat_length: Operand = None, constant_values: Operand = 0,
    end_values: Operand = 0, reflect_type: str = "even",
) -> Result:  # fmt: skip
    x = operand(array)
    pairs = _pairs(pad_width, x.type.ndim)
    _check_pad_keywords(mode, stat_length, constant_values, end_values, reflect_type)
    if mode in ("constant", "empty"):
        if type(constant_values) is int and constant_values == 0:  # not given
            low, high = tuple(a for a, _ in pairs), tuple(b for _, b in pairs)
            return s.pad(x, low=low, high=high, inner=(0,) * len(pairs)) if any(low + high) else x
        for axis, ((low_, high_), (before, after)) in enumerate(zip(pairs, _per_side(constant_values, x.type.ndim), strict=True)):
            shape = x.type.shape
            sides = [_filled((*shape[:axis], n, *shape[axis + 1 :]), v, x.type.dtype) for n, v in ((low_, before), (high_, after))]
            pieces = [p for p in (sides[0], x, sides[1]) if p.type.shape[axis]]
            x = joined(pieces, axis) if pieces else x
        return x
    for axis, pair in enumerate(pairs):
        if any(pair):
            places = np.pad(np.arange(x.type.shape[axis]), pair, mode=mode)  # NumPy itself says where each element comes from
            x = static_take(x, places.tolist(), axis)
    return x


# ---- differences


def _edge(x: Operand, like: Value, axis: int) -> Result:
    x = operand(x)
    return broadcast_to(x, [1 if i == axis else n for i, n in enumerate(like.type.shape)]) if x.type.ndim == 0 else x


@implements(np.diff, numeric=("a", "prepend", "append"), structural=("n", "axis"))
def diff(a: Operand, n: int = 1, axis: int = -1, prepend: Operand = NO_VALUE, append: Operand = NO_VALUE) -> Result:
    x = operand(a)
    if n == 0:
        return x
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n!r}")
    if x.type.ndim == 0:
        raise ValueError("diff requires input that is at least one dimensional")
    axis = axis_of(axis, x.type.ndim)
    sides = [[] if v is NO_VALUE else [_edge(v, x, axis)] for v in (prepend, append)]
    pieces = [*sides[0], x, *sides[1]]
    x = joined(pieces, axis)
    ufunc = np.not_equal if x.type.dtype.kind == "b" else np.subtract
    for _ in range(n):
        length = max(x.type.shape[axis] - 1, 0)
        x = apply_ufunc(ufunc, part(x, axis, min(1, x.type.shape[axis]), length), part(x, axis, 0, length))
    return x


@implements(np.ediff1d, numeric=("ary", "to_end", "to_begin"))
def ediff1d(ary: Operand, to_end: Operand = None, to_begin: Operand = None) -> Result:
    x = operand(ary)
    x = with_shape(x, (x.type.size,))
    length = max(x.type.size - 1, 0)
    out = apply_ufunc(np.subtract, part(x, 0, x.type.size - length, length), part(x, 0, 0, length))
    ends = [None if v is None else operand(v) for v in (to_begin, to_end)]
    sides = [None if v is None else with_shape(cast(v, out.type.dtype), (v.type.size,)) for v in ends]
    pieces = [v for v in (sides[0], out, sides[1]) if v is not None]
    return joined(pieces, 0)


# ---- diagonals and triangles


def _on_diagonal(x: Operand, k: int) -> Result:
    """The square matrix with x on its k-th diagonal: x with gaps, seen through the flat index."""
    n = x.type.shape[0]
    side = n + abs(k)
    if n == 0:
        return Literal(0, array_type((side, side), x.type.dtype))
    start = k if k >= 0 else -k * side
    used = start + n + (n - 1) * side
    return with_shape(s.pad(x, low=(start,), high=(side * side - used,), inner=(side,)), (side, side))


def diagonal_of(a: Operand, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Result:
    """A strided slice of the flat index."""
    x = operand(a)
    if x.type.ndim < 2:
        raise ShapeMismatchError("a diagonal needs an array of at least two dimensions")
    i, j = axis_of(axis1, x.type.ndim), axis_of(axis2, x.type.ndim)
    if i == j:
        raise ShapeMismatchError("axis1 and axis2 of a diagonal cannot be the same")
    rest = [a for a in range(x.type.ndim) if a not in (i, j)]
    x = transposed(x, [*rest, i, j])
    lead, (rows, columns) = x.type.shape[:-2], x.type.shape[-2:]
    count = max(min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns), 0)
    x = with_shape(x, (*lead, rows * columns))
    start = offset if offset >= 0 else -offset * columns
    return part(x, len(lead), start if count else 0, count, columns + 1)


implements(np.diagonal, numeric=("a",), structural=("offset", "axis1", "axis2"), method="diagonal", view=True)(diagonal_of)


@implements(np.diag, numeric=("v",), structural=("k",))
def diag(v: Operand, k: int = 0) -> Result:
    x = operand(v)
    if x.type.ndim not in (1, 2):
        raise ValueError("Input must be 1- or 2-d.")
    return _on_diagonal(x, k) if x.type.ndim == 1 else diagonal_of(x, k, 0, 1)


@implements(np.diagflat, numeric=("v",), structural=("k",))
def diagflat(v: Operand, k: int = 0) -> Result:
    x = operand(v)
    return _on_diagonal(with_shape(x, (x.type.size,)), k)


def _triangle(x: Operand, k: int, lower: bool) -> Result:
    x = operand(x)
    if x.type.ndim == 1:
        x = broadcast_to(x, (x.type.size, x.type.size))
    shape = x.type.shape
    row, column = (iota(shape=shape[-2:], axis=a, dtype=np.dtype(np.int64)) for a in (0, 1))
    keep = apply_ufunc(np.less_equal if lower else np.greater_equal, column, apply_ufunc(np.add, row, k))
    return logic.select(broadcast_to(keep, shape), x, Literal(0, x.type))


implements(np.tril, numeric=("m",), structural=("k",))(lambda m, k=0: _triangle(m, k, True))
implements(np.triu, numeric=("m",), structural=("k",))(lambda m, k=0: _triangle(m, k, False))


# ---- blocks


def _depth(arrays: Operand) -> int:
    """How many lists stand around each array: as many around each."""
    if isinstance(arrays, tuple):
        raise TypeError("arrays is a tuple. Only lists can be used to arrange blocks, and np.block does not allow implicit conversion from tuple")
    if not isinstance(arrays, list):
        return 0
    if not arrays:
        raise ValueError("List at arrays cannot be empty")
    depths = {_depth(x) for x in arrays}
    if len(depths) != 1:
        raise ValueError("List depths are mismatched: each array must stand in as many lists")
    return depths.pop() + 1


def _largest_ndim(arrays: Operand) -> int:
    return max(_largest_ndim(x) for x in arrays) if isinstance(arrays, list) else operand(arrays).type.ndim


def _joined_blocks(arrays: Operand, depth: int, ndim: int) -> Result:
    """Lists of the innermost level are joined along the last axis, those around them along the one before."""
    if not isinstance(arrays, list):
        x = operand(arrays)
        return with_shape(x, (*[1] * (ndim - x.type.ndim), *x.type.shape))
    return joined([as_array(_joined_blocks(x, depth - 1, ndim)) for x in arrays], ndim - depth)


@implements(np.block, numeric=("arrays",))
def block(arrays: Operand) -> Result:
    depth = _depth(arrays)
    return as_array(_joined_blocks(arrays, depth, max(depth, _largest_ndim(arrays))))


# ---- selecting along an axis


@implements(np.compress, numeric=("a",), structural=("condition", "axis"))
def compress(condition: Operand, a: Operand, axis: Axes = None, out: object = None) -> Result:
    x, axis = ravelled(operand(a), axis)
    return static_take(x, np.flatnonzero(np.asarray(condition)).tolist(), axis)
