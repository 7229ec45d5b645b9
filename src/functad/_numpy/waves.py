"""np.sinc, np.i0 and np.unwrap."""

import numpy as np

from functad._core.program import Literal
from functad._core.types import array_type
from functad._numpy.arguments import Operand, Result, axis_of
from functad._numpy.dispatch import implements
from functad._numpy.promote import broadcast_shapes, broadcast_to, cast, operand, promote, result_dtype
from functad._numpy.reducing import running
from functad._numpy.shaping import joined, part
from functad._numpy.ufuncs import apply_ufunc
from functad._primitives import cumulative, logic
from functad._primitives.entire import i0_of_order, sinc_of_order
from functad._primitives.operands import constant

__all__: list[str] = []


def _chosen(condition: Operand, x: Operand, y: Operand) -> Result:
    """np.where."""
    x, y = promote(x, y)
    shape = broadcast_shapes(condition.type.shape, x.type.shape)
    return logic.select(broadcast_to(condition, shape), broadcast_to(x, shape), broadcast_to(y, shape))


@implements(np.sinc, numeric=("x",))
def _sinc(x: Operand) -> Result:
    """Real numbers have right derivatives of every order at 0; complex ones are spelt as NumPy does."""
    z = apply_ufunc(np.multiply, x, np.pi)
    if z.type.dtype.kind != "c":
        return sinc_of_order(z, n=0)
    z = _chosen(logic.equal(z, constant(0, z)), 1e-20, z)
    return apply_ufunc(np.true_divide, apply_ufunc(np.sin, z), z)


@implements(np.i0, numeric=("x",))
def _i0(x: Operand) -> Result:
    given = operand(x)
    if given.type.dtype.kind == "c":
        raise TypeError("i0 not supported for complex values")
    return i0_of_order(given if given.type.dtype.kind == "f" else cast(given, np.float64), n=0)


@implements(np.unwrap, numeric=("p", "discont", "period"))
def _unwrap(p: Operand, discont: Operand = None, axis: int = -1, *, period: Operand = 2 * np.pi) -> Result:
    """What is added is constant between the jumps."""
    x, width = operand(p), operand(period)
    axis = axis_of(axis, x.type.ndim)
    n = x.type.shape[axis]
    dtype = result_dtype(x, width)
    if n == 0:
        return cast(x, dtype)
    step = apply_ufunc(np.subtract, part(x, axis, 1, n - 1), part(x, axis, 0, n - 1))
    whole = dtype.kind in "iu"
    high = apply_ufunc(np.floor_divide if whole else np.true_divide, width, 2)
    low = apply_ufunc(np.negative, high)
    wrapped = apply_ufunc(np.add, apply_ufunc(np.remainder, apply_ufunc(np.subtract, step, low), width), low)
    up = apply_ufunc(np.logical_and, apply_ufunc(np.equal, wrapped, low), apply_ufunc(np.greater, step, 0))
    if whole:  # an odd period has no number halfway
        even = apply_ufunc(np.equal, apply_ufunc(np.remainder, width, 2), 0)
        up = apply_ufunc(np.logical_and, up, even)
    wrapped = _chosen(up, high, wrapped)
    change = apply_ufunc(np.subtract, wrapped, step)
    limit = apply_ufunc(np.true_divide, width, 2) if discont is None else discont
    small = apply_ufunc(np.less, apply_ufunc(np.absolute, step), limit)
    change = _chosen(small, Literal(0, array_type((), change.type.dtype)), change)
    later = apply_ufunc(np.add, part(x, axis, 1, n - 1), running(cumulative.cumsum, change, axis))
    return joined([cast(part(x, axis, 0, 1), dtype), cast(later, dtype)], axis)
