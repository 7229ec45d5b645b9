"""Arrays as sets, against NumPy."""

import numpy as np
import pytest

import functad as fd

X = np.array([3.0, 1.0, 2.0, 1.0, 5.0])
Y = np.array([2.0, 5.0, 7.0, 2.0])

CALLS = {
    "union1d": lambda x: np.union1d(x, Y),
    "intersect1d": lambda x: np.intersect1d(x, Y),
    "intersect1d unique": lambda x: np.intersect1d(x[1:3], Y[:3], assume_unique=True),
    "setxor1d": lambda x: np.setxor1d(x, Y),
    "setdiff1d": lambda x: np.setdiff1d(x, Y),
    "setdiff1d from": lambda x: np.setdiff1d(Y, x),
    "ix_": lambda x: np.ix_(x[:2], x),
    "ix_ mask": lambda x: np.ix_(x > 1, [0, 1]),
    "unique_values": lambda x: np.sort(np.unique_values(x)),
    "unique_counts": lambda x: np.unique_counts(x),
    "unique_inverse": lambda x: np.unique_inverse(x),
    "unique_all": lambda x: np.unique_all(x),
}


@pytest.mark.parametrize("name", CALLS)
def test_values(name):
    expected = CALLS[name](X)
    found, _ = fd.jvp(CALLS[name], (X,), (X,))
    assert type(found) is type(expected)
    for got, want in zip(*[v if isinstance(v, tuple) else (v,) for v in (found, expected)], strict=True):
        np.testing.assert_array_equal(got, want)
        assert (got.shape, got.dtype) == (want.shape, want.dtype)


def test_derivatives():
    np.testing.assert_array_equal(fd.grad(lambda x: np.sum(np.setdiff1d(x, Y) * [2.0, 3.0]))(X), [3.0, 2.0, 0.0, 0.0, 0.0])
    np.testing.assert_array_equal(fd.grad(lambda x: np.sum(np.union1d(x, [9.0])))(X), [1.0, 1.0, 1.0, 0.0, 1.0])


def test_text():
    seen = []
    fd.grad(lambda x: seen.extend([np.array_repr(x), np.array_str(x), np.array2string(x)]) or np.sum(x))(X)
    assert len(seen) == 3
    assert all(isinstance(text, str) for text in seen)
