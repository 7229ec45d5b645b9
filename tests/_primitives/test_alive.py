"""Structural zeros in loops: programs grow with the number of steps, not exponentially, and long sums of parts need no recursion."""

import numpy as np
import pytest

import functad as fd


def steps(u, n):
    for _ in range(n):
        u = np.concatenate([u[:1], np.sin(u[:-2] + u[2:] - 2 * u[1:-1]) * u[1:-1], u[-1:]])
    return np.sum(u**2)


def masked_steps(u, n):
    for _ in range(n):
        u = np.where(u > 0.5, np.sqrt(np.abs(u - 0.5)), 0.0)[::-1] + np.concatenate([u[1:] * 0.5, u[:1]])
    return np.sum(u**2)


@pytest.mark.parametrize("f", [steps, masked_steps])
@pytest.mark.parametrize("transform", [fd.grad, lambda g: fd.jacfwd(g)])
def test_programs_grow_with_the_number_of_steps(f, transform):
    u = np.linspace(0.1, 1.0, 9)
    counts = [len(fd.make_program(transform(lambda v, n=n: f(v, n)))(u).equations) for n in (4, 8, 12)]
    assert counts[2] - counts[1] <= 1.2 * (counts[1] - counts[0])


def test_the_gradient_of_a_loop_of_joins_is_the_complex_step():
    u = np.array([0.3, 1.9, -0.7, 2.2, 0.4, -1.5, 0.9, 1.3, -0.2])
    exact = [steps(u + 1e-30j * e, 6).imag / 1e-30 for e in np.eye(9)]
    gradient = fd.grad(lambda v: steps(v, 6))(u)
    assert np.count_nonzero(gradient) == 9
    np.testing.assert_allclose(gradient, exact, rtol=1e-10, atol=1e-12 * np.abs(exact).max())


def elements(x, first):
    y, total = np.sqrt(x), 0.0
    for i in range(first, len(x)):
        total = total + y[i] * (i + 1)
    return total


def test_a_long_sum_of_elements():
    x = np.linspace(0.1, 1.0, 400)
    np.testing.assert_allclose(fd.grad(elements)(x, 0), 0.5 * np.arange(1, 401) / np.sqrt(x), rtol=1e-13)


def test_an_element_that_is_never_read_has_derivative_zero_whatever_its_partial():
    x = np.linspace(0.0, 1.0, 400)
    gradient = fd.grad(elements)(x, 1)
    assert gradient[0] == 0
    np.testing.assert_allclose(gradient[1:], 0.5 * np.arange(2, 401) / np.sqrt(x[1:]), rtol=1e-13)


def test_zeros_that_are_too_many_to_be_worked_out_beforehand_are_recorded(monkeypatch):
    from functad._primitives import alive

    monkeypatch.setattr(alive, "MOST_STATIC", 0)
    u = np.array([0.3, 1.9, -0.7, 2.2, 0.4, -1.5, 0.9, 1.3])  # a length that no other test has met
    exact = [steps(u + 1e-30j * e, 5).imag / 1e-30 for e in np.eye(8)]
    np.testing.assert_allclose(fd.grad(lambda v: steps(v, 5))(u), exact, rtol=1e-10, atol=1e-12 * np.abs(exact).max())
