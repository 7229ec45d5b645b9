"""Batching agrees with a Python loop, for each subset of the inputs, and so do the derivatives of what is batched."""

import numpy as np
import pytest

from functad._core.primitive import Missing
from functad._transforms.vmap import vmap

from .tables import differentiable, directions, examples, pulled, pushed, run, spread_out, subsets

SIZE = 3
ALL = [e for e in examples(("double",)) if e.values and not isinstance(e.op.batch, Missing)]
EACH = [pytest.param(e, m, id=f"{e}-{''.join('01'[on] for on in m)}") for e in ALL for m in subsets(len(e.values))]


def _loop(program, batched, mapped):
    rows = [run(program, [x[k] if m else x for x, m in zip(batched, mapped, strict=True)]) for k in range(SIZE)]
    return [np.stack([np.asarray(r[i]) for r in rows]) for i in range(len(program.outputs))]


def _check(program, batched, mapped):
    whole, out_mapped = vmap(program, mapped, SIZE)
    assert [t.shape for t in whole.input_types] == [np.shape(x) for x in batched]
    for y, m, expected in zip(run(whole, batched), out_mapped, _loop(program, batched, mapped), strict=True):
        y = y if m else np.broadcast_to(y, expected.shape)
        assert y.dtype == expected.dtype
        if y.dtype.kind in "fc":
            np.testing.assert_allclose(y, expected, rtol=1e-13, atol=1e-13 * np.max(np.abs(expected), initial=1.0), strict=True)
        else:
            np.testing.assert_array_equal(y, expected, strict=True)


def _batch(values, mapped):
    return [np.stack([spread_out(np.asarray(x), k) for k in range(SIZE)]) if m else x for x, m in zip(values, mapped, strict=True)]


@pytest.mark.parametrize(("example", "mapped"), EACH)
def test_batched_primitive_agrees_with_a_loop(example, mapped):
    _check(example.program(), _batch(example.values, mapped), mapped)


@pytest.mark.parametrize("example", [e for e in differentiable() if e.values and not isinstance(e.op.batch, Missing)], ids=str)
def test_batched_derivatives_agree_with_a_loop(example):
    """The cotangent alone mapped (as in a Jacobian), and everything mapped (as in vmap of grad)."""
    program = example.program()
    push, on = pushed(program, example.active)
    ts = directions([t for t, m in zip(example.types, example.active, strict=True) if m], 1)
    cts = directions([a for a, m in zip(program.output_types, on, strict=True) if m], 2)
    pull = pulled(program, example.active)[0] if not isinstance(example.op.split, Missing) else None
    n = len(example.values)
    for derivative, seeds in ((push, ts), (pull, cts)):
        if derivative is None or not derivative.outputs:
            continue
        for mapped in ((*[False] * n, *[True] * len(seeds)), (True,) * (n + len(seeds))):
            _check(derivative, _batch([*example.values, *seeds], mapped), mapped)


@pytest.mark.parametrize("example", [e for e in ALL if e.number == 0], ids=str)
def test_a_wanted_output_is_mapped_though_nothing_is(example):
    program = example.program()
    whole, out_mapped = vmap(program, [False] * len(program.inputs), SIZE, [True] * len(program.outputs))
    assert all(out_mapped)
    for y, once in zip(run(whole, example.values), run(program, example.values), strict=True):
        np.testing.assert_array_equal(y, np.stack([once] * SIZE), strict=True)


@pytest.mark.parametrize("example", [e for e in ALL if e.number == 0], ids=str)
def test_batching_twice_agrees_with_two_loops(example):
    mapped = (True,) * len(example.values)
    once, out_mapped = vmap(example.program(), mapped, SIZE, [True] * len(example.program().outputs))
    _check(once, _batch(_batch(example.values, mapped), mapped), mapped)
    assert all(out_mapped)
