"""Reductions over axes: sum, product, extremes, truth, and the place of an extreme.

`axes` are sorted and non-negative; the output has them removed.  Doors cast first: sums and products of small integers and of booleans arrive
here in the dtype in which NumPy adds them up, truth reductions get booleans, and empty extremes never arrive.
"""

from collections.abc import Sequence

import numpy as np

from functad._core.primitive import Call, Fold, Primitive
from functad._core.program import Equation, Literal
from functad._core.types import ArrayType, array_type
from functad._primitives.arithmetic import mask, mul, over, scale, sub
from functad._primitives.cumulative import annihilated, exclusive_products, zero_marks
from functad._primitives.logic import convert, equal, logical_or, not_equal
from functad._primitives.operands import Array, Example, Shape, Value, spread_literal
from functad._primitives.rules import NOT_LINEAR, Inferred, Known, Pulled, Pushed, Rule, Tangents, Transform, Types, Values
from functad._primitives.shape import broadcast, pad, reshaped, transpose
from functad.errors import ShapeMismatchError

__all__ = ["argmax", "argmin", "reduce_all", "reduce_any", "reduce_max", "reduce_min", "reduce_prod", "reduce_sum", "widened"]

X = np.array([[0.5, -1.5, 2.0], [3.0, 0.25, 1.0]])


def _without(shape: Shape, axes: Sequence[int]) -> Shape:
    return tuple(n for i, n in enumerate(shape) if i not in axes)


def widened(x: Value, shape: Shape, axes: Sequence[int]) -> Value:
    """What a reduction over `axes` gave, repeated along them again."""
    if isinstance(x, Literal):
        return spread_literal(x, shape)
    return broadcast(x, shape=shape, axes=tuple(i for i in range(len(shape)) if i not in axes)) if axes else x


def _examples(x: Array) -> list[Example]:
    cube = np.stack([x, ~x if x.dtype == bool else x[::-1] + 1])
    return [*[([x], {"axes": a}) for a in ((0,), (1,), (0, 1), ())], ([cube], {"axes": (0, 2)})]


def _reduction(name: str, combine: str, ufunc: np.ufunc, jvp: Rule | None = None) -> Primitive:
    """Declare what the ufunc repeats over axes; jvp(out, x, t, axes) -> tangent, None for the truth of booleans."""

    def infer(x: ArrayType, axes: Shape) -> Inferred:
        if any(a >= x.ndim for a in axes):
            raise ShapeMismatchError(f"an array of shape {x.shape} cannot be reduced over the axes {axes}")
        return (array_type(_without(x.shape, axes), x.dtype),)

    def tangent(transform: Transform, xs: Values, ts: Tangents, axes: Shape) -> Pushed:
        out = op(xs[0], axes=axes)
        return [out], [None if ts[0] is None or jvp is None else jvp(out, xs[0], ts[0], axes)]

    op = Primitive(
        name=name, numpy=lambda x, axes: ufunc.reduce(x, axis=axes, dtype=np.asarray(x).dtype), infer=infer, jvp=tangent, transpose=NOT_LINEAR,
        batch=lambda transform, xs, mapped, size, axes: ([op(xs[0], axes=tuple(a + 1 for a in axes))], [True]), kernel=Fold(combine),
        kind="reduction", examples=lambda: _examples(X if jvp is not None else X > 0),
    )  # fmt: skip
    return op


# ---- truth

reduce_all: Primitive = _reduction("reduce_all", "all", np.logical_and)
reduce_any: Primitive = _reduction("reduce_any", "any", np.logical_or)

# ---- sums

reduce_sum: Primitive = _reduction("reduce_sum", "sum", np.add, lambda out, x, t, axes: reduce_sum(t, axes=axes))


def _sum_has_zeros(equation: Equation, known: Known) -> bool:
    """Structural zeros remain in a sum, unless they are a pad's and all padded axes are summed."""
    made = known.get(equation.inputs[0])  # type: ignore[arg-type]  # a literal is not found
    if made is None or made.op is not pad or made.inputs[0] in known:
        return made is not None
    padded = [i for i, w in enumerate(zip(*[made.params[k] for k in ("low", "high", "inner")], strict=True)) if any(w)]
    return not set(padded) <= set(equation.params["axes"])


def _sum_inward(times: Rule, inputs: Values, p: Value, axes: Shape) -> Value:
    """Multiply each term before summing."""
    return reduce_sum(times(inputs[0], widened(p, inputs[0].type.shape, axes)), axes=axes)


reduce_sum.structural, reduce_sum.inward, reduce_sum.alive = _sum_has_zeros, _sum_inward, reduce_any


def _broadcast_transpose(transform: Transform, cts: Values, xs: Tangents, types: Types, shape: Shape, axes: Shape) -> Pulled:
    kind, ct = types[0], cts[0]
    kept = [a for n, a in zip(kind.shape, axes, strict=True) if n == shape[a]]
    summed = tuple(a for a in range(len(shape)) if a not in kept)
    if summed:
        ct = reduce_sum(ct, axes=summed)
    if kept != sorted(kept):
        ct = transpose(ct, order=tuple(sorted(kept).index(a) for a in kept))
    return [reshaped(ct, kind.shape)]


# a sum and a broadcast are each other's transposes
reduce_sum.transpose = lambda transform, cts, xs, types, axes: [widened(cts[0], types[0].shape, axes)]
broadcast.transpose = _broadcast_transpose

# ---- products.  The derivative multiplies the others, without dividing by x: zeros are no exception


def _flat_last(x: Value, axes: Shape) -> Value:
    """x with the axes moved to the end and made one."""
    kept = [i for i in range(x.type.ndim) if i not in axes]
    order = (*kept, *axes)
    if order != tuple(range(x.type.ndim)):
        x = transpose(x, order=order)
    return reshaped(x, (*x.type.shape[: len(kept)], int(np.prod(x.type.shape[len(kept) :], dtype=np.int64))))


def _prod_tangent(out: Value, x: Value, t: Value, axes: Shape) -> Value:
    x, t = _flat_last(x, axes), _flat_last(t, axes)
    last = x.type.ndim - 1
    others = mul(exclusive_products(x, last, False), exclusive_products(x, last, True))
    marks = zero_marks(x)
    marks = sub(widened(reduce_sum(marks, axes=(last,)), x.type.shape, (last,)), marks)
    return reduce_sum(scale(t, annihilated(others, marks)), axes=(last,))


reduce_prod: Primitive = _reduction("reduce_prod", "prod", np.multiply, _prod_tangent)

# ---- extremes


def _extreme_tangent(out: Value, x: Value, t: Value, axes: Shape) -> Value:
    """Ties share equally; where the result is NaN, the NaNs among the elements are what tied."""
    ties = logical_or(equal(x, widened(out, x.type.shape, axes)), not_equal(x, x))
    count = reduce_sum(convert(ties, dtype=t.type.dtype), axes=axes)
    return over(reduce_sum(mask(ties, t), axes=axes), count)


reduce_max: Primitive = _reduction("reduce_max", "max", np.maximum, _extreme_tangent)
reduce_min: Primitive = _reduction("reduce_min", "min", np.minimum, _extreme_tangent)

# ---- the place of an extreme: the first of equal ones, a NaN before all others


def _place(name: str, numpy: Rule) -> Primitive:
    op = Primitive(
        name=name, numpy=lambda x, axis: numpy(x, axis), infer=lambda x, axis: (array_type(_without(x.shape, (axis,)), np.int64),),
        jvp=lambda transform, xs, ts, axis: ([op(xs[0], axis=axis)], [None]), transpose=NOT_LINEAR,
        batch=lambda transform, xs, mapped, size, axis: ([op(xs[0], axis=axis + 1)], [True]), kernel=Call(name), kind="reduction",
        examples=lambda: [([X], {"axis": 0}), ([X], {"axis": 1}), ([X[0]], {"axis": 0})],
    )  # fmt: skip
    return op


argmax = _place("argmax", np.argmax)
argmin = _place("argmin", np.argmin)
