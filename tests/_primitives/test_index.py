"""Gather and scatter: mapping, structural zeros, and what they refuse."""

import itertools

import numpy as np
import pytest

from functad._core.interpret import python_function
from functad._core.recorder import stage
from functad._core.types import type_of_value
from functad._core.verify import verify
from functad._primitives.alive import alive
from functad._primitives.arithmetic import mask, scale
from functad._primitives.index import gather, nonzero, scatter_add
from functad._primitives.shape import pad
from functad._transforms.vmap import vmap
from functad.errors import MissingRuleError, ShapeMismatchError

X = np.arange(12.0).reshape(3, 4)
ROWS, COLUMNS = np.array([2, 0, 2]), np.array([1, 3, 1])


def run(function, *xs):
    return python_function(verify(stage(lambda *given: [function(*given)], [type_of_value(x) for x in xs])))(*xs)[0]


@pytest.mark.parametrize("mapped", list(itertools.product([False, True], repeat=3)))
@pytest.mark.parametrize("op", ["gather", "scatter_add"])
def test_mapping_any_operand(op, mapped):
    if not any(mapped):
        pytest.skip("nothing is mapped")
    first = X if op == "gather" else np.arange(1.0, 4.0)
    function = (lambda x, i, j: gather(x, i, j)) if op == "gather" else (lambda u, i, j: scatter_add(u, i, j, shape=(3, 4)))
    program = stage(lambda *given: [function(*given)], [type_of_value(v) for v in (first, ROWS, COLUMNS)])
    batched, _ = vmap(program, mapped, 2, (True,))
    lanes = [(first, 2 * first), (ROWS, ROWS[::-1].copy()), (COLUMNS, (COLUMNS + 1) % 4)]
    given = [np.stack(pair) if m else pair[0] for pair, m in zip(lanes, mapped, strict=True)]
    (found,) = python_function(verify(batched))(*given)
    plain = python_function(program)
    expected = np.stack([plain(*[pair[k] if m else pair[0] for pair, m in zip(lanes, mapped, strict=True)])[0] for k in (0, 1)])
    np.testing.assert_array_equal(found, expected)


def test_the_zeros_of_a_scatter_never_meet_a_factor():
    factor = np.array([np.inf, 2.0, np.nan, 3.0])
    found = run(lambda u, i, p: scale(scatter_add(u, i, shape=(4,)), p), np.array([5.0, 7.0]), np.array([1, 3]), factor)
    np.testing.assert_array_equal(found, [0, 10, 0, 21])


def test_the_zeros_read_by_a_gather_stay_zeros():
    x, keep, index = np.array([1.0, 2.0, 3.0]), np.array([True, False, True]), np.array([0, 1, 1, 2])
    factor = np.array([2.0, np.inf, np.nan, 4.0])
    found = run(lambda x, keep, i, p: scale(gather(mask(keep, x), i), p), x, keep, index, factor)
    np.testing.assert_array_equal(found, [2, 0, 0, 12])
    found = run(lambda x, i, p: scale(gather(pad(x, low=(1,), high=(1,), inner=(0,)), i), p), x, np.array([0, 1, 4, 3]), factor[[1, 0, 2, 3]])
    np.testing.assert_array_equal(found, [0, 2, 0, 12])


def test_alive_follows_what_made_the_zeros():
    from functad._primitives.elementwise import add, neg
    from functad._primitives.logic import convert

    def zeros(x, keep, i):
        a = pad(x, low=(0,), high=(3,), inner=(0,))
        b = scatter_add(x, i, shape=(6,))
        return convert(alive(add(neg(a), mask(keep, b))), dtype=np.dtype(np.int64))

    keep = np.array([True, True, True, True, True, False])
    found = run(zeros, np.ones(3), keep, np.array([4, 4, 5]))
    np.testing.assert_array_equal(found, [1, 1, 1, 0, 1, 0])


def test_duplicates_add_up_and_reading_beyond_is_an_error():
    np.testing.assert_array_equal(scatter_add.numpy(np.ones(3), ROWS, shape=(4,)), [1, 0, 2, 0])
    with pytest.raises(IndexError):
        gather.numpy(X, np.array([3]))
    with pytest.raises(ShapeMismatchError, match="indices"):
        gather.infer(type_of_value(X), type_of_value(ROWS), type_of_value(np.array([1, 2])))
    with pytest.raises(ShapeMismatchError, match="scatter_add"):
        scatter_add.infer(type_of_value(np.ones(2)), type_of_value(ROWS), shape=(4,))


def test_the_count_of_a_mapped_mask_has_no_rule():
    program = stage(lambda m: [nonzero(m, size=2)], [type_of_value(np.ones(3, bool))])
    with pytest.raises(MissingRuleError, match="lane"):
        vmap(program, [True], 2)
