"""ravel_pytree: there and back, dtypes, traced leaves, and what unravel refuses."""

from collections import namedtuple

import numpy as np
import pytest

import functad as fd
from functad.errors import ShapeMismatchError
from functad.flatten_util import ravel_pytree

Pair = namedtuple("Pair", ["left", "right"])
TREE = {"w": np.arange(6.0).reshape(2, 3), "b": 3.5, "n": None, "p": Pair(np.ones((), np.float32), [np.zeros((0, 2)), np.array([1, 2])])}


def same(found, expected):
    left, structure = fd.tree.flatten(found)
    right, wanted = fd.tree.flatten(expected)
    assert structure == wanted
    for a, b in zip(left, right, strict=True):
        np.testing.assert_array_equal(a, b)
        assert (np.shape(a), np.asarray(a).dtype) == (np.shape(b), np.asarray(b).dtype)
        assert isinstance(a, np.ndarray) == isinstance(b, np.ndarray)


def test_there_and_back():
    flat, unravel = ravel_pytree(TREE)
    np.testing.assert_array_equal(flat, [3.5, 1, 1, 2, 0, 1, 2, 3, 4, 5])  # keys of a dict in order: b, p, w
    assert flat.dtype == np.float64
    same(unravel(flat), TREE)


@pytest.mark.parametrize(
    ("tree", "dtype"),
    [
        ([np.ones(2, np.float32), np.ones(2, np.float32)], np.float32),
        ([np.ones(2, np.float32), np.ones(2)], np.float64),
        ([np.ones(2, np.int32), np.ones(2, np.float32)], np.float64),
        ([1, 2.5], np.float64),
        ([np.ones(1, np.complex64), np.ones(1, np.float32)], np.complex64),
        ([], np.float64),
        (3.0, np.float64),
    ],
)
def test_the_dtype_is_numpys_result_type(tree, dtype):
    flat, unravel = ravel_pytree(tree)
    assert flat.dtype == dtype
    if dtype is not np.complex64:
        same(unravel(flat), tree)


def test_leaves_share_no_memory():
    x = np.arange(3.0)
    flat, unravel = ravel_pytree([x])
    (leaf,) = unravel(flat)
    flat[:] = 7
    np.testing.assert_array_equal(x, np.arange(3.0))
    np.testing.assert_array_equal(leaf, np.arange(3.0))


def test_complex_numbers_are_not_cut():
    _, unravel = ravel_pytree([np.ones(2), np.ones(1, complex)])
    left, _ = unravel(np.array([1j, 2.0, 3.0]))
    np.testing.assert_array_equal(left, [1j, 2.0])


def test_traced_leaves():
    """The gradient through both ways; and ravelling the argument of a gradient gives the gradient ravelled."""
    tree = {"w": np.arange(4.0).reshape(2, 2), "b": 3.0}

    def loss(p):
        return np.sum(np.sin(p["w"])) * p["b"]

    def there_and_back(p):
        flat, unravel = ravel_pytree(p)
        return loss(unravel(flat * 1.0))

    same(fd.grad(there_and_back)(tree), fd.grad(loss)(tree))
    flat, unravel = ravel_pytree(tree)
    found = fd.grad(lambda v: loss(unravel(v)))(flat)
    np.testing.assert_allclose(found, ravel_pytree(fd.grad(loss)(tree))[0], rtol=1e-15)
    np.testing.assert_allclose(fd.jit(fd.grad(lambda v: loss(unravel(v))))(flat), found, rtol=1e-14)


@pytest.mark.parametrize("vector", [np.ones(4), np.ones((5, 1)), np.float64(1)])
def test_what_has_another_shape_is_refused(vector):
    _, unravel = ravel_pytree({"w": np.ones((2, 2)), "b": 3.0})
    with pytest.raises(ShapeMismatchError, match=r"shape \(5,\).*\['b'\]: \(\), \['w'\]: \(2, 2\)"):
        unravel(vector)
