"""Reductions over axes: sum, product, extremes, truth, and the place of an extreme.

`axes` are sorted and non-negative; the output has them removed.  Doors cast first: sums and products of small integers and of booleans arrive
here in the dtype in which NumPy adds them up, truth reductions get booleans, and empty extremes never arrive.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from functad._core.primitive import Call, Fold, Missing, Primitive
from functad._core.program import Literal
from functad._core.types import ArrayType, array_type
from functad._primitives.kinds import ones_like
from functad._primitives.linear import apply, mask, over, scale
from functad._primitives.shape import broadcast, concatenate, reshape, slice_, transpose
from functad.errors import ShapeMismatchError

__all__ = ["argmax", "argmin", "exclusive_products", "reduce_all", "reduce_any", "reduce_max", "reduce_min", "reduce_prod", "reduce_sum", "widened"]

_NOT_LINEAR = Missing("not linear")
X = np.array([[0.5, -1.5, 2.0], [3.0, 0.25, 1.0]])


def _without(shape: Sequence[int], axes: Sequence[int]) -> tuple[int, ...]:
    return tuple(n for i, n in enumerate(shape) if i not in axes)


def widened(x: Any, shape: tuple[int, ...], axes: Sequence[int]) -> Any:
    """What a reduction over `axes` gave, repeated along them again."""
    if not axes:
        return x
    return broadcast(x, shape=shape, axes=tuple(i for i in range(len(shape)) if i not in axes))


def _examples(x: np.ndarray[Any, Any]) -> Callable[[], list[tuple[list[Any], dict[str, Any]]]]:
    cube = np.stack([x, x[::-1] + 1]) if x.dtype != bool else np.stack([x, ~x])
    return lambda: [([x], {"axes": a}) for a in ((0,), (1,), (0, 1), ())] + [([cube], {"axes": (0, 2)})]


def _reduction(
    name: str,
    numpy: Callable[..., Any],
    combine: str,
    jvp: Callable[..., Any] | Missing,
    sample: np.ndarray[Any, Any],
    transpose: Callable[..., Any] | Missing = _NOT_LINEAR,
) -> Primitive:
    """Declare a reduction; jvp(out, x, t, axes) -> tangent."""

    def infer(x: ArrayType, axes: tuple[int, ...]) -> tuple[ArrayType, ...]:
        if any(a >= x.ndim for a in axes):
            raise ShapeMismatchError(f"an array of shape {x.shape} cannot be reduced over the axes {axes}")
        return (array_type(_without(x.shape, axes), x.dtype),)

    def tangent(transform: Any, xs: Any, ts: Any, axes: tuple[int, ...]) -> Any:
        out = op(xs[0], axes=axes)
        assert not isinstance(jvp, Missing)
        return [out], [None if ts[0] is None else jvp(out, xs[0], ts[0], axes)]

    op = Primitive(
        name=name,
        numpy=numpy,
        infer=infer,
        jvp=tangent if not isinstance(jvp, Missing) else jvp,
        transpose=transpose,
        batch=lambda transform, xs, mapped, size, axes: ([op(xs[0], axes=tuple(a + 1 for a in axes))], [True]),
        kernel=Fold(combine),
        kind="reduction",
        examples=_examples(sample),
    )
    return op


# ---- sums

reduce_sum: Primitive = _reduction(
    "reduce_sum", lambda x, axes: np.add.reduce(x, axis=axes, dtype=np.asarray(x).dtype), "sum", lambda out, x, t, axes: reduce_sum(t, axes=axes), X,
    lambda transform, cts, xs, types, axes: [widened(cts[0], types[0].shape, axes)],
)  # fmt: skip


def _sum_has_zeros(equation: Any, known: Any) -> bool:
    """Structural zeros remain in a sum, unless they are a pad's and all padded axes are summed."""
    made = known.get(equation.inputs[0])
    if made is None or made.op.name != "pad" or made.inputs[0] in known:
        return made is not None
    padded = [i for i, w in enumerate(zip(*[made.params[k] for k in ("low", "high", "inner")], strict=True)) if any(w)]
    return not set(padded) <= set(equation.params["axes"])


def _sum_inward(op: Any, inputs: Any, p: Any, axes: tuple[int, ...]) -> Any:
    """Multiply each term before summing."""
    shape = inputs[0].type.shape
    factor = Literal(p.value, array_type(shape, p.type.dtype)) if isinstance(p, Literal) else widened(p, shape, axes)
    return reduce_sum(apply(op, inputs[0], factor), axes=axes)


reduce_sum.structural, reduce_sum.inward = _sum_has_zeros, _sum_inward

# ---- products.  The derivative multiplies the others, without dividing by x: zeros are no exception


def _flat_last(x: Any, axes: tuple[int, ...]) -> Any:
    """x with the axes moved to the end and made one."""
    kept = [i for i in range(x.type.ndim) if i not in axes]
    order = (*kept, *axes)
    if order != tuple(range(x.type.ndim)):
        x = transpose(x, order=order)
    shape = (*x.type.shape[: len(kept)], int(np.prod(x.type.shape[len(kept) :], dtype=np.int64)))
    return x if x.type.shape == shape else reshape(x, shape=shape)


def exclusive_products(x: Any, axis: int, reverse: bool) -> Any:
    """Products of what stands before each element (after it, when `reverse`): 1 for the first."""
    from functad._primitives.cumulative import cumprod

    n = x.type.shape[axis]
    if n == 0:
        return x
    size = tuple(n - 1 if i == axis else m for i, m in enumerate(x.type.shape))
    one = ones_like(x.type.with_shape(tuple(1 if i == axis else m for i, m in enumerate(x.type.shape))))
    start = tuple(1 if i == axis and reverse else 0 for i in range(len(size)))
    rest = cumprod(slice_(x, start=start, size=size, step=(1,) * len(size)), axis=axis, reverse=reverse)
    return concatenate(*((rest, one) if reverse else (one, rest)), axis=axis)


def _prod_tangent(out: Any, x: Any, t: Any, axes: tuple[int, ...]) -> Any:
    from functad._primitives.elementwise import mul

    x, t = _flat_last(x, axes), _flat_last(t, axes)
    last = x.type.ndim - 1
    others = mul(exclusive_products(x, last, False), exclusive_products(x, last, True))
    return reduce_sum(scale(t, others), axes=(last,))


reduce_prod: Primitive = _reduction(
    "reduce_prod", lambda x, axes: np.multiply.reduce(x, axis=axes, dtype=np.asarray(x).dtype), "prod", _prod_tangent, X
)

# ---- extremes


def _extreme_tangent(out: Any, x: Any, t: Any, axes: tuple[int, ...]) -> Any:
    """Ties share equally; where the result is NaN, the NaNs among the elements are what tied."""
    from functad._primitives.logic import convert, equal, logical_or, not_equal

    ties = equal(x, widened(out, x.type.shape, axes))
    if x.type.is_inexact:
        ties = logical_or(ties, not_equal(x, x))
    count = reduce_sum(convert(ties, dtype=t.type.dtype), axes=axes)
    return over(reduce_sum(mask(ties, t), axes=axes), count)


reduce_max = _reduction("reduce_max", lambda x, axes: np.maximum.reduce(x, axis=axes), "max", _extreme_tangent, X)
reduce_min = _reduction("reduce_min", lambda x, axes: np.minimum.reduce(x, axis=axes), "min", _extreme_tangent, X)

# ---- truth

reduce_all = _reduction("reduce_all", lambda x, axes: np.logical_and.reduce(x, axis=axes), "all", lambda *_: None, X > 0)
reduce_any = _reduction("reduce_any", lambda x, axes: np.logical_or.reduce(x, axis=axes), "any", lambda *_: None, X > 0)

# ---- the place of an extreme: the first of equal ones, a NaN before all others


def _place(name: str, numpy: Callable[..., Any]) -> Primitive:
    def infer(x: ArrayType, axis: int) -> tuple[ArrayType, ...]:
        return (array_type(_without(x.shape, (axis,)), np.int64),)

    op = Primitive(
        name=name,
        numpy=numpy,
        infer=infer,
        jvp=lambda transform, xs, ts, axis: ([op(xs[0], axis=axis)], [None]),
        transpose=_NOT_LINEAR,
        batch=lambda transform, xs, mapped, size, axis: ([op(xs[0], axis=axis + 1)], [True]),
        kernel=Call(name),
        kind="reduction",
        examples=lambda: [([X], {"axis": 0}), ([X], {"axis": 1}), ([X[0]], {"axis": 0})],
    )
    return op


argmax = _place("argmax", lambda x, axis: np.argmax(x, axis))
argmin = _place("argmin", lambda x, axis: np.argmin(x, axis))
