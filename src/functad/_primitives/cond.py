"""`cond`: one of two computations, chosen by a scalar, and `cond_linear`, its linear half.

Inputs are a boolean scalar and the operands; `branches` are two closed programs of the operands with the same output
types: what runs if the predicate holds, and what runs otherwise.  NumPy runs the chosen branch alone.

An output that has a tangent, is linear or is mapped in one branch is so in both.  Splitting gives the known half one
output for each residual, shared by the branches where types allow; a branch fills what it does not need with
zeros.  With one predicate per lane both branches run, and neither a value nor a tangent of a branch reaches the lanes
that did not take it.
"""

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np

from functad._core.interpret import python_function
from functad._core.primitive import Call, Primitive
from functad._core.program import Atom, Equation, Program, Var, without_dead
from functad._core.recorder import inline, stage
from functad._core.types import ArrayType, array_type
from functad._primitives.arithmetic import mask, mul, neg, select
from functad._primitives.elementwise import sin
from functad._primitives.inner_programs import memoised, narrowed, parts, pick, reads, residuals, restricted, used
from functad._primitives.inner_values import gate, is_zero, lanes, same_types, typed
from functad._primitives.logic import logical_not
from functad._primitives.operands import Array, Example, zeros_of
from functad._primitives.rules import Batched, Flags, Inferred, Pulled, Pushed, Rule, Tangents, Transform, Types, Values
from functad._primitives.shape import spread
from functad.errors import ShapeMismatchError

__all__ = ["Branches", "cond", "cond_linear", "united"]


class Branches(NamedTuple):
    """The two programs of a cond."""

    when_true: Program
    when_false: Program

    def __repr__(self) -> str:
        return "Branches"  # one word, as a param in a comment of generated source


def united(branches: Branches, keys: Sequence[Sequence[Hashable]]) -> tuple[Branches, list[tuple[int, int]]]:
    """(branches that take the same inputs, where each new leading one comes from: branch, position).

    `keys` name the leading inputs that each branch has to itself; the same key in both branches is one input.
    """
    places: dict[tuple[Hashable, int], int] = {}
    picked: list[tuple[int, int]] = []
    where: list[tuple[int, ...]] = []
    for k, own in enumerate(keys):
        named = [(key, own[:i].count(key)) for i, key in enumerate(own)]  # twice in one branch, it is two inputs
        for i, name in enumerate(named):
            if name not in places:
                places[name] = len(picked)
                picked.append((k, i))
        where.append(tuple(places[name] for name in named))
    kinds = tuple(branches[k].inputs[i].type for k, i in picked)
    return Branches(*[_padded(b, place, kinds) for b, place in zip(branches, where, strict=True)]), picked


def _padded(program: Program, place: tuple[int, ...], kinds: tuple[ArrayType, ...]) -> Program:
    """The program with its leading inputs at these places among inputs of these types."""

    def make() -> Program:
        own, rest = parts(program.inputs, len(place))
        at = dict(zip(place, own, strict=True))
        return Program([*[at.get(i) or Var(t) for i, t in enumerate(kinds)], *rest], program.equations, program.outputs)

    return memoised(program, ("padded", place, kinds), make)


# ---- what it computes


def _numpy(predicate: Array, *xs: Array, branches: Branches) -> tuple[Array, ...]:
    chosen = branches.when_true if predicate else branches.when_false
    return python_function(chosen)(*typed(xs, chosen.input_types))


def _infer(predicate: ArrayType, *types: ArrayType, branches: Branches) -> Inferred:
    if predicate.shape != () or predicate.dtype != np.bool_:
        raise ShapeMismatchError(f"the predicate of cond must be one boolean, got {predicate!r}")
    for name, branch in zip(("true", "false"), branches, strict=True):
        if not same_types(branch.input_types, types):
            raise ShapeMismatchError(f"the {name} branch of cond takes {list(branch.input_types)}, got {list(types)}")
    first, second = (b.output_types for b in branches)
    if not same_types(first, second):
        raise ShapeMismatchError(f"the branches of cond give {list(first)} and {list(second)}")
    return tuple(array_type(t.shape, t.dtype) for t in first)


def _either(flags: Sequence[Flags]) -> tuple[bool, ...]:
    return tuple(any(pair) for pair in zip(*flags, strict=True))


# ---- forward mode


def _jvp(transform: Transform, xs: Values, ts: Tangents, *, branches: Branches) -> Pushed:
    ts = [None if is_zero(t) else t for t in ts[1:]]
    active = tuple(t is not None for t in ts)
    out_active = _either([transform(b, active)[1] for b in branches])
    pushed = Branches(*[transform(b, active, out_active)[0] for b in branches])
    ys, tys = parts(cond(*xs, *[t for t in ts if t is not None], branches=pushed), len(out_active))
    tangents = iter(tys)
    return ys, [next(tangents) if a else None for a in out_active]


# ---- the two halves


class _Halves(NamedTuple):
    """Programs and where their inputs come from: `direct` and `known_sources` are positions among the operands."""

    known: Branches
    known_sources: tuple[int, ...]
    linear: Branches  # residuals, known operands, linear operands
    direct: tuple[int, ...]
    out_linear: tuple[bool, ...]
    slots: tuple[ArrayType, ...]  # types of the residuals


def _split(transform: Transform, equation: Equation, linear: Flags) -> tuple[list[Equation], list[Equation]]:
    branches, flags = equation.params["branches"], tuple(linear[1:])
    halves = memoised(branches[0], ("cond split", branches[1], flags), lambda: _halves(transform, branches, flags))
    predicate, *operands = equation.inputs
    slots = [Var(t) for t in halves.slots]
    known_outputs = [*pick(equation.outputs, halves.out_linear, False), *slots]
    linear_outputs = pick(equation.outputs, halves.out_linear)
    given = [operands[i] for i in halves.known_sources]
    known = [Equation(cond, [predicate, *given], {"branches": halves.known}, known_outputs)] if known_outputs else []
    inputs = [predicate, *slots, *[operands[i] for i in halves.direct]]
    return known, [Equation(cond_linear, inputs, {"branches": halves.linear}, linear_outputs)] if linear_outputs else []


class _Part(NamedTuple):
    """One branch, split: its known equations, the linear ones with what they repeat, and what they keep."""

    known: list[Equation]
    linear: list[Equation]
    saved: list[Var]
    inputs: set[Var]  # of the branch, read by the linear half


def _halves(transform: Transform, branches: Branches, linear: tuple[bool, ...]) -> _Halves:
    found = [transform(b, linear) for b in branches]
    out_linear = _either([[a in variables for a in b.outputs] for b, (_, _, variables) in zip(branches, found, strict=True)])
    split = [_part(b, linear, out_linear, *halves) for b, halves in zip(branches, found, strict=True)]
    slots: list[ArrayType] = []
    places = [_places(part.saved, slots) for part in split]
    known, rest = [], []
    direct = [i for i, m in enumerate(linear) if m or any(b.inputs[i] in part.inputs for b, part in zip(branches, split, strict=True))]
    for b, part, place in zip(branches, split, places, strict=True):
        saved = dict(zip(place, part.saved, strict=True))
        values: list[Atom] = [saved[i] if i in saved else zeros_of(t) for i, t in enumerate(slots)]
        known.append(without_dead(Program(pick(b.inputs, linear, False), part.known, [*pick(b.outputs, out_linear, False), *values])))
        inputs = [saved[i] if i in saved else Var(t) for i, t in enumerate(slots)]
        rest.append(Program([*inputs, *[b.inputs[i] for i in direct]], part.linear, pick(b.outputs, out_linear)))
    sources = [i for i, m in enumerate(linear) if not m]
    read = _either([used(p) for p in known])
    narrow = Branches(*[narrowed(p, read) for p in known])
    return _Halves(narrow, tuple(pick(sources, read)), Branches(*rest), tuple(direct), out_linear, tuple(slots))


def _part(branch: Program, linear: Flags, out_linear: Flags, known: list[Equation], rest: Sequence[Equation], variables: set[Var]) -> _Part:
    outputs = pick(branch.outputs, out_linear)
    rest = without_dead(Program((), rest, outputs)).equations
    free = set(pick(branch.inputs, linear, False))
    repeated, kept = residuals([v for v in reads(rest, outputs) if v not in variables], known, free)
    return _Part(known, [*repeated, *rest], [v for v in kept if v not in free], {v for v in kept if v in free})


def _places(saved: Sequence[Var], slots: list[ArrayType]) -> list[int]:
    """A slot of its own type for each variable, shared with the other branch; grows `slots`."""
    taken: list[int] = []
    for v in saved:
        kind = array_type(v.type.shape, v.type.dtype)
        place = next((i for i, t in enumerate(slots) if t is kind and i not in taken), len(slots))
        if place == len(slots):
            slots.append(kind)
        taken.append(place)
    return taken


# ---- reverse mode


def _transpose(transform: Transform, cts: Values, xs: Tangents, types: Types, *, branches: Branches) -> Pulled:
    predicate, *operands = xs
    linear = tuple(x is None for x in operands)
    alive = tuple(not is_zero(ct) for ct in cts)
    back = [transform(restricted(b, alive), linear) for b in branches]
    in_alive = _either([[not is_zero(a) for a in p.outputs] for p in back])
    if not any(in_alive):
        return [None] * len(xs)
    narrow = Branches(*[restricted(p, in_alive) for p in back])
    found = iter(cond(predicate, *pick(operands, linear, False), *pick(cts, alive), branches=narrow))
    pulled = iter([next(found) if on else None for on in in_alive])
    return [None, *[next(pulled) if m else None for m in linear]]


# ---- batching


def _batching(op_of: Rule, cut: Rule) -> Rule:
    """The rule; `cut(taken, x)` keeps tangents and cotangents of lanes that do not take a branch from passing through x."""

    def batch(transform: Transform, xs: Values, mapped: Flags, size: int, *, branches: Branches) -> Batched:
        flags = tuple(mapped[1:])
        if not mapped[0]:
            out_mapped = _either([transform(b, flags, size)[1] for b in branches])
            batched = Branches(*[transform(b, flags, size, out_mapped)[0] for b in branches])
            return list(op_of()(*xs, branches=batched)), list(out_mapped)
        predicate, *operands = xs
        outs = []
        for taken, branch in zip((predicate, logical_not(predicate)), branches, strict=True):
            # structural zeros do the rest in straight-line code; an inner program forgets them, so all that it reads is cut off
            inner = any(e.op.split is not None for e in branch.equations)
            apart = tuple(m or (inner and v.type.is_inexact) for v, m in zip(branch.inputs, flags, strict=True))
            given = [spread(x, size) if a and not m else x for x, m, a in zip(operands, flags, apart, strict=True)]
            given = [cut(lanes(taken, x.type.shape), x) if a and x.type.is_inexact else x for x, a in zip(given, apart, strict=True)]
            program, _ = transform(branch, apart, size, (True,) * len(branch.outputs))
            outs.append(inline(program, given))
        return [select(lanes(predicate, a.type.shape), a, b) for a, b in zip(*outs, strict=True)], [True] * len(outs[0])

    return batch


# ---- dead outputs


def _prune(equation: Equation, live: Flags) -> Equation:
    branches: Branches = equation.params["branches"]
    narrow = [restricted(b, live) for b in branches]
    read = _either([used(b) for b in narrow])
    if all(live) and all(read):
        return equation
    both = Branches(*[narrowed(b, read) for b in narrow])
    predicate, *operands = equation.inputs
    return Equation(equation.op, [predicate, *pick(operands, read)], {"branches": both}, pick(equation.outputs, live))


# ---- examples for the tests


def _examples(when_true: Rule, when_false: Rule) -> list[Example]:
    kind = array_type((3,), np.float64)
    branches = Branches(stage(when_true, [kind, kind]), stage(when_false, [kind, kind]))
    x, y = np.array([0.3, -1.0, 2.0]), np.array([1.5, 0.5, -0.7])
    return [([np.array(p), x, y], {"branches": branches}) for p in (True, False)]


cond: Primitive = Primitive(
    name="cond",
    numpy=_numpy,
    infer=_infer,
    jvp=_jvp,
    transpose=_transpose,
    batch=_batching(lambda: cond, gate),
    kernel=Call("cond"),
    split=_split,
    prune=_prune,
    multiple=True,
    kind="inner",
    examples=lambda: _examples(lambda x, y: [mul(sin(x), y), x], lambda x, y: [mul(x, x), zeros_of(x.type)]),
    note="inputs are the predicate and the operands of both branches",
)
cond_linear: Primitive = Primitive(
    name="cond_linear",
    numpy=_numpy,
    infer=_infer,
    jvp=_jvp,
    transpose=_transpose,
    batch=_batching(lambda: cond_linear, mask),
    kernel=Call("cond"),
    prune=_prune,
    multiple=True,
    kind="inner",
    examples=lambda: _examples(lambda p, t: [mul(t, p)], lambda p, t: [neg(t)]),
    note="the linear half of a cond",
)
