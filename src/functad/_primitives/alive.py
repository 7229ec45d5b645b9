"""Structural zeros of tangents and cotangents: which variables have some, and which elements are none.

Note [structural zeros].  The zero that `where`, `clip`, `maximum`, a mask or an index puts into a tangent or cotangent is no number: it
never meets a partial, which may be infinite or NaN there.  Every rule therefore multiplies through `scale` of `arithmetic`, which moves the
operation that made the zeros outward past the multiplication: `select(c, t, 0) * p` becomes `select(c, t * p, 0)`, `pad(t) * p` becomes
`pad(t * p[...])`, `scatter_add(t, i) * p` becomes `scatter_add(t * p[i], i)`.  A sum has structural zeros where all its terms have them, so the
multiplication is distributed over the terms, unless the terms cover every element between them.  Where the operation mixes elements, or where
many equations made the zeros, so that moving inside each would multiply work at every step of a loop, the product is taken once and selected
where `alive` says.

A primitive says three things of them: `structural`, whether its output has some, by which the plain builder keeps the equation that made them;
`inward`, how a multiplication moves inside; and `alive`, how the booleans of its inputs give those of its output.

`alive(t)` gives booleans of the shape of t.  What follows from shapes alone (slices, pads, joins) is worked out with NumPy when the program is
made, so that parts which cover everything between them cost nothing; the rest is recorded.  Both walk the equations that made the zeros
without recursion and once each: a sum of a thousand slices makes a chain of a thousand equations.
"""

from collections.abc import Sequence

import numpy as np

from functad._core.primitive import Primitive
from functad._core.program import Atom, Equation, Literal, Var
from functad._core.recorder import CURRENT, Builder
from functad._core.tracer import make
from functad._core.types import array_type
from functad._primitives.operands import Array, Value
from functad._primitives.rules import Known

__all__ = ["alive", "has_zeros", "inputs_of", "maker", "makers", "passes_on"]

MOST_STATIC = 10_000_000  # booleans that may be worked out for one question


def _open() -> Builder:
    builder = CURRENT.get()
    assert builder is not None
    return builder


def maker(t: Value) -> Equation | None:
    """The equation that gave a tangent or cotangent its structural zeros, if it has some."""
    return None if isinstance(t, Literal) else _open().structural.get(t.atom)  # type: ignore[arg-type]  # a literal atom is not found


def has_zeros(t: Value) -> bool:
    """Whether a tangent or cotangent has structural zeros."""
    return maker(t) is not None


def inputs_of(made: Equation) -> list[Value]:
    """The inputs of an equation, as rules get them."""
    builder = _open()
    return [a if isinstance(a, Literal) else make(builder, a, None) for a in made.inputs]


def passes_on(equation: Equation, known: Known) -> bool:
    """`structural` hook of an operation that keeps the zeros of its first input zero."""
    return equation.inputs[0] in known


def makers(t: Value) -> set[Primitive]:
    """The operations that gave a tangent or cotangent its structural zeros."""
    known = _open().structural
    return {known[v].op for v in _behind(t)}


def _behind(t: Value) -> list[Var]:
    """The variables with structural zeros behind a tangent and its own, makers first."""
    known = _open().structural
    order: list[Var] = []
    seen: set[Atom] = set()
    stack = [(a, False) for a in [t if isinstance(t, Literal) else t.atom] if a in known]
    while stack:
        a, ready = stack.pop()
        if ready:
            order.append(a)  # type: ignore[arg-type]  # members of `known` are variables
        elif a not in seen:
            seen.add(a)
            stack.append((a, True))
            # a condition or an index may come from a pad too, and is no tangent
            stack += [(x, False) for x in known[a].inputs if x in known and x not in seen and x.type.is_inexact]  # type: ignore[index]
    return order


def _static(order: Sequence[Var], known: Known) -> dict[Atom, Array]:
    """Variable -> NumPy booleans, for those that depend on shapes alone."""
    found: dict[Atom, Array] = {}
    if sum(a.type.size for a in order) > MOST_STATIC:
        return found
    for a in order:
        made = known[a]
        hook = made.op.alive
        if not (hook is None or isinstance(hook, Primitive)) or any(not x.type.is_inexact or (x in known and x not in found) for x in made.inputs):
            continue
        whole = [np.bool_(not (isinstance(x, Literal) and x.is_zero())) for x in made.inputs]
        parts = [found[x] if x in known else np.broadcast_to(b, x.type.shape) for x, b in zip(made.inputs, whole, strict=True)]
        found[a] = parts[0] if hook is None else hook.numpy(*parts, **made.params)
    return found


def alive(t: Value) -> Value:
    """Booleans of the shape of a tangent or cotangent, False where it has a structural zero; a literal where that is all the same."""
    builder = _open()
    if not isinstance(t, Literal) and t.atom in builder.structural and t.atom not in builder.alive:
        order = _behind(t)
        static = _static(order, builder.structural)
        for a in order:
            if a not in builder.alive:
                builder.alive[a] = _recorded(a, static.get(a), builder)
    return _booleans(t, builder)


def _recorded(a: Var, static: Array, builder: Builder) -> Value:
    if static is not None and (np.all(static) or not np.any(static)):
        return Literal(bool(np.all(static)), array_type(a.type.shape, np.bool_))
    made = builder.structural[a]
    inputs = [_booleans(x, builder) if x.type.is_inexact else x for x in inputs_of(made)]
    return inputs[0] if made.op.alive is None else made.op.alive(*inputs, **made.params)


def _booleans(t: Value, builder: Builder) -> Value:
    """Those of a value; where it has structural zeros they have been recorded before."""
    if not isinstance(t, Literal) and t.atom in builder.structural:
        return builder.alive[t.atom]
    return Literal(not (isinstance(t, Literal) and t.is_zero()), array_type(t.type.shape, np.bool_))
