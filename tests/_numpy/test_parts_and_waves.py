"""Parts of numbers, whole numbers, and np.sinc, np.i0, np.unwrap: values and dtypes are NumPy's, derivatives those of high precision."""

import itertools

import mpmath
import numpy as np
import pytest

import functad as fd
from functad.testing import check_grads

DTYPES = [np.bool_, np.int8, np.uint8, np.int32, np.int64, np.uint64, np.float32, np.float64]
RAW = np.array([0, 1, 2, 3, 7, 12])


def arguments(count):
    """Arrays of each pair of dtypes, and Python numbers beside them."""
    for dtypes in itertools.product(DTYPES, repeat=count):
        yield [np.roll(RAW, k).astype(d) for k, d in enumerate(dtypes)]
    if count == 2:
        for d in DTYPES:
            for number in (3, 2.5, True):
                yield [RAW.astype(d), number]
                yield [number, RAW.astype(d)]


def result(f, xs):
    """The outputs, or the kind of error."""
    try:
        with np.errstate(all="ignore"):
            out = f(*xs)
    except TypeError:
        return TypeError
    return out if isinstance(out, tuple) else (out,)


def traced(ufunc, xs):
    """Python numbers stand in the function, as users write them."""
    arrays = [x for x in xs if isinstance(x, np.ndarray)]

    def function(*arrays):
        given = iter(arrays)
        return ufunc(*[next(given) if isinstance(x, np.ndarray) else x for x in xs])

    return fd.jit(function)(*arrays)


UFUNCS = [
    np.float_power, np.fmax, np.fmin, np.logaddexp2, np.copysign, np.heaviside, np.signbit, np.ldexp, np.frexp, np.modf, np.divmod, np.nextafter,
    np.spacing, np.gcd, np.lcm, np.left_shift, np.right_shift, np.bitwise_count, np.degrees, np.rad2deg, np.radians, np.deg2rad,
]  # fmt: skip


@pytest.mark.parametrize("evaluator", ["numpy", "kernel"])
@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda u: u.__name__)
def test_values_and_dtypes_are_numpys(ufunc, evaluator):
    for xs in itertools.islice(arguments(ufunc.nin), None, None, 1 if evaluator == "numpy" else 5):
        expected = result(ufunc, xs)
        if expected is not TypeError and any(np.asarray(e).dtype == np.float16 for e in expected):
            continue  # traced values have no such dtype
        with fd.evaluator(evaluator):
            found = result(lambda *xs: traced(ufunc, xs), xs)
        if expected is TypeError or found is TypeError:
            assert found is expected, [getattr(x, "dtype", x) for x in xs]
            continue
        for a, b in zip(found, expected, strict=True):
            assert np.asarray(a).dtype == np.asarray(b).dtype, [getattr(x, "dtype", x) for x in xs]
            np.testing.assert_allclose(a, b, rtol=4e-7 if b.dtype == np.float32 else 1e-15)


SPECIAL = np.array([0.0, -0.0, 1.5, -2.0, np.inf, -np.inf, np.nan, 5e-324, 1e308])


@pytest.mark.parametrize("evaluator", ["numpy", "kernel"])
@pytest.mark.parametrize("ufunc", [np.modf, np.frexp], ids=lambda u: u.__name__)
def test_parts_of_special_numbers(ufunc, evaluator):
    with fd.evaluator(evaluator):
        found = fd.jit(lambda x: ufunc(x))(SPECIAL)
    for a, b in zip(found, ufunc(SPECIAL), strict=True):
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(np.signbit(a), np.signbit(b))


def test_shifts_are_operators():
    n = np.array([1, 5, 12])
    assert fd.jit(lambda n: ((n << 2) >> 1) + (1 << n))(n).tolist() == [4, 42, 4120]
    assert fd.jit(lambda n: 3 >> n)(1) == 1


DERIVATIVES = [  # function, arguments, derivative in each
    (np.float_power, (3.0, 2.0), (6.0, 9 * np.log(3.0))),
    (np.float_power, (0.0, 2.0), (0.0, 0.0)),
    (np.fmax, (2.0, 1.0), (1.0, 0.0)),
    (np.fmax, (np.nan, 1.0), (0.0, 1.0)),
    (np.fmax, (1.0, np.nan), (1.0, 0.0)),
    (np.fmin, (1.0, 1.0), (0.5, 0.5)),
    (np.logaddexp2, (1.0, 1.0), (0.5, 0.5)),
    (np.logaddexp2, (-np.inf, -np.inf), (0.0, 0.0)),
    (np.logaddexp2, (2000.0, -2000.0), (1.0, 0.0)),
    (np.copysign, (3.0, -0.0), (-1.0, 0.0)),
    (np.copysign, (-3.0, -1.0), (1.0, 0.0)),
    (np.copysign, (0.0, -1.0), (0.0, 0.0)),
    (np.heaviside, (0.0, 0.5), (0.0, 1.0)),
    (np.heaviside, (1.0, 0.5), (0.0, 0.0)),
    (np.nextafter, (1.0, 2.0), (1.0, 0.0)),
    (lambda x, y: np.divmod(x, y)[1], (7.5, 2.0), (1.0, -3.0)),
    (lambda x, y: np.divmod(x, y)[0], (7.5, 2.0), (0.0, 0.0)),
    (lambda x, y: np.modf(x)[0] + y, (2.0, 1.0), (1.0, 1.0)),
    (lambda x, y: np.modf(x)[1] + y, (2.5, 1.0), (0.0, 1.0)),
    (lambda x, y: np.frexp(x)[0] + y, (12.0, 1.0), (1 / 16, 1.0)),
    (lambda x, y: np.ldexp(x, 3) + np.spacing(y), (1.0, 1.0), (8.0, 0.0)),
]


@pytest.mark.parametrize("wrapped", [lambda f: f, fd.jit], ids=["numpy", "kernel"])
@pytest.mark.parametrize(("f", "xs", "expected"), DERIVATIVES)
def test_derivatives(f, xs, expected, wrapped):
    np.testing.assert_allclose(wrapped(fd.grad(f, (0, 1)))(*xs), expected, rtol=1e-15)
    for i, e in enumerate(expected):
        ts = [float(i == j) for j in range(2)]
        np.testing.assert_allclose(fd.jvp(f, xs, ts)[1], e, rtol=1e-15)


# ---- sinc, i0


def nth(f, n):
    for _ in range(n):
        f = fd.grad(f)
    return f


@pytest.mark.parametrize("wrapped", [lambda f: f, fd.jit], ids=["numpy", "kernel"])
@pytest.mark.parametrize("order", [0, 1, 2, 3])
@pytest.mark.parametrize("x", [0.0, -0.0, 1e-200, 1e-8, 1e-3, -0.1, 0.6, 0.64, 1.0, -1.3, 7.77, 1000.1])
def test_derivatives_of_sinc(x, order, wrapped):
    with mpmath.workdps(50):
        expected = mpmath.diff(lambda x: mpmath.sinc(mpmath.pi * x), mpmath.mpf(x), order, h=mpmath.mpf(10) ** -12)
    scale = np.pi**order / (1 + abs(np.pi * x))  # of the envelope: beside its zeros a wave is right to that
    np.testing.assert_allclose(wrapped(nth(np.sinc, order))(x), float(expected), rtol=1e-14, atol=1e-14 * max(1.0, abs(x)) * scale)


@pytest.mark.parametrize("order", [0, 1, 2, 3])
@pytest.mark.parametrize("x", [0.0, 1e-200, 1e-8, -1e-3, 0.5, 3.0, -8.0, 29.9, 30.1, 200.0, -700.0])
def test_derivatives_of_i0(x, order):
    with mpmath.workdps(50):
        expected = float(mpmath.diff(lambda x: mpmath.besseli(0, x), mpmath.mpf(x), order, h=mpmath.mpf(10) ** -12))
    np.testing.assert_allclose(nth(np.i0, order)(x), expected, rtol=1e-14, atol=1e-190)


def test_sinc_and_i0_of_arrays_and_other_dtypes():
    x = np.linspace(-3, 3, 7)
    for f in (np.sinc, np.i0):
        for given in (x, x.astype(np.float32), x.astype(int)):
            found = fd.jit(lambda x, f=f: f(x))(given)
            assert found.dtype == f(given).dtype
            np.testing.assert_allclose(
                found, f(given), rtol=1e-6 if given.dtype == np.float32 else 1e-15, atol=1e-7 if given.dtype == np.float32 else 1e-16
            )
    np.testing.assert_allclose(fd.hessian(lambda x: np.sum(np.sinc(x)))(np.zeros(2)), np.diag([-(np.pi**2) / 3] * 2), rtol=1e-15)
    z = np.array([0.0, 0.3 + 0.2j])
    np.testing.assert_allclose(fd.jit(lambda z: np.sinc(z))(z), np.sinc(z), rtol=1e-15)


# ---- unwrap

ANGLES = np.array([[0.0, 3.0, 6.5, 10.0, 3.0], [0.0, np.pi, -np.pi, 2.0, -8.0]])


@pytest.mark.parametrize("evaluator", ["numpy", "kernel"])
@pytest.mark.parametrize("options", [{}, {"axis": 0}, {"period": 3.0}, {"discont": 4.0}, {"discont": 1.0, "axis": -1, "period": 2.0}])
def test_unwrap(options, evaluator):
    with fd.evaluator(evaluator):
        found = fd.jit(lambda p: np.unwrap(p, **options))(ANGLES)
    np.testing.assert_array_equal(found, np.unwrap(ANGLES, **options))


@pytest.mark.parametrize("period", [4, 5, 360])
def test_unwrap_of_whole_numbers(period):
    p = np.array([0, 1, 4, 9, 2, -3, 180, -180, 7])
    found = fd.jit(lambda p: np.unwrap(p, period=period))(p)
    assert found.dtype == np.unwrap(p, period=period).dtype
    assert found.tolist() == np.unwrap(p, period=period).tolist()


def test_what_unwrap_adds_is_constant():
    p = np.array([0.3, 3.0, 6.9, 10.0, -3.0])
    assert fd.jacobian(np.unwrap)(p).tolist() == np.eye(5).tolist()
    check_grads(lambda p: np.unwrap(p, period=2.5), (p,))
    assert fd.grad(lambda p: np.unwrap(p)[0])(np.ones(1)).tolist() == [1.0]
