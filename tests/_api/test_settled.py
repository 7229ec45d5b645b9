"""A pullback keeps one evaluator for life, whatever the ski-rental rule decides meanwhile."""

import numpy as np

import functad as fd


def f(x):
    return np.sum(np.sin(x) * np.exp(x)) * np.cos(x)


def test_a_pullback_does_not_change_its_evaluator():
    x = np.random.default_rng(0).uniform(-1, 1, 50)
    with fd.evaluator("numpy"):
        _, before = fd.vjp(f, x)
        first = before(x)[0]
    with fd.evaluator("kernel"):
        np.testing.assert_array_equal(before(x)[0], first)  # settled at its first call
        _, after = fd.vjp(f, x)
        np.testing.assert_allclose(after(x)[0], first, rtol=1e-13)
    np.testing.assert_array_equal(before(x)[0], first)


def test_the_rule_counts_the_calls_of_a_settled_pullback():
    x = np.linspace(0.1, 1.0, 7)
    _, pullback = fd.vjp(lambda v: np.tanh(v) * f(v), x)
    results = [pullback(x)[0] for _ in range(100)]
    for r in results:
        np.testing.assert_array_equal(r, results[0])


def test_jit_answers_alike_inside_and_outside_of_other_transforms():
    weights = np.ones(20_000)  # above the size that is copied at each use
    f = fd.jit(lambda x: np.sum(weights * x))
    assert f(2.0) == 40_000.0
    weights[:] = 3.0  # jit has promised a pure function: the first call's values stay, everywhere
    assert f(2.0) == 40_000.0
    assert fd.grad(f)(2.0) == 20_000.0
    assert fd.value_and_grad(lambda x: f(x))(2.0)[0] == 40_000.0
