"""Values: types as inferred and as NumPy's, values as NumPy's, inputs untouched, results of their own memory."""

import numpy as np
import pytest

from functad._compile.rewriting.simplify import simplify
from functad._core.primitive import REGISTRY, Missing, rule_of
from functad._core.recorder import stage
from functad._core.types import array_type, type_of_value
from functad._core.verify import verify
from functad._transforms.jvp import jvp
from functad._transforms.transpose import transpose
from functad._transforms.vmap import vmap
from functad.errors import MissingRuleError

from .tables import differentiable, examples, pulled, pushed, reversible, run

ALL = examples()


def test_every_primitive_has_examples():
    """Identities that carry a derivative are the exception: their derivative is tested in tests/_transforms/test_forms.py."""
    assert [name for name, op in REGISTRY.items() if not op.identity and (op.examples is None or not op.examples())] == []


@pytest.mark.parametrize("example", ALL, ids=str)
def test_inferred_types_are_numpys(example):
    inferred = example.op.infer(*example.types, **example.params)
    out = example.numpy(*example.values)
    assert [(t.shape, t.dtype) for t in inferred] == [(np.shape(y), np.asarray(y).dtype) for y in out]


@pytest.mark.parametrize("example", ALL, ids=str)
def test_python_evaluator_gives_numpys_value_and_leaves_its_inputs_alone(example):
    given = [np.array(x) for x in example.values]
    program = example.program()
    out = run(program, example.values)
    for y, expected in zip(out, example.numpy(*given), strict=True):
        np.testing.assert_array_equal(y, expected, strict=True)
    for x, before in zip(example.values, given, strict=True):
        assert np.asarray(x).tobytes() == before.tobytes()


@pytest.mark.parametrize("example", ALL, ids=str)
def test_simplified_program_has_the_same_value_and_is_valid(example):
    program = example.program()
    for y, expected in zip(run(simplify(program), example.values), run(program, example.values), strict=True):
        np.testing.assert_array_equal(y, expected, strict=True)


@pytest.mark.parametrize("example", [e for e in ALL if e.precision == "double"], ids=str)
def test_results_own_their_memory(example):
    op = example.op
    types = [type_of_value(np.asarray(x)) for x in example.values]

    def twice(*xs):
        out = op(*xs, **example.params)
        outs = out if op.multiple else (out,)
        return [*outs, *outs, *xs]

    values = [np.array(x) for x in example.values]
    results = [y for y in run(stage(twice, types), values) if isinstance(y, np.ndarray)]
    for i, y in enumerate(results):
        assert not any(np.shares_memory(y, x) for x in values)
        assert not any(np.shares_memory(y, z) for z in results[i + 1 :])
        assert y.flags.writeable


@pytest.mark.parametrize("example", differentiable(), ids=str)
def test_every_transform_gives_a_valid_program_and_so_does_simplify(example):
    program = example.program()
    made = [pushed(program, example.active)[0]]
    if example.op.name in {e.op.name for e in reversible()}:
        pull, halves = pulled(program, example.active)
        made += [halves.forward, halves.linear, *([pull] if pull is not None else [])]
    if not isinstance(example.op.batch, Missing):
        made += [vmap(p, [True] * len(p.inputs), 3)[0] for p in [program, *made]]
    for p in made:
        verify(p)
        verify(simplify(p))


MISSING = [(op, rule) for op in REGISTRY.values() for rule in ("jvp", "transpose", "batch", "split") if isinstance(getattr(op, rule), Missing)]

EXAMPLES = {e.op.name: e for e in sorted(ALL, key=lambda e: any(e.active)) if e.values}  # one each, with a floating-point input where there is one


@pytest.mark.parametrize(("op", "rule"), MISSING, ids=lambda x: str(x))
def test_missing_rule_raises_with_its_reason(op, rule):
    reason = getattr(op, rule).reason
    assert len(reason) > 5
    with pytest.raises(MissingRuleError) as caught:
        rule_of(op, rule)
    assert op.name in str(caught.value)
    assert reason in str(caught.value)


@pytest.mark.parametrize(("op", "rule"), [m for m in MISSING if m[0].name in EXAMPLES and m[1] != "split"], ids=lambda x: str(x))
def test_a_transform_that_needs_a_missing_rule_raises_it(op, rule):
    program = EXAMPLES[op.name].program()
    on = [True] * len(program.inputs)
    call = {"jvp": lambda: jvp(program, on), "transpose": lambda: transpose(program, on), "batch": lambda: vmap(program, on, 2)}[rule]
    with pytest.raises(MissingRuleError, match=op.name):
        call()


def test_verify_refuses_what_it_must():
    from functad._core.program import Equation, Program, Var
    from functad.errors import VerificationError

    kind = array_type((3,), "float64")
    x, y, z = Var(kind), Var(kind), Var(array_type((2,), "float64"))
    sin = REGISTRY["sin"]
    once = Equation(sin, [x], {}, [y])
    for program in (
        Program([x, x], [], [x]),
        Program([x], [once, once], [y]),
        Program([x], [Equation(sin, [z], {}, [y])], [y]),
        Program([x], [Equation(sin, [x], {}, [z])], [z]),
        Program([x], [], [y]),
        Program([x], [Equation(REGISTRY["reshape"], [x], {"shape": [3]}, [y])], [y]),
        Program([x], [Equation(REGISTRY["reshape"], [x], {"shape": np.zeros(1)}, [y])], [y]),
    ):
        with pytest.raises(VerificationError):
            verify(program)
    assert verify(Program([x], [once], [y]))


@pytest.mark.parametrize("example", [e for e in ALL if e.precision == "double" and any(np.shape(x) == () for x in e.values)], ids=str)
def test_python_numbers_serve_as_scalars(example):
    """A user's Python number reaches the evaluator as it is."""
    program = example.program()
    values = [x.item() if np.shape(x) == () and np.asarray(x).dtype.char in "?ldD" else x for x in example.values]
    for y, expected in zip(run(program, values), run(program, example.values), strict=True):
        np.testing.assert_array_equal(y, expected, strict=True)
