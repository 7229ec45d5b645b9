"""From a call to a program and back: which leaves are traced, what captures are copied, what a trace remembers."""

import numpy as np
import pytest

import functad as fd
from functad._api.call import flatten_call, leaf_type, trace_call, unflatten_call
from functad._core.types import array_type
from functad._core.values import force

X = np.array([0.5, -1.0, 2.0])


@pytest.mark.parametrize("args", [(), (X,), (X, 2.0, 3), (np.float32(1.0), True)])
def test_a_plain_positional_call_is_its_own_list_of_leaves(args):
    leaves, structure = flatten_call(args, {})
    assert structure == len(args)
    assert leaves is args
    assert unflatten_call(structure, leaves) == (args, {})


def test_any_other_call_is_flattened_as_a_tree():
    args, kwargs = ({"a": X}, [1.0, None]), {"k": (2, "text")}
    leaves, structure = flatten_call(args, kwargs)
    assert len(leaves) == 4
    found_args, found_kwargs = unflatten_call(structure, leaves)
    assert found_args[0]["a"] is X
    assert found_args[1] == [1.0, None]
    assert found_kwargs == {"k": (2, "text")}


@pytest.mark.parametrize(
    ("x", "shape", "dtype", "weak"),
    [
        (1, (), "int64", True), (1.0, (), "float64", True), (1j, (), "complex128", True), (True, (), "bool", False),
        (np.float32(1), (), "float32", False),
        (np.int8(1), (), "int8", False), (X, (3,), "float64", False), (np.array(1.0), (), "float64", False),
        (np.zeros((0, 2), bool), (0, 2), "bool", False),
        (np.array(1.0, ">f4"), (), "float32", False),
    ],
)  # fmt: skip
def test_types_of_leaves(x, shape, dtype, weak):
    assert leaf_type(x)[1] is array_type(shape, np.dtype(dtype), weak)


@pytest.mark.parametrize("x", ["text", len, Ellipsis, np.float64, None], ids=str)
def test_what_is_no_number_is_not_traced(x):
    assert leaf_type(x) == (x, None)


def test_an_array_like_of_another_library_is_converted():
    class Like:
        def __array__(self, dtype=None, copy=None):
            return X

    value, kind = leaf_type(Like())
    assert value is X
    assert kind is array_type((3,), np.dtype(float))
    np.testing.assert_array_equal(fd.grad(lambda x: np.sum(x**2))(Like()), 2 * X)


def test_a_trace_has_the_captured_as_leading_inputs():
    w = np.ones(3)
    traced = trace_call(lambda x: np.sum(x * w * 2.0), (X,), 1)
    assert [t.shape for t in traced.program.input_types] == [(3,), (), (3,)]
    assert traced.operands[0] is X
    assert traced.active([True]) == (False, False, True)
    assert traced.captured[1] == 2.0
    assert traced.captured[0] is not w  # copied, since it may be refilled


def test_a_scratch_buffer_that_is_refilled_in_a_loop_is_seen_as_it_was():
    buffer = np.zeros(3)

    def f(x):
        total = 0.0
        for k in range(3):
            buffer[:] = k
            total = total + np.sum(x * buffer)
        return total

    np.testing.assert_array_equal(fd.grad(f)(X), np.full(3, 3.0))


def test_a_large_captured_array_may_be_read_only_or_unchanged():
    large = np.ones(20_000)
    assert fd.grad(lambda x: np.sum(large * x))(3.0) == 20_000.0
    large.flags.writeable = False
    assert fd.grad(lambda x: np.sum(large * x))(3.0) == 20_000.0


def test_the_same_call_gives_the_same_program():
    """Recording interns: transforms and kernels are made once."""
    f = lambda x: np.sin(x) * 2.0 + np.sum(x)
    first, second = (trace_call(f, (x,), 1).program for x in (X, X + 1))
    assert first is second
    assert trace_call(f, (np.ones(4),), 1).program is not first


def test_another_number_is_no_other_program():
    programs = {trace_call(lambda x, s=s: x * s, (X,), 1).program for s in (1.0, 2.0, -0.0, np.inf)}
    assert len(programs) == 1
    assert len({trace_call(lambda x, s=s: x * s, (X,), 1).program for s in (1.0, 1, np.float32(1), np.float64(1))}) == 4


def test_whole_exponents_are_part_of_the_program():
    programs = {trace_call(lambda x, n=n: x**n, (X,), 1).program for n in (1, 2, 3, 2.0, -1)}
    assert len(programs) == 5


def test_questions_are_answered_from_what_they_depend_on():
    seen = []

    def f(x, y):
        z = np.exp(x) - 1.0
        if z > 0:
            seen.append(force(z.cell))
        return z * y

    assert fd.grad(f)(1.0, 2.0) == pytest.approx(2 * np.e)
    assert seen == [pytest.approx(np.e - 1)]


def test_a_loop_of_many_steps_on_values_is_no_recursion():
    def f(x):
        n = 0
        while n < 5_000 and x < 1e300:
            x = x * 1.0001
            n += 1
        return x if x > 1.0 else -x

    assert fd.grad(f)(1.0) == pytest.approx(1.0001**5000, rel=1e-10)


def test_a_value_is_asked_for_once(monkeypatch):
    from functad._core.primitive import REGISTRY

    runs = []
    monkeypatch.setattr(REGISTRY["sinh"], "numpy", lambda x: runs.append(x) or np.sinh(x))

    def f(x):
        y = np.sinh(x)
        return y if (y > 0 and y < 100 and bool(y)) else -y

    fd.jvp(f, (1.0,), (1.0,))
    assert len(runs) == 1
