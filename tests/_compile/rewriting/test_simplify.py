"""simplify: each rule on a small program, and that no rule changes a value."""

import numpy as np
import pytest

from functad._compile.rewriting.simplify import simplify
from functad._core.interpret import python_function
from functad._core.program import Literal, Program
from functad._core.recorder import stage
from functad._core.types import array_type
from functad._core.verify import verify
from functad._primitives import cond, elementwise, index, logic, reduce, scan, shape

F8, F4, I8 = (np.dtype(d) for d in ("f8", "f4", "i8"))
X = array_type((3,), F8)
M = array_type((2, 3), F8)
SPECIAL = np.array([0.0, -0.0, 1.5, -2.0, np.inf, -np.inf, np.nan, 1e308])


def simplified(function, *types):
    """The simplified program, verified."""
    return verify(simplify(verify(stage(lambda *xs: _listed(function(*xs)), types))))


def _listed(out):
    return out if isinstance(out, (list, tuple)) else [out]


def names(program):
    return [e.op.name for e in program.equations]


def lit(value, kind=X):
    return Literal(value, kind)


def test_dead_and_common_equations_go():
    def f(x):
        elementwise.exp(x)
        return elementwise.add(elementwise.mul(elementwise.sin(x), x), elementwise.mul(x, elementwise.sin(x)))

    assert names(simplified(f, X)) == ["sin", "mul", "add"]


def test_literals_fold():
    program = simplified(lambda x: elementwise.mul(x, elementwise.add(lit(2.0), elementwise.exp(lit(0.0)))), X)
    assert names(program) == ["mul"]
    assert program.equations[0].inputs[1] == lit(3.0)


UNCHANGED = {
    "times one": lambda x: elementwise.mul(x, lit(1.0)),
    "one times": lambda x: elementwise.mul(lit(1.0), x),
    "over one": lambda x: elementwise.div(x, lit(1.0)),
    "minus zero": lambda x: elementwise.sub(x, lit(0.0)),
    "plus negative zero": lambda x: elementwise.add(x, lit(-0.0)),
    "negative zero plus": lambda x: elementwise.add(lit(-0.0), x),
    "negated twice": lambda x: elementwise.neg(elementwise.neg(x)),
    "minus one twice": lambda x: elementwise.mul(lit(-1.0), elementwise.mul(x, lit(-1.0))),
    "same dtype": lambda x: logic.convert(x, dtype=F8),
    "there and back": lambda x: logic.conj(logic.convert(x, dtype=F8)),
    "same branches": lambda x: logic.select(logic.less(x, lit(0.0)), x, x),
    "first power": lambda x: elementwise.power_static(x, exponent=(1, int)),
    "stop_gradient": lambda x: logic.stop_gradient(x),
    "same shape": lambda x: shape.reshape(x, shape=(3,)),
    "reshaped back": lambda x: shape.reshape(shape.reshape(x, shape=(3, 1)), shape=(3,)),
    "broadcast to itself": lambda x: shape.broadcast(x, shape=(3,), axes=(0,)),
    "transposed twice": lambda x: shape.reshape(
        shape.transpose(shape.transpose(shape.reshape(x, shape=(3, 1)), order=(1, 0)), order=(1, 0)), shape=(3,)
    ),
    "flipped twice": lambda x: shape.flip(shape.flip(x, axes=(0,)), axes=(0,)),
    "whole slice": lambda x: shape.slice_(x, start=(0,), size=(3,), step=(1,)),
    "slice of pad": lambda x: shape.slice_(shape.pad(x, low=(2,), high=(1,), inner=(0,)), start=(2,), size=(3,), step=(1,)),
    "slice of join": lambda x: shape.slice_(shape.concatenate(lit(7.0), x, axis=0), start=(3,), size=(3,), step=(1,)),
    "no padding": lambda x: shape.pad(x, low=(0,), high=(0,), inner=(0,)),
    "join with nothing": lambda x: shape.concatenate(x, lit(0.0, array_type((0,), F8)), axis=0),
    "reduced over no axis": lambda x: reduce.reduce_max(x, axes=()),
}


@pytest.mark.parametrize("name", UNCHANGED)
def test_what_does_nothing_is_removed(name):
    program = simplified(UNCHANGED[name], X)
    assert program.equations == ()
    assert program.outputs == program.inputs


KEPT = {
    "plus zero": lambda x: elementwise.add(x, lit(0.0, x.type)),
    "times zero": lambda x: elementwise.mul(x, lit(0.0, x.type)),
    "minus itself": lambda x: elementwise.sub(x, x),
    "narrowed and widened": lambda x: logic.convert(logic.convert(x, dtype=F4), dtype=F8),
}


@pytest.mark.parametrize("name", KEPT)
def test_what_matters_for_special_values_stays(name):
    assert simplified(KEPT[name], X).equations


REWRITES = {
    "x + (-y)": (lambda x, y: elementwise.add(x, elementwise.neg(y)), ["sub"]),
    "(-x) + y": (lambda x, y: elementwise.add(elementwise.neg(x), y), ["sub"]),
    "x - (-y)": (lambda x, y: elementwise.sub(x, elementwise.neg(y)), ["add"]),
    "(-x) * (-y)": (lambda x, y: elementwise.mul(elementwise.neg(x), elementwise.neg(y)), ["mul"]),
    "(-x) * 3": (lambda x, y: elementwise.mul(elementwise.neg(x), lit(3.0)), ["mul"]),
    "x * -1": (lambda x, y: elementwise.mul(x, lit(-1.0)), ["neg"]),
    "1 / x": (lambda x, y: elementwise.div(lit(1.0), x), ["reciprocal"]),
    "x / 2": (lambda x, y: elementwise.div(x, lit(2.0)), ["mul"]),
    "narrow, wide, narrow": (lambda x, y: logic.convert(logic.convert(logic.convert(x, dtype=F4), dtype=F8), dtype=F4), ["convert"]),
    "select of not": (lambda x, y: logic.select(logic.logical_not(logic.less(x, y)), x, y), ["less", "select"]),
    "select in select": (lambda x, y: logic.select(logic.less(x, y), logic.select(logic.less(x, y), x, elementwise.sin(y)), y), ["less", "select"]),
    "slice of slice": (lambda x, y: shape.slice_(shape.slice_(x, start=(1,), size=(2,), step=(1,)), start=(1,), size=(1,), step=(1,)), ["slice"]),
    "pad of pad": (lambda x, y: shape.pad(shape.pad(x, low=(1,), high=(0,), inner=(0,)), low=(1,), high=(2,), inner=(0,)), ["pad"]),
    "broadcast of broadcast": (
        lambda x, y: shape.broadcast(shape.broadcast(x, shape=(2, 3), axes=(1,)), shape=(2, 3, 4), axes=(0, 1)),
        ["broadcast"],
    ),
    "column": (lambda x, y: shape.broadcast(shape.reshape(x, shape=(3, 1)), shape=(3, 4), axes=(0, 1)), ["broadcast"]),
    "sum over an axis of one": (lambda x, y: reduce.reduce_sum(shape.reshape(x, shape=(3, 1)), axes=(1,)), ["add"]),
    "pads side by side": (
        lambda x, y: elementwise.add(shape.pad(x, low=(3,), high=(0,), inner=(0,)), shape.pad(y, low=(0,), high=(3,), inner=(0,))),
        ["concatenate"],
    ),
    "equal pads": (
        lambda x, y: elementwise.add(shape.pad(x, low=(1,), high=(0,), inner=(0,)), shape.pad(y, low=(1,), high=(0,), inner=(0,))),
        ["add", "pad"],
    ),
    "operands broadcast alike": (
        lambda x, y: elementwise.exp(
            elementwise.mul(shape.broadcast(x, shape=(2, 3), axes=(1,)), elementwise.add(shape.broadcast(y, shape=(2, 3), axes=(1,)), lit(2.0, M)))
        ),
        ["add", "mul", "exp", "broadcast"],
    ),
}


@pytest.mark.parametrize("name", REWRITES)
def test_rewrites(name):
    function, expected = REWRITES[name]
    assert names(simplified(function, X, X)) == expected


@pytest.mark.parametrize("name", [*REWRITES, *KEPT])
def test_values_stay_bit_for_bit(name):
    function = REWRITES[name][0] if name in REWRITES else (lambda x, y: KEPT[name](x))
    program = stage(lambda x, y: [function(x, y)], (X, X))
    for i in range(len(SPECIAL)):
        args = np.roll(SPECIAL, i)[:3], np.roll(SPECIAL, 2 * i)[2:5]
        for before, after in zip(python_function(program)(*args), python_function(simplify(program))(*args), strict=True):
            np.testing.assert_array_equal(before, after)
            if name != "pads side by side":  # the zeros around are structural there: -0.0 stays
                np.testing.assert_array_equal(np.signbit(before[before == before]), np.signbit(after[after == after]))


def test_inner_programs_are_simplified():
    row = array_type((), F8)
    body = stage(lambda c, x: [elementwise.mul(elementwise.add(c, x), Literal(1.0, row)), elementwise.neg(elementwise.neg(c))], (row, row))
    program = simplified(lambda c, xs: list(scan.scan(c, xs, body=body, constants=0, carry=1, length=3, reverse=False)), row, X)
    assert names(program.equations[0].params["body"]) == ["add"]
    branch = stage(lambda x: [elementwise.neg(elementwise.neg(x))], (X,))
    other = stage(lambda x: [elementwise.sin(x)], (X,))
    program = simplified(lambda p, x: list(cond.cond(p, x, branches=cond.Branches(branch, other))), array_type((), "?"), X)
    assert names(program.equations[0].params["branches"].when_true) == []


def test_integers_and_booleans():
    kind = array_type((3,), I8)
    assert names(simplified(lambda x: elementwise.add(elementwise.mul(x, lit(1, kind)), lit(0, kind)), kind)) == []
    assert names(simplified(lambda x: logic.convert(logic.convert(x, dtype=F8), dtype=F4), kind)) == ["convert", "convert"]
    assert names(simplified(lambda x: logic.convert(logic.convert(x, dtype=np.dtype("?")), dtype=F8), kind)) == ["convert", "convert"]


def test_counting_to_one():
    assert simplified(lambda: index.iota(shape=(3, 1), axis=1, dtype=I8)).outputs == (lit(0, array_type((3, 1), I8)),)


def test_memo_and_fixpoint():
    program = stage(lambda x: [elementwise.neg(elementwise.neg(elementwise.sin(x)))], (X,))
    assert simplify(program) is simplify(program)
    assert simplify(simplify(program)) is simplify(program)
    assert isinstance(simplify(program), Program)


def test_zeros_between_elements_and_parts_of_other_sizes_stay():
    def stretched(x):
        padded = shape.pad(x, low=(0,), high=(0,), inner=(1,))
        return shape.slice_(padded, start=(1,), size=(3,), step=(1,))

    def side_by_side(x, m):
        first = shape.pad(x, low=(0, 0), high=(2, 1), inner=(0, 0))
        return elementwise.add(first, shape.pad(m, low=(1, 0), high=(0, 0), inner=(0, 0)))

    assert names(simplified(stretched, X)) == ["pad", "slice"]
    assert names(simplified(side_by_side, array_type((1, 2), F8), M)) == ["pad", "pad", "add"]
