"""What rules compute with: the types of values, tangents and examples, and literals.

Letters in rules: `x, y` values, `t` tangent, `ct` cotangent, `out` the result.  Rules record primitives in the open plain builder.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from functad._core.program import Literal
from functad._core.tracer import Tracer
from functad._core.types import ArrayType, array_type

__all__ = [
    "Array", "Example", "Examples", "Shape", "Tangent", "Value", "constant", "ones_like", "spread_literal", "zeros_like", "zeros_of",
]  # fmt: skip

Array = Any  # what NumPy computes with: an array, a scalar of a dtype, or a number
Value = Tracer | Literal
Tangent = Value | None  # or cotangent: None is zero throughout
Shape = tuple[int, ...]
Example = tuple[Sequence[Array], Mapping[str, Any]]  # inputs and params
Examples = Callable[[], Sequence[Example]]


def constant(number: complex, like: Value | ArrayType) -> Literal:
    """A literal of the shape and dtype of a value or type."""
    kind = like if isinstance(like, ArrayType) else like.type
    return Literal(number, array_type(kind.shape, kind.dtype))


def zeros_of(kind: ArrayType) -> Literal:
    """The zero of a type."""
    return constant(0, kind)


def zeros_like(x: Value) -> Literal:
    """A literal zero like x."""
    return constant(0, x)


def ones_like(x: Value | ArrayType) -> Literal:
    """A literal one like x."""
    return constant(1, x)


def spread_literal(x: Literal, shape: Shape) -> Literal:
    """The literal in another shape."""
    return Literal(x.value, array_type(shape, x.type.dtype))
