"""check_grads accepts what is right and says what is wrong."""

from collections import namedtuple

import numpy as np
import pytest

import functad as fd
from functad.errors import IntegerInputError, UnsupportedArgumentError
from functad.testing import check_grads

X = np.array([0.6, 1.3, 2.0])
Pair = namedtuple("Pair", ["a", "b"])


def cut(x):
    """x, as a constant: makes a function whose derivative is wrong by a known part."""
    return fd.stop_gradient(x)


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("modes", [("fwd",), ("rev",), ("fwd", "rev"), "rev"])
def test_right_derivatives_pass(order, modes):
    check_grads(lambda x, y: np.sin(x) * np.exp(y) + x**3, (X, 0.3), order, modes)


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (lambda p: p["w"] @ p["x"][0] + p["x"][1], ({"w": np.ones((2, 3)), "x": (X, 2.0)},)),
        (lambda p: {"sum": np.sum(p.a * p.b), "parts": [p.a**2, None]}, (Pair(X, X[::-1].copy()),)),
        (lambda z: z**2 * np.conj(z), (np.array([1 + 2j, 0.5 - 1j]),)),
        (lambda z: np.abs(z), (np.array([1 + 2j, 0.5 - 1j]),)),
        (lambda x: np.argsort(x), (X,)),
        (lambda x: 2.0, (X,)),
        (lambda x: x * 2, (3,)),
        (lambda x: x, (np.array(2.0),)),
        (lambda x: x, (np.zeros((0, 2)),)),
        (fd.grad(lambda x: np.sum(np.tanh(x) ** 2)), (X,)),
        (fd.jit(lambda x: np.cumprod(x)), (X,)),
        (fd.vmap(lambda x: x * np.cos(x)), (X,)),
    ],
    ids=["dict", "named tuple", "complex", "modulus", "integers", "constant", "Python int", "0-d", "empty", "grad", "jit", "vmap"],
)
def test_any_tree_and_dtype(f, args):
    check_grads(f, args)


def test_a_cast_within_needs_a_tolerance():
    f = lambda x: np.sum(x.astype(np.float32)) * 1.0
    check_grads(f, (X,), atol=1e-3, rtol=1e-3)
    with pytest.raises(AssertionError):
        check_grads(f, (X,))


def test_single_precision_has_its_own_step_and_tolerance():
    check_grads(lambda x: np.sin(x) * x, (X.astype(np.float32),), order=2)
    check_grads(lambda x: np.sin(x) * x, (np.float32(0.7),))


@pytest.mark.parametrize("modes", ["fwd", "rev"])
def test_wrong_derivatives_are_found(modes):
    with pytest.raises(AssertionError, match=f"order 1, {modes}: .* differs from differences of its values"):
        check_grads(lambda x: x * cut(x), (X,), modes=modes)


@pytest.mark.parametrize("modes", ["fwd", "rev"])
def test_wrong_second_derivatives_are_found(modes):
    """The first derivative 2x has a part that later derivatives do not see."""

    def f(x):
        return cut(x) * x * 2 - cut(x * x)

    with pytest.raises(AssertionError, match="order 2"):
        check_grads(f, (X,), order=2, modes=modes)
    check_grads(f, (X,), order=1, modes=modes)


def test_small_errors_are_found():
    f = lambda x: np.sin(x) + 1e-5 * cut(x)
    with pytest.raises(AssertionError):
        check_grads(f, (X,))
    check_grads(f, (X,), atol=1e-4)
    check_grads(f, (X,), rtol=1e-4, modes="fwd")


def test_the_message_says_where():
    def f(x):
        return {"good": x**2, "bad": np.stack([x, x * cut(x)])}

    with pytest.raises(AssertionError) as caught:
        check_grads(f, (X,))
    text = str(caught.value)
    assert "jvp of f" in text
    assert "output['bad'][1, 0]" in text
    assert "3 of 6 elements differ" in text


def test_modes_that_disagree_are_found(monkeypatch):
    from functad import testing

    monkeypatch.setattr(testing, "vjp", lambda f, *xs: (f(*xs), lambda ct: (3.0 * ct,)))
    with pytest.raises(AssertionError, match="rev: vjp of _double"):
        check_grads(_double, (X,))


def _double(x):
    return 2.0 * x


def test_nan_is_an_error():
    with pytest.raises(AssertionError):
        check_grads(lambda x: np.where(x > 0, np.nan, x) * x, (1.0,), modes="fwd")
    with np.errstate(invalid="ignore"), pytest.raises(AssertionError):
        check_grads(lambda x: np.where(x > 0, np.nan, x) * x, (1.0,), modes="rev")


def test_the_step_is_a_choice():
    check_grads(lambda x: np.exp(x * 1e4), (1e-4,), eps=1e-7)
    with pytest.raises(AssertionError):
        check_grads(lambda x: np.exp(x * 1e4), (1e-4,))


def test_arguments_are_left_alone():
    x = X.copy()
    x.flags.writeable = False
    check_grads(lambda x: np.sum(x**2), (x,), order=2)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: check_grads(np.sin, (X,), modes="both"), UnsupportedArgumentError),
        (lambda: check_grads(np.sin, (X,), modes=()), UnsupportedArgumentError),
        (lambda: check_grads(np.sin, X), UnsupportedArgumentError),
        (lambda: check_grads(np.sin, (X,), order=0), UnsupportedArgumentError),
        (lambda: check_grads(np.sin, (np.array([1, 2]),)), IntegerInputError),
    ],
)
def test_misuse_is_refused(call, error):
    with pytest.raises(error):
        call()


def test_a_derivative_of_another_shape_is_told_apart():
    f = lambda x: np.sum(x) if isinstance(x, fd.Tracer) else 2.0 * x
    with pytest.raises(AssertionError, match=r"the output has shape \(3,\), its derivative \(\)"):
        check_grads(f, (X,), modes="fwd")
