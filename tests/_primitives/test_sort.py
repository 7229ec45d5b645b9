"""Sorting and searching: ties, NaN, derivatives along any axis, mapped tables."""

import numpy as np
import pytest

import functad as fd
from functad._core.interpret import python_function
from functad._core.recorder import stage
from functad._core.types import type_of_value
from functad._core.verify import verify
from functad._primitives.sort import searchsorted
from functad._transforms.vmap import vmap
from functad.errors import ShapeMismatchError

TABLE = np.array([0.0, 1.0, 1.0, 4.0])
PLACES = np.array([[-1.0, 1.0, 2.0], [4.0, 9.0, 0.0]])


@pytest.mark.parametrize("axis", [0, 1, 2, -1, None])
def test_the_derivative_follows_the_permutation(axis):
    x = np.random.default_rng(0).normal(size=(2, 3, 4))
    w = np.random.default_rng(1).normal(size=(24,) if axis is None else x.shape)
    want = np.zeros(24)
    flat = np.arange(24).reshape(x.shape)
    order = np.argsort(x, axis=axis)
    places = flat.reshape(-1)[order] if axis is None else np.take_along_axis(flat, order, axis)
    want[places] = w
    np.testing.assert_array_equal(fd.grad(lambda x: np.sum(np.sort(x, axis=axis) * w))(x), want.reshape(x.shape))
    np.testing.assert_array_equal(fd.hessian(lambda x: np.sum(np.sort(x, axis=axis) ** 2))(x).reshape(24, 24), 2 * np.eye(24))


def test_ties_go_to_the_first_and_nan_last():
    x = np.array([2.0, 1.0, 2.0, np.nan, 1.0])
    value, pull = fd.vjp(np.sort, x)
    np.testing.assert_array_equal(value, np.sort(x))
    np.testing.assert_array_equal(pull(np.arange(5.0))[0], [2, 0, 3, 4, 1])


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("mapped", [(True, False), (False, True), (True, True)])
def test_searching_mapped_tables(side, mapped):
    program = stage(lambda t, v: [searchsorted(t, v, side=side, batch=0)], [type_of_value(TABLE), type_of_value(PLACES)])
    tables, places = np.stack([TABLE, TABLE - 0.5]), np.stack([PLACES, PLACES[::-1]])
    given = [pair if m else pair[0] for pair, m in zip((tables, places), mapped, strict=True)]
    (found,) = python_function(verify(vmap(program, mapped, 2)[0]))(*given)
    expected = [np.searchsorted(tables[k * mapped[0]], places[k * mapped[1]], side) for k in (0, 1)]
    np.testing.assert_array_equal(found, np.stack(expected))


def test_tables_of_two_dimensions_are_refused():
    with pytest.raises(ShapeMismatchError, match="one dimension"):
        searchsorted.infer(type_of_value(PLACES), type_of_value(TABLE), side="left", batch=0)
