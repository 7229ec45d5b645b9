"""schedule: how many loops there are, over which spaces, and what gets memory.  The policy's words are tested, never a time."""

import numpy as np

from functad._compile.emitting.emit import kernel_text
from functad._compile.rewriting.simplify import simplify
from functad._compile.scheduling.plan import Loops, Routine, Rows
from functad._compile.scheduling.rows import in_rows
from functad._compile.scheduling.schedule import schedule
from functad._compile.scheduling.sizes import read
from functad._core.program import Literal
from functad._core.recorder import stage
from functad._core.types import array_type
from functad._primitives import cumulative, dot, elementwise, index, logic, reduce, shape

F8 = np.dtype("f8")
X = array_type((5,), F8)
M = array_type((4, 5), F8)


def plan_of(function, *types):
    program = simplify(stage(function, types))
    return schedule(program, read(program)[1])


def loops(plan):
    return [s for s in plan.steps if isinstance(s, Loops)]


def spaces(plan):
    return [s.space for s in loops(plan)]


def test_value_and_gradient_share_one_loop():
    def f(x):
        s, e = elementwise.sin(x), elementwise.exp(elementwise.neg(x))
        value = reduce.reduce_sum(elementwise.mul(elementwise.square(s), e), axes=(0,))
        gradient = elementwise.sub(
            elementwise.mul(elementwise.mul(Literal(2, X), elementwise.mul(s, elementwise.cos(x))), e), elementwise.mul(elementwise.square(s), e)
        )
        return [value, gradient]

    plan = plan_of(f, X)
    assert spaces(plan) == [("s0",)]
    assert len(plan.stored) == 2  # the results


def test_a_chain_needs_no_memory():
    plan = plan_of(lambda x: [elementwise.exp(elementwise.sin(elementwise.mul(x, x)))], X)
    assert len(plan.stored) == len(loops(plan)) == 1


def test_a_result_that_another_reads_is_read_where_it_is_written():
    def f(x):
        s = elementwise.sin(x)
        return [s, elementwise.exp(s)]

    assert spaces(plan_of(f, X)) == [("s0",)]


def test_a_reduction_is_finished_before_it_is_used():
    def f(x):
        total = reduce.reduce_sum(x, axes=(0,))
        return [elementwise.div(x, shape.broadcast(total, shape=(5,), axes=()))]

    plan = plan_of(f, X)
    assert spaces(plan) == [("s0",), ("s0",)]


def test_what_two_loops_need_is_stored_if_costly():
    def softmax(x):
        e = elementwise.exp(x)
        total = reduce.reduce_sum(e, axes=(0,))
        return [elementwise.div(e, shape.broadcast(total, shape=(5,), axes=()))]

    plan = plan_of(softmax, X)
    assert any(plan.producer[v].op.name == "exp" for v in plan.stored)

    def cheap(x):
        e = elementwise.add(x, x)
        total = reduce.reduce_sum(e, axes=(0,))
        return [elementwise.div(e, shape.broadcast(total, shape=(5,), axes=()))]

    plan = plan_of(cheap, X)
    assert not any(plan.producer[v].op.name == "add" for v in plan.stored)


def test_what_an_outer_loop_would_repeat_is_stored():
    plan = plan_of(lambda x: [shape.broadcast(elementwise.exp(x), shape=(4, 5), axes=(1,))], X)
    assert spaces(plan) == [("s0",), ("s1", "s0")]
    column = plan_of(lambda x: [shape.broadcast(elementwise.exp(x), shape=(5, 6), axes=(0,))], X)
    assert spaces(column) == [("s0", "s1")]  # hoisted into the outer loop instead


def test_neighbours_are_computed_twice_unless_costly():
    def f(operation):
        def g(x):
            y = operation(x)
            parts = [shape.slice_(y, start=(k,), size=(3,), step=(1,)) for k in range(3)]
            return [elementwise.add(elementwise.add(parts[0], parts[1]), parts[2])]

        return g

    assert len(loops(plan_of(f(lambda x: elementwise.mul(x, x)), X))) == 1
    assert len(loops(plan_of(f(elementwise.exp), X))) == 2


def test_long_chains_are_cut():
    def f(x):
        for _ in range(250):
            x = elementwise.sin(x)
        return [x]

    assert 2 <= len(loops(plan_of(f, X))) <= 5


def test_deep_chains_do_not_recurse():
    def f(x):
        for _ in range(3000):
            x = elementwise.add(x, Literal(1, X))
        return [x]

    assert loops(plan_of(f, X))


def test_views_behind_views_are_stored_now_and_then():
    def f(x):
        for _ in range(40):
            inner = shape.slice_(x, start=(1,), size=(4,), step=(1,))
            x = elementwise.sub(shape.pad(inner, low=(0,), high=(1,), inner=(0,)), Literal(1, X))
        return [x]

    assert 3 <= len(loops(plan_of(f, X))) <= 20


def test_contiguous_nests_are_flat():
    assert loops(plan_of(lambda x: [elementwise.exp(x), reduce.reduce_sum(x, axes=(0, 1))], M))[0].flat
    assert loops(plan_of(lambda x: [shape.reshape(elementwise.exp(x), shape=(20,))], M))[0].flat
    assert not loops(plan_of(lambda x: [shape.transpose(x, order=(1, 0))], M))[0].flat
    assert not loops(plan_of(lambda x: [reduce.reduce_sum(x, axes=(1,))], M))[0].flat


def test_long_joins_are_written_piece_by_piece():
    def f(x):
        return [shape.concatenate(*[elementwise.mul(x, Literal(k, X)) for k in range(6)], axis=0)]

    plan = plan_of(f, X)
    assert len(plan.stored) == 1
    assert all(s.region is not None for step in loops(plan) for s in step.stores)


def test_routines_stand_between_loops():
    def f(x, y):
        z = dot.dot(elementwise.exp(x), y, contract=((1,), (0,)), batch=((), ()))
        return [cumulative.cumsum(elementwise.sin(z), axis=0, reverse=False)]

    plan = plan_of(f, M, X)
    assert [type(s) for s in plan.steps] == [Loops, Routine, Loops, Routine]


def test_reading_at_places_is_pulled():
    def f(x):
        places = index.iota(shape=(4,), axis=0, dtype=np.dtype("i8"))
        found = index.gather(x, places)
        return [elementwise.mul(found, logic.convert(places, dtype=F8))]

    plan = plan_of(f, X)
    assert spaces(plan) == [("s1",)]


# ---- rows


def softmax(x):
    n, m = x.type.shape
    wide = lambda v: shape.broadcast(v, shape=(n, m), axes=(0,))
    e = elementwise.exp(elementwise.sub(x, wide(reduce.reduce_max(x, axes=(1,)))))
    return [elementwise.div(e, wide(reduce.reduce_sum(e, axes=(1,))))]


def steps_of(function, *types):
    program = simplify(stage(function, types))
    sizes = read(program)[1]
    return in_rows(schedule(program, sizes), sizes)


def test_nests_over_the_same_rows_run_together():
    (rows,) = steps_of(softmax, M)
    assert isinstance(rows, Rows)
    assert [len(p.space) for p in rows.parts] == [2, 2, 2]
    assert len(rows.local) == 3  # all that is stored, but for the result


def test_columns_do_not():
    def f(x):
        total = reduce.reduce_sum(x, axes=(0,))
        return [elementwise.div(x, shape.broadcast(total, shape=x.type.shape, axes=(1,)))]

    assert not any(isinstance(s, Rows) for s in steps_of(f, M))


def test_a_total_ends_the_rows():
    def f(x):
        row = reduce.reduce_sum(x, axes=(1,))
        y = elementwise.div(x, shape.broadcast(row, shape=x.type.shape, axes=(0,)))
        total = reduce.reduce_sum(y, axes=(0, 1))
        return [elementwise.mul(y, shape.broadcast(total, shape=x.type.shape, axes=()))]

    steps = steps_of(f, M)
    assert [type(s) for s in steps] == [Rows, Loops]


def test_a_shifted_row_is_not_the_same_row():
    def f(x):
        row = reduce.reduce_sum(x, axes=(1,))
        turned = shape.flip(row, axes=(0,))
        return [elementwise.mul(x, shape.broadcast(turned, shape=x.type.shape, axes=(0,)))]

    assert not any(isinstance(s, Rows) for s in steps_of(f, M))


def test_memory_is_used_again():
    def f(x):
        for _ in range(5):
            x = cumulative.cumsum(x, axis=0, reverse=False)
            x = elementwise.sin(x)
        return [x]

    program = simplify(stage(f, [X]))
    assert len(kernel_text(program, read(program)[1]).scratch) <= 3
