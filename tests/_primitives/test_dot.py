"""dot: values against np.einsum, shapes and dtypes of the derivatives, mapping of either operand, and what it refuses."""

import numpy as np
import pytest

from functad._core.interpret import python_function
from functad._core.recorder import stage
from functad._core.types import type_of_value
from functad._core.verify import verify
from functad._primitives.dot import dot, matrix_product
from functad._transforms.jvp import jvp
from functad._transforms.transpose import transpose
from functad._transforms.vmap import vmap
from functad.errors import ShapeMismatchError

EXAMPLES = dot.examples()


def program_of(xs, params):
    return verify(stage(lambda *given: [dot(*given, **params)], [type_of_value(x) for x in xs]))


def by_einsum(x, y, contract, batch):
    """The same product in NumPy's own words."""
    left, right = list(range(x.ndim)), list(range(x.ndim, x.ndim + y.ndim))
    for i, j in [*zip(*contract, strict=True), *zip(*batch, strict=True)]:
        right[j] = left[i]
    free_x = [label for i, label in enumerate(left) if i not in contract[0] + batch[0]]
    free_y = [label for j, label in enumerate(right) if j not in contract[1] + batch[1]]
    return np.einsum(x, left, y, right, [left[i] for i in batch[0]] + free_x + free_y)


@pytest.mark.parametrize(("xs", "params"), EXAMPLES)
def test_value(xs, params):
    (found,) = python_function(program_of(xs, params))(*xs)
    expected = by_einsum(*xs, **params)
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize(("xs", "params"), EXAMPLES)
def test_adjoint(xs, params):
    """Each half of the bilinear product and its transpose: <ct, x . t> = <pulled back, t>, without conjugation."""
    if xs[0].dtype.kind == "i":
        pytest.skip("integers have no derivative")
    random = np.random.default_rng(0)
    program = program_of(xs, params)
    (out,) = python_function(program)(*xs)
    ct = random.uniform(-1, 1, np.shape(out)).astype(out.dtype)
    for i in (0, 1):
        back = verify(transpose(program, [k == i for k in (0, 1)]))
        (pulled,) = python_function(back)(xs[1 - i], ct[()])
        assert pulled.shape == xs[i].shape
        np.testing.assert_allclose(np.sum(pulled * xs[i]), np.sum(ct * out), rtol=1e-12, atol=1e-12)


def test_derivatives_of_a_matrix_product_transpose_nothing():
    """x @ y with x of (m, k) and y of (k, n): both cotangents are products that lie as x and y do."""
    xs = [np.ones((2, 3)), np.ones((3, 4))]
    program = program_of(xs, {"contract": ((1,), (0,)), "batch": ((), ())})
    for linear in ([True, False], [False, True]):
        assert [e.op.name for e in transpose(program, linear).equations] == ["dot"]


@pytest.mark.parametrize(("xs", "params"), EXAMPLES)
@pytest.mark.parametrize("mapped", [(True, True), (True, False), (False, True)])
def test_mapping_is_a_loop(xs, params, mapped):
    rows = [[x * (1 + k) if m else x for x, m in zip(xs, mapped, strict=True)] for k in range(3)]
    stacked = [np.stack([r[i] for r in rows]) if m else xs[i] for i, m in enumerate(mapped)]
    batched, _ = vmap(program_of(xs, params), mapped, 3, [True])
    (found,) = python_function(verify(batched))(*stacked)
    np.testing.assert_allclose(found, np.stack([by_einsum(*r, **params) for r in rows]), rtol=1e-12, atol=1e-12)


def test_tangents_of_one_operand_leave_the_other_alone():
    xs = [np.ones((2, 3)), np.ones((3, 4))]
    pushed, active = jvp(program_of(xs, {"contract": ((1,), (0,)), "batch": ((), ())}), (False, True))
    assert active == (True,)
    assert [e.op.name for e in pushed.equations] == ["dot", "dot"]


def test_booleans_multiply_and_add_as_numpy():
    x, y = np.array([[True, False], [False, False]]), np.array([True, True])
    params = {"contract": ((1,), (0,)), "batch": ((), ())}
    (found,) = python_function(program_of([x, y], params))(x, y)
    np.testing.assert_array_equal(found, x @ y)
    assert found.dtype == bool


def test_matrix_product_is_matmul():
    random = np.random.default_rng(1)
    x, y = random.uniform(size=(2, 3, 4)), random.uniform(size=(2, 4, 5))
    program = stage(lambda a, b: [matrix_product(a, b)], [type_of_value(x), type_of_value(y)])
    np.testing.assert_allclose(python_function(program)(x, y)[0], x @ y, rtol=1e-14)


@pytest.mark.parametrize("types", [[np.ones((2, 3)), np.ones((4, 2))], [np.ones((2, 3)), np.ones((3, 2), np.float32)]], ids=["lengths", "dtypes"])
def test_operands_that_do_not_fit(types):
    with pytest.raises(ShapeMismatchError):
        program_of(types, {"contract": ((1,), (0,)), "batch": ((), ())})
