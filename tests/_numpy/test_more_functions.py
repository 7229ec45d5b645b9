"""Functions that skip NaN in an order, arrange blocks, or apply a user's function, against NumPy."""

import warnings

import numpy as np
import pytest

import functad as fd
from functad.testing import check_grads

X = np.sin(np.arange(1.0, 13.0) ** 2).reshape(3, 4)
CUBE = np.sin(np.arange(1.0, 25.0) ** 2).reshape(2, 3, 4)
HOLES = CUBE.copy()
HOLES[0, 0, 1] = HOLES[1, 2, :3] = HOLES[1, 1, 0] = np.nan
A = np.arange(4.0).reshape(2, 2)
QS = [0.1, 0.5, 1.0]

NAN = {
    "nanmedian": lambda x: np.nanmedian(x),
    "nanmedian axis": lambda x: np.nanmedian(x, axis=2),
    "nanmedian axes": lambda x: np.nanmedian(x, axis=(0, 1), keepdims=True),
    "nanquantile": lambda x: np.nanquantile(x, 0.3),
    "nanquantile many": lambda x: np.nanquantile(x, QS, axis=-1),
    "nanquantile kept": lambda x: np.nanquantile(x, QS, axis=(0, 2), keepdims=True),
    "nanpercentile": lambda x: np.nanpercentile(x, [0, 25, 99], axis=1),
}


@pytest.mark.parametrize("name", NAN)
@pytest.mark.parametrize("x", [CUBE, HOLES])
def test_order_without_nan(name, x):
    call = NAN[name]
    for dtype in ("f8", "f4"):
        y = x.astype(dtype)
        expected, found, mapped = call(y), fd.jit(call)(y), fd.vmap(call)(y[None])[0]
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
        np.testing.assert_allclose(found, expected, rtol=1e-6 if dtype == "f4" else 1e-14)
        np.testing.assert_array_equal(found, mapped)
    check_grads(lambda t: call(np.where(np.isnan(x), np.nan, t)), (np.nan_to_num(x, nan=5.0),), order=2)


def test_a_lane_of_nan():
    x = np.where([[True], [False], [False]], np.nan, X)
    for name in ("nanmedian", "nanpercentile"):
        call = lambda x, name=name: getattr(np, name)(x, *([50] if name != "nanmedian" else []), axis=1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = call(x)
        np.testing.assert_allclose(fd.jit(call)(x), expected)


def test_integers():
    x = np.array([[3, 1, 2, 5], [4, 0, 0, 1]])
    for name in NAN:
        if "axes" not in name and "kept" not in name and "nanmedian axis" not in name:
            expected, found = NAN[name](x), fd.jit(NAN[name])(x)
            assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
            np.testing.assert_allclose(found, expected)


CALLS = {
    "resize": (X, lambda x: np.resize(x, (5, 3))),
    "resize smaller": (X, lambda x: np.resize(x, 5)),
    "resize same": (X, lambda x: np.resize(x, (4, 3))),
    "resize nothing": (X, lambda x: np.resize(x, (0, 3))),
    "block": (A, lambda x: np.block([[x, np.ones((2, 1))], [np.zeros((1, 2)), 3.0]])),
    "block row": (X[0], lambda x: np.block([x, 1.0, x])),
    "block alone": (X, lambda x: np.block(x)),
    "block deep": (A, lambda x: np.block([[[x]], [[2 * x]]])),
    "block vectors": (X[0], lambda x: np.block([[x], [x]])),
    "along axis": (X, lambda x: np.apply_along_axis(np.sum, 0, x)),
    "along axis vector": (X, lambda x: np.apply_along_axis(lambda v: v[:2] * v[-1], 1, x)),
    "along axis matrix": (CUBE, lambda x: np.apply_along_axis(np.outer, 1, x, [1.0, 2.0])),
    "along axis branches": (X, lambda x: np.apply_along_axis(lambda v: v[0] if v[0] > 0 else -v[1], 0, x)),
    "over axes": (CUBE, lambda x: np.apply_over_axes(np.sum, x, (0, -1))),
    "over axes kept": (CUBE, lambda x: np.apply_over_axes(lambda a, i: np.mean(a, axis=i, keepdims=True), x, 1)),
    "sort_complex": (X, lambda x: np.sort_complex(x)),
    "fromfunction": (X[0], lambda x: np.fromfunction(lambda i, j: i * x[0] + j * x[1], (2, 3))),
    "diag_indices_from": (A, lambda x: x[np.diag_indices_from(x)]),
    "tril_indices_from": (X, lambda x: x[np.tril_indices_from(x, -1)]),
    "triu_indices_from": (X, lambda x: x[np.triu_indices_from(x)]),
}


@pytest.mark.parametrize("name", CALLS)
def test_values_and_derivatives(name, agrees):
    x, call = CALLS[name]
    if name != "sort_complex":
        agrees(call, x, mapped="branches" not in name)
    check_grads(call, (x,), order=2)
    for dtype in ("f8", "f4", "i4"):
        if "branches" in name:
            continue
        y = (x * 9).astype(dtype)
        expected, found = call(y), fd.jit(call)(y)
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
        np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_lexsort(axis):
    keys = np.random.default_rng(0).integers(0, 3, (3, 4, 5))
    for call in (lambda k: np.lexsort(k, axis=axis), lambda k: np.lexsort((k[0], k[1]), axis), lambda k: np.lexsort((k[2],), axis)):
        expected = call(keys)
        for found in (fd.jit(call)(keys), fd.vmap(call)(keys[None])[0], fd.jvp(call, (keys + 0.5,), (keys + 0.5,))[0]):
            np.testing.assert_array_equal(found, expected)
            assert found.dtype == expected.dtype
    np.testing.assert_array_equal(fd.jit(np.lexsort)(keys[:, 0]), np.lexsort(keys[:, 0]))


def test_isscalar():
    answers = []
    fd.grad(lambda x: answers.append((np.isscalar(x[0]), np.isscalar(x))) or x[0])(np.ones(2))
    assert answers == [(True, False)]


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda x: np.resize(x, (-1, 2)), ValueError),
        (lambda x: np.block([[x], x]), ValueError),
        (lambda x: np.block([[x], []]), ValueError),
        (lambda x: np.block(([x], [x])), TypeError),
        (lambda x: np.apply_along_axis(np.sum, 2, x), ValueError),
        (lambda x: np.nanquantile(x, 1.5), ValueError),
        (lambda x: np.lexsort((x, x[0])), ValueError),
        (lambda x: np.diag_indices_from(x), ValueError),
        (lambda x: np.apply_over_axes(lambda a, i: np.sum(a), x, (0, 1)), ValueError),
    ],
)
def test_what_numpy_refuses(call, error):
    for tried in (call, lambda x: fd.jvp(call, (x,), (x,))):
        with pytest.raises(error):
            tried(X)


def test_what_drawn_arguments_found():
    """One case for each difference from NumPy that a walk over the doors has found."""
    z = np.array([1.0 + 1.0j, 2.0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = np.nancumprod(z, dtype="f8")
    value, tangent = fd.jvp(lambda z: np.nancumprod(z, dtype="f8"), (z,), (z,))
    np.testing.assert_array_equal(value, expected)
    np.testing.assert_array_equal(tangent, [1.0, 4.0])
    call = lambda x: np.nanvar(x, axis=1, correction=1, mean=np.ones((3, 1)))
    np.testing.assert_allclose(fd.jvp(call, (X,), (X,))[0], call(X))
    one = np.ones(1)
    assert fd.jvp(np.linalg.tensorsolve, (one, one), (one, one))[0].shape == np.linalg.tensorsolve(one, one).shape == (1,)
    call = lambda x: np.extract(np.array([True, False, True]), x)
    np.testing.assert_array_equal(fd.jvp(call, (X,), (X,))[0], call(X))
    small = np.array([1, 0, 3], "u1")
    np.testing.assert_array_equal(fd.jvp(lambda t: np.bincount(small + t.astype("u1")), (0.0,), (0.0,))[0], np.bincount(small))
    nothing = np.zeros(0)
    np.testing.assert_array_equal(fd.jvp(lambda x: np.polymul(x, [1.0, 2.0]), (nothing,), (nothing,))[0], np.polymul(nothing, [1.0, 2.0]))
