"""Arithmetic and the elementary functions, one row each.

Derivatives are those of the standard tables (Abramowitz and Stegun, Handbook of Mathematical Functions, chapters 3 and 4), spelt so that they
neither overflow nor cancel where the function itself is harmless.  Conventions at kinks are listed in docs/maths.md.
"""

from collections.abc import Sequence

import numpy as np

from functad._core.primitive import Primitive, Spelling
from functad._core.program import Literal
from functad._primitives.arithmetic import add, div, elementwise, mask, mul, neg, over, reciprocal, scale, sub
from functad._primitives.logic import (
    conj,
    equal,
    greater_equal,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    make_complex,
    not_equal,
    real,
    select,
)  # fmt: skip
from functad._primitives.operands import Array, Example, Tangent, Value, constant, ones_like

# arithmetic is at hand here too: other rooms find every function of one vocabulary in one place
__all__ = [
    "absolute", "add", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh", "cbrt", "ceil", "cos", "cosh", "div", "exp", "exp2",
    "expm1", "floor", "floor_divide", "fmax", "fmin", "fmod", "hypot", "log", "log1p", "log2", "log10", "logaddexp", "logaddexp2",
    "maximum", "minimum", "mul", "neg", "power",
    "power_static", "reciprocal", "remainder", "rint", "root", "sigmoid", "sign", "sin", "sinh", "sqrt", "square", "sub", "tan", "tanh", "trunc",
]  # fmt: skip

X, Y = np.array([[0.5, 1.5, 2.0], [3.0, 0.25, 1.0]]), np.array([[2.0, 0.0, -1.0], [1.0, 0.5, 3.0]])
LN2, LN10 = float(np.log(2.0)), float(np.log(10.0))

# ---- where the derivative would be 0/0: zero there


def _where_nonzero(x: Value, t: Value) -> Value:
    return mask(not_equal(x, constant(0, x)), t)


# ---- powers


def _power_emit(codes: Sequence[str], out: str, x: str, exponent: tuple[float, type]) -> str | None:
    """Small whole powers by squaring, as exact as the library's power to about one unit in the last place."""
    value = exponent[0]
    if value == 0.5:
        return f"sqrt_{codes[0]}({x})"
    if value == int(value) and 1 <= value <= 8:
        n, text, square = int(value), "", x
        while n:
            if n & 1:
                text = f"({text} * {square})" if text else square
            n >>= 1
            square = f"({square} * {square})"
        return text
    if value == -1 and codes[0][0] in "fc":
        return f"({out}(1.0) / {x})" if codes[0][0] == "f" else f"divide_{out}({out}(1.0), {x})"
    if codes[0][0] == "f":
        return f"pow_{codes[0]}({x}, {out}({float(value)!r}))"
    return f"power_{codes[0]}({x}, {out}({value}))" if codes[0][0] == "i" and value >= 0 else None


def _power_tangent(t: Value, out: Value, x: Value, exponent: tuple[float, type]) -> Tangent:
    value, kind = exponent
    if value == 0:
        return None
    if value == 1:
        return t
    if value == 2:
        return scale(t, mul(constant(2, x), x))
    return scale(t, mul(constant(value, x), power_static(x, exponent=(value - 1, kind))))


def _power_examples() -> Sequence[Example]:
    x, z = np.array([[0.5, 1.5, 2.0], [3.0, 0.25, 1.0]]), np.array([1 + 2j, 0.5 - 1j])
    cases: list[Example] = [([x], {"exponent": (e, type(e))}) for e in (0, 1, 2, 3, -1, -2, 0.5, 2.5, -1.5, 1.0)]
    return [*cases, ([-x], {"exponent": (3, int)}), ([z], {"exponent": (3, int)}), ([np.array([2, 3, -4])], {"exponent": (3, int)})]


# `exponent` is (number, its Python type): 2, 2.0 and True are equal, and are three keys
power_static: Primitive = elementwise(
    "power_static", lambda x, exponent: np.square(x) if exponent[0] == 2 else np.power(x, exponent[0]), [_power_tangent], _power_emit,
    dtype=lambda x, exponent: x, examples=_power_examples, cost=3,
    costs=lambda exponent: 1.0 if exponent[0] in (1, 2) else (3.0 if exponent[0] in (-1, 0.5, 3, 4) else 25.0),
)  # fmt: skip


def square(x: Value) -> Value:
    """x * x."""
    return power_static(x, exponent=(2, int))


def _power_in_base(t: Value, out: Value, x: Value, y: Value) -> Value:
    return mask(_not_both_zero(x, y), scale(t, power_slope(power(x, sub(y, ones_like(y))), x, y)))


def _power_in_exponent(t: Value, out: Value, x: Value, y: Value) -> Value:
    return mask(_not_both_zero(x, y), scale(t, power_log(out, x, y, n=1)))


def _not_both_zero(x: Value, y: Value) -> Value:
    return logical_or(not_equal(x, constant(0, x)), not_equal(y, constant(0, y)))


power: Primitive = elementwise(
    "power", np.power, [_power_in_base, _power_in_exponent],
    lambda codes, out, x, y: f"pow_{codes[0]}({x}, {y})" if codes[0][0] == "f" else None,
    domain=[(0.5, 3), (-2, 2)], kinds="fc", cost=25, spelling=Spelling((np.power, np.float_power), keeps_weak=True),
)  # fmt: skip


def _power_log_numpy(p: Array, x: Array, y: Array, n: int) -> Array:
    vanishes = ((x == 0) & (np.real(y) > 0)) | (np.isinf(x) & (np.real(y) < 0))
    return np.where(vanishes, 0, p * np.log(x) ** n).astype(p.dtype)[()]


def _power_log_emit(codes: Sequence[str], out: str, p: str, x: str, y: str, n: int) -> str | None:
    if out[0] != "f" or n > 4:
        return None
    vanishes = f"((({x} == {out}(0.0)) & ({y} > {out}(0.0))) | (isinf_{out}({x}) & ({y} < {out}(0.0))))"
    return f"select({vanishes}, {out}(0.0), {p}{f' * log_{out}({x})' * n})"


def _power_log_in_base(t: Value, q: Value, x: Value, y: Value, n: int) -> Value:
    """q (y log(x)**n + n log(x)**(n-1)) for q = x**(y-1).  Where both are infinite, at x = 0, the higher power of the logarithm wins."""
    below = sub(y, ones_like(y))
    high, low = power_log(q, x, below, n=n), q if n == 1 else power_log(q, x, below, n=n - 1)
    exponent, zero = real(y) if y.type.dtype.kind == "c" else y, equal(x, constant(0, x))
    outdone = logical_and(zero, logical_and(not_equal(y, constant(0, y)), less_equal(exponent, ones_like(exponent))))
    second = mask(logical_not(outdone), scale(t, mul(constant(n, low), low)))
    return add(mask(_not_both_zero(x, y), scale(t, mul(y, high))), second)


# The power is an input so that it is not computed again, and a constant for this derivative: x and y are what it depends on.
power_log: Primitive = elementwise(
    "power_log", _power_log_numpy,
    [None, lambda t, out, p, x, y, n: _power_log_in_base(t, power(x, sub(y, ones_like(y))), x, y, n),
     lambda t, out, p, x, y, n: mask(_not_both_zero(x, y), scale(t, power_log(p, x, y, n=n + 1)))], _power_log_emit,
    dtype=lambda p, x, y, n: p, examples=lambda: [([X**Y, X, Y], {"n": n}) for n in (1, 2)], cost=12,
    note="p * log(x)**n for p = x**y, with its limit 0 at x = 0 for y > 0",
)  # fmt: skip


def _power_slope_in_base(t: Value, out: Value, q: Value, x: Value, y: Value) -> Value:
    below = sub(y, ones_like(y))
    return scale(t, mul(y, power_slope(power(x, sub(below, ones_like(y))), x, below)))


power_slope: Primitive = elementwise(
    "power_slope", lambda q, x, y: np.where((y == 0) & ~np.isfinite(q), 0, y * q).astype(q.dtype)[()],
    [None, _power_slope_in_base, lambda t, out, q, x, y: _power_log_in_base(t, q, x, y, 1)],
    lambda codes, out, q, x, y: f"select(({y} == {out}(0.0)) & (isfinite_{out}({q}) == False), {out}(0.0), {y} * {q})" if out[0] == "f" else None,
    dtype=lambda q, x, y: q, examples=lambda: [([X ** (Y - 1), X, Y], {})], cost=3, note="y * q for q = x**(y-1), 0 for y = 0 where q is infinite",
)  # fmt: skip

# ---- exponentials and logarithms

exp: Primitive = elementwise("exp", np.exp, [lambda t, out, x: scale(t, out)], "exp_{d}({0})", domain=[(-2, 2)], kinds="fc", cost=10)
exp2: Primitive = elementwise("exp2", np.exp2, [lambda t, out, x: scale(t, mul(out, constant(LN2, out)))], "exp2_{d}({0})", domain=[(-2, 2)], cost=10)
expm1: Primitive = elementwise("expm1", np.expm1, [lambda t, out, x: scale(t, exp(x))], "expm1_{d}({0})", domain=[(-2, 2)], kinds="fc", cost=10)
log: Primitive = elementwise("log", np.log, [lambda t, out, x: over(t, x)], "log_{d}({0})", domain=[(0.5, 4)], kinds="fc", cost=10)
log1p: Primitive = elementwise(
    "log1p", np.log1p, [lambda t, out, x: over(t, add(x, ones_like(x)))], "log1p_{d}({0})", domain=[(-0.5, 4)], kinds="fc", cost=10
)
log2: Primitive = elementwise(
    "log2", np.log2, [lambda t, out, x: over(t, mul(x, constant(LN2, x)))], "log2_{d}({0})", domain=[(0.5, 4)], kinds="fc", cost=10
)
log10: Primitive = elementwise(
    "log10", np.log10, [lambda t, out, x: over(t, mul(x, constant(LN10, x)))], "log10_{d}({0})", domain=[(0.5, 4)], kinds="fc", cost=10
)


def _logaddexp_share(t: Value, out: Value, x: Value, y: Value, rate: float = 1.0) -> Value:
    """t * sigmoid(x - y), whose own derivative does not cancel; both -inf: -inf - -inf would be NaN."""
    excess = sub(x, y) if rate == 1.0 else mul(sub(x, y), constant(rate, x))
    return mask(not_equal(out, constant(-np.inf, out)), scale(t, sigmoid(excess)))


logaddexp: Primitive = elementwise(
    "logaddexp", np.logaddexp, [lambda t, out, x, y: _logaddexp_share(t, out, x, y), lambda t, out, x, y: _logaddexp_share(t, out, y, x)],
    "logaddexp_{d}({0}, {1})", domain=[(-2, 2), (-2, 2)], cost=20,
)  # fmt: skip
logaddexp2: Primitive = elementwise(
    "logaddexp2", np.logaddexp2,
    [lambda t, out, x, y: _logaddexp_share(t, out, x, y, LN2), lambda t, out, x, y: _logaddexp_share(t, out, y, x, LN2)],
    "select({0} == {1}, {0} + {o}(1.0), maximum_{d}({0}, {1}) + log1p_{d}(exp2_{d}(-abs_{d}({0} - {1}))) * {o}(1.4426950408889634))",
    domain=[(-2, 2), (-2, 2)], cost=25,
)  # fmt: skip
sigmoid: Primitive = elementwise(
    "sigmoid", lambda x: np.where(x >= 0, 1 / (1 + np.exp(-np.abs(x))), np.exp(-np.abs(x)) / (1 + np.exp(-np.abs(x)))).astype(x.dtype)[()],
    # the square of the secant, and not out * (1 - out), of which the derivative cancels near 0
    [lambda t, out, x: scale(t, mul(constant(0.25, x), sech_squared(mul(constant(0.5, x), x))))], "sigmoid_{d}({0})", dtype=lambda x: x,
    domain=[(-3, 3)], cost=10,
)  # fmt: skip

# ---- roots

sqrt: Primitive = elementwise(
    "sqrt", np.sqrt, [lambda t, out, x: over(mul(t, constant(0.5, t)), out)], "sqrt_{d}({0})", domain=[(0.5, 4)], kinds="fc", cost=5
)
cbrt: Primitive = elementwise(
    "cbrt", np.cbrt, [lambda t, out, x: over(t, mul(constant(3, x), mul(out, out)))], "cbrt_{d}({0})", domain=[(0.5, 4)], cost=15,
)  # fmt: skip
root: Primitive = elementwise(
    "root", np.sqrt, [lambda t, out, x: _where_nonzero(out, over(mul(t, constant(0.5, t)), out))], "sqrt_{d}({0})", domain=[(0.5, 4)], cost=5,
    spelling=Spelling(),
    note="square root of a sum of squares (norm, std): its derivative at 0 is the subgradient 0",
)  # fmt: skip
hypot: Primitive = elementwise(
    "hypot", np.hypot,
    [lambda t, out, x, y: _where_nonzero(out, scale(t, cosine(out, x, y))), lambda t, out, x, y: _where_nonzero(out, scale(t, cosine(out, y, x)))],
    "hypot_{d}({0}, {1})",
    domain=[(0.5, 3), (0.5, 3)], cost=15,
)  # fmt: skip

# x/r for r = hypot(x, y), which is a constant for this derivative as in `power_log`: 1/r - x*x/r**3 would cancel
cosine: Primitive = elementwise(
    "cosine", lambda r, x, y: np.asarray(np.true_divide(x, r))[()],
    [None, lambda t, out, r, x, y: scale(over(t, r), square(cosine(r, y, x))),
     lambda t, out, r, x, y: neg(scale(over(t, r), mul(out, cosine(r, y, x))))],
    "({1} / {0})", dtype=lambda r, x, y: x, examples=lambda: [([np.hypot(X, Y), X, Y], {})], cost=4, note="x/r for r = hypot(x, y)",
)  # fmt: skip

# ---- circular and hyperbolic functions

sin: Primitive = elementwise("sin", np.sin, [lambda t, out, x: scale(t, cos(x))], "sin_{d}({0})", domain=[(-3, 3)], kinds="fc", cost=12)
cos: Primitive = elementwise("cos", np.cos, [lambda t, out, x: scale(t, neg(sin(x)))], "cos_{d}({0})", domain=[(-3, 3)], kinds="fc", cost=12)
tan: Primitive = elementwise(
    "tan", np.tan, [lambda t, out, x: scale(t, add(ones_like(x), square(out)))], "tan_{d}({0})", domain=[(-1, 1)], kinds="fc", cost=20
)
sinh: Primitive = elementwise("sinh", np.sinh, [lambda t, out, x: scale(t, cosh(x))], "sinh_{d}({0})", domain=[(-2, 2)], kinds="fc", cost=15)
cosh: Primitive = elementwise("cosh", np.cosh, [lambda t, out, x: scale(t, sinh(x))], "cosh_{d}({0})", domain=[(-2, 2)], kinds="fc", cost=15)
tanh: Primitive = elementwise("tanh", np.tanh, [lambda t, out, x: scale(t, sech_squared(x))], "tanh_{d}({0})", domain=[(-2, 2)], kinds="fc", cost=12)


def _sech_squared_numpy(x: Array) -> Array:
    e = np.exp(np.where(np.real(x) < 0, x, -x))
    quotient = (e + e) / (1 + e * e)
    return np.asarray(quotient * quotient)[()]


def _sech_squared_emit(codes: Sequence[str], out: str, x: str) -> str:
    if out[0] == "f":
        e = f"exp_{out}(-abs_{out}({x}))"
        quotient = f"(({e} + {e}) / ({out}(1.0) + {e} * {e}))"
        return f"({quotient} * {quotient})"
    part = {"c8": "f4", "c16": "f8"}[out]
    e = f"exp_{out}(select({x}.real < {part}(0.0), {x}, -{x}))"
    quotient = f"divide_{out}({e} + {e}, {out}(1.0) + multiply_{out}({e}, {e}))"
    return f"multiply_{out}({quotient}, {quotient})"


sech_squared: Primitive = elementwise(
    "sech_squared", _sech_squared_numpy, [lambda t, out, x: scale(t, mul(constant(-2, x), mul(out, tanh(x))))], _sech_squared_emit,
    dtype=lambda x: x, domain=[(-2, 2)], kinds="fc", cost=14, note="1/cosh(x)**2, the derivative of tanh: 1 - tanh(x)**2 would cancel",
)  # fmt: skip


one_minus_square: Primitive = elementwise(
    "one_minus_square", lambda x: (1 - x) * (1 + x), [lambda t, out, x: scale(t, mul(constant(-2, x), x))],
    lambda codes, out, x: f"(({out}(1.0) - {x}) * ({out}(1.0) + {x}))" if out[0] == "f" else f"multiply_{out}({out}(1.0) - {x}, {out}(1.0) + {x})",
    dtype=lambda x: x, domain=[(-0.8, 0.8)], kinds="fc", cost=3,
    note="(1 - x)(1 + x), which does not cancel near 1; nor does its derivative near 0, as that of the two factors would",
)  # fmt: skip
arcsin: Primitive = elementwise(
    "arcsin", np.arcsin, [lambda t, out, x: over(t, sqrt(one_minus_square(x)))], "arcsin_{d}({0})", domain=[(-0.8, 0.8)], kinds="f", cost=15,
)  # fmt: skip
arccos: Primitive = elementwise(
    "arccos", np.arccos, [lambda t, out, x: neg(over(t, sqrt(one_minus_square(x))))], "arccos_{d}({0})", domain=[(-0.8, 0.8)], kinds="f", cost=15,
)  # fmt: skip
arctan: Primitive = elementwise(
    "arctan", np.arctan, [lambda t, out, x: over(t, add(ones_like(x), square(x)))], "arctan_{d}({0})", domain=[(-3, 3)], kinds="fc", cost=15,
)  # fmt: skip


def _arctan2_tangent(t: Value, x: Value, y: Value) -> Value:
    r = hypot(x, y)
    return scale(t, div(cosine(r, x, y), r))


arctan2: Primitive = elementwise(
    "arctan2", np.arctan2,
    # (x/r)/r, not x/(x*x + y*y): the squares of 1e200 overflow
    [lambda t, out, y, x: _arctan2_tangent(t, x, y), lambda t, out, y, x: neg(_arctan2_tangent(t, y, x))],
    "atan2_{d}({0}, {1})", domain=[(0.5, 3), (0.5, 3)], cost=20,
)  # fmt: skip


def _arcsinh_tangent(t: Value, out: Value, x: Value) -> Value:
    if x.type.dtype.kind == "c":
        return over(t, sqrt(add(ones_like(x), square(x))))
    return over(t, hypot(ones_like(x), x))  # x*x would overflow


arcsinh: Primitive = elementwise("arcsinh", np.arcsinh, [_arcsinh_tangent], "arcsinh_{d}({0})", domain=[(-3, 3)], kinds="fc", cost=20)
arccosh: Primitive = elementwise(
    "arccosh", np.arccosh, [lambda t, out, x: over(t, mul(sqrt(sub(x, ones_like(x))), sqrt(add(x, ones_like(x)))))], "arccosh_{d}({0})",
    domain=[(1.5, 4)], cost=20,
)  # fmt: skip
arctanh: Primitive = elementwise(
    "arctanh", np.arctanh, [lambda t, out, x: over(t, one_minus_square(x))], "arctanh_{d}({0})", domain=[(-0.8, 0.8)], kinds="fc", cost=20,
)  # fmt: skip

# ---- pieces


def _absolute_tangent(t: Value, out: Value, x: Value) -> Value:
    if x.type.dtype.kind != "c":
        return scale(t, sign(x))
    direction = div(conj(x), make_complex(out, constant(0, out)))
    return real(_where_nonzero(out, scale(t, direction)))


absolute: Primitive = elementwise(
    "absolute", np.absolute, [_absolute_tangent], "abs_{d}({0})", domain=[(0.5, 3)], kinds="fci",
    spelling=Spelling((np.absolute, np.fabs), keeps_weak=True),
)  # fmt: skip
sign: Primitive = elementwise("sign", np.sign, [None], "sign_{d}({0})", domain=[(0.5, 3)], kinds="fi")
floor: Primitive = elementwise("floor", np.floor, [None], "floor_{d}({0})", domain=[(0.1, 0.9)], kinds="f")
ceil: Primitive = elementwise("ceil", np.ceil, [None], "ceil_{d}({0})", domain=[(0.1, 0.9)], kinds="f")
trunc: Primitive = elementwise("trunc", np.trunc, [None], "trunc_{d}({0})", domain=[(0.1, 0.9)], kinds="f")
rint: Primitive = elementwise("rint", np.rint, [None], "rint_{d}({0})", domain=[(0.1, 0.4)], kinds="f")
floor_divide: Primitive = elementwise(
    "floor_divide", np.floor_divide, [None, None], "floor_divide_{d}({0}, {1})", domain=[(4.1, 4.4), (1.15, 1.3)], kinds="fi", cost=8,
    spelling=Spelling((np.floor_divide,), keeps_weak=True),
)  # fmt: skip
remainder: Primitive = elementwise(
    "remainder", np.remainder, [lambda t, out, x, y: t, lambda t, out, x, y: scale(t, neg(floor_divide(x, y)))], "remainder_{d}({0}, {1})",
    domain=[(4.1, 4.4), (1.15, 1.3)], kinds="fi", cost=8, spelling=Spelling((np.remainder,), keeps_weak=True),
)  # fmt: skip
fmod: Primitive = elementwise(
    "fmod", np.fmod, [lambda t, out, x, y: t, lambda t, out, x, y: scale(t, neg(trunc(div(x, y))))], "fmod_{d}({0}, {1})",
    domain=[(4.1, 4.4), (1.15, 1.3)], kinds="fi", cost=8,
)  # fmt: skip


def _choice(name: str, numpy: np.ufunc, wins: Primitive, emit: str, skips: bool = False) -> Primitive:
    """maximum or minimum: the larger (smaller) takes the tangent, equal ones share it; fmax or fmin skip NaN."""

    def tangent(t: Value, x: Value, y: Value) -> Value:
        share = select(equal(x, y), Literal(0.5, t.type), Literal(1, t.type))
        takes = wins(x, y)
        if skips:
            takes = logical_or(takes, logical_and(not_equal(y, y), equal(x, x)))
        return mask(takes, scale(t, share))

    return elementwise(
        name, numpy, [lambda t, out, x, y: tangent(t, x, y), lambda t, out, x, y: tangent(t, y, x)], emit, domain=[(-3, -0.5), (0.5, 3)], kinds="fi",
    )  # fmt: skip


_SKIPPING = "select({0} != {0}, {1}, select({1} != {1}, {0}, %s_{d}({0}, {1})))"
maximum: Primitive = _choice("maximum", np.maximum, greater_equal, "maximum_{d}({0}, {1})")
minimum: Primitive = _choice("minimum", np.minimum, less_equal, "minimum_{d}({0}, {1})")
fmax: Primitive = _choice("fmax", np.fmax, greater_equal, _SKIPPING.replace("%s", "maximum"), skips=True)
fmin: Primitive = _choice("fmin", np.fmin, less_equal, _SKIPPING.replace("%s", "minimum"), skips=True)
