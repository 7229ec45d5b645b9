"""The NumPy evaluator: readable source, folded broadcasts, fresh results, silent warnings."""

import linecache
import traceback

import numpy as np
import pytest

import functad as fd
from functad._core.interpret import python_function, python_source
from functad._core.primitive import REGISTRY
from functad._core.recorder import stage
from functad._core.types import array_type

X = np.arange(6.0).reshape(2, 3)


def test_the_source_shows_types_and_folds_broadcasts():
    source, _ = python_source(fd.make_program(lambda x: np.sin(x) * 2.0)(X))
    assert "# v0: weak f8[]   v1: f8[2,3]" in source
    assert "broadcast" not in source  # NumPy broadcasts the number itself
    assert source.count("\n") == 6


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x + np.ones((2, 1)),
        lambda x: x + np.ones(3),
        lambda x: np.ones((2, 1)) + np.ones(3) + x[0, 0],
        lambda x: np.where(x > 1, 0.0, x),
        lambda x: np.broadcast_to(x[0], (2, 3)) * 1,
        lambda x: np.broadcast_to(2.0 * x[0, 0], (2, 3)),
        lambda x: np.maximum(np.full((2, 3), 2.0), x[1]) - 1,
    ],
)
def test_broadcasts_of_any_kind_are_right(f):
    program = fd.make_program(f)(X)
    traced = python_function(program)
    captured = _captured(f)
    out = traced(*captured, X)[0]
    np.testing.assert_array_equal(out, f(X), strict=True)


def _captured(f):
    from functad._api.call import trace_call

    return trace_call(f, (X,), 1, "an argument of make_program").captured


def test_no_warning_of_a_branch_that_is_not_taken():
    assert fd.grad(lambda x: np.where(x > 0, np.log(x), 0.0))(-1.0) == 0.0
    assert fd.grad(lambda x: np.exp(x))(1000.0) == np.inf


def test_a_traceback_through_generated_source_shows_it(monkeypatch):
    op = REGISTRY["arcsinh"]

    def fails(x):
        raise ZeroDivisionError("within")

    program = stage(lambda x: [REGISTRY["reduce_sum"](op(x), axes=(0,))], [array_type((3,), "float64")])
    monkeypatch.setattr(op, "ufunc", None)
    monkeypatch.setattr(op, "numpy", fails)
    with pytest.raises(ZeroDivisionError) as caught:
        python_function(program)(np.ones(3))
    text = "".join(traceback.format_exception(caught.value))
    assert "arcsinh_(v0)" in text
    linecache.checkcache()
    assert "arcsinh_(v0)" in "".join(traceback.format_exception(caught.value))


def test_results_without_axes_are_numpy_scalars():
    out = python_function(stage(lambda x: [x, REGISTRY["sin"](x)], [array_type((), "float32")]))(np.array(0.5, np.float32))
    assert [type(y) for y in out] == [np.float32, np.float32]
