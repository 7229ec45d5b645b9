"""Partial derivatives of products that hold zeros, where the other factors overflow: exact arithmetic says 0 or infinite, never NaN."""

from fractions import Fraction

import numpy as np
import pytest

import functad as fd

BIG = 1e30  # its square is infinite in float32
ROWS = [
    [0, 0, BIG, BIG],
    [BIG, BIG, 0, 0],
    [0, BIG, BIG, BIG],
    [BIG, 0, BIG, 0, BIG],
    [0, 0, 0, 3],
    [0, 2, 3, BIG],
    [2, 3, 0, 0],
    [0, BIG, BIG, 1e-30],
]


def others(xs, dtype):
    """The product of all elements but one, for each, in exact arithmetic."""
    exact = [Fraction(float(x)) for x in xs]
    found = [float(np.prod([x for j, x in enumerate(exact) if j != i] or [Fraction(1)])) for i in range(len(xs))]
    return np.array(found).astype(dtype)


@pytest.mark.parametrize("wrapped", [lambda f: f, fd.jit])
@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("f", [np.prod, np.nanprod])
def test_the_partials_of_a_product_are_the_exact_ones(f, row, wrapped):
    x = np.array(row, np.float32)
    with np.errstate(over="ignore"):
        expected = others(x, np.float32)
    forward = [fd.jacfwd(f)] if np.all(np.isfinite(expected)) else []  # a basis has zeros, which are numbers and meet what is infinite
    for derivative in (fd.grad(f), *forward):
        np.testing.assert_allclose(wrapped(derivative)(x), expected, rtol=3e-7)


@pytest.mark.parametrize("wrapped", [lambda f: f, fd.jit])
def test_nan_among_the_factors_stays(wrapped):
    g = wrapped(fd.grad(np.prod))(np.array([0.0, 0.0, np.nan, 2.0], np.float32))
    assert np.array_equal(np.isnan(g), [True, True, False, True])
    assert wrapped(fd.grad(np.nanprod))(np.array([0.0, 3.0, np.nan], np.float32)).tolist() == [3.0, 0.0, 0.0]


def test_a_complex_product():
    z = np.array([0, 0, BIG, BIG * 1j], np.complex64)
    for f in (fd.grad(np.prod, holomorphic=True), fd.jit(fd.grad(np.prod, holomorphic=True))):
        assert np.array_equal(f(z), np.zeros(4))


def test_second_derivatives_beside_zeros_are_kept():
    assert fd.hessian(np.prod)(np.array([0.0, 0.0, 3.0])).tolist() == [[0, 3, 0], [3, 0, 0], [0, 0, 0]]
    assert fd.hessian(lambda x: np.cumprod(x)[2])(np.array([0.0, 0.0, 3.0])).tolist() == [[0, 3, 0], [3, 0, 0], [0, 0, 0]]


@pytest.mark.parametrize("wrapped", [lambda f: f, fd.jit])
def test_what_stands_before_an_element_of_a_running_product(wrapped):
    """The partial in an element multiplies all before it: those hold a zero, and overflow beside it."""
    x = np.array([BIG, BIG, 0, 2, 5], np.float32)
    found = wrapped(fd.jacrev(np.cumprod))(x)
    assert found[3, 3] == 0
    assert found[4, 4] == 0
