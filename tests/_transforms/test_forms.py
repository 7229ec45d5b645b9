"""Forms that people spell by hand have the derivative of the function they mean, and the value that NumPy computes."""

import numpy as np
import pytest

import functad as fd
from functad.testing import check_grads

ZERO = np.zeros(3)
NORMS = {
    "sqrt of sum": lambda x: np.sqrt(np.sum(x**2)),
    "sqrt of dot": lambda x: np.sqrt(x @ x),
    "sqrt of products": lambda x: np.sqrt(x[0] * x[0] + x[1] * x[1]),
    "sqrt of mean": lambda x: np.sqrt(np.mean(x**2)),
    "power of sum": lambda x: np.sum(x**2) ** 0.5,
    "power of mean": lambda x: np.mean(np.square(x), axis=0) ** 0.5,
}
SATURATED = {  # (function, where it saturates, derivative there)
    "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), -800.0, 0.0),
    "sigmoid by power": (lambda x: (1 + np.exp(-x)) ** -1, -800.0, 0.0),
    "sigmoid by reciprocal": (lambda x: np.reciprocal(1 + np.exp(-x)), -800.0, 0.0),
    "softplus": (lambda x: np.log(1 + np.exp(x)), 800.0, 1.0),
    "softplus by log1p": (lambda x: np.log1p(np.exp(x)), 800.0, 1.0),
    "1/cosh": (lambda x: 1 / np.cosh(x), 800.0, 0.0),
    "1/cosh by reciprocal": (lambda x: np.reciprocal(np.cosh(x)), 800.0, 0.0),
    "1/cosh by power": (lambda x: np.cosh(x) ** -1, 800.0, 0.0),
    "1/cosh**2": (lambda x: 1 / np.cosh(x) ** 2, 800.0, 0.0),
    "1/cosh**2 by power": (lambda x: np.cosh(x) ** -2, -800.0, 0.0),
    "x/cosh**1.5": (lambda x: x / np.cosh(x) ** 1.5, 800.0, 0.0),
}


@pytest.mark.parametrize("f", NORMS.values(), ids=NORMS)
def test_norms_have_the_subgradient_zero(f):
    assert np.array_equal(fd.grad(f)(ZERO), ZERO)
    assert np.array_equal(fd.jit(fd.grad(f))(ZERO), ZERO)
    assert np.array_equal(fd.jacfwd(f)(ZERO), ZERO)


@pytest.mark.parametrize("f", NORMS.values(), ids=NORMS)
def test_norms_elsewhere(f):
    x = np.array([0.5, -1.5, 2.0])
    check_grads(f, (x,), order=2)
    assert fd.value_and_grad(f)(x)[0] == pytest.approx(f(x), rel=1e-15)


@pytest.mark.parametrize(("f", "at", "expected"), SATURATED.values(), ids=SATURATED)
def test_saturated_forms(f, at, expected):
    assert fd.grad(f)(at) == expected
    assert fd.jit(fd.grad(f))(at) == expected
    assert fd.jvp(f, (at,), (1.0,))[1] == expected
    assert fd.grad(fd.grad(f))(at) == 0.0


@pytest.mark.parametrize("f", [f for f, _, _ in SATURATED.values()], ids=SATURATED)
def test_forms_elsewhere(f):
    check_grads(f, (0.7,), order=2)


@pytest.mark.parametrize("power", [2, 4, 6])
def test_even_powers_of_a_norm_are_smooth_at_zero(power):
    f = lambda x: np.sqrt(np.sum(x**2)) ** power
    assert np.array_equal(fd.grad(f)(ZERO), ZERO)
    assert np.array_equal(fd.hessian(f)(ZERO), 2.0 * np.eye(3) if power == 2 else np.zeros((3, 3)))
    check_grads(f, (np.array([0.5, -1.5, 2.0]),), order=2)


def test_the_logarithm_of_a_sum_of_exponentials_for_each_row():
    f = lambda x: np.log(np.sum(np.exp(x)))
    x = np.array([[0.5, -1.5, 2.0], [1.0, 3.0, -2.0]])
    values, slopes = fd.vmap(fd.value_and_grad(f))(x)
    np.testing.assert_allclose(values, np.log(np.sum(np.exp(x), axis=1)), rtol=1e-15)
    np.testing.assert_allclose(slopes, np.exp(x) / np.sum(np.exp(x), axis=1, keepdims=True), rtol=1e-14)
