"""vmap: axes of arguments, outputs and trees, nesting, captured values, and what is not mapped."""

import numpy as np
import pytest

import functad as fd

ROWS = np.arange(12.0).reshape(4, 3)
V = np.array([1.0, -2.0, 0.5])


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
def test_any_axis_in_and_out(axis):
    x = np.random.default_rng(0).normal(size=(2, 3, 4))
    f = lambda a: np.cumsum(a, axis=0) * 2.0
    expected = np.stack([f(a) for a in np.moveaxis(x, axis, 0)])
    for out in (0, 1, 2, -1):
        np.testing.assert_allclose(fd.vmap(f, in_axes=axis, out_axes=out)(x), np.moveaxis(expected, 0, out), rtol=1e-15, strict=True)


@pytest.mark.parametrize("in_axes", [(0, None), [0, None]], ids=["tuple", "list"])
def test_an_argument_that_is_not_mapped(in_axes):
    np.testing.assert_allclose(fd.vmap(np.dot, in_axes=in_axes)(ROWS, V), ROWS @ V, rtol=1e-15)


def test_an_argument_that_is_not_mapped_has_a_value():
    def power(x, n):
        for _ in range(n):
            x = x * x if n > 1 else -x
        return x

    for n in (1, 2, 3, 2):
        np.testing.assert_allclose(fd.vmap(power, in_axes=(0, None))(np.array([1.0, 2.0]), n), power(np.array([1.0, 2.0]), n))
    chosen = fd.vmap(lambda p: p["x"] if p["scale"] > 0 else -p["x"], in_axes=({"x": 0, "scale": None},))
    np.testing.assert_array_equal(chosen({"x": np.ones(2), "scale": -1.0}), [-1.0, -1.0])
    np.testing.assert_array_equal(fd.grad(lambda s: np.sum(fd.vmap(lambda x, s: x * s if s > 0 else x, in_axes=(0, None))(np.ones(3), s)))(2.0), 3.0)
    np.testing.assert_array_equal(fd.vmap(fd.jit(power, static_argnums=1), in_axes=(0, None))(np.array([3.0]), 2), [81.0])
    with pytest.raises(fd.errors.NoValueError, match="jit"):
        fd.jit(lambda x, n: fd.vmap(power, in_axes=(0, None))(x, n))(np.ones(2), 2)
    with pytest.raises(fd.errors.NoValueError, match="mapped"):
        fd.vmap(lambda x, s: x if x * s > 0 else -x, in_axes=(0, None))(np.ones(2), 2.0)


def test_axes_as_a_tree():
    f = lambda p, s: p["w"] @ p["x"] + s
    p = {"w": np.stack([np.eye(3)] * 4, axis=1), "x": V}
    found = fd.vmap(f, in_axes=({"w": 1, "x": None}, None))(p, 1.0)
    np.testing.assert_allclose(found, np.stack([V + 1.0] * 4))
    outs = fd.vmap(lambda x: {"a": x, "b": (x[0], 2.0)}, out_axes={"a": 1, "b": (0, None)})(ROWS)
    np.testing.assert_array_equal(outs["a"], ROWS.T)
    np.testing.assert_array_equal(outs["b"][0], ROWS[:, 0])
    assert outs["b"][1] == 2.0


def test_an_output_that_does_not_depend_on_the_mapped_argument_is_repeated():
    np.testing.assert_array_equal(fd.vmap(lambda x: V)(ROWS), np.stack([V] * 4))
    np.testing.assert_array_equal(fd.vmap(lambda x: 2.0)(ROWS), np.full(4, 2.0))


def test_keyword_arguments_are_mapped_over_their_first_axis():
    np.testing.assert_array_equal(fd.vmap(lambda x, k: x * k)(ROWS, k=np.arange(4.0)), ROWS * np.arange(4.0)[:, None])


def test_values_captured_from_outside_are_not_mapped():
    f = lambda v: fd.vmap(lambda x: x @ v)(ROWS)
    np.testing.assert_allclose(f(V), ROWS @ V)
    np.testing.assert_allclose(fd.jacobian(f)(V), ROWS)
    np.testing.assert_allclose(fd.jit(f)(V), ROWS @ V)


def test_nested_maps_make_outer_products():
    f = fd.vmap(fd.vmap(np.multiply, (None, 0)), (0, None))
    np.testing.assert_array_equal(f(V, np.arange(4.0)), np.outer(V, np.arange(4.0)))


def test_maps_of_one_element_and_of_none():
    assert fd.vmap(np.sum)(ROWS[:1]).shape == (1,)
    assert fd.vmap(lambda x: np.sin(x) * 2)(ROWS[:0]).shape == (0, 3)


def test_integers_and_booleans_are_mapped():
    np.testing.assert_array_equal(fd.vmap(lambda v, i: v[i], (None, 0))(V, np.array([2, 0, 2])), V[[2, 0, 2]])
    np.testing.assert_array_equal(fd.vmap(lambda b, x: np.where(b, x, -x))(np.array([True, False]), V[:2]), [1.0, 2.0])


def test_dtypes_stay():
    assert fd.vmap(lambda x: x * 2 + 1)(ROWS.astype(np.float32)).dtype == np.float32
    assert fd.vmap(lambda x: x // 2)(np.arange(3)).dtype == np.int64


def test_an_output_axis_none_needs_an_unmapped_output():
    assert fd.vmap(lambda x: 3.0, out_axes=None)(ROWS) == 3.0
    with pytest.raises(fd.errors.ShapeMismatchError, match="out_axes=None"):
        fd.vmap(lambda x: x, out_axes=None)(ROWS)
    with pytest.raises(fd.errors.ShapeMismatchError, match="out_axes"):
        fd.vmap(np.sum, out_axes=1)(ROWS)


def test_linear_algebra_is_mapped():
    a = np.random.default_rng(1).normal(size=(4, 3, 3)) + 3 * np.eye(3)
    np.testing.assert_allclose(fd.vmap(np.linalg.solve)(a, ROWS), np.stack([np.linalg.solve(m, b) for m, b in zip(a, ROWS, strict=True)]), rtol=1e-12)
    np.testing.assert_allclose(fd.vmap(fd.grad(lambda m: np.linalg.slogdet(m)[1]))(a), np.linalg.inv(a).transpose(0, 2, 1), rtol=1e-12)
