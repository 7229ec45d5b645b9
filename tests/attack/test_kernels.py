"""Kernels against NumPy, where memory is used again or block by block."""

import numpy as np
import pytest

import functad as fd
from functad._compile.pipeline import evaluator


@pytest.mark.parametrize("rows", [1, 3, 70, 200])
def test_reshaped_value_that_later_loops_read_keeps_its_memory(rows):
    """The cosine, behind a reshape, is read by three nests with others between them; its memory must not be used again, or end with a block."""

    def f(x):
        y = np.cumsum(x.reshape(-1, order="F"))
        z = np.tanh(y) + 0.5 * x.reshape(-1, order="F")
        z = np.minimum(z, z.mean()) + 0.5 * y
        return np.sum(np.sin(np.expand_dims(z, -1).T + 0.5 * x.reshape(-1, order="F")))

    x = np.random.default_rng(10022).normal(size=(rows, 3, 2))
    with evaluator("numpy"):
        expected = fd.vmap(fd.grad(f))(x)
    with evaluator("kernel"):
        np.testing.assert_allclose(fd.vmap(fd.grad(f))(x), expected, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(fd.grad(f)(x[0]), expected[0], rtol=1e-10, atol=1e-12)


def test_element_read_under_a_condition_is_used_under_it():
    """The derivative of logaddexp behind a pad reads what `take` found, and only inside of the pad."""

    def f(x):
        y = np.pad(np.logaddexp(np.take(x, [0], axis=-1), 0.5) + 0.5 * x, 1)
        return np.sum(np.sin(np.sin(np.maximum(y, 0.1))))

    x = np.random.default_rng(7).normal(size=(3, 3, 2))
    with evaluator("numpy"):
        expected = fd.vmap(fd.grad(f))(x)
    with evaluator("kernel"):
        np.testing.assert_allclose(fd.vmap(fd.grad(f))(x), expected, rtol=1e-12, atol=1e-14)
