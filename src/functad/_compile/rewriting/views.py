"""Rules of `simplify` for operations that move elements: what does nothing, what two in a row make, and what a literal stays."""

from functad._compile.rewriting.simplifier import Inputs, Params, Rule, Simplifier
from functad._core.program import Atom, Equation, Literal
from functad._core.types import ArrayType
from functad._primitives import elementwise
from functad._primitives import shape as shapes

__all__ = ["VIEWS", "sum_of_pads"]


def _of_literal(rule: Rule) -> Rule:
    """A view of a literal is the literal in the new shape."""

    def apply(s: Simplifier, inputs: Inputs, params: Params, kind: ArrayType) -> Atom | None:
        x = inputs[0]
        return Literal(x.value, kind) if isinstance(x, Literal) else rule(s, inputs, params, kind)

    return apply


def _broadcast(s: Simplifier, inputs: Inputs, params: Params, kind: ArrayType) -> Atom | None:
    x, shape, axes = inputs[0], params["shape"], params["axes"]
    if x.type.shape == shape and axes == tuple(range(len(shape))):
        return x
    if (e := s.made_by(x, "broadcast")) is not None:
        return s.bind(shapes.broadcast, e.inputs[0], shape=shape, axes=tuple([axes[i] for i in e.params["axes"]]))
    if (e := s.made_by(x, "reshape")) is not None:
        kept = [i for i, n in enumerate(x.type.shape) if n != 1]
        if e.inputs[0].type.shape == tuple([x.type.shape[i] for i in kept]):  # axes of length 1 were put in, and grow now
            return s.bind(shapes.broadcast, e.inputs[0], shape=shape, axes=tuple([axes[i] for i in kept]))
    if x.type.size == kind.size and axes == tuple(sorted(axes)):
        return s.bind(shapes.reshape, x, shape=shape)
    return None


def _reshape(s: Simplifier, inputs: Inputs, params: Params, kind: ArrayType) -> Atom | None:
    x = inputs[0]
    if x.type.shape == kind.shape:
        return x
    if (e := s.made_by(x, "reshape")) is not None:
        return s.bind(shapes.reshape, e.inputs[0], shape=kind.shape)
    if (e := s.made_by(x, "broadcast")) is not None and not e.inputs[0].type.shape:
        return s.bind(shapes.broadcast, e.inputs[0], shape=kind.shape, axes=())
    return None


def _transpose(s: Simplifier, inputs: Inputs, params: Params, kind: ArrayType) -> Atom | None:
    x, order = inputs[0], params["order"]
    if order == tuple(range(len(order))):
        return x
    if (e := s.made_by(x, "transpose")) is not None:
        first = e.params["order"]
        return s.bind(shapes.transpose, e.inputs[0], order=tuple([first[i] for i in order]))
    if (e := s.made_by(x, "broadcast")) is not None:
        return s.bind(shapes.broadcast, e.inputs[0], shape=kind.shape, axes=tuple([order.index(a) for a in e.params["axes"]]))
    moved = [i for i in order if x.type.shape[i] != 1]
    if moved == sorted(moved):  # only axes of length 1 change places
        return s.bind(shapes.reshape, x, shape=kind.shape)
    return None


def _slice(s: Simplifier, inputs: Inputs, params: Params, kind: ArrayType) -> Atom | None:
    x, start, size, step = inputs[0], params["start"], params["size"], params["step"]
    if x.type.shape == size and not any(start) and all(d == 1 or n <= 1 for d, n in zip(step, size, strict=True)):
        return x
    if (e := s.made_by(x, "slice")) is not None:
        begin = tuple([a + b * d for a, b, d in zip(e.params["start"], start, e.params["step"], strict=True)])
        steps = tuple([a * b for a, b in zip(e.params["step"], step, strict=True)])
        return s.bind(shapes.slice_, e.inputs[0], start=begin, size=size, step=steps)
    if (e := s.made_by(x, "pad")) is not None:
        return _slice_of_pad(s, e, params, kind)
    if (e := s.made_by(x, "concatenate")) is not None:
        return _slice_of_join(s, e, params, kind)
    return None


def _slice_of_pad(s: Simplifier, e: Equation, params: Params, kind: ArrayType) -> Atom | None:
    """What lies within the padded array, or in the zeros alone."""
    inner = e.inputs[0].type.shape
    if any(e.params["inner"]) or kind.size == 0:
        return None
    begin, within = [], True
    for a, n, d, low, m in zip(params["start"], params["size"], params["step"], e.params["low"], inner, strict=True):
        last = a + (n - 1) * d
        if last < low or a >= low + m:
            return Literal(0, kind)
        within &= a >= low and last < low + m
        begin.append(a - low)
    return s.bind(shapes.slice_, e.inputs[0], start=tuple(begin), size=params["size"], step=params["step"]) if within else None


def _slice_of_join(s: Simplifier, e: Equation, params: Params, kind: ArrayType) -> Atom | None:
    """What lies within one of the joined arrays."""
    axis = e.params["axis"]
    a, n, d = params["start"][axis], params["size"][axis], params["step"][axis]
    begin = 0
    for piece in e.inputs:
        end = begin + piece.type.shape[axis]
        if n and begin <= a and a + (n - 1) * d < end:
            start = tuple([b - begin if i == axis else b for i, b in enumerate(params["start"])])
            if isinstance(piece, Literal):
                return Literal(piece.value, kind)
            return s.bind(shapes.slice_, piece, start=start, size=params["size"], step=params["step"])
        begin = end
    return None


def _pad(s: Simplifier, inputs: Inputs, params: Params, kind: ArrayType) -> Atom | None:
    x = inputs[0]
    if isinstance(x, Literal):
        return Literal(0, kind) if x.is_zero() and repr(x.value)[0] != "-" else None
    low, high, inner = params["low"], params["high"], params["inner"]
    if x.type.shape == kind.shape and not any(low) and not any(high):
        return x
    e = s.made_by(x, "pad")
    if e is not None and not any(inner) and not any(e.params["inner"]):
        lows = tuple([a + b for a, b in zip(low, e.params["low"], strict=True)])
        highs = tuple([a + b for a, b in zip(high, e.params["high"], strict=True)])
        return s.bind(shapes.pad, e.inputs[0], low=lows, high=highs, inner=inner)
    return None


def _flip(s: Simplifier, inputs: Inputs, params: Params, kind: ArrayType) -> Atom | None:
    x = inputs[0]
    if all(x.type.shape[i] <= 1 for i in params["axes"]):
        return x
    e = s.made_by(x, "flip")
    if e is not None:
        axes = tuple(sorted(set(e.params["axes"]) ^ set(params["axes"])))
        return s.bind(shapes.flip, e.inputs[0], axes=axes)
    return None


def sum_of_pads(s: Simplifier, x: Equation, y: Equation) -> Atom | None:
    """Arrays with zeros around, side by side, are a join: what is added elsewhere is a structural zero."""
    if x.params == y.params and x.inputs[0].type.shape == y.inputs[0].type.shape:
        return s.bind(shapes.pad, s.bind(elementwise.add, x.inputs[0], y.inputs[0]), **x.params)
    low, high = (e.params["low"] for e in (x, y))
    axes = [i for i, (a, b) in enumerate(zip(low, high, strict=True)) if a != b]
    if len(axes) != 1 or any(x.params["inner"]) or any(y.params["inner"]):
        return None
    axis = axes[0]
    first, second = (x, y) if low[axis] < high[axis] else (y, x)
    a, b = first.inputs[0], second.inputs[0]
    if first.params["low"][axis] + a.type.shape[axis] != second.params["low"][axis] or not a.type.size or not b.type.size:
        return None
    if any(i != axis and n != m for i, (n, m) in enumerate(zip(a.type.shape, b.type.shape, strict=True))):
        return None
    joined = s.bind(shapes.concatenate, a, b, axis=axis)
    return s.bind(shapes.pad, joined, low=first.params["low"], high=second.params["high"], inner=first.params["inner"])


def _concatenate(s: Simplifier, inputs: Inputs, params: Params, kind: ArrayType) -> Atom | None:
    full: list[Atom] = []
    axis = params["axis"]
    for a in inputs:
        e = s.made_by(a, "concatenate")
        if e is not None and e.params == params:
            full += e.inputs  # it has been here: no empty parts
        elif a.type.shape[axis]:
            full.append(a)
    if len(full) == 1:
        return full[0]
    first = full[0] if full else None
    if isinstance(first, Literal) and all(isinstance(a, Literal) and repr(a.value) == repr(first.value) for a in full):
        return Literal(first.value, kind)
    if full and len(full) != len(inputs):
        return s.bind(shapes.concatenate, *full, **params)
    return None


def _iota(s: Simplifier, inputs: Inputs, params: Params, kind: ArrayType) -> Atom | None:
    return Literal(0, kind) if params["shape"][params["axis"]] == 1 else None


VIEWS: dict[str, Rule] = {
    "broadcast": _of_literal(_broadcast), "reshape": _of_literal(_reshape), "transpose": _of_literal(_transpose),
    "slice": _of_literal(_slice), "flip": _of_literal(_flip), "pad": _pad, "concatenate": _concatenate, "iota": _iota,
}  # fmt: skip
