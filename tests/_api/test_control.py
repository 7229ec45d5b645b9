"""cond, scan, while_loop as users meet them: trees, captured values, Python scalars, errors with their cure."""

import dataclasses
import doctest

import numpy as np
import pytest

import functad as fd
from functad._api import control
from functad._api.control import cond, scan, while_loop
from functad.errors import EscapedTracerError, NoValueError, ShapeMismatchError, TreeMismatchError, UnsupportedArgumentError

ROWS = np.linspace(0.5, 1.5, 4)


# ---- trees


@dataclasses.dataclass
class State:
    position: float
    velocity: float


def test_trees_of_every_kind():
    def step(carry, xs):
        a, (b, nothing), state = carry["a"], carry["b"], carry["state"]
        moved = State(state.position + state.velocity, state.velocity * xs["x"])
        return {"state": moved, "a": a + 1, "b": [b * xs["y"][0], nothing]}, (a * 1.0, {"v": state.velocity})

    init = {"a": 0, "b": [1.0, None], "state": State(0.0, 1.0)}
    carry, (first, second) = scan(step, init, {"x": ROWS, "y": (ROWS * 2,)})
    assert carry["a"] == 4
    assert carry["b"][1] is None
    assert carry["b"][0] == pytest.approx(np.prod(ROWS * 2))
    assert isinstance(carry["state"], State)
    velocities = np.concatenate([[1.0], np.cumprod(ROWS)])
    assert carry["state"].velocity == pytest.approx(velocities[-1])
    assert carry["state"].position == pytest.approx(velocities[:-1].sum())
    np.testing.assert_array_equal(first, np.arange(4.0))
    np.testing.assert_allclose(second["v"], velocities[:-1])


def test_gradient_with_respect_to_a_tree():
    def loss(parameters, xs):
        h, ys = scan(lambda h, x: (np.tanh(parameters["w"] * h + parameters["u"] * x), h), parameters["h"], xs)
        return h * h + scan(lambda t, y: (t + y, None), 0.0, ys)[0]

    parameters = {"w": 0.5, "u": 0.3, "h": 0.1}
    value, gradient = fd.value_and_grad(loss)(parameters, ROWS)

    def plain(w, u, h):
        total = 0.0
        for x in ROWS:
            total, h = total + h, np.tanh(w * h + u * x)
        return h * h + total

    assert value == pytest.approx(plain(**parameters))
    for key in parameters:
        stepped = plain(**{k: v + (1e-30j if k == key else 0) for k, v in parameters.items()}).imag / 1e-30
        assert gradient[key] == pytest.approx(stepped, rel=1e-12)


def test_recurrent_network():
    """Matrices as captured constants: their cotangents are summed over the steps."""
    random = np.random.default_rng(5)
    parameters = {"w": random.normal(size=(3, 3)) * 0.5, "u": random.normal(size=(3, 2)), "b": random.normal(size=3)}
    inputs, state = random.normal(size=(6, 2)), random.normal(size=3)

    def loss(p, xs, h):
        h, hs = scan(lambda h, x: (np.tanh(p["w"] @ h + p["u"] @ x + p["b"]), h * h), h, xs)
        return np.sum(h) + np.sum(hs)

    def plain(p, xs, h):
        total = 0.0
        for x in xs:
            total, h = total + np.sum(h * h), np.tanh(p["w"] @ h + p["u"] @ x + p["b"])
        return np.sum(h) + total

    gradient = fd.grad(loss)(parameters, inputs, state)
    for key, value in parameters.items():
        direction = random.normal(size=value.shape)
        stepped = plain({**parameters, key: value + 1e-30j * direction}, inputs, state).imag / 1e-30
        assert np.sum(gradient[key] * direction) == pytest.approx(stepped, rel=1e-11), key
    states = random.normal(size=(4, 3))
    batched = fd.vmap(fd.grad(loss), (None, None, 0))(parameters, inputs, states)
    for i, h in enumerate(states):
        np.testing.assert_allclose(batched["w"][i], fd.grad(loss)(parameters, inputs, h)["w"], rtol=1e-11)
    tangent = {k: random.normal(size=v.shape) for k, v in parameters.items()}
    product = fd.hvp(lambda p: loss(p, inputs, state), (parameters,), (tangent,))
    step = lambda e: fd.grad(loss)({k: v + e * tangent[k] for k, v in parameters.items()}, inputs, state)
    for key in parameters:
        d = [(step(h)[key] - step(-h)[key]) / (2 * h) for h in (1e-3, 5e-4)]
        np.testing.assert_allclose(product[key], (4 * d[1] - d[0]) / 3, rtol=1e-7, atol=1e-8)


def test_cond_and_while_loop_take_trees():
    out = cond(True, lambda x, y: {"s": x["a"] + y, "n": None}, lambda x, y: {"s": x["a"] - y, "n": None}, {"a": 3.0}, 2.0)
    assert out == {"s": 5.0, "n": None}
    out = while_loop(lambda c: c["n"] < 3, lambda c: {"n": c["n"] + 1, "x": (c["x"][0] * 2.0,)}, {"n": 0, "x": (ROWS,)})
    assert out["n"] == 3
    np.testing.assert_array_equal(out["x"][0], ROWS * 8)


def test_sequences_are_taken_apart_along_the_leading_axis():
    matrix = np.arange(12.0).reshape(4, 3)
    carry, ys = scan(lambda c, row: (c + row, c), np.zeros(3), matrix)
    np.testing.assert_array_equal(carry, matrix.sum(0))
    np.testing.assert_array_equal(ys, np.cumsum(matrix, 0) - matrix)
    carry, ys = scan(lambda c, row: (c + row, c), np.zeros(3), matrix, reverse=True)
    np.testing.assert_array_equal(ys, np.cumsum(matrix[::-1], 0)[::-1] - matrix)


def test_arguments_are_not_written_and_results_are_fresh():
    x, rows = np.ones(3), np.ones((2, 3))
    carry, ys = scan(lambda c, r: (c, r), x, rows)
    carry += 1
    ys += 1
    np.testing.assert_array_equal(x, np.ones(3))
    np.testing.assert_array_equal(rows, np.ones((2, 3)))


# ---- captured values


def test_captured_arrays_tracers_and_scalars():
    weights = np.array([1.0, 2.0])

    def f(a, b):
        def step(z, x):
            return z * weights * a + x * 2, cond(a > 0, lambda: z * b, lambda: z)

        z, ys = scan(step, weights, ROWS)
        return z[0] * ys[3][1]

    def plain(a, b):
        z, ys = weights, []
        for x in ROWS:
            ys.append(z * b)
            z = z * weights * a + x * 2
        return z[0] * ys[3][1]

    assert f(0.3, 0.7) == pytest.approx(plain(0.3, 0.7))
    got = fd.grad(f, (0, 1))(0.3, 0.7)
    assert got[0] == pytest.approx(plain(0.3 + 1e-30j, 0.7).imag / 1e-30, rel=1e-12)
    assert got[1] == pytest.approx(plain(0.3, 0.7 + 1e-30j).imag / 1e-30, rel=1e-12)


def test_a_changed_capture_is_seen():
    factor = np.array(2.0)
    f = lambda x: scan(lambda z, _: (z * factor, None), x, length=2)[0]
    assert fd.grad(f)(1.0) == 4.0
    factor[...] = 3.0
    assert fd.grad(f)(1.0) == 9.0


def test_three_levels_of_loops_capture_each_other():
    """Inputs of equal types at each level must not be taken for each other."""

    def f(a):
        def outer(x):
            def middle(y):
                return scan(lambda z, _: (z * a + x * 0.5 + y * 0.25, None), y, length=2)[0]

            return scan(lambda y, _: (middle(y) * 0.1 + x, None), x, length=2)[0]

        return scan(lambda x, _: (outer(x) * 0.2 + a, None), a * 1.5, length=2)[0]

    def plain(a):
        x = a * 1.5
        for _ in range(2):
            y = x
            for _ in range(2):
                z = y
                for _ in range(2):
                    z = z * a + x * 0.5 + y * 0.25
                y = z * 0.1 + x
            x = y * 0.2 + a
        return x

    assert fd.grad(f)(0.7) == pytest.approx(plain(0.7 + 1e-30j).imag / 1e-30, rel=1e-12)
    assert fd.value_and_grad(f)(0.7)[0] == pytest.approx(plain(0.7), rel=1e-14)


def test_a_question_about_an_outer_value_is_answered():
    def f(a):
        return scan(lambda z, x: (z * x if a > 0 else z + x, None), a, ROWS)[0]

    assert fd.grad(f)(2.0) == pytest.approx(np.prod(ROWS))
    assert fd.grad(f)(-2.0) == 1.0


def test_a_question_about_a_result_runs_the_loop():
    def f(a):
        z, _ = scan(lambda z, x: (z * x, None), a, ROWS)
        y = cond(z > 0, lambda: z * 2.0, lambda: z)
        w = while_loop(lambda w: w < 1.0, lambda w: w * 2.0, 0.5)
        return y * w if z > 0.1 and y > 0 and w > 0.5 else -y

    product = np.prod(ROWS)
    assert fd.grad(f)(2.0) == pytest.approx(2 * product)
    assert fd.grad(f)(-2.0) == pytest.approx(-product)


def test_an_escaped_tracer_is_an_error():
    kept = []
    scan(lambda z, _: (z, kept.append(z)), 1.0, length=1)
    with pytest.raises(EscapedTracerError):
        kept[0] * 2.0
    with pytest.raises(EscapedTracerError):
        scan(lambda z, _: (z * kept[0], None), 1.0, length=2)


# ---- Python scalars and dtypes


@pytest.mark.parametrize(
    ("init", "step", "dtype"),
    [
        (0.0, lambda c, x: c + x, np.float64),
        (0, lambda c, x: c + x, np.float64),
        (0, lambda c, x: c + 1, np.int64),
        (0.0, lambda c, x: np.float32(1.0) * c, np.float32),
        (0, lambda c, x: c + 1j * x, np.complex128),
        (np.float32(0.0), lambda c, x: 1.0, np.float32),
        (np.float32(0.0), lambda c, x: c * 2, np.float32),
        (np.int16(0), lambda c, x: c + 1, np.int16),
    ],
)
def test_dtype_of_the_carry(init, step, dtype):
    carry, ys = scan(lambda c, x: (step(c, x), c), init, ROWS)
    assert carry.dtype == dtype
    assert ys.dtype == dtype
    assert while_loop(lambda c: c[0] < 2, lambda c: (c[0] + 1, step(c[1], np.float64(1.0))), (0, init))[1].dtype == dtype


def test_branches_agree_on_the_dtype_of_a_python_scalar():
    assert cond(False, lambda x: x, lambda x: 0, np.float32(1.0)).dtype == np.float32
    assert cond(True, lambda: 1, lambda: 0.5).dtype == np.float64
    assert cond(True, lambda: 1.0, lambda: 1).dtype == np.float64


def test_predicates():
    yes, no = lambda: 1.0, lambda: 2.0
    for p in (True, 1, 2.5, np.True_, np.array(True), np.int8(3)):
        assert cond(p, yes, no) == 1.0
    for p in (False, 0, 0.0, np.False_, np.array(0)):
        assert cond(p, yes, no) == 2.0
    assert fd.grad(lambda x: cond(x, lambda: x * 3.0, lambda: x))(2.0) == 3.0


# ---- modes together


def test_vmap_over_some_arguments():
    f = lambda a, xs: scan(lambda z, x: (z * a + x, z), 1.0, xs)
    batch = np.stack([ROWS, ROWS * 2, -ROWS])
    carry, ys = fd.vmap(f, (None, 0))(0.5, batch)
    for i, rows in enumerate(batch):
        want = f(0.5, rows)
        assert carry[i] == pytest.approx(want[0])
        np.testing.assert_allclose(ys[i], want[1])
    carry, ys = fd.vmap(f, (0, None), out_axes=(0, 1))(np.array([0.5, 2.0]), ROWS)
    np.testing.assert_allclose(ys[:, 1], f(2.0, ROWS)[1])


def test_linearize_and_its_transpose():
    f = lambda z, xs: scan(lambda z, x: (np.sin(z * x), z * x), z, xs)
    out, push = fd.linearize(f, np.float64(0.5), ROWS)
    _, pull = fd.vjp(f, np.float64(0.5), ROWS)
    random = np.random.default_rng(3)
    dz, dx, cz, cy = random.normal(), random.normal(size=4), random.normal(), random.normal(size=4)
    tz, ty = push(dz, dx)
    gz, gx = pull((cz, cy))
    assert tz * cz + ty @ cy == pytest.approx(dz * gz + dx @ gx, rel=1e-12)
    assert out[0] == pytest.approx(f(0.5, ROWS)[0])


def test_jit():
    f = lambda a: scan(lambda z, x: (cond(z > 1.0, np.sin, lambda z: z * a, z) + x, z), a, ROWS)[0]
    assert fd.jit(f)(0.7) == pytest.approx(f(0.7), rel=1e-14)
    assert fd.jit(fd.grad(f))(0.7) == pytest.approx(fd.grad(f)(0.7), rel=1e-12)
    assert fd.grad(fd.jit(f))(0.7) == pytest.approx(fd.grad(f)(0.7), rel=1e-12)
    g = lambda x: while_loop(lambda c: c < 10.0, lambda c: c * x, x)
    assert fd.jit(g)(2.5) == pytest.approx(g(2.5), rel=1e-14)


def test_many_steps_cost_no_tracing():
    calls = []

    def step(z, x):
        calls.append(1)
        return z * 0.999 + x, None

    scan(step, 0.0, np.ones(2000))
    assert len(calls) <= 2  # once for the weak carry, once for the dtype that it takes


def test_gradient_steps_in_a_loop():
    """The derivative of where gradient descent ends up, by the target."""

    def fit(target):
        loss = lambda p: (p - target) * (p - target)
        return scan(lambda p, _: (p - 0.1 * fd.grad(loss)(p), None), 0.0, length=10)[0]

    assert fd.grad(fit)(2.0) == pytest.approx(1 - 0.8**10, rel=1e-12)


# ---- errors


def test_asking_a_value_in_a_body_names_the_cure():
    for f in (
        lambda: scan(lambda z, _: (z if z > 0 else -z, None), 1.0, length=2),
        lambda: cond(True, lambda x: x if x > 0 else -x, lambda x: x, 1.0),
        lambda: while_loop(lambda x: x < 3, lambda x: x + 1 if x > 0 else x, 1.0),
        lambda: while_loop(lambda x: bool(x < 3), lambda x: x + 1, 1.0),
    ):
        with pytest.raises(NoValueError, match=r"np\.where.*cond"):
            f()


def test_a_carry_that_changes_its_shape():
    with pytest.raises(ShapeMismatchError, match=r"carry\['z'\] has shape \(\) at the start and \(4,\) after a step"):
        scan(lambda c, _: ({"z": c["z"] + ROWS}, None), {"z": 0.0}, length=2)
    with pytest.raises(ShapeMismatchError, match=r"while_loop: carry has shape \(2,\)"):
        while_loop(lambda c: True, lambda c: c[:1], np.ones(2))


def test_a_carry_that_changes_its_dtype():
    cures = r"\.astype\(np\.float64\).*\.astype\(np\.float32\)"
    with pytest.raises(ShapeMismatchError, match=r"carry\[1\] is float32 .* float64 .*" + cures):
        scan(lambda c, x: ((c[0], c[1] * x), None), (0.0, np.float32(1.0)), ROWS)
    with pytest.raises(ShapeMismatchError, match=r"carry is int64 .* float64"):
        while_loop(lambda c: c < 3, lambda c: c * 0.5, np.int64(1))


def test_a_carry_that_changes_its_tree():
    with pytest.raises(TreeMismatchError, match=r"only the carry after a step has carry\[1\]"):
        scan(lambda c, _: ((c[0], c[0]), None), (0.0,), length=2)
    with pytest.raises(TreeMismatchError, match="pair"):
        scan(lambda c, _: c, 0.0, length=2)
    with pytest.raises(TreeMismatchError, match="while_loop"):
        while_loop(lambda c: True, lambda c: (c, c), 0.0)


def test_lengths():
    with pytest.raises(ShapeMismatchError, match=r"xs\[1\] of shape \(3,\) has 3 steps, xs\[0\] has 4"):
        scan(lambda c, x: (c, None), 0.0, (ROWS, ROWS[:3]))
    with pytest.raises(ShapeMismatchError, match="length has 5"):
        scan(lambda c, x: (c, None), 0.0, ROWS, length=5)
    with pytest.raises(ShapeMismatchError, match="single number"):
        scan(lambda c, x: (c, None), 0.0, 3.0)
    for keywords in ({}, {"length": -1}):
        with pytest.raises(UnsupportedArgumentError, match="length"):
            scan(lambda c, x: (c, None), 0.0, None, **keywords)


def test_branches_that_differ():
    with pytest.raises(TreeMismatchError, match=r"only the output of false_fun has output\[1\]"):
        cond(True, lambda: (1.0,), lambda: (1.0, 2.0))
    with pytest.raises(ShapeMismatchError, match=r"output\[0\] has shape \(\) from true_fun and \(4,\) from false_fun"):
        cond(True, lambda: (1.0,), lambda: (ROWS,))
    with pytest.raises(ShapeMismatchError, match=r"float32 from true_fun and float64 .*astype\(np\.float64\)"):
        cond(True, lambda: np.float32(1.0), lambda: np.float64(1.0))
    with pytest.raises(ShapeMismatchError, match=r"pred must be one number, got an array of shape \(4,\).*np\.where"):
        cond(ROWS > 1, lambda: 1.0, lambda: 2.0)
    with pytest.raises(ShapeMismatchError, match=r"cond_fun must be one number.*np\.all"):
        while_loop(lambda c: c < 3, lambda c: c, ROWS)


def test_leaves_that_are_no_numbers():
    with pytest.raises(UnsupportedArgumentError, match=r"carry\['name'\] is 'x' of type str"):
        scan(lambda c, _: (c, None), {"name": "x"}, length=2)
    with pytest.raises(UnsupportedArgumentError, match=r"operands\[0\]"):
        cond(True, lambda x: 1.0, lambda x: 2.0, "x")


def test_an_error_in_a_body_leaves_no_trace_open():
    with pytest.raises(ZeroDivisionError):
        scan(lambda c, _: (c / 0 if False else 1 // 0, None), 0.0, length=2)
    assert scan(lambda c, x: (c + x, None), 0.0, ROWS)[0] == ROWS.sum()


def test_the_error_names_the_users_line():
    with pytest.raises(ShapeMismatchError) as caught:
        scan(lambda c, _: (c + ROWS, None), 0.0, length=2)
    assert caught.value.location is not None
    assert caught.value.location.startswith(__file__)


def test_docstrings():
    for name in control.__all__:
        examples = doctest.DocTestFinder(recurse=False).find(getattr(control, name), name, globs={})
        for example in examples:
            result = doctest.DocTestRunner().run(example)
            assert result.attempted
            assert result.failed == 0
