"""Zeros, infinities, NaN, subnormal and huge numbers: values against NumPy, derivatives against mpmath, limits and the stated conventions."""

import mpmath
import numpy as np
import pytest

import functad as fd
from functad._compile.pipeline import evaluator

inf, nan = np.inf, np.nan
TINY, SMALLEST, HUGE = 2.2250738585072014e-308, 5e-324, 1.7e308

POINTS = np.array(
    [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, -2.5, inf, -inf, nan, TINY, -TINY, SMALLEST, -SMALLEST, 1e-9, 700.0, -745.0, 1e5, HUGE, -HUGE]
)
POINTS_SINGLE = np.array([0.0, -0.0, 1.0, -1.0, 0.5, -2.5, inf, -inf, nan, 1.2e-38, -1e-45, 1e-9, 88.0, -103.0, 3e38, -3e38], np.float32)

UNARY = [
    np.exp, np.exp2, np.expm1, np.log, np.log1p, np.log2, np.log10, np.sqrt, np.cbrt, np.sin, np.cos, np.tan, np.sinh, np.cosh, np.tanh, np.arcsin,
    np.arccos, np.arctan, np.arcsinh, np.arccosh, np.arctanh, np.absolute, np.sign, np.floor, np.ceil, np.trunc, np.rint, np.square, np.reciprocal,
    np.negative, np.isnan, np.isinf, np.isfinite, np.signbit, np.spacing, np.sinc, np.i0, np.rad2deg, np.deg2rad, np.degrees, np.radians,
]  # fmt: skip
BINARY = [
    np.add, np.subtract, np.multiply, np.divide, np.power, np.maximum, np.minimum, np.hypot, np.arctan2, np.logaddexp, np.floor_divide, np.remainder,
    np.fmod, np.equal, np.less, np.greater_equal, np.float_power, np.fmax, np.fmin, np.logaddexp2, np.copysign, np.heaviside, np.nextafter,
]  # fmt: skip
ONE_BY_ONE = np.meshgrid(POINTS, POINTS)
ULPS = {np.dtype(np.float64): 4, np.dtype(np.float32): 4}


def same(found, expected):
    """Same NaNs, infinities and signs of zero; finite values within a few units in the last place."""
    found, expected = np.asarray(found), np.asarray(expected)
    if found.dtype != expected.dtype or found.shape != expected.shape:
        return np.zeros(expected.shape, bool)
    if expected.dtype.kind not in "fc":
        return found == expected
    with np.errstate(all="ignore"):
        close = np.abs(found - expected) <= ULPS[expected.dtype] * np.spacing(np.abs(expected))
        zero = (found == 0) & (np.signbit(found) == np.signbit(expected))
        return np.select([np.isnan(expected), np.isinf(expected), expected == 0], [np.isnan(found), found == expected, zero], close)


def _zeros_of_both_signs(x, y):
    """Which of two zeros is the larger NumPy decides by its vector unit; IEEE 754-2019 says +0."""
    return (x == 0) & (y == 0)


def _report(names, found, expected, points):
    wrong = []
    for name, y, e in zip(names, found, expected, strict=True):
        bad = ~same(y, e)
        if name in ("maximum", "minimum", "fmax", "fmin"):
            bad &= ~_zeros_of_both_signs(*points)
        if bad.any():
            wrong.append(f"{name} at {[p[bad][:6].tolist() for p in points]}: {np.asarray(y)[bad][:6]} where NumPy has {np.asarray(e)[bad][:6]}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("points", [POINTS, POINTS_SINGLE], ids=["double", "single"])
@pytest.mark.parametrize("which", ["numpy", "kernel"])
def test_values_of_unary_functions(points, which):
    with np.errstate(all="ignore"):
        expected = [u(points) for u in UNARY]
    with evaluator(which):
        found = fd.jit(lambda x: [u(x) for u in UNARY])(points)
    _report([u.__name__ for u in UNARY], found, expected, [points])


@pytest.mark.parametrize("which", ["numpy", "kernel"])
def test_values_of_binary_functions(which):
    x, y = ONE_BY_ONE
    with np.errstate(all="ignore"):
        expected = [u(x, y) for u in BINARY]
    with evaluator(which):
        found = fd.jit(lambda x, y: [u(x, y) for u in BINARY])(x, y)
    _report([u.__name__ for u in BINARY], found, expected, [x, y])


# ---- derivatives of elementary functions at finite points, against mpmath

EXACT = {
    np.exp: mpmath.exp, np.exp2: lambda x: mpmath.mpf(2) ** x, np.expm1: mpmath.expm1, np.log: mpmath.log, np.log1p: mpmath.log1p,
    np.log2: lambda x: mpmath.log(x) / mpmath.log(2), np.log10: lambda x: mpmath.log(x) / mpmath.log(10), np.sqrt: mpmath.sqrt,
    np.cbrt: lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)), np.sin: mpmath.sin, np.cos: mpmath.cos, np.tan: mpmath.tan, np.sinh: mpmath.sinh,
    np.cosh: mpmath.cosh, np.tanh: mpmath.tanh, np.arcsin: mpmath.asin, np.arccos: mpmath.acos, np.arctan: mpmath.atan, np.arcsinh: mpmath.asinh,
    np.arccosh: mpmath.acosh, np.arctanh: mpmath.atanh, np.square: lambda x: x * x, np.reciprocal: lambda x: 1 / x,
}  # fmt: skip
PERIODIC = (np.sin, np.cos, np.tan)
GROWING = (np.exp, np.exp2, np.expm1, np.sinh, np.cosh)
LOW = {
    np.log1p: -1.0, np.arcsin: -1.0, np.arccos: -1.0, np.arctanh: -1.0, np.arccosh: 1.0, np.log: 0.0, np.log2: 0.0, np.log10: 0.0, np.sqrt: 0.0,
    np.cbrt: 0.0, **dict.fromkeys(PERIODIC, -1e6),
}  # fmt: skip
HIGH = {np.arcsin: 1.0, np.arccos: 1.0, np.arctanh: 1.0, **dict.fromkeys(PERIODIC, 1e6), **dict.fromkeys(GROWING, 1e3)}
FINITE = [-0.999999, -0.5, -1e-9, -1e-200, 1e-200, 1e-12, 0.3, 0.999999, 1.000001, 3.0, 40.0, -40.0, 600.0, -600.0, 1e5, 1e8, -1e8, 1e160, -1e160]


def _exact_derivative(function, x):
    """Central difference in 900 digits, step 1e-40 of x: right to 1e-80 of the function's own scale."""
    with mpmath.workdps(900):
        x = mpmath.mpf(x)
        h = abs(x) * mpmath.mpf(10) ** -40
        return float((function(x + h) - function(x - h)) / (2 * h))


@pytest.mark.parametrize("u", EXACT, ids=lambda u: u.__name__)
@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_first_derivatives_of_elementary_functions(u, mode):
    points = np.array([x for x in FINITE if LOW.get(u, -inf) < x < HIGH.get(u, inf)])
    expected = np.array([_exact_derivative(EXACT[u], x) for x in points])
    if mode == "forward":
        found = fd.jvp(u, (points,), (np.ones_like(points),))[1]
    else:
        found = fd.grad(lambda x: np.sum(u(x)))(points)
    np.testing.assert_allclose(found, expected, rtol=1e-14, atol=TINY)


# ---- derivatives at infinities, ends of domains and kinks: limits and conventions

LIMITS = {
    "sqrt": (np.sqrt, {0.0: inf, inf: 0.0, nan: nan}),
    "cbrt": (np.cbrt, {0.0: inf, inf: 0.0, -inf: 0.0}),
    "exp": (np.exp, {-inf: 0.0, inf: inf, -800.0: 0.0, 800.0: inf, nan: nan}),
    "expm1": (np.expm1, {-inf: 0.0, inf: inf, 0.0: 1.0}),
    "log": (np.log, {0.0: inf, inf: 0.0, nan: nan}),
    "log1p": (np.log1p, {-1.0: inf, inf: 0.0}),
    "log2": (np.log2, {0.0: inf, inf: 0.0}),
    "tanh": (np.tanh, {inf: 0.0, -inf: 0.0, 400.0: 0.0, 0.0: 1.0, nan: nan}),
    "sinh": (np.sinh, {inf: inf, -inf: inf, 0.0: 1.0}),
    "cosh": (np.cosh, {inf: inf, -inf: -inf, 0.0: 0.0}),
    "arctan": (np.arctan, {inf: 0.0, -inf: 0.0, 0.0: 1.0}),
    "arcsin": (np.arcsin, {1.0: inf, -1.0: inf}),
    "arccos": (np.arccos, {1.0: -inf, -1.0: -inf}),
    "arctanh": (np.arctanh, {1.0: inf, -1.0: inf}),
    "arcsinh": (np.arcsinh, {inf: 0.0, -inf: 0.0, 1e200: 1e-200, -1e200: 1e-200}),
    "arccosh": (np.arccosh, {1.0: inf, inf: 0.0, 1e200: 1e-200}),
    "absolute": (np.absolute, {0.0: 0.0, inf: 1.0, -inf: -1.0, SMALLEST: 1.0, -SMALLEST: -1.0}),
    "sign": (np.sign, {0.0: 0.0, 2.0: 0.0, inf: 0.0}),
    "floor": (np.floor, {0.0: 0.0, 0.5: 0.0, inf: 0.0}),
    "rint": (np.rint, {0.5: 0.0, 2.5: 0.0}),
    "reciprocal": (np.reciprocal, {0.0: -inf, inf: 0.0, -inf: 0.0}),
    "relu": (lambda x: np.maximum(x, 0.0), {0.0: 0.5, -1.0: 0.0, 1.0: 1.0, inf: 1.0}),
    "clip": (lambda x: np.clip(x, -1.0, 1.0), {-1.0: 0.5, 1.0: 0.5, 0.0: 1.0, 2.0: 0.0, -inf: 0.0}),
    "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), {1000.0: 0.0, -1000.0: 0.0, 0.0: 0.25, inf: 0.0, -inf: 0.0}),
    "softplus": (lambda x: np.log(1 + np.exp(x)), {1000.0: 1.0, -1000.0: 0.0, 0.0: 0.5}),
    "softplus with log1p": (lambda x: np.log1p(np.exp(x)), {1000.0: 1.0, -1000.0: 0.0, 0.0: 0.5}),
    "sech": (lambda x: 1 / np.cosh(x), {1000.0: 0.0, -1000.0: 0.0, 0.0: 0.0}),
    "x**0": (lambda x: x**0, {0.0: 0.0, inf: 0.0}),
    "x**1": (lambda x: x**1, {0.0: 1.0, inf: 1.0}),
    "x**2": (lambda x: x**2, {0.0: 0.0, inf: inf, -inf: -inf}),
    "x**0.5": (lambda x: x**0.5, {0.0: inf, 4.0: 0.25}),
    "sqrt of square": (lambda x: np.sqrt(x**2), {0.0: 0.0, 3.0: 1.0, -3.0: -1.0}),
    "sqrt of x*x": (lambda x: np.sqrt(x * x), {0.0: 0.0, -2.0: -1.0}),
    "hypot with itself": (lambda x: np.hypot(x, x), {0.0: 0.0, 1e200: 2**0.5}),
    "logaddexp with -inf": (lambda x: np.logaddexp(x, -inf), {-inf: 0.0, 0.0: 1.0}),
    "x/x": (lambda x: x / x, {0.0: nan}),
    "sqrt times sqrt": (lambda x: np.sqrt(x) * np.sqrt(x), {0.0: nan}),
    "square of sqrt": (lambda x: np.sqrt(x) ** 2, {0.0: nan}),
    "zero times sqrt": (lambda x: 0.0 * np.sqrt(x), {0.0: nan}),
}


@pytest.mark.parametrize("name", LIMITS)
@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_derivatives_at_limits_and_kinks(name, mode):
    function, table = LIMITS[name]
    for x, expected in table.items():
        found = fd.jvp(function, (x,), (1.0,))[1] if mode == "forward" else fd.grad(function)(x)
        assert found == pytest.approx(expected, rel=1e-15, nan_ok=True), x


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_derivatives_at_limits_and_kinks_in_a_kernel(mode):
    """All of them in one kernel."""
    functions = [f for f, _ in LIMITS.values()]
    points = [np.array(list(table)) for _, table in LIMITS.values()]

    def derivatives(points):
        if mode == "forward":
            return [fd.jvp(f, (x,), (np.ones_like(x),))[1] for f, x in zip(functions, points, strict=True)]
        return [fd.grad(lambda x, f=f: np.sum(f(x)))(x) for f, x in zip(functions, points, strict=True)]

    with evaluator("kernel"):
        found = fd.jit(derivatives)(points)
    for name, y, (_, table) in zip(LIMITS, found, LIMITS.values(), strict=True):
        np.testing.assert_allclose(y, list(table.values()), rtol=1e-15, err_msg=name)


PAIRS = [
    ("maximum", np.maximum, 1.0, 1.0, 0.5, 0.5),
    ("minimum", np.minimum, -2.0, -2.0, 0.5, 0.5),
    ("maximum of zeros", np.maximum, 0.0, -0.0, 0.5, 0.5),
    ("hypot at the origin", np.hypot, 0.0, 0.0, 0.0, 0.0),
    ("hypot of huge", np.hypot, 3e200, 4e200, 0.6, 0.8),
    ("hypot of tiny", np.hypot, 3e-200, 4e-200, 0.6, 0.8),
    ("arctan2 of huge", np.arctan2, 3e200, 4e200, 1.6e-201, -1.2e-201),
    ("arctan2 on the axis", np.arctan2, 0.0, 2.0, 0.5, 0.0),
    ("arctan2 on the negative axis", np.arctan2, 0.0, -2.0, -0.5, 0.0),
    ("power of zero", np.power, 0.0, 2.0, 0.0, 0.0),
    ("power of zero, one", np.power, 0.0, 1.0, 1.0, 0.0),
    ("power zero", np.power, 2.0, 0.0, 0.0, np.log(2.0)),
    ("power of a negative number", np.power, -2.0, 3.0, 12.0, nan),
    ("logaddexp of -inf", np.logaddexp, -inf, -inf, 0.0, 0.0),
    ("logaddexp of -inf and 0", np.logaddexp, -inf, 0.0, 0.0, 1.0),
    ("logaddexp far apart", np.logaddexp, 1000.0, -1000.0, 1.0, 0.0),
    ("divide by zero", np.divide, 1.0, 0.0, inf, -inf),
    ("divide by infinity", np.divide, 1.0, inf, 0.0, 0.0),
    ("divide huge by huge", np.divide, 1e300, 1e300, 1e-300, -1e-300),
    ("multiply by infinity", np.multiply, 0.0, inf, inf, 0.0),
    ("remainder", np.remainder, -5.0, 3.0, 1.0, 2.0),
    ("fmod", np.fmod, -5.0, 3.0, 1.0, 1.0),
    ("floor_divide", np.floor_divide, 5.0, 3.0, 0.0, 0.0),
]


@pytest.mark.parametrize(("function", "x", "y", "dx", "dy"), [pytest.param(*p[1:], id=p[0]) for p in PAIRS])
def test_derivatives_of_two_arguments(function, x, y, dx, dy):
    assert fd.grad(function, (0, 1))(x, y) == pytest.approx((dx, dy), rel=1e-15, nan_ok=True)
    forward = fd.jvp(lambda x: function(x, y), (x,), (1.0,))[1], fd.jvp(lambda y: function(x, y), (y,), (1.0,))[1]
    assert forward == pytest.approx((dx, dy), rel=1e-15, nan_ok=True)


# ---- reductions: ties, zeros, NaN, empty arrays, size 1, arrays without axes

REDUCTIONS = [
    ("max, ties", np.max, [2.0, 2.0, 1.0], [0.5, 0.5, 0.0]),
    ("max, three ties of -0.0 and 0.0", np.max, [0.0, -0.0, 0.0, -1.0], [1 / 3, 1 / 3, 1 / 3, 0.0]),
    ("min, ties", np.min, [2.0, 1.0, 1.0], [0.0, 0.5, 0.5]),
    ("max, infinities", np.max, [inf, 1.0, inf], [0.5, 0.0, 0.5]),
    ("prod, one zero", np.prod, [0.0, 2.0, 3.0], [6.0, 0.0, 0.0]),
    ("prod, two zeros", np.prod, [0.0, 2.0, 0.0], [0.0, 0.0, 0.0]),
    ("prod, size 1", np.prod, [3.0], [1.0]),
    ("prod, empty", np.prod, [], []),
    ("sum, empty", np.sum, [], []),
    ("sum, size 1", np.sum, [nan], [1.0]),
    ("norm at 0", np.linalg.norm, [0.0, 0.0], [0.0, 0.0]),
    ("norm of huge", np.linalg.norm, [3e150, 4e150], [0.6, 0.8]),
    ("std of equal", np.std, [1.0, 1.0, 1.0], [0.0, 0.0, 0.0]),
    ("var of equal", np.var, [1.0, 1.0], [0.0, 0.0]),
    ("sqrt of sum of squares at 0", lambda x: np.sqrt(np.sum(x**2)), [0.0, 0.0], [0.0, 0.0]),
    ("sqrt of dot at 0", lambda x: np.sqrt(x @ x), [0.0, 0.0], [0.0, 0.0]),
    ("log-sum-exp, large", lambda x: np.log(np.sum(np.exp(x))), [1000.0, 1000.0], [0.5, 0.5]),
    ("log-sum-exp, -inf", lambda x: np.log(np.sum(np.exp(x))), [-inf, 0.0], [0.0, 1.0]),
    ("last of cumprod with a zero", lambda x: np.cumprod(x)[-1], [2.0, 0.0, 3.0], [0.0, 6.0, 0.0]),
    ("sum of abs", lambda x: np.sum(np.abs(x)), [0.0, -0.0, -3.0], [0.0, 0.0, -1.0]),
    ("sum of cumsum", lambda x: np.sum(np.cumsum(x)), [1.0, 2.0, 3.0], [3.0, 2.0, 1.0]),
    ("median-like pick of a sort with ties", lambda x: np.sort(x)[1], [2.0, 2.0, 1.0], [1.0, 0.0, 0.0]),
]


@pytest.mark.parametrize(("function", "x", "expected"), [pytest.param(*r[1:], id=r[0]) for r in REDUCTIONS])
def test_gradients_of_reductions(function, x, expected):
    x = np.array(x)
    for derivative in (fd.grad, fd.jacfwd, fd.jacrev):
        np.testing.assert_allclose(derivative(function)(x), expected, rtol=1e-15, strict=True, err_msg=derivative.__name__)


def test_gradients_of_reductions_in_a_kernel():
    points = [np.array(x) for _, _, x, _ in REDUCTIONS]
    functions = [f for _, f, _, _ in REDUCTIONS]
    with evaluator("kernel"):
        found = fd.jit(lambda xs: [fd.grad(f)(x) for f, x in zip(functions, xs, strict=True)])(points)
    for (name, _, _, expected), y in zip(REDUCTIONS, found, strict=True):
        np.testing.assert_allclose(y, expected, rtol=1e-15, strict=True, err_msg=name)


@pytest.mark.parametrize("reduction", [np.sum, np.prod, np.max, np.min, np.mean, np.any, np.all, np.argmax, np.argmin], ids=lambda r: r.__name__)
@pytest.mark.parametrize("x", [[1.0, nan, 3.0], [inf, -inf, 1.0], [-0.0, 0.0], [SMALLEST, -SMALLEST], [HUGE, HUGE], [2.0], [-0.0]], ids=str)
def test_values_of_reductions(reduction, x):
    x = np.array(x)
    with np.errstate(all="ignore"):
        expected = reduction(x)
    for which in ("numpy", "kernel"):
        with evaluator(which):
            found = fd.jit(reduction)(x)
        assert type(found) is type(expected)
        np.testing.assert_array_equal(found, expected)
        assert np.signbit(found) == np.signbit(expected) or reduction in (np.sum, np.mean, np.max, np.min, np.prod), which


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (1,), (1, 1), ()], ids=str)
def test_shapes_without_or_with_one_element(shape):
    x = np.full(shape, 0.25)
    f = lambda x: np.sum(np.sin(x) * np.exp(x) + x**2)
    expected = np.cos(x) * np.exp(x) + np.sin(x) * np.exp(x) + 2 * x
    compiled = fd.jit(fd.grad(f))
    for derivative in (fd.grad(f), compiled, fd.jacfwd(f), fd.jacrev(f)):
        found = derivative(x)
        if shape or derivative is not compiled:  # under jit a result without axes is a NumPy scalar
            assert type(found) is np.ndarray
        np.testing.assert_allclose(found, expected, rtol=1e-15)
        assert (found.shape, found.dtype) == (shape, np.float64)
    assert fd.hessian(f)(x).shape == shape * 2


@pytest.mark.parametrize("reduction", [np.max, np.min, np.argmax])
def test_extremes_of_empty_arrays_are_refused_as_by_numpy(reduction):
    with pytest.raises(ValueError):
        fd.make_program(reduction)(np.zeros(0))


def test_sums_of_infinities_of_both_signs_are_nan():
    assert np.isnan(fd.jit(np.sum)(np.array([inf, -inf])))


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
@pytest.mark.parametrize("exponent", [-2, -1, -1.0, -0.5, 0, 0.5, 1, 2, 2.0, 3])
def test_powers_of_complex_numbers_in_a_kernel(exponent, dtype):
    """At zero a negative power is NaN or infinite, as NumPy says; it raises nothing."""
    x = np.array([0, 1, -1j, 2 + 1j, -2.5], dtype)
    with np.errstate(all="ignore"), fd.evaluator("kernel"):
        found, expected = fd.jit(lambda x: x**exponent)(x), x**exponent
    assert found.dtype == dtype
    np.testing.assert_allclose(found[1:], expected[1:], rtol=4 * np.finfo(dtype).eps)
    assert np.array_equal(np.isfinite(found[:1]), np.isfinite(expected[:1]))
