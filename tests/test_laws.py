"""Laws that hold between transforms, whatever the function: each is checked on a table of functions and against differences of their values."""

import itertools

import numpy as np
import pytest

import functad as fd

W = np.array([[0.3, -0.7, 0.2], [1.1, 0.4, -0.5], [-0.2, 0.6, 0.9]])
X = np.array([0.6, -0.4, 1.3])
V = np.array([0.2, 1.0, -0.5])
U = np.array([-0.7, 0.3, 0.4])

# Vector -> number, smooth at X.
SCALAR = {
    "polynomial": lambda x: x[0] ** 2 * x[1] + x[2] ** 3,
    "network": lambda x: np.sum(np.tanh(W @ x) ** 2),
    "exponential": lambda x: np.exp(np.sum(x**2) / 3),
    "ratio": lambda x: np.sum(x) / (1 + x @ x),
    "norm": lambda x: np.linalg.norm(W @ x),
    "choice": lambda x: np.sum(np.where(x > 0, x**3, np.sin(x))),
    "control flow": lambda x: np.sum(x**2) if x[0] > 0 else np.sum(x),
    "array of parts": lambda x: np.sum(np.array([x[0] * x[1], np.sin(x[2])]) ** 2),
    "captured": lambda x: np.sum(np.log(1 + np.exp(W.T @ x))),
}
MAPPED = {name: f for name, f in SCALAR.items() if name != "control flow"}  # under vmap and jit a condition has no single value
# Vector -> vector.
VECTOR = {
    "linear": lambda x: W @ x,
    "elementwise": lambda x: np.sin(x) * x,
    "outer": lambda x: np.outer(x, x),
    "cumulative": lambda x: np.cumsum(x**2),
    "longer": lambda x: np.concatenate([x, x * x[::-1]]),
    "shorter": lambda x: x[:2] * x[1:],
    "one": lambda x: np.sum(x**3, keepdims=True),
}

scalars = pytest.mark.parametrize("f", SCALAR.values(), ids=SCALAR.keys())
mapped = pytest.mark.parametrize("f", MAPPED.values(), ids=MAPPED.keys())
vectors = pytest.mark.parametrize("f", VECTOR.values(), ids=VECTOR.keys())


def close(found, expected, tolerance=1e-12):
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


def differences(f, x, v):
    """Derivative of f at x along v by three central differences extrapolated."""
    d = [(np.asarray(f(x + h * v)) - f(x - h * v)) / (2 * h) for h in (4e-3, 2e-3, 1e-3)]
    e = d[1] + (d[1] - d[0]) / 3, d[2] + (d[2] - d[1]) / 3
    return e[1] + (e[1] - e[0]) / 15


# ---- first order


@scalars
def test_gradient_agrees_with_differences(f):
    assert fd.grad(f)(X) @ V == pytest.approx(differences(f, X, V), rel=1e-9)


@scalars
def test_value_and_grad_is_both(f):
    value, gradient = fd.value_and_grad(f)(X)
    assert value == f(X)
    np.testing.assert_array_equal(gradient, fd.grad(f)(X))


@pytest.mark.parametrize(("f", "g"), list(itertools.pairwise(SCALAR.values())))
def test_gradient_is_linear_in_the_function(f, g):
    close(fd.grad(lambda x: 2.0 * f(x) - 3.0 * g(x))(X), 2 * fd.grad(f)(X) - 3 * fd.grad(g)(X))


@scalars
@pytest.mark.parametrize("inner", VECTOR.values(), ids=VECTOR.keys())
def test_chain_rule(f, inner):
    """Jacobians multiply."""

    def chained(x):
        return f(inner(x).reshape(-1)[:3]) if np.size(inner(X)) >= 3 else f(np.concatenate([inner(x), x])[:3])

    def first(x):
        return inner(x).reshape(-1)[:3] if np.size(inner(X)) >= 3 else np.concatenate([inner(x), x])[:3]

    close(fd.grad(chained)(X), fd.grad(f)(first(X)) @ fd.jacobian(first)(X))


@vectors
def test_jvp_agrees_with_differences_and_is_linear_in_the_tangent(f):
    push = lambda t: fd.jvp(f, (X,), (t,))[1]
    close(push(V), differences(f, X, V), 1e-9)
    close(push(2 * V - 3 * U), 2 * push(V) - 3 * push(U))
    np.testing.assert_array_equal(push(np.zeros(3)), np.zeros(np.shape(f(X))))


@vectors
def test_vjp_is_the_adjoint_of_jvp_and_linear_in_the_cotangent(f):
    out, pullback = fd.vjp(f, X)
    np.testing.assert_array_equal(out, f(X))
    ct = np.random.default_rng(0).normal(size=out.shape)
    other = np.random.default_rng(1).normal(size=out.shape)
    assert np.sum(ct * fd.jvp(f, (X,), (V,))[1]) == pytest.approx(pullback(ct)[0] @ V, rel=1e-13)
    close(pullback(2 * ct - 3 * other)[0], 2 * pullback(ct)[0] - 3 * pullback(other)[0])


@vectors
def test_jacobians_of_both_modes_agree(f):
    forward, reverse, either = fd.jacfwd(f)(X), fd.jacrev(f)(X), fd.jacobian(f)(X)
    assert forward.shape == (*np.shape(f(X)), 3)
    close(forward, reverse, 1e-14)
    close(either, reverse, 1e-14)
    close(forward @ V, differences(f, X, V), 1e-9)


@vectors
def test_linearize_is_jvp_at_a_fixed_point(f):
    x = X.copy()
    out, push = fd.linearize(f, x)
    np.testing.assert_array_equal(out, f(X))
    x[:] = 100.0  # what it needs, it has copied
    for t in (V, U):
        close(push(t), fd.jvp(f, (X,), (t,))[1], 1e-15)


def test_linear_transpose_is_the_transposed_matrix():
    matrix = fd.jacobian(lambda ct: fd.linear_transpose(lambda x: W @ x, X)(ct)[0])(np.zeros(3))
    close(matrix, W.T, 1e-15)
    twice = fd.linear_transpose(lambda ct: fd.linear_transpose(lambda x: W @ x, X)(ct)[0], np.zeros(3))
    close(twice(V)[0], W @ V, 1e-15)


@scalars
def test_a_pullback_may_be_called_again_and_outlives_its_arguments(f):
    x = X.copy()
    _, pullback = fd.vjp(f, x)
    first = pullback(1.0)[0].copy()
    x[:] = 55.0
    np.testing.assert_array_equal(pullback(1.0)[0], first)
    np.testing.assert_array_equal(pullback(2.0)[0], 2 * first)
    np.testing.assert_array_equal(pullback(1.0)[0], first)
    np.testing.assert_array_equal(first, fd.grad(f)(X))


def test_a_pullback_outlives_changes_of_what_it_captured():
    scale = np.array([1.0, 2.0, 3.0])
    _, pullback = fd.vjp(lambda x: x * scale, X)
    scale[:] = 0.0
    np.testing.assert_array_equal(pullback(np.ones(3))[0], [1.0, 2.0, 3.0])


def test_a_result_of_a_pullback_can_be_written_without_changing_the_next():
    _, pullback = fd.vjp(lambda x: x + 0.0, X)
    ct = np.ones(3)
    first = pullback(ct)[0]
    first[:] = 9.0
    np.testing.assert_array_equal(ct, np.ones(3))
    np.testing.assert_array_equal(pullback(ct)[0], np.ones(3))


# ---- second order


@scalars
def test_hessian_is_symmetric_and_agrees_with_differences_of_the_gradient(f):
    hessian = fd.hessian(f)(X)
    close(hessian, hessian.T)
    close(hessian @ V, differences(fd.grad(f), X, V), 1e-8)


@scalars
def test_all_compositions_of_two_modes_give_the_hessian(f):
    expected = fd.hessian(f)(X)
    modes = (fd.jacfwd, fd.jacrev, fd.jacobian)
    for outer, inner in itertools.product(modes, modes):
        close(outer(inner(f))(X), expected)


@scalars
def test_hvp_is_the_hessian_times_a_vector(f):
    expected = fd.hessian(f)(X) @ V
    close(fd.hvp(f, (X,), (V,)), expected)
    close(fd.grad(lambda x: fd.grad(f)(x) @ V)(X), expected)
    close(fd.grad(lambda x: fd.jvp(f, (x,), (V,))[1])(X), expected)
    close(fd.jvp(fd.grad(f), (X,), (V,))[1], expected)
    close(fd.vjp(fd.grad(f), X)[1](V)[0], expected)


@scalars
def test_third_derivatives_agree_with_differences_of_the_hessian(f):
    close(fd.jacfwd(fd.hessian(f))(X) @ V, differences(fd.hessian(f), X, V), 1e-7)
    close(fd.jacrev(fd.jacrev(fd.jacrev(f)))(X), fd.jacfwd(fd.jacfwd(fd.jacfwd(f)))(X), 1e-11)


# ---- mapping and compiling

ROWS = np.stack([X, V, U, X - V])


@mapped
def test_vmap_of_grad_is_a_loop(f):
    close(fd.vmap(fd.grad(f))(ROWS), np.stack([fd.grad(f)(row) for row in ROWS]))
    close(fd.vmap(fd.hessian(f))(ROWS), np.stack([fd.hessian(f)(row) for row in ROWS]))


@mapped
def test_grad_of_a_sum_over_vmap_is_vmap_of_grad(f):
    close(fd.grad(lambda rows: np.sum(fd.vmap(f)(rows)))(ROWS), fd.vmap(fd.grad(f))(ROWS))


@vectors
def test_vmap_of_vectors_is_a_loop_for_any_axes(f):
    expected = np.stack([f(row) for row in ROWS])
    close(fd.vmap(f)(ROWS), expected)
    close(fd.vmap(f, in_axes=1)(ROWS.T.copy()), expected)
    close(fd.vmap(f, out_axes=-1)(ROWS), np.moveaxis(expected, 0, -1))
    close(fd.vmap(fd.vmap(f))(np.stack([ROWS, -ROWS])), np.stack([expected, [f(-row) for row in ROWS]]))


@mapped
def test_jit_changes_no_derivative(f):
    """jit(grad), grad(jit), jit(grad(jit))."""
    expected = fd.grad(f)(X)
    close(fd.jit(fd.grad(f))(X), expected, 1e-14)
    close(fd.grad(fd.jit(f))(X), expected, 1e-14)
    close(fd.jit(fd.grad(fd.jit(f)))(X), expected, 1e-14)
    assert fd.jit(f)(X) == pytest.approx(f(X), rel=1e-14)


TRANSFORMS = {
    "jit": lambda f: fd.jit(f),
    "vmap": lambda f: lambda x: np.sum(fd.vmap(f)(np.stack([x, 2.0 * x]))),
    "grad": lambda f: lambda x: fd.grad(f)(x) @ U,
    "jvp": lambda f: lambda x: fd.jvp(f, (x,), (V,))[1],
    "vjp": lambda f: lambda x: fd.vjp(f, x)[1](2.0)[0] @ V,
    "linearize": lambda f: lambda x: fd.linearize(f, x)[1](U),
    "jacobian": lambda f: lambda x: np.sum(fd.jacobian(f)(x) ** 2),
    "hessian": lambda f: lambda x: np.trace(fd.hessian(f)(x)),
    "hvp": lambda f: lambda x: fd.hvp(f, (x,), (V,)) @ U,
}


def _reference(names, f):
    """The same nest with every derivative by differences."""
    table = {
        "jit": lambda f: f,
        "vmap": lambda f: lambda x: f(x) + f(2.0 * x),
        "grad": lambda f: lambda x: differences(f, x, U),
        "jvp": lambda f: lambda x: differences(f, x, V),
        "vjp": lambda f: lambda x: 2.0 * differences(f, x, V),
        "linearize": lambda f: lambda x: differences(f, x, U),
        "jacobian": lambda f: lambda x: sum(differences(f, x, e) ** 2 for e in np.eye(3)),
        "hessian": lambda f: lambda x: sum(differences(lambda x, e=e: differences(f, x, e), x, e) for e in np.eye(3)),
        "hvp": lambda f: lambda x: differences(lambda x: differences(f, x, V), x, U),
    }
    for name in names:
        f = table[name](f)
    return f


SMOOTH = lambda x: np.sum(np.sin(x) * np.exp(x[0] * x)) + np.sum(np.where(x > 0, x**2, x**3))


@pytest.mark.parametrize("name", TRANSFORMS)
def test_each_transform_agrees_with_differences(name):
    assert TRANSFORMS[name](SMOOTH)(X) == pytest.approx(_reference([name], SMOOTH)(X), rel=1e-7)


@pytest.mark.parametrize("inner", TRANSFORMS)
@pytest.mark.parametrize("outer", TRANSFORMS)
def test_any_two_transforms_nest(outer, inner):
    """The outer one by differences of the inner one, which the test above holds against differences of the function."""
    g = TRANSFORMS[inner](SMOOTH)
    assert TRANSFORMS[outer](g)(X) == pytest.approx(_reference([outer], g)(X), rel=1e-7)


@pytest.mark.parametrize("names", list(itertools.permutations(["jit", "vmap", "grad", "jvp"])), ids="-".join)
def test_four_transforms_in_any_order(names):
    f = lambda x: np.sum(np.sin(x) * x)
    nested = f
    for name in names:
        nested = TRANSFORMS[name](nested)
    assert nested(X) == pytest.approx(_reference(names, f)(X), rel=1e-6)


# ---- perturbation confusion: derivatives of functions that take derivatives of functions of outer variables

DERIVATIVES = {
    "grad": fd.grad,
    "jacfwd": fd.jacfwd,
    "jacrev": fd.jacrev,
    "jvp": lambda f: lambda x: fd.jvp(f, (x,), (1.0,))[1],
    "vjp": lambda f: lambda x: fd.vjp(f, x)[1](1.0)[0],
    "linearize": lambda f: lambda x: fd.linearize(f, x)[1](1.0),
    "jit grad": lambda f: fd.jit(fd.grad(f)),
    "grad jit": lambda f: fd.grad(fd.jit(f)),
    "jit jvp": lambda f: fd.jit(lambda x: fd.jvp(f, (x,), (1.0,))[1]),
    "vmap grad": lambda f: lambda x: fd.vmap(fd.grad(f))(np.stack([x, x]))[1],
}


@pytest.mark.parametrize("outer", DERIVATIVES)
@pytest.mark.parametrize("inner", DERIVATIVES)
def test_no_perturbation_confusion(outer, inner):
    """Siskind and Pearlmutter (2005): d/dx (x * d/dy (x + y)) is 1, not 2; and with products and closures."""
    d, e = DERIVATIVES[outer], DERIVATIVES[inner]
    assert d(lambda x: x * e(lambda y: x + y)(2.0))(1.0) == 1.0
    assert d(lambda x: x * e(lambda y: x * y)(2.0))(3.0) == 6.0
    assert d(lambda x: e(lambda y: x * y * y)(x))(3.0) == 12.0
    assert d(lambda x: e(lambda y: e(lambda z: x * y * z)(y))(x) * x)(3.0) == 6.0


@pytest.mark.parametrize("d", [DERIVATIVES[k] for k in ("grad", "jvp", "jacfwd", "jit grad")])
def test_a_closure_over_an_outer_variable_made_before_the_inner_derivative(d):
    def f(x):
        add = lambda y: y + x
        return d(lambda y: add(y) ** 2)(1.0) * x

    assert d(f)(2.0) == 2 * (1 + 2 * 2.0)


def test_three_levels_with_captured_variables():
    inner = lambda x, y: fd.grad(lambda z: x * y * z**2)(1.0)  # 2 x y
    middle = lambda x: fd.grad(lambda y: inner(x, y) * y)(3.0)  # 4 x y = 12 x
    assert fd.grad(middle)(5.0) == 12.0
    assert fd.jit(fd.grad(middle))(5.0) == 12.0


def test_stop_gradient_holds_at_every_level():
    f = lambda x: fd.stop_gradient(x) * x
    assert fd.grad(f)(3.0) == 3.0
    assert fd.grad(fd.grad(f))(3.0) == 0.0
    assert fd.jvp(f, (3.0,), (1.0,))[1] == 3.0
    assert fd.jit(fd.grad(f))(3.0) == 3.0


# ---- differentiating what depends on nothing


@pytest.mark.parametrize("d", [fd.grad, fd.jacfwd, fd.jacrev, fd.jacobian])
def test_a_constant_has_the_derivative_zero(d):
    np.testing.assert_array_equal(d(lambda x: 3.0)(X), np.zeros(3))
    np.testing.assert_array_equal(d(lambda x, y: np.sum(y))(X, X), np.zeros(3))


def test_a_function_runs_again_at_each_call_but_not_under_jit():
    state = {"factor": 2.0, "calls": 0}

    def f(x):
        state["calls"] += 1
        return state["factor"] * x

    derivative, compiled = fd.grad(f), fd.jit(fd.grad(f))
    assert (derivative(1.0), compiled(1.0)) == (2.0, 2.0)
    state["factor"] = 5.0
    calls = state["calls"]
    assert (derivative(1.0), compiled(1.0)) == (5.0, 2.0)
    assert state["calls"] == calls + 1
