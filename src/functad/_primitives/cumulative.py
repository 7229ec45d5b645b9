"""Running sums and products along an axis, and the linear recurrence that is their derivative.

`recurrence(a, b)` is y[k] = a[k] * y[k-1] + b[k] with y[-1] = 0.  It is linear in b, its transpose is a recurrence in the other direction and its
tangent one in the same, so products that run over zeros have right derivatives of every order, in linear time and without a division.
"""

from collections.abc import Sequence

import numpy as np

from functad._core.primitive import Call, Missing, Primitive
from functad._core.types import ArrayType, array_type
from functad._primitives.alive import passes_on
from functad._primitives.arithmetic import elementwise, scale, select, sub, total
from functad._primitives.logic import convert, counted, equal
from functad._primitives.operands import Array, Example, Value, constant
from functad._primitives.rules import NOT_LINEAR, Batched, Flags, Inferred, Pulled, Pushed, Rule, Tangents, Transform, Types, Values
from functad._primitives.shape import aligned, concatenate, part
from functad.errors import ShapeMismatchError

__all__ = ["annihilated", "cumprod", "cumsum", "exclusive_products", "recurrence", "zero_marks"]

X = np.array([[0.5, -1.5, 2.0, 0.75], [3.0, 0.25, 1.0, -2.0]])


def _examples(inputs: Rule) -> list[Example]:
    return [(inputs(x), {"axis": a, "reverse": r}) for x, a in ((X, 0), (X, 1), (X[0], 0)) for r in (False, True)]


def _running(name: str, function: np.ufunc, jvp: Rule, transpose: Rule | Missing = NOT_LINEAR) -> Primitive:
    """Declare what `function` accumulates along an axis; jvp(x, t, axis, reverse) -> tangent."""

    def numpy(x: Array, axis: int, reverse: bool) -> Array:
        if not reverse:
            return function.accumulate(x, axis=axis, dtype=x.dtype)
        return np.flip(function.accumulate(np.flip(x, axis), axis=axis, dtype=x.dtype), axis)

    def infer(x: ArrayType, axis: int, reverse: bool) -> Inferred:
        if not 0 <= axis < x.ndim:
            raise ShapeMismatchError(f"an array of shape {x.shape} has no axis {axis}")
        return (array_type(x.shape, x.dtype),)

    def pushed(transform: Transform, xs: Values, ts: Tangents, axis: int, reverse: bool) -> Pushed:
        return [op(xs[0], axis=axis, reverse=reverse)], [None if ts[0] is None else jvp(xs[0], ts[0], axis=axis, reverse=reverse)]

    op = Primitive(
        name=name, numpy=numpy, infer=infer, jvp=pushed, transpose=transpose, kernel=Call(name), kind="cumulative",
        batch=lambda transform, xs, mapped, size, axis, reverse: ([op(xs[0], axis=axis + 1, reverse=reverse)], [True]),
        examples=lambda: _examples(lambda x: [x]),
    )  # fmt: skip
    return op


cumsum: Primitive = _running(
    "cumsum", np.add, lambda x, t, **params: cumsum(t, **params),
    lambda transform, cts, xs, types, axis, reverse: [cumsum(cts[0], axis=axis, reverse=not reverse)],
)  # fmt: skip
cumsum.structural, cumsum.alive = passes_on, lambda x, **params: counted(cumsum, x, **params)


def _shifted(x: Value, axis: int, reverse: bool, first: int) -> Value:
    """What stands before each element (after it, when `reverse`), and `first` for the first."""
    n = x.type.shape[axis]
    if n == 0:
        return x
    rest = part(x, axis, 1, n) if reverse else part(x, axis, 0, n - 1)
    start = constant(first, x.type.with_shape(tuple(1 if i == axis else m for i, m in enumerate(x.type.shape))))
    return concatenate(*((rest, start) if reverse else (start, rest)), axis=axis)


def exclusive_products(x: Value, axis: int, reverse: bool) -> Value:
    """Products of what stands before each element (after it, when `reverse`): 1 for the first."""
    return cumprod(_shifted(x, axis, reverse, 1), axis=axis, reverse=reverse)


def _exact_products(x: Value, axis: int, reverse: bool) -> Value:
    marks = cumsum(_shifted(zero_marks(x), axis, reverse, 0), axis=axis, reverse=reverse)
    return annihilated(exclusive_products(x, axis, reverse), marks)


# ---- a product that holds a zero is 0, even where its other factors overflow

_NOT_FINITE = 2**32


def zero_marks(x: Value) -> Value:
    """Numbers whose sum is between 1 and 2**32 - 1 where there are zeros among finite elements: one sum serves both counts."""
    found = convert(equal(x, constant(0, x)), dtype=np.dtype(np.int64))
    return select(equal(sub(x, x), constant(0, x)), found, constant(_NOT_FINITE, found))


def _annihilated_emit(codes: Sequence[str], out: str, p: str, marks: str) -> str:
    zero = f"{out}(0.0)" if out[0] == "f" else "complex_{1}({0}(0.0), {0}(0.0))".format({"c8": "f4", "c16": "f8"}[out], out)
    return f"select(({p} != {p}) & ({marks} > i8(0)) & ({marks} < i8({_NOT_FINITE})), {zero}, {p})"


# The value alone is corrected: its derivative is that of the product that was computed, which no mask cuts.
annihilated: Primitive = elementwise(
    "annihilated", lambda p, marks: np.where(np.isnan(p) & (marks > 0) & (marks < _NOT_FINITE), 0, p).astype(p.dtype)[()],
    [lambda t, out, p, marks: t, None], _annihilated_emit, dtype=lambda p, marks: p, examples=lambda: [([X, np.arange(8).reshape(2, 4)], {})],
    note="a product, 0 in the place of NaN where the sum of the marks of its factors says that they are finite and some are zero",
)  # fmt: skip


# y[k] = x[k] * y[k-1], so the tangent is a recurrence with the same factors
cumprod: Primitive = _running(
    "cumprod", np.multiply,
    lambda x, t, **params: recurrence(x, scale(t, _exact_products(x, **params)), **params),
)  # fmt: skip


def _recurrence_numpy(a: Array, b: Array, axis: int, reverse: bool) -> Array:
    a, b = np.moveaxis(np.asarray(a), axis, 0), np.moveaxis(np.asarray(b), axis, 0)
    out = np.array(b)
    order = range(len(b) - 2, -1, -1) if reverse else range(1, len(b))
    previous = 1 if reverse else -1
    for k in order:
        out[k] += a[k] * out[k + previous]
    return np.ascontiguousarray(np.moveaxis(out, 0, axis))


def _recurrence_infer(a: ArrayType, b: ArrayType, axis: int, reverse: bool) -> Inferred:
    if a.shape != b.shape:
        raise ShapeMismatchError(f"recurrence got operands of shapes {a.shape}, {b.shape}")
    return (array_type(b.shape, b.dtype),)


def _recurrence_jvp(transform: Transform, xs: Values, ts: Tangents, axis: int, reverse: bool) -> Pushed:
    a, b = xs
    out = recurrence(a, b, axis=axis, reverse=reverse)
    # y[-1] is a plain zero, not a structural one: it takes part in the arithmetic
    added = total([None if ts[0] is None else scale(ts[0], _shifted(out, axis, reverse, 0)), ts[1]])
    return [out], [recurrence(a, added, axis=axis, reverse=reverse)]


def _recurrence_transpose(transform: Transform, cts: Values, xs: Values, types: Types, axis: int, reverse: bool) -> Pulled:
    """The cotangent runs back through the factor of the element that came next."""
    return [None, recurrence(_shifted(xs[0], axis, not reverse, 0), cts[0], axis=axis, reverse=not reverse)]


def _recurrence_batch(transform: Transform, xs: Values, mapped: Flags, size: int, axis: int, reverse: bool) -> Batched:
    return [recurrence(*aligned(xs, mapped, size), axis=axis + 1, reverse=reverse)], [True]


recurrence: Primitive = Primitive(
    name="recurrence",
    numpy=_recurrence_numpy,
    infer=_recurrence_infer,
    jvp=_recurrence_jvp,
    transpose=_recurrence_transpose,
    batch=_recurrence_batch,
    kernel=Call("recurrence"),
    kind="cumulative",
    examples=lambda: _examples(lambda x: [x, x[..., ::-1] + 1]),
    structural=lambda equation, known: equation.inputs[1] in known,
    alive=lambda a, b, **params: counted(cumsum, b, **params),
    note="y[k] = a[k] * y[k-1] + b[k]",
)
