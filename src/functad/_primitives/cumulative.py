"""Running sums and products along an axis, and the linear recurrence that is their derivative.

`recurrence(a, b)` is y[k] = a[k] * y[k-1] + b[k] with y[-1] = 0.  It is linear in b, its transpose is a recurrence in the other direction and its
tangent one in the same, so products that run over zeros have right derivatives of every order, in linear time and without a division.
"""

from typing import Any

import numpy as np

from functad._core.primitive import Call, Missing, Primitive
from functad._core.types import ArrayType, array_type
from functad._primitives.kinds import spread, total, zeros_like
from functad._primitives.linear import scale
from functad._primitives.reduce import exclusive_products
from functad._primitives.shape import concatenate, slice_
from functad.errors import ShapeMismatchError

__all__ = ["cumprod", "cumsum", "recurrence"]

X = np.array([[0.5, -1.5, 2.0, 0.75], [3.0, 0.25, 1.0, -2.0]])


def _along(function: Any, x: Any, axis: int, reverse: bool) -> Any:
    if not reverse:
        return function(x, axis=axis, dtype=x.dtype)
    return np.flip(function(np.flip(x, axis), axis=axis, dtype=x.dtype), axis)


def _same(x: ArrayType, axis: int, reverse: bool) -> tuple[ArrayType, ...]:
    if not 0 <= axis < x.ndim:
        raise ShapeMismatchError(f"an array of shape {x.shape} has no axis {axis}")
    return (array_type(x.shape, x.dtype),)


def _examples() -> Any:
    return [([x], {"axis": a, "reverse": r}) for x, a in ((X, 0), (X, 1), (X[0], 0)) for r in (False, True)]


def _linear_jvp(transform: Any, xs: Any, ts: Any, axis: int, reverse: bool) -> Any:
    return [cumsum(xs[0], axis=axis, reverse=reverse)], [None if ts[0] is None else cumsum(ts[0], axis=axis, reverse=reverse)]


cumsum: Primitive = Primitive(
    name="cumsum",
    numpy=lambda x, axis, reverse: _along(np.cumsum, x, axis, reverse),
    infer=_same,
    jvp=_linear_jvp,
    transpose=lambda transform, cts, xs, types, axis, reverse: [cumsum(cts[0], axis=axis, reverse=not reverse)],
    batch=lambda transform, xs, mapped, size, axis, reverse: ([cumsum(xs[0], axis=axis + 1, reverse=reverse)], [True]),
    kernel=Call("cumsum"),
    kind="cumulative",
    examples=_examples,
)


def _cumprod_jvp(transform: Any, xs: Any, ts: Any, axis: int, reverse: bool) -> Any:
    """y[k] = x[k] * y[k-1], so the tangent is a recurrence with the same factors."""
    x, t = xs[0], ts[0]
    out = cumprod(x, axis=axis, reverse=reverse)
    if t is None:
        return [out], [None]
    return [out], [recurrence(x, scale(t, exclusive_products(x, axis, reverse)), axis=axis, reverse=reverse)]


cumprod: Primitive = Primitive(
    name="cumprod",
    numpy=lambda x, axis, reverse: _along(np.cumprod, x, axis, reverse),
    infer=_same,
    jvp=_cumprod_jvp,
    transpose=Missing("not linear"),
    batch=lambda transform, xs, mapped, size, axis, reverse: ([cumprod(xs[0], axis=axis + 1, reverse=reverse)], [True]),
    kernel=Call("cumprod"),
    kind="cumulative",
    examples=_examples,
)


def _recurrence_numpy(a: Any, b: Any, axis: int, reverse: bool) -> Any:
    a, b = np.moveaxis(np.asarray(a), axis, 0), np.moveaxis(np.asarray(b), axis, 0)
    out = np.array(b)
    order = range(len(b) - 2, -1, -1) if reverse else range(1, len(b))
    previous = 1 if reverse else -1
    for k in order:
        out[k] += a[k] * out[k + previous]
    return np.ascontiguousarray(np.moveaxis(out, 0, axis))


def _shift(x: Any, axis: int, reverse: bool) -> Any:
    """What stands before each element (after it, when `reverse`); zero for the first."""
    n = x.type.shape[axis]
    if n == 0:
        return x
    size = tuple(n - 1 if i == axis else m for i, m in enumerate(x.type.shape))
    start = tuple(1 if i == axis and reverse else 0 for i in range(len(size)))
    rest = slice_(x, start=start, size=size, step=(1,) * len(size))
    # a plain zero, not a structural one: it stands for y[-1], which takes part in the arithmetic
    zero = zeros_like(x.type.with_shape(tuple(1 if i == axis else m for i, m in enumerate(x.type.shape))))
    return concatenate(*((rest, zero) if reverse else (zero, rest)), axis=axis)


def _recurrence_infer(a: ArrayType, b: ArrayType, axis: int, reverse: bool) -> tuple[ArrayType, ...]:
    if a.shape != b.shape:
        raise ShapeMismatchError(f"recurrence got operands of shapes {a.shape}, {b.shape}")
    return (array_type(b.shape, b.dtype),)


def _recurrence_jvp(transform: Any, xs: Any, ts: Any, axis: int, reverse: bool) -> Any:
    a, b = xs
    out = recurrence(a, b, axis=axis, reverse=reverse)
    parts = [None if ts[0] is None else scale(ts[0], _shift(out, axis, reverse)), ts[1]]
    added = total(parts)
    return [out], [None if added is None else recurrence(a, added, axis=axis, reverse=reverse)]


def _recurrence_transpose(transform: Any, cts: Any, xs: Any, types: Any, axis: int, reverse: bool) -> Any:
    """The cotangent runs back through the factor of the element that came next."""
    return [None, recurrence(_shift(xs[0], axis, not reverse), cts[0], axis=axis, reverse=not reverse)]


def _recurrence_batch(transform: Any, xs: Any, mapped: Any, size: int, axis: int, reverse: bool) -> Any:
    return [recurrence(*[x if m else spread(x, size) for x, m in zip(xs, mapped, strict=True)], axis=axis + 1, reverse=reverse)], [True]


recurrence: Primitive = Primitive(
    name="recurrence",
    numpy=_recurrence_numpy,
    infer=_recurrence_infer,
    jvp=_recurrence_jvp,
    transpose=_recurrence_transpose,
    batch=_recurrence_batch,
    kernel=Call("recurrence"),
    kind="cumulative",
    examples=lambda: [([x, x[..., ::-1] + 1], {"axis": a, "reverse": r}) for x, a in ((X, 0), (X, 1), (X[0], 0)) for r in (False, True)],
    note="y[k] = a[k] * y[k-1] + b[k]",
)
