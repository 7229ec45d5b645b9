"""Random operands and the check that the tests of products and of np.linalg share."""

import numpy as np

import functad as fd

RANDOM = np.random.default_rng(11)
START = RANDOM.bit_generator.state


def real(*shape):
    return RANDOM.uniform(-1, 1, shape)


def complex_(*shape):
    return real(*shape) + 1j * real(*shape)


def tangent(x):
    return np.asarray(complex_(*np.shape(x)) if np.iscomplexobj(x) else real(*np.shape(x)), np.asarray(x).dtype)[()]


def check(function, *xs, tolerance=1e-7):
    """Value, shape and dtype are NumPy's; the tangent is the difference's; <ct, J t> is <J^T ct, t>."""
    expected = np.asarray(function(*xs))
    ts = [tangent(x) for x in xs]
    value, change = fd.jvp(function, xs, tuple(ts))
    assert np.shape(value) == expected.shape
    assert np.asarray(value).dtype == expected.dtype
    np.testing.assert_allclose(value, expected, rtol=1e-10, atol=1e-12)

    def central(h):
        up, down = (function(*[x + s * h * t for x, t in zip(xs, ts, strict=True)]) for s in (1, -1))
        return (np.asarray(up) - np.asarray(down)) / (2 * h)

    difference = (64 * central(1e-4) - 20 * central(2e-4) + central(4e-4)) / 45  # Richardson, O(h^6); kinks are further away
    np.testing.assert_allclose(change, difference, rtol=tolerance, atol=tolerance)
    ct = tangent(value)
    pulled = fd.vjp(function, *xs)[1](ct)
    pulled = pulled if isinstance(pulled, tuple) else (pulled,)
    for p, x in zip(pulled, xs, strict=True):
        assert np.shape(p) == np.shape(x)
    right = sum(np.sum(p * t) for p, t in zip(pulled, ts, strict=True))
    np.testing.assert_allclose(np.real(np.sum(ct * change)), np.real(right), rtol=1e-8, atol=1e-10)
