"""Types and programs: interned, compared by identity, printable."""

import numpy as np
import pytest

from functad._core.primitive import REGISTRY
from functad._core.program import Equation, Literal, Program, Var, without_dead
from functad._core.types import SCALAR_TYPES, array_type, type_of_value


def test_equal_types_are_one_object():
    assert array_type((2, 3), "float64") is array_type((np.int64(2), 3), np.float64)
    assert array_type((), np.dtype(">f8")) is array_type((), float)
    assert array_type((), float, True) is not array_type((), float)


def test_what_a_type_says():
    kind = array_type((2, 3), "float32")
    assert (kind.ndim, kind.size, kind.is_inexact) == (2, 6, True)
    assert repr(kind) == "f4[2,3]"
    assert repr(SCALAR_TYPES[float]) == "weak f8[]"
    assert kind.with_shape((4,)) is array_type((4,), "float32")
    assert kind.with_dtype("int8").is_inexact is False


@pytest.mark.parametrize("x", [1, 1.0, True, 1j, np.float32(2), np.uint8(3), np.zeros((2, 0), np.complex64)], ids=repr)
def test_types_of_values(x):
    kind = type_of_value(x)
    assert kind.shape == np.shape(x)
    assert kind.dtype == np.asarray(x).dtype
    assert kind.weak == (type(x) in (int, float, complex))


def test_literals_compare_by_value_type_and_sign():
    f8 = array_type((), "float64")
    assert Literal(0.0, f8) == Literal(0, f8)
    assert Literal(0.0, f8) != Literal(-0.0, f8)
    assert Literal(np.nan, f8) == Literal(np.nan, f8)
    assert Literal(1, f8) != Literal(1, array_type((), "float32"))
    assert len({Literal(np.nan, f8), Literal(np.nan, f8)}) == 1
    assert Literal(-0.0, f8).is_zero()
    assert not Literal(np.nan, f8).is_zero()
    np.testing.assert_array_equal(Literal(2, array_type((2,), "float32")).array(), np.full(2, 2, np.float32), strict=True)


def test_dead_equations_are_left_out():
    kind = array_type((3,), "float64")
    x, y, z = Var(kind), Var(kind), Var(kind)
    used, dead = Equation(REGISTRY["sin"], [x], {}, [y]), Equation(REGISTRY["cos"], [y], {}, [z])
    program = without_dead(Program([x], [used, dead], [y]))
    assert program.equations == (used,)
    assert without_dead(program) is program


def test_a_program_prints_with_types_params_and_inner_programs():
    import functad as fd

    x = np.ones((2, 3))
    assert repr(fd.make_program(lambda x: np.sum(x.T * 2, axis=1))(x)).split("\n") == [
        "program(a: weak i8[], b: f8[2,3])",
        "  c: f8[3,2] = transpose[order=(1, 0)] b",
        "  d: f8[] = convert[dtype=dtype('float64')] a",
        "  e: f8[3,2] = broadcast[shape=(3, 2) axes=()] d",
        "  f: f8[3,2] = mul c e",
        "  g: f8[3] = reduce_sum[axes=(1,)] f",
        "  return g",
    ]
    inner = repr(fd.make_program(lambda p, x: fd.cond(p, np.sin, np.cos, x))(True, 1.0))
    assert inner.count("program(") == 3
    assert "      " in inner
