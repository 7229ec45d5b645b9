"""The inverse trigonometric and hyperbolic functions for float64 and float32, without branches.

arctan: the rational function of Cephes' atan.c (Moshier) on a ratio, so that arctan(x) and atan2(y, x) are one
formula with one division. arcsin, arccos: the rational function of Sun's fdlibm e_asin.c, the square root with what
rounding it dropped. The hyperbolic ones: fdlibm's arrangements over log1p.  float32 goes by way of float64 where it
says so.
"""

import functools
import math
from collections.abc import Callable

from functad._compile.mathlib.exponential import LN_2
from functad._compile.mathlib.logarithm import log1p
from functad._compile.mathlib.values import Value, absolute, copysign, fma, llvm_intrinsic, polynomial, select

_PI_DROPPED = 1.2246467991473532e-16  # pi - float(pi)
_ATAN_ABOVE = (
    -6.485021904942025371773e1, -1.228866684490136173410e2, -7.500855792314704667340e1, -1.615753718733365076637e1,
    -8.750608600031904122785e-1,
)  # fmt: skip
_ATAN_BELOW = (
    1.945506571482613964425e2, 4.853903996359136964868e2, 4.328810604912902668951e2, 1.650270098316988542046e2,
    2.485846490142306297962e1, 1.0,
)  # fmt: skip
_ASIN_ABOVE = (
    1.66666666666666657415e-01, -3.25565818622400915405e-01, 2.01212532134862925881e-01, -4.00555345006794114027e-02,
    7.91534994289814532176e-04, 3.47933107596021167570e-05,
)  # fmt: skip
_ASIN_BELOW = (1.0, -2.40339491173441421878e00, 2.02094576023350569471e00, -6.88283971605453293030e-01, 7.70381505559019352791e-02)
_TAN_3_PI_8 = 2.41421356237309504880


def _by_float64(body: Callable[..., Value]) -> Callable[..., Value]:
    """The body for float64, and for float32 by way of it."""

    @functools.wraps(body)
    def both(*arguments: Value) -> Value:
        return body(*(argument.to("f8") for argument in arguments)).to(arguments[0].kind)

    return both


def _angle(a: Value, b: Value) -> Value:
    """arctan(a/b) for a, b >= 0, not both 0 or infinite."""
    steep, flat = a > _TAN_3_PI_8 * b, a <= 0.66 * b
    above = select(steep, -b, select(flat, a, a - b))
    below = select(steep, a, select(flat, b, a + b))
    x = above / below
    z = x * x
    tail = x * (z * polynomial(z, _ATAN_ABOVE) / polynomial(z, _ATAN_BELOW))
    start = select(steep, x.constant(math.pi / 2), select(flat, x.constant(0.0), math.pi / 4))
    start_dropped = select(steep, x.constant(_PI_DROPPED / 2), select(flat, x.constant(0.0), _PI_DROPPED / 4))
    return start + (x + (tail + start_dropped))


@_by_float64
def arctan(x: Value) -> Value:
    return select(x == 0.0, x, copysign(_angle(absolute(x), x.constant(1.0)), x))


@_by_float64
def atan2(y: Value, x: Value) -> Value:
    """The angle of (x, y), with C's rules for zeros and infinities."""
    a, b = absolute(y), absolute(x)
    huge = (a > 1e300) | (b > 1e300)  # a + b may overflow,
    tiny = (a < 1e-290) & (b < 1e-290)  # and 0.66 * b lose its bits
    scale = select(huge, x.constant(2.0**-60), select(tiny, x.constant(2.0**60), 1.0))
    first = _angle(a * scale, b * scale)
    first = select((a == math.inf) & (b == math.inf), math.pi / 4, first)
    first = select(a == 0.0, 0.0, first)
    angle = select(x.bits() < 0, (math.pi - first) + _PI_DROPPED, first)
    return select((x != x) | (y != y), math.nan, copysign(angle, y))


def _root_and_series(x: Value) -> tuple[Value, Value, Value]:
    """|x| < 1/2: |x| and arcsin(|x|) - |x|; else the same of sqrt((1 - |x|)/2), with what its rounding dropped; and which."""
    size = absolute(x)
    near_one = size >= 0.5
    z = select(near_one, 0.5 * (1.0 - size), size * size)
    root = select(near_one, llvm_intrinsic("sqrt", z), size)
    root_dropped = select(near_one & (z > 0.0), fma(-root, root, z) / (root + root), 0.0)
    series = z * polynomial(z, _ASIN_ABOVE) / polynomial(z, _ASIN_BELOW)
    return root, fma(root, series, root_dropped), near_one


@_by_float64
def arcsin(x: Value) -> Value:
    root, rest, near_one = _root_and_series(x)
    far = math.pi / 2 - (2.0 * root - (_PI_DROPPED / 2 - 2.0 * rest))
    return select(x == 0.0, x, copysign(select(near_one, far, root + rest), x))


@_by_float64
def arccos(x: Value) -> Value:
    root, rest, near_one = _root_and_series(x)
    middle = math.pi / 2 - (copysign(root, x) - (_PI_DROPPED / 2 - copysign(1.0, x) * rest))
    near = 2.0 * (root + rest)
    far = math.pi - (2.0 * root - (_PI_DROPPED - 2.0 * rest))
    return select(near_one, select(x < 0.0, far, near), middle)


def arcsinh(x: Value) -> Value:
    """log1p(a + a**2/(1 + sqrt(1 + a**2))) of a = |x|, or log(2 a) where a**2 would overflow."""
    size = absolute(x)
    large = size > (1e17 if x.kind == "f8" else 1e9)
    square = size * size
    inner = size + square / (1.0 + llvm_intrinsic("sqrt", 1.0 + square))
    value = log1p(select(large, size, inner)) + select(large, x.constant(LN_2), 0.0)
    return copysign(value, x)


def arccosh(x: Value) -> Value:
    """log1p(t + sqrt(2 t + t**2)) of t = x - 1, or log(2 x); NaN below 1."""
    large = x > (1e17 if x.kind == "f8" else 1e9)
    t = x - 1.0
    inner = t + llvm_intrinsic("sqrt", fma(t, t, t + t))
    value = log1p(select(large, x, inner)) + select(large, x.constant(LN_2), 0.0)
    return select(x < 1.0, math.nan, value)


def arctanh(x: Value) -> Value:
    """log1p(2 a/(1 - a))/2 of a = |x|, the quotient taken apart where a is small."""
    size = absolute(x)
    small = size < 0.5
    double = size + size
    quotient = select(small, double * size, double) / (1.0 - size)
    return copysign(0.5 * log1p(select(small, double + quotient, quotient)), x)
