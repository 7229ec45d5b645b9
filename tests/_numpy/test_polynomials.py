"""Polynomials, zeros trimmed, and samples between ends, against NumPy."""

import numpy as np
import pytest

import functad as fd
from functad.errors import UnsupportedFunctionError
from functad.testing import check_grads

P = np.array([1.5, -2.0, 0.25, 3.0])
Q = np.array([0.5, 2.0])
X = np.array([0.3, -1.25, 2.0, 0.7, 1.1])
A = X[:4].reshape(2, 2)

CALLS = {
    "polyval": (P, lambda p: np.polyval(p, X)),
    "polyval x": (X, lambda x: np.polyval(P, x)),
    "polyval both": (X, lambda x: np.polyval(x, x)),
    "polyval poly1d": (X, lambda x: np.poly1d(P)(x)),
    "polyval matrix": (A, lambda x: np.polyval([1, 2, 3], x)),
    "polyval number": (P, lambda p: np.polyval(p, 2.0)),
    "polyadd": (P, lambda p: np.polyadd(p, Q)),
    "polyadd longer": (Q, lambda p: np.polyadd(p, P)),
    "polysub": (P, lambda p: np.polysub(Q, p)),
    "polymul": (P, lambda p: np.polymul(p, Q)),
    "polymul itself": (P, lambda p: np.polymul(p, p)),
    "polydiv": (P, lambda p: np.polydiv(p, Q)),
    "polydiv by": (Q, lambda p: np.polydiv(P, p)),
    "polydiv longer": (P, lambda p: np.polydiv(Q, p)),
    "polyder": (P, lambda p: np.polyder(p)),
    "polyder 2": (P, lambda p: np.polyder(p, 2)),
    "polyder 0": (P, lambda p: np.polyder(p, 0)),
    "polyint": (P, lambda p: np.polyint(p)),
    "polyint 2": (P, lambda p: np.polyint(p, 2, [1.0, 2.0])),
    "polyint k": (Q, lambda k: np.polyint(P, 2, k)),
    "poly": (X, lambda x: np.poly(x)),
    "vander": (X, lambda x: np.vander(x)),
    "vander N": (X, lambda x: np.vander(x, 3)),
    "vander rising": (X, lambda x: np.vander(x, 4, increasing=True)),
    "vander 1": (X, lambda x: np.vander(x, 1)),
    "vander 0": (X, lambda x: np.vander(x, 0)),
    "polyfit": (np.sin(X), lambda y: np.polyfit(X, y, 2)),
    "polyfit x": (X, lambda x: np.polyfit(x, np.sin(X), 1)),
    "polyfit w": (np.cos(X) + 2, lambda w: np.polyfit(X, np.sin(X), 2, w=w)),
    "polyfit 2d": (np.sin(np.stack([X, 2 * X], axis=1)), lambda y: np.polyfit(X, y, 2)),
    "polyfit cov": (np.sin(X), lambda y: np.polyfit(X, y, 2, cov=True)),
    "polyfit unscaled": (X, lambda x: np.polyfit(x, np.sin(X), 2, cov="unscaled")),
    "trim_zeros": (np.array([0.0, 1.0, 0.0, 2.0, 0.0]), lambda x: np.trim_zeros(x)),
    "trim_zeros f": (np.array([0.0, 1.0, 0.0, 2.0, 0.0]), lambda x: np.trim_zeros(x, "f")),
    "trim_zeros b": (np.array([0.0, 1.0, 0.0, 2.0, 0.0]), lambda x: np.trim_zeros(x, "b")),
    "trim_zeros all": (np.zeros(3), lambda x: np.trim_zeros(x)),
    "geomspace": (np.array([1.0, 100.0]), lambda x: np.geomspace(x[0], x[1], 4)),
    "geomspace open": (np.array([1.0, 100.0]), lambda x: np.geomspace(x[0], x[1], 4, endpoint=False)),
    "geomspace falls": (np.array([-8.0, -2.0]), lambda x: np.geomspace(x[0], x[1], 3)),
    "geomspace rows": (A + 2, lambda x: np.geomspace(x, 3 * x, 3, axis=-1)),
    "geomspace one": (np.array([2.0, 3.0]), lambda x: np.geomspace(x[0], x[1], 1)),
    "logspace": (np.array([0.5, 1.5]), lambda x: np.logspace(x[0], x[1], 4)),
    "logspace base": (np.array([0.5, 1.5]), lambda x: np.logspace(0.0, x[0], 4, base=x[1])),
}
VALUES = ("polydiv", "polymul", "trim")  # what asks for values has none under jit and vmap


@pytest.mark.parametrize("name", CALLS)
def test_values_and_derivatives(name, agrees):
    x, call = CALLS[name]
    agrees(call, x, mapped=not name.startswith(VALUES) and name != "polyfit cov", smooth=not name.startswith("trim"))
    if not name.startswith("trim"):
        check_grads(call, (x,), order=2, rtol=1e-5, atol=1e-5)
    if not name.startswith(VALUES):
        expected, found = call(x), fd.jit(call)(x)
        for got, want in zip(*[v if isinstance(v, tuple) else (v,) for v in (found, expected)], strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", [n for n in CALLS if not n.startswith(("polyfit", *VALUES))])
@pytest.mark.parametrize("dtype", ["f4", "i4"])
def test_dtypes(name, dtype):
    x, call = CALLS[name]
    x = np.round(x * 4).astype(dtype)
    expected = call(x)
    assert [(t.shape, t.dtype) for t in fd.make_program(call)(x).output_types] == [(expected.shape, expected.dtype)]


def test_complex_roots():
    z = np.array([1.0 + 2.0j, 1.0 - 2.0j, 0.5 + 0.0j])
    value, _ = fd.jvp(np.poly, (z,), (z,))
    np.testing.assert_allclose(value, np.poly(z))
    assert value.dtype == np.float64
    np.testing.assert_allclose(fd.jvp(np.poly, (z[:1],), (z[:1],))[0], np.poly(z[:1]))


def test_leading_zeros_are_dropped_in_products():
    p = np.array([0.0, 0.0, 1.0, 2.0])
    np.testing.assert_array_equal(fd.jvp(lambda p: np.polymul(p, Q), (p,), (p,))[0], np.polymul(p, Q))
    np.testing.assert_array_equal(fd.jvp(lambda p: np.polymul(p, Q), (0 * p,), (p,))[0], np.polymul(0 * p, Q))


@pytest.mark.parametrize("call", [lambda x: np.roots(x), lambda x: np.poly(np.outer(x, x))])
def test_eigenvalues_are_refused_with_a_reason(call):
    with pytest.raises(UnsupportedFunctionError, match="eigenvalues"):
        fd.jacobian(call)(P)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda x: np.polyder(x, -1), ValueError),
        (lambda x: np.polyint(x, -1), ValueError),
        (lambda x: np.polyint(x, 3, [1.0, 2.0]), ValueError),
        (lambda x: np.polyfit(x, x, -1), ValueError),
        (lambda x: np.polyfit(x, x[:2], 1), TypeError),
        (lambda x: np.polyfit(x, x, 1, w=x[:2]), TypeError),
        (lambda x: np.vander(np.outer(x, x)), ValueError),
        (lambda x: np.trim_zeros(x, "x"), ValueError),
        (lambda x: np.poly(np.outer(x, x)[:2]), ValueError),
    ],
)
def test_what_numpy_refuses(call, error):
    for tried in (call, lambda x: fd.jvp(call, (x,), (x,))):
        with pytest.raises(error):
            tried(P)
