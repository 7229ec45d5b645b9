"""Reductions: sums, means, spreads, extremes, truth, running sums.

Dtypes, empty arrays, `initial` and `where` follow NumPy; what NumPy refuses is refused with its own error.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from functad._core.primitive import Primitive
from functad._core.program import Literal
from functad._core.types import array_type
from functad._numpy.arguments import NO_VALUE, Axes, DType, DTypeLike, Operand, Result, Value, axes_of, axis_of, given, kept
from functad._numpy.dispatch import implements, refuse
from functad._numpy.promote import as_bool, broadcast_shapes, broadcast_to, cast, operand, ravelled, with_shape
from functad._numpy.ufuncs import apply_ufunc
from functad._primitives import cumulative, logic, reduce
from functad._primitives import elementwise as e
from functad._primitives.shape import concatenate

__all__ = [
    "DATA", "count_of", "degrees", "extreme_door", "extreme_of", "fold", "inexact_dtype", "mean_of", "place_door", "running", "running_door",
    "square_size", "sum_of", "total_door",
]  # fmt: skip

DATA = ("a", "initial", "where")


def summing_dtype(dtype: DType) -> DType:
    """The dtype in which NumPy adds up or multiplies: small integers and booleans grow to the platform's."""
    if dtype.kind in "bi" and dtype.itemsize < 8:
        return np.dtype(np.int64)
    return np.dtype(np.uint64) if dtype.kind == "u" and dtype.itemsize < 8 else dtype


def inexact_dtype(dtype: DType) -> DType:
    """The dtype in which NumPy divides."""
    return dtype if dtype.kind in "fc" else np.dtype(np.float64)


def fold(op: Primitive, x: Operand, axis: Axes = None, keepdims: bool = False) -> Result:
    """A reduction over NumPy's `axis`."""
    x = operand(x)
    axes = axes_of(axis, x.type.ndim)
    out = op(x, axes=axes) if axes or x.type.weak else x
    return with_shape(out, kept(x.type, axes)) if given(keepdims) and keepdims else out


def _everywhere(where: Operand) -> bool:
    return where is True or not given(where)


def _masked(x: Value, where: Operand, identity: Operand) -> Result:
    """x where the mask holds, the identity of the reduction elsewhere."""
    if _everywhere(where):
        return x
    condition = as_bool(where)
    shape = broadcast_shapes(x.type.shape, condition.type.shape)
    return logic.select(broadcast_to(condition, shape), broadcast_to(x, shape), broadcast_to(cast(identity, x.type.dtype), shape))


# ---- sums and products


def _total(
    op: Primitive, identity: int, x: Operand, axis: Axes = None, keepdims: bool = False, where: Operand = NO_VALUE, dtype: DTypeLike = None
) -> Result:
    x = operand(x)
    x = cast(x, summing_dtype(x.type.dtype) if dtype is None else dtype)
    return fold(op, _masked(x, where, identity), axis, keepdims)


sum_of = partial(_total, reduce.reduce_sum, 0)  # np.sum inside of implementations
prod_of = partial(_total, reduce.reduce_prod, 1)


def _with_initial(ufunc: np.ufunc, out: Value, initial: Operand) -> Result:
    """A reduction's result with `initial` taken in."""
    return apply_ufunc(ufunc, broadcast_to(cast(initial, out.type.dtype), out.type.shape), out) if given(initial) else out


def total_door(function: Operand, ufunc: np.ufunc, method: str | None = None, read: Callable[[Operand], Result] = operand) -> Result:
    """The door of a sum or product over axes; `read` replaces what is skipped."""
    total = sum_of if ufunc is np.add else prod_of

    @implements(function, numeric=DATA, structural=("axis",), method=method)
    def implementation(
        a: Operand, axis: Axes = None, dtype: DTypeLike = None, out: object = None, keepdims: bool = NO_VALUE, initial: Operand = NO_VALUE,
        where: Operand = NO_VALUE,
    ) -> Result:  # fmt: skip
        return _with_initial(ufunc, total(read(a), axis, keepdims, where, dtype), initial)

    return implementation


sum, prod = total_door(np.sum, np.add, "sum"), total_door(np.prod, np.multiply, "prod")


@implements(np.count_nonzero, numeric=("a",), structural=("axis",))
def count_nonzero(a: Operand, axis: Axes = None, *, keepdims: bool = False) -> Result:
    return sum_of(as_bool(a), axis, keepdims)


# ---- means and spreads


def count_of(x: Value, axis: Axes, keepdims: bool, where: Operand, dtype: DTypeLike) -> Result:
    """How many elements went into each result, as a number of that dtype."""
    if _everywhere(where):
        n = int(np.prod([x.type.shape[i] for i in axes_of(axis, x.type.ndim)], dtype=np.int64))
        return Literal(n, array_type((), dtype))
    return sum_of(broadcast_to(as_bool(where), broadcast_shapes(x.type.shape, operand(where).type.shape)), axis, keepdims, dtype=dtype)


def mean_of(x: Operand, axis: Axes = None, keepdims: bool = False, where: Operand = NO_VALUE, dtype: DTypeLike = None) -> Result:
    """np.mean inside of implementations."""
    x = operand(x)
    wide: DType = inexact_dtype(x.type.dtype) if dtype is None else np.dtype(dtype)
    divisor = np.dtype(inexact_dtype(wide).char.lower())  # a count is real
    out = apply_ufunc(np.true_divide, sum_of(x, axis, keepdims, where, wide), count_of(x, axis, keepdims, where, divisor))
    return out if dtype is None else cast(out, wide)


@implements(np.mean, numeric=("a", "where"), structural=("axis",), method="mean")
def mean(
    a: Operand, axis: Axes = None, dtype: DTypeLike = None, out: object = None, keepdims: bool = NO_VALUE, *, where: Operand = NO_VALUE
) -> Result:
    return mean_of(a, axis, keepdims, where, dtype)


def square_size(x: Value) -> Result:
    """|x|^2."""
    return e.add(e.square(logic.real(x)), e.square(logic.imag(x))) if x.type.dtype.kind == "c" else e.square(x)


def degrees(ddof: Operand, correction: Operand) -> Operand:
    """What is taken from the count, whichever of its two names was used."""
    if correction is NO_VALUE:
        return ddof
    if ddof != 0:
        raise ValueError("ddof and correction can't be provided simultaneously.")
    return correction


def _variance(name: str, a: Operand, axis: Axes, dtype: DTypeLike, ddof: Operand, keepdims: bool, where: Operand, mean: Operand) -> Result:
    if dtype is not None and np.dtype(dtype).kind not in "fc":
        refuse(name, "dtype", dtype, "give a floating-point one")
    if dtype is not None and np.dtype(dtype).kind == "c":
        refuse(name, "dtype", dtype, "a spread is real: convert the array, or the result")
    x = operand(a)
    x = cast(x, inexact_dtype(x.type.dtype) if dtype is None else dtype)
    centre = operand(mean) if given(mean) else mean_of(x, axis, True, where)
    total = sum_of(square_size(apply_ufunc(np.subtract, x, centre)), axis, keepdims, where)
    count = count_of(x, axis, keepdims, where, total.type.dtype)
    if isinstance(count, Literal):
        return apply_ufunc(np.true_divide, total, Literal(max(count.value - ddof, 0), count.type))
    return apply_ufunc(np.true_divide, total, apply_ufunc(np.maximum, apply_ufunc(np.subtract, count, ddof), 0))


def _spread_door(function: Operand, last: Callable[[Result], Result]) -> None:
    name = function.__name__

    @implements(function, numeric=("a", "where", "mean"), structural=("axis", "ddof", "correction"), method=name)
    def implementation(
        a: Operand, axis: Axes = None, dtype: DTypeLike = None, out: object = None, ddof: Operand = 0, keepdims: bool = NO_VALUE, *,
        where: Operand = NO_VALUE, mean: Operand = NO_VALUE, correction: Operand = NO_VALUE,
    ) -> Result:  # fmt: skip
        return last(_variance(name, a, axis, dtype, degrees(ddof, correction), keepdims, where, mean))


_spread_door(np.var, lambda variance: variance)
_spread_door(np.std, e.root)


@implements(np.average, numeric=("a", "weights"), structural=("axis",))
def average(a: Operand, axis: Axes = None, weights: Operand = None, returned: bool = False, *, keepdims: bool = NO_VALUE) -> Result:
    x = operand(a)
    if weights is None:
        out = mean_of(x, axis, keepdims)
        total = broadcast_to(Literal(x.type.size // max(out.type.size, 1), array_type((), out.type.dtype)), out.type.shape)
    else:
        w = _aligned_weights(operand(weights), x, axis)
        wide = np.result_type(x.type.dtype, w.type.dtype, np.float64 if x.type.dtype.kind in "biu" else x.type.dtype)
        w = broadcast_to(cast(w, wide), x.type.shape)
        total = sum_of(w, axis, keepdims)
        out = apply_ufunc(np.true_divide, sum_of(apply_ufunc(np.multiply, x, w), axis, keepdims), total)
    return (out, total) if returned else out


def _aligned_weights(w: Value, x: Value, axis: Axes) -> Result:
    """Weights of the shape of x, or of its axes that are averaged."""
    if w.type.shape == x.type.shape:
        return w
    if axis is None:
        raise TypeError("Axis must be specified when shapes of a and weights differ.")
    axes = axes_of(axis, x.type.ndim)
    if w.type.shape != tuple(x.type.shape[i] for i in axes):
        raise ValueError("Shape of weights must be consistent with shape of a along specified axis.")
    return with_shape(w, kept(x.type, [i for i in range(x.type.ndim) if i not in axes]))


# ---- extremes


def extreme_of(name: str, x: Operand, axis: Axes, keepdims: bool, initial: Operand = NO_VALUE, where: Operand = NO_VALUE) -> Result:
    """max or min; booleans by their logic."""
    largest = name == "max"
    x = operand(x)
    if x.type.dtype.kind == "c":
        refuse(name, "a", x.type, "complex numbers have no order that is differentiable")
    axes = axes_of(axis, x.type.ndim)
    empty = any(x.type.shape[i] == 0 for i in axes)
    if not given(initial):
        word = "maximum" if largest else "minimum"
        if not _everywhere(where):
            raise ValueError(f"reduction operation '{word}' does not have an identity, so to use a where mask one has to specify 'initial'")
        if empty:
            raise ValueError(f"zero-size array to reduction operation {word} which has no identity")
    x = _masked(x, where, initial)
    if empty:
        shape = kept(x.type, axes) if given(keepdims) and keepdims else tuple(n for i, n in enumerate(x.type.shape) if i not in axes)
        return broadcast_to(cast(initial, x.type.dtype), shape)
    if x.type.dtype.kind == "b":
        op = reduce.reduce_any if largest else reduce.reduce_all
    else:
        op = reduce.reduce_max if largest else reduce.reduce_min
    return _with_initial(np.maximum if largest else np.minimum, fold(op, x, axis, keepdims), initial)


def extreme_door(*functions: Operand, extreme: Callable[..., Result], name: str, method: str | None = None) -> Result:
    """The door of max or min, skipping NaN or not."""

    @implements(*functions, numeric=DATA, structural=("axis",), method=method)
    def implementation(
        a: Operand, axis: Axes = None, out: object = None, keepdims: bool = NO_VALUE, initial: Operand = NO_VALUE, where: Operand = NO_VALUE
    ) -> Result:
        return extreme(name, a, axis, keepdims, initial, where)

    return implementation


max_ = extreme_door(np.max, np.amax, extreme=extreme_of, name="max", method="max")
min_ = extreme_door(np.min, np.amin, extreme=extreme_of, name="min", method="min")


@implements(np.ptp, numeric=("a",), structural=("axis",))
def ptp(a: Operand, axis: Axes = None, out: object = None, keepdims: bool = NO_VALUE) -> Result:
    return apply_ufunc(np.subtract, *[extreme_of(name, a, axis, keepdims) for name in ("max", "min")])


def place_door(function: Operand, op: Primitive, method: str | None = None, read: Callable[[Operand], Result] = operand) -> None:
    """The door of argmax or argmin; `read` replaces what is skipped."""

    @implements(function, numeric=("a",), structural=("axis",), method=method)
    def implementation(a: Operand, axis: Axes = None, out: object = None, *, keepdims: bool = NO_VALUE) -> Result:
        x = read(a)
        if x.type.dtype.kind == "c":
            refuse(op.name, "a", x.type, "complex numbers have no order")
        flat, place = ravelled(x, axis)
        if flat.type.shape[place] == 0:
            raise ValueError(f"attempt to get {op.name} of an empty sequence")
        found = op(cast(flat, np.int64) if x.type.dtype.kind == "b" else flat, axis=place)
        return with_shape(found, kept(x.type, range(x.type.ndim) if axis is None else [place])) if given(keepdims) and keepdims else found


place_door(np.argmax, reduce.argmax, "argmax")
place_door(np.argmin, reduce.argmin, "argmin")


# ---- truth


def _truth_door(function: Operand, op: Primitive, identity: bool) -> Result:
    @implements(function, numeric=("a", "where"), structural=("axis",), method=function.__name__)
    def implementation(a: Operand, axis: Axes = None, out: object = None, keepdims: bool = NO_VALUE, *, where: Operand = NO_VALUE) -> Result:
        return fold(op, _masked(as_bool(a), where, identity), axis, keepdims)

    return implementation


all_, any_ = _truth_door(np.all, reduce.reduce_all, True), _truth_door(np.any, reduce.reduce_any, False)


# ---- running sums and products


def running(op: Primitive, x: Operand, axis: Axes, dtype: DTypeLike = None) -> Result:
    """cumsum or cumprod over NumPy's `axis`; None means the flattened array."""
    x = operand(x)
    x, axis = ravelled(cast(x, summing_dtype(x.type.dtype) if dtype is None else dtype), axis)
    return op(x, axis=axis, reverse=False)


def running_door(function: Operand, op: Primitive, method: str | None = None, read: Callable[[Operand], Result] = operand) -> None:
    """The door of cumsum or cumprod; `read` replaces what is skipped."""

    @implements(function, numeric=("a",), structural=("axis",), method=method)
    def implementation(a: Operand, axis: Axes = None, dtype: DTypeLike = None, out: object = None) -> Result:
        return running(op, read(a), axis, dtype)


running_door(np.cumsum, cumulative.cumsum, "cumsum")
running_door(np.cumprod, cumulative.cumprod, "cumprod")


def _array_api_running(function: Operand, op: Primitive, start: int) -> None:
    @implements(function, numeric=("x",), structural=("axis",))
    def implementation(
        x: Operand, /, *, axis: int | None = None, dtype: DTypeLike = None, out: object = None, include_initial: bool = False
    ) -> Result:
        x = operand(x)
        if axis is None and x.type.ndim > 1:
            raise ValueError("For arrays which have more than one dimension ``axis`` argument is required.")
        axis = axis_of(0 if axis is None else axis, x.type.ndim)
        found = running(op, x, axis, dtype)
        if not include_initial:
            return found
        return concatenate(Literal(start, found.type.with_shape(kept(found.type, [axis]))), found, axis=axis)


if hasattr(np, "cumulative_sum"):  # NumPy 2.1
    _array_api_running(np.cumulative_sum, cumulative.cumsum, 0)
    _array_api_running(np.cumulative_prod, cumulative.cumprod, 1)
