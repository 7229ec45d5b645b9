"""The oracles of this folder: NumPy's value, Richardson differences, the adjoint identity, and a loop for the mapped function."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import functad as fd


def _leaves(out: Any) -> list[Any]:
    return [np.asarray(x) for x in (out if isinstance(out, (tuple, list)) else [out])]


def _difference(f: Callable[..., Any], x: Any, t: Any, h: float) -> list[Any]:
    return [(a - b) / (2 * h) for a, b in zip(_leaves(f(x + h * t)), _leaves(f(x - h * t)), strict=True)]


def _tangents(f: Callable[..., Any], x: Any, t: Any) -> list[Any]:
    """Central differences, extrapolated once."""
    coarse, fine = _difference(f, x, t, 2e-4), _difference(f, x, t, 1e-4)
    return [(4 * b - a) / 3 for a, b in zip(coarse, fine, strict=True)]


def _agrees(f: Callable[[Any], Any], x: Any, *, smooth: bool = True, mapped: bool = True) -> None:
    expected = f(x)
    random = np.random.default_rng(3)
    t = random.normal(size=np.shape(x)).astype(x.dtype)
    value, tangent = fd.jvp(f, (x,), (t,))
    assert isinstance(value, type(expected)) or not isinstance(expected, (tuple, list))
    for got, want in zip(_leaves(value), _leaves(expected), strict=True):
        assert got.shape == want.shape
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=1e-13 if want.dtype.itemsize >= 8 else 1e-6, atol=1e-14)
    inexact = [np.asarray(v).dtype.kind in "fc" for v in _leaves(expected)]
    if not smooth or not any(inexact):
        return
    numeric = _tangents(f, x, t)
    for got, want, real in zip(_leaves(tangent), numeric, inexact, strict=True):
        if real:
            np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-7)
    out, pull = fd.vjp(f, x)
    cts = [random.normal(size=v.shape) if r else np.zeros(v.shape, v.dtype) for v, r in zip(_leaves(out), inexact, strict=True)]
    if all(inexact):
        ct = type(out)(cts) if isinstance(out, (tuple, list)) else out * 0 + cts[0]
        (back,) = pull(ct)
        np.testing.assert_allclose(np.sum(back * t), sum(np.sum(c * w) for c, w in zip(cts, _leaves(tangent), strict=True)), rtol=1e-9, atol=1e-9)
    if mapped:
        xs = np.stack([x, x[::-1] * 1.25 if x.ndim else x + 1.0])
        rows = [_leaves(f(row)) for row in xs]
        for i, got in enumerate(_leaves(fd.vmap(f)(xs))):
            np.testing.assert_allclose(got, np.stack([r[i] for r in rows]), rtol=1e-12, atol=1e-13)


@pytest.fixture
def agrees() -> Callable[..., None]:
    """`agrees(f, x)`: value, dtype, tangent, cotangent and mapped value of f at x are those of plain NumPy."""
    return _agrees
