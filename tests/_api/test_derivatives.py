"""grad, value_and_grad, jacobian, hessian: argnums, auxiliary outputs, pytrees, keyword arguments, and the types that come out."""

from collections import OrderedDict, namedtuple
from dataclasses import dataclass

import numpy as np
import pytest

import functad as fd

X = np.array([0.5, -1.0, 2.0])
Point = namedtuple("Point", ["x", "y"])


@dataclass
class Layer:
    w: object
    b: object


def same(found, expected):
    """Equal trees, with equal types, dtypes and shapes of leaves."""
    assert fd.tree.structure(found) == fd.tree.structure(expected)
    for a, b in zip(fd.tree.flatten(found)[0], fd.tree.flatten(expected)[0], strict=True):
        assert type(a) is type(b), (type(a), type(b))
        np.testing.assert_allclose(a, b, rtol=1e-14, strict=True)


# ---- what goes in decides what comes out

f8, f4 = np.float64, np.float32


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        (3, f8(6.0)),
        (3.0, f8(6.0)),
        (f8(3.0), f8(6.0)),
        (f4(3.0), f4(6.0)),
        (np.array(3.0), np.array(6.0)),
        (np.array(3.0, f4), np.array(6.0, f4)),
        (np.array([3.0]), np.array([6.0])),
        (np.array([[3.0]], f4), np.array([[6.0]], f4)),
        (np.zeros(0), np.zeros(0)),
        (np.array(3.0, ">f8"), np.array(6.0)),
        (np.arange(6.0).reshape(2, 3)[:, ::-1], 2 * np.arange(6.0).reshape(2, 3)[:, ::-1]),
        (np.asfortranarray(np.arange(6.0).reshape(2, 3)), 2 * np.arange(6.0).reshape(2, 3)),
    ],
    ids=lambda x: f"{type(x).__name__}-{getattr(x, 'dtype', '')}{np.shape(x)}",
)
def test_the_gradient_has_the_type_of_the_argument(x, expected):
    f = lambda x: np.sum(x**2)
    same(fd.grad(f)(x), expected)
    same(fd.jacfwd(f)(x), expected)
    same(fd.jacrev(f)(x), expected)
    value, gradient = fd.value_and_grad(f)(x)
    same(gradient, expected)
    assert type(value) is (f4 if np.asarray(expected).dtype == f4 else f8)


def test_single_precision_stays_single_beside_python_numbers():
    x = X.astype(f4)
    f = lambda x: np.sum(2.0 * np.sin(x) + x**3 / 3 - 1)
    value, g = fd.value_and_grad(f)(x)
    assert (value.dtype, g.dtype) == (f4, f4)
    assert fd.hessian(f)(x).dtype == f4
    np.testing.assert_allclose(g, 2 * np.cos(X) + X**2, rtol=1e-6)
    mixed = fd.grad(lambda x, y: np.sum(x * y), (0, 1))(x, X)
    assert (mixed[0].dtype, mixed[1].dtype) == (f4, f8)


def test_float16_has_a_refusal_with_its_cure():
    with pytest.raises(fd.errors.UnsupportedArgumentError, match="astype"):
        fd.grad(np.sum)(X.astype(np.float16))


NUMBERS = [[0.5, -1.0, 2.0], (0.5, -1.0, 2.0), {"a": 0.5, "b": (-1.0, 2.0)}, Point(0.5, (-1.0, 2.0)), [None, 0.5, [-1.0], [], 2.0]]


@pytest.mark.parametrize("x", NUMBERS, ids=lambda x: type(x).__name__)
def test_a_container_of_numbers_is_a_tree_of_them(x):
    f = lambda x: sum(v**2 for v in fd.tree.flatten(x)[0])
    same(fd.grad(f)(x), fd.tree.map(lambda v: f8(2 * v), x))


# ---- trees

TREES = {
    "dict": {"w": np.ones((2, 3)), "b": X},
    "dict in insertion order": {"w": X, "a": 2.0},
    "ordered dict": OrderedDict(w=X, a=2.0),
    "list": [X, 2.0],
    "tuple": (X, 2.0),
    "named tuple": Point(X, 2.0),
    "dataclass": Layer(X, 2.0),
    "None": {"w": X, "nothing": None},
    "empty": {"w": X, "nothing": {}},
    "nested": [Layer({"k": (X, None)}, Point(X, [2.0])), [[1.0]]],
}


def quadratic(tree):
    return sum(np.sum(x**2) for x in fd.tree.flatten(tree)[0])


@pytest.mark.parametrize("tree", TREES.values(), ids=TREES)
def test_the_gradient_has_the_tree_of_the_argument(tree):
    expected = fd.tree.map(lambda x: 2 * x if isinstance(x, np.ndarray) else f8(2 * x), tree)
    for gradient in (fd.grad(quadratic), fd.jit(fd.grad(quadratic)), fd.grad(fd.jit(quadratic))):
        found = gradient(tree)
        assert type(found) is type(tree)
        same(found, expected)
        if isinstance(tree, dict):
            assert list(found) == list(tree)


@pytest.mark.parametrize("tree", TREES.values(), ids=TREES)
def test_the_user_sees_the_containers_that_were_given(tree):
    seen = []

    def f(t):
        seen.append(t)
        return quadratic(t)

    fd.grad(f)(tree)
    assert type(seen[0]) is type(tree)
    assert fd.tree.structure(seen[0]) == fd.tree.structure(tree)


def test_the_jacobian_of_a_tree_is_a_tree_of_trees():
    f = lambda p: {"sum": p["a"] + p["b"][0], "product": p["a"] * p["b"][0]}
    found = fd.jacobian(f)({"a": 2.0, "b": [3.0]})
    same(found, {"sum": {"a": f8(1.0), "b": [f8(1.0)]}, "product": {"a": f8(3.0), "b": [f8(2.0)]}})
    blocks = fd.jacobian(lambda p: (p[0][:, None] * p[1], p[1]))((X, np.ones(2)))
    assert blocks[0][0].shape == (3, 2, 3)
    assert blocks[0][1].shape == (3, 2, 2)
    np.testing.assert_array_equal(blocks[1][0], np.zeros((2, 3)))
    np.testing.assert_array_equal(blocks[1][1], np.eye(2))


def test_the_hessian_of_a_tree_has_all_blocks():
    h = fd.hessian(lambda p: p["a"] ** 2 * np.sum(p["v"]))({"a": 3.0, "v": X})
    assert h["a"]["a"] == pytest.approx(2 * X.sum())
    np.testing.assert_allclose(h["a"]["v"], np.full(3, 6.0))
    np.testing.assert_allclose(h["v"]["a"], np.full(3, 6.0))
    np.testing.assert_array_equal(h["v"]["v"], np.zeros((3, 3)))


# ---- argnums

PRODUCT = lambda x, y, z: x * y**2 * z**3


@pytest.mark.parametrize("argnums", [0, 1, 2, -1, -3, (0,), (2, 0), [0, 1], (-1, 1), np.int64(1)], ids=str)
def test_argnums(argnums):
    x, y, z = 4.0, 2.0, 3.0
    exact = [y**2 * z**3, 2 * x * y * z**3, 3 * x * y**2 * z**2]
    numbers = list(argnums) if isinstance(argnums, (tuple, list)) else argnums
    wanted = tuple(f8(exact[i]) for i in numbers) if isinstance(numbers, list) else f8(exact[numbers])
    same(fd.grad(PRODUCT, argnums)(x, y, z), wanted)
    same(fd.value_and_grad(PRODUCT, argnums=argnums)(x, y, z), (f8(PRODUCT(x, y, z)), wanted))


def test_argnums_of_jacobians_and_hessians():
    f = lambda x, y: x * y**2
    same(fd.jacobian(f, (0, 1))(X, X), (np.diag(X**2), np.diag(2 * X**2)))
    second = fd.hessian(lambda x, y: np.sum(f(x, y)), (0, 1))(X, X)
    np.testing.assert_allclose(second[0][1], np.diag(2 * X))
    np.testing.assert_allclose(second[1][0], np.diag(2 * X))
    np.testing.assert_array_equal(second[0][0], np.zeros((3, 3)))


# ---- keyword and other arguments


def test_keyword_arguments_are_passed_on_and_not_differentiated():
    def f(x, *, scale=1.0, power=2):
        return np.sum(scale * x**power)

    same(fd.grad(f)(X), 2 * X)
    same(fd.grad(f)(X, scale=3.0), 6 * X)
    same(fd.grad(f)(X, power=3, scale=np.array([1.0, 0.0, 2.0])), 3 * X**2 * np.array([1.0, 0.0, 2.0]))


def test_other_arguments_are_passed_as_they_are():
    def f(x, name, choose):
        assert name == "tanh"
        return np.sum(choose(x))

    same(fd.grad(f)(X, "tanh", np.tanh), 1 - np.tanh(X) ** 2)
    same(fd.grad(lambda x, n: np.sum(x) * n)(X, 2), np.full(3, 2.0))
    same(fd.grad(lambda x, k: np.sum(x[k]))(X, np.array([0, 0, 2])), np.array([2.0, 0.0, 1.0]))
    same(fd.grad(lambda x, m: np.sum(x[m]))(X, np.array([True, False, True])), np.array([1.0, 0.0, 1.0]))


# ---- auxiliary outputs


def test_auxiliary_outputs_are_returned_beside_the_gradient():
    def f(x):
        return np.sum(x**2), {"doubled": 2 * x, "name": "aux", "count": 3, "nothing": None}

    aux = {"doubled": 2 * X, "name": "aux", "nothing": None}
    gradient, found = fd.grad(f, has_aux=True)(X)
    same(gradient, 2 * X)
    assert int(found.pop("count")) == 3
    assert found["name"] == "aux"
    np.testing.assert_array_equal(found["doubled"], aux["doubled"])
    assert found["nothing"] is None
    (value, found), gradient = fd.value_and_grad(f, has_aux=True)(X)
    assert value == pytest.approx(np.sum(X**2))
    np.testing.assert_array_equal(found["doubled"], 2 * X)
    jacobian, found = fd.jacobian(lambda x: (x**2, np.sum(x)), has_aux=True)(X)
    np.testing.assert_allclose(jacobian, np.diag(2 * X))
    assert found == X.sum()
    second, found = fd.hessian(lambda x: (np.sum(x**3), x + 1), has_aux=True)(X)
    np.testing.assert_allclose(second, np.diag(6 * X))
    np.testing.assert_array_equal(found, X + 1)


def test_an_auxiliary_output_of_an_inner_gradient_is_differentiated_by_the_outer():
    def f(x):
        g, aux = fd.grad(lambda y: (y**3, x * y), has_aux=True)(x)
        return g + aux

    assert fd.grad(f)(2.0) == 6 * 2.0 + 2 * 2.0


# ---- complex numbers: JAX's convention


def test_gradients_of_complex_arguments_follow_jaxs_convention():
    """grad f = df/dx - i df/dy for real f: the conjugate of PyTorch's."""
    z = np.array([1 + 2j, -0.5 + 0.3j])
    np.testing.assert_allclose(fd.grad(lambda z: np.sum(np.real(z * np.conj(z))))(z), 2 * np.conj(z), rtol=1e-15)
    np.testing.assert_allclose(fd.grad(lambda z: np.sum(np.real(z**2)))(z), 2 * z, rtol=1e-15)
    np.testing.assert_allclose(fd.grad(lambda z: np.sum(np.imag(z)))(z), np.full(2, -1j), rtol=1e-15)
    np.testing.assert_allclose(fd.grad(lambda z: np.sum(np.abs(z)))(z), np.conj(z) / np.abs(z), rtol=1e-15)
    assert fd.grad(lambda z: np.abs(z))(0j) == 0


def test_the_descent_direction_of_a_complex_argument_is_the_conjugate():
    z, f = 1 + 2j, lambda z: np.abs(z - (3 - 1j)) ** 2
    assert f(z - 0.1 * np.conj(fd.grad(f)(z))) < f(z)


# ---- what a transformed function is


def test_a_derivative_keeps_the_name_and_documentation_of_its_function():
    def loss(x):
        """What it costs."""
        return x

    derivative = fd.grad(loss)
    assert (derivative.__name__, derivative.__doc__) == ("loss", "What it costs.")
    assert "loss" in repr(derivative)


def test_a_derivative_binds_as_a_method_and_decorates():
    class Model:
        scale = 3.0

        @staticmethod
        @fd.grad
        def slope(x):
            return x**2

        def loss(self, x):
            return self.scale * x**2

    assert Model.slope(3.0) == 6.0
    assert fd.grad(Model().loss)(2.0) == 12.0


def test_arguments_are_never_written():
    x = X.copy()
    x.flags.writeable = False

    def f(v):
        v = v * 1.0
        v += 1.0
        return np.sum(v * v)

    same(fd.grad(f)(x), 2 * (X + 1))
    np.testing.assert_array_equal(x, X)


def test_results_do_not_share_memory_with_arguments():
    g = fd.grad(lambda x, y: np.sum(x * y))(X, X)
    assert not np.shares_memory(g, X)
    gradient = fd.value_and_grad(lambda x: np.sum(x))(X)[1]
    gradient[:] = 9.0
    np.testing.assert_array_equal(fd.grad(np.sum)(X), np.ones(3))
