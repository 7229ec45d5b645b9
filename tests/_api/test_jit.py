"""jit: the function runs once a signature; static arguments, trees, captured values, results; make_program and show_source."""

from collections import namedtuple
from dataclasses import dataclass

import numpy as np
import pytest

import functad as fd
from functad._compile.pipeline import compile_count

X = np.array([0.5, -1.0, 2.0])
Point = namedtuple("Point", ["x", "y"])


@dataclass
class Layer:
    w: object
    b: object


class Counted:
    """A function that counts its runs."""

    def __init__(self, function):
        self.function, self.runs = function, 0

    def __call__(self, *args, **kwargs):
        self.runs += 1
        return self.function(*args, **kwargs)


@pytest.mark.parametrize(
    ("calls", "runs"),
    [
        ([(X,), (X + 1,), (X[::-1],)], 1),
        ([(X,), (np.ones(4),), (np.ones(4),)], 2),
        ([(X,), (X.astype(np.float32),), (X.astype(int),), (X > 0,)], 4),
        ([(1.0,), (2.0,)], 1),
        ([(1.0,), (1,), (True,), (1j,), (np.float64(1.0),), (np.float32(1.0),), (np.array(1.0),)], None),
        ([([1.0, 2.0],), ((1.0, 2.0),), ({"a": 1.0},), ({"b": 1.0},)], 4),
    ],
    ids=["values", "shapes", "dtypes", "numbers", "kinds of numbers", "trees"],
)
def test_the_function_runs_once_a_signature(calls, runs):
    counted = Counted(lambda x: fd.tree.map(lambda v: v * 2, x))
    compiled = fd.jit(counted)
    for _ in range(3):
        for args in calls:
            for found, expected in zip(fd.tree.flatten(compiled(*args))[0], fd.tree.flatten(counted.function(*args))[0], strict=True):
                np.testing.assert_array_equal(found, expected)
                assert np.asarray(found).dtype == np.asarray(expected).dtype
    assert counted.runs == runs if runs is not None else counted.runs <= len(calls)


def test_kinds_of_numbers_promote_as_numpys():
    """A Python number is weak, NumPy's is not."""
    compiled = fd.jit(lambda x, s: x * s)
    x = X.astype(np.float32)
    for s in (2, 2.0, np.float32(2), np.float64(2), np.int64(2), True, np.array(2.0), 2.0, np.float64(2)):
        assert compiled(x, s).dtype == (x * s).dtype, repr(s)


@pytest.mark.parametrize(
    "make",
    [
        lambda x: x, lambda x: (x, 2.0), lambda x: [x, (x + 1, None)], lambda x: {"b": x, "a": x * 2}, lambda x: Point(x, x[0]),
        lambda x: Layer(x, x.sum()),
        lambda x: (), lambda x: None, lambda x: (x,), lambda x: [x], lambda x: {"k": {"k": x}}, lambda x: (x, "text"), lambda x: np.float64(3.0),
        lambda x: {(1, 2): x, (0, 1): x * 2}, lambda x: {2: x, 1: x * 2},
    ],
)  # fmt: skip
def test_outputs_have_the_functions_tree(make):
    expected, compiled = make(X), fd.jit(make)
    for _ in range(2):
        found = compiled(X)
        assert type(found) is type(expected)
        assert fd.tree.structure(found) == fd.tree.structure(expected)
        for a, b in zip(fd.tree.flatten(found)[0], fd.tree.flatten(expected)[0], strict=True):
            if isinstance(b, str):
                assert a == b
            else:
                np.testing.assert_array_equal(a, b)
                assert np.shape(a) == np.shape(b)
    if isinstance(expected, dict):
        assert list(found) == list(expected)


ARGUMENTS = [(X,), ([X, 2.0],), ({"b": X, "a": (2.0,)},), (Point(X, 2.0),), (Layer(X, 2.0),), ((X, (X, None)), [2.0]), (), ({},)]


@pytest.mark.parametrize("args", ARGUMENTS)
def test_arguments_of_any_tree(args):
    compiled = fd.jit(lambda *a: sum(np.sum(x) for x in fd.tree.flatten(a)[0]) + 1.0)
    for _ in range(3):
        assert compiled(*args) == sum(np.sum(x) for x in fd.tree.flatten(args)[0]) + 1.0


def test_results_are_fresh_and_arguments_stay():
    x = X.copy()
    compiled = fd.jit(lambda x: (x, x, x + 0.0))
    outs = [*compiled(x), *compiled(x)]
    for i, y in enumerate(outs):
        assert not np.shares_memory(y, x)
        assert not any(np.shares_memory(y, z) for z in outs[i + 1 :])
        y[:] = 7.0
    np.testing.assert_array_equal(x, X)


def test_captured_values_are_those_of_the_first_call():
    """Purity is promised: changes after the trace are not seen, and do not harm."""
    captured = X.copy()
    compiled = fd.jit(lambda x: x * captured)
    np.testing.assert_array_equal(compiled(np.ones(3)), X)
    captured[:] = 0.0
    np.testing.assert_array_equal(compiled(np.ones(3)), X)


# ---- static arguments


def test_static_arguments_by_position_and_by_name():
    def power(x, n, *, shift=0):
        assert type(n) is int
        for _ in range(n - 1):
            x = x * X
        return x + shift

    for options in ({"static_argnums": 1}, {"static_argnums": (1,)}, {"static_argnums": -1}, {"static_argnames": "n"}, {"static_argnames": ["n"]}):
        compiled = fd.jit(power, **options)
        for n in (1, 3, 2, 3):
            np.testing.assert_allclose(compiled(X, n), X**n, rtol=1e-15)
    by_name = fd.jit(power, static_argnames=("n", "shift"))
    np.testing.assert_allclose(by_name(X, n=2), X**2)
    np.testing.assert_allclose(by_name(X, 2, shift=3), X**2 + 3)


def test_static_values_are_told_apart_by_type():
    compiled = fd.jit(lambda x, kind: x * (1.0 if type(kind) is int else 2.0 if type(kind) is float else 3.0), static_argnums=1)
    assert [compiled(1.0, k) for k in (1, 1.0, True, 1)] == [1.0, 2.0, 3.0, 1.0]


def test_static_arguments_within_other_transforms():
    def power(x, n):
        assert type(n) is int
        return x**n if n > 2 else x

    by_place, by_name = fd.jit(power, static_argnums=1), fd.jit(power, static_argnames="n")
    assert fd.grad(by_place)(2.0, 3) == fd.grad(by_name)(2.0, n=3) == fd.jacfwd(by_place)(2.0, 3) == 12.0
    assert fd.hessian(by_place)(2.0, 3) == fd.jit(fd.hessian(by_place), static_argnums=1)(2.0, 3) == 12.0
    assert fd.grad(fd.jit(lambda x, twice: 2 * x if twice else x, static_argnums=1))(1.0, True) == 2.0
    with pytest.raises(fd.errors.UnsupportedArgumentError, match="bind"):
        fd.grad(fd.jit(lambda x, a: x * a, static_argnums=1))(1.0, 0.5)
    with pytest.raises(fd.errors.NoValueError, match="static"):
        fd.jit(by_place)(2.0, 3)


def test_strings_and_functions_are_part_of_the_signature():
    counted = Counted(lambda x, name, f: f(x) if name == "apply" else x)
    compiled = fd.jit(counted)
    np.testing.assert_allclose(compiled(X, "apply", np.sin), np.sin(X), rtol=1e-15)
    np.testing.assert_allclose(compiled(X, "apply", np.cos), np.cos(X), rtol=1e-15)
    np.testing.assert_array_equal(compiled(X, "leave", np.cos), X)
    assert counted.runs == 3


def test_a_decorator_with_and_without_options():
    @fd.jit
    def plain(x):
        return x * 2.0

    @fd.jit(static_argnums=(1,))
    def chosen(x, n):
        return x * n

    assert (plain(2.0), chosen(2.0, 3)) == (4.0, 6.0)


def test_keyword_arguments_in_any_order():
    counted = Counted(lambda x, y=1.0, z=0.0: x * y + z)
    compiled = fd.jit(counted)
    assert compiled(2.0, y=3.0, z=1.0) == compiled(2.0, z=1.0, y=3.0) == 7.0
    assert compiled(2.0) == 2.0
    assert counted.runs == 2


# ---- kernels


def test_a_new_size_runs_the_function_but_compiles_nothing():
    compiled = fd.jit(fd.grad(lambda x: np.sum(np.sin(x) ** 2 * np.exp(-x))))
    for n in (5, 2, 17, 1000):
        x = np.linspace(0.0, 1.0, n)
        if n == 2:
            before = compile_count()
        np.testing.assert_allclose(compiled(x), 2 * np.sin(x) * np.cos(x) * np.exp(-x) - np.sin(x) ** 2 * np.exp(-x), rtol=1e-13, atol=1e-16)
    assert compile_count() == before


def test_equal_programs_share_a_kernel():
    f = lambda x: np.cos(np.sqrt(x) * 3.0) + 11.0
    first = fd.jit(f)(X**2)
    before = compile_count()
    np.testing.assert_array_equal(fd.jit(lambda x: np.cos(np.sqrt(x) * 3.0) + 11.0)(X**2), first)
    assert compile_count() == before


def test_a_decomposition_runs_in_numpy_between_kernels():
    a = np.array([[2.0, 1.0], [1.0, 3.0]])
    f = lambda a: np.sum(np.exp(np.linalg.inv(np.sin(a) + 3 * np.eye(2))) ** 2)
    assert fd.jit(f)(a) == pytest.approx(f(a), rel=1e-14)
    np.testing.assert_allclose(fd.jit(fd.grad(f))(a), fd.grad(f)(a), rtol=1e-12)


def test_arrays_of_other_memory_order_alignment_and_byte_order():
    a = np.arange(12.0).reshape(3, 4)
    compiled = fd.jit(lambda a: a * 2 + a.sum(axis=0))
    expected = a * 2 + a.sum(axis=0)
    unaligned = np.zeros(a.nbytes + 1, np.uint8)[1:].view(np.float64).reshape(a.shape)
    unaligned[...] = a
    for other in (a, np.asfortranarray(a), a.astype(">f8"), unaligned, np.repeat(a, 2, axis=1)[:, ::2]):
        np.testing.assert_array_equal(compiled(other), expected)


def test_jit_within_jit_and_within_other_transforms():
    inner = fd.jit(lambda x: np.sin(x) * x)
    assert fd.jit(lambda x: inner(x) + inner(2 * x))(1.0) == pytest.approx(np.sin(1.0) + 2 * np.sin(2.0), rel=1e-15)
    np.testing.assert_allclose(fd.vmap(inner)(X), np.sin(X) * X, rtol=1e-15)
    np.testing.assert_allclose(fd.jacobian(inner)(X), np.diag(np.cos(X) * X + np.sin(X)), rtol=1e-14)


# ---- showing


def test_make_program_prints_what_was_traced():
    text = repr(fd.make_program(lambda x: np.sum(np.sin(x) * 2.0))(X))
    assert text.split("\n") == [
        "program(a: weak f8[], b: f8[3])",
        "  c: f8[3] = sin b",
        "  d: f8[3] = broadcast[shape=(3,) axes=()] a",
        "  e: f8[3] = mul c d",
        "  f: f8[] = reduce_sum[axes=(0,)] e",
        "  return f",
    ]
    assert isinstance(fd.make_program(np.sin)(1.0), fd.Program)


def test_show_source_prints_the_kernel(capsys):
    fd.show_source(fd.jit(lambda x: np.exp(x) * 2.0))(X)
    shown = capsys.readouterr().out
    assert "def kernel(" in shown
    assert "exp_f8(" in shown
    assert "# x" in shown


def test_signatures_are_bounded(monkeypatch):
    from functad._api import jit as module

    monkeypatch.setattr(module, "MAX_SIGNATURES", 2)
    runs = []
    f = fd.jit(lambda x: (runs.append(x.shape), np.sum(x * x))[1])
    for n in (1, 2, 3, 1):
        assert f(np.full(n, 2.0)) == 4.0 * n
        assert len(f._entries) <= 2
    assert runs == [(1,), (2,), (3,), (1,)]  # the oldest was forgotten


def test_static_arguments_of_a_function_that_tells_no_names():
    x = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(fd.jit(getattr, static_argnums=1)(x, "T"), x.T)
