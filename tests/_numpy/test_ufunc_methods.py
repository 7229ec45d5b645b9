"""reduce, accumulate, reduceat and outer of every ufunc that has them, against NumPy."""

import numpy as np
import pytest

import functad as fd
from functad._numpy.dispatch import DOORS
from functad.errors import MutationError, UnsupportedArgumentError, UnsupportedFunctionError
from functad.testing import check_grads

X = np.array([[1.5, -0.75, 2.0, 1.25], [3.0, 0.25, 1.0, -2.0], [1.25, 2.5, -0.5, 0.5]])
CUBE = np.abs(np.sin(np.arange(1.0, 25.0) ** 2)).reshape(2, 3, 4) + 0.5
INTEGERS = np.arange(1, 13).reshape(3, 4)

REDUCED = sorted({k[0].__name__ for k in DOORS if isinstance(k, tuple) and k[1] == "reduce"})
SMOOTH = ("add", "multiply", "maximum", "minimum", "logaddexp", "hypot", "subtract", "divide")


def same(found, expected, dtype="f8"):
    assert (found.shape, found.dtype) == (np.shape(expected), np.asarray(expected).dtype)
    np.testing.assert_allclose(found, expected, rtol=1e-5 if dtype == "f4" else 1e-13, atol=1e-6 if dtype == "f4" else 1e-14)


def calls(ufunc):
    def of(method, *args, **kwargs):
        return lambda x: getattr(ufunc, method)(x, *args, **kwargs)

    many = ufunc.identity is not None or ufunc.__name__ in ("maximum", "minimum", "fmax", "fmin")
    yield of("reduce")
    yield of("reduce", axis=-1)
    yield of("reduce", axis=1, keepdims=True)
    yield of("reduce", initial=2)
    yield of("reduce", 0, where=np.array([[True], [False], [True]]), initial=1)
    if many:
        yield of("reduce", axis=(0, 1))
        yield of("reduce", axis=None)
        yield of("reduce", axis=None, keepdims=True)
    yield of("accumulate")
    yield of("accumulate", axis=1)
    yield of("reduceat", [0, 2, 1])
    yield of("reduceat", [1, 1], axis=1)


@pytest.mark.parametrize("name", REDUCED)
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "?"])
def test_values(name, dtype):
    ufunc = getattr(np, name)
    x = (INTEGERS % 5 + 1 if dtype in ("i8", "i4", "?") else CUBE[0]).astype(dtype)
    tried = 0
    for call in calls(ufunc):
        try:
            with np.errstate(all="ignore"):
                expected = call(x)
        except (TypeError, ValueError) as error:
            with pytest.raises((type(error), UnsupportedArgumentError)):
                fd.vmap(call)(x[None])
            continue
        if np.asarray(expected).dtype == np.float16 or (dtype == "?" and np.asarray(expected).dtype == np.int8):
            continue
        same(fd.vmap(call)(x[None])[0], expected, dtype)
        if not tried:
            same(fd.jit(call)(x), expected, dtype)
        tried += 1
    assert tried or dtype in ("?", "f8", "f4")


@pytest.mark.parametrize("name", [n for n in REDUCED if n in SMOOTH])
def test_derivatives(name):
    ufunc = getattr(np, name)
    for call in calls(ufunc):
        check_grads(call, (CUBE[0],), order=2, rtol=1e-5, atol=1e-5)


def test_lengths():
    for n in range(1, 9):
        x = np.cos(np.arange(n) ** 2)
        for ufunc in (np.logaddexp, np.subtract, np.hypot):
            same(fd.vmap(ufunc.reduce)(x[None])[0], ufunc.reduce(x))
            same(fd.vmap(ufunc.accumulate)(x[None])[0], ufunc.accumulate(x))


def test_nothing_to_reduce():
    x = np.zeros((0, 2))
    same(fd.jit(np.logaddexp.reduce)(x), np.logaddexp.reduce(x))
    for call in (np.subtract.reduce, fd.jit(np.subtract.reduce)):
        with pytest.raises(ValueError, match="no identity"):
            call(x)


def test_dtype():
    x = np.arange(4, dtype="f4")
    for ufunc in (np.add, np.maximum, np.logaddexp, np.subtract):
        for method in ("reduce", "accumulate"):
            call = lambda x, ufunc=ufunc, method=method: getattr(ufunc, method)(x, dtype=np.float64)
            same(fd.jit(call)(x), call(x))
        call = lambda x, ufunc=ufunc: ufunc.reduceat(x, [0, 2], dtype=np.float64)
        same(fd.jit(call)(x), call(x))


@pytest.mark.parametrize("name", ["add", "multiply", "subtract", "divide", "less", "maximum", "logaddexp", "power"])
def test_outer(name):
    ufunc = getattr(np, name)
    for call in (lambda x: ufunc.outer(x, [2.0, 3.0]), lambda x: ufunc.outer(2, x), lambda x: ufunc.outer(x, x)):
        same(fd.jit(call)(CUBE[0]), call(CUBE[0]))
        check_grads(lambda x, call=call: call(x) * 1.0, (CUBE[0],), order=1)


@pytest.mark.parametrize(
    ("call", "cure"),
    [
        (lambda x: np.add.at(x, [0, 1], 1.0), r"x \+ np\.bincount\(i, weights=v, minlength=x\.size\)"),
        (lambda x: np.add.at(np.zeros(4), [0, 1, 1, 2], x), "np.bincount"),
        (lambda x: np.subtract.at(x, [0, 1], 1.0), r"x - np\.bincount"),
        (lambda x: np.multiply.at(x, [0, 1], 2.0), r"np\.where\(mask, np\.multiply\(x, v\), x\)"),
        (lambda x: np.negative.at(x, [0, 1]), r"np\.where\(mask, np\.negative\(x\), x\)"),
    ],
)
def test_at_is_refused_with_its_cure(call, cure):
    with pytest.raises(MutationError, match=cure):
        fd.jacobian(call)(X[0])


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda x: np.subtract.reduce(x, axis=(0, 1)), ValueError),
        (lambda x: np.subtract.reduce(x, where=x > 0), ValueError),
        (lambda x: np.add.reduceat(x, [0, 7]), IndexError),
        (lambda x: np.maximum.accumulate(x, axis=5), ValueError),
    ],
)
def test_what_numpy_refuses(call, error):
    for tried in (call, fd.jit(call)):
        with pytest.raises(error):
            tried(X)


def test_a_long_axis_is_not_run_through():
    with pytest.raises(UnsupportedArgumentError, match=r"functad\.scan"):
        fd.jit(np.subtract.reduce)(np.ones(2000))
    assert fd.jit(np.logaddexp.reduce)(np.zeros(2000)) == pytest.approx(np.log(2000))


def test_comparisons_are_not_folded():
    with pytest.raises(UnsupportedFunctionError, match=r"np\.less\.reduce"):
        fd.jit(np.less.reduce)(X)
