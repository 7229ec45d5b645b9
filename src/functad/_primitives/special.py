"""Functions of scipy.special, one row each: the gamma family, error functions, distributions and entropies.

This file and `bessel` import SciPy, so the package imports neither: they are loaded when a ufunc of SciPy's is first met with a traced value, and
by `functad.scipy` (docs/decisions/scipy-is-met-late.md).  What kernels have no formula for runs in SciPy between them.

Derivatives are those of the Digital Library of Mathematical Functions (dlmf.nist.gov; chapter and section stand beside the rows), spelt so that they
neither overflow nor cancel.  An order or a shape parameter, in which the derivative is no function of this list, is refused with that reason.
"""

from collections.abc import Sequence
from math import pi, sqrt

import numpy as np
from scipy import special

from functad._core.primitive import Primitive
from functad._primitives.arithmetic import Emit, add, div, elementwise, mask, mul, neg, over, reciprocal, scale, select, sub
from functad._primitives.elementwise import absolute, exp, hypot, log, log1p, sign, square
from functad._primitives.logic import convert, greater, less_equal, logical_or, not_equal
from functad._primitives.operands import Array, Examples, Tangent, Value, constant, ones_like, zeros_like
from functad._primitives.rules import Rule
from functad.errors import MissingRuleError, UnsupportedArgumentError

__all__ = ["as_real", "integer_orders", "kept", "refused", "scipy_row", "times"]

_LAST = "functad._primitives.bessel"  # importing it declares all rows

# ---- the kind


def scipy_row(
    name: str,
    function: Rule,
    tangents: Sequence[Rule | None],
    emit: str | Emit | None = None,
    *,
    domain: Sequence[tuple[float, float]] = (),
    examples: Examples | None = None,
    cost: float = 60.0,
) -> Primitive:
    """Declare a function of SciPy's, for real arguments; without `emit` it runs in SciPy between kernels.

    A ufunc is also the `spelling`; another function has one operand, and gives its dtype.
    """
    ufunc = function if isinstance(function, np.ufunc) else None

    def dtype(*dtypes: np.dtype[Array], **params: object) -> np.dtype[Array]:
        if any(d.kind == "c" for d in dtypes):
            raise UnsupportedArgumentError(f"scipy.special.{name} of traced values is for real arguments: compute complex ones outside")
        return dtypes[0] if ufunc is None else ufunc.resolve_dtypes((*dtypes, None))[-1]

    op = elementwise(name, function, tangents, in_scipy if emit is None else emit, domain=domain, dtype=dtype, cost=cost, examples=examples)
    op.home = _LAST
    return op


def in_scipy(*codes: object, **params: object) -> None:
    """The kernel form of what kernels have no formula for."""


def kept(out: Array, x: Array) -> Array:
    """The result in the dtype of the argument."""
    return np.asarray(out).astype(np.asarray(x).dtype)[()]


def refused(name: str, parameter: str) -> Rule:
    """The tangent rule of a parameter in which the derivative is none of these functions."""

    def rule(*_: Value) -> Tangent:
        raise MissingRuleError(
            f"scipy.special.{name} has no derivative in its parameter {parameter}: it is no function of scipy.special.  Hold {parameter} fixed "
            "(functad.stop_gradient), or take differences in it"
        )

    return rule


def integer_orders(*domain: tuple[float, float], orders: Sequence[int] = (0, 1, 2, 3), count: int = 1) -> Examples:
    """Examples whose first operands are whole numbers, in which nothing is differentiated; short ones, which single precision holds."""

    def examples() -> list[tuple[list[Array], dict[str, Array]]]:
        random = np.random.default_rng(7)
        whole = [np.roll(np.resize(np.array(orders, np.int8), (3, 4)), i) for i in range(count)]
        return [([*whole, *[random.uniform(low, high, (3, 4)) for low, high in domain]], {})]

    return examples


def as_real(parameter: Value, x: Value) -> Value:
    """A parameter, which may be a whole number, in the dtype of the argument."""
    return parameter if parameter.type.dtype == x.type.dtype else convert(parameter, dtype=x.type.dtype)


def times(number: float, x: Value) -> Value:
    """number * x."""
    return mul(constant(number, x), x)


def _one_minus(x: Value) -> Value:
    return sub(ones_like(x), x)


def _polynomial(coefficients: Sequence[float], x: Value) -> Value:
    """By Horner's rule, the constant first."""
    out: Value = constant(coefficients[-1], x)
    for c in coefficients[-2::-1]:
        out = add(mul(out, x), constant(c, x))
    return out


def _nonzero(x: Value) -> Value:
    return not_equal(x, zeros_like(x))


# ---- gamma functions (DLMF 5.2, 5.12, 5.15)

gammaln: Primitive = scipy_row("gammaln", special.gammaln, [lambda t, out, x: scale(t, digamma(x))], domain=[(0.5, 4)])
gamma: Primitive = scipy_row("gamma", special.gamma, [lambda t, out, x: scale(t, mul(out, digamma(x)))], domain=[(0.5, 4)])
loggamma: Primitive = scipy_row("loggamma", special.loggamma, [lambda t, out, x: scale(t, digamma(x))], domain=[(0.5, 4)])
digamma: Primitive = scipy_row("digamma", special.psi, [lambda t, out, x: scale(t, polygamma(x, order=1))], domain=[(0.5, 4)])
gammasgn: Primitive = scipy_row("gammasgn", special.gammasgn, [None], domain=[(0.5, 4)])
polygamma: Primitive = scipy_row(
    "polygamma", lambda x, order: kept(special.polygamma(order, x), x),
    [lambda t, out, x, order: scale(t, polygamma(x, order=order + 1))],
    examples=lambda: [([np.linspace(0.5, 4, 6)], {"order": n}) for n in (0, 1, 3)],
)  # fmt: skip
hurwitz_zeta: Primitive = scipy_row(
    "hurwitz_zeta", special._ufuncs._zeta,
    [refused("zeta", "x"), lambda t, out, s, q: scale(t, neg(mul(as_real(s, q), hurwitz_zeta(add(s, ones_like(s)), q))))],
    examples=integer_orders((0.5, 3), orders=(2, 3, 4, 5)),
)  # fmt: skip  # DLMF 25.11.17
riemann_zeta: Primitive = scipy_row("riemann_zeta", special._ufuncs._riemann_zeta, [refused("zeta", "x")], examples=integer_orders(orders=(2, 3, 4)))


def _beta_partial(x: Value, y: Value) -> Value:
    return sub(digamma(x), digamma(add(x, y)))


beta: Primitive = scipy_row(
    "beta", special.beta,
    [lambda t, out, a, b: scale(t, mul(out, _beta_partial(a, b))), lambda t, out, a, b: scale(t, mul(out, _beta_partial(b, a)))],
    domain=[(0.5, 3), (0.5, 3)],
)  # fmt: skip
betaln: Primitive = scipy_row(
    "betaln", special.betaln, [lambda t, out, a, b: scale(t, _beta_partial(a, b)), lambda t, out, a, b: scale(t, _beta_partial(b, a))],
    domain=[(0.5, 3), (0.5, 3)],
)  # fmt: skip


def _gamma_density(a: Value, x: Value) -> Value:
    """x**(a - 1) exp(-x) / gamma(a), DLMF 8.8.13."""
    return exp(sub(sub(xlogy(sub(a, ones_like(a)), x), x), gammaln(a)))


def _beta_density(a: Value, b: Value, x: Value) -> Value:
    """x**(a - 1) (1 - x)**(b - 1) / B(a, b), DLMF 8.17.1."""
    one = ones_like(x)
    return exp(sub(add(xlogy(sub(a, one), x), xlog1py(sub(b, one), neg(x))), betaln(a, b)))


gammainc: Primitive = scipy_row(
    "gammainc", special.gammainc, [refused("gammainc", "a"), lambda t, out, a, x: scale(t, _gamma_density(as_real(a, x), x))],
    examples=integer_orders((0.5, 3), orders=(1, 2, 3)),
)  # fmt: skip
gammaincc: Primitive = scipy_row(
    "gammaincc", special.gammaincc, [refused("gammaincc", "a"), lambda t, out, a, x: scale(t, neg(_gamma_density(as_real(a, x), x)))],
    examples=integer_orders((0.5, 3), orders=(1, 2, 3)),
)  # fmt: skip
betainc: Primitive = scipy_row(
    "betainc", special.betainc,
    [refused("betainc", "a"), refused("betainc", "b"), lambda t, out, a, b, x: scale(t, _beta_density(as_real(a, x), as_real(b, x), x))],
    examples=integer_orders((0.2, 0.8), orders=(1, 2, 3), count=2),
)  # fmt: skip


def _student_density(df: Value, x: Value) -> Value:
    """The density of Student's distribution, by way of logarithms (Abramowitz and Stegun 26.7.1)."""
    half = times(0.5, add(df, ones_like(df)))
    constants = add(betaln(times(0.5, df), constant(0.5, df)), times(0.5, log(df)))
    return exp(neg(add(mul(half, log1p(div(square(x), df))), constants)))


stdtr: Primitive = scipy_row(
    "stdtr", special.stdtr, [refused("stdtr", "df"), lambda t, out, df, x: scale(t, _student_density(as_real(df, x), x))],
    examples=integer_orders((-2, 2), orders=(1, 2, 3, 7)),
)  # fmt: skip


# ---- error functions (DLMF 7.2, 7.10) and the normal distribution

_DOUBLE_FACTORIALS = (1.0, 3.0, 15.0, 105.0, 945.0, 10395.0, 135135.0, 2027025.0)
_FAR = 20.0  # from here on the differences below cancel, and eight terms of the asymptotic series (DLMF 7.12) are exact


def _from_afar(x: Value, near: Value, alternating: bool) -> Value:
    """`near`, and beyond 20 its asymptotic series -1/(2 x**2) (1 +- 3/(2 x**2) + ...), where it would be a difference of equals."""
    far = greater(absolute(x), constant(_FAR, x))
    safe = select(far, x, ones_like(x))  # no infinity may come from the branch not taken
    y = reciprocal(times(2.0, square(safe)))
    series = _polynomial(_DOUBLE_FACTORIALS, neg(y) if alternating else y)
    return select(far, neg(mul(y, series)), near)


def _erfcx_partial(x: Value, out: Value) -> Value:
    """2 x erfcx(x) - 2/sqrt(pi); negative arguments overflow together with the value."""
    half = times(0.5 * sqrt(pi), sub(times(2.0, mul(x, out)), constant(2 / sqrt(pi), x)))
    negative = less_equal(x, zeros_like(x))
    return times(2 / sqrt(pi), select(negative, half, _from_afar(x, half, alternating=True)))


def _bell(x: Value) -> Value:
    return times(2 / sqrt(pi), exp(neg(square(x))))


erf: Primitive = scipy_row("erf", special.erf, [lambda t, out, x: scale(t, _bell(x))], "erf_{d}({0})", domain=[(-2, 2)], cost=20)
erfc: Primitive = scipy_row("erfc", special.erfc, [lambda t, out, x: scale(t, neg(_bell(x)))], "erfc_{d}({0})", domain=[(-2, 2)], cost=40)
erfcx: Primitive = scipy_row("erfcx", special.erfcx, [lambda t, out, x: scale(t, _erfcx_partial(x, out))], domain=[(-1, 3)])
erfinv: Primitive = scipy_row("erfinv", special.erfinv, [lambda t, out, x: scale(t, times(sqrt(pi) / 2, exp(square(out))))], domain=[(-0.8, 0.8)])
erfcinv: Primitive = scipy_row("erfcinv", special.erfcinv, [lambda t, out, x: scale(t, times(-sqrt(pi) / 2, exp(square(out))))], domain=[(0.3, 1.7)])
dawsn: Primitive = scipy_row(
    "dawsn", special.dawsn, [lambda t, out, x: scale(t, _from_afar(x, _one_minus(times(2.0, mul(x, out))), alternating=False))], domain=[(-2, 2)]
)


def _normal_density(x: Value) -> Value:
    return times(1 / sqrt(2 * pi), exp(times(-0.5, square(x))))


def _hazard(x: Value) -> Value:
    """Density over distribution function: above 0 as it stands, below by erfcx, since both underflow there."""
    above = greater(x, zeros_like(x))
    below = div(constant(sqrt(2 / pi), x), erfcx(times(-sqrt(0.5), select(above, zeros_like(x), x))))
    return select(above, div(_normal_density(x), ndtr(x)), below)


ndtr: Primitive = scipy_row(
    "ndtr", special.ndtr, [lambda t, out, x: scale(t, _normal_density(x))], "({d}(0.5) * erfc_{d}(-{0} * {d}(0.7071067811865476)))",
    domain=[(-2, 2)], cost=40,
)  # fmt: skip
log_ndtr: Primitive = scipy_row("log_ndtr", special.log_ndtr, [lambda t, out, x: scale(t, _hazard(x))], domain=[(-2, 2)])
ndtri: Primitive = scipy_row(
    "ndtri", special.ndtri, [lambda t, out, x: scale(t, times(sqrt(2 * pi), exp(times(0.5, square(out)))))], domain=[(0.1, 0.9)]
)

# ---- logistic functions

expit: Primitive = scipy_row(
    "expit", special.expit, [lambda t, out, x: scale(t, mul(out, expit(neg(x))))], "sigmoid_{d}({0})", domain=[(-3, 3)], cost=10
)
logit: Primitive = scipy_row("logit", special.logit, [lambda t, out, x: over(t, mul(x, _one_minus(x)))], domain=[(0.1, 0.9)])
log_expit: Primitive = scipy_row(
    "log_expit", special.log_expit, [lambda t, out, x: scale(t, expit(neg(x)))],
    "(minimum_{d}({0}, {d}(0.0)) - log1p_{d}(exp_{d}(-abs_{d}({0}))))", domain=[(-3, 3)], cost=20,
)  # fmt: skip

# ---- entropies: x log x is 0 at 0, and so is what multiplies it in the other argument


def _where_counted(x: Value, t: Tangent) -> Tangent:
    assert t is not None
    return mask(_nonzero(x), t)


def _entropy_zero(text: str) -> str:
    """SciPy's 0 for x = 0 whatever the logarithm, unless that is of NaN."""
    return "select(({0} == {o}(0.0)) & ({1} == {1}), {o}(0.0), " + text + ")"


xlogy: Primitive = scipy_row(
    "xlogy", special.xlogy, [lambda t, out, x, y: scale(t, log(y)), lambda t, out, x, y: _where_counted(x, scale(t, div(x, y)))],
    _entropy_zero("{0} * log_{d}({1})"), domain=[(0.5, 3), (0.5, 3)], cost=12,
)  # fmt: skip
xlog1py: Primitive = scipy_row(
    "xlog1py", special.xlog1py,
    [lambda t, out, x, y: scale(t, log1p(y)), lambda t, out, x, y: _where_counted(x, scale(t, div(x, add(y, ones_like(y)))))],
    _entropy_zero("{0} * log1p_{d}({1})"), domain=[(0.5, 3), (-0.5, 3)], cost=12,
)  # fmt: skip
entr: Primitive = scipy_row(
    "entr", special.entr, [lambda t, out, x: scale(t, neg(add(log(x), ones_like(x))))],
    "select({0} == {o}(0.0), {o}(0.0), select({0} < {o}(0.0), log_{d}({o}(0.0)), -({0} * log_{d}({0}))))", domain=[(0.5, 3)], cost=12,
)  # fmt: skip


def _taking_part(x: Value, y: Value, t: Tangent) -> Tangent:
    """A term whose arguments are both 0 takes no part."""
    assert t is not None
    return mask(logical_or(_nonzero(x), _nonzero(y)), t)


rel_entr: Primitive = scipy_row(
    "rel_entr", special.rel_entr,
    [lambda t, out, x, y: _taking_part(x, y, scale(t, add(log(div(x, y)), ones_like(x)))),
     lambda t, out, x, y: _where_counted(x, scale(t, neg(div(x, y))))],
    domain=[(0.5, 3), (0.5, 3)],
)  # fmt: skip
kl_div: Primitive = scipy_row(
    "kl_div", special.kl_div,
    [lambda t, out, x, y: _taking_part(x, y, scale(t, log(div(x, y)))),
     lambda t, out, x, y: add(t, _where_counted(x, scale(t, neg(div(x, y)))))],
    domain=[(0.5, 3), (0.5, 3)],
)  # fmt: skip

# ---- losses, and powers by logarithms


def _huber_slope(delta: Value, r: Value) -> Value:
    return select(less_equal(absolute(r), delta), r, mul(delta, sign(r)))


def _pseudo_slope(t: Value, delta: Value, r: Value) -> Value:
    """r / sqrt(1 + (r/delta)**2); constant where delta is 0."""
    return mask(_nonzero(delta), scale(t, div(r, hypot(ones_like(r), div(r, delta)))))


def _pseudo_scale(t: Value, delta: Value, r: Value) -> Value:
    """delta (s - 1)**2 / s with s = sqrt(1 + u**2), u = r/delta: s - 1 is u**2 / (s + 1)."""
    u = div(r, delta)
    s = hypot(ones_like(r), u)
    excess = mul(u, div(u, add(s, ones_like(s))))
    return mask(_nonzero(delta), scale(t, mul(mul(delta, excess), div(excess, s))))


huber: Primitive = scipy_row(
    "huber", special.huber,
    [lambda t, out, delta, r: mask(greater(absolute(r), delta), scale(t, sub(absolute(r), delta))),
     lambda t, out, delta, r: scale(t, _huber_slope(delta, r))],
    domain=[(0.5, 1.0), (1.2, 3)],
)  # fmt: skip
pseudo_huber: Primitive = scipy_row(
    "pseudo_huber", special.pseudo_huber,
    [lambda t, out, delta, r: _pseudo_scale(t, delta, r), lambda t, out, delta, r: _pseudo_slope(t, delta, r)], domain=[(0.5, 1.0), (-2, 2)],
)  # fmt: skip
