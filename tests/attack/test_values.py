"""Values and dtypes of calls at the edge: sizes 0 and 1, single precision, numbers that are reshaped arrays.  The oracle is NumPy."""

import numpy as np
import pytest

import functad as fd
import functad.numpy as namespace
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


@pytest.mark.parametrize("ufunc", [np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal])
@pytest.mark.parametrize("code", ["i1", "u1", "u4", "i8", "u8"])
def test_comparison_with_a_python_integer_that_does_not_fit(ufunc, code):
    x = np.array([0, 1, 100]).astype(code)
    for number in (-1, -(2**40), 0, 1, 100, 300, 2**62):
        for f in (lambda a, n: ufunc(a, n), lambda a, n: ufunc(n, a)):
            expected = f(x, number)
            np.testing.assert_array_equal(fd.jit(f)(x, number), expected)
            np.testing.assert_array_equal(fd.vmap(f, in_axes=(0, None))(x, number), expected)


def test_dtype_of_means():
    x = np.array([[1.75, 2.5], [-3.5, 7.0]])
    for axis in (None, 0):
        expected = np.mean(x, axis=axis, dtype=np.int64)
        got = fd.jit(np.mean, static_argnames=("axis", "dtype"))(x, axis=axis, dtype=np.int64)
        assert got.dtype == expected.dtype
        np.testing.assert_array_equal(got, expected)
    with pytest.raises(fd.errors.UnsupportedArgumentError, match="dtype"):
        fd.jit(lambda a: np.std(a, dtype=np.int64))(x)


def test_slopes_of_unsigned_samples():
    x = np.array([3, 1, 0, 4], np.uint8)
    np.testing.assert_array_equal(fd.jit(np.gradient)(x), np.gradient(x))


def test_order_in_memory_is_not_guessed():
    x = np.arange(6.0).reshape(2, 3)
    for f in (lambda a: a.T.reshape(-1, order="A"), lambda a: np.ravel(a.T, "K"), lambda a: a.flatten("A")):
        with pytest.raises(fd.errors.UnsupportedArgumentError, match="order"):
            fd.jit(f)(x)
        np.testing.assert_array_equal(fd.jit(f)(x[:, :1]), x[:, 0])  # one axis: one order
    for f in (lambda a: a.T.reshape(3, 2, order="F"), lambda a: np.ravel(a.T, "F"), lambda a: a.flatten("F")):
        np.testing.assert_array_equal(fd.jit(f)(x), f(x))


X = np.array([1.0, 2.5, 4.0], single)
NUMBERS = [2, 2.0, True, np.float64(2), np.float32(2), np.int8(2), np.array(2), np.array(2.0, single)]


@pytest.mark.parametrize(
    "function",
    [
        lambda x, v: np.array([x[0], v]), lambda x, v: np.multiply.outer(x, v), lambda x, v: np.add.outer(v, x), lambda x, v: np.gradient(x, v),
        lambda x, v: np.quantile(x, v / 4), lambda x, v: np.percentile(x, [v, 2 * v]), lambda x, v: np.var(x, ddof=v),
    ],
)  # fmt: skip
@pytest.mark.parametrize("number", NUMBERS, ids=repr)
def test_kind_of_a_number_decides_the_dtype(function, number):
    expected = function(X, number)
    got = fd.jit(lambda x: function(x, number))(X)
    assert got.dtype == expected.dtype
    np.testing.assert_allclose(got, expected, rtol=1e-6)


def test_full_like_of_a_plain_array():
    like = np.zeros((2, 3), single)
    assert fd.grad(lambda s: namespace.sum(namespace.full_like(like, s)))(2.0) == 6.0
    for kwargs in ({}, {"dtype": float}, {"shape": 4}, {"shape": (1, 2), "dtype": np.int64}):
        expected = np.full_like(like, 2.5, **kwargs)
        got = fd.jit(lambda s, kwargs=kwargs: namespace.full_like(like, s, **kwargs))(2.5)
        assert got.dtype == expected.dtype
        np.testing.assert_array_equal(got, expected)
