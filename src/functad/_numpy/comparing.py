"""Comparison of whole arrays, and tests of the kind of their elements."""

import numpy as np

from functad._core.program import Literal
from functad._core.types import array_type
from functad._numpy.arguments import Operand, Result, Value
from functad._numpy.dispatch import implements
from functad._numpy.promote import operand, promote, result_dtype
from functad._numpy.reducing import fold, inexact_dtype
from functad._numpy.ufuncs import apply_ufunc
from functad._primitives import logic, reduce

__all__ = ["close"]


def close(a: Operand, b: Operand, rtol: Operand = 1e-05, atol: Operand = 1e-08, equal_nan: bool = False) -> Result:
    """|a - b| <= atol + rtol * |b| where both are finite, equality elsewhere."""
    x, y = operand(a), operand(b)
    near = apply_ufunc(
        np.less_equal,
        apply_ufunc(np.absolute, apply_ufunc(np.subtract, *promote(x, y, dtype=inexact_dtype(result_dtype(x, y))))),
        apply_ufunc(np.add, atol, apply_ufunc(np.multiply, rtol, apply_ufunc(np.absolute, y))),
    )
    out = apply_ufunc(np.logical_or, apply_ufunc(np.logical_and, near, apply_ufunc(np.isfinite, y)), apply_ufunc(np.equal, x, y))
    return _or_both_nan(out, x, y) if equal_nan else out


def _or_both_nan(same: Value, x: Value, y: Value) -> Result:
    return apply_ufunc(np.logical_or, same, apply_ufunc(np.logical_and, apply_ufunc(np.isnan, x), apply_ufunc(np.isnan, y)))


implements(np.isclose, numeric=("a", "b", "rtol", "atol"))(close)


@implements(np.allclose, numeric=("a", "b", "rtol", "atol"))
def allclose(a: Operand, b: Operand, rtol: Operand = 1e-05, atol: Operand = 1e-08, equal_nan: bool = False) -> Result:
    return fold(reduce.reduce_all, close(a, b, rtol, atol, equal_nan), None)


@implements(np.array_equal, numeric=("a1", "a2"))
def array_equal(a1: Operand, a2: Operand, equal_nan: bool = False) -> Result:
    x, y = operand(a1), operand(a2)
    if x.type.shape != y.type.shape:
        return Literal(False, array_type((), np.bool_))
    same = apply_ufunc(np.equal, x, y)
    return fold(reduce.reduce_all, _or_both_nan(same, x, y) if equal_nan else same, None)


@implements(np.array_equiv, numeric=("a1", "a2"))
def array_equiv(a1: Operand, a2: Operand) -> Result:
    try:
        return fold(reduce.reduce_all, apply_ufunc(np.equal, a1, a2), None)
    except ValueError:  # they do not broadcast
        return Literal(False, array_type((), np.bool_))


def _infinite(function: Operand, value: float) -> None:
    def implementation(x: Operand, out: object = None) -> Result:
        x = operand(x)
        if x.type.dtype.kind not in "f":
            return Literal(False, array_type(x.type.shape, np.bool_))
        return logic.equal(x, Literal(value, x.type))

    implements(function, numeric=("x",))(implementation)


_infinite(np.isposinf, np.inf)
_infinite(np.isneginf, -np.inf)


def _imaginary(function: Operand, ufunc: np.ufunc) -> None:
    def implementation(x: Operand) -> Result:
        x = operand(x)
        if x.type.dtype.kind != "c":
            return Literal(ufunc is np.equal, array_type(x.type.shape, np.bool_))
        return apply_ufunc(ufunc, logic.imag(x), 0)

    implements(function, numeric=("x",))(implementation)


_imaginary(np.isreal, np.equal)
_imaginary(np.iscomplex, np.not_equal)
