"""Rules of `simplify` for elementwise operations and reductions: only what is exact for every number.

`x + 0.0` stays (it turns -0.0 into 0.0), `x * 0` stays (NaN), while `x - 0.0`, `x * 1`, `x * -1`, `x - (-y)` have one right
answer.
"""

import math

import numpy as np

from functad._compile.rewriting.simplifier import Inputs, Params, Rule, Simplifier
from functad._compile.rewriting.views import sum_of_pads
from functad._core.program import Atom, Literal
from functad._core.types import ArrayType
from functad._primitives import elementwise, logic, shape

__all__ = ["ALGEBRA"]


def _is(a: Atom, value: float) -> bool:
    """Whether this is the literal with that value (0.0 is not -0.0)."""
    return isinstance(a, Literal) and a.value == value and (value != 0 or _sign(a.value) == math.copysign(1, value))


def _sign(value: complex) -> float:
    return math.copysign(1, value.real if isinstance(value, complex) else value)


def _is_nothing(a: Atom) -> bool:
    """Whether adding this changes no number: -0.0, or 0 among integers."""
    if not isinstance(a, Literal) or a.value != 0:
        return False
    return a.type.dtype.kind in "iu" or (a.type.dtype.kind == "f" and _sign(a.value) < 0)


def _add(s: Simplifier, inputs: Inputs, params: Params, kind: ArrayType) -> Atom | None:
    x, y = inputs
    if kind.dtype.kind == "b":
        return None
    if _is_nothing(y):
        return x
    if _is_nothing(x):
        return y
    if (e := s.made_by(y, "neg")) is not None:
        return s.bind(elementwise.sub, x, e.inputs[0])
    if (e := s.made_by(x, "neg")) is not None:
        return s.bind(elementwise.sub, y, e.inputs[0])
    first, second = s.made_by(x, "pad"), s.made_by(y, "pad")
    return None if first is None or second is None else sum_of_pads(s, first, second)


def _sub(s: Simplifier, inputs: Inputs, params: Params, kind: ArrayType) -> Atom | None:
    x, y = inputs
    if _is(y, 0) and kind.dtype.kind in "iuf":
        return x
    if (e := s.made_by(y, "neg")) is not None:
        return s.bind(elementwise.add, x, e.inputs[0])
    return None


def _undone(name: str) -> Rule:
    """Twice the operation is nothing."""

    def rule(s: Simplifier, inputs: Inputs, params: Params, kind: ArrayType) -> Atom | None:
        e = s.made_by(inputs[0], name)
        return None if e is None else e.inputs[0]

    return rule


def _mul(s: Simplifier, inputs: Inputs, params: Params, kind: ArrayType) -> Atom | None:
    x, y = inputs
    if kind.dtype.kind not in "iuf":
        return None  # a complex product with 1 is 0 * inf in one part
    for a, b in ((x, y), (y, x)):
        if _is(b, 1):
            return a
        if _is(b, -1):
            return s.bind(elementwise.neg, a)
    first, second = s.made_by(x, "neg"), s.made_by(y, "neg")
    if first is not None and second is not None:
        return s.bind(elementwise.mul, first.inputs[0], second.inputs[0])
    for e, b in ((first, y), (second, x)):
        if e is not None and isinstance(b, Literal) and kind.dtype.kind == "f":
            return s.bind(elementwise.mul, e.inputs[0], Literal(-b.value, b.type))
    return None


def _div(s: Simplifier, inputs: Inputs, params: Params, kind: ArrayType) -> Atom | None:
    x, y = inputs
    if kind.dtype.kind != "f":
        return None
    if _is(y, 1):
        return x
    if isinstance(y, Literal) and y.value in (2, -2, 0.5, -0.5):  # not all powers of two: a mean over 512 must be like one over 500
        return s.bind(elementwise.mul, x, Literal(1 / y.value, y.type))
    if _is(x, 1):
        return s.bind(elementwise.reciprocal, y)
    return None


def _power(s: Simplifier, inputs: Inputs, params: Params, kind: ArrayType) -> Atom | None:
    if kind.dtype.kind not in "iuf":
        return None
    if params["exponent"][0] == 1:
        return inputs[0]
    return Literal(1, kind) if params["exponent"][0] == 0 else None


def _convert(s: Simplifier, inputs: Inputs, params: Params, kind: ArrayType) -> Atom | None:
    x = inputs[0]
    if x.type.dtype == kind.dtype:
        return x
    e = s.made_by(x, "convert")
    if e is not None:
        first = e.inputs[0].type.dtype
        # all integers of up to 32 bits are floats of 64; no float holds all integers of 64
        exact = np.can_cast(first, x.type.dtype, "safe") and not (first.kind in "iu" and first.itemsize == 8 and x.type.dtype.kind in "fc")
        if exact and "b" not in (x.type.dtype.kind, kind.dtype.kind):
            return s.bind(logic.convert, e.inputs[0], dtype=kind.dtype)
    return None


def _select(s: Simplifier, inputs: Inputs, params: Params, kind: ArrayType) -> Atom | None:
    condition, x, y = inputs
    if x is y or (isinstance(x, Literal) and x == y):
        return x
    if isinstance(condition, Literal):
        return x if condition.value else y
    if (e := s.made_by(condition, "logical_not")) is not None:
        return s.bind(logic.select, e.inputs[0], y, x)
    for k, branch in ((1, x), (2, y)):  # the same condition inside: one branch of it is never taken
        inner = s.made_by(branch, "select")
        if inner is not None and inner.inputs[0] is condition:
            parts = [x, y]
            parts[k - 1] = inner.inputs[k]
            return s.bind(logic.select, condition, *parts)
    return None


def _second(s: Simplifier, inputs: Inputs, params: Params, kind: ArrayType) -> Atom | None:
    return inputs[1]


def _part(position: int) -> Rule:
    def rule(s: Simplifier, inputs: Inputs, params: Params, kind: ArrayType) -> Atom | None:
        e = s.made_by(inputs[0], "make_complex")
        return None if e is None else e.inputs[position]

    return rule


def _conj(s: Simplifier, inputs: Inputs, params: Params, kind: ArrayType) -> Atom | None:
    e = s.made_by(inputs[0], "conj")
    return inputs[0] if kind.dtype.kind != "c" else (None if e is None else e.inputs[0])


def _reduce(s: Simplifier, inputs: Inputs, params: Params, kind: ArrayType) -> Atom | None:
    """Over axes of length 1: nothing is added up."""
    x = inputs[0]
    if not all(x.type.shape[i] == 1 for i in params["axes"]):
        return None
    return x if not params["axes"] else s.bind(shape.reshape, x, shape=kind.shape)


def _reduce_sum(s: Simplifier, inputs: Inputs, params: Params, kind: ArrayType) -> Atom | None:
    """The same; NumPy starts from 0.0, to which -0.0 is added."""
    out = _reduce(s, inputs, params, kind)
    if out is None or kind.dtype.kind not in "fc":
        return out
    return s.bind(elementwise.add, out, Literal(0, kind))


ALGEBRA: dict[str, Rule] = {
    "add": _add, "sub": _sub, "neg": _undone("neg"), "mul": _mul, "div": _div, "power_static": _power, "convert": _convert,
    "select": _select, "logical_not": _undone("logical_not"), "gate": _second,
    "real": _part(0), "imag": _part(1), "conj": _conj,
    "reduce_sum": _reduce_sum, **{f"reduce_{name}": _reduce for name in ("prod", "max", "min", "all", "any")},
}  # fmt: skip
