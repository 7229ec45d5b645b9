"""Indexing in all of NumPy's forms."""

import itertools

import numpy as np
import pytest

import functad as fd

X = np.sin(np.arange(24.0)).reshape(4, 6)
CUBE = np.sin(np.arange(60.0)).reshape(3, 4, 5)
ROWS, COLUMNS = np.array([2, 0, -1]), np.array([[1], [-2]])
MASK = X > 0.1

KEYS = {
    "int": 1,
    "negative": -1,
    "pair": (1, -2),
    "slice": slice(1, None),
    "slices": (slice(None, -1), slice(1, 5, 2)),
    "reverse": slice(None, None, -1),
    "reverse part": (slice(3, 0, -2), slice(-1, -7, -3)),
    "empty slice": slice(3, 1),
    "column": (slice(None), 0),
    "ellipsis": ...,
    "ellipsis int": (..., 1),
    "newaxis": None,
    "newaxes": (None, slice(1, 3), None, 2),
    "numpy int": np.int64(2),
    "empty tuple": (),
    "beyond": slice(-100, 100, 4),
    "array": ROWS,
    "list": [0, 2, 2],
    "empty list": [],
    "array and slice": (ROWS, slice(1, 3)),
    "slice and array": (slice(1, 3), ROWS),
    "arrays": (ROWS, np.array([1, -1, 3])),
    "broadcast arrays": (ROWS, COLUMNS),
    "array and int": (ROWS, 2),
    "int and array": (-1, ROWS),
    "array newaxis": (None, ROWS),
    "array newaxis array": (ROWS, None, ROWS),
    "2d array": np.array([[0, -1], [2, 2]]),
    "mask": MASK,
    "row mask": (MASK[:, 0],),
    "column mask": (slice(None), MASK[1]),
    "mask and array": (np.array([True, False, True, True]), ROWS),
    "mask list": [True, False, True, False],
    "true": True,
    "false": np.False_,
    "0-d array": np.array(3),
    "list in tuple": ([0, 1], [1, 1]),
    "uint": np.array([1, 3], np.uint8),
}
CUBE_KEYS = {
    "apart": (ROWS, slice(None), np.array([0, 1, 1])),
    "together": (slice(None), ROWS, np.array([0, 1, 1])),
    "apart int": (0, slice(None), ROWS),
    "together int": (slice(None), 1, ROWS),
    "mask of two": CUBE[:, :, 0] > 0,
    "mask behind": (slice(1, 3), CUBE[0] > 0),
    "ellipsis array": (..., ROWS),
    "new between": (slice(None), ROWS, None, np.array([0, 1, 1])),
    "all": (ROWS, np.array([0, 1, 1]), COLUMNS),
    "middle": (slice(None, None, -1), COLUMNS, slice(1, 3)),
    "boolean newaxis": (True, slice(None), ROWS),
    "int array newaxis": (1, None, ROWS),
}


@pytest.mark.parametrize("name", KEYS)
def test_key(agrees, name):
    agrees(lambda x: x[KEYS[name]], X)


@pytest.mark.parametrize("name", CUBE_KEYS)
def test_key_of_a_cube(agrees, name):
    agrees(lambda x: x[CUBE_KEYS[name]], CUBE)


def test_all_slices_of_a_small_vector(agrees):
    x = np.arange(3.0) + 0.5
    ends = [None, *range(-4, 5)]
    for start, stop, step in itertools.product(ends, ends, (None, 1, 2, -1, -2)):
        np.testing.assert_array_equal(fd.vjp(lambda x, k=slice(start, stop, step): x[k], x)[0], x[start:stop:step])


def test_traced_indices():
    x = X[0]

    def f(x):
        i = np.argmax(x)
        j = np.argsort(x)[:2] - 6  # negative
        return x[i] ** 2 + np.sum(x[j] ** 3) + x[np.array([0, -1]) + 0 * i][1]

    i, j = np.argmax(x), np.argsort(x)[:2]
    want = np.zeros(6)
    want[i] += 2 * x[i]
    want[j] += 3 * x[j] ** 2
    want[-1] += 1
    np.testing.assert_allclose(fd.grad(f)(x), want)
    np.testing.assert_allclose(fd.jit(fd.grad(f))(x), want)


def test_traced_masks_are_asked_for_their_count():
    g = fd.grad(lambda x: np.sum(x[x > 1.5] ** 2))
    np.testing.assert_array_equal(g(np.array([1.0, 2.0, 3.0])), [0, 4, 6])
    np.testing.assert_array_equal(g(np.array([5.0, 1.0, 1.0])), [10, 0, 0])
    np.testing.assert_array_equal(g(np.array([1.0, 1.0, 1.0])), [0, 0, 0])
    two = fd.grad(lambda x: np.sum(x[(x > 0) & (x < 0.9)] ** 2))
    np.testing.assert_array_equal(two(X), np.where((X > 0) & (X < 0.9), 2 * X, 0))


def test_concrete_indices_are_read_at_each_call():
    index = np.array([0, 1])
    g = fd.grad(lambda x: np.sum(x[index] ** 2))
    x = np.array([1.0, 2.0, 3.0])
    np.testing.assert_array_equal(g(x), [2, 4, 0])
    index[:] = [-1, -1]
    np.testing.assert_array_equal(g(x), [0, 0, 12])
    index[:] = [0, 3]
    with pytest.raises(IndexError, match="index 3 is out of bounds for axis 0 with size 3"):
        g(x)


@pytest.mark.parametrize(
    "key", [4, -5, (0, 6), (0, 0, 0), 1.5, "a", np.array([1.0]), [4], (slice(None), [6]), np.ones(3, bool), (..., ...), ([0, 1], [0, 1, 2])]
)
def test_what_numpy_refuses(key):
    with pytest.raises(IndexError):
        X[key]
    with pytest.raises(IndexError):
        fd.vjp(lambda x: x[key], X)


def test_zeros_of_indices_never_meet_a_partial():
    x = np.array([0.0, 1.0, 4.0])
    for f in (lambda x: np.sum(np.sqrt(x)[1:]), lambda x: np.sum(np.sqrt(x)[np.array([1, 2])]), lambda x: np.sum(np.sqrt(x)[x > 0])):
        np.testing.assert_array_equal(fd.grad(f)(x), [0, 0.5, 0.25])
        np.testing.assert_allclose(fd.hessian(f)(x), np.diag([0, -0.25, -0.03125]))
        np.testing.assert_array_equal(fd.jacfwd(f)(x), [0, 0.5, 0.25])


def test_zeros_of_a_mask_are_read_through_an_index():
    def f(x):
        y = np.where(x > 0, np.sqrt(x), 0.0)
        return np.sum(np.sqrt(y[np.array([0, 1, 1])]))

    want = [0, 2 * 0.25 * 2.0**-1.5 * 2**0.75 / 2**0.0, 0]
    x = np.array([0.0, 2.0, 3.0])
    want[1] = 2 * 0.25 * 2.0**-0.75
    np.testing.assert_allclose(fd.jacfwd(f)(x), want)
    np.testing.assert_allclose(fd.grad(f)(x), want)
