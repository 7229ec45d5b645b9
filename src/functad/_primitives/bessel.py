"""Functions of scipy.special, one row each: Bessel functions, integrals, hypergeometric and elliptic functions.  See `special`.

Derivatives in the argument; an order or parameter is refused.
"""

from math import log as logarithm
from math import pi

import numpy as np
from scipy import special

from functad._core.primitive import Primitive
from functad._primitives.arithmetic import add, div, mul, neg, over, scale, sub
from functad._primitives.elementwise import cos, exp, log, log1p, power, sign, sin, square
from functad._primitives.operands import Array, Value, constant, ones_like
from functad._primitives.rules import Rule
from functad._primitives.special import as_real, integer_orders, kept, refused, scipy_row, times

__all__: list[str] = []

# ---- Bessel functions (DLMF 10.6, 10.29)


def _order(n: int, x: Value) -> Value:
    return constant(n, x)


def _neighbours(of: Rule, v: Value, x: Value, sign_of_next: int) -> Value:
    """Half the sum or difference of the functions of the orders beside v."""
    one = ones_like(v)
    below, above = of(sub(v, one), x), of(add(v, one), x)
    return times(0.5, sub(below, above) if sign_of_next < 0 else add(below, above))


_ORDERS = integer_orders((0.5, 4))

jv: Primitive = scipy_row("jv", special.jv, [refused("jv", "v"), lambda t, out, v, x: scale(t, _neighbours(jv, v, x, -1))], examples=_ORDERS)
yv: Primitive = scipy_row("yv", special.yv, [refused("yv", "v"), lambda t, out, v, x: scale(t, _neighbours(yv, v, x, -1))], examples=_ORDERS)
yn: Primitive = scipy_row("yn", special.yn, [refused("yn", "n"), lambda t, out, n, x: scale(t, _neighbours(yn, n, x, -1))], examples=_ORDERS)
iv: Primitive = scipy_row("iv", special.iv, [refused("iv", "v"), lambda t, out, v, x: scale(t, _neighbours(iv, v, x, 1))], examples=_ORDERS)
kv: Primitive = scipy_row("kv", special.kv, [refused("kv", "v"), lambda t, out, v, x: scale(t, neg(_neighbours(kv, v, x, 1)))], examples=_ORDERS)
ive: Primitive = scipy_row(
    "ive", special.ive, [refused("ive", "v"), lambda t, out, v, x: scale(t, sub(_neighbours(ive, v, x, 1), mul(sign(x), out)))], examples=_ORDERS
)
kve: Primitive = scipy_row(
    "kve", special.kve, [refused("kve", "v"), lambda t, out, v, x: scale(t, sub(out, _neighbours(kve, v, x, 1)))], examples=_ORDERS
)

_ARGUMENT = [(0.5, 4)]
j0: Primitive = scipy_row("j0", special.j0, [lambda t, out, x: scale(t, neg(j1(x)))], domain=_ARGUMENT)
j1: Primitive = scipy_row("j1", special.j1, [lambda t, out, x: scale(t, times(0.5, sub(j0(x), jv(_order(2, x), x))))], domain=_ARGUMENT)
y0: Primitive = scipy_row("y0", special.y0, [lambda t, out, x: scale(t, neg(y1(x)))], domain=_ARGUMENT)
y1: Primitive = scipy_row("y1", special.y1, [lambda t, out, x: scale(t, times(0.5, sub(y0(x), yn(_order(2, x), x))))], domain=_ARGUMENT)
i0: Primitive = scipy_row("i0", special.i0, [lambda t, out, x: scale(t, i1(x))], domain=_ARGUMENT)
i1: Primitive = scipy_row("i1", special.i1, [lambda t, out, x: scale(t, times(0.5, add(i0(x), iv(_order(2, x), x))))], domain=_ARGUMENT)
k0: Primitive = scipy_row("k0", special.k0, [lambda t, out, x: scale(t, neg(k1(x)))], domain=_ARGUMENT)
k1: Primitive = scipy_row("k1", special.k1, [lambda t, out, x: scale(t, times(-0.5, add(k0(x), kv(_order(2, x), x))))], domain=_ARGUMENT)
# the scaled ones have a kink at 0, where the symmetric choice drops the scale's part
i0e: Primitive = scipy_row("i0e", special.i0e, [lambda t, out, x: scale(t, sub(i1e(x), mul(sign(x), out)))], domain=_ARGUMENT)
i1e: Primitive = scipy_row(
    "i1e", special.i1e, [lambda t, out, x: scale(t, sub(times(0.5, add(i0e(x), ive(_order(2, x), x))), mul(sign(x), out)))], domain=_ARGUMENT
)
k0e: Primitive = scipy_row("k0e", special.k0e, [lambda t, out, x: scale(t, sub(out, k1e(x)))], domain=_ARGUMENT)
k1e: Primitive = scipy_row(
    "k1e", special.k1e, [lambda t, out, x: scale(t, sub(out, times(0.5, add(k0e(x), kve(_order(2, x), x)))))], domain=_ARGUMENT
)


def _spherical_tangent(t: Value, out: Value, x: Value, order: int) -> Value:
    """DLMF 10.51.2, without a division by x."""
    if order == 0:
        return scale(t, neg(spherical_jn(x, order=1)))
    below, above = spherical_jn(x, order=order - 1), spherical_jn(x, order=order + 1)
    return scale(t, sub(times(order / (2 * order + 1), below), times((order + 1) / (2 * order + 1), above)))


spherical_jn: Primitive = scipy_row(
    "spherical_jn", lambda x, order: kept(special.spherical_jn(order, x), x), [_spherical_tangent],
    examples=lambda: [([np.linspace(0.5, 4, 6)], {"order": n}) for n in (0, 1, 3)],
)  # fmt: skip

# ---- integrals (DLMF 6.2, 7.2, 25.12)

sine_integral: Primitive = scipy_row(
    "sine_integral", lambda x: special.sici(x)[0], [lambda t, out, x: scale(t, spherical_jn(x, order=0))], domain=[(0.5, 4)],
)  # fmt: skip
cosine_integral: Primitive = scipy_row(
    "cosine_integral", lambda x: special.sici(x)[1], [lambda t, out, x: scale(t, div(cos(x), x))], domain=[(0.5, 4)],
)  # fmt: skip
fresnel_sine: Primitive = scipy_row(
    "fresnel_sine", lambda x: special.fresnel(x)[0], [lambda t, out, x: scale(t, sin(times(pi / 2, square(x))))], domain=[(-1, 1)],
)  # fmt: skip
fresnel_cosine: Primitive = scipy_row(
    "fresnel_cosine", lambda x: special.fresnel(x)[1], [lambda t, out, x: scale(t, cos(times(pi / 2, square(x))))], domain=[(-1, 1)],
)  # fmt: skip
expi: Primitive = scipy_row("expi", special.expi, [lambda t, out, x: scale(t, div(exp(x), x))], domain=_ARGUMENT)
exp1: Primitive = scipy_row("exp1", special.exp1, [lambda t, out, x: scale(t, neg(div(exp(neg(x)), x)))], domain=_ARGUMENT)
# log(x)/(1 - x) is -1/exprel(log(x)), which is smooth at 1
spence: Primitive = scipy_row("spence", special.spence, [lambda t, out, x: neg(over(t, exprel(log(x))))], domain=_ARGUMENT)

# ---- hypergeometric functions (DLMF 13.3.15, 15.5.1), and what they differentiate


def _raised(p: Value) -> Value:
    return add(p, ones_like(p))


hyp1f1: Primitive = scipy_row(
    "hyp1f1", special.hyp1f1,
    [refused("hyp1f1", "a"), refused("hyp1f1", "b"),
     lambda t, out, a, b, x: scale(t, mul(div(as_real(a, x), as_real(b, x)), hyp1f1(_raised(a), _raised(b), x)))],
    examples=integer_orders((-2, 2), orders=(1, 2, 3), count=2),
)  # fmt: skip
hyp2f1: Primitive = scipy_row(
    "hyp2f1", special.hyp2f1,
    [refused("hyp2f1", "a"), refused("hyp2f1", "b"), refused("hyp2f1", "c"),
     lambda t, out, a, b, c, x: scale(t, mul(div(mul(as_real(a, x), as_real(b, x)), as_real(c, x)), hyp2f1(_raised(a), _raised(b), _raised(c), x)))],
    examples=integer_orders((-0.5, 0.5), orders=(1, 2, 3), count=3),
)  # fmt: skip


def _moment(x: Value) -> Value:
    """The integral of s exp(s x) over s from 0 to 1, the derivative of exprel (DLMF 13.4.1)."""
    return times(0.5, hyp1f1(constant(2, x), constant(3, x), x))


exprel: Primitive = scipy_row("exprel", special.exprel, [lambda t, out, x: scale(t, _moment(x))], domain=[(-2, 2)])


def _boxcox_partial(base: Value, exponent: Value) -> Value:
    """Of (exp(p b) - 1)/p in p, where b is the logarithm of the base."""
    return mul(square(base), _moment(mul(exponent, base)))


boxcox: Primitive = scipy_row(
    "boxcox", special.boxcox,
    [lambda t, out, x, p: scale(t, power(x, sub(p, ones_like(p)))), lambda t, out, x, p: scale(t, _boxcox_partial(log(x), p))],
    domain=[(0.5, 3), (-1, 1)],
)  # fmt: skip
boxcox1p: Primitive = scipy_row(
    "boxcox1p", special.boxcox1p,
    [lambda t, out, x, p: scale(t, power(_raised(x), sub(p, ones_like(p)))), lambda t, out, x, p: scale(t, _boxcox_partial(log1p(x), p))],
    domain=[(-0.5, 2), (-1, 1)],
)  # fmt: skip


def _hypergeometric(a: float, b: float, c: float, m: Value) -> Value:
    return hyp2f1(constant(a, m), constant(b, m), constant(c, m), m)


def _ellipk_partial(m: Value) -> Value:
    """(E - (1 - m) K)/(2 m (1 - m)) of DLMF 19.4.1, by 15.8.1 as a hypergeometric function that is smooth at 0."""
    return times(pi / 8, div(_hypergeometric(0.5, 0.5, 2.0, m), sub(ones_like(m), m)))


ellipk: Primitive = scipy_row("ellipk", special.ellipk, [lambda t, out, m: scale(t, _ellipk_partial(m))], domain=[(-0.5, 0.8)])
ellipe: Primitive = scipy_row(
    "ellipe", special.ellipe, [lambda t, out, m: scale(t, times(-pi / 8, _hypergeometric(0.5, 1.5, 2.0, m)))], domain=[(-0.5, 0.8)]
)

# ---- others

exp10: Primitive = scipy_row("exp10", special.exp10, [lambda t, out, x: scale(t, times(logarithm(10.0), out))], domain=[(-1, 1)])
cosm1: Primitive = scipy_row("cosm1", special.cosm1, [lambda t, out, x: scale(t, neg(sin(x)))], domain=[(0.5, 2)])


def _lambertw_numpy(x: Array, branch: int) -> Array:
    """The real branches: NaN where there is no real value."""
    out = special.lambertw(x, branch)
    return kept(np.where(np.imag(out) == 0, np.real(out), np.nan), x)


def _lambertw_tangent(t: Value, out: Value, x: Value, branch: int) -> Value:
    """exp(-w)/(1 + w), DLMF 4.13.4, which has no 0/0 at 0."""
    return over(scale(t, exp(neg(out))), add(out, ones_like(out)))


lambertw: Primitive = scipy_row(
    "lambertw", _lambertw_numpy, [_lambertw_tangent], cost=100,
    examples=lambda: [([np.linspace(0.5, 4, 6)], {"branch": 0}), ([np.linspace(-0.3, -0.1, 6)], {"branch": -1})],
)  # fmt: skip
