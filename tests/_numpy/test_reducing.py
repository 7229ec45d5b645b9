"""Reductions against NumPy: every argument, and derivatives against differences."""

import numpy as np
import pytest

import functad as fd

X = np.array([[0.5, -1.5, 2.0, 0.75], [3.0, 0.25, 1.0, -2.0], [1.25, 2.5, -0.5, 0.1]])
CUBE = np.sin(np.arange(24.0)).reshape(2, 3, 4) + 0.05 * np.arange(24.0).reshape(2, 3, 4)
MASK = np.array([[True, False, True, True], [False, True, True, False], [True, True, False, True]])
W = np.array([0.5, 1.0, 2.0, 0.25])
HOLES = np.where(MASK, X, np.nan)

CALLS = {
    "sum": lambda x: np.sum(x),
    "sum axis": lambda x: np.sum(x, axis=1),
    "sum negative keepdims": lambda x: np.sum(x, -1, keepdims=True),
    "sum tuple": lambda x: x.sum(axis=(0, -1)),
    "sum where initial": lambda x: np.sum(x, axis=0, where=MASK, initial=2.5),
    "sum dtype": lambda x: np.sum(x, dtype=np.complex128),
    "sum no axes": lambda x: np.sum(x, axis=()),
    "prod": lambda x: np.prod(x),
    "prod axis where": lambda x: np.prod(x, axis=1, where=MASK, initial=2.0),
    "prod method": lambda x: x.prod(axis=0, keepdims=True),
    "mean": lambda x: np.mean(x),
    "mean axis": lambda x: x.mean(axis=(0,), keepdims=True),
    "mean where": lambda x: np.mean(x, axis=1, where=MASK),
    "var": lambda x: np.var(x),
    "var ddof": lambda x: np.var(x, axis=-1, ddof=1, keepdims=True),
    "var correction": lambda x: np.var(x, axis=0, correction=1),
    "var where": lambda x: np.var(x, axis=1, where=MASK),
    "var mean": lambda x: np.var(x, axis=1, mean=np.mean(x, axis=1, keepdims=True)),
    "std": lambda x: x.std(axis=0, ddof=1),
    "std where": lambda x: np.std(x, where=MASK),
    "max": lambda x: np.max(x, axis=0),
    "max all": lambda x: x.max(),
    "amin keepdims": lambda x: np.amin(x, axis=(0, 1), keepdims=True),
    "min where": lambda x: np.min(x, axis=1, initial=10.0, where=MASK),
    "ptp": lambda x: np.ptp(x, axis=1),
    "cumsum": lambda x: np.cumsum(x),
    "cumsum axis": lambda x: x.cumsum(axis=-1),
    "cumprod": lambda x: np.cumprod(x, axis=0),
    "cumulative_sum": lambda x: np.cumulative_sum(x, axis=1, include_initial=True),
    "average": lambda x: np.average(x, axis=1, weights=W),
    "average all": lambda x: np.average(x, weights=np.abs(x) + 1),
    "average returned": lambda x: np.average(x, axis=1, weights=W, returned=True),
    "median": lambda x: np.median(x),
    "median axis": lambda x: np.median(x, axis=0, keepdims=True),
    "median even": lambda x: np.median(x, axis=1),
    "quantile": lambda x: np.quantile(x, [0.1, 0.5, 0.8], axis=1),
    "percentile": lambda x: np.percentile(x, 30.0, axis=0, keepdims=True),
    "add.reduce": lambda x: np.add.reduce(x),
    "multiply.reduce": lambda x: np.multiply.reduce(x, axis=1, keepdims=True),
    "maximum.reduce": lambda x: np.maximum.reduce(x, axis=None),
    "add.accumulate": lambda x: np.add.accumulate(x, axis=1),
    "maximum.accumulate": lambda x: np.maximum.accumulate(x, axis=1),
    "subtract.outer": lambda x: np.subtract.outer(x, x[0]),
    "trapezoid": lambda x: np.trapezoid(x, dx=0.5),
    "trapezoid x": lambda x: np.trapezoid(x, np.array([0.0, 1.0, 3.0, 3.5]), axis=1),
    "gradient": lambda x: np.gradient(x, 0.5, axis=1),
    "gradient uneven": lambda x: np.gradient(x, np.array([0.0, 1.0, 3.0, 3.5]), axis=1, edge_order=2),
    "all": lambda x: np.all(x > 0, axis=1),
    "any": lambda x: (x > 2).any(),
    "count_nonzero": lambda x: np.count_nonzero(x > 0, axis=1),
    "argmax": lambda x: np.argmax(x, axis=1),
    "argmin keepdims": lambda x: x.argmin(axis=0, keepdims=True),
    "argmax flat": lambda x: np.argmax(x),
    "sum of counts": lambda x: np.sum(x > 0, axis=0),
    "allclose": lambda x: np.allclose(x, x + 1e-12),
    "isclose": lambda x: np.isclose(x, np.round(x, 1), atol=0.02),
    "array_equal": lambda x: np.array_equal(x, x * 1.0),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_call(agrees, name):
    agrees(CALLS[name], X)


@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 2), (0, -1), (0, 1, 2)])
@pytest.mark.parametrize("function", [np.sum, np.prod, np.mean, np.var, np.std, np.max, np.min, np.median], ids=lambda f: f.__name__)
def test_axes_of_a_cube(agrees, function, axis):
    agrees(lambda x: function(x, axis=axis), CUBE)
    agrees(lambda x: function(x, axis=axis, keepdims=True), CUBE, smooth=False)


NAN_CALLS = {
    "nansum": lambda x: np.nansum(x, axis=1),
    "nanprod": lambda x: np.nanprod(x, axis=0),
    "nanmean": lambda x: np.nanmean(x, axis=1, keepdims=True),
    "nanvar": lambda x: np.nanvar(x, axis=1, ddof=1),
    "nanstd": lambda x: np.nanstd(x),
    "nanmax": lambda x: np.nanmax(x, axis=1),
    "nanmin": lambda x: np.nanmin(x),
    "nancumsum": lambda x: np.nancumsum(x, axis=1),
    "nan_to_num": lambda x: np.nan_to_num(x, nan=2.0),
    "nanargmax": lambda x: np.nanargmax(x, axis=1),
}


@pytest.mark.parametrize("name", NAN_CALLS)
def test_reductions_that_skip_nan(name):
    function = NAN_CALLS[name]
    expected = function(HOLES)
    value, pull = fd.vjp(function, HOLES)
    np.testing.assert_allclose(value, expected, rtol=1e-13)
    if np.asarray(expected).dtype.kind == "f":
        (back,) = pull(np.ones_like(expected) if np.ndim(expected) else np.float64(1.0))
        assert np.isfinite(back).all()
        assert (back[~MASK] == 0).all()


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.uint16, np.int64, np.float32, np.complex64, np.complex128])
@pytest.mark.parametrize("function", [np.sum, np.prod, np.mean, np.cumsum, np.var, np.std], ids=lambda f: f.__name__)
def test_dtypes(function, dtype):
    x = np.array([[1, 0, 2], [3, 1, 1]]).astype(dtype)
    if dtype == np.complex64:
        x = x + x.dtype.type(0.5j)
    found = fd.vmap(lambda i: function(x + 0 * i.astype(dtype) if dtype != np.bool_ else x & (i > -1)))(np.arange(2.0))
    expected = function(x)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found[0], expected, rtol=1e-6)


@pytest.mark.parametrize("function", [np.max, np.min, np.argmax], ids=lambda f: f.__name__)
def test_empty_extremes_raise_as_numpy(function):
    with pytest.raises(ValueError, match=r"empty|zero-size"):
        fd.vjp(lambda x: function(x[:0]), np.ones(3))


def test_empty_sums():
    for function, value in ((np.sum, 0.0), (np.prod, 1.0)):
        out, pull = fd.vjp(lambda x, f=function: f(x[:0]), np.ones(3))
        assert out == value
        np.testing.assert_array_equal(pull(np.float64(1.0))[0], np.zeros(3))


def test_ties_share():
    x = np.array([1.0, 3.0, 3.0, 2.0, 3.0])
    np.testing.assert_allclose(fd.grad(np.max)(x), [0, 1 / 3, 1 / 3, 0, 1 / 3])
    np.testing.assert_allclose(fd.grad(np.min)(-x), [0, 1 / 3, 1 / 3, 0, 1 / 3])


def test_products_with_zeros_to_second_order():
    for zeros in ((), (1,), (0, 2), (0, 1, 3)):
        x = np.array([2.0, 3.0, -1.5, 0.5])
        x[list(zeros)] = 0
        for f in (np.prod, lambda x: np.sum(np.cumprod(x) * np.arange(1.0, 5.0))):
            want = np.zeros((4, 4))
            h = 1e-3
            for i in range(4):
                for j in range(4):
                    e, d = np.eye(4)[i] * h, np.eye(4)[j] * h
                    want[i, j] = (f(x + e + d) - f(x + e - d) - f(x - e + d) + f(x - e - d)) / (4 * h * h)
            np.testing.assert_allclose(fd.hessian(f)(x), want, atol=1e-8)


def test_std_of_equal_numbers_has_subgradient_zero():
    np.testing.assert_array_equal(fd.grad(np.std)(np.ones(4)), np.zeros(4))


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda x: np.sum(x, out=np.zeros(())), "out"),
        (lambda x: np.quantile(x, 0.5, method="nearest"), "nearest"),
        (lambda x: np.max(x + 0j), "a="),
    ],
)
def test_refusals_name_the_argument(call, argument):
    with pytest.raises(fd.errors.FunctadError, match=argument):
        fd.vjp(call, X)


def test_wrong_axis_is_numpys_error():
    with pytest.raises(np.exceptions.AxisError):
        fd.vjp(lambda x: np.sum(x, axis=2), X)
    with pytest.raises(ValueError, match="axis"):
        fd.vjp(lambda x: np.sum(x, axis=(0, -2)), X)
