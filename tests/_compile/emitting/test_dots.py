"""Products in kernels, as loops and as calls of BLAS, against NumPy's evaluator: whatever the axes do and wherever the operands lie."""

import itertools

import numpy as np
import pytest

from functad._compile.pipeline import Executable
from functad._core.interpret import python_function
from functad._core.program import Literal
from functad._core.recorder import stage
from functad._core.types import array_type
from functad._core.verify import verify
from functad._primitives import dot, scan

CODES = ("f8", "f4", "c16", "c8", "i4", "?")


def sample(kind, seed):
    numbers = np.random.default_rng(seed).normal(size=(2, *kind.shape))
    values = numbers[0] + 1j * numbers[1] if kind.dtype.kind == "c" else 3 * numbers[0]
    return (values > 0 if kind.dtype.kind == "b" else values).astype(kind.dtype)


def check(program, *args, calls_blas=None):
    executable = Executable(verify(program))
    if calls_blas is not None:
        assert ("gemm_" in executable.source()) is calls_blas
    for wanted, found in zip(python_function(program)(*args), executable.compile()(*args), strict=True):
        assert (wanted.dtype, wanted.shape) == (found.dtype, found.shape)
        tolerance = {4: 1e-5, 8: 1e-12}[found.real.dtype.itemsize] if found.dtype.kind in "fc" else 0
        np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=100 * tolerance)


@pytest.mark.parametrize("size", [3, 9])
@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("axes", list(itertools.product((0, 1), repeat=2)), ids=str)
def test_matrices(size, code, axes):
    kinds = [array_type((size, size), np.dtype(code))] * 2
    program = stage(lambda x, y: [dot.dot(x, y, contract=((axes[0],), (axes[1],)), batch=((), ()))], kinds)
    check(program, *map(sample, kinds, (0, 1)), calls_blas=size == 9 and np.dtype(code).kind in "fc")


@pytest.mark.parametrize("size", [2, 8])
@pytest.mark.parametrize("code", ["f8", "c8"])
@pytest.mark.parametrize(
    ("contract", "batch"),
    [
        (((2,), (1,)), ((0,), (0,))),
        (((1,), (2,)), ((0,), (0,))),
        (((0,), (1,)), ((2,), (0,))),
        (((1, 2), (1, 2)), ((), ())),
        (((1, 2), (2, 1)), ((), ())),
        (((2, 1), (1, 2)), ((), ())),
        (((0, 1), (0, 1)), ((), ())),
        (((2,), (0,)), ((), ())),
        (((0,), (2,)), ((1,), (1,))),
        (((1, 2), (2, 0)), ((0,), (1,))),
        (((0, 1, 2), (2, 0, 1)), ((), ())),
        (((), ()), ((0,), (2,))),
    ],
)  # fmt: skip
def test_arrays_of_three_axes(size, code, contract, batch):
    kinds = [array_type((size,) * 3, np.dtype(code))] * 2
    check(stage(lambda x, y: [dot.dot(x, y, contract=contract, batch=batch)], kinds), *map(sample, kinds, (0, 1)))


@pytest.mark.parametrize("size", [3, 9])
def test_operands_and_results_inside_larger_arrays(size):
    """Rows of a scan begin at an offset; a literal has no memory until it is needed."""
    kind, rows = array_type((size, size), np.dtype("f8")), array_type((4, size, size), np.dtype("f8"))

    def step(c, x):
        y = dot.dot(x, c, contract=((1,), (0,)), batch=((), ()))
        return [c, dot.dot(y, Literal(0.5, kind), contract=((1,), (1,)), batch=((), ()))]

    body = stage(step, [kind, kind])
    program = stage(lambda c, x: list(scan.scan(c, x, body=body, constants=0, carry=1, length=4, reverse=False)), [kind, rows])
    check(program, sample(kind, 0), sample(rows, 1), calls_blas=size == 9)


def test_a_batch_inside_larger_arrays():
    kind, rows = array_type((3, 9, 9), np.dtype("f8")), array_type((4, 3, 9, 9), np.dtype("f8"))
    body = stage(lambda c, x: [c, dot.dot(x, c, contract=((2,), (2,)), batch=((0,), (0,)))], [kind, kind])
    program = stage(lambda c, x: list(scan.scan(c, x, body=body, constants=0, carry=1, length=4, reverse=False)), [kind, rows])
    check(program, sample(kind, 0), sample(rows, 1), calls_blas=True)
