"""vjp, jvp, linearize, hvp, stop_gradient: trees, numbers and dtypes of tangents and cotangents, auxiliary outputs."""

from collections import namedtuple

import numpy as np
import pytest

import functad as fd

X = np.array([0.5, -1.0, 2.0])
Point = namedtuple("Point", ["x", "y"])


# ---- vjp


def test_the_value_and_cotangents_have_the_functions_types():
    out, pullback = fd.vjp(lambda x, y: x * y, X, 2.0)
    assert type(out) is np.ndarray
    cx, cy = pullback(np.ones(3))
    np.testing.assert_array_equal(cx, np.full(3, 2.0))
    assert type(cy) is np.float64
    assert cy == X.sum()
    value, pullback = fd.vjp(np.sum, X)
    assert type(value) is np.float64
    np.testing.assert_array_equal(pullback(1.0)[0], np.ones(3))


def test_trees_of_arguments_and_outputs():
    def f(p, q):
        return {"a": p["w"] * q.x, "b": [q.y * 2.0, None]}

    out, pullback = fd.vjp(f, {"w": X, "free": 7.0}, Point(X, 3.0))
    assert out["b"] == [6.0, None]
    cp, cq = pullback({"a": np.ones(3), "b": [1.0, None]})
    np.testing.assert_array_equal(cp["w"], X)
    assert cp["free"] == 0.0
    assert type(cq) is Point
    np.testing.assert_array_equal(cq.x, X)
    assert cq.y == 2.0


@pytest.mark.parametrize("ct", [1, 1.0, np.float64(1.0), np.float32(1.0), np.array(1.0)], ids=lambda x: type(x).__name__)
def test_any_number_is_a_cotangent_of_a_number(ct):
    found = fd.vjp(lambda x: np.sum(x**2), X)[1](ct)[0]
    np.testing.assert_array_equal(found, 2 * X, strict=True)


def test_cotangents_take_the_outputs_dtype():
    x = X.astype(np.float32)
    found = fd.vjp(lambda x: x * 2, x)[1](np.ones(3))[0]
    assert found.dtype == np.float32
    wide = fd.vjp(lambda x: x.astype(np.float64), x)[1](np.ones(3))[0]
    assert wide.dtype == np.float32


def test_an_output_without_derivative_takes_a_cotangent_that_does_not_matter():
    out, pullback = fd.vjp(lambda x: (x * 2.0, np.argmax(x)), X)
    assert out[1] == 2
    np.testing.assert_array_equal(pullback((np.ones(3), np.zeros((), np.int64)))[0], np.full(3, 2.0))


def test_auxiliary_output_of_vjp_and_jvp():
    f = lambda x: (x**2, {"sum": np.sum(x), "name": "aux"})
    out, pullback, aux = fd.vjp(f, X, has_aux=True)
    np.testing.assert_array_equal(out, X**2)
    assert (aux["sum"], aux["name"]) == (X.sum(), "aux")
    np.testing.assert_array_equal(pullback(np.ones(3))[0], 2 * X)
    out, tangent, aux = fd.jvp(f, (X,), (np.ones(3),), has_aux=True)
    np.testing.assert_array_equal(tangent, 2 * X)
    assert (aux["sum"], aux["name"]) == (X.sum(), "aux")


def test_unused_arguments_have_cotangents_of_zeros():
    found = fd.vjp(lambda x, y: x, X, np.ones((2, 2)))[1](X)
    np.testing.assert_array_equal(found[0], X)
    np.testing.assert_array_equal(found[1], np.zeros((2, 2)))


def test_the_identity():
    """vjp of the identity with cotangent z is z, and not the same memory."""
    z = X.copy()
    ct = fd.vjp(lambda x: x, z)[1](z)[0]
    np.testing.assert_array_equal(ct, z)
    assert not np.shares_memory(ct, z)


def test_a_pullback_within_a_trace_is_differentiable():
    def f(x):
        out, pullback = fd.vjp(lambda y: x * y**2, x)
        return pullback(2.0)[0] + out

    assert fd.grad(f)(3.0) == 8 * 3.0 + 3 * 3.0**2  # 4 x**2 + x**3


def test_a_traced_cotangent_is_differentiable():
    assert fd.grad(lambda c: fd.vjp(np.sin, 0.0)[1](c)[0] * c)(3.0) == 6.0


# ---- jvp and linearize


def test_tangents_have_the_trees_of_primals_and_outputs():
    f = lambda p, s: {"out": p[0] * s, "none": None}
    out, tangent = fd.jvp(f, ([X], 2.0), ([np.ones(3)], 0.5))
    np.testing.assert_array_equal(out["out"], 2 * X)
    np.testing.assert_array_equal(tangent["out"], 2.0 + 0.5 * X)
    assert tangent["none"] is None


def test_tangents_of_constants_and_integers_are_zero():
    out, tangent = fd.jvp(lambda x: (3.0, np.argmax(x), x), (X,), (np.ones(3),))
    assert out[1] == 2
    assert tangent[0] == 0.0
    assert tangent[1] == 0.0
    np.testing.assert_array_equal(tangent[2], np.ones(3))


def test_single_precision_tangents():
    x = X.astype(np.float32)
    out, tangent = fd.jvp(np.sin, (x,), (np.ones(3),))
    assert (out.dtype, tangent.dtype) == (np.float32, np.float32)


def test_linearize_gives_a_function_of_tangents():
    out, push = fd.linearize(lambda x, y: x * y, X, 2.0)
    np.testing.assert_array_equal(out, 2 * X)
    np.testing.assert_array_equal(push(np.ones(3), 0.0), np.full(3, 2.0))
    np.testing.assert_array_equal(push(np.zeros(3), 1.0), X)
    with pytest.raises(fd.errors.TreeMismatchError):
        push(np.ones(3))


# ---- hvp, stop_gradient


def test_hvp_of_several_arguments_and_trees():
    f = lambda x, p: np.sum(x**2) * p["a"]
    found = fd.hvp(f, (X, {"a": 3.0}), (np.ones(3), {"a": 1.0}))
    np.testing.assert_allclose(found[0], 2 * 3.0 + 2 * X)
    assert found[1]["a"] == pytest.approx(2 * X.sum())


def test_stop_gradient_of_trees_and_plain_values():
    assert fd.stop_gradient(3.0) == 3.0
    f = lambda p: np.sum(fd.stop_gradient(p)["a"] * p["a"])
    np.testing.assert_array_equal(fd.grad(f)({"a": X})["a"], X)
    tree = {"a": X, "b": (1, "text")}
    found = fd.stop_gradient(tree)
    assert found["b"] == (1, "text")
