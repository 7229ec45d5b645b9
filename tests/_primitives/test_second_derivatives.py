"""Second derivatives where a formula is special: right against high precision, symmetric, and equal in every order of nesting."""

import mpmath
import numpy as np
import pytest

import functad as fd

INF = np.inf


def by_jvp_of_vjp(f):
    def hessian(u):
        def gradient(u):
            out, pull = fd.vjp(f, u)
            return pull(np.ones_like(out))[0]

        return np.stack([fd.jvp(gradient, (u,), (t,))[1] for t in np.eye(u.size)])

    return hessian


def by_grad_of_grad(f):
    return lambda u: np.stack([fd.grad(lambda u, i=i: fd.grad(f)(u)[i])(u) for i in range(u.size)])


NESTINGS = {
    "hessian": fd.hessian,
    "grad of grad": by_grad_of_grad,
    "jacfwd of jacrev": lambda f: fd.jacfwd(fd.jacrev(f)),
    "jacrev of jacfwd": lambda f: fd.jacrev(fd.jacfwd(f)),
    "jacfwd of jacfwd": lambda f: fd.jacfwd(fd.jacfwd(f)),
    "jacrev of jacrev": lambda f: fd.jacrev(fd.jacrev(f)),
    "jvp of vjp": by_jvp_of_vjp,
    "compiled": lambda f: fd.jit(fd.hessian(f)),
}


def precise(f, point):
    """The Hessian by differences of many digits."""
    dps = 60 if max(np.abs(point)) > 1e-9 else 700
    n = len(point)
    with mpmath.workdps(dps):
        orders = [[tuple((k == i) + (k == j) for k in range(n)) for j in range(n)] for i in range(n)]
        at = tuple(mpmath.mpf(float(x)) for x in point)
        return np.array([[float(mpmath.diff(f, at, o)) for o in row] for row in orders])


def log_of_sum(base):
    return lambda x, y: mpmath.log(base**x + base**y, base)


INSIDE = [
    (np.power, lambda x, y: x**y, [(4, 0), (4, 1), (4, 2), (1, 0), (1, 3), (0.5, -2), (1e-3, 0), (1e5, 0)]),
    (np.hypot, mpmath.hypot, [(3, 4), (0, 2), (2, 0), (-1, 1), (1, 1e-9), (1e-9, 1), (1e-150, 1e-150)]),
    (np.logaddexp, log_of_sum(mpmath.e), [(1, 1), (0, 0), (0, 40), (40, 0), (-700, -700), (700, 710)]),
    (np.float_power, lambda x, y: x**y, [(4, 0), (4, 2), (1, 1)]),
    (np.logaddexp2, log_of_sum(2), [(1, 1), (0, 40), (40, 0), (-700, -700)]),
    (np.arctan2, mpmath.atan2, [(1, 1), (0, 2), (2, 0), (-1, 2), (-3, -3), (1, 1e-9), (1e-9, 1)]),
]
CASES = [
    *[(name, f, oracle, point) for f, oracle, points in INSIDE for name in [f.__name__] for point in points],
    *[("prod", lambda *xs: np.prod(np.stack(xs)), lambda *xs: mpmath.fprod(xs), p) for p in [(0, 0, 3), (0, 2, 3), (0, 0, 0), (1, 2, 3)]],
    *[("cumprod", lambda *xs: np.cumprod(np.stack(xs))[2], lambda *xs: mpmath.fprod(xs), p) for p in [(0, 0, 3), (0, 2, 3), (2, 0, 0), (1, 2, 3)]],
    *[("norm", lambda *xs: np.linalg.norm(np.stack(xs)), lambda *xs: mpmath.norm(xs), p) for p in [(0, 0, 2), (1, 1, 1), (0, 3, 4)]],
    *[("norm of order 4", lambda *xs: np.linalg.norm(np.stack(xs), 4), lambda *xs: mpmath.norm(xs, 4), p) for p in [(0, 0, 2), (1, 1, 1)]],
    ("where", lambda x, y: np.where(x >= y, x * y**2, x**y), lambda x, y: x * y**2, (2, 2)),
    ("power of a product", lambda x, y: (x * y) ** (x - y), lambda x, y: (x * y) ** (x - y), (3, 3)),
]


@pytest.mark.parametrize("nesting", NESTINGS)
@pytest.mark.parametrize(("name", "f", "oracle", "point"), CASES, ids=[f"{c[0]}{c[3]}" for c in CASES])
def test_the_hessian_is_that_of_high_precision(name, f, oracle, point, nesting):
    expected = precise(oracle, point)
    found = NESTINGS[nesting](lambda u: f(*u))(np.array(point, float))
    np.testing.assert_allclose(found, expected, rtol=2e-14, atol=4e-16 * np.max(np.abs(expected)))


# (function, point, Hessian): where the limit from inside is known, and high precision has no differences
LIMITS = [
    (np.power, (0, 3), [[0, 0], [0, 0]]),
    (np.power, (0, 2), [[2, 0], [0, 0]]),
    (np.power, (0, 1), [[0, -INF], [-INF, 0]]),
    (np.power, (0, 1.5), [[INF, 0], [0, 0]]),
    (np.power, (0, 0.5), [[-INF, -INF], [-INF, 0]]),
    (np.power, (0, 0), [[0, 0], [0, 0]]),
    (np.hypot, (0, 0), [[0, 0], [0, 0]]),
    (np.logaddexp, (-INF, -INF), [[0, 0], [0, 0]]),
    (np.logaddexp, (-INF, 1), [[0, 0], [0, 0]]),
    (np.logaddexp, (1, -INF), [[0, 0], [0, 0]]),
    (np.logaddexp, (INF, 1), [[0, 0], [0, 0]]),
]


SLOPES = {
    "arcsin": (np.arcsin, mpmath.asin),
    "arccos": (np.arccos, mpmath.acos),
    "arctan": (np.arctan, mpmath.atan),
    "arctanh": (np.arctanh, mpmath.atanh),
    "arcsinh": (np.arcsinh, mpmath.asinh),
    "tanh": (np.tanh, mpmath.tanh),
    "logaddexp": (lambda x: np.logaddexp(x, 0.0), lambda x: mpmath.log1p(mpmath.exp(x))),
    "slope of logaddexp": (fd.grad(lambda x: np.logaddexp(x, 0.0)), lambda x: 1 / (1 + mpmath.exp(-x))),
}


@pytest.mark.parametrize("name", SLOPES)
@pytest.mark.parametrize("x", [1e-200, -1e-9, 1e-3, -0.3, 0.97, 1 - 1e-9])
def test_second_derivatives_do_not_cancel(name, x):
    f, truth = SLOPES[name]
    with mpmath.workdps(900):
        at, h = mpmath.mpf(x), abs(mpmath.mpf(x)) * mpmath.mpf(10) ** -40
        expected = float((truth(at + h) - 2 * truth(at) + truth(at - h)) / h**2)
    np.testing.assert_allclose(fd.grad(fd.grad(f))(x), expected, rtol=4e-15)
    np.testing.assert_allclose(fd.jit(fd.grad(fd.grad(f)))(x), expected, rtol=4e-15)


PAIRS = {"grad of grad": (fd.grad, fd.grad), "jacfwd of jacrev": (fd.jacfwd, fd.jacrev), "jacrev of jacfwd": (fd.jacrev, fd.jacfwd)}


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize(("f", "point", "expected"), LIMITS, ids=[f"{c[0].__name__}{c[1]}" for c in LIMITS])
def test_the_second_derivatives_at_the_edge_are_the_limits(f, point, expected, pair):
    """Each by itself: a Hessian's columns are products with a basis, where an infinite entry meets a zero that is a number."""
    outer, inner = PAIRS[pair]
    found = [[outer(inner(f, j), i)(*map(float, point)) for j in range(2)] for i in range(2)]
    np.testing.assert_allclose(found, expected, rtol=1e-15)


@pytest.mark.parametrize("nesting", NESTINGS)
@pytest.mark.parametrize(("f", "point", "expected"), [c for c in LIMITS if np.all(np.isfinite(c[2]))])
def test_the_hessian_at_the_edge_is_the_limit(f, point, expected, nesting):
    np.testing.assert_allclose(NESTINGS[nesting](lambda u: f(u[0], u[1]))(np.array(point, float)), expected, rtol=1e-15)


@pytest.mark.parametrize(("x", "y"), [(4.0, 0.0), (0.0, 4.0), (0.5, 2.0)])
def test_third_derivatives_of_a_power(x, y):
    """Each of the four, by differences of high precision; at base 0 the limit, which is 0 for an exponent above 3."""
    third = fd.jacfwd(fd.jacrev(fd.jacfwd(lambda u: u[0] ** u[1])))(np.array([x, y]))
    if x > 0:
        with mpmath.workdps(80):
            expected = [float(mpmath.diff(lambda x, y: x**y, (mpmath.mpf(x), mpmath.mpf(y)), (3 - k, k))) for k in range(4)]
    else:
        expected = [0.0] * 4
    for i, j, k in np.ndindex(2, 2, 2):
        np.testing.assert_allclose(third[i, j, k], expected[i + j + k], rtol=1e-13)
