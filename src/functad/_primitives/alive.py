"""Which elements of a tangent or cotangent are no structural zeros (Note [structural zeros] in `linear`).

`alive(t)` gives booleans of the shape of t.  What follows from shapes alone (slices, pads, joins) is worked out with NumPy when the program is
made, so that parts which cover everything between them cost nothing; the rest is recorded.  Both walk the equations that made the zeros
without recursion and once each: a sum of a thousand slices makes a chain of a thousand equations.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from functad._core.primitive import Primitive
from functad._core.program import Atom, Equation, Literal, Var
from functad._core.recorder import CURRENT, Builder
from functad._core.tracer import make
from functad._core.types import array_type
from functad._primitives.cumulative import cumsum, recurrence
from functad._primitives.index import INT, gather, scatter_add
from functad._primitives.kinds import zeros_like
from functad._primitives.linear import apply, mask, passes_on
from functad._primitives.reduce import reduce_any
from functad._primitives.shape import broadcast, concatenate, flip, pad, reshape, slice_, transpose

__all__ = ["alive", "vanishing"]

MOST_STATIC = 10_000_000  # booleans that may be worked out for one question


def _known() -> tuple[Builder, dict[Var, Equation]]:
    builder = CURRENT.get()
    assert builder is not None
    return builder, builder.structural


def _in_order(atom: Any, known: Mapping[Any, Equation]) -> list[Any]:
    """The variables with structural zeros behind an atom and itself, makers first."""
    order: list[Any] = []
    seen: set[Any] = set()
    stack = [(atom, False)]
    while stack:
        a, ready = stack.pop()
        if ready:
            order.append(a)
        elif a not in seen:
            seen.add(a)
            stack.append((a, True))
            stack += [(x, False) for x in known[a].inputs if x in known and x not in seen]
    return order


# ---- from shapes alone


def _static_mapped(op: Primitive) -> Callable[[Equation, Sequence[Any]], Any]:
    return lambda made, parts: op.numpy(*[np.broadcast_to(b, a.type.shape) for a, b in zip(made.inputs, parts, strict=True)], **made.params)


_STATIC: dict[str, Callable[[Equation, Sequence[Any]], Any]] = {
    "add": lambda made, parts: np.logical_or(*parts),
    "neg": lambda made, parts: parts[0],
    "convert": lambda made, parts: parts[0],
    "mul": lambda made, parts: parts[0],
    "reduce_sum": lambda made, parts: np.any(np.broadcast_to(parts[0], made.inputs[0].type.shape), axis=made.params["axes"]),
    **{op.name: _static_mapped(op) for op in (broadcast, reshape, transpose, flip, slice_, pad, concatenate)},
}


def _static(order: Sequence[Any], known: Mapping[Any, Equation]) -> dict[Any, Any]:
    """Variable -> NumPy booleans, for those that depend on shapes alone."""
    found: dict[Any, Any] = {}
    if sum(a.type.size for a in order) > MOST_STATIC:
        return found
    for a in order:
        made = known[a]
        rule = _STATIC.get(made.op.name)
        if rule is None or any(x in known and x not in found for x in made.inputs):
            continue
        found[a] = rule(made, [found[x] if x in known else np.bool_(not (isinstance(x, Literal) and x.is_zero())) for x in made.inputs])
    return found


# ---- recorded


def alive(t: Any) -> Any:
    """Booleans of the shape of a tangent or cotangent, False where it has a structural zero; a literal where that is all the same."""
    builder, known = _known()
    if isinstance(t, Literal) or t.atom not in known:
        return _of(t, known)
    if t.atom not in builder.alive:
        order = _in_order(t.atom, known)
        static = _static(order, known)
        for a in order:
            if a not in builder.alive:
                builder.alive[a] = _recorded(a, known[a], static.get(a), builder)
    return builder.alive[t.atom]


def _recorded(a: Any, made: Equation, static: Any, builder: Builder) -> Any:
    if static is not None and (np.all(static) or not np.any(static)):
        return Literal(bool(np.all(static)), array_type(a.type.shape, np.bool_))
    inputs = [x if isinstance(x, Literal) else make(builder, x, None) for x in made.inputs]
    return _ALIVE.get(made.op.name, _of_first)(made, inputs, builder.structural)


def _of(x: Any, known: Mapping[Any, Equation]) -> Any:
    """The booleans of an input, which have been recorded before."""
    shape = x.type.shape
    if isinstance(x, Literal):
        return Literal(not x.is_zero(), array_type(shape, np.bool_))
    if x.atom not in known:
        return Literal(True, array_type(shape, np.bool_))
    return x.builder.alive[x.atom]


Recorded = Callable[[Equation, Sequence[Any], Mapping[Any, Equation]], Any]


def _of_first(made: Equation, inputs: Sequence[Any], known: Mapping[Any, Equation]) -> Any:
    """Elementwise on its first input: neg, convert, a product with a literal."""
    return _of(inputs[0], known)


def _of_select(made: Equation, inputs: Sequence[Any], known: Mapping[Any, Equation]) -> Any:
    from functad._primitives.logic import select

    return select(inputs[0], _of(inputs[1], known), _of(inputs[2], known))


def _of_sum(made: Equation, inputs: Sequence[Any], known: Mapping[Any, Equation]) -> Any:
    from functad._primitives.logic import logical_or

    return logical_or(_of(inputs[0], known), _of(inputs[1], known))


def _some(op: Primitive, x: Any, *indices: Any, **params: Any) -> Any:
    """Where a linear operation on counts gives more than zero."""
    from functad._primitives.logic import convert, not_equal

    counts = op(convert(x, dtype=INT), *indices, **params)
    return not_equal(counts, zeros_like(counts))


def _of_scatter(made: Equation, inputs: Sequence[Any], known: Mapping[Any, Equation]) -> Any:
    return _some(scatter_add, _of(inputs[0], known), *inputs[1:], **made.params)


def _of_running(made: Equation, inputs: Sequence[Any], known: Mapping[Any, Equation]) -> Any:
    """Of `cumsum`, and of `recurrence` in its second operand."""
    return _some(cumsum, _of(inputs[-1], known), **made.params)


def _of_moved(op: Primitive) -> Recorded:
    return lambda made, inputs, known: op(_of(inputs[0], known), *inputs[1:], **made.params)


_ALIVE: dict[str, Recorded] = {
    "select": _of_select,
    "add": _of_sum,
    "scatter_add": _of_scatter,
    "reduce_sum": lambda made, inputs, known: reduce_any(_of(inputs[0], known), **made.params),
    "concatenate": lambda made, inputs, known: concatenate(*[_of(x, known) for x in inputs], **made.params),
    "cumsum": _of_running,
    "recurrence": _of_running,
    **{op.name: _of_moved(op) for op in (broadcast, reshape, transpose, flip, slice_, pad, gather)},
}


# ---- operations that mix elements, so that a factor of an element cannot be moved inside


def _mixing_inward(primitive: Primitive) -> Any:
    """Multiply outside, where anything alive arrives."""

    def inward(op: Any, inputs: Any, p: Any, **params: Any) -> Any:
        out = primitive(*inputs, **params)
        return mask(alive(out), op(out, p))

    return inward


def _broadcast_inward(op: Any, inputs: Any, p: Any, shape: tuple[int, ...], axes: tuple[int, ...]) -> Any:
    """The zeros of a broadcast select: broadcast its parts instead, which costs nothing."""
    from functad._primitives.logic import select

    builder, known = _known()
    made = known[inputs[0].atom]
    if made.op is not select:
        return _mixing_inward(broadcast)(op, inputs, p, shape=shape, axes=axes)
    condition, *branches = [a if isinstance(a, Literal) else make(builder, a, None) for a in made.inputs]

    def grown(x: Any) -> Any:
        return Literal(x.value, array_type(shape, x.type.dtype)) if isinstance(x, Literal) else broadcast(x, shape=shape, axes=axes)

    return select(grown(condition), *[apply(op, grown(x), p) for x in branches])


cumsum.structural, cumsum.inward = passes_on, _mixing_inward(cumsum)
broadcast.structural, broadcast.inward = passes_on, _broadcast_inward
recurrence.structural, recurrence.inward = lambda equation, known: equation.inputs[1] in known, _mixing_inward(recurrence)


def _can_vanish(atom: Atom, known: Mapping[Any, Equation]) -> bool:
    """Whether every element may be a structural zero: what a pad or an index leaves out never is all."""
    return any(known[a].op.name == "select" for a in _in_order(atom, known))


def vanishing(results: Sequence[Any], given: Sequence[Any]) -> Sequence[Any]:
    """Results of inner programs, which are linear in `given`: structural zeros where all that goes in are some.

    An inner program forgets the structural zeros of what it is given.
    """
    from functad._primitives.logic import logical_or

    _, known = _known()
    holds: Any = None
    for t in given:
        if t is None or (isinstance(t, Literal) and t.is_zero()):
            continue
        if isinstance(t, Literal) or t.atom not in known or not _can_vanish(t.atom, known):
            return results
        one = reduce_any(alive(t), axes=tuple(range(t.type.ndim)))
        holds = one if holds is None else logical_or(holds, one)
    if holds is None:
        return results
    return [r if r is None or isinstance(r, Literal) else mask(broadcast(holds, shape=r.type.shape, axes=()), r) for r in results]
