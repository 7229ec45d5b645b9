"""The transforms as functions from programs to programs: golden texts, masks, residuals, structural zeros, memos."""

import numpy as np
import pytest

import functad as fd
from functad._core.interpret import python_function
from functad._core.primitive import REGISTRY
from functad._core.program import Equation, Literal, Program, Var
from functad._core.recorder import stage
from functad._core.types import array_type
from functad._core.verify import verify
from functad._transforms.derivative import gradient, jacobian, pullback
from functad._transforms.jvp import jvp
from functad._transforms.linearize import linearize, split
from functad._transforms.transpose import transpose
from functad._transforms.vmap import vmap

F8 = array_type((3,), "float64")
SIN, MUL, ADD, SUM, EXP, STOP, NEG = (REGISTRY[n] for n in ("sin", "mul", "add", "reduce_sum", "exp", "stop_gradient", "neg"))
X, Y = np.array([0.5, 1.0, 2.0]), np.array([3.0, -1.0, 0.5])


def product():
    return stage(lambda x, y: [MUL(SIN(x), y)], [F8, F8])


def lines(program):
    return repr(verify(program)).split("\n")


def test_forward_mode_adds_tangents():
    pushed, on = jvp(product(), [True, False])
    assert on == (True,)
    assert lines(pushed) == [
        "program(a: f8[3], b: f8[3], c: f8[3])",
        "  d: f8[3] = sin a",
        "  e: f8[3] = cos a",
        "  f: f8[3] = mul c e",
        "  g: f8[3] = mul d b",
        "  h: f8[3] = mul f b",
        "  return g, h",
    ]


def test_inactive_inputs_have_no_tangents_and_inactive_outputs_none():
    program = stage(lambda x, y: [SIN(x), EXP(y), STOP(y)], [F8, F8])
    assert jvp(program, [False, False])[1] == (False, False, False)
    assert jvp(program, [False, True])[1] == (False, True, False)
    pushed, on = jvp(program, [False, True], [True, False, False])
    assert on == (True, True, False)
    assert len(pushed.outputs) == 5
    assert pushed.outputs[3] == Literal(0, F8)


def test_linearize_splits_at_the_residuals():
    halves = linearize(product(), [True, False])
    assert lines(halves.forward)[-1].startswith("  return")
    assert halves.residuals == len(halves.linear.inputs) - 1 == len(halves.forward.outputs) - 1
    assert [e.op.name for e in halves.linear.equations] == ["mul", "mul"]
    assert [e.op.name for e in halves.forward.equations] == ["sin", "cos", "mul"]


def test_the_linear_half_of_a_linear_function_needs_no_residuals():
    program = stage(lambda x: [SUM(x, axes=(0,))], [F8])
    halves = linearize(program, [True])
    assert halves.residuals == 0
    assert [e.op.name for e in halves.linear.equations] == ["reduce_sum"]


def test_a_broadcast_is_repeated_rather_than_kept():
    def function(x, s):
        return [MUL(x, REGISTRY["broadcast"](s, shape=(1000,), axes=()))]

    halves = linearize(stage(function, [array_type((1000,), "float64"), array_type((), "float64")]), [True, False])
    assert [v.type.shape for v in halves.linear.inputs] == [(), (1000,)]


def test_split_by_dependence():
    program = product()
    known, rest, variables = split(program, [True, False])
    assert ([e.op.name for e in known], [e.op.name for e in rest]) == ([], ["sin", "mul"])
    known, rest, variables = split(program, [False, True])
    assert ([e.op.name for e in known], [e.op.name for e in rest]) == (["sin"], ["mul"])
    assert program.outputs[0] in variables


def test_transposition_sums_what_reached_a_variable_twice():
    program = stage(lambda x, y: [MUL(ADD(x, x), y)], [F8, F8])
    backward = transpose(program, [True, False])
    np.testing.assert_array_equal(python_function(verify(backward))(Y, X)[0], 2 * X * Y)


def test_transposition_of_unused_inputs_and_of_zero_cotangents():
    program = stage(lambda x, y: [ADD(x, x)], [F8, F8])
    assert transpose(program, [True, True]).outputs[1] == Literal(0, F8)


def test_transposing_twice_gives_the_function():
    program = stage(lambda x: [REGISTRY["slice"](REGISTRY["cumsum"](x, axis=0, reverse=False), start=(1,), size=(2,), step=(1,))], [F8])
    twice = transpose(transpose(program, [True]), [True])
    np.testing.assert_allclose(python_function(verify(twice))(X)[0], np.cumsum(X)[1:], rtol=1e-15)


def test_mapping_leaves_alone_what_is_not_mapped():
    whole, mapped = vmap(stage(lambda x, y: [SIN(x), EXP(y)], [F8, F8]), [True, False], 4)
    assert mapped == (True, False)
    assert [t.shape for t in whole.output_types] == [(4, 3), (3,)]
    forced, mapped = vmap(stage(lambda x, y: [SIN(x), EXP(y)], [F8, F8]), [True, False], 4, [True, True])
    assert mapped == (True, True)
    assert [t.shape for t in forced.output_types] == [(4, 3), (4, 3)]


def test_the_gradient_is_one_program():
    program = stage(lambda x, y: [SUM(MUL(SIN(x), y), axes=(0,))], [F8, F8])
    value, gx, gy = python_function(verify(gradient(program, [True, True])))(X, Y)
    assert value == np.sum(np.sin(X) * Y)
    np.testing.assert_array_equal(gx, np.cos(X) * Y)
    np.testing.assert_array_equal(gy, np.sin(X))


@pytest.mark.parametrize("forward", [True, False])
def test_jacobians_of_several_outputs_and_inputs(forward):
    program = stage(lambda x, y: [MUL(x, y), SUM(x, axes=(0,)), STOP(y)], [F8, F8])
    out = python_function(verify(jacobian(program, [True, True], forward, 3)))(X, Y)
    expected = [np.diag(Y), np.diag(X), np.ones(3), np.zeros(3), np.zeros((3, 3)), np.zeros((3, 3))]
    for found, block in zip(out[3:], expected, strict=True):
        np.testing.assert_array_equal(found, block, strict=True)


def test_transforms_are_memoised_in_the_program():
    program = product()
    assert jvp(program, [True, True])[0] is jvp(program, (True, True))[0]
    assert linearize(program, [True, False]) is linearize(program, [True, False])
    assert linearize(program, [True, False]) is not linearize(program, [False, True])
    assert pullback(linearize(program, [True, False])) is pullback(linearize(program, [True, False]))
    assert vmap(program, [True, True], 4)[0] is vmap(program, [True, True], 4)[0]
    assert vmap(program, [True, True], 4)[0] is not vmap(program, [True, True], 5)[0]


def test_higher_orders_do_not_grow_without_bound():
    """The n-th derivative of sin has a few equations more than the one before, not twice as many."""
    f, counts = np.sin, []
    for _ in range(6):
        f = fd.grad(f)
        counts.append(len(fd.make_program(f)(1.0).equations))
    assert counts[-1] < 200


# ---- the question that started it: the reciprocal


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_derivative_of_a_reciprocal_is_minus_its_square_to_the_last_bit(dtype):
    a = np.random.default_rng(0).uniform(0.1, 10.0, 10_000).astype(dtype)
    expected = -(1 / a) * (1 / a)
    for f in (lambda x: np.sum(1 / x), lambda x: np.sum(np.reciprocal(x)), lambda x: np.sum(1.0 / x)):
        for which in ("numpy", "kernel"):
            with fd.evaluator(which):
                found = fd.grad(f)(a)
            assert found.dtype == dtype
            assert found.tobytes() == expected.tobytes(), which


def test_broadcasts_of_broadcasts_are_repeated_in_order():
    """Both are kept for the backward half, and one is made from the other."""
    broadcast = REGISTRY["broadcast"]

    def function(x, y, s):
        row = broadcast(s, shape=(3,), axes=())
        block = broadcast(row, shape=(2, 3), axes=(1,))
        return [MUL(x, block), MUL(y, row)]

    halves = linearize(stage(function, [array_type((2, 3), "float64"), F8, array_type((), "float64")]), [True, True, False])
    verify(halves.linear)
    verify(pullback(halves))
    assert [v.type.shape for v in halves.linear.inputs] == [(), (2, 3), (3,)]


def test_what_no_output_needs_has_no_cotangent():
    x, used, dead = (Var(F8) for _ in range(3))
    program = verify(Program([x], [Equation(NEG, [x], {}, [used]), Equation(NEG, [used], {}, [dead])], [used]))
    (found,) = python_function(verify(transpose(program, [True])))(Y)
    np.testing.assert_array_equal(found, -Y)
