"""log and what is made of it: log1p, log2, log10, pow, logaddexp, for float64 and float32, without branches.

The reduction is Sun's fdlibm's: x = 2**k m with sqrt(1/2) <= m < sqrt(2), and log m by a series in s = (m - 1)/(m +
1) with the coefficients of e_log.c (float64), of FreeBSD's e_logf.c (float32).  `log_pair` gives the logarithm in two
floats (about 100 bits) by the plain series 2 s (1 + s**2/3 + s**4/5 + ...): pow needs it because an error in y log x
is multiplied by the size of y log x.
"""

import math

from functad._compile.mathlib.exponential import FORMATS, LN_2, clamp, exp_of_sum
from functad._compile.mathlib.exponential import exp as _exp
from functad._compile.mathlib.values import Number, Value, absolute, copysign, fma, llvm_intrinsic, polynomial, select

_SERIES = {
    "f8": (
        6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01, 2.222219843214978396e-01,
        1.818357216161805012e-01, 1.531383769920937332e-01, 1.479819860511658591e-01,
    ),
    "f4": (0.66666662693, 0.40000972152, 0.28498786688, 0.24279078841),
}  # fmt: skip
_LN2_PARTS = {"f8": (6.93147180369123816490e-01, 1.90821492927058770002e-10), "f4": (6.9313812256e-01, 9.0580006145e-06)}
_TWO_THIRDS_DROPPED = 3.7007434154171886e-17  # 2/3 - float(2/3)
_INVERSE_LN2 = (1.4426950408889634, 2.0355273740931033e-17)  # 1/ln 2 and what its float drops
_INVERSE_LN10 = (0.4342944819032518, 1.098319650216765e-17)


def _split(x: Value) -> tuple[Value, Value]:
    """m and k of x = m * 2**k, sqrt(1/2) <= m < sqrt(2), for positive finite x, subnormal ones too."""
    form = FORMATS[x.kind]
    tiny = x < form.smallest_normal
    lift = form.mantissa_bits + 2
    bits = select(tiny, x * 2.0**lift, x).bits()
    k = (bits - form.sqrt_half_bits) >> form.mantissa_bits
    m = (bits - (k << form.mantissa_bits)).as_float()
    exponent = (k + form.shifter_bits).as_float() - form.shifter
    return m, select(tiny, exponent - float(lift), exponent)


def _log_of_parts(m: Value, k: Value, small: Number) -> Value:
    """log(m) + k ln 2 + small."""
    high, low = _LN2_PARTS[m.kind]
    series = _SERIES[m.kind]
    f = m - 1.0
    s = f / (f + 2.0)
    z = s * s
    w = z * z
    tail = fma(z, polynomial(w, series[0::2]), w * polynomial(w, series[1::2]))
    half_square = 0.5 * f * f
    return fma(k, high, f - (half_square - fma(s, half_square + tail, fma(k, low, small))))


def _at_the_edges(x: Value, value: Value) -> Value:
    """The logarithm's values at inf, NaN, 0 and below."""
    value = select(x < math.inf, value, x)
    value = select(x == 0.0, -math.inf, value)
    return select(x < 0.0, math.nan, value)


def log(x: Value) -> Value:
    return _at_the_edges(x, _log_of_parts(*_split(x), 0.0))


def log1p(x: Value) -> Value:
    """log(1 + x), corrected by what rounding 1 + x dropped."""
    u = 1.0 + x
    d = u - 1.0
    dropped = (1.0 - (u - d)) + (x - d)
    value = _log_of_parts(*_split(u), dropped / u)
    value = select(x < math.inf, value, x)
    value = select(u == 0.0, -math.inf, value)
    value = select(x < -1.0, math.nan, value)
    return select(absolute(x) < FORMATS[x.kind].smallest_normal, x, value)


def log_pair(x: Value) -> tuple[Value, Value]:
    """log(x) as an unevaluated sum of two float64, for positive finite x."""
    m, k = _split(x)
    f = m - 1.0
    g = m + 1.0
    g_dropped = m - (g - 1.0)
    s = f / g
    s_dropped = (fma(-s, g, f) - s * g_dropped) / g
    z = s * s
    z_dropped = fma(s, s, -z) + 2.0 * s * s_dropped
    tail = polynomial(z, [2 / n for n in range(5, 23, 2)])  # the term after it is below 2**-60 of the sum
    first = z * (2 / 3)
    first_dropped = fma(z, 2 / 3, -first) + fma(z_dropped, 2 / 3, z * _TWO_THIRDS_DROPPED)
    rest = z * z * tail
    ratio = first + rest  # log(m)/s - 2
    ratio_dropped = (first - ratio) + rest + first_dropped
    factor = 2.0 + ratio
    factor_dropped = (2.0 - factor) + ratio + ratio_dropped
    log_m = s * factor
    log_m_dropped = fma(s, factor, -log_m) + fma(s, factor_dropped, s_dropped * factor)
    high, low = _LN2_PARTS["f8"]
    k_high, k_low = k * high, k * low  # ln2_high ends in 20 zero bits: the product is exact
    total = k_high + log_m
    dropped = (k_high - total) + log_m + (k_low + log_m_dropped)
    result = total + dropped
    return result, (total - result) + dropped


def _scaled_log(x: Value, factor: tuple[float, float]) -> Value:
    """log(x) * factor, right in nearly all last bits, so that log2(2**k) and log10(10**k) are exact."""
    if x.kind == "f4":
        return (log(x.to("f8")) * factor[0]).to("f4")
    high, low = log_pair(x)
    product = high * factor[0]
    dropped = fma(high, factor[0], -product) + fma(low, factor[0], high * factor[1])
    return _at_the_edges(x, product + dropped)


def log2(x: Value) -> Value:
    return _scaled_log(x, _INVERSE_LN2)


def log10(x: Value) -> Value:
    return _scaled_log(x, _INVERSE_LN10)


def power(x: Value, y: Value) -> Value:
    """x**y with C's rules for special values (C17, annex F.10.4.4), which are NumPy's."""
    if x.kind == "f4":  # a float64 has bits enough for y log x
        x, y = x.to("f8"), y.to("f8")
        return _power(x, y, log(absolute(x)), x.constant(0.0)).to("f4")
    return _power(x, y, *log_pair(absolute(x)))


def _power(x: Value, y: Value, high: Value, low: Value) -> Value:
    """exp(y (high + low)) with the special values; high + low is log |x|."""
    size, y_size = absolute(x), absolute(y)
    product = y * high
    dropped = fma(y, high, -product) + y * low
    limited = clamp(product, -746.0, 710.0)
    value = exp_of_sum(limited, select(limited == product, dropped, 0.0))

    growing = y > 0.0
    value = select(size == 0.0, select(growing, 0.0, value._same_kind(math.inf)), value)
    value = select(size == math.inf, select(growing, math.inf, value._same_kind(0.0)), value)
    y_infinite = y_size == math.inf
    one_side = select((size > 1.0) ^ growing, value._same_kind(0.0), math.inf)
    value = select(y_infinite, select(size == 1.0, 1.0, one_side), value)

    integer = llvm_intrinsic("trunc", y) == y
    half = y * 0.5
    odd = integer & (llvm_intrinsic("trunc", half) != half)
    value = select((x < 0.0) & ~integer & (size < math.inf), math.nan, value)
    value = select(odd, copysign(value, x), value)
    value = select((x != x) | (y != y), math.nan, value)
    return select((y == 0.0) | (x == 1.0), 1.0, value)


def logaddexp(x: Value, y: Value) -> Value:
    """log(exp(x) + exp(y)) as NumPy: equal arguments first, so that two infinities give an infinity and not NaN."""
    difference = x - y
    larger = select(difference > 0.0, x, y)
    value = larger + log1p(_exp(-absolute(difference)))
    value = select(x == y, x + LN_2, value)
    return select(difference != difference, select(x == y, value, difference), value)
