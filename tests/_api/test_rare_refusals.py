"""Refusals that few users meet: each has its class and names what was given."""

import numpy as np
import pytest

import functad as fd
from functad import errors

X = np.array([1.0, 2.0])

REFUSED = {
    "argnums": (lambda: fd.grad(np.sum, "x")(X), errors.UnsupportedArgumentError, "argnums"),
    "holomorphic of real numbers": (lambda: fd.grad(lambda x: np.sum(x) + 0j, holomorphic=True)(X), errors.UnsupportedArgumentError, "float64"),
    "jacobian of nothing": (lambda: fd.jacobian(lambda x: None)(X), errors.UnsupportedArgumentError, "nothing"),
    "vjp of a string": (lambda: fd.vjp(lambda x: "text", X), errors.UnsupportedArgumentError, "'text'"),
    "vjp of a string beside aux": (lambda: fd.vjp(lambda x: ("text", x), X, has_aux=True), errors.UnsupportedArgumentError, "'text'"),
    "vjp of a number": (lambda: fd.vjp(3.0, X), errors.UnsupportedArgumentError, "takes a function first"),
    "jit of a set": (lambda: fd.jit(lambda x, s: x)(X, {1}), errors.UnsupportedArgumentError, "hashable"),
    "in_axes too long": (lambda: fd.vmap(lambda x: x[0], ((0, 0, 0),))((X, X)), errors.TreeMismatchError, "3 entries"),
    "in_axes with other keys": (lambda: fd.vmap(lambda x: x["a"], ({"b": 0},))({"a": X}), errors.TreeMismatchError, "keys"),
    "in_axes of another kind": (lambda: fd.vmap(lambda x: x, ("a",))(X), errors.TreeMismatchError, "in_axes"),
    "out_axes beyond": (lambda: fd.vmap(lambda x: x, out_axes=3)(X), errors.ShapeMismatchError, "out_axes=3"),
    "a cotangent that is a pair": (lambda: fd.vjp(np.sin, X)[1]((X, X)), errors.TreeMismatchError, "one number or array"),
    "a cotangent that is a string": (lambda: fd.vjp(np.sin, X)[1]("text"), errors.TreeMismatchError, "str"),
    "trees that differ": (lambda: fd.tree.map(lambda x, y: x, [1], (1,)), errors.TreeMismatchError, "differ"),
    "fill from within": (
        lambda: fd.grad(lambda x: fd.grad(lambda y: (x.fill(0.0), np.sum(y))[1])(X)[0] * x[0])(X),
        errors.MutationError,
        "enclosing",
    ),
    "objects": (lambda: fd.grad(lambda x: np.sum(x + np.array([None, None])))(X), errors.UnsupportedArgumentError, "NoneType"),
    "None": (lambda: fd.grad(lambda x: np.sum(x + None))(X), errors.UnsupportedArgumentError, "None"),
    "a view of its bits": (lambda: fd.grad(lambda x: np.sum(x.view(int)))(X), errors.ConversionError, "astype"),
}


@pytest.mark.parametrize(("call", "kind", "text"), REFUSED.values(), ids=REFUSED)
def test_it_is_refused_by_name(call, kind, text):
    with pytest.raises(kind, match=text):
        call()


def test_a_transformed_method_is_bound():
    class Model:
        factor = 3.0

        @fd.grad
        def slope(self, x):
            return x * x

    with pytest.raises(errors.IntegerInputError, match="Model"):
        Model().slope(2.0)
    assert isinstance(Model.slope, type(fd.grad(np.sum)))


def test_a_cotangent_takes_the_dtype_of_the_output():
    def f(ct):
        return fd.vjp(lambda x: x.astype(np.float32), X)[1](ct)[0]

    np.testing.assert_array_equal(fd.jit(f)(np.ones(2)), np.ones(2))
    assert fd.jit(lambda x: x.transpose())(X[:, None]).shape == (1, 2)


def test_in_place_methods_change_every_name():
    def f(x):
        y = x * 1.0
        z = y
        y.fill(2.0)
        return np.sum(z * x)

    np.testing.assert_array_equal(fd.grad(f)(X), [2.0, 2.0])

    def g(x):
        y = x * 1.0
        y.sort()
        return y[0]

    np.testing.assert_array_equal(fd.grad(g)(X[::-1].copy()), [0.0, 1.0])
