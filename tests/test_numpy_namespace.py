"""functad.numpy: NumPy's own names, and creation that knows traced values."""

import numpy
import pytest

import functad as fd
import functad.numpy as np
from functad.errors import NoValueError, UnsupportedArgumentError

OWN = set(np._OWN)


@pytest.mark.parametrize("module", [None, "linalg", "fft"])
def test_every_name_of_numpy_is_there(module):
    """The very same, but for functions that take lists of traced values, which are NumPy's behind a look at their arguments."""
    plain, ours = (numpy, np) if module is None else (getattr(numpy, module), getattr(np, module))
    assert set(plain.__all__) <= set(ours.__all__)
    assert set(dir(plain)) <= set(dir(ours))
    for name in dir(plain):
        found, original = getattr(ours, name), getattr(plain, name)
        if found is not original and name not in OWN and name not in ("linalg", "fft") and not name.startswith("__"):
            assert found.__wrapped__ is original
            assert found.__name__ == original.__name__  # texts too at import, but other packages edit NumPy's
    with pytest.raises(AttributeError, match="numpy"):
        _ = ours.no_such_name


def test_ufuncs_types_constants_and_modules_are_numpys():
    for name in ("sin", "add", "float64", "ndarray", "pi", "newaxis", "random", "testing", "errstate", "dtype", "zeros", "finfo"):
        assert getattr(np, name) is getattr(numpy, name)


def test_import_of_everything():
    space = {}
    exec("from functad.numpy import *", space)
    assert space["array"] is np.array
    assert space["sin"] is numpy.sin


@pytest.mark.parametrize(
    "call",
    [
        lambda np: np.array([[1, 2], [3, 4.5]]),
        lambda np: np.array([1, 2], dtype="f4", ndmin=3),
        lambda np: np.array(numpy.eye(2), copy=False),
        lambda np: np.asarray((1, 2)),
        lambda np: np.asanyarray(3.0),
        lambda np: np.ascontiguousarray(3.0),
        lambda np: np.asarray([1, 2], numpy.float32, order="F"),
        lambda np: np.full((2, 3), 1.5),
        lambda np: np.full(2, [1, 2], dtype=complex),
        lambda np: np.full_like(numpy.ones((2, 3), "f4"), 1.5),
        lambda np: np.full_like([1, 2], 2.75, shape=(3,)),
        lambda np: np.arange(5),
        lambda np: np.arange(1, 2, 0.25),
        lambda np: np.arange(1, 5, dtype=float),
    ],
)
def test_without_traced_values_it_is_numpys_result(call):
    found, expected = call(np), call(numpy)
    numpy.testing.assert_array_equal(found, expected)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    "call",
    [
        lambda np, x: np.array([x[0], 1.0, x[1] * 2]),
        lambda np, x: np.array([x[0], x[1]], dtype=float),
        lambda np, x: np.array([[x[0], 1], [2, x[1]]], dtype=numpy.float32),
        lambda np, x: np.array([x, numpy.ones(2), [3, 4]]),
        lambda np, x: np.array((x, x), ndmin=4),
        lambda np, x: np.array(x, ndmin=2),
        lambda np, x: np.array(x[0], dtype=complex).real,
        lambda np, x: np.asarray([x[0], x[1]], dtype=float),
        lambda np, x: np.asarray(x),
        lambda np, x: np.asarray(x, dtype=numpy.float32),
        lambda np, x: np.asanyarray([x[0], numpy.float32(2)]),
        lambda np, x: np.ascontiguousarray(x[0]),
        lambda np, x: np.full(3, x[0]),
        lambda np, x: np.full((2, 2), x),
        lambda np, x: np.full((2, 2), x[0], dtype=numpy.float32),
        lambda np, x: np.full((2, 2), [x[0], 1.0]),
        lambda np, x: np.arange(x[0], x[1], 0.5),
        lambda np, x: np.arange(x[1]),
        lambda np, x: np.arange(0.0, 3.0, x[0]),
        lambda np, x: np.arange(x[1], x[0], -0.5),
        lambda np, x: np.arange(x[1], x[0]),
        lambda np, x: np.stack([x, numpy.ones(2)]),
        lambda np, x: np.linspace(x[0], x[1], 4),
    ],
)
def test_with_traced_values(call):
    """Value, shape and dtype as NumPy gives them for plain numbers; the derivative by differences."""
    x = numpy.array([0.7, 3.3])
    expected = call(numpy, x)
    value, pullback = fd.vjp(lambda x: call(np, x), x)
    numpy.testing.assert_allclose(value, expected, rtol=1e-6)
    assert (value.shape, value.dtype) == (expected.shape, expected.dtype)
    weights = numpy.cos(numpy.arange(expected.size)).reshape(expected.shape).astype(expected.dtype)
    exact = lambda y: numpy.sum(weights * call(numpy, y).astype(float))
    step = 1e-4
    slope = [(exact(x + step * e) - exact(x - step * e)) / (2 * step) for e in numpy.eye(2)]
    tolerance = 1e-7 if expected.dtype == float else 2e-3
    pulled = pullback(weights)
    numpy.testing.assert_allclose(pulled[0] if isinstance(pulled, tuple) else pulled, slope, rtol=tolerance, atol=tolerance)


def test_arrays_of_objects():
    """What plain `np.array([x, y])` makes of traced values is taken apart again."""
    found = fd.grad(lambda x: np.sum(np.array(numpy.array([x, 2 * x]), dtype=float)))(1.0)
    assert found == 3.0


def test_bounds_without_a_value():
    with pytest.raises(NoValueError):
        fd.vmap(lambda x: np.sum(np.arange(0.0, 1.0, x)))(numpy.array([0.25, 0.5]))


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda x: np.array([x], order="X"), "order"),
        (lambda x: np.array([x], like=numpy.ones(1)), "like"),
        (lambda x: np.asarray([x], like=numpy.ones(1)), "like"),
        (lambda x: np.full(2, x, like=numpy.ones(1)), "like"),
        (lambda x: np.arange(0.0, x, like=numpy.ones(1)), "like"),
    ],
)
def test_arguments_are_refused_by_name(call, name):
    with pytest.raises(UnsupportedArgumentError, match=f"{name}="):
        fd.grad(lambda x: np.sum(call(x)))(1.0)
