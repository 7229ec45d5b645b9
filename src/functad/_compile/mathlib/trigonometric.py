"""sin, cos and tan for float64 and float32.

Reduction: x = n pi/2 + r, pi/2 in three floats (159 bits), each product by fma, the last difference with what it
dropped.  That is right to |x| = 5e14, where n no longer fits a float's rounding.  Beyond, the value is NaN and the
second result says so: see Note [doubt] in `functions`.
Polynomials: Sun's fdlibm k_sin.c and k_cos.c.
"""

import math

from functad._compile.mathlib.exponential import FORMATS
from functad._compile.mathlib.values import Value, absolute, fma, polynomial, select

_HALF_PI = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33)
_TWO_OVER_PI = 0.6366197723675814
LARGEST = 5.0e14
_SIN = (
    -1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04, 2.75573137070700676789e-06,
    -2.50507602534068634195e-08, 1.58969099521155010221e-10,
)  # fmt: skip
_COS = (
    4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05, -2.75573143513906633035e-07,
    2.08757232129817482790e-09, -1.13596475577881948265e-11,
)  # fmt: skip


def _reduce(x: Value) -> tuple[Value, Value, Value]:
    """The quadrant as an integer (its low bits), r, and what rounding r dropped."""
    shifter = FORMATS["f8"].shifter
    shifted = x * _TWO_OVER_PI + shifter
    n = shifted - shifter
    exact = fma(-n, _HALF_PI[0], x)
    step = n * _HALF_PI[1]
    step_dropped = fma(n, _HALF_PI[1], -step)
    r = exact - step
    back = r - exact
    dropped = (exact - (r - back)) - (step + back)
    return shifted.bits(), r, fma(-n, _HALF_PI[2], dropped - step_dropped)


def _sin_and_cos(r: Value, dropped: Value) -> tuple[Value, Value, Value, Value]:
    """sin and cos of r + dropped, each as its leading part and the rest."""
    z = r * r
    sin_rest = fma(z * r, polynomial(z, _SIN), fma(-0.5 * z, dropped, dropped))
    half = 0.5 * z
    lead = 1.0 - half
    cos_rest = ((1.0 - lead) - half) + fma(z * z, polynomial(z, _COS), -(r * dropped))
    return r, sin_rest, lead, cos_rest


def _turned(x: Value, quarter_turns: int) -> Value:
    """sin(x + quarter_turns * pi/2) for |x| up to LARGEST."""
    quadrant, r, dropped = _reduce(x)
    quadrant = quadrant + quarter_turns
    sin_lead, sin_rest, cos_lead, cos_rest = _sin_and_cos(r, dropped)
    value = select((quadrant & 1) != 0, cos_lead + cos_rest, sin_lead + sin_rest)
    return (value.bits() ^ ((quadrant & 2) << 62)).as_float()


def _turned_float32(x: Value, quarter_turns: int) -> Value:
    """The same for float32, computed in float64, where a short reduction and short polynomials do."""
    wide = x.to("f8")
    shifter = FORMATS["f8"].shifter
    shifted = wide * _TWO_OVER_PI + shifter
    n = shifted - shifter
    r = fma(-n, _HALF_PI[1], fma(-n, _HALF_PI[0], wide))
    z = r * r
    sin = fma(z * r, polynomial(z, _SIN[:4]), r)
    cos = fma(z * z, polynomial(z, _COS[:4]), fma(z, -0.5, 1.0))
    quadrant = shifted.bits() + quarter_turns
    value = select((quadrant & 1) != 0, cos, sin)
    return (value.bits() ^ ((quadrant & 2) << 62)).as_float().to("f4")


def _with_doubt(x: Value, value: Value) -> tuple[Value, Value]:
    """The value, and whether |x| was too large for it (an infinity is not: NaN is its right value)."""
    too_large = absolute(x) > LARGEST
    return select(too_large, math.nan, value), too_large & (absolute(x) < math.inf)


def sin(x: Value) -> tuple[Value, Value]:
    value = _turned(x, 0) if x.kind == "f8" else _turned_float32(x, 0)
    return _with_doubt(x, select(x == 0.0, x, value))


def cos(x: Value) -> tuple[Value, Value]:
    return _with_doubt(x, _turned(x, 1) if x.kind == "f8" else _turned_float32(x, 1))


def tan(x: Value) -> tuple[Value, Value]:
    """sin/cos, or -cos/sin in odd quadrants, the quotient corrected by all that rounding dropped."""
    wide = x.to("f8")
    quadrant, r, dropped = _reduce(wide)
    sin_lead, sin_rest, cos_lead, cos_rest = _sin_and_cos(r, dropped)
    sin_value, cos_value = sin_lead + sin_rest, cos_lead + cos_rest
    sin_dropped, cos_dropped = (sin_lead - sin_value) + sin_rest, (cos_lead - cos_value) + cos_rest
    odd = (quadrant & 1) != 0
    above, above_dropped = select(odd, -cos_value, sin_value), select(odd, -cos_dropped, sin_dropped)
    below, below_dropped = select(odd, sin_value, cos_value), select(odd, sin_dropped, cos_dropped)
    inverse = 1.0 / below
    quotient = above * inverse
    quotient = fma(fma(-quotient, below, above) + fma(-quotient, below_dropped, above_dropped), inverse, quotient)
    return _with_doubt(x, select(x == 0.0, x, quotient.to(x.kind)))
