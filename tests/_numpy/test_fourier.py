"""np.fft against NumPy: values, dtypes, derivatives in both modes, mapped and compiled."""

import numpy as np
import pytest

import functad as fd
from functad.testing import check_grads

X = np.sin(np.arange(24.0) ** 2).reshape(2, 3, 4)
Z = X + 1j * np.cos(np.arange(24.0)).reshape(2, 3, 4)
NORMS = (None, "backward", "ortho", "forward")

ONE_AXIS = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
MANY_AXES = ("fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn")
OF_REAL = ("rfft", "ihfft", "rfft2", "rfftn")


def calls():
    for name in ONE_AXIS:
        function = getattr(np.fft, name)
        for axis, norm in zip((-1, 0, 1, 2), NORMS, strict=True):
            yield f"{name} {axis}", name, lambda x, f=function, a=axis, norm=norm: f(x, axis=a, norm=norm)
        for n in (1, 2, 3, 5, 6):
            yield f"{name} n={n}", name, lambda x, f=function, n=n: f(x, n, 1)
    for name in MANY_AXES:
        function = getattr(np.fft, name)
        yield name, name, lambda x, f=function: f(x)
        yield f"{name} axes", name, lambda x, f=function: f(x, axes=(0, 1), norm="ortho")
        yield f"{name} s", name, lambda x, f=function: f(x, (2, 5), axes=(2, 0), norm="forward")
        yield f"{name} whole", name, lambda x, f=function: f(x, s=(-1, 3), axes=(1, 1))
    for name in ("fftshift", "ifftshift"):
        function = getattr(np.fft, name)
        yield name, name, lambda x, f=function: f(x)
        yield f"{name} axis", name, lambda x, f=function: f(x, 1)
        yield f"{name} axes", name, lambda x, f=function: f(x, axes=(0, -1))


CALLS = list(calls())


@pytest.mark.parametrize(("name", "call"), [pytest.param(n, c, id=i) for i, n, c in CALLS])
@pytest.mark.parametrize("dtype", ["f8", "f4", "c16", "c8", "i8", "?"])
def test_value_and_dtype(name, call, dtype):
    x = Z.astype(dtype) if dtype[0] == "c" else X.astype(dtype)
    if dtype[0] == "c" and name in OF_REAL:
        with pytest.raises(TypeError):
            fd.jit(call)(x)
        return
    expected = call(x)
    single = expected.dtype in (np.float32, np.complex64)
    for got in (fd.jit(call)(x), fd.make_program(call)(x) and fd.vmap(call)(x[None])[0]):
        assert (got.shape, got.dtype) == (expected.shape, expected.dtype)
        np.testing.assert_allclose(got, expected, rtol=1e-5 if single else 1e-13, atol=1e-5 if single else 1e-13)


@pytest.mark.parametrize(("name", "call"), [pytest.param(n, c, id=i) for i, n, c in CALLS])
def test_derivatives(name, call):
    check_grads(call, (X,), order=1)
    if name not in OF_REAL:
        check_grads(call, (Z,), order=1)


@pytest.mark.parametrize("name", ONE_AXIS)
def test_second_derivatives(name):
    function = getattr(np.fft, name)
    check_grads(lambda x: np.abs(function(np.sin(x), norm="ortho")) ** 2, (X[0],), order=2)


def test_gradient_of_a_power_spectrum_of_odd_length():
    gradient = fd.grad(lambda x: np.sum(np.abs(np.fft.rfft(x)) ** 2 * np.array([1.0, 3.0])))(np.array([1.0, 2.0, 4.0]))
    np.testing.assert_allclose(gradient, [2.0, 11.0, 29.0], rtol=1e-14)


def test_convolution_by_transforms_in_a_kernel():
    """What stands before and behind a transform is compiled, single precision stays single."""
    x, y = X[0, 0].astype("f4"), X[1, 0].astype("f4")
    gradient = fd.jit(fd.grad(lambda x: np.sum(np.fft.irfft(np.fft.rfft(np.sin(x)) * np.fft.rfft(y), 4) ** 2)))(x)
    circulant = np.array([[y[(i - j) % 4] for j in range(4)] for i in range(4)])
    np.testing.assert_allclose(gradient, 2 * circulant.T @ (circulant @ np.sin(x)) * np.cos(x), rtol=1e-5)
    assert gradient.dtype == np.float32


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda x: np.fft.fft(x, 0), ValueError),
        (lambda x: np.fft.fft(x, norm="unitary"), ValueError),
        (lambda x: np.fft.fft(x, axis=3), IndexError),
        (lambda x: np.fft.fftn(x, (2, 2), axes=(0,)), ValueError),
        (lambda x: np.fft.irfft(x[..., :1]), ValueError),
        (lambda x: np.fft.fftn(x, (2, 2)), DeprecationWarning),
    ],
)
def test_what_numpy_refuses(call, error):
    with pytest.raises(error) as expected:
        call(X)
    with pytest.raises(error) as found:
        fd.jit(call)(X)
    assert str(found.value)[:20] == str(expected.value)[:20] or error is not ValueError
