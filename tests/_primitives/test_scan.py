"""scan: every mode against a Python loop, whose derivatives are complex steps and Richardson differences of them."""

import itertools

import numpy as np
import pytest

from functad._api.call import trace_call
from functad._api.control import cond, scan
from functad._api.derivatives import grad
from functad._api.mapping import vmap
from functad._api.products import jvp, linear_transpose
from functad._core.program import Literal, Program, without_dead
from functad._core.recorder import stage
from functad._core.types import array_type
from functad._core.verify import verify
from functad._primitives.scan import scan as primitive
from functad._primitives.scan import scan_linear
from functad._transforms.derivative import gradient, pullback
from functad._transforms.jvp import jvp as push
from functad._transforms.linearize import linearize
from functad._transforms.vmap import vmap as batch
from functad.errors import MissingRuleError

WEIGHTS = np.linspace(1.0, 2.0, 7)


def forward(f):
    return lambda x: jvp(f, (x,), (1.0,))[1]


def first(f, x):
    """df/dx by a complex step: no cancellation."""
    return f(x + 1e-30j).imag / 1e-30


def richardson(quotient, h):
    """A difference quotient with an error in h**2, extrapolated twice."""
    d = [quotient(s) for s in (h, h / 2, h / 4)]
    d = [(4 * b - a) / 3 for a, b in itertools.pairwise(d)]
    return (16 * d[1] - d[0]) / 15


def second(f, x):
    return richardson(lambda s: (first(f, x + s) - first(f, x - s)) / (2 * s), 1e-2)


def third(f, x):
    return richardson(lambda s: (first(f, x + s) - 2 * first(f, x) + first(f, x - s)) / s**2, 2e-2)


# ---- the cases: with scan, and as a Python loop that also takes complex numbers


def smooth(a):
    """A captured tracer, an integer carry, a carry that becomes active inside, stacked outputs."""

    def step(carry, w):
        z, n, s = carry
        return (np.sin(z * a) * w + z, n + 1, s + z * z), z * a

    (z, n, s), ys = scan(step, (a * 1.0, 0, 0.0), WEIGHTS)
    total, _ = scan(lambda t, y: (t + y, None), 0.0, ys)
    return z + s * 0.1 + total * n


def smooth_loop(a):
    z, s, total, n = a * 1.0, 0.0, 0.0, 0
    for w in WEIGHTS:
        z, n, s, total = np.sin(z * a) * w + z, n + 1, s + z * z, total + z * a
    return z + s * 0.1 + total * n


def backwards(a):
    z, ys = scan(lambda z, w: (z * 0.5 + np.exp(-a * w), z * w), a, WEIGHTS, reverse=True)
    return z + scan(lambda t, y: (t * a + y, None), 0.0, ys)[0]


def backwards_loop(a):
    z, ys, t = a, [], 0.0
    for w in WEIGHTS[::-1]:
        ys.append(z * w)
        z = z * 0.5 + np.exp(-a * w)
    for y in ys[::-1]:
        t = t * a + y
    return z + t


def nested(a):
    def inner(z):
        return scan(lambda y, _: (np.sin(y * a) + z * 0.1, None), z, length=3)[0]

    return scan(lambda z, _: (inner(z) + z, None), a * 1.0, length=4)[0]


def nested_loop(a):
    z = a
    for _ in range(4):
        y = z
        for _ in range(3):
            y = np.sin(y * a) + z * 0.1
        z = y + z
    return z


def invariant(a):
    """Work that depends on constants alone, of a captured value and of numbers."""
    return scan(lambda z, w: (z * np.tanh(a * a) + w * np.exp(-a), None), 1.0, WEIGHTS)[0]


def invariant_loop(a):
    z = 1.0
    for w in WEIGHTS:
        z = z * np.tanh(a * a) + w * np.exp(-a)
    return z


def choosing(a):
    """A cond in a scan."""

    def step(z, w):
        return cond(w > 1.4, lambda z: np.sin(z) * a, lambda z: z * z * w, z), None

    return scan(step, a * 0.5, WEIGHTS)[0]


def choosing_loop(a):
    z = a * 0.5
    for w in WEIGHTS:
        z = np.sin(z) * a if w > 1.4 else z * z * w
    return z


def reset(a):
    """A carry that forgets: its tangent is zero after each second step."""

    def step(carry, w):
        z, even = carry
        return (cond(even > 0, lambda: 1.0, lambda: z * a + w), 1 - even), z * z

    _, ys = scan(step, (a, 0), WEIGHTS)
    return scan(lambda t, y: (t + y, None), 0.0, ys)[0]


def reset_loop(a):
    z, even, t = a, 0, 0.0
    for w in WEIGHTS:
        t = t + z * z
        z, even = (1.0 if even > 0 else z * a + w), 1 - even
    return t


def crossed(a):
    """Each carry takes the other's place; one starts without a tangent."""
    (x, y), _ = scan(lambda c, w: ((c[1] * w, np.cos(c[0]) + 0.1 * c[1]), None), (a, 0.3), WEIGHTS)
    return x * y


def crossed_loop(a):
    x, y = a, 0.3
    for w in WEIGHTS:
        x, y = y * w, np.cos(x) + 0.1 * y
    return x * y


def switching(a):
    """A cond on the carry itself, whose other branch is NaN there."""
    return scan(lambda z, w: (cond(z > 0.9, lambda z: np.sqrt(z - 0.5) * a, lambda z: z + w * a, z), z), a, WEIGHTS)[0]


def switching_loop(a):
    z = a
    for w in WEIGHTS:
        z = np.sqrt(z - 0.5) * a if z.real > 0.9 else z + w * a
    return z


CASES = {
    "smooth": (smooth, smooth_loop, 0.4), "backwards": (backwards, backwards_loop, 0.7), "nested": (nested, nested_loop, 0.6),
    "invariant": (invariant, invariant_loop, 0.9), "choosing": (choosing, choosing_loop, 0.8), "reset": (reset, reset_loop, 0.5),
    "crossed": (crossed, crossed_loop, 0.4), "switching": (switching, switching_loop, 0.59),
}  # fmt: skip
each = pytest.mark.parametrize("name", CASES)


@each
def test_value(name):
    f, loop, x = CASES[name]
    assert f(x) == pytest.approx(loop(x), rel=1e-14)


@each
def test_first_derivative_in_both_modes(name):
    f, loop, x = CASES[name]
    expected = first(loop, x)
    assert forward(f)(x) == pytest.approx(expected, rel=1e-12)
    assert grad(f)(x) == pytest.approx(expected, rel=1e-12)


@each
def test_second_derivative_in_four_modes(name):
    f, loop, x = CASES[name]
    expected = second(loop, x)
    for outer, inner in itertools.product((forward, grad), repeat=2):
        assert outer(inner(f))(x) == pytest.approx(expected, rel=1e-7), (outer, inner)


@each
def test_third_derivative_in_mixed_modes(name):
    f, loop, x = CASES[name]
    expected = third(loop, x)
    for modes in (*itertools.product((grad, forward), (grad,), (grad, forward)), (grad, forward, grad), (forward, forward, grad)):
        g = f
        for mode in modes:
            g = mode(g)
        assert g(x) == pytest.approx(expected, rel=1e-5), modes


@each
def test_batching_both_ways(name):
    f, loop, x = CASES[name]
    xs = np.array([x, x + 0.1, x - 0.1])
    np.testing.assert_allclose(vmap(f)(xs), [loop(v) for v in xs], rtol=1e-13)
    expected = [first(loop, v) for v in xs]
    np.testing.assert_allclose(vmap(grad(f))(xs), expected, rtol=1e-12)
    np.testing.assert_allclose(vmap(forward(f))(xs), expected, rtol=1e-12)
    np.testing.assert_allclose(grad(lambda v: total(vmap(f)(v)))(xs), expected, rtol=1e-12)
    np.testing.assert_allclose(vmap(grad(grad(f)))(xs), [second(loop, v) for v in xs], rtol=1e-7)
    np.testing.assert_allclose(grad(lambda v: total(vmap(grad(f))(v)))(xs), [second(loop, v) for v in xs], rtol=1e-7)


def total(v):
    return scan(lambda t, x: (t + x, None), 0.0, v)[0]


def programs(f, *args):
    """The program of f and what the transforms make of it, each verified."""
    program = trace_call(f, args, len(args)).program
    active = tuple(t.is_inexact for t in program.input_types)
    halves = linearize(program, active)
    derived = [program, push(program, active)[0], halves.forward, halves.linear, pullback(halves), gradient(program, active)]
    derived += [batch(p, (True,) * len(p.inputs), 2)[0] for p in derived[:5]]
    derived += [without_dead(p) for p in derived]
    return [verify(p) for p in derived]


@each
def test_programs_are_valid_to_second_order(name):
    f, _, x = CASES[name]
    assert programs(f, x)
    assert programs(grad(f), x)


def scans(program):
    """All scan equations, inner ones included."""
    for e in program.equations:
        if e.op in (primitive, scan_linear):
            yield e
        for p in e.params.values():
            for inner in p if isinstance(p, tuple) else (p,):
                if isinstance(inner, Program):
                    yield from scans(inner)


def names(program):
    return [e.op.name for e in program.equations]


# ---- what the halves look like


def test_a_second_trace_gives_the_same_program():
    traces = [trace_call(grad(smooth), (0.4,), 1).program for _ in range(2)]
    assert traces[0] is traces[1]
    bodies = [[e.params["body"] for e in scans(p)] for p in traces]
    assert bodies[0] == bodies[1]


def test_loop_invariant_work_is_done_outside():
    program = trace_call(invariant, (0.9,), 1).program
    (loop,) = scans(program)
    assert "tanh" in names(program)
    assert not {"tanh", "exp"} & set(names(loop.params["body"]))
    halves = linearize(program, tuple(t.is_inexact for t in program.input_types))
    (known,) = scans(halves.forward)
    assert [n for n in names(known.params["body"]) if n not in ("mul", "add")] == []


def test_residuals_that_do_not_change_are_not_stacked():
    def f(c, z, rows):
        return scan(lambda z, x: (z * c + x * x, None), z, rows)[0]

    halves = linearize(trace_call(f, (0.5, 1.0, WEIGHTS), 3).program, (True,) * 3)
    (known,) = scans(halves.forward)
    # z is needed for c's tangent and is stacked; c and the slices of x, with what is cheap to compute from them, are at hand
    assert len(known.outputs) == known.params["carry"] + 1
    (linear,) = scans(halves.linear)
    assert [v.type.shape for v in linear.inputs].count(WEIGHTS.shape) == 3  # z, x, tangents of x


def test_cheap_residuals_are_computed_again():
    def f(z, rows):
        return scan(lambda z, x: (np.where(x > 1.5, -z, z) * x, None), z, rows)[0]

    traced = trace_call(f, (1.0, WEIGHTS), 2)
    halves = linearize(traced.program, traced.active((True, True)))
    (known,) = scans(halves.forward)
    assert all(v.type.dtype == np.float64 for v in known.outputs)  # no mask is stacked
    (linear,) = scans(halves.linear)
    assert "greater" in names(linear.params["body"])


def test_an_untouched_carry_stays_out_of_the_linear_half():
    def f(a):
        (_, z), _ = scan(lambda c, w: ((c[0] + 1.0, np.sin(c[1]) * w), None), (0.0, a), WEIGHTS)
        return z

    halves = linearize(*_active(f, 0.4))
    (linear,) = scans(halves.linear)
    assert linear.params["carry"] == 1


def _active(f, x):
    traced = trace_call(f, (x,), 1)
    return traced.program, traced.active([True])


def test_dead_carries_and_outputs_go():
    def f(a):
        (z, _), _ = scan(lambda c, w: ((c[0] * w, c[1] + np.exp(c[0])), (c[0], np.tan(c[1]))), (a, 0.0), WEIGHTS)
        return z

    program = without_dead(trace_call(f, (0.4,), 1).program)
    (loop,) = scans(program)
    assert loop.params["carry"] == 1
    assert len(loop.outputs) == 1
    assert names(loop.params["body"]) == ["mul"]


def test_the_transposed_loop_carries_no_zero():
    def f(a):
        (_, s), _ = scan(lambda c, w: ((np.sin(c[0]) * w, c[1] + c[0]), c[0] * c[0]), (a, 0.0), WEIGHTS)
        return s

    program, active = _active(f, 0.4)
    (_, back) = scans(gradient(program, active))
    # the cotangents of ys are zero and never enter; those of z and s do
    assert back.params["carry"] == 2
    assert sum(v.type.shape == (7,) for v in back.inputs) <= 3


def test_the_number_of_loops_doubles_with_each_order():
    g = smooth
    for order in range(1, 4):
        g = grad(g)
        assert len(list(scans(without_dead(trace_call(g, (0.4,), 1).program)))) <= 2 ** (order + 1)


# ---- numpy evaluation, lengths, dtypes


@pytest.mark.parametrize("length", [0, 1])
@pytest.mark.parametrize("reverse", [False, True])
def test_short_loops(length, reverse):
    rows = WEIGHTS[:length]

    def f(a):
        z, ys = scan(lambda z, w: (np.sin(z * a) * w, z * w), a * 2.0, rows, reverse=reverse)
        return z + total(ys)

    def loop(a):
        z, t = a * 2.0, 0.0
        for w in rows:
            z, t = np.sin(z * a) * w, t + z * w
        return z + t

    assert f(0.3) == pytest.approx(loop(0.3))
    for mode in (forward, grad):
        assert mode(f)(0.3) == pytest.approx(first(loop, 0.3), rel=1e-12)
    assert grad(grad(f))(0.3) == pytest.approx(second(loop, 0.3), rel=1e-7)
    np.testing.assert_allclose(vmap(grad(f))(np.array([0.3, 0.4])), [first(loop, 0.3), first(loop, 0.4)], rtol=1e-12)


def test_the_result_of_an_empty_loop_is_a_copy():
    x = np.ones(3)
    out, _ = scan(lambda c, _: (c, None), x, length=0)
    assert not np.shares_memory(out, x)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64])
def test_dtypes_stay(dtype):
    rows = np.ones(4, dtype)
    state, ys = scan(lambda z, x: (z * x * 0.5, z + 1), dtype(0.3), rows)
    assert state.dtype == dtype
    assert ys.dtype == dtype
    if dtype != np.complex64:
        f = lambda a: scan(lambda z, x: (np.sin(z) * x * a, None), a, rows)[0]
        assert grad(f)(dtype(0.3)).dtype == dtype
        assert grad(grad(f))(dtype(0.3)).dtype == dtype
        assert jvp(f, (dtype(0.3),), (dtype(1.0),))[1].dtype == dtype
        assert vmap(grad(f))(rows).dtype == dtype


def test_evaluation_by_the_primitive_itself():
    for values, params in primitive.examples():
        z, n = values[1], values[2]
        order = range(params["length"])
        ys = [None] * params["length"]
        for i in reversed(order) if params["reverse"] else order:
            y = np.sin(z * values[0])
            z, n, ys[i] = y + values[3][i], n + 1, y * values[3][i]
        got = primitive.numpy(*values, **params)
        np.testing.assert_array_equal(got[0], z)
        assert got[1] == n
        np.testing.assert_array_equal(got[2], np.array(ys, float))


def test_infer_refuses_a_body_that_changes_its_carry():
    scalar, vector = array_type((), np.float64), array_type((3,), np.float64)
    body = stage(lambda x: [Literal(0, vector)], [scalar])
    with pytest.raises(ValueError, match="carry 0"):
        primitive.infer(scalar, body=body, constants=0, carry=1, length=2, reverse=False)
    with pytest.raises(ValueError, match="takes"):
        primitive.infer(vector, body=body, constants=0, carry=1, length=2, reverse=False)


def test_transposing_a_scan_that_is_linear():
    """With a counter that is not, a constant that is, and another scan inside."""

    def f(a, xs):
        def step(carry, x):
            n, z = carry
            inner, _ = scan(lambda s, _: (s * 0.5 + a * n, None), z, length=2)
            return (n + 1.0, inner + np.exp(-n) * x), z * n

        (_, z), ys = scan(step, (1.0, 0.0), xs)
        return z, ys

    a, xs, cz, cys = 0.7, WEIGHTS, 1.3, np.cos(WEIGHTS)
    ga, gxs = linear_transpose(f, a, xs)((cz, cys))
    z, ys = f(a, xs)
    # a and xs together are the argument of a linear map: its adjoint is tested in each direction by itself
    z1, ys1 = f(a, 0 * xs)
    assert ga * a == pytest.approx(z1 * cz + ys1 @ cys, rel=1e-12)
    assert ga * a + gxs @ xs == pytest.approx(z * cz + ys @ cys, rel=1e-12)
    with pytest.raises(MissingRuleError, match="linear in all"):
        linear_transpose(lambda x: scan(lambda z, _: (np.sin(z), None), x, length=2)[0], 1.0)(1.0)


def test_work_on_an_active_constant_is_done_before_the_linear_loop():
    """The derivative of s / c asks for 1/c in each step, which does not change."""

    def f(c):
        return scan(lambda s, x: (s / c + x, None), 1.0, np.array([0.5, -1.0, 2.0]))[0]

    np.testing.assert_allclose(grad(f)(1.7), -3 / 1.7**4 - 2 * 0.5 / 1.7**3 + 1.0 / 1.7**2, rtol=1e-13)
    program = trace_call(grad(f), (1.7,), 1).program
    (known,) = [e for e in program.equations if e.op is primitive and not e.params["reverse"]]
    assert "reciprocal" not in [e.op.name for e in known.params["body"].equations]
