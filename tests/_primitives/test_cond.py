"""cond: every mode against the Python `if`, and what must not leak from the branch that was not taken."""

import itertools

import numpy as np
import pytest

from functad._api.call import trace_call
from functad._api.control import cond, scan
from functad._api.derivatives import grad
from functad._api.mapping import vmap
from functad._api.products import jvp, linear_transpose, vjp
from functad._core.interpret import python_function
from functad._core.program import Equation, Literal, Program, Var, without_dead
from functad._core.recorder import stage
from functad._core.types import array_type
from functad._core.verify import verify
from functad._primitives.cond import Branches, cond_linear
from functad._primitives.cond import cond as primitive
from functad._primitives.elementwise import neg
from functad._transforms.derivative import gradient, pullback
from functad._transforms.jvp import jvp as push
from functad._transforms.linearize import linearize
from functad._transforms.transpose import transpose
from functad._transforms.vmap import vmap as batch
from functad.errors import MissingRuleError


def forward(f):
    return lambda x: jvp(f, (x,), (1.0,))[1]


def first(f, x):
    """df/dx by a complex step."""
    return f(x + 1e-30j).imag / 1e-30


def richardson(d, h=1e-2):
    """A difference quotient extrapolated twice."""
    d = [d(s) for s in (h, h / 2, h / 4)]
    d = [(4 * b - a) / 3 for a, b in itertools.pairwise(d)]
    return (16 * d[1] - d[0]) / 15


def second(f, x):
    return richardson(lambda s: (first(f, x + s) - first(f, x - s)) / (2 * s))


def third(f, x):
    return richardson(lambda s: (first(f, x + s) - 2 * first(f, x) + first(f, x - s)) / s**2)


def total(v):
    return scan(lambda t, x: (t + x, None), 0.0, v)[0]


def repeated(x, a):
    """A scan of a scalar, for use in a branch."""
    return scan(lambda z, _: (np.sin(z) * a + z * z * 0.1, None), x, length=3)[0]


def repeated_loop(x, a):
    for _ in range(3):
        x = np.sin(x) * a + x * x * 0.1
    return x


# name: (with cond, as Python, where)
CASES = {
    "plain": (
        lambda x: cond(x > 0, lambda x: np.sin(x) * x, lambda x: np.exp(x) / (1 + x * x), x),
        lambda x: np.sin(x) * x if x.real > 0 else np.exp(x) / (1 + x * x),
        (0.7, -0.4),
    ),
    "captured": (
        lambda x: x * cond(x * x > 0.3, lambda: np.sin(x) * np.exp(x), lambda: x * x * x),
        lambda x: x * (np.sin(x) * np.exp(x) if (x * x).real > 0.3 else x * x * x),
        (0.7, 0.4),
    ),
    "constant branch": (
        lambda x: x * cond(x > 0, lambda x: 2.0, lambda x: np.cos(x), x),
        lambda x: x * (2.0 if x.real > 0 else np.cos(x)),
        (0.7, -0.4),
    ),
    "nested": (
        lambda x: cond(x > 0, lambda y: cond(y > 1, np.log, lambda y: y * y * np.sin(x), y) * y, np.sin, x),
        lambda x: (np.log(x) if x.real > 1 else x * x * np.sin(x)) * x if x.real > 0 else np.sin(x),
        (1.7, 0.4, -0.8),
    ),
    "scan in a branch": (
        lambda x: cond(x > 0, lambda x: repeated(x, x * 0.5), lambda x: x * x, x),
        lambda x: repeated_loop(x, x * 0.5) if x.real > 0 else x * x,
        (0.7, -0.4),
    ),
    "two outputs": (
        lambda x: (lambda y, z: y * z)(*cond(x > 0, lambda x: (np.sin(x), x), lambda x: (x, 3.0), x)),
        lambda x: np.sin(x) * x if x.real > 0 else x * 3.0,
        (0.7, -0.4),
    ),
    "of a gradient": (
        lambda x: cond(x > 0, lambda x: grad(np.sin)(x) * x, lambda x: grad(lambda y: y * y * x)(x), x),
        lambda x: np.cos(x) * x if x.real > 0 else 2 * x * x,
        (0.7, -0.4),
    ),
}
each = pytest.mark.parametrize(("name", "x"), [(name, x) for name, case in CASES.items() for x in case[2]])


@each
def test_value_and_derivatives(name, x):
    f, plain, _ = CASES[name]
    assert f(x) == pytest.approx(plain(np.float64(x)), rel=1e-14)
    for mode in (forward, grad):
        assert mode(f)(x) == pytest.approx(first(plain, x), rel=1e-12)
    for outer, inner in itertools.product((forward, grad), repeat=2):
        assert outer(inner(f))(x) == pytest.approx(second(plain, x), rel=1e-7)
    for modes in ((grad, grad, grad), (forward, grad, grad), (grad, forward, grad), (grad, grad, forward)):
        g = f
        for mode in modes:
            g = mode(g)
        assert g(x) == pytest.approx(third(plain, x), rel=1e-5, abs=1e-8), modes


@pytest.mark.parametrize("name", CASES)
def test_one_predicate_per_lane(name):
    f, plain, xs = CASES[name]
    xs = np.array([*xs, xs[0] + 0.1])
    np.testing.assert_allclose(vmap(f)(xs), [plain(x) for x in xs], rtol=1e-13)
    expected = [first(plain, x) for x in xs]
    np.testing.assert_allclose(vmap(grad(f))(xs), expected, rtol=1e-12)
    np.testing.assert_allclose(vmap(forward(f))(xs), expected, rtol=1e-12)
    np.testing.assert_allclose(grad(lambda v: total(vmap(f)(v)))(xs), expected, rtol=1e-12)
    expected = [second(plain, x) for x in xs]
    np.testing.assert_allclose(vmap(grad(grad(f)))(xs), expected, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(grad(lambda v: total(vmap(grad(f))(v)))(xs), expected, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(vmap(grad(lambda x: grad(f)(x)))(xs), expected, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("p", [True, False])
def test_one_predicate_for_all_lanes(p):
    def f(x, y):
        return cond(p, lambda x, y: (x * y, y), lambda x, y: (np.sin(x), 2.0 * y), x, y)

    xs = np.array([0.3, -0.8])
    for got, want in zip(vmap(f, (0, None))(xs, 1.5), (xs * 1.5, [1.5, 1.5]) if p else (np.sin(xs), [3.0, 3.0]), strict=True):
        np.testing.assert_allclose(got, want)
    np.testing.assert_allclose(vmap(grad(lambda x: f(x, 1.5)[0]))(xs), [1.5, 1.5] if p else np.cos(xs))


# ---- the branch not taken


def test_only_the_chosen_branch_is_computed():
    seen = []

    class Loud(RuntimeError):
        pass

    kind = array_type((), np.float64)
    loud = stage(lambda x: [x], [kind])
    loud.memo["python"] = lambda x: seen.append(x) or (_ for _ in ()).throw(Loud())
    quiet = stage(lambda x: [x], [kind])
    assert primitive.numpy(True, np.float64(2.0), branches=Branches(quiet, loud)) == (2.0,)
    assert seen == []
    with pytest.raises(Loud):
        primitive.numpy(False, np.float64(2.0), branches=Branches(quiet, loud))


def safe_root(x):
    return cond(x > 0, np.sqrt, lambda x: 0.0 * x, x)


def safe_loop(x):
    """The branch that is not taken multiplies infinities inside a loop, where structural zeros are forgotten."""
    return cond(x > 0, lambda x: scan(lambda z, _: (np.sqrt(z) + np.log(z), None), x + 20.0, length=2)[0], lambda x: 3.0 * x, x)


@pytest.mark.parametrize("f", [safe_root, safe_loop])
def test_nan_of_the_other_branch_stays_there(f):
    xs = np.array([4.0, 0.0, -1.0, -20.0, -30.0])
    expected = np.array([grad(f)(x) for x in xs])
    assert np.isfinite(expected).all()
    np.testing.assert_allclose(vmap(grad(f))(xs), expected, rtol=1e-14)
    np.testing.assert_allclose(vmap(forward(f))(xs), expected, rtol=1e-14)
    np.testing.assert_allclose(grad(lambda v: total(vmap(f)(v)))(xs), expected, rtol=1e-14)
    expected = np.array([grad(grad(f))(x) for x in xs])
    np.testing.assert_allclose(vmap(grad(grad(f)))(xs), expected, rtol=1e-13)
    np.testing.assert_allclose(grad(lambda v: total(grad(lambda u: total(vmap(f)(u)))(v)))(xs), expected, rtol=1e-13)


def test_nan_of_the_other_branch_does_not_reach_what_all_lanes_share():
    def f(a, x):
        return cond(x > 0, lambda: scan(lambda z, _: (np.sqrt(z * a), None), x, length=2)[0], lambda: a * x)

    xs = np.array([1.0, -2.0])
    got = grad(lambda a: total(vmap(lambda x: f(a, x))(xs)))(0.5)
    expected = sum(grad(lambda a, x=x: f(a, x))(0.5) for x in xs)
    assert got == pytest.approx(expected, rel=1e-13)


# ---- programs


def programs(f, x):
    traced = trace_call(f, (x,), 1)
    program, active = traced.program, traced.active([True])
    halves = linearize(program, active)
    derived = [program, push(program, active)[0], halves.forward, halves.linear, pullback(halves), gradient(program, active)]
    derived += [batch(p, (True,) * len(p.inputs), 2)[0] for p in derived[:5]]
    derived += [batch(p, [i == len(p.inputs) - 1 for i in range(len(p.inputs))], 2)[0] for p in derived[:5]]
    return [verify(q) for p in derived for q in (p, without_dead(p))]


@pytest.mark.parametrize("name", CASES)
def test_programs_are_valid_to_second_order(name):
    f, _, (x, *_) = CASES[name]
    assert programs(f, x)
    assert programs(grad(f), x)


def test_residuals_share_places():
    traced = trace_call(lambda x: cond(x > 0, lambda x: np.sin(x) * np.exp(x), lambda x: np.tanh(x) * np.log(x), x), (0.3,), 1)
    halves = linearize(traced.program, traced.active([True]))
    (known,) = [e for e in halves.forward.equations if e.op is primitive]
    (linear,) = [e for e in halves.linear.equations if e.op is cond_linear]
    assert len(known.outputs) <= 1 + 4
    assert len(linear.inputs) == 1 + len(known.outputs) - 1 + len(linear.inputs[len(known.outputs) :])


def test_dead_outputs_and_operands_go():
    def f(x, y):
        return cond(x > 0, lambda x, y: (np.sin(x), np.exp(y)), lambda x, y: (x, y), x, y)[0]

    (equation,) = [e for e in without_dead(trace_call(f, (0.5, 1.0), 2).program).equations if e.op is primitive]
    assert len(equation.outputs) == 1
    assert len(equation.inputs) == 2
    assert [e.op.name for e in equation.params["branches"].when_true.equations] == ["sin"]


def test_integers_have_no_tangent():
    def f(x):
        y, n = cond(x > 0, lambda x: (x * x, 1), lambda x: (x, 2), x)
        return y * n

    assert grad(f)(3.0) == 6.0
    assert grad(f)(-3.0) == 2.0
    assert forward(f)(-3.0) == 2.0


def test_float32_stays():
    x = np.float32(0.5)
    f = lambda x: cond(x > 0, lambda x: np.sin(x) * 2.0, lambda x: x, x)
    assert f(x).dtype == np.float32
    assert grad(f)(x).dtype == np.float32
    assert vmap(grad(f))(np.array([0.5, -1.0], np.float32)).dtype == np.float32


def test_a_pullback_may_be_called_again():
    out, pull = vjp(CASES["scan in a branch"][0], 0.7)
    a, b = pull(1.0), pull(1.0)
    assert a == b
    assert pull(2.0)[0] == pytest.approx(2 * a[0])
    assert np.isfinite(out)


def test_infer():
    kind, other = array_type((), np.float64), array_type((2,), np.float64)
    flag = array_type((), np.bool_)
    same = stage(lambda x: [x], [kind])
    wrong = stage(lambda x: [], [kind])
    with pytest.raises(ValueError, match="predicate"):
        primitive.infer(kind, kind, branches=Branches(same, same))
    with pytest.raises(ValueError, match="takes"):
        primitive.infer(flag, other, branches=Branches(same, same))
    with pytest.raises(ValueError, match="give"):
        primitive.infer(flag, kind, branches=Branches(same, wrong))


def test_transposing_a_cond_that_is_linear():
    f = lambda x: cond(True, lambda x: x * 3.0, lambda x: -x, x)
    (pulled,) = linear_transpose(f, np.zeros(3))(np.array([1.0, 2.0, 3.0]))
    np.testing.assert_array_equal(pulled, [3.0, 6.0, 9.0])
    with pytest.raises(MissingRuleError, match="linear in all"):
        linear_transpose(lambda x: cond(True, np.sin, lambda x: x, x), 1.0)(1.0)


def test_branches_through_which_no_cotangent_goes():
    kind = array_type((3,), np.float64)
    nothing = stage(lambda x: [Literal(0.0, kind)], [kind])
    p, x, y, out = Var(array_type((), np.bool_)), Var(kind), Var(kind), Var(kind)
    made = [Equation(neg, [x], {}, [y]), Equation(primitive, [p, y], {"branches": Branches(nothing, nothing)}, [out])]
    program = verify(Program([p, x], made, [out]))  # recorded, it would have been narrowed
    back = verify(transpose(program, [False, True]))
    (found,) = python_function(back)(np.True_, np.ones(3))
    np.testing.assert_array_equal(found, np.zeros(3))
