"""What `where`, a mask, an index or a pad leaves out has derivative 0, whatever the function is there: both modes, three orders, both evaluators.

Each case is a function whose derivative is that of `base` at the selected elements and 0 at the others; the derivatives of `base` come from
mpmath.
"""

import mpmath
import numpy as np
import pytest

import functad as fd
from functad._compile.pipeline import evaluator

X = np.array([0.0, 4.0, -1.0, 2.25])
POSITIVE = X > 0
SECOND = np.array([False, True, False, False])
GRID = np.array([[4.0, 0.0], [-1.0, 2.25]])
INDEX = np.array([1, 3])
SAFE = np.array([3.0, 1.0, 2.0, 0.5])

CASES = {
    "where sqrt": (lambda x: np.where(x > 0, np.sqrt(x), 0.0), X, POSITIVE, mpmath.sqrt),
    "where log": (lambda x: np.where(x > 0, np.log(x), 0.0), X, POSITIVE, mpmath.log),
    "where reciprocal": (lambda x: np.where(x > 0, 1 / x, 0.0), X, POSITIVE, lambda x: 1 / x),
    "where power": (lambda x: np.where(x > 0, x**0.5, 0.0), X, POSITIVE, mpmath.sqrt),
    "where x**x": (lambda x: np.where(x > 0, x**x, 0.0), X, POSITIVE, lambda x: x**x),
    "where in the other branch": (lambda x: np.where(x <= 0, 7.0, np.sqrt(x)), X, POSITIVE, mpmath.sqrt),
    "where of arcsin": (lambda x: np.where(x < 1, np.arcsin(x), 0.0), np.array([0.5, 1.0, 3.0]), np.array([True, False, False]), mpmath.asin),
    "where of overflow": (lambda x: np.where(x < 100, np.exp(x), 0.0), np.array([1.0, 2000.0]), np.array([True, False]), mpmath.exp),
    "where of a composition": (lambda x: np.where(x > 0, np.log(np.sqrt(x)), 0.0), X, POSITIVE, lambda x: mpmath.log(x) / 2),
    "composition of where": (lambda x: np.exp(np.where(x > 0, np.sqrt(x), 0.0)), X, POSITIVE, lambda x: mpmath.exp(mpmath.sqrt(x))),
    "where twice": (lambda x: np.where(x > 0, np.where(x > 3, np.sqrt(x), 0.0), 0.0), X, SECOND, mpmath.sqrt),
    "product with where": (lambda x: np.where(x > 0, np.sqrt(x), 0.0) * np.cos(x), X, POSITIVE, lambda x: mpmath.sqrt(x) * mpmath.cos(x)),
    "slice": (lambda x: np.sqrt(x)[1:2], X, SECOND, mpmath.sqrt),
    "slice with a step": (lambda x: np.sqrt(x)[1::2], X, POSITIVE, mpmath.sqrt),
    "slice with a negative step": (lambda x: np.sqrt(x)[::-1][0:3:2], X, POSITIVE, mpmath.sqrt),
    "element": (lambda x: np.sqrt(x)[1], X, SECOND, mpmath.sqrt),
    "sum of elements": (lambda x: np.sqrt(x)[1] + np.sqrt(x)[3], X, POSITIVE, mpmath.sqrt),
    "gather": (lambda x: np.sqrt(x)[INDEX], X, POSITIVE, mpmath.sqrt),
    "gather from a list": (lambda x: np.sqrt(x)[[3, 1]], X, POSITIVE, mpmath.sqrt),
    "take": (lambda x: np.take(np.sqrt(x), INDEX), X, POSITIVE, mpmath.sqrt),
    "mask": (lambda x: np.sqrt(x)[POSITIVE], X, POSITIVE, mpmath.sqrt),
    "mask after function of mask": (lambda x: np.sqrt(x[POSITIVE]), X, POSITIVE, mpmath.sqrt),
    "clip": (lambda x: np.sqrt(np.clip(x, 0.0, 9.0)), np.array([-1.0, 4.0, 16.0]), SECOND[:3], mpmath.sqrt),
    "maximum": (lambda x: np.sqrt(np.maximum(x, 0.0)), np.array([-1.0, 4.0, -2.0]), SECOND[:3], mpmath.sqrt),
    "minimum": (lambda x: np.sqrt(-np.minimum(x, 0.0)), np.array([1.0, -4.0, 2.0]), SECOND[:3], lambda x: mpmath.sqrt(-x)),
    "pad": (lambda x: np.sqrt(np.pad(x[1:2], (2, 1))), X, SECOND, mpmath.sqrt),
    "concatenate with zeros": (lambda x: np.sqrt(np.concatenate([np.zeros(2), x[1:2]])), X, SECOND, mpmath.sqrt),
    "stack, then a row": (lambda x: np.stack([np.sqrt(x), np.log(x), x])[0, 1:2], X, SECOND, mpmath.sqrt),
    "flip, reshape, transpose": (lambda x: np.sqrt(x).reshape(2, 2).T[1], X, POSITIVE, mpmath.sqrt),
    "roll": (lambda x: np.roll(np.sqrt(x), 1)[2:3], X, SECOND, mpmath.sqrt),
    "tril": (lambda x: np.tril(np.where(x > 0, np.sqrt(x), 0.0)), GRID, GRID > 0, mpmath.sqrt),
    "diagonal": (lambda x: np.diagonal(np.sqrt(x)), GRID, np.eye(2, dtype=bool), mpmath.sqrt),
    "diag": (lambda x: np.diag(np.sqrt(x)), GRID, np.eye(2, dtype=bool), mpmath.sqrt),
    "trace": (lambda x: np.trace(np.sqrt(x)), GRID, np.eye(2, dtype=bool), mpmath.sqrt),
    "max": (lambda x: np.max(np.where(x > 0, np.sqrt(x), 0.0)), X, SECOND, mpmath.sqrt),
    "sum of where": (lambda x: np.sum(np.where(x > 0, np.sqrt(x), 0.0)), X, POSITIVE, mpmath.sqrt),
    "mean with where": (lambda x: 2 * np.mean(np.sqrt(x), where=POSITIVE), X, POSITIVE, mpmath.sqrt),
    "sum with where": (lambda x: np.sum(np.sqrt(x), where=POSITIVE), X, POSITIVE, mpmath.sqrt),
    "broadcast": (lambda x: np.broadcast_to(np.where(x > 0, np.sqrt(x), 0.0), (1, 4)) * 1.0, X, POSITIVE, mpmath.sqrt),
    "repeat, then a part": (lambda x: np.repeat(np.sqrt(x), 2)[2:3], X, SECOND, mpmath.sqrt),
    "dot of where": (lambda x: np.where(x > 0, np.sqrt(x), 0.0) @ np.ones(4), X, POSITIVE, mpmath.sqrt),
    "cast": (lambda x: np.where(x > 0, np.sqrt(x), 0.0).astype(complex).real, X, POSITIVE, mpmath.sqrt),
}


def _expected(base, x, selected, order):
    out = np.zeros(x.shape)
    for i in np.argwhere(selected):
        with mpmath.workdps(40):
            out[tuple(i)] = float(mpmath.diff(base, mpmath.mpf(x[tuple(i)]), order))
    return out


def _derivative(function, order, mode):
    """The diagonal of the derivative: all cases act on each element by itself."""
    step = {"reverse": fd.grad, "forward": fd.jacfwd}[mode]
    for _ in range(order):
        function = step(lambda x, f=function: np.sum(f(x)))
    return function


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_what_is_left_out_has_no_derivative(name, mode):
    function, x, selected, base = CASES[name]
    with evaluator("numpy"):
        for order in (1, 2, 3):
            found = _derivative(function, order, mode)(x)
            np.testing.assert_allclose(found, _expected(base, x, selected, order), rtol=1e-13, atol=1e-15, err_msg=f"order {order}")


def _along(function, order, mode):
    """(x, v) -> the order-th derivative of the sum along v, by nested jvp or by nested grad: any NaN shows."""

    def derivative(x, v):
        step = {
            "forward": lambda f: lambda x: fd.jvp(f, (x,), (v,))[1],
            "reverse": lambda f: lambda x: np.sum(fd.grad(f)(x) * v),
        }[mode]
        g = lambda x: np.sum(function(x))
        for _ in range(order):
            g = step(g)
        return g(x)

    return derivative


@pytest.mark.parametrize("mode", ["forward", "reverse"])
@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("names", [[n for n in CASES if n != "cast"], ["cast"]], ids=["real", "through complex"])
def test_and_so_in_a_kernel(names, order, mode):
    """Many cases in one kernel; numba takes long over complex numbers in a large function."""
    cases = [CASES[n] for n in names]
    points = [x for _, x, _, _ in cases]
    seeds = [np.random.default_rng(1).uniform(0.5, 1.5, x.shape) for x in points]
    derivatives = [_along(f, order, mode) for f, _, _, _ in cases]
    with evaluator("kernel"):
        found = fd.jit(lambda xs, vs: [d(x, v) for d, x, v in zip(derivatives, xs, vs, strict=True)])(points, seeds)
    wrong = []
    for name, y, v, (_, x, selected, base) in zip(names, found, seeds, cases, strict=True):
        expected = np.sum(_expected(base, x, selected, order) * v**order)
        if not abs(y - expected) <= 1e-13 * (1 + abs(expected)):
            wrong.append(f"{name}: {y} instead of {expected}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("mode", ["forward", "reverse"])
@pytest.mark.parametrize("name", ["where sqrt", "slice", "gather", "mask", "clip"])
def test_mixed_modes_and_mapping(name, mode):
    function, x, selected, base = CASES[name]
    total = lambda v: np.sum(function(v))
    second = np.diag(_expected(base, x, selected, 2))
    outer, inner = (fd.jacfwd, fd.jacrev) if mode == "forward" else (fd.jacrev, fd.jacfwd)
    np.testing.assert_allclose(outer(inner(total))(x), second, rtol=1e-13)
    rows = np.stack([x, x])
    np.testing.assert_allclose(fd.vmap(fd.hessian(total))(rows), np.stack([second] * 2), rtol=1e-13)
    np.testing.assert_allclose(fd.grad(lambda v: np.sum(fd.vmap(function)(v)))(rows), np.stack([_expected(base, x, selected, 1)] * 2), rtol=1e-13)


CASTS = {
    "cast, then a slice": lambda x: np.sqrt(x).astype(np.float32)[1:2],
    "a slice, then a cast": lambda x: np.sqrt(x)[1:2].astype(np.float32),
    "cast to and fro": lambda x: np.sqrt(x.astype(np.float32)).astype(np.float64).astype(np.float32)[1:2],
    "cast of where": lambda x: np.where(x > 3, np.sqrt(x), 0.0).astype(np.float32),
    "cast and scaled": lambda x: (np.sqrt(x) * 2.0).astype(np.float32)[1:2] * 0.5,
    "complex": lambda x: (np.sqrt(x) + 0j)[1:2].real,
}


@pytest.mark.parametrize("name", CASTS)
@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_casts_do_not_turn_them_into_numbers(name, mode):
    for order in (1, 2, 3):
        found = _derivative(CASTS[name], order, mode)(X)
        np.testing.assert_allclose(found, _expected(mpmath.sqrt, X, SECOND, order), rtol=1e-6, atol=1e-9, err_msg=f"order {order}")


@pytest.mark.parametrize("order", [1, 2])
def test_a_scalar_that_is_not_taken(order):
    f = lambda x: np.where(x == 0, 1.0, np.sin(x) / x)
    assert _derivative(f, order, "reverse")(0.0) == 0.0
    assert _derivative(f, order, "forward")(0.0) == 0.0


def test_zeros_that_are_values_keep_their_meaning():
    """A cotangent, tangent or factor that happens to be zero meets inf as IEEE says."""
    assert np.isnan(fd.grad(lambda x: np.sqrt(x) * np.sqrt(x))(0.0))
    assert np.isnan(fd.jvp(np.sqrt, (0.0,), (0.0,))[1])
    assert np.isnan(fd.vjp(np.sqrt, 0.0)[1](0.0)[0])
    assert np.isnan(fd.grad(lambda x: np.sum(np.array([0.0, 1.0]) * np.sqrt(x)))(np.array([0.0, 4.0]))[0])
    for which in ("numpy", "kernel"):
        with evaluator(which):
            assert np.isnan(fd.jit(fd.grad(lambda x: np.sqrt(x) * np.sqrt(x)))(0.0))


def test_a_zero_row_of_a_basis_is_a_value():
    """Jacobians multiply by the zeros of their basis: an infinite partial gives NaN beside it, unless the structure says zero."""
    x = np.array([0.0, 4.0])
    for jacobian in (fd.jacfwd, fd.jacrev):
        found = jacobian(lambda v: np.where(v > 0, np.sqrt(v), 0.0))(x)
        np.testing.assert_allclose(found, [[0.0, 0.0], [0.0, 0.25]], rtol=1e-15)
