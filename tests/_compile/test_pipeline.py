"""pipeline: executables against NumPy at all sizes, what must not compile, evaluators, host steps, threads."""

import threading

import numpy as np
import pytest

from functad._compile import pipeline, segments
from functad._compile.pipeline import Executable, compile_count, evaluator
from functad._core.interpret import python_function
from functad._core.program import Literal
from functad._core.recorder import stage
from functad._core.types import array_type
from functad._primitives import elementwise, index, logic, reduce, scan, shape, sort, while_loop
from functad.errors import KernelError

F8, F4, I8, B1 = (np.dtype(d) for d in ("f8", "f4", "i8", "?"))
SIZES = (3, 0, 1, 2, 5, 1000, 5000)


def value_and_gradient(x):
    two = Literal(2, x.type)
    s, e = elementwise.sin(x), elementwise.exp(elementwise.neg(x))
    value = reduce.reduce_sum(elementwise.mul(elementwise.square(s), e), axes=(0,))
    slope = elementwise.sub(elementwise.mul(elementwise.mul(two, s), elementwise.cos(x)), elementwise.square(s))
    return [value, elementwise.mul(slope, e)]


def table(x):
    """Partial reductions, a transposition, a column and a mean of a matrix (n, n + 2)."""
    n, m = x.type.shape
    rows = reduce.reduce_max(x, axes=(1,))
    e = elementwise.exp(elementwise.sub(x, shape.broadcast(rows, shape=(n, m), axes=(0,))))
    mean = elementwise.div(reduce.reduce_sum(e, axes=(0, 1)), Literal(max(n * m, 1), array_type((), x.type.dtype)))
    return [reduce.reduce_sum(e, axes=(1,)), reduce.reduce_sum(x, axes=(0,)), shape.transpose(e, order=(1, 0)), mean]


def differences(x):
    """Neighbours, with a guard at each end, and a running count of the integers."""
    n = x.type.shape[0]
    if n == 0:
        return [x]
    cut = [shape.slice_(x, start=(k,), size=(n - 1,), step=(1,)) for k in (0, 1)]
    d = elementwise.sub(cut[1], elementwise.mul(cut[0], cut[0]))
    parts = [shape.pad(d, low=(k,), high=(1 - k,), inner=(0,)) for k in (0, 1)]
    return [elementwise.sub(parts[1], elementwise.mul(parts[0], x)), logic.less(x, Literal(0.5, x.type))]


def tolerance(dtype):
    return {"rtol": 1e-13, "atol": 1e-13} if dtype.itemsize >= 8 else {"rtol": 2e-6, "atol": 2e-6}


def check(program, args, **limits):
    with np.errstate(all="ignore"):
        wanted = python_function(program)(*args)
    found = Executable(program).compile()(*args)
    for w, g in zip(wanted, found, strict=True):
        assert type(w) is type(g)
        assert (w.dtype, w.shape) == (g.dtype, g.shape)
        np.testing.assert_allclose(g, w, **(limits or tolerance(w.dtype)))
    return found


@pytest.mark.parametrize("dtype", [F8, F4])
@pytest.mark.parametrize("function", [value_and_gradient, table, differences])
def test_all_sizes(function, dtype):
    count = None
    for n in SIZES if function is not table else SIZES[:6]:
        size = (n,) if function is not table else (min(n, 40), min(n, 40) + 2)
        x = np.random.default_rng(n).uniform(0, 3, size).astype(dtype)
        check(stage(function, [array_type(size, dtype)]), [x], **({"rtol": 1e-5, "atol": 1e-3} if dtype == F4 else {"rtol": 1e-12, "atol": 1e-12}))
        if n == 5:
            count = compile_count()  # 0 and 1 are literal, and so are last axes of matrices up to 4
        if n > 5:
            assert count is None or compile_count() == count


def test_a_second_size_compiles_nothing():
    first = Executable(stage(value_and_gradient, [array_type((77,), F8)]))
    first.compile()
    before = compile_count()
    second = Executable(stage(value_and_gradient, [array_type((78,), F8)]))
    assert second.source() == first.source()
    second.compile()
    assert compile_count() == before


def test_special_values():
    x = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e308, -1e-308, 700.0])

    def f(x):
        above = logic.less(Literal(0, x.type), x)
        return [
            elementwise.sqrt(x),
            elementwise.mul(x, x),
            elementwise.exp(x),
            reduce.reduce_max(x, axes=(0,)),
            reduce.reduce_sum(x, axes=(0,)),
            logic.select(above, elementwise.log(x), Literal(0, x.type)),
            elementwise.maximum(x, Literal(0, x.type)),
            elementwise.sign(x),
            reduce.reduce_sum(logic.select(above, x, Literal(1, x.type)), axes=(0,)),
        ]

    found = check(stage(f, [array_type(x.shape, F8)]), [x])
    assert np.isnan(found[4])
    assert found[8] == np.inf  # the compensation of a sum does not turn infinity into NaN


def test_integers_and_booleans():
    kinds = [array_type((6,), I8), array_type((6,), I8), array_type((6,), B1), array_type((6,), np.int32)]
    args = [
        np.array([7, -7, 2**62, 0, -(2**63), 5]),
        np.array([2, 2, 4, 0, -1, -3]),
        np.array([True, False] * 3),
        np.array([2**31 - 1, 5, -5, 0, 1, 2], np.int32),
    ]

    def f(x, y, b, k):
        return [
            elementwise.floor_divide(x, y), elementwise.remainder(x, y), elementwise.mul(x, x), logic.logical_not(b),
            logic.logical_and(b, logic.less(x, y)), elementwise.add(k, k), reduce.reduce_any(b, axes=(0,)), reduce.reduce_sum(x, axes=(0,)),
            logic.select(b, x, y), logic.convert(b, dtype=F4), logic.convert(x, dtype=B1), elementwise.neg(k), reduce.reduce_max(k, axes=(0,)),
            elementwise.div(x, y),
        ]  # fmt: skip

    check(stage(f, kinds), args)


def test_outputs_never_alias():
    kind = array_type((4,), F8)

    def f(x):
        y = elementwise.sin(x)
        return [x, x, y, y, Literal(2.5, kind), shape.reshape(x, shape=(2, 2)), shape.reshape(y, shape=(2, 2)), Literal(7, array_type((), I8))]

    x = np.arange(4.0)
    found = check(stage(f, [kind]), [x])
    arrays = [x, *[a for a in found if a.ndim]]
    assert not any(np.shares_memory(a, b) for i, a in enumerate(arrays) for b in arrays[:i])
    assert type(found[7]) is np.int64


def test_numbers_in_and_out():
    kinds = [array_type((), F8, True), array_type((), F8), array_type((3,), F4)]

    def f(a, b, x):
        scaled = elementwise.mul(x, shape.broadcast(logic.convert(a, dtype=F4), shape=(3,), axes=()))
        return [elementwise.mul(a, b), scaled]

    program = stage(f, kinds)
    x = np.array([1.0, 2.0, 0.1], F4)
    check(program, [0.1, np.float64(0.3), x])
    call = Executable(program).caller()
    for b in (0.3, np.float64(0.3), np.array(0.3)):
        value, scaled = call(0.1, b, x)
        assert type(value) is np.float64
        assert scaled.dtype == F4
    strict = Executable(program).caller(fallback=lambda *args: args)
    assert strict(0.1, np.float64(0.3), x)[0] == 0.1 * 0.3
    for args in ((np.float64(0.1), np.float64(0.3), x), (0.1, 0.3, x), (1, np.float64(0.3), x), (0.1, np.float64(0.3), x.astype(F8))):
        assert strict(*args) is not None
        assert strict(*args)[2] is args[2]  # the fallback's own answer


def test_bound_inputs():
    kind = array_type((3,), F8)
    program = stage(lambda a, x, y: [elementwise.sub(elementwise.mul(a, x), y)], [kind] * 3)
    x = np.arange(3.0)
    for pinned in (None, "numpy"):
        with evaluator(pinned):
            call = Executable(program).caller({0: x + 1, 2: x})
        np.testing.assert_array_equal(call(x), (x + 1) * x - x)


def test_the_rule_of_when_to_compile(monkeypatch):
    program = stage(lambda x: [elementwise.sin(elementwise.tan(x))], [array_type((11,), F8)])
    x = np.linspace(0, 1, 11)
    monkeypatch.setattr(pipeline, "compile_cost", lambda program: 2.5 * pipeline.numpy_cost(program))
    executable = Executable(program)
    before = compile_count()
    executable(x), executable(x)
    assert compile_count() == before
    executable(x)
    assert compile_count() == before + 1
    other = Executable(stage(lambda x: [elementwise.sin(elementwise.tan(x))], [array_type((12,), F8)]))
    other(np.linspace(0, 1, 12))  # its kernel is there already
    assert other._compiled is not None


def test_pinned_evaluators():
    program = stage(lambda x: [elementwise.exp(x)], [array_type((5,), F8)])
    x = np.linspace(0, 1, 5)
    executable = Executable(program)
    with evaluator("numpy"):
        for _ in range(3):
            assert executable(x)[0].tolist() == np.exp(x).tolist()
        assert executable._compiled is None
    with evaluator("kernel"):
        first = executable(x)[0]
        assert executable._compiled is not None
        assert executable(x)[0].tolist() == first.tolist()
    with pytest.raises(ValueError, match="numpy"):
        evaluator("jax").__enter__()


def test_host_steps_between_kernels():
    kind = array_type((6,), F8)

    def f(x):
        ordered = sort.sort(elementwise.sin(x), axis=0)
        return [elementwise.mul(ordered, x), ordered, x, reduce.reduce_sum(sort.sort(elementwise.exp(ordered), axis=0), axes=(0,))]

    program = stage(f, [kind])
    check(program, [np.arange(6.0)])
    assert "in NumPy: sort" in Executable(program).source()
    call = Executable(program).caller({}, fallback=lambda *args: "other")
    assert call(np.arange(7.0)) == "other"
    assert call(np.arange(6.0))[2].tolist() == [0, 1, 2, 3, 4, 5]
    assert Executable(program).caller({0: np.arange(6.0)})()[2].tolist() == [0, 1, 2, 3, 4, 5]


def test_huge_programs_are_cut(monkeypatch):
    monkeypatch.setattr(segments, "MOST_EQUATIONS", 3)
    monkeypatch.setattr(segments, "PIECE", 3)
    kind = array_type((5,), F8)

    def f(x):
        y = elementwise.sin(x)
        for k in range(4):
            y = elementwise.add(elementwise.mul(y, x), Literal(k, kind))
        return [y, elementwise.sin(x)]

    check(stage(f, [kind]), [np.linspace(0, 1, 5)])


def test_float16_runs_in_numpy():
    kind = array_type((3,), np.float16)
    program = stage(lambda x: [elementwise.mul(x, x)], [kind])
    np.testing.assert_array_equal(Executable(program).compile()(np.ones(3, np.float16))[0], np.ones(3, np.float16))


def test_indices_are_checked():
    kinds = [array_type((3,), F8), array_type((2,), I8)]
    call = Executable(stage(lambda x, i: [elementwise.exp(index.gather(x, i))], kinds)).compile()
    x = np.arange(3.0)
    np.testing.assert_allclose(call(x, np.array([2, 0]))[0], np.exp([2.0, 0.0]))
    scatter = Executable(stage(lambda x, i: [index.scatter_add(x, i, shape=(4,))], [kinds[1].with_dtype(F8), kinds[1]])).compile()
    np.testing.assert_array_equal(scatter(np.array([1.0, 2.0]), np.array([3, 3]))[0], [0, 0, 0, 3])
    for wrong in (3, -1, 2**62):
        with pytest.raises(IndexError):
            call(x, np.array([0, wrong]))
        with pytest.raises(IndexError):
            scatter(np.array([1.0, 2.0]), np.array([0, wrong + 1 if wrong > 0 else wrong]))


def test_a_kernel_that_does_not_compile_shows_its_source(monkeypatch):
    kernel = logic.isnan.kernel
    monkeypatch.setattr(logic.isnan, "kernel", type(kernel)(lambda codes, out, x: f"({x} + 'text')"))
    with pytest.raises(KernelError, match=r"def kernel[\s\S]*evaluator"):
        Executable(stage(lambda x: [logic.isnan(x)], [array_type((3,), F8)])).compile()


def test_loops_do_not_grow_with_their_trip_count():
    row = array_type((), F8)
    body = stage(lambda c, x: [elementwise.add(elementwise.mul(c, Literal(0.5, row)), elementwise.sin(x)), c], [row, row])

    def f(c, xs):
        return list(scan.scan(c, xs, body=body, constants=0, carry=1, length=xs.type.shape[0], reverse=False))

    few, many = (Executable(stage(f, [row, array_type((n,), F8)])) for n in (7, 1000))
    assert few.source() == many.source()
    check(many.program, [0.25, np.linspace(0, 1, 1000)])
    check(few.program, [0.25, np.linspace(0, 1, 7)])


def test_while_loop():
    row = array_type((), F8)
    kind = array_type((3,), F8)
    condition = stage(lambda bound, n, x: [logic.less(reduce.reduce_sum(x, axes=(0,)), bound)], [row, row, kind])
    body = stage(lambda n, x: [elementwise.add(n, Literal(1, row)), elementwise.mul(x, Literal(2, kind))], [row, kind])

    def f(bound, x):
        params = dict(condition=condition, body=body, condition_constants=1, body_constants=0)
        return list(while_loop.while_loop(bound, Literal(0, row), x, **params))

    found = check(stage(f, [row, kind]), [1000.0, np.ones(3)])
    assert found[0] == 9


def test_threads_share_one_compile():
    program = stage(lambda x: [elementwise.exp(elementwise.cosh(x))], [array_type((9,), F8)])
    before, x = compile_count(), np.linspace(0, 1, 9)
    results = []
    threads = [threading.Thread(target=lambda: results.append(Executable(program).compile()(x)[0].tolist())) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert compile_count() == before + 1
    assert len({tuple(r) for r in results}) == 1


def test_sums_are_accurate():
    n = 1_000_000
    program = stage(lambda x: [reduce.reduce_sum(x, axes=(0,))], [array_type((n,), F8)])
    found = Executable(program).compile()(np.full(n, 0.1))[0]
    assert abs(found - 100000) < 2e-10


def test_a_host_operation_in_a_body_makes_its_loop_a_host_step():
    row, rows = array_type((3,), F8), array_type((4, 3), F8)
    body = stage(lambda c, x: [elementwise.add(c, x), sort.sort(x, axis=0)], [row, row])
    program = stage(lambda c, x: list(scan.scan(c, x, body=body, constants=0, carry=1, length=4, reverse=False)), [row, rows])
    assert "its body has an operation without kernel form" in Executable(program).source()
    check(program, [np.zeros(3), np.random.default_rng(0).normal(size=(4, 3))])


def test_the_table_of_kernels_is_bounded(monkeypatch):
    monkeypatch.setattr(pipeline, "_RECIPES", {})
    monkeypatch.setattr(pipeline, "MAX_RECIPES", 2)
    for n, op in enumerate((elementwise.exp, elementwise.sin, elementwise.tanh)):
        x = np.linspace(0.0, 1.0, 5 + n)
        np.testing.assert_allclose(Executable(stage(lambda x, op=op: [op(x)], [array_type(x.shape, F8)])).compile()(x)[0], op.numpy(x), rtol=1e-15)
    assert len(pipeline._RECIPES) == 2
