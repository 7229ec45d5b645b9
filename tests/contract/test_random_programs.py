"""Random compositions of NumPy functions: NumPy itself, the evaluator, the kernel, differences, loops and both modes must agree.

Each seed is one function of a matrix, a vector and a number; a failure is repeated by its seed.
"""

import numpy as np
import pytest

import functad as fd
from functad._api import tape

A = np.random.default_rng(100).normal(size=(3, 4))
V = np.random.default_rng(101).normal(size=4)
S = 0.7
SEEDS = range(60)


def _axis(random, x):
    return int(random.integers(-x.ndim, x.ndim))


def _unary(random, x):
    return random.choice([
        np.sin, np.cos, np.tanh, np.arctan, lambda x: np.exp(-x * x), lambda x: np.sqrt(x * x + 1), lambda x: x**3 / 3, lambda x: 1 / (2 + np.sin(x)),
    ]), 1  # fmt: skip


def _move(random, x):
    if x.ndim == 0:
        return (lambda x: np.reshape(x, (1, 1))), 1
    axis, start = _axis(random, x), int(random.integers(0, 2))
    n = x.shape[axis]
    index = random.integers(-n, n, size=random.integers(1, 4)) if n else np.zeros(0, int)
    mask = random.random(n) < 0.6
    at = lambda key: tuple([slice(None)] * (axis % x.ndim) + [key])
    return random.choice([
        lambda x: np.flip(x, axis),
        lambda x: np.swapaxes(x, axis, 0),
        lambda x: x[at(slice(start, None, 2))],
        lambda x: x[at(slice(None, None, -1))],
        lambda x: x[at(index)],
        lambda x: x[at(mask)],
        lambda x: np.roll(x, 1, axis),
        lambda x: np.reshape(x, -1),
        lambda x: np.expand_dims(x, axis),
        lambda x: np.moveaxis(x, axis, -1),
        lambda x: np.pad(x, 1),
        lambda x: np.concatenate([x, x[at(slice(0, 1))] * 2.0], axis=axis),
        lambda x: np.stack([x, -x], axis=axis),
        lambda x: np.repeat(x, 2, axis=axis),
        lambda x: np.cumsum(x, axis=axis),
        lambda x: np.tile(x, 2),
        lambda x: np.take(x, index, axis=axis),
    ]), 1  # fmt: skip


def _reduce(random, x):
    if x.ndim == 0:
        return (lambda x: x * 2), 1
    axis, keep = _axis(random, x), bool(random.integers(0, 2))
    f = random.choice([np.sum, np.mean, np.prod, np.max, np.min, np.var, np.linalg.norm] if x.shape[axis] else [np.sum, np.prod])
    return (lambda x: f(x, axis=axis, keepdims=keep)), 1


def _binary(random, x, y):
    try:
        shape = np.broadcast_shapes(x.shape, y.shape)
    except ValueError:
        return (lambda x, y: np.sum(x) * y), 2
    pattern = random.random(shape) < 0.5
    return random.choice([
        np.add, np.subtract, np.multiply, np.hypot, np.arctan2, lambda x, y: x / (y * y + 1), lambda x, y: np.where(pattern, x, y),
        lambda x, y: np.where(pattern, np.sqrt(np.where(pattern, x * x + 0.1, -1.0)), y), np.logaddexp,
    ]), 2  # fmt: skip


def _product(random, x, y):
    if x.ndim and y.ndim and min(x.ndim, y.ndim) <= 2 and x.shape[-1] == y.shape[-2 if y.ndim > 1 else 0]:
        return (lambda x, y: x @ y), 2
    if x.ndim and y.ndim and x.shape[-1] == y.shape[-1]:
        return (lambda x, y: np.einsum("...i,...i->...", x, y) if x.shape == y.shape else np.inner(x, y)), 2
    return (lambda x, y: np.multiply.outer(x, y) if np.size(x) * np.size(y) < 200 else np.sum(x) + y), 2


def function_of(seed):
    """A function of (matrix, vector, number) that gives one number."""
    random = np.random.default_rng(seed)
    values, steps = [A, V, np.float64(S)], []
    for _ in range(int(random.integers(6, 14))):
        kind = random.choice([_unary, _move, _reduce, _binary, _product], p=[0.25, 0.3, 0.15, 0.2, 0.1])
        picks = [int(i) for i in random.integers(max(0, len(values) - 5), len(values), size=2)]
        operands = [np.asarray(values[i]) for i in picks]
        step, count = kind(random, *(operands if kind in (_binary, _product) else operands[:1]))
        with np.errstate(all="ignore"):
            found = step(*[values[i] for i in picks[:count]])
        if np.size(found) > 300 or not np.all(np.isfinite(found)) or np.max(np.abs(found), initial=0.0) > 50:
            continue
        values.append(found)
        steps.append((step, picks[:count]))

    def f(a, v, s):
        values = [a, v, s]
        with np.errstate(all="ignore"):  # the branch of a `where` that is not taken
            for step, picks in steps:
                values.append(step(*[values[i] for i in picks]))
        return sum(np.sum(np.sin(x + 0.3)) for x in values[-4:])

    return f


@pytest.mark.parametrize("seed", SEEDS)
def test_values_and_gradients_without_a_kernel(seed):
    f = function_of(seed)
    with fd.evaluator("numpy"):
        value, gradient = fd.value_and_grad(f, (0, 1, 2))(A, V, S)
        assert value == pytest.approx(f(A, V, S), rel=1e-13)
        random = np.random.default_rng(seed + 1000)
        ts = random.normal(size=A.shape), random.normal(size=V.shape), random.normal()
        at = lambda h: f(A + h * ts[0], V + h * ts[1], S + h * ts[2])
        d = [(at(h) - at(-h)) / (2 * h) for h in (4e-4, 2e-4, 1e-4)]
        e = d[1] + (d[1] - d[0]) / 3, d[2] + (d[2] - d[1]) / 3
        expected = e[1] + (e[1] - e[0]) / 15
        pushed = fd.jvp(f, (A, V, S), ts)[1]
        size = sum(np.sum(np.abs(g * t)) for g, t in zip(gradient, ts, strict=True)) + 1
        assert pushed == pytest.approx(sum(np.sum(g * t) for g, t in zip(gradient, ts, strict=True)), abs=1e-11 * size)
        assert pushed == pytest.approx(expected, abs=1e-7 * size)


SPECIAL = [(A, V, S), (np.where(np.abs(A) < 0.5, 0.0, A), np.array([0.0, 1.0, 0.0, -1.0]), 0.0), (A * 1e160, V, S), (0 * A, 0 * V, 0.0)]


@pytest.mark.parametrize("seed", SEEDS)
def test_tapes_agree_with_programs_at_special_points_too(seed, monkeypatch):
    """A value that overflows or has no derivative does so in both, and structural zeros annihilate in both."""
    monkeypatch.setattr(tape, "LEAST_STEPS", 0)
    step = fd.value_and_grad(function_of(seed), (0, 1, 2))
    for point in SPECIAL:
        value, slopes = step(*point)
        with fd.evaluator("numpy"):
            expected, gradient = step(*point)
        np.testing.assert_equal(value, expected)
        for a, b in zip(slopes, gradient, strict=True):
            size = np.max(np.abs(b), where=np.isfinite(b), initial=1.0)
            np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12 * size)


@pytest.mark.parametrize("seed", SEEDS)
def test_kernels_agree_with_numpy(seed):
    f = function_of(seed)
    with fd.evaluator("numpy"):
        value, gradient = fd.value_and_grad(f, (0, 1, 2))(A, V, S)
    with fd.evaluator("kernel"):
        found, compiled = fd.jit(fd.value_and_grad(f, (0, 1, 2)))(A, V, S)
    assert found == pytest.approx(value, rel=1e-12)
    for a, b in zip(compiled, gradient, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-11 * (1 + np.max(np.abs(b))))


@pytest.mark.parametrize("seed", SEEDS)
def test_mapping_agrees_with_a_loop(seed):
    f = function_of(seed)
    rows = np.stack([A, A * 0.5, A + 0.1])
    with fd.evaluator("numpy"):
        for g in (f, fd.grad(f)):
            found = fd.vmap(g, (0, None, None))(rows, V, S)
            np.testing.assert_allclose(found, np.stack([g(a, V, S) for a in rows]), rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("seed", SEEDS[::3])
def test_second_derivatives_of_both_modes_agree(seed):
    f = function_of(seed)
    with fd.evaluator("numpy"):
        forward = fd.jacfwd(fd.grad(f, 1), 1)(A, V, S)
        reverse = fd.jacrev(fd.jacfwd(f, 1), 1)(A, V, S)
        size = 1 + np.max(np.abs(forward))
        np.testing.assert_allclose(forward, reverse, rtol=1e-9, atol=1e-10 * size)
        np.testing.assert_allclose(forward, forward.T, rtol=1e-9, atol=1e-10 * size)
        v = np.random.default_rng(seed).normal(size=4)
        g = fd.grad(f, 1)
        d = [(g(A, V + h * v, S) - g(A, V - h * v, S)) / (2 * h) for h in (4e-4, 2e-4)]
        np.testing.assert_allclose(forward @ v, d[1] + (d[1] - d[0]) / 3, rtol=1e-5, atol=1e-6 * size)
