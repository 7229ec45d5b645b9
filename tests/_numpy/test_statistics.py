"""Covariances, correlations and histograms against NumPy."""

import numpy as np
import pytest

import functad as fd
from functad.testing import check_grads

X = np.sin(np.arange(1.0, 13.0) ** 2).reshape(3, 4)
V = X[0]
W = np.array([1.0, 2.0, 0.5, 1.5])
S = np.random.default_rng(5).permutation(np.linspace(-1.0, 1.03, 30) + 0.021 * np.sin(np.arange(30.0) ** 2))  # no two near each other
Z = X + 1j * X[::-1]

SPREADS = {
    "cov": (X, lambda x: np.cov(x)),
    "cov vector": (V, lambda x: np.cov(x)),
    "cov y": (V, lambda x: np.cov(x, X[1])),
    "cov y matrix": (X, lambda x: np.cov(X[::-1], x)),
    "cov columns": (X, lambda x: np.cov(x, rowvar=False)),
    "cov columns y": (X, lambda x: np.cov(x, X[::-1], rowvar=False)),
    "cov bias": (X, lambda x: np.cov(x, bias=True)),
    "cov ddof": (X, lambda x: np.cov(x, ddof=2)),
    "cov fweights": (X, lambda x: np.cov(x, fweights=[1, 2, 0, 1])),
    "cov aweights": (X, lambda x: np.cov(x, aweights=W)),
    "cov of aweights": (W, lambda w: np.cov(X, aweights=w)),
    "cov both": (W, lambda w: np.cov(X, fweights=[1, 2, 3, 1], aweights=w, bias=True)),
    "cov both ddof": (W, lambda w: np.cov(X, fweights=[1, 2, 3, 1], aweights=w)),
    "corrcoef": (X, lambda x: np.corrcoef(x)),
    "corrcoef y": (V, lambda x: np.corrcoef(x, X[2])),
    "corrcoef vector": (V, lambda x: np.corrcoef(x)),
    "corrcoef columns": (X, lambda x: np.corrcoef(x, rowvar=False)),
}


@pytest.mark.parametrize("name", SPREADS)
def test_spreads(name, agrees):
    x, call = SPREADS[name]
    agrees(call, x)
    check_grads(call, (x,), order=2)
    np.testing.assert_allclose(fd.jit(call)(x), call(x), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("call", [np.cov, np.corrcoef])
@pytest.mark.parametrize("dtype", ["f4", "i4", "c16", "?"])
def test_dtypes_of_spreads(call, dtype):
    x = (Z if dtype == "c16" else X * 3).astype(dtype)
    for f in (call, lambda x: call(x, dtype="f4" if dtype != "c16" else "c8")):
        with np.errstate(invalid="ignore"):
            expected, found = f(x), fd.jit(f)(x)
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_no_degrees_of_freedom():
    for call in (np.cov, fd.jit(np.cov)):
        with pytest.warns(RuntimeWarning, match="Degrees of freedom"), np.errstate(all="ignore"):
            call(X[:, :1])


EDGES = ((np.sort(S)[1:] + np.sort(S)[:-1]) / 2)[[1, 7, 14, 16, 27]]  # between two values
HISTOGRAMS = {
    "ten": lambda x: np.histogram(x),
    "five": lambda x: np.histogram(x, 5),
    "range": lambda x: np.histogram(x, 4, range=(-0.5, 0.75)),
    "edges": lambda x: np.histogram(x, EDGES),
    "density": lambda x: np.histogram(x, 6, density=True),
    "weights": lambda x: np.histogram(x, 3, weights=x * x),
    "weights density": lambda x: np.histogram(x, EDGES, weights=x * x, density=True),
    "2d": lambda x: np.histogram2d(x[:15], x[15:], 3),
    "2d pair": lambda x: np.histogram2d(x[:15], x[15:], (3, 4), density=True),
    "2d edges": lambda x: np.histogram2d(x[:15], x[15:], EDGES),
    "2d weights": lambda x: np.histogram2d(x[:15], x[15:], [3, EDGES], weights=x[:15] ** 2),
    "2d range": lambda x: np.histogram2d(x[:15], x[15:], 3, range=[(-1, 1), (-0.5, 0.5)]),
    "dd": lambda x: np.histogramdd(np.reshape(x, (10, 3)), 2),
    "dd vector": lambda x: np.histogramdd(x, 4),
    "bin edges": lambda x: np.histogram_bin_edges(x, 4),
}


def leaves(out):
    return [np.asarray(v) for part in (out if isinstance(out, tuple) else (out,)) for v in (part if isinstance(part, list) else [part])]


@pytest.mark.parametrize("name", HISTOGRAMS)
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8"])
def test_histograms(name, dtype):
    call = HISTOGRAMS[name]
    x = (S if dtype != "i8" else np.arange(30) % 7 - 3).astype(dtype)
    with np.errstate(invalid="ignore", divide="ignore"):
        expected = leaves(call(x))
    for out in (fd.jit(call)(x), fd.jvp(call, (S,), (S,))[0] if dtype == "f8" else fd.jit(call)(x)):
        for got, want in zip(leaves(out), expected, strict=True):
            assert (got.shape, got.dtype) == (want.shape, want.dtype)
            np.testing.assert_allclose(got, want, rtol=1e-5 if dtype == "f4" else 1e-13)
    for got, want in zip(leaves(fd.vmap(call)(x[None])), expected, strict=True):
        np.testing.assert_allclose(got[0], want, rtol=1e-5 if dtype == "f4" else 1e-13)


@pytest.mark.parametrize("name", HISTOGRAMS)
def test_derivatives_of_histograms(name):
    """Of the edges, the weights and the densities; the range is that of the data."""
    call = HISTOGRAMS[name]
    check_grads(lambda x: tuple(v for v in leaves_of(call(x)) if v.dtype.kind == "f"), (S,), order=2)


def leaves_of(out):
    return [v for part in (out if isinstance(out, tuple) else (out,)) for v in (part if isinstance(part, list) else [part])]


@pytest.mark.parametrize("bins", ["auto", "fd", "sturges", "sqrt"])
def test_estimators_are_asked_for_the_number_of_bins(bins):
    expected = np.histogram(S, bins)
    found = fd.jvp(lambda x: np.histogram(x, bins), (S,), (S,))[0]
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-15)


def test_one_value():
    x = np.array([2.0, 2.0])
    for got, want in zip(fd.jit(lambda x: np.histogram(x, 3))(x), np.histogram(x, 3), strict=True):
        np.testing.assert_allclose(got, want)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda x: np.cov(np.ones((2, 2, 2)) * x[0]), ValueError),
        (lambda x: np.cov(x, ddof=0.5), ValueError),
        (lambda x: np.cov(x, fweights=[0.5] * 4), TypeError),
        (lambda x: np.cov(x, aweights=[-1.0] * 4), ValueError),
        (lambda x: np.cov(x, aweights=[1.0]), RuntimeError),
        (lambda x: np.histogram(x, 0), ValueError),
        (lambda x: np.histogram(x, 1.5), TypeError),
        (lambda x: np.histogram(x, [1.0, 0.0]), ValueError),
        (lambda x: np.histogram(x, range=(1.0, 0.0)), ValueError),
        (lambda x: np.histogram(x, range=(0.0, np.inf)), ValueError),
        (lambda x: np.histogram(x, weights=[1.0]), ValueError),
        (lambda x: np.histogram(x, "fd", weights=x), TypeError),
        (lambda x: np.histogramdd(np.reshape(x, (2, 2)), [3]), ValueError),
        (lambda x: np.histogram2d(x, x[1:]), ValueError),
    ],
)
def test_what_numpy_refuses(call, error):
    for tried in (call, lambda x: fd.jvp(call, (x,), (x,))):
        with pytest.raises(error):
            tried(V)
