"""Kernels: value equals NumPy's within a few units in the last place, for primitives and for their derivatives.

Compiling costs a tenth of a second or more, so one kernel holds many examples, each an output of its own; a failure names the example.
"""

import itertools

import numpy as np
import pytest

from functad._core.primitive import Fold, Host
from functad._core.program import Literal
from functad._core.recorder import inline, stage
from functad._core.types import type_of_value

from .tables import Example, differentiable, directions, examples, kernel, pulled, pushed, reversible, run

GROUP = 24  # examples a kernel
# Units in the last place: of the element for elementwise values, of the largest element for sums and derivatives.
# NumPy's own elementary functions are within 4, of which a kernel's may stand on the other side.
ULPS = {"elementwise": 4, "view": 0, "join": 0, "index": 4, "order": 0, "reduction": 8, "cumulative": 8, "dot": 16}


def _chunks(found):
    """[(name, examples)]: of one kind and precision each."""
    out = []

    def key(e):
        return e.op.kind, e.precision

    for (kind, precision), members in itertools.groupby(sorted(found, key=key), key=key):
        for i, part in enumerate(_batched(list(members))):
            out.append(pytest.param(list(part), id=f"{kind}-{precision}-{i}"))
    return out


def _batched(members):
    return [members[i : i + GROUP] for i in range(0, len(members), GROUP)]


def _in_kernel(found):
    return [e for e in found if not isinstance(e.op.kernel, Host)]


def _together(programs):
    """One program: all inputs, then all outputs."""

    def function(*xs):
        given = iter(xs)
        return [y for p in programs for y in inline(p, [next(given) for _ in p.inputs])]

    return stage(function, [t for p in programs for t in p.input_types])


def _differences(example, found, expected, pointwise):
    """What is wrong with a kernel's outputs, as text."""
    wrong = []
    for y, e in zip(found, expected, strict=True):
        if (np.shape(y), np.asarray(y).dtype) != (np.shape(e), np.asarray(e).dtype):
            wrong.append(f"{example}: {np.asarray(y).dtype}{np.shape(y)} where NumPy has {np.asarray(e).dtype}{np.shape(e)}")
        elif np.asarray(y).dtype.kind not in "fc":
            if not np.array_equal(y, e):
                wrong.append(f"{example}: {y} where NumPy has {e}")
        else:
            eps = np.finfo(np.asarray(e).dtype).eps
            size = np.abs(e) if pointwise and example.op.kind == "elementwise" else np.max(np.abs(e), initial=0.0)
            allowed = ULPS.get(example.op.kind, 16) * eps * size
            with np.errstate(all="ignore"):
                bad = ~((np.abs(np.asarray(y) - e) <= allowed) | (np.isnan(y) & np.isnan(e)) | (y == e))
            if bad.any():
                wrong.append(f"{example}: {y!r} where NumPy has {e!r}")
    return wrong


def _compare(chunk, programs, values, pointwise=True):
    whole = _together(programs)
    given = [np.array(x)[()] for vs in values for x in vs]
    before = [np.array(x) for x in given]
    outs = iter(kernel(whole)(*given))
    for x, b in zip(given, before, strict=True):
        assert np.asarray(x).tobytes() == b.tobytes()
    wrong = []
    for example, program, vs in zip(chunk, programs, values, strict=True):
        found = [next(outs) for _ in program.outputs]
        wrong += _differences(example, found, run(program, vs), pointwise)
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("chunk", _chunks(_in_kernel(examples())))
def test_kernel_computes_numpys_value(chunk):
    _compare(chunk, [e.program() for e in chunk], [e.values for e in chunk])


@pytest.mark.parametrize("chunk", _chunks(_in_kernel(reversible())))
def test_kernel_of_a_pullback_computes_what_numpy_does(chunk):
    kept, programs, values = [], [], []
    for e in chunk:
        pull, halves = pulled(e.program(), e.active)
        if pull is None or all(isinstance(a, Literal) for a in pull.outputs):
            continue
        cts = directions([t for t, on in zip(e.program().output_types, halves.out_active, strict=True) if on], 1)
        kept.append(Example(e.op, e.number, "double pullback", e.values, e.params))
        programs.append(pull)
        values.append([*e.values, *cts])
    _compare(kept, programs, values, pointwise=False)


@pytest.mark.parametrize("chunk", _chunks(_in_kernel(differentiable())))
def test_kernel_of_a_pushforward_computes_what_numpy_does(chunk):
    programs, values = [], []
    for e in chunk:
        programs.append(pushed(e.program(), e.active)[0])
        values.append([*e.values, *directions([t for t, on in zip(e.types, e.active, strict=True) if on], 2)])
    _compare(chunk, programs, values, pointwise=False)


@pytest.mark.slow
@pytest.mark.parametrize("code", ["?", "b", "h", "i", "q", "B", "H", "I", "Q"])
def test_kernels_for_the_other_dtypes(code):
    """Every primitive on integer examples, at each width that NumPy computes them in."""
    found = []
    for e in _in_kernel(examples(("double",))):
        if not e.values or e.op.kind != "elementwise" or any(np.asarray(x).dtype.kind != "i" for x in e.values):
            continue
        values = tuple(np.abs(x).astype(code)[()] if code in "BHIQ?" else x.astype(code)[()] for x in e.values)
        try:
            e.op.infer(*[type_of_value(x) for x in values], **e.params)
        except TypeError:
            continue  # NumPy has no such loop: the doors refuse or cast before
        found.append(Example(e.op, e.number, code, values, e.params))
    if code == "?":
        found = [e for e in found if e.op.name != "power_static"]  # NumPy's bool**3 is an integer: the door casts before
    assert len(found) > 5
    _compare(found, [e.program() for e in found], [e.values for e in found])


def test_kernel_results_own_their_memory():
    found = [e for e in _in_kernel(examples(("double",))) if e.op.kind == "view"]

    def function(*xs):
        given, outs = iter(xs), []
        for e in found:
            x = [next(given) for _ in e.values]
            y = e.op(*x, **e.params)
            outs += [y, y, *x]
        return outs

    values = [np.array(x) for e in found for x in e.values]
    results = [y for y in kernel(stage(function, [type_of_value(x) for x in values]))(*values) if isinstance(y, np.ndarray)]
    for i, y in enumerate(results):
        assert not any(np.shares_memory(y, x) for x in values)
        assert not any(np.shares_memory(y, z) for z in results[i + 1 :])


def test_kernel_reads_any_memory_order():
    """Transposed, reversed, strided, read-only and unaligned arrays are the same values."""
    add, total = (next(e for e in examples(("double",)) if e.op.name == name and e.number == 0) for name in ("add", "reduce_sum"))
    x, y = np.random.default_rng(0).normal(size=(2, 3, 4))
    run_add = kernel(add.program())
    expected = x + y
    readonly = x.copy()
    readonly.flags.writeable = False
    unaligned = np.zeros(x.nbytes + 1, np.uint8)[1:].view(np.float64).reshape(x.shape)
    unaligned[...] = x
    padded = np.zeros((6, 8))[::2, ::2]
    padded[...] = x
    for other in (np.asfortranarray(x), x[::-1, ::-1].copy()[::-1, ::-1], padded, readonly, unaligned):
        np.testing.assert_array_equal(run_add(other, y)[0], expected)
    whole = np.random.default_rng(1).normal(size=total.values[0].shape)
    np.testing.assert_allclose(kernel(total.program())(np.asfortranarray(whole))[0], total.numpy(whole)[0], rtol=1e-14)


def test_folds_are_within_a_few_units_of_the_exact_sum():
    """Against exact rational arithmetic, with cancellation: error below n * eps * sum(|x|)."""
    from fractions import Fraction

    x = np.random.default_rng(3).normal(size=10_000) * 10.0 ** np.random.default_rng(4).integers(-8, 8, 10_000)
    example = next(e for e in examples(("double",)) if isinstance(e.op.kernel, Fold) and e.op.name == "reduce_sum")

    def total(v):
        return [example.op(v, axes=(0,))]

    found = kernel(stage(total, [type_of_value(x)]))(x)[0]
    exact = float(sum(map(Fraction, x.tolist())))
    assert abs(found - exact) <= 50 * np.finfo(float).eps * np.abs(x).sum()
