"""Multiplying tangents and cotangents: structural zeros annihilate.

Note [structural zeros].  The zero that `where`, `clip`, `maximum`, a mask or an index puts into a tangent or cotangent is no number: it
never meets a partial, which may be infinite or NaN there.  Every rule therefore multiplies through `scale`, which moves the operation that made
the zeros outward past the multiplication: `select(c, t, 0) * p` becomes `select(c, t * p, 0)`, `pad(t) * p` becomes `pad(t * p[...])`,
`scatter_add(t, i) * p` becomes `scatter_add(t * p[i], i)`.  A sum has structural zeros where all its terms have them, so the
multiplication is distributed over the terms, unless the terms cover every element between them.  Where many equations made the zeros,
moving inside each would multiply work at every step of a loop: there the product is taken once and selected where `alive` says.

Which variables have structural zeros is known when they are bound: each primitive's `structural` hook says it from its inputs, and the plain
builder keeps the equation that made them.
"""

from collections.abc import Mapping
from typing import Any

from functad._core.program import Equation, Literal, Var
from functad._core.recorder import CURRENT
from functad._core.tracer import make
from functad._core.types import array_type

MOST_MOVED = 12  # equations that a multiplication is moved inside of: three slices side by side, say

__all__ = ["apply", "has_zeros", "mask", "over", "passes_on", "scale", "structural_sum"]


def scale(t: Any, p: Any) -> Any:
    """t * p, where t is a tangent or cotangent and p a value: structural zeros of t stay zeros whatever p is."""
    from functad._primitives.elementwise import mul

    return apply(mul, t, p)


def over(t: Any, p: Any) -> Any:
    """t / p, as `scale`."""
    from functad._primitives.elementwise import div

    return apply(div, t, p)


def mask(condition: Any, t: Any) -> Any:
    """t where the condition holds, a structural zero elsewhere."""
    from functad._primitives.kinds import zeros_like
    from functad._primitives.logic import select

    return select(condition, t, zeros_like(t))


def apply(op: Any, t: Any, p: Any) -> Any:
    """op(t, p) for an op that is linear in t, moved inside whatever gave t structural zeros."""
    if isinstance(t, Literal):  # a zero takes the result's dtype: `op` may cast
        return Literal(t.value, array_type(t.type.shape, p.type.dtype)) if t.is_zero() else op(t, p)
    builder = CURRENT.get()
    assert builder is not None
    made = builder.structural.get(t.atom)
    if made is None:
        return op(t, p)
    if _is_small(t.atom, builder.structural):
        inputs = [a if isinstance(a, Literal) else make(builder, a, None) for a in made.inputs]
        assert made.op.inward is not None, made.op
        return made.op.inward(op, inputs, p, **made.params)
    from functad._primitives.alive import alive

    holds = alive(t)
    return op(t, p) if isinstance(holds, Literal) and holds.value else mask(holds, op(t, p))


def _is_small(atom: Any, known: Mapping[Any, Equation]) -> bool:
    """Whether few equations made the zeros, each counted as often as it is reached."""
    count, stack = 0, [atom]
    while stack and count <= MOST_MOVED:
        count += 1
        stack += [a for a in known[stack.pop()].inputs if a in known]
    return count <= MOST_MOVED


def has_zeros(t: Any) -> bool:
    """Whether a tangent or cotangent has structural zeros."""
    builder = CURRENT.get()
    return builder is not None and not isinstance(t, Literal) and t.atom in builder.structural


def passes_on(equation: Equation, known: dict[Var, Equation]) -> bool:
    """`structural` hook of an operation that keeps the zeros of its first input zero."""
    return equation.inputs[0] in known


def structural_sum(equation: Equation, known: dict[Var, Equation]) -> bool:
    """`structural` hook of `add`: zeros remain where both terms have them, unless two slices of one axis cover it."""
    x, y = equation.inputs
    if x not in known or y not in known:
        return False
    return not _covers(_interval(known[x], known), _interval(known[y], known))  # type: ignore[index]  # members of `known` are variables


def _interval(equation: Equation, known: dict[Var, Equation]) -> tuple[int, int, int, int] | None:
    """(axis, begin, end, length) of what a one-axis pad leaves alive, where that has no structural zeros of its own."""
    if equation.op.name != "pad" or equation.inputs[0] in known:
        return None
    low, high, inner = (equation.params[k] for k in ("low", "high", "inner"))
    touched = [i for i in range(len(low)) if low[i] or high[i] or inner[i]]
    if len(touched) != 1 or inner[touched[0]]:
        return None
    axis = touched[0]
    length = equation.outputs[0].type.shape[axis]
    return axis, low[axis], length - high[axis], length


def _covers(a: tuple[int, int, int, int] | None, b: tuple[int, int, int, int] | None) -> bool:
    if a is None or b is None or a[0] != b[0]:
        return False
    first, second = sorted((a, b), key=lambda i: i[1])
    return first[1] == 0 and first[2] >= second[1] and max(first[2], second[2]) == a[3]
