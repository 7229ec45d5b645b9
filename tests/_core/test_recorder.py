"""Recording: interned nodes, captured values, staging, and the bounds of the tries."""

import functools

import numpy as np
import pytest

import functad as fd
from functad._core import recorder, template, trie
from functad._core.primitive import REGISTRY
from functad._core.program import Literal
from functad._core.recorder import CURRENT, inline, stage
from functad._core.types import array_type
from functad._core.values import known, unknown
from functad._core.verify import verify
from functad.errors import NoValueError, ShapeMismatchError

F8 = array_type((3,), "float64")
SIN, ADD = REGISTRY["sin"], REGISTRY["add"]


def test_a_primitive_is_recorded_by_calling_it():
    program = stage(lambda x: [ADD(SIN(x), x)], [F8])
    assert [e.op.name for e in program.equations] == ["sin", "add"]
    assert verify(program) is program
    assert program.output_types == (F8,)


def test_what_no_output_needs_is_not_recorded():
    assert stage(lambda x: [(SIN(x), x)[1]], [F8]).equations == ()


def test_literals_may_be_outputs():
    assert stage(lambda x: [Literal(0, F8)], [F8]).outputs == (Literal(0, F8),)


def test_a_primitive_outside_of_a_builder_is_a_fault():
    with pytest.raises(RuntimeError, match="outside of a door"):
        SIN(Literal(0, F8))
    assert CURRENT.get() is None


def test_a_tracer_of_another_builder_is_a_fault():
    kept = []
    stage(lambda x: [(kept.append(x), x)[1]], [F8])
    with pytest.raises(RuntimeError, match="does not belong"):
        stage(lambda x: [ADD(x, kept[0])], [F8])
    assert CURRENT.get() is None


def test_operands_of_unlike_shape_are_a_fault():
    with pytest.raises(ShapeMismatchError):
        stage(lambda x, y: [ADD(x, y)], [F8, array_type((2,), "float64")])


def test_inlining_gives_the_same_values():
    program = stage(lambda x, y: [ADD(SIN(x), y), x], [F8, F8])
    twice = stage(lambda x: inline(program, inline(program, [x, x])), [F8])
    assert [e.op.name for e in twice.equations] == ["sin", "add", "sin", "add"]


def test_tracing_again_walks_the_trie_and_expands_nothing(monkeypatch):
    f = lambda x: np.sum(np.tanh(x) * x[::-1] + np.exp(x[:2]).sum())
    x = np.linspace(0.1, 0.2, 5)
    expected = fd.grad(f)(x)

    def fail(*_):
        raise AssertionError("a known edge was recorded again")

    monkeypatch.setattr(recorder, "_expand", fail)
    np.testing.assert_array_equal(fd.grad(f)(x), expected)


def test_roots_and_nodes_are_bounded(monkeypatch):
    monkeypatch.setattr(trie, "ROOTS", {})
    monkeypatch.setattr(trie, "MAX_ROOTS", 4)
    monkeypatch.setattr(trie, "MAX_NODES", 50)
    for n in range(1, 12):
        x = np.ones((n, 1, 1))
        np.testing.assert_array_equal(fd.grad(lambda x: np.sum(x**2))(x), 2 * x)
        assert len(trie.ROOTS) <= 4

    def chain(x, k):
        for i in range(20):
            x = np.sin(x) if (k >> i) & 1 else np.cos(x)
        return x

    def nodes(node):
        return 1 + sum(map(nodes, node.edges.values()))

    for k in range(40):
        slope = fd.grad(lambda x, k=k: chain(x, k))(0.5)
        assert slope == pytest.approx((chain(0.5 + 1e-6, k) - chain(0.5 - 1e-6, k)) / 2e-6, abs=1e-8)
    # without a bound: some 40 paths of 20 nodes
    assert sum(nodes(root) for root in trie.ROOTS.values()) < 200


def test_values_are_forced_once_and_reasons_are_told():
    assert recorder.force(known(3.0)) == 3.0
    with pytest.raises(NoValueError, match="a mapped argument"):
        recorder.force(unknown("a mapped argument"))


def test_a_tracer_says_what_it_stands_for():
    seen = []
    fd.grad(lambda x: (seen.append((x.shape, x.dtype, x.ndim, x.size, repr(x), isinstance(x, fd.Tracer))), np.sum(x))[1])(np.ones((2, 3), np.float32))
    assert seen == [((2, 3), np.dtype(np.float32), 2, 6, "Tracer(f4[2,3])", True)]


def test_a_tracer_is_not_hashable_as_arrays_are_not():
    with pytest.raises(TypeError, match="unhashable"):
        fd.grad(lambda x: {x: 1}[x])(np.ones(2))


def test_an_operation_is_spelt_once_for_its_types_however_long_the_path():
    """A path that was never seen stamps templates: no implementation runs, and no equation is made before one is read."""
    steps = lambda n: lambda x: functools.reduce(lambda y, _: np.tanh(y) * y - 0.5, range(n), x)
    x = np.ones((3, 1, 1, 1, 1, 1, 1))  # a type that no other test has met
    fd.make_program(steps(2))(x)
    before = dict(template.TEMPLATES)
    program = fd.make_program(steps(50))(x)
    assert before == template.TEMPLATES
    assert all(node._equations is None for node in program.path)
    assert [e.op.name for e in verify(program).equations[-4:]] == ["tanh", "mul", "broadcast", "sub"]


def test_a_value_given_twice_is_another_template_than_two_values():
    square, product = fd.make_program(lambda x: x * x)(2.0), fd.make_program(lambda x, y: x * y)(2.0, 3.0)
    assert square.path[0].template is not product.path[0].template
    assert [len(program.inputs) for program in (square, product)] == [1, 2]


def test_templates_are_bounded(monkeypatch):
    monkeypatch.setattr(template, "MAX_TEMPLATES", 3)
    for n in range(2, 10):
        x = np.ones((n, 1, 1, 1, 1, 1, 1))  # a type that no other test has met
        np.testing.assert_array_equal(fd.grad(lambda x: np.sum(x**2))(x), 2 * x)
        assert len(template.TEMPLATES) <= 3


def test_an_operation_may_be_spelt_in_operators_and_functions():
    door = recorder.Door("spelt", lambda x: 1.0 + np.sqrt(x * x) + np.maximum(x, 1.0) + np.sum(x, axis=0))
    f = lambda x: recorder.record(door, None, (x,), None)
    x = np.array([0.5, 2.0])
    np.testing.assert_array_equal(fd.jit(f)(x), door.implementation(x))
    np.testing.assert_array_equal(fd.jacobian(f)(x), [[2.0, 1.0], [1.0, 3.0]])


def test_an_operation_may_not_ask_for_values():
    door = recorder.Door("asking", lambda x: x if x > 0 else -x)
    with pytest.raises(RuntimeError, match="an intermediate value of a rule has no value"):
        fd.grad(lambda x: recorder.record(door, None, (x,), None))(1.0)


def test_a_whole_number_that_fits_is_told_from_one_that_is_traced():
    """Both are one edge of the trie: the type is the same, and only the value is missing."""
    x = np.ones(3, np.int8)
    np.testing.assert_array_equal(fd.vmap(lambda x: x + 3)(x), x + 3)
    with pytest.raises(fd.errors.UnsupportedArgumentError, match="from -128 to 127"):
        fd.jit(lambda n: fd.vmap(lambda x: x + n)(x))(3)


@pytest.mark.parametrize("use", [lambda x: 2.0 * x, lambda x: np.ones(3) * x, lambda x: x + [1.0, 2.0, 3.0], lambda x: np.where(True, 1.0, x)])
def test_a_value_that_was_kept_is_refused_wherever_it_stands(use):
    kept = []
    fd.grad(lambda x: (kept.append(x), np.sum(x))[1])(np.ones(3))
    with pytest.raises(fd.errors.EscapedTracerError, match="it was kept"):
        use(kept[0])


def test_nodes_are_bounded_over_all_roots(monkeypatch):
    monkeypatch.setattr(trie, "ROOTS", {})
    monkeypatch.setattr(trie, "MAX_NODES", 30)

    def chain(x, k):
        for i in range(20):
            x = np.sin(x) if (k >> i) & 1 else np.cos(x)
        return np.sum(x)

    for n in range(1, 9):  # each is within its own bound
        fd.make_program(lambda x: chain(x, 0))(np.ones((n, 1, 1, 1)))
    assert len(trie.ROOTS) < 8
    last = np.ones((n, 1, 1, 1))
    for k in (5, 9):
        program = fd.make_program(lambda x, k=k: chain(x, k))(last)
    assert sum(root.count for root in trie.ROOTS.values()) <= 3 * 30
    assert fd.make_program(lambda x: chain(x, 9))(last) is program  # what was met last is kept


def test_programs_within_a_program_are_printed_below_it():
    program = fd.make_program(lambda x: fd.while_loop(lambda c: c < 3, lambda c: c * 2.5, x))(1.0)
    assert repr(program).split("\n") == [
        "program(a: weak i8[], b: weak f8[], c: weak f8[])",
        "  d: f8[] = while_loop[condition_constants=1 body_constants=1] a b c",
        "    condition:",
        "      program(a: weak i8[], b: weak f8[])",
        "        c: f8[] = convert[dtype=dtype('float64')] a",
        "        d: b1[] = less b c",
        "        return d",
        "    body:",
        "      program(a: weak f8[], b: weak f8[])",
        "        c: weak f8[] = mul b a",
        "        return c",
        "  return d",
    ]
