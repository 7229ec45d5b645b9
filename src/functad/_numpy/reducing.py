"""Reductions: sums, means, spreads, extremes, truth, running sums, and their variants that skip NaN.

Dtypes, empty arrays, `initial` and `where` follow NumPy; what NumPy refuses is refused with its own error.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from functad._core.primitive import Primitive
from functad._core.program import Literal
from functad._core.types import array_type
from functad._numpy.dispatch import NO_VALUE, implements, refuse
from functad._numpy.promote import as_bool, broadcast_shapes, broadcast_to, cast, operand, with_shape
from functad._numpy.ufuncs import apply_ufunc
from functad._primitives import cumulative, logic, reduce
from functad._primitives import elementwise as e
from functad.errors import MutationError

__all__ = [
    "axes_of", "count_of", "extreme_of", "fold", "given", "mean_of", "no_out", "place_of", "prod_of", "running", "sum_of", "summing_dtype",
    "with_initial",
]  # fmt: skip


def given(x: Any) -> bool:
    """Whether an argument was given, None counting as not."""
    return x is not NO_VALUE and x is not None


def no_out(function: str, out: Any) -> None:
    """Refuse `out=`."""
    if given(out):
        raise MutationError(f"np.{function}(..., out=...) would write traced values into a plain NumPy array: use the result instead")


def axes_of(axis: Any, ndim: int) -> tuple[int, ...]:
    """The axes as sorted non-negative numbers; None means all."""
    if axis is None:
        return tuple(range(ndim))
    return tuple(sorted(normalize_axis_tuple(axis, ndim, "axis")))


def summing_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype in which NumPy adds up or multiplies: small integers and booleans grow to the platform's."""
    if dtype.kind in "bi" and dtype.itemsize < 8:
        return np.dtype(np.int64)
    return np.dtype(np.uint64) if dtype.kind == "u" and dtype.itemsize < 8 else dtype


def fold(op: Primitive, x: Any, axis: Any, keepdims: Any = False) -> Any:
    """A reduction over NumPy's `axis`."""
    x = operand(x)
    axes = axes_of(axis, x.type.ndim)
    out = op(x, axes=axes) if axes or x.type.weak else x
    if given(keepdims) and keepdims:
        out = with_shape(out, [1 if i in axes else n for i, n in enumerate(x.type.shape)])
    return out


def _masked(x: Any, where: Any, identity: Any) -> Any:
    """x where the mask holds, the identity of the reduction elsewhere."""
    if where is NO_VALUE or where is True or where is None:
        return x
    condition = as_bool(where)
    shape = broadcast_shapes(x.type.shape, condition.type.shape)
    return logic.select(broadcast_to(condition, shape), broadcast_to(x, shape), Literal(identity, array_type(shape, x.type.dtype)))


# ---- sums and products


def sum_of(x: Any, axis: Any = None, keepdims: Any = False, where: Any = NO_VALUE, dtype: Any = None) -> Any:
    """np.sum inside of implementations."""
    x = operand(x)
    x = cast(x, summing_dtype(x.type.dtype) if dtype is None else dtype)
    return fold(reduce.reduce_sum, _masked(x, where, 0), axis, keepdims)


def prod_of(x: Any, axis: Any = None, keepdims: Any = False, where: Any = NO_VALUE, dtype: Any = None) -> Any:
    """np.prod inside of implementations."""
    x = operand(x)
    x = cast(x, summing_dtype(x.type.dtype) if dtype is None else dtype)
    return fold(reduce.reduce_prod, _masked(x, where, 1), axis, keepdims)


def with_initial(ufunc: np.ufunc, out: Any, initial: Any) -> Any:
    """A reduction's result with `initial` taken in."""
    return apply_ufunc(ufunc, broadcast_to(cast(initial, out.type.dtype), out.type.shape), out) if given(initial) else out


_DATA = ("a", "initial", "where")


@implements(np.sum, numeric=_DATA, structural=("axis",), method="sum")
def sum(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = NO_VALUE, initial: Any = NO_VALUE, where: Any = NO_VALUE
) -> Any:
    no_out("sum", out)
    return with_initial(np.add, sum_of(a, axis, keepdims, where, dtype), initial)


@implements(np.prod, numeric=_DATA, structural=("axis",), method="prod")
def prod(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = NO_VALUE, initial: Any = NO_VALUE, where: Any = NO_VALUE
) -> Any:
    no_out("prod", out)
    return with_initial(np.multiply, prod_of(a, axis, keepdims, where, dtype), initial)


@implements(np.count_nonzero, numeric=("a",), structural=("axis",))
def count_nonzero(a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    return sum_of(as_bool(a), axis, keepdims)


# ---- means and spreads


def count_of(x: Any, axis: Any, keepdims: Any, where: Any, dtype: Any) -> Any:
    """How many elements went into each result, as a number of that dtype."""
    if where is NO_VALUE or where is True or where is None:
        n = int(np.prod([x.type.shape[i] for i in axes_of(axis, x.type.ndim)], dtype=np.int64))
        return Literal(n, array_type((), dtype))
    return sum_of(broadcast_to(as_bool(where), broadcast_shapes(x.type.shape, operand(where).type.shape)), axis, keepdims, dtype=dtype)


def _inexact(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return dtype if dtype.kind in "fc" else np.dtype(np.float64)


def _real_dtype(dtype: np.dtype[Any]) -> Any:
    return np.dtype(dtype.char.lower()) if dtype.kind == "c" else dtype


def mean_of(x: Any, axis: Any = None, keepdims: Any = False, where: Any = NO_VALUE, dtype: Any = None) -> Any:
    """np.mean inside of implementations."""
    x = operand(x)
    wide = _inexact(x.type.dtype) if dtype is None else np.dtype(dtype)
    total = sum_of(x, axis, keepdims, where, wide)
    out = apply_ufunc(np.true_divide, total, count_of(x, axis, keepdims, where, _real_dtype(_inexact(wide))))
    return out if dtype is None else cast(out, wide)


@implements(np.mean, numeric=("a", "where"), structural=("axis",), method="mean")
def mean(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = NO_VALUE, *, where: Any = NO_VALUE) -> Any:
    no_out("mean", out)
    return mean_of(a, axis, keepdims, where, dtype)


def _variance(name: str, a: Any, axis: Any, dtype: Any, out: Any, ddof: Any, keepdims: Any, where: Any, mean: Any, correction: Any) -> Any:
    no_out(name, out)
    if correction is not NO_VALUE:
        if ddof != 0:
            raise ValueError("ddof and correction can't be provided simultaneously.")
        ddof = correction
    if dtype is not None and np.dtype(dtype).kind not in "fc":
        refuse(name, "dtype", dtype, "give a floating-point one")
    if dtype is not None and np.dtype(dtype).kind == "c":
        refuse(name, "dtype", dtype, "a spread is real: convert the array, or the result")
    x = operand(a)
    x = cast(x, _inexact(x.type.dtype) if dtype is None else dtype)
    centre = mean_of(x, axis, True, where) if not given(mean) else operand(mean)
    apart = apply_ufunc(np.subtract, x, centre)
    if apart.type.dtype.kind == "c":
        square = e.add(e.square(logic.real(apart)), e.square(logic.imag(apart)))
    else:
        square = e.square(apart)
    total = sum_of(square, axis, keepdims, where)
    count = count_of(x, axis, keepdims, where, total.type.dtype)
    if isinstance(count, Literal):
        return apply_ufunc(np.true_divide, total, Literal(max(count.value - ddof, 0), count.type))
    return apply_ufunc(np.true_divide, total, apply_ufunc(np.maximum, apply_ufunc(np.subtract, count, ddof), 0))


_SPREAD = ("a", "where", "mean")


@implements(np.var, numeric=_SPREAD, structural=("axis", "ddof", "correction"), method="var")
def var(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = NO_VALUE, *, where: Any = NO_VALUE,
    mean: Any = NO_VALUE, correction: Any = NO_VALUE,
) -> Any:  # fmt: skip
    return _variance("var", a, axis, dtype, out, ddof, keepdims, where, mean, correction)


@implements(np.std, numeric=_SPREAD, structural=("axis", "ddof", "correction"), method="std")
def std(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = NO_VALUE, *, where: Any = NO_VALUE,
    mean: Any = NO_VALUE, correction: Any = NO_VALUE,
) -> Any:  # fmt: skip
    return e.root(_variance("std", a, axis, dtype, out, ddof, keepdims, where, mean, correction))


@implements(np.average, numeric=("a", "weights"), structural=("axis",))
def average(a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: Any = NO_VALUE) -> Any:
    x = operand(a)
    if weights is None:
        out = mean_of(x, axis, keepdims)
        total = broadcast_to(Literal(x.type.size // max(out.type.size, 1), array_type((), out.type.dtype)), out.type.shape)
    else:
        w = operand(weights)
        if w.type.shape != x.type.shape:
            axes = axes_of(axis, x.type.ndim)
            if axis is None or w.type.shape != tuple(x.type.shape[i] for i in axes):
                raise (TypeError if axis is None else ValueError)(
                    "Axis must be specified when shapes of a and weights differ."
                    if axis is None
                    else "Shape of weights must be consistent with shape of a along specified axis."
                )
            w = with_shape(w, [n if i in axes else 1 for i, n in enumerate(x.type.shape)])
        wide = np.result_type(x.type.dtype, w.type.dtype, np.float64 if x.type.dtype.kind in "biu" else x.type.dtype)
        w = broadcast_to(cast(w, wide), x.type.shape)
        total = sum_of(w, axis, keepdims)
        out = apply_ufunc(np.true_divide, sum_of(apply_ufunc(np.multiply, x, w), axis, keepdims), total)
    return (out, total) if returned else out


# ---- extremes


def extreme_of(name: str, x: Any, axis: Any, keepdims: Any, initial: Any, where: Any) -> Any:
    """max or min; booleans by their logic."""
    largest = name == "max"
    x = operand(x)
    kind = x.type.dtype.kind
    if kind == "c":
        refuse(name, "a", x.type, "complex numbers have no order that is differentiable")
    masked = not (where is NO_VALUE or where is True or where is None)
    if masked and not given(initial):
        raise ValueError(f"reduction operation '{'maximum' if largest else 'minimum'}' does not have an identity, so to use a where mask one has to "
                         "specify 'initial'")  # fmt: skip
    axes = axes_of(axis, x.type.ndim)
    empty = any(x.type.shape[i] == 0 for i in axes)
    if empty and not given(initial):
        raise ValueError(f"zero-size array to reduction operation {'maximum' if largest else 'minimum'} which has no identity")
    if masked:
        condition = as_bool(where)
        shape = broadcast_shapes(x.type.shape, condition.type.shape)
        x = logic.select(broadcast_to(condition, shape), broadcast_to(x, shape), broadcast_to(cast(initial, x.type.dtype), shape))
    if empty:
        kept = [1 if i in axes else n for i, n in enumerate(x.type.shape)]
        shape = tuple(kept) if given(keepdims) and keepdims else tuple(n for i, n in enumerate(x.type.shape) if i not in axes)
        return broadcast_to(cast(initial, x.type.dtype), shape)
    if kind == "b":
        op = reduce.reduce_any if largest else reduce.reduce_all
    else:
        op = reduce.reduce_max if largest else reduce.reduce_min
    return with_initial(np.maximum if largest else np.minimum, fold(op, x, axis, keepdims), initial)


@implements(np.max, np.amax, numeric=_DATA, structural=("axis",), method="max")
def max_(a: Any, axis: Any = None, out: Any = None, keepdims: Any = NO_VALUE, initial: Any = NO_VALUE, where: Any = NO_VALUE) -> Any:
    no_out("max", out)
    return extreme_of("max", a, axis, keepdims, initial, where)


@implements(np.min, np.amin, numeric=_DATA, structural=("axis",), method="min")
def min_(a: Any, axis: Any = None, out: Any = None, keepdims: Any = NO_VALUE, initial: Any = NO_VALUE, where: Any = NO_VALUE) -> Any:
    no_out("min", out)
    return extreme_of("min", a, axis, keepdims, initial, where)


@implements(np.ptp, numeric=("a",), structural=("axis",))
def ptp(a: Any, axis: Any = None, out: Any = None, keepdims: Any = NO_VALUE) -> Any:
    no_out("ptp", out)
    return apply_ufunc(np.subtract, *[extreme_of(name, a, axis, keepdims, NO_VALUE, NO_VALUE) for name in ("max", "min")])


def place_of(op: Primitive, x: Any, axis: Any, keepdims: Any) -> Any:
    """argmax or argmin."""
    x = operand(x)
    if x.type.dtype.kind == "c":
        refuse(op.name, "a", x.type, "complex numbers have no order")
    if x.type.size == 0 and (axis is None or x.type.shape[axis] == 0):
        raise ValueError(f"attempt to get {op.name} of an empty sequence")
    if x.type.dtype.kind == "b":
        x = cast(x, np.int64)
    shape = [1] * x.type.ndim if axis is None else [1 if i == axis % x.type.ndim else n for i, n in enumerate(x.type.shape)]
    if axis is None:
        found = op(with_shape(x, (x.type.size,)), axis=0)
    else:
        found = op(x, axis=normalize_axis_index(axis, x.type.ndim))
    return with_shape(found, shape) if given(keepdims) and keepdims else found


@implements(np.argmax, numeric=("a",), structural=("axis",), method="argmax")
def argmax(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = NO_VALUE) -> Any:
    no_out("argmax", out)
    return place_of(reduce.argmax, a, axis, keepdims)


@implements(np.argmin, numeric=("a",), structural=("axis",), method="argmin")
def argmin(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = NO_VALUE) -> Any:
    no_out("argmin", out)
    return place_of(reduce.argmin, a, axis, keepdims)


# ---- truth


@implements(np.all, numeric=("a", "where"), structural=("axis",), method="all")
def all_(a: Any, axis: Any = None, out: Any = None, keepdims: Any = NO_VALUE, *, where: Any = NO_VALUE) -> Any:
    no_out("all", out)
    return fold(reduce.reduce_all, _masked(as_bool(a), where, True), axis, keepdims)


@implements(np.any, numeric=("a", "where"), structural=("axis",), method="any")
def any_(a: Any, axis: Any = None, out: Any = None, keepdims: Any = NO_VALUE, *, where: Any = NO_VALUE) -> Any:
    no_out("any", out)
    return fold(reduce.reduce_any, _masked(as_bool(a), where, False), axis, keepdims)


# ---- running sums and products


def running(op: Primitive, x: Any, axis: Any, dtype: Any = None) -> Any:
    """cumsum or cumprod over NumPy's `axis`; None means the flattened array."""
    x = operand(x)
    x = cast(x, summing_dtype(x.type.dtype) if dtype is None else dtype)
    if axis is None:
        x, axis = with_shape(x, (x.type.size,)), 0
    return op(x, axis=normalize_axis_index(axis, x.type.ndim), reverse=False)


@implements(np.cumsum, numeric=("a",), structural=("axis",), method="cumsum")
def cumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    no_out("cumsum", out)
    return running(cumulative.cumsum, a, axis, dtype)


@implements(np.cumprod, numeric=("a",), structural=("axis",), method="cumprod")
def cumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    no_out("cumprod", out)
    return running(cumulative.cumprod, a, axis, dtype)


def _array_api_running(op: Primitive, name: str, start: int) -> Callable[..., Any]:
    from functad._primitives.shape import concatenate

    def implementation(x: Any, /, *, axis: Any = None, dtype: Any = None, out: Any = None, include_initial: bool = False) -> Any:
        no_out(name, out)
        x = operand(x)
        if axis is None and x.type.ndim > 1:
            raise ValueError("For arrays which have more than one dimension ``axis`` argument is required.")
        axis = normalize_axis_index(0 if axis is None else axis, x.type.ndim)
        found = running(op, x, axis, dtype)
        if not include_initial:
            return found
        first = Literal(start, found.type.with_shape(tuple(1 if i == axis else n for i, n in enumerate(found.type.shape))))
        return concatenate(first, found, axis=axis)

    return implementation


for _name, _op, _start in (("cumulative_sum", cumulative.cumsum, 0), ("cumulative_prod", cumulative.cumprod, 1)):
    if hasattr(np, _name):  # NumPy 2.1
        implements(getattr(np, _name), numeric=("x",), structural=("axis",))(_array_api_running(_op, _name, _start))
