"""Formulas for processors without a fused multiply-add, over libm: plain, scalar, and as accurate as libm."""

from functad._compile.mathlib.exponential import LN_2
from functad._compile.mathlib.values import Value, absolute, libm, select


def sigmoid(x: Value) -> Value:
    e = libm("exp", -absolute(x))
    return select(x < 0.0, e, 1.0) / (1.0 + e)


def logaddexp(x: Value, y: Value) -> Value:
    difference = x - y
    larger = select(difference > 0.0, x, y)
    value = larger + libm("log1p", libm("exp", -absolute(difference)))
    value = select(x == y, x + LN_2, value)
    return select(difference != difference, select(x == y, value, difference), value)
