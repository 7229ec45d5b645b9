"""Complex arithmetic as NumPy does it, on pairs of floats.

Quotients follow Smith's algorithm step by step as NumPy's loops do, so that infinities and NaN agree.  The functions
combine real ones and have the special values of C17, annex G.6; each part is right to a few units of the larger part,
not of itself. Every function takes the real functions it uses as its first argument: the formulas of this package, or
libm's.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from llvmlite import ir

import functad._compile.mathlib.arithmetic as arithmetic
import functad._compile.mathlib.exponential as exponential
import functad._compile.mathlib.inverse as inverse
import functad._compile.mathlib.logarithm as logarithm
import functad._compile.mathlib.trigonometric as trigonometric
from functad._compile.mathlib.values import Value, absolute, copysign, fma, libm, llvm_intrinsic, llvm_type, select

Doubtful = tuple[Value, Value]  # a value, and where it is no answer: Note [doubt] in `functions`


@dataclass(frozen=True)
class Reals:
    """The real functions to build on."""

    exp: Callable[[Value], Value]
    sinh: Callable[[Value], Value]
    cosh: Callable[[Value], Value]
    tanh: Callable[[Value], Value]
    log: Callable[[Value], Value]
    log1p: Callable[[Value], Value]
    hypot: Callable[[Value, Value], Value]
    atan2: Callable[[Value, Value], Value]
    sin: Callable[[Value], Doubtful]
    cos: Callable[[Value], Doubtful]


def _libm_without_doubt(name: str, x: Value) -> Doubtful:
    return libm(name, x), Value(x.builder, "b1", ir.Constant(ir.IntType(1), 0))


FORMULAS = Reals(
    exponential.exp, exponential.sinh, exponential.cosh, exponential.tanh, logarithm.log, logarithm.log1p, arithmetic.hypot, inverse.atan2,
    trigonometric.sin, trigonometric.cos,
)  # fmt: skip
LIBM = Reals(
    partial(libm, "exp"), partial(libm, "sinh"), partial(libm, "cosh"), partial(libm, "tanh"), partial(libm, "log"), partial(libm, "log1p"),
    partial(libm, "hypot"), partial(libm, "atan2"), partial(_libm_without_doubt, "sin"), partial(_libm_without_doubt, "cos"),
)  # fmt: skip


def parts(z: Value) -> tuple[Value, Value]:
    """Real and imaginary part."""
    kind = "f8" if z.kind == "c16" else "f4"
    return (Value(z.builder, kind, z.builder.extract_value(z.node, 0)), Value(z.builder, kind, z.builder.extract_value(z.node, 1)))


def join(x: Value, y: Value) -> Value:
    """x + iy."""
    kind = "c16" if x.kind == "f8" else "c8"
    pair = x.builder.insert_value(ir.Constant(llvm_type(kind), ir.Undefined), x.node, 0)
    return Value(x.builder, kind, x.builder.insert_value(pair, y.node, 1))


def real(z: Value) -> Value:
    return parts(z)[0]


def imag(z: Value) -> Value:
    return parts(z)[1]


def conjugate(z: Value) -> Value:
    x, y = parts(z)
    return join(x, -y)


def multiply(z: Value, w: Value) -> Value:
    (a, b), (c, d) = parts(z), parts(w)
    return join(a * c - b * d, a * d + b * c)


def divide(z: Value, w: Value) -> Value:
    """Smith's algorithm; a zero divisor divides both parts by its size, as NumPy."""
    (a, b), (c, d) = parts(z), parts(w)
    c_size, d_size = absolute(c), absolute(d)
    by_real = c_size >= d_size
    large, small = select(by_real, c, d), select(by_real, d, c)
    ratio = small / large
    scale = 1.0 / (large + small * ratio)
    x = select(by_real, a + b * ratio, a * ratio + b) * scale
    y = select(by_real, b - a * ratio, b * ratio - a) * scale
    zero = (c_size == 0.0) & (d_size == 0.0)
    return join(select(zero, a / c_size, x), select(zero, b / c_size, y))


def modulus(reals: Reals, z: Value) -> Value:
    return reals.hypot(*parts(z))


def angle(reals: Reals, z: Value) -> Value:
    x, y = parts(z)
    return reals.atan2(y, x)


def log(reals: Reals, z: Value) -> Value:
    """Near the unit circle the modulus loses what log needs: there log1p(|z|**2 - 1)/2."""
    x, y = parts(z)
    size = reals.hypot(x, y)
    x_size, y_size = absolute(x), absolute(y)
    large, small = select(x_size > y_size, x_size, y_size), select(x_size > y_size, y_size, x_size)
    near_one = (size > 0.5) & (size < 2.0)
    close = 0.5 * reals.log1p(fma(large - 1.0, large + 1.0, small * small))
    return join(select(near_one, close, reals.log(size)), reals.atan2(y, x))


def exp(reals: Reals, z: Value) -> Doubtful:
    """exp(x) in two factors, since it may overflow where exp(x) cos(y) does not."""
    x, y = parts(z)
    limit = 709.0 if x.kind == "f8" else 88.0
    large = x > limit
    first = reals.exp(select(large, x - limit, x))
    second = select(large, reals.exp(x.constant(limit)), 1.0)
    (sin, doubt), (cos, _) = reals.sin(y), reals.cos(y)
    infinite_y = ~(absolute(y) < math.inf)
    real_part, imag_part = first * cos * second, first * sin * second
    real_part = select(infinite_y & (x == math.inf), math.inf, real_part)
    real_part = select(infinite_y & (x == -math.inf), 0.0, real_part)
    imag_part = select(infinite_y & (x == -math.inf), 0.0, imag_part)
    return join(real_part, select(y == 0.0, y, imag_part)), doubt


def _both_infinite(x: Value, y: Value) -> Value:
    """Where the modulus is infinite and the direction unknown."""
    return (absolute(x) == math.inf) & ~(absolute(y) < math.inf)


def sinh(reals: Reals, z: Value) -> Doubtful:
    x, y = parts(z)
    (sin, doubt), (cos, _) = reals.sin(y), reals.cos(y)
    real_part = select(_both_infinite(x, y), math.inf, select(x == 0.0, x, reals.sinh(x) * cos))
    return join(real_part, select(y == 0.0, y, reals.cosh(x) * sin)), doubt


def cosh(reals: Reals, z: Value) -> Doubtful:
    x, y = parts(z)
    (sin, doubt), (cos, _) = reals.sin(y), reals.cos(y)
    zero = copysign(1.0, x) * copysign(0.0, y)
    real_part = select(_both_infinite(x, y), math.inf, reals.cosh(x) * cos)
    return join(real_part, select((x == 0.0) | (y == 0.0), zero, reals.sinh(x) * sin)), doubt


def tanh(reals: Reals, z: Value) -> Doubtful:
    """(t + i s c/cosh(x)**2) / (c**2 + t**2 s**2) with t = tanh x, s = sin y, c = cos y: no pole of tan on the way."""
    x, y = parts(z)
    (sin, doubt), (cos, _) = reals.sin(y), reals.cos(y)
    t = reals.tanh(x)
    cosh = reals.cosh(x)
    sech_squared = (1.0 / cosh) / cosh
    below = fma(cos, cos, (t * sin) * (t * sin))
    real_part, imag_part = t / below, sin * cos * sech_squared / below
    infinite_x = absolute(x) == math.inf
    real_part = select(infinite_x, copysign(1.0, x), select(x == 0.0, x, real_part))
    unknown_y = ~(absolute(y) < math.inf)
    small_imag = copysign(0.0, select(unknown_y, y, sin * cos))
    return join(real_part, select(infinite_x, small_imag, select(y == 0.0, y, imag_part))), doubt


def _times_i(z: Value) -> Value:
    x, y = parts(z)
    return join(-y, x)


def _over_i(z: Value) -> Value:
    x, y = parts(z)
    return join(y, -x)


def sin(reals: Reals, z: Value) -> Doubtful:
    """sinh(iz)/i."""
    value, doubt = sinh(reals, _times_i(z))
    return _over_i(value), doubt


def tan(reals: Reals, z: Value) -> Doubtful:
    """tanh(iz)/i."""
    value, doubt = tanh(reals, _times_i(z))
    return _over_i(value), doubt


def cos(reals: Reals, z: Value) -> Doubtful:
    return cosh(reals, _times_i(z))


def sqrt(reals: Reals, z: Value) -> Value:
    """sqrt((|x| + |z|)/2) and y over twice that, in quarters or multiples where squares would leave the range."""
    x, y = parts(z)
    size = arithmetic.maximum(absolute(x), absolute(y))
    huge, tiny = (2.0**1020, 2.0**-1000) if x.kind == "f8" else (2.0**125, 2.0**-110)
    grow = 54.0 if x.kind == "f8" else 26.0
    down, up = size > huge, size < tiny
    scale = select(down, x.constant(0.25), select(up, x.constant(2.0**grow), 1.0))
    back = select(down, x.constant(2.0), select(up, x.constant(2.0 ** (-grow / 2)), 1.0))
    a, b = x * scale, y * scale
    root = llvm_intrinsic("sqrt", 0.5 * (absolute(a) + reals.hypot(a, b)))
    other = absolute(b) / (root + root)
    positive = x >= 0.0
    real_part = select(positive, root, other) * back
    imag_part = copysign(select(positive, other, root) * back, y)
    zero = (x == 0.0) & (y == 0.0)
    infinite = absolute(y) == math.inf
    real_part = select(infinite, math.inf, select(zero, 0.0, real_part))
    return join(real_part, select(infinite | zero, y, imag_part))
