"""Formulas for processors without a fused multiply-add, over libm: plain, scalar, and as accurate as libm."""

from __future__ import annotations

from .exponential import LN_2
from .values import Value, absolute, external, select


def _libm(name: str, x: Value) -> Value:
    return external(name + ("f" if x.kind == "f4" else ""), x)


def sigmoid(x: Value) -> Value:
    e = _libm("exp", -absolute(x))
    return select(x < 0.0, e, 1.0) / (1.0 + e)


def logaddexp(x: Value, y: Value) -> Value:
    difference = x - y
    larger = select(difference > 0.0, x, y)
    value = larger + _libm("log1p", _libm("exp", -absolute(difference)))
    value = select(x == y, x + LN_2, value)
    return select(difference != difference, select(x == y, value, difference), value)
