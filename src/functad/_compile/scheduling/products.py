"""Products summed over axes: what each axis does, and which products call BLAS.

A direct call of gemm takes 14-20 ns and beats loops of run-time sizes from about 4 x 4 on, but loading SciPy's BLAS takes a
quarter of a second, so the smallest products stay loops.
"""

import math
from typing import NamedTuple

from functad._core.program import Equation

__all__ = ["Axes", "axes_of", "calls_blas"]

LARGEST_SIZE = 2**31 - 1  # SciPy's BLAS counts in 32 bits
LEAST_WORK = 512  # multiplications, above which a matrix product calls BLAS


class Axes(NamedTuple):
    """Axes of both operands by what they do."""

    batch_x: tuple[int, ...]
    batch_y: tuple[int, ...]
    free_x: tuple[int, ...]
    free_y: tuple[int, ...]
    sum_x: tuple[int, ...]
    sum_y: tuple[int, ...]


def axes_of(e: Equation) -> Axes:
    """The axes of a product."""
    (sum_x, sum_y), (batch_x, batch_y) = e.params["contract"], e.params["batch"]
    free = [
        tuple([i for i in range(a.type.ndim) if i not in summed and i not in shared])
        for a, summed, shared in ((e.inputs[0], sum_x, batch_x), (e.inputs[1], sum_y, batch_y))
    ]
    return Axes(batch_x, batch_y, free[0], free[1], sum_x, sum_y)


def calls_blas(e: Equation) -> bool:
    """Whether this product is worth a call."""
    if e.outputs[0].type.dtype.kind not in "fc" or not all(a.type.size for a in e.inputs):
        return False
    axes = axes_of(e)
    x, y = e.inputs[0].type.shape, e.inputs[1].type.shape
    rows, columns, inner = (math.prod(shape[i] for i in group) for shape, group in ((x, axes.free_x), (y, axes.free_y), (x, axes.sum_x)))
    return min(rows, columns, inner) > 1 and rows * columns * inner >= LEAST_WORK and max(rows, columns, inner) <= LARGEST_SIZE
