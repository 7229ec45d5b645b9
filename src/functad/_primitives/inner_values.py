"""Values and types on their way into inner programs and out of them."""

from collections.abc import Iterable

import numpy as np

from functad._core.program import Literal
from functad._core.types import ArrayType, array_type
from functad._primitives.alive import alive, has_zeros, makers
from functad._primitives.arithmetic import elementwise, mask, select
from functad._primitives.logic import logical_or
from functad._primitives.operands import Array, Shape, Tangent, Value
from functad._primitives.reduce import reduce_any
from functad._primitives.rules import Tangents, Types
from functad._primitives.shape import broadcast, transpose

__all__ = ["along_rows", "copies", "gate", "is_zero", "lanes", "same_types", "swapped", "typed", "vanishing"]


def is_zero(x: object) -> bool:
    """Whether this is the literal zero."""
    return isinstance(x, Literal) and x.is_zero()


def same_types(some: Types, others: Types) -> bool:
    """As many, of equal shapes and dtypes; weakness is the recorder's affair."""
    return len(some) == len(others) and all(a.shape == b.shape and a.dtype == b.dtype for a, b in zip(some, others, strict=True))


def along_rows(kind: ArrayType, length: int) -> ArrayType:
    """The type of `length` values of this type, stacked."""
    return array_type((length, *kind.shape), kind.dtype)


def copies(values: Iterable[Array]) -> list[Array]:
    """Values that share no memory with those given."""
    return [np.array(x)[()] for x in values]


def typed(values: Iterable[Array], kinds: Iterable[ArrayType]) -> list[Array]:
    """Values that know their dtype: a Python scalar may be the first operand of a loop, but a step gives it a dtype."""
    return [x if isinstance(x, (np.ndarray, np.generic)) else kind.dtype.type(x) for x, kind in zip(values, kinds, strict=True)]


def swapped(x: Value) -> Value:
    """x with its first two axes exchanged."""
    return transpose(x, order=(1, 0, *range(2, x.type.ndim)))


def lanes(condition: Value, shape: Shape) -> Value:
    """A condition for each lane, spread over the rest of a lane's shape."""
    return condition if condition.type.shape == shape else broadcast(condition, shape=shape, axes=tuple(range(condition.type.ndim)))


# A tangent goes through only where the condition holds, and so does a cotangent on its way back: what a computation that is not
# wanted elsewhere makes of them stays there.  Structural zeros alone would be lost at the border of an inner program.
gate = elementwise(
    "gate",
    lambda condition, x: np.array(x)[()],
    [None, lambda t, out, condition, x: mask(condition, t)],
    "{1}",
    dtype=lambda condition, x: x,
    examples=lambda: [([np.array([True, False]), x], {}) for x in (np.array([1.5, -2.0]), np.array([1, -2]))],
    note="the identity, whose tangent is a structural zero where the condition fails",
)


def vanishing(results: Tangents, given: Tangents) -> Tangents:
    """Results of inner programs, which are linear in `given`: structural zeros where all that goes in are some.

    An inner program forgets the structural zeros of what it is given.
    """
    holds: Tangent = None
    for t in given:
        if t is None or is_zero(t):
            continue
        # what a pad or an index leaves out never is all
        if not has_zeros(t) or select not in makers(t):
            return results
        one = reduce_any(alive(t), axes=tuple(range(t.type.ndim)))
        holds = one if holds is None else logical_or(holds, one)
    assert holds is not None  # nothing is asked about zeros alone
    return [r if r is None or isinstance(r, Literal) else mask(broadcast(holds, shape=r.type.shape, axes=()), r) for r in results]
