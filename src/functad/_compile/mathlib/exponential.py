"""exp and what is made of it: exp2, expm1, sinh, cosh, tanh, sigmoid, for float64 and float32, without branches.

All start from one reduction, x = n ln 2 + r with |r| <= ln(2)/2, then the Taylor series of (exp(r) - 1 - r)/r**2,
long enough that its remainder is below a quarter of a unit in the last place; ln 2 is split in two as in Cody and
Waite, "Software Manual for the Elementary Functions" (1980), the digits being those of Sun's fdlibm (float64) and of
Cephes (float32). The functions built on exp(r) - 1 keep what rounding dropped, so that they stay below 2 units as
well.
"""

import math
from dataclasses import dataclass

from functad._compile.mathlib.values import Number, Value, absolute, copysign, fma, polynomial_in_pairs, select


@dataclass(frozen=True)
class FloatFormat:
    """What the reductions need to know of a float type."""

    mantissa_bits: int
    exponent_bias: int
    ln2_high: float  # so few bits that its product with any exponent is exact
    ln2_low: float
    lowest: float  # below this argument exp is 0,
    highest: float  # above this one it is inf
    series_terms: int
    smallest_normal: float
    sqrt_half_bits: int
    tanh_limit: float  # from here on tanh is 1
    sinh_limit: float  # from here on sinh and cosh overflow

    @property
    def shifter(self) -> float:
        """Adding and subtracting 1.5 * 2**mantissa_bits rounds to an integer."""
        return 1.5 * 2.0**self.mantissa_bits

    @property
    def shifter_bits(self) -> int:
        """The representation of `shifter`: the integer n rounded by it is bits(n + shifter) - shifter_bits."""
        return (self.exponent_bias + self.mantissa_bits << self.mantissa_bits) | 1 << self.mantissa_bits - 1


FORMATS = {
    "f8": FloatFormat(
        mantissa_bits=52,
        exponent_bias=1023,
        ln2_high=6.93147180369123816490e-01,
        ln2_low=1.90821492927058770002e-10,
        lowest=-746.0,
        highest=710.0,
        series_terms=12,
        smallest_normal=2.2250738585072014e-308,
        sqrt_half_bits=0x3FE6A09E667F3BCD,
        tanh_limit=20.0,
        sinh_limit=710.48,
    ),
    "f4": FloatFormat(
        mantissa_bits=23,
        exponent_bias=127,
        ln2_high=0.693359375,
        ln2_low=-2.12194440e-4,
        lowest=-104.0,
        highest=89.0,
        series_terms=6,
        smallest_normal=1.17549435e-38,
        sqrt_half_bits=0x3F3504F3,
        tanh_limit=10.0,
        sinh_limit=89.42,
    ),
}
LOG2_E = 1.4426950408889634
LN_2 = 0.6931471805599453


def clamp(x: Value, low: float, high: float) -> Value:
    """x kept within [low, high]; NaN stays NaN."""
    x = select(x < low, low, x)
    return select(x > high, high, x)


def round_to_integer(x: Value) -> Value:
    """x rounded to an integer, for |x| < 2**(mantissa bits - 1)."""
    shifter = FORMATS[x.kind].shifter
    return (x + shifter) - shifter


def power_of_two(n: Value) -> Value:
    """2**n for an integer-valued float n whose result is a normal number."""
    form = FORMATS[n.kind]
    return (((n + form.shifter).bits() - form.shifter_bits + form.exponent_bias) << form.mantissa_bits).as_float()


def _series(r: Value) -> Value:
    """(exp(r) - 1 - r)/r**2."""
    return polynomial_in_pairs(r, [1 / math.factorial(k + 2) for k in range(FORMATS[r.kind].series_terms)])


def _reduce(x: Value) -> tuple[Value, Value, Value]:
    """n, r and what rounding r dropped: x = n ln 2 + r + dropped."""
    form = FORMATS[x.kind]
    n = round_to_integer(x * LOG2_E)
    exact = fma(-n, form.ln2_high, x)
    r = fma(-n, form.ln2_low, exact)
    return n, r, fma(-n, form.ln2_low, exact - r)


def _scale(value: Value, n: Value) -> Value:
    """value * 2**n in two steps, since 2**n alone may overflow or be subnormal."""
    half = round_to_integer(n * 0.5)
    return (value * power_of_two(half)) * power_of_two(n - half)


def exp_of_sum(x: Value, small: Number) -> Value:
    """exp(x + small) for x already clamped and `small` below a unit in the last place of x.

    `small` may be 1e-13 and so belongs into the series as well: leaving it out there costs pow 170 units.
    """
    n, r, dropped = _reduce(x)
    whole = r + (dropped + small)
    return _scale(fma(_series(whole) * whole, whole, whole) + 1.0, n)


def exp(x: Value) -> Value:
    form = FORMATS[x.kind]
    n, r, _ = _reduce(clamp(x, form.lowest, form.highest))
    return _scale(fma(_series(r) * r, r, r) + 1.0, n)


def exp2(x: Value) -> Value:
    form = FORMATS[x.kind]
    limited = clamp(x, form.lowest * LOG2_E - 1.0, form.highest * LOG2_E + 1.0)
    n = round_to_integer(limited)
    r = (limited - n) * LN_2
    return _scale(fma(_series(r) * r, r, r) + 1.0, n)


def expm1(x: Value) -> Value:
    form = FORMATS[x.kind]
    n, r, dropped = _reduce(clamp(x, -40.0, form.highest))
    reduced = r + fma(_series(r) * r, r, dropped)
    half = power_of_two(n - 1.0)  # half the scale: 2**1024 does not exist
    value = fma(half, reduced, half - 0.5)
    return select(x == 0.0, x, value + value)


def tanh(x: Value) -> Value:
    """-expm1(-2|x|)/(expm1(-2|x|) + 2), numerator, denominator and quotient each with the part that rounding dropped."""
    limit = FORMATS[x.kind].tanh_limit
    size = absolute(x)
    n, r, dropped = _reduce(-2.0 * select(size > limit, limit, size))
    reduced = r + fma(_series(r) * r, r, dropped)
    scale = power_of_two(n)
    shift = scale - 1.0
    above = fma(scale, reduced, shift)
    above_dropped = fma(scale, reduced, shift - above)
    below = above + 2.0
    below_dropped = (2.0 - below) + above + above_dropped
    quotient = above / below
    quotient = quotient + (fma(-quotient, below, above) + above_dropped - quotient * below_dropped) / below
    return select(x != x, x, copysign(-quotient, x))


def _hyperbolic_parts(size: Value) -> tuple[Value, Value, Value, Value]:
    """A, B, e, e/(1 + e) of exp(size) = 4 A (1 + e) and exp(-size) = 4 B/(1 + e): quarters, since 2**1024 does not exist."""
    form = FORMATS[size.kind]
    n, r, dropped = _reduce(select(size > form.sinh_limit, form.sinh_limit, size))
    e = r + fma(_series(r) * r, r, dropped)
    least = -float(form.exponent_bias - 3)  # 2**-n is lost beside 2**n long before it becomes subnormal
    opposite = select(n > -least, least, -n)
    return power_of_two(n - 2.0), power_of_two(opposite - 2.0), e, e / (e + 1.0)


def sinh(x: Value) -> Value:
    large, small, e, ratio = _hyperbolic_parts(absolute(x))
    half = (large - small) + fma(large, e, small * ratio)
    return select(x == 0.0, x, copysign(half + half, x))


def cosh(x: Value) -> Value:
    large, small, e, ratio = _hyperbolic_parts(absolute(x))
    half = (large + small) + fma(large, e, -(small * ratio))
    return half + half


def sigmoid(x: Value) -> Value:
    """1/(1 + exp(-x)), from exp(-|x|) so that nothing overflows; the denominator keeps what rounding dropped."""
    form = FORMATS[x.kind]
    size = absolute(x)
    e = exp(-select(size > -form.lowest, -form.lowest, size))
    below = 1.0 + e
    dropped = e - (below - 1.0)
    above = select(x < 0.0, e, 1.0)
    quotient = above / below
    return quotient - quotient * (dropped / below)
