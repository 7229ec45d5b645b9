"""Arguments as users hand them over: static ones in every spelling, foreign byte orders, axes given by trees.  The oracle is NumPy."""

import collections
import dataclasses
import functools

import numpy as np
import pytest

import functad as fd
from functad._compile.pipeline import evaluator

X = np.array([0.5, 1.5, 2.5])


def powers(x, n):
    assert type(n) is int, "n is not static"
    return x**n


class Model:
    def powers(self, x, n):
        return powers(x, n)


@pytest.mark.parametrize(
    "function", [powers, Model().powers, functools.partial(powers), functools.wraps(powers)(lambda *args, **kwargs: powers(*args, **kwargs))]
)
@pytest.mark.parametrize("options", [{"static_argnums": 1}, {"static_argnames": "n"}, {"static_argnums": 1, "static_argnames": "n"}])
def test_static_argument_by_position_and_by_name(function, options):
    jitted = fd.jit(function, **options)
    np.testing.assert_array_equal(jitted(X, 3), X**3)
    np.testing.assert_array_equal(jitted(X, n=2), X**2)
    np.testing.assert_array_equal(jitted(X, 3), X**3)


def test_static_values_that_are_equal_but_not_the_same():
    whole = np.arange(3)
    scaled = fd.jit(lambda x, n: x * n[0], static_argnums=1)
    for n in ((2,), (2.0,), (True,), (np.float32(2),)):
        assert scaled(whole, n).dtype == (whole * n[0]).dtype
    signed = fd.jit(lambda x, n: x * n, static_argnums=1)
    for n in (0.0, -0.0, 0):
        np.testing.assert_array_equal(np.signbit(signed(X, n)), np.signbit(X * n))


@pytest.mark.parametrize("name", ["numpy", "kernel"])
@pytest.mark.parametrize("code", [">f8", ">f4", ">i8", ">u2", ">c16", ">c8"])
def test_other_byte_order(name, code):
    x = np.arange(6).reshape(2, 3).astype(code)
    native = x.astype(x.dtype.newbyteorder("="))
    with evaluator(name):
        for got in (fd.jit(lambda a: a.T)(x), fd.vmap(lambda a: a)(x).T, fd.jvp(lambda s: x.T * np.True_, (1.0,), (1.0,))[0]):
            assert got.dtype == native.dtype
            assert got.dtype.isnative
            np.testing.assert_array_equal(got, native.T)
        if native.dtype.kind == "f":
            slope = fd.grad(lambda a: np.sum(a * a * x))(x)
            assert slope.dtype == native.dtype
            np.testing.assert_array_equal(slope, 2 * native * native)
            np.testing.assert_allclose(fd.grad(lambda s: np.sum(s * x))(2.0), 15.0)


@dataclasses.dataclass
class Pair:
    a: object
    b: object


Couple = collections.namedtuple("Couple", "a b")
A, B = np.arange(9.0).reshape(3, 3), np.arange(3.0)


@pytest.mark.parametrize(
    ("axes", "value"),
    [
        (Pair(1, None), Pair(A, B)),
        (Pair(np.int64(1), None), Pair(A, [B])),
        (Couple(1, None), Couple(A, B)),
        ({"a": 1, "b": None}, collections.OrderedDict([("b", B), ("a", A)])),
        (collections.OrderedDict([("a", -1), ("b", None)]), {"b": B, "a": A}),
    ],
)
def test_axes_as_trees(axes, value):
    def first(v):
        return (v["a"], v["b"]) if isinstance(v, dict) else (v.a, v.b[0] if isinstance(v.b, list) else v.b)

    def f(v):
        a, b = first(v)
        return a * 10 + b

    expected = np.stack([A[:, i] * 10 + B for i in range(3)])
    np.testing.assert_array_equal(fd.vmap(f, in_axes=(axes,))(value), expected)
    kept = fd.vmap(lambda v: v, in_axes=(axes,), out_axes=axes)(value)
    assert type(kept) is type(value)
    np.testing.assert_array_equal(first(kept)[0], A)
    np.testing.assert_array_equal(first(kept)[1], B)


def test_axis_of_numpys_integer():
    np.testing.assert_array_equal(fd.vmap(np.sum, in_axes=np.int64(1), out_axes=np.int8(0))(A), A.sum(0))
