"""Values and dtypes of calls at the edge: sizes 0 and 1, single precision, numbers that are reshaped arrays.  The oracle is NumPy."""

import numpy as np
import pytest

import functad as fd
from functad._compile.pipeline import evaluator


def test_number_made_of_an_array_of_one_is_spread():
    """A kernel reads the one element whatever the ranks on the way."""
    x = np.arange(6.0).reshape(2, 3)
    with evaluator("kernel"):
        pullback = fd.vjp(lambda a: np.mean(a, keepdims=True), x)[1]
        np.testing.assert_allclose(pullback(np.full((1, 1), 3.0))[0], np.full((2, 3), 0.5))
        back = fd.vmap(lambda a, c: fd.vjp(lambda b: np.mean(b, keepdims=True), a)[1](c)[0])(np.stack([x, x]), np.array([[[6.0]], [[12.0]]]))
        np.testing.assert_allclose(back, np.stack([np.ones((2, 3)), np.full((2, 3), 2.0)]))


single = np.float32


@pytest.mark.parametrize(
    ("start", "stop"),
    [
        (single(1), np.full(2, 3, single)), (1.0, single(2)), (single(1), 2), (1, 2), (np.int8(1), np.int8(3)), (np.ones(2, single), np.zeros(2)),
        (np.ones(2, single), 2j), (np.arange(2), single(1)),
    ],
)  # fmt: skip
@pytest.mark.parametrize("function", [np.linspace, np.logspace])
def test_ranges_keep_single_precision(function, start, stop):
    expected = function(start, stop, 5)
    got = fd.jit(lambda a, b: function(a, b, 5))(start, stop)
    assert got.dtype == expected.dtype
    np.testing.assert_allclose(got, expected, rtol=1e-6)


@pytest.mark.parametrize("size", [0, 1, 2])
def test_trapezoid_of_few_samples(size):
    y = np.arange(1.0, 1.0 + size)
    assert fd.jit(np.trapezoid)(y) == np.trapezoid(y)
    np.testing.assert_array_equal(fd.grad(np.trapezoid)(y), np.full(size, 0.5 * (size == 2)))
