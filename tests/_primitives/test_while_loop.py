"""while_loop: forward mode and batching against a Python loop; no reverse mode, with its reason."""

import itertools

import numpy as np
import pytest

from functad._api.call import trace_call
from functad._api.control import scan, while_loop
from functad._api.derivatives import grad
from functad._api.mapping import vmap
from functad._api.products import jvp
from functad._core.program import without_dead
from functad._core.recorder import stage
from functad._core.types import array_type
from functad._core.verify import verify
from functad._primitives.while_loop import while_loop as primitive
from functad._transforms.jvp import jvp as push
from functad._transforms.vmap import vmap as batch
from functad.errors import MissingRuleError


def forward(f):
    return lambda x: jvp(f, (x,), (1.0,))[1]


def first(f, x):
    return f(x + 1e-30j).imag / 1e-30


def second(f, x, h=1e-3):
    d = [(first(f, x + s) - first(f, x - s)) / (2 * s) for s in (h, h / 2)]
    return (4 * d[1] - d[0]) / 3


def grown(a):
    """An integer carry, a carry that becomes active inside, a captured value in the condition and in the body."""
    x, n, s = while_loop(lambda c: c[0] < 10.0 * a, lambda c: (c[0] * 1.5 + a, c[1] + 1, c[2] + c[0] * a), (1.0, 0, 0.0))
    return x * n + s


def grown_loop(a):
    x, n, s = 1.0, 0, 0.0
    while np.real(x) < 10.0 * np.real(a):
        x, n, s = x * 1.5 + a, n + 1, s + x * a
    return x * n + s


def root(a):
    """Newton's method: NaN and infinities would come up if it went on from zero."""
    return while_loop(lambda x: np.abs(x * x - a) > 1e-9 * a, lambda x: 0.5 * (x + a / x), a)


def root_loop(a):
    x = a
    while abs(np.real(x * x - a)) > 1e-9 * np.real(a):
        x = 0.5 * (x + a / x)
    return x


def doubled(a):
    """A loop in a loop."""
    return while_loop(lambda z: z < 20.0, lambda z: while_loop(lambda y: y < z + 2.0, lambda y: y + np.sin(a) * y, z), a)


def doubled_loop(a):
    z = a
    while np.real(z) < 20.0:
        y = z
        while np.real(y) < np.real(z) + 2.0:
            y = y + np.sin(a) * y
        z = y
    return z


CASES = {"grown": (grown, grown_loop, 0.7), "root": (root, root_loop, 3.0), "doubled": (doubled, doubled_loop, 0.9)}
each = pytest.mark.parametrize("name", CASES)


@each
def test_value_and_forward_mode(name):
    f, loop, x = CASES[name]
    assert f(x) == pytest.approx(loop(x), rel=1e-14)
    assert forward(f)(x) == pytest.approx(first(loop, x), rel=1e-12)
    assert forward(forward(f))(x) == pytest.approx(second(loop, x), rel=1e-6)


@each
def test_lanes_stop_at_different_times(name):
    f, loop, x = CASES[name]
    xs = np.array([x, 3 * x, 0.5 * x])
    np.testing.assert_allclose(vmap(f)(xs), [loop(v) for v in xs], rtol=1e-13)
    np.testing.assert_allclose(vmap(forward(f))(xs), [first(loop, v) for v in xs], rtol=1e-12)
    for i, e in enumerate(np.eye(3)):
        np.testing.assert_allclose(jvp(vmap(f), (xs,), (e,))[1], e * first(loop, xs[i]), rtol=1e-12)


def test_a_lane_that_is_done_keeps_its_value_and_tangent():
    """Going on would divide by zero and take roots of negative numbers."""
    f = lambda x: while_loop(lambda c: c > 0.5, lambda c: np.sqrt(c - 0.5) / (c - 0.5) * 0.1, x)
    xs = np.array([0.5, 0.25, 0.9])
    np.testing.assert_allclose(vmap(f)(xs), [f(x) for x in xs])
    np.testing.assert_allclose(vmap(forward(f))(xs), [forward(f)(x) for x in xs])
    np.testing.assert_allclose(jvp(vmap(f), (xs,), (np.ones(3),))[1], [forward(f)(x) for x in xs])


def test_a_common_condition_with_mapped_values():
    f = lambda x: while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * x), (0, 1.0))[1]
    xs = np.array([2.0, 3.0])
    np.testing.assert_allclose(vmap(f)(xs), xs**3)
    program = trace_call(vmap(f), (xs,), 1).program
    (equation,) = [e for e in program.equations if e.op is primitive]
    assert [v.type.shape for v in equation.outputs] == [(), (2,)]  # the counter is not mapped


def test_no_lanes():
    assert vmap(root)(np.zeros(0)).shape == (0,)


def test_reverse_mode_says_why_not():
    with pytest.raises(MissingRuleError, match=r"tape; use scan"):
        grad(root)(2.0)


def test_reverse_mode_past_a_loop_without_tangents():
    def f(x):
        n = while_loop(lambda n: n < 5, lambda n: n + 2, 0)
        return x * x * n

    assert grad(f)(3.0) == 36.0


def test_in_a_scan_and_around_one():
    def f(a):
        inner = lambda z: while_loop(lambda c: c < 2.0, lambda c: scan(lambda s, _: (s + a * s, None), c, length=2)[0], z)
        return scan(lambda z, _: (inner(z * 0.3), None), a, length=3)[0]

    def loop(a):
        z = a
        for _ in range(3):
            z = z * 0.3
            while np.real(z) < 2.0:
                for _ in range(2):
                    z = z + a * z
        return z

    assert f(0.7) == pytest.approx(loop(0.7), rel=1e-14)
    assert forward(f)(0.7) == pytest.approx(first(loop, 0.7), rel=1e-12)
    xs = np.array([0.7, 0.2])
    np.testing.assert_allclose(vmap(forward(f))(xs), [first(loop, x) for x in xs], rtol=1e-12)


@each
def test_programs_are_valid(name):
    f, _, x = CASES[name]
    traced = trace_call(f, (x,), 1)
    program, active = verify(traced.program), traced.active([True])
    pushed = verify(push(program, active)[0])
    twice = verify(push(pushed, (True,) * len(pushed.inputs))[0])
    for p in (program, pushed, twice):
        verify(without_dead(p))
        for mask in itertools.islice(itertools.product((True, False), repeat=len(p.inputs)), 1, 6):
            verify(batch(p, mask, 2)[0])


def test_dead_carries_go():
    f = lambda a: while_loop(lambda c: c[0] < 3.0, lambda c: (c[0] + a, c[1] * np.exp(c[0]), c[2] + 1.0), (0.0, 1.0, 0.0))[2]
    (equation,) = [e for e in without_dead(trace_call(f, (0.7,), 1).program).equations if e.op is primitive]
    assert len(equation.outputs) == 2
    assert [e.op.name for e in equation.params["body"].equations] == ["add", "add"]


def test_float32_stays():
    x = np.float32(0.7)
    f = lambda x: while_loop(lambda c: c < 3.0, lambda c: c * 1.5 + 0.1, x)
    assert f(x).dtype == np.float32
    assert vmap(f)(np.array([x, x])).dtype == np.float32


def test_the_result_of_no_steps_is_a_copy():
    x = np.ones(3)
    body = stage(lambda x, n: [x, n], [array_type((3,), np.float64), array_type((), np.bool_)])
    condition = stage(lambda x, n: [n], body.input_types)
    out, _ = primitive.numpy(x, np.False_, condition=condition, body=body, condition_constants=0, body_constants=0)
    assert not np.shares_memory(out, x)


def test_infer():
    kind, flag = array_type((), np.float64), array_type((), np.bool_)
    keep, ask, bad = stage(lambda x: [x], [kind]), stage(lambda x: [x], [flag]), stage(lambda x: [x], [kind])
    with pytest.raises(ValueError, match="condition of while_loop takes"):
        primitive.infer(kind, condition=ask, body=keep, condition_constants=0, body_constants=0)
    with pytest.raises(ValueError, match="one boolean"):
        primitive.infer(kind, condition=bad, body=keep, condition_constants=0, body_constants=0)
