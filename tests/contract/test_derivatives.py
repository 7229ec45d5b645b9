"""Derivatives of first and second order: against differences of NumPy's values, and against each other by the adjoint identity."""

import numpy as np
import pytest

from .tables import (
    ANALYTIC,
    CARRIED,
    NOT_THE_DERIVATIVE,
    TIED,
    complex_step,
    differentiable,
    directions,
    examples,
    masks,
    pairing,
    pulled,
    pushed,
    reversible,
    richardson,
    run,
)

ALL = reversible()


def each(examples):
    return [pytest.param(e, mask, id=f"{e}-{''.join('01'[on] for on in mask)}") for e in examples for mask in masks(e.active)]


def _narrow(example):
    """Whether single precision takes part in a double-precision example (a cast): differences then have its rounding."""
    return any(t.dtype.char in "fF" for t in example.program().output_types)


def _tangents(example, mask, seed):
    given = iter(directions([t for t, on in zip(example.types, mask, strict=True) if on], seed))
    return [next(given) if on else None for on in mask]


def _by_complex_step(example):
    return example.op.name in ANALYTIC and not any(np.iscomplexobj(x) for x in example.values)


@pytest.mark.parametrize(("example", "mask"), each([e for e in differentiable() if e.op.name not in NOT_THE_DERIVATIVE]))
def test_jvp_agrees_with_differences_of_numpys_values(example, mask):
    push, on = pushed(example.program(), mask)
    ts = _tangents(example, mask, 1)
    found = iter(run(push, [*example.values, *[t for t in ts if t is not None]]))
    exact = _by_complex_step(example)
    for active, d in zip(on, (complex_step if exact else richardson)(example.numpy, example.values, ts), strict=True):
        given = next(found) if active else np.zeros(np.shape(d))
        tolerance = 1e-3 if _narrow(example) else 1e-13 if exact else 1e-9
        np.testing.assert_allclose(given, d, rtol=0, atol=tolerance * np.max(np.abs(d), initial=1.0))


@pytest.mark.parametrize(("example", "mask"), each(ALL))
def test_pullback_is_the_adjoint_of_the_pushforward(example, mask):
    program = example.program()
    pull, halves = pulled(program, mask)
    push, on = pushed(program, mask)
    assert on == halves.out_active
    if pull is None:
        return
    ts = directions([t for t, m in zip(example.types, mask, strict=True) if m], 2)
    cts = directions([a.type for a, m in zip(program.outputs, on, strict=True) if m], 3)
    tangents = run(push, [*example.values, *ts])
    cotangents = run(pull, [*example.values, *cts])
    assert [(c.shape, c.dtype) for c in cotangents] == [(t.shape, t.dtype) for t in ts]
    found, size = pairing(cotangents, ts)
    expected, other = pairing(cts, tangents)
    tolerance = 1e-6 if _narrow(example) else 1e-12
    assert found == pytest.approx(expected, rel=0, abs=tolerance * (1 + max(size, other)))


@pytest.mark.parametrize(("example", "mask"), each(ALL))
def test_linear_half_gives_the_pushforward(example, mask):
    program = example.program()
    _, halves = pulled(program, mask)
    push, on = pushed(program, mask)
    ts = directions([t for t, m in zip(example.types, mask, strict=True) if m], 4)
    residuals = run(halves.forward, example.values)[len(program.outputs) :]
    for t, expected in zip(run(halves.linear, [*residuals, *ts]), run(push, [*example.values, *ts]), strict=True):
        np.testing.assert_allclose(t, expected, rtol=1e-13, atol=1e-13)
    assert on == halves.out_active


def _second(example):
    """(pullback program, all its inputs' values, mask of the primal inputs), or None where nothing is differentiable."""
    pull, halves = pulled(example.program(), example.active)
    if pull is None:
        return None
    kinds = [t for t, on in zip(example.program().output_types, halves.out_active, strict=True) if on]
    cts = directions(kinds, 5)
    return pull, [*example.values, *cts], (*example.active, *[False] * len(cts))


@pytest.mark.parametrize("example", [e for e in ALL if (e.op.name, e.number) not in TIED and e.op.name not in CARRIED], ids=str)
def test_forward_over_reverse_agrees_with_differences_of_the_pullback(example):
    made = _second(example)
    if made is None:
        return
    pull, values, active = made
    push, on = pushed(pull, active)
    ts = _tangents(example, example.active, 6)
    found = iter(run(push, [*values, *[t for t in ts if t is not None]]))
    differences = richardson(lambda *xs: run(pull, xs), values, [*ts, *[None] * (len(values) - len(ts))])
    for active_output, d in zip(on, differences, strict=True):
        given = next(found) if active_output else np.zeros(np.shape(d))
        np.testing.assert_allclose(given, d, rtol=0, atol=1e-8 * np.max(np.abs(d), initial=1.0))


@pytest.mark.parametrize("example", ALL, ids=str)
def test_reverse_over_reverse_is_the_adjoint_of_forward_over_reverse(example):
    made = _second(example)
    if made is None:
        return
    pull, values, active = made
    back, halves = pulled(pull, active)
    push, on = pushed(pull, active)
    assert on == halves.out_active
    if back is None:
        return
    ts = directions([t for t, m in zip(example.types, example.active, strict=True) if m], 7)
    cts = directions([a.type for a, m in zip(pull.outputs, on, strict=True) if m], 8)
    found, size = pairing(run(back, [*values, *cts]), ts)
    expected, other = pairing(cts, run(push, [*values, *ts]))
    assert found == pytest.approx(expected, rel=0, abs=1e-11 * (1 + max(size, other)))


@pytest.mark.parametrize("example", [e for e in examples(("single",)) if e.op.name in {d.op.name for d in ALL}], ids=str)
def test_single_precision_stays_single(example):
    """Types of all derivatives, and their values against double precision."""
    program = example.program()
    if example.op.home and program.output_types[0].dtype == np.float64:
        return  # SciPy has no loop for a whole number beside single precision, and goes over to double: its door casts first
    push, on = pushed(program, example.active)
    ts = directions([t for t, m in zip(example.types, example.active, strict=True) if m], 9)
    narrow = run(push, [*example.values, *ts])
    assert [y.dtype for y in narrow] == [a.dtype for a, m in zip(program.output_types, on, strict=True) if m]
    pull, _ = pulled(program, example.active)
    if pull is not None:
        cts = directions([a for a, m in zip(program.output_types, on, strict=True) if m], 10)
        assert [c.dtype for c in run(pull, [*example.values, *cts])] == [t.dtype for t in ts]
    wide = {"f": np.float64, "F": np.complex128}
    if example.op.name == "convert":  # its precision is a param
        return
    double = next(e for e in ALL if e.op is example.op and e.number == example.number)
    values = [x.astype(wide.get(x.dtype.char, x.dtype)) for x in example.values]
    exact = run(pushed(double.program(), example.active)[0], [*values, *[t.astype(wide[t.dtype.char]) for t in ts]])
    for y, expected in zip(narrow, exact, strict=True):
        np.testing.assert_allclose(y, expected, rtol=0, atol=1e-5 * np.max(np.abs(expected), initial=1.0))
