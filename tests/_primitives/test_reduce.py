"""Reductions, running products and the recurrence: what the contract suite's examples do not reach."""

import numpy as np
import pytest

from functad._core.interpret import python_function
from functad._core.recorder import stage
from functad._core.types import type_of_value
from functad._core.verify import verify
from functad._primitives.cumulative import cumprod, recurrence
from functad._primitives.reduce import reduce_max, reduce_min, reduce_prod
from functad._transforms.jvp import jvp
from functad.errors import ShapeMismatchError


def pushed(op, xs, ts, **params):
    program = verify(stage(lambda *given: [op(*given, **params)], [type_of_value(x) for x in xs]))
    both = verify(jvp(program, [True] * len(xs))[0])
    return python_function(both)(*xs, *ts)


@pytest.mark.parametrize("zeros", [(), (0,), (1, 3), (0, 1, 2, 3)])
@pytest.mark.parametrize(
    ("op", "params"), [(reduce_prod, {"axes": (0,)}), (cumprod, {"axis": 0, "reverse": False}), (cumprod, {"axis": 0, "reverse": True})]
)
def test_products_over_zeros(op, params, zeros):
    x, t = np.array([2.0, -1.0, 3.0, 0.5]), np.array([1.0, 2.0, -0.5, 4.0])
    x[list(zeros)] = 0
    value, tangent = pushed(op, [x], [t], **params)
    exact = op.numpy(x + 1e-200j * t, **params).imag / 1e-200
    np.testing.assert_array_equal(value, op.numpy(x, **params))
    np.testing.assert_allclose(tangent, exact, rtol=1e-14, atol=0)


@pytest.mark.parametrize("op", [reduce_max, reduce_min])
def test_the_tangent_of_nan_is_that_of_the_nans(op):
    x, t = np.array([1.0, np.nan, 3.0, np.nan]), np.array([1.0, 2.0, 4.0, 8.0])
    value, tangent = pushed(op, [x], [t], axes=(0,))
    assert np.isnan(value)
    assert tangent == 5.0


def test_infinite_ties():
    _, tangent = pushed(reduce_max, [np.array([np.inf, 1.0, np.inf])], [np.array([1.0, 2.0, 4.0])], axes=(0,))
    assert tangent == 2.5


def test_recurrence_in_plain_words():
    a, b = np.array([9.0, 2.0, 0.0, 3.0]), np.array([1.0, 1.0, 5.0, 1.0])
    np.testing.assert_array_equal(recurrence.numpy(a, b, axis=0, reverse=False), [1, 3, 5, 16])
    np.testing.assert_array_equal(recurrence.numpy(a, b, axis=0, reverse=True), [100, 11, 5, 1])


@pytest.mark.parametrize("shape", [(0,), (1,), (0, 3), (3, 0)])
def test_empty_and_single_products(shape):
    x = np.full(shape, 2.0)
    axes = tuple(range(len(shape)))
    value, tangent = pushed(reduce_prod, [x], [np.ones(shape)], axes=axes)
    assert value == np.prod(x)
    assert tangent == (1.0 if x.size == 1 else 0.0)
    running, back = pushed(cumprod, [x], [np.ones(shape)], axis=0, reverse=False)
    assert running.shape == back.shape == shape


def test_an_axis_too_many():
    with pytest.raises(ShapeMismatchError, match="axes"):
        reduce_prod.infer(type_of_value(np.ones((2, 3))), axes=(2,))
