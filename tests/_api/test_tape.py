"""Gradients step by step: long paths that were never seen, beside the program that would be made of them."""

import threading
import tracemalloc

import numpy as np
import pytest

import functad as fd
from functad._api import tape, tape_steps
from functad._core.program import Deferred
from functad._core.trie import Recorded


@pytest.fixture
def every_path(monkeypatch):
    """Tapes for paths of any length, for good."""
    monkeypatch.setattr(tape, "LEAST_STEPS", 0)
    monkeypatch.setattr(tape, "MOST_CALLS", 10**9)


def both(f, *args, tolerance=1e-14, **options):
    """Value and gradient from a tape (never seen before, and again), which must be those of the program."""
    step = fd.value_and_grad(f, **options)
    found, again = step(*args), step(*args)
    with fd.evaluator("numpy"):
        expected = step(*args)
    leaves = [fd.tree.flatten(x)[0] for x in (found, again, expected)]
    for a, b, c in zip(*leaves, strict=True):
        assert type(a) is type(c)
        assert (a.shape, a.dtype) == (c.shape, c.dtype)
        np.testing.assert_array_equal(a, b)
        np.testing.assert_allclose(a, c, rtol=tolerance, atol=1e-300)
    return found


def smoothed(x, w):
    for row in w:
        x = np.tanh(x * row + np.sin(x)[::-1])
    return np.sum(x**2)


def test_a_long_loop_agrees_with_its_program_and_with_differences():
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=4), rng.normal(size=(60, 4))
    program = fd.make_program(smoothed)(x, w)
    assert isinstance(program, Recorded)
    assert len(program.path) >= tape.LEAST_STEPS
    _, slope = both(smoothed, x, w, argnums=(0, 1))
    for i in range(4):
        shifted = np.eye(4)[i] * 1e-6
        difference = (smoothed(x + shifted, w) - smoothed(x - shifted, w)) / 2e-6
        assert slope[0][i] == pytest.approx(difference, rel=1e-6, abs=1e-8)


def test_the_first_call_makes_no_program_and_the_calls_after_the_bound_do():
    def f(x):
        for k in range(70):
            x = np.cos(x * 1.01) + k
        return np.sum(x)

    x = np.linspace(0.0, 1.0, 3)
    step = fd.grad(f)
    first = step(x)
    (plan,) = [p for p in fd.make_program(f)(x).memo.values() if isinstance(p, Deferred)]
    assert "made" not in plan.memo
    for _ in range(tape.MOST_CALLS - 1):
        np.testing.assert_array_equal(step(x), first)
    assert "made" not in plan.memo
    np.testing.assert_allclose(step(x), first, rtol=1e-14)
    assert "made" in plan.memo
    np.testing.assert_allclose(fd.hessian(f)(x), np.diag(fd.jvp(fd.grad(f), (x,), (np.ones(3),))[1]), rtol=1e-12)


# ---- structural zeros between steps


@pytest.mark.usefixtures("every_path")
@pytest.mark.parametrize(
    ("f", "x", "expected"),
    [
        (lambda x: np.where(x > 0, np.sqrt(x), 0.0), 0.0, 0.0),
        (lambda x: np.sum(np.sqrt(x)[1:]), [0.0, 4.0], [0.0, 0.25]),
        (lambda x: np.sum(np.sqrt(x)[[1, 1]]), [0.0, 4.0], [0.0, 0.5]),
        (lambda x: np.sum(np.sqrt(x)[1] + np.sqrt(x)[2]), [0.0, 4.0, 1.0], [0.0, 0.25, 0.5]),
        (lambda x: np.sqrt(x)[0] + np.log(x)[1] * np.sqrt(x)[2], [1.0, 1.0, 0.0], [0.5, 0.0, np.nan]),
        (lambda x: np.sum(np.maximum(np.sqrt(x), 1.0)), [0.0, 4.0], [0.0, 0.25]),
        (lambda x: np.sum(np.clip(np.log(x), 0.0, None)), [0.0, 4.0], [0.0, 0.25]),
        (lambda x: np.sum(np.where(x > 0, np.log(np.sqrt(np.sqrt(x))), 0.0)), [0.0, 4.0], [0.0, 0.0625]),
        (lambda x: np.sqrt(x) * np.sqrt(x), 0.0, np.nan),
        (lambda x: np.sum(np.sqrt(x) * np.array([0.0, 1.0])), [0.0, 4.0], [np.nan, 0.25]),  # a zero that is a value
        (lambda x: np.sum(np.where(np.array([True, False]), 1 / x, 0.0).reshape(2, 1) * np.ones((1, 2))), [2.0, 0.0], [-0.5, 0.0]),
    ],
)
def test_structural_zeros_pass_from_step_to_step(f, x, expected):
    x = np.array(x)
    np.testing.assert_allclose(both(f, x)[1], expected, rtol=1e-15)


@pytest.mark.usefixtures("every_path")
def test_a_sum_of_many_slices_is_alive_where_one_of_them_is():
    def f(x):
        root = np.sqrt(x)
        total = 0.0
        for i in range(1, 20):
            total = total + root[i] * root[(i % 3) + 4]
        return total

    x = np.concatenate([[0.0], np.linspace(1.0, 2.0, 24)])
    assert both(f, x)[1][0] == 0.0


# ---- forms spelt across steps


@pytest.mark.usefixtures("every_path")
@pytest.mark.parametrize(
    ("f", "x", "expected"),
    [
        (lambda x: 1 / (1 + np.exp(-x)), -800.0, 0.0),
        (lambda x: np.log(1 + np.exp(x)), 800.0, 1.0),
        (lambda x: np.log(np.sum(np.exp(x))), [-800.0, -801.0], [1 / (1 + np.exp(-1.0)), 1 / (1 + np.exp(1.0))]),
        (lambda x: np.sqrt(np.sum(x**2)), [0.0, 0.0], [0.0, 0.0]),
        (lambda x: np.sqrt(x @ x), [0.0, 0.0], [0.0, 0.0]),
        (lambda x: np.sqrt(x[0] * x[0] + x[1] * x[1]), [0.0, 0.0], [0.0, 0.0]),
        (lambda x: 1 / np.cosh(x), 800.0, 0.0),
        (lambda x: 3 * (1 / (2 + np.exp(-x))) ** 2, -800.0, 0.0),
        (lambda x: np.sqrt(np.sum(x**2)) ** 2, [0.0, 3.0], [0.0, 6.0]),
        (lambda x: np.sum(1 / (1 + np.exp(-np.stack([x[0], x[1]]) * 2.0))), [-500.0, 500.0], [0.0, 0.0]),
    ],
)
def test_forms_are_seen_across_steps(f, x, expected):
    np.testing.assert_allclose(both(f, np.array(x))[1], expected, rtol=1e-12)


@pytest.mark.usefixtures("every_path")
def test_a_marked_step_is_made_once_however_often_it_occurs():
    from functad._api import tape_steps

    def f(x, n):
        for _ in range(n):
            x = 1 / (1 + np.exp(-x)) + np.log(np.sum(np.exp(x)))
        return np.sum(x)

    fd.grad(lambda x: f(x, 3))(np.ones(3))
    before = len(tape_steps._MARKED)
    fd.grad(lambda x: f(x, 30))(np.ones(3))
    assert len(tape_steps._MARKED) == before


# ---- kinds of arguments and results


@pytest.mark.usefixtures("every_path")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dtypes_scalars_and_trees(dtype):
    params = {"w": np.linspace(-1, 1, 6).astype(dtype).reshape(2, 3), "b": dtype(0.5), "c": [0.25, np.array(2.0, dtype)]}

    def f(p, x):
        h = np.tanh(p["w"] @ x + p["b"]) * p["c"][0]
        return np.mean(h**2) ** p["c"][1] + np.max(h)

    tolerance = 4 * np.finfo(dtype).eps  # sums of structural zeros are multiplied term by term in a program
    _, slope = both(f, params, np.array([1.0, 2.0, -1.0], dtype), tolerance=tolerance)
    assert slope["w"].dtype == dtype
    assert type(slope["b"]) is dtype
    assert type(slope["c"][0]) is np.float64
    assert isinstance(slope["c"][1], np.ndarray)


@pytest.mark.usefixtures("every_path")
def test_auxiliary_outputs_unused_arguments_and_constant_outputs():
    f = lambda x, y: (np.sum(x**3), {"twice": 2 * x, "x": x, "n": np.argmax(x), "name": "f", "one": np.ones_like(x)})
    x, y = np.array([1.0, -2.0]), np.array([3.0])
    (value, aux), slope = fd.value_and_grad(f, argnums=(0, 1), has_aux=True)(x, y)
    assert (value, aux["n"], aux["name"]) == (-7.0, 0, "f")
    np.testing.assert_array_equal(aux["one"], [1.0, 1.0])
    np.testing.assert_array_equal(slope[0], 3 * x**2)
    np.testing.assert_array_equal(slope[1], [0.0])
    assert not np.shares_memory(aux["x"], x)
    np.testing.assert_array_equal(fd.grad(lambda x: np.float64(3.0))(x), np.zeros(2))
    np.testing.assert_array_equal(fd.grad(lambda x: np.sum(np.floor(x)))(x), np.zeros(2))
    assert fd.grad(lambda x: x)(2.0) == 1.0


@pytest.mark.usefixtures("every_path")
def test_complex_numbers_and_inner_programs():
    z = np.array([1.0 + 2.0j, -0.5j])
    both(lambda z: np.sum(np.abs(z * z) ** 2) + np.real(np.prod(z)), z)
    both(lambda x: fd.scan(lambda c, r: (np.tanh(c * r), c + r), x, np.linspace(0.1, 1, 5))[0], 0.3)
    both(lambda x: fd.cond(x > 0, np.sin, np.cos, x) * fd.while_loop(lambda y: y < 10, lambda y: y + 3.0, 1.0), 0.3)
    both(lambda x: np.sum(np.linalg.solve(x, np.ones(3)) * np.linalg.det(x)), np.eye(3) + 0.1)


@pytest.mark.usefixtures("every_path")
def test_results_never_share_memory():
    x = np.array([1.0, 2.0])
    captured = np.array([3.0, 4.0])
    (_, out), slope = fd.value_and_grad(lambda x: (np.sum(x * captured), x.T), has_aux=True)(x)
    again = fd.grad(lambda x: np.sum(x * captured))(x)
    slope[:] = 0
    out[:] = 0
    np.testing.assert_array_equal(captured, [3.0, 4.0])
    np.testing.assert_array_equal(x, [1.0, 2.0])
    np.testing.assert_array_equal(again, captured)


@pytest.mark.usefixtures("every_path")
def test_branches_and_loops_over_data_of_any_length():
    def f(x, ys):
        state = x
        for y in ys:
            state = np.tanh(state + y) if np.sum(state) > 0 else 0.5 * state - y
        return np.sum(state)

    rng = np.random.default_rng(1)
    for n in range(1, 12):
        both(f, rng.normal(size=2), list(rng.normal(size=n)))


@pytest.mark.usefixtures("every_path")
def test_tapes_from_many_threads():
    x = np.linspace(0.1, 1.0, 5)
    expected = 40 * np.sin(x) ** 39 * np.cos(x)
    wrong = []

    def work(k):
        def f(x):
            out = np.sin(x)
            for _ in range(39 + 0 * k):
                out = out * np.sin(x)
            return np.sum(out)

        for _ in range(5):
            if not np.allclose(fd.grad(f)(x), expected, rtol=1e-12):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert wrong == []


# ---- vjp


def states(params, xs):
    level, kept = params["start"], []
    for x in xs:
        level = np.tanh(level * params["rate"] + x)
        kept.append(level)
    return {"last": level, "path": np.stack(kept), "count": np.array(len(xs))}


@pytest.mark.usefixtures("every_path")
def test_a_pullback_along_a_tape_is_that_of_the_program():
    rng = np.random.default_rng(2)
    params = {"start": rng.normal(size=3), "rate": 0.7}
    for n in (4, 5):
        xs = rng.normal(size=(n, 3))
        out, pullback = fd.vjp(states, params, xs)
        assert type(pullback).__name__ == "TapedPullback"
        ct = fd.tree.map(lambda x: rng.normal(size=np.shape(x)).astype(x.dtype), out)
        found = pullback(ct)
        with fd.evaluator("numpy"):
            expected_out, program_pullback = fd.vjp(states, params, xs)
            expected = program_pullback(ct)
        for a, b in zip(fd.tree.flatten((out, found))[0], fd.tree.flatten((expected_out, expected))[0], strict=True):
            assert (type(a), np.shape(a)) == (type(b), np.shape(b))
            np.testing.assert_allclose(a, b, rtol=1e-14)


@pytest.mark.usefixtures("every_path")
def test_a_taped_pullback_holds_copies_and_may_be_called_again():
    x, captured = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    out, pullback, aux = fd.vjp(lambda x: (x * captured * x, {"x": x}), x, has_aux=True)
    expected = [2 * x * captured]
    x[:], captured[:] = 0.0, 0.0
    for _ in range(2):
        (slope,) = pullback(np.ones(2))
        np.testing.assert_array_equal(slope, expected[0])
        slope[:] = 7.0
    np.testing.assert_array_equal(out, [3.0, 16.0])
    np.testing.assert_array_equal(aux["x"], [1.0, 2.0])
    with pytest.raises(fd.errors.ShapeMismatchError):
        pullback(np.ones(3))


@pytest.mark.usefixtures("every_path")
def test_a_large_captured_array_is_copied_once_however_often_it_is_used():
    matrix = np.random.default_rng(0).normal(size=(200, 200)) / 20.0

    def f(x):
        for _ in range(40):
            x = np.tanh(matrix @ x)
        return x

    tracemalloc.start()
    _, pullback = fd.vjp(f, np.ones(200))
    size = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert size < 5 * matrix.nbytes
    expected = pullback(np.ones(200))[0]
    matrix[:] = 0.0
    np.testing.assert_array_equal(pullback(np.ones(200))[0], expected)


@pytest.mark.usefixtures("every_path")
def test_a_taped_pullback_inside_of_another_transform():
    x = np.array([0.3, 0.8])
    _, pullback = fd.vjp(lambda x: np.sin(x) * x[::-1], x)
    by_tape = fd.jacobian(lambda ct: pullback(ct)[0])(np.ones(2))
    np.testing.assert_allclose(by_tape, fd.jacobian(lambda x: np.sin(x) * x[::-1])(x).T, rtol=1e-14)
    np.testing.assert_allclose(fd.vmap(lambda ct: pullback(ct)[0])(np.eye(2)), by_tape.T, rtol=1e-14)
    inner = lambda x: fd.vjp(lambda y: np.sum(y**3), x)[1](1.0)[0] @ x
    np.testing.assert_allclose(fd.grad(inner)(x), 9 * x**2, rtol=1e-14)


@pytest.mark.usefixtures("every_path")
def test_one_output_given_twice_and_outputs_without_a_derivative():
    out, pullback = fd.vjp(lambda x: (x * 2, np.floor(x), np.ones(2), x, x), np.array([1.5, 2.5]))
    assert [type(o) for o in out] == [np.ndarray] * 5
    np.testing.assert_array_equal(pullback((np.ones(2), np.ones(2), np.ones(2), np.ones(2), 2 * np.ones(2)))[0], [5.0, 5.0])


def test_after_some_calls_a_pullback_is_a_program():
    def f(x):
        for _ in range(60):
            x = np.sin(x) + 0.1
        return x

    kinds = [type(fd.vjp(f, np.ones(2))[1]).__name__ for _ in range(tape.MOST_CALLS + 2)]
    assert kinds == ["TapedPullback"] * tape.MOST_CALLS + ["Pullback"] * 2


def test_a_form_within_a_step_is_marked(every_path):
    """A ufunc that leaves places out has more equations behind the one that ends a form."""

    def f(x):
        for _ in range(3):
            x = np.log(1 + np.exp(x), where=np.array([True, False, True]), out=None) + np.sin(x)
        return np.sum(x[::2])

    def alone(x):
        for _ in range(3):
            x = np.log(1 + np.exp(x)) + np.sin(x)
        return x

    x = np.array([5.0, 0.5, -30.0])
    _, slope = both(f, x)
    wanted = (alone(x + 1e-6) - alone(x - 1e-6)) / 2e-6
    np.testing.assert_allclose(slope, [wanted[0], 0.0, wanted[2]], rtol=1e-6, atol=1e-8)


def test_marked_steps_are_bounded(every_path, monkeypatch):
    monkeypatch.setattr(tape_steps, "_MARKED", {})
    monkeypatch.setattr(tape_steps, "MOST_MARKED", 2)
    for f, slope in (
        (lambda x: np.log(1 + np.exp(x)), 1 / (1 + np.exp(-0.5))),
        (lambda x: 1 / np.cosh(x), -np.tanh(0.5) / np.cosh(0.5)),
        (lambda x: np.log(np.exp(x) + 3.0), 1 / (1 + 3 * np.exp(-0.5))),
        (lambda x: 1 / (2.0 + np.exp(x)), -np.exp(0.5) / (2 + np.exp(0.5)) ** 2),
    ):
        assert both(f, 0.5)[1] == pytest.approx(slope, rel=1e-14)
        assert len(tape_steps._MARKED) <= 2
    assert tape_steps._MARKED
