"""np.convolve and np.correlate against NumPy: every mode and length, dtypes, derivatives in both arguments."""

import numpy as np
import pytest

import functad as fd
from functad.testing import check_grads

DATA = np.sin(np.arange(1.0, 8.0) ** 2)
PAIRS = [(n, m) for n in (1, 2, 3, 4, 7) for m in (1, 2, 3, 4, 7)]


@pytest.mark.parametrize("mode", ["valid", "same", "full"])
@pytest.mark.parametrize("function", [np.convolve, np.correlate])
@pytest.mark.parametrize("dtypes", ["dd", "ff", "DD", "dD", "ld", "ll", "fd", "??", "Fd", "bB"])
def test_values(function, mode, dtypes):
    for n, m in PAIRS:
        x, y = ((DATA[:k] * 3 * (1 if c in "fdlbB?" else 1 + 1j)).astype(c) for k, c in ((n, dtypes[0]), (m, dtypes[1])))
        y = y[::-1]
        expected = function(x, y, mode)
        call = lambda x, y: function(x, y, mode)
        for got in (fd.jit(call)(x, y), fd.vmap(call)(x[None], y[None])[0], fd.vmap(call, (0, None))(x[None], y)[0]):
            assert (got.shape, got.dtype) == (expected.shape, expected.dtype)
            np.testing.assert_allclose(got, expected, rtol=1e-5 if expected.dtype.char in "fF" else 1e-14, atol=1e-6)


@pytest.mark.parametrize("mode", ["valid", "same", "full"])
@pytest.mark.parametrize("function", [np.convolve, np.correlate])
def test_derivatives(function, mode):
    call = lambda x, y: function(x, y, mode)
    for n, m in ((1, 1), (4, 2), (3, 3), (2, 5)):
        check_grads(call, (DATA[:n], DATA[2 : 2 + m]), order=2)
        check_grads(call, (DATA[:n] * 1j + 1, DATA[2 : 2 + m]), order=1)
    check_grads(lambda x: call(x, DATA[2:5]), (DATA[:4],), order=1)


def test_infinities_stay_where_they_are():
    """The ends of a full convolution are sums over what there is: no zero beside an infinity."""
    x = np.array([1.0, np.inf, 2.0])
    np.testing.assert_array_equal(fd.jit(lambda x: np.convolve(x, [1.0, 2.0]))(x), np.convolve(x, [1.0, 2.0]))
    with np.errstate(invalid="ignore"):
        expected = np.convolve(x, [1.0, 0.0])
    np.testing.assert_array_equal(fd.jit(lambda x: np.convolve(x, [1.0, 0.0]))(x), expected)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda x: np.convolve(x, []), ValueError),
        (lambda x: np.convolve(x, x, "wide"), ValueError),
        (lambda x: np.correlate(x, np.ones((2, 2))), ValueError),
    ],
)
def test_what_numpy_refuses(call, error):
    for tried in (call, fd.jit(call)):
        with pytest.raises(error):
            tried(DATA)
