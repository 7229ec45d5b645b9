"""`scan`: a loop with a fixed number of steps, and `scan_linear`, its linear half.

Inputs are constants, carry and sequences; the body takes the constants, the carry and one slice of each sequence, and
gives the next carry and the values to stack.  `constants` and `carry` are counts; `reverse` runs from the last slice
to the first.  Bodies are closed programs.

Which carries are active, linear or mapped is a fixpoint: a carry that becomes so inside is so from the start (one
that becomes active starts as a zero).  Splitting moves loop-invariant work out, then makes a known scan that stacks
what the linear one cannot cheaply recompute.  Nothing is stacked that does not change from step to step.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from functad._core.interpret import python_function
from functad._core.primitive import Call, Missing, Primitive
from functad._core.program import Atom, Equation, Literal, Program, Var, without_dead
from functad._core.recorder import inline, stage
from functad._core.types import ArrayType, array_type
from functad._primitives.arithmetic import add, mul
from functad._primitives.elementwise import sin
from functad._primitives.inner_programs import Hoisted, hoist, instantiate, memoised, narrowed, parts, pick, reads, residuals, restricted, used
from functad._primitives.inner_values import along_rows, copies, is_zero, same_types, swapped, typed
from functad._primitives.operands import Array, Example, Value, zeros_of
from functad._primitives.rules import Batched, Flags, Inferred, Pulled, Pushed, Rule, Tangents, Transform, Types, Values
from functad._primitives.shape import spread
from functad.errors import ShapeMismatchError

__all__ = ["hoisted_scan", "scan", "scan_linear"]

# ---- what it computes


def _numpy(*values: Array, body: Program, constants: int, carry: int, length: int, reverse: bool) -> tuple[Array, ...]:
    step = python_function(body)
    ahead = constants + carry
    fixed, state, sequences = parts([*typed(values[:ahead], body.input_types[:ahead]), *values[ahead:]], constants, carry)
    state = state if length else copies(state)  # the body's outputs are fresh, the arguments are not
    stacked = [np.empty((length, *kind.shape), kind.dtype) for kind in body.output_types[carry:]]
    for i in range(length - 1, -1, -1) if reverse else range(length):
        out = step(*fixed, *state, *[rows[i] for rows in sequences])
        state = out[:carry]  # type: ignore[assignment]  # a tuple does as well
        for rows, row in zip(stacked, out[carry:], strict=True):
            rows[i] = row
    return (*state, *stacked)


def _infer(*types: ArrayType, body: Program, constants: int, carry: int, length: int, reverse: bool) -> Inferred:
    wanted = [along_rows(t, length) if i >= constants + carry else t for i, t in enumerate(body.input_types)]
    if not same_types(wanted, types):
        raise ShapeMismatchError(f"scan of {length} steps takes {wanted}, got {list(types)}")
    before, after, stacked = body.input_types[constants : constants + carry], *parts(body.output_types, carry)
    for i, (a, b) in enumerate(zip(before, after, strict=True)):
        if not same_types([a], [b]):
            raise ShapeMismatchError(f"carry {i} of a scan starts as {a!r} and is {b!r} after a step")
    return (*[array_type(t.shape, t.dtype) for t in after], *[along_rows(t, length) for t in stacked])


def hoisted_scan(*xs: Value, body: Program, constants: int, carry: int, length: int, reverse: bool) -> Values:
    """Record a scan whose loop-invariant work is done once, before it."""
    found = hoist(body, [i < constants for i in range(len(body.inputs))], constants)
    if found is None:
        return scan(*xs, body=body, constants=constants, carry=carry, length=length, reverse=reverse)
    fixed, rest = parts(xs, constants)
    fixed += inline(found.outside, fixed)
    wanted = used(found.body)[: len(fixed)]
    narrow = narrowed(found.body, (*wanted, *[True] * len(rest)))
    return scan(*pick(fixed, wanted), *rest, body=narrow, constants=sum(wanted), carry=carry, length=length, reverse=reverse)


# ---- forward mode


def _jvp(transform: Transform, xs: Values, ts: Tangents, *, body: Program, constants: int, carry: int, length: int, reverse: bool) -> Pushed:
    ts = [None if is_zero(t) else t for t in ts]
    active = tuple(t is not None for t in ts)
    both, active, out_active = memoised(body, ("scan jvp", active, constants, carry), lambda: _pushed(transform, body, active, constants, carry))
    ts = [zeros_of(x.type) if t is None and a else t for x, t, a in zip(xs, ts, active, strict=True)]
    groups = [[*g, *pick(dg, flags)] for g, dg, flags in zip(*[parts(items, constants, carry) for items in (xs, ts, active)], strict=True)]
    inputs = [*groups[0], *groups[1], *groups[2]]
    out = scan(*inputs, body=both, constants=len(groups[0]), carry=len(groups[1]), length=length, reverse=reverse)
    state, dstate, ys, dys = parts(out, carry, len(groups[1]) - carry, len(out_active) - carry)
    tangents = iter([*dstate, *dys])
    return [*state, *ys], [next(tangents) if a else None for a in out_active]


def _pushed(
    transform: Transform, body: Program, given: tuple[bool, ...], constants: int, carry: int
) -> tuple[Program, tuple[bool, ...], tuple[bool, ...]]:
    """(body with each group followed by its tangents, active inputs, active outputs)."""
    active, inside = list(given), slice(constants, constants + carry)
    while True:
        want = [*active[inside], *[False] * (len(body.outputs) - carry)]
        pushed, out_active = transform(body, tuple(active), tuple(want))
        if list(out_active[:carry]) == active[inside]:
            break
        active[inside] = out_active[:carry]
    flags, types = parts(active, constants, carry), parts(body.input_types, constants, carry)
    counts = [n for group in flags[:2] for n in (len(group), sum(group))] + [len(flags[2])]

    def both(*args: Value) -> list[Value]:
        c, dc, s, ds, x, dx = parts(args, *counts)
        outs = inline(pushed, [*c, *s, *x, *dc, *ds, *dx])
        state, ys, dstate, dys = parts(outs, carry, len(body.outputs) - carry, counts[3])
        return [*state, *dstate, *ys, *dys]

    kinds = [kind for group, on in zip(types, flags, strict=True) for kind in [*group, *pick(group, on)]]
    return without_dead(stage(both, kinds)), tuple(active), tuple(out_active)


# ---- the two halves


class _Half(NamedTuple):
    """A body, where its inputs come from (positions among the available atoms), and how many are constants and carry."""

    body: Program
    sources: tuple[int, ...]
    constants: int
    carry: int


class _Halves(NamedTuple):
    """Available atoms are the constants, the hoisted values, the carry, the sequences, the stacked residuals."""

    hoisted: Hoisted | None
    known: _Half
    linear: _Half
    out_linear: tuple[bool, ...]
    stacked: tuple[ArrayType, ...]  # of one slice


def _split(transform: Transform, equation: Equation, linear: Flags) -> tuple[list[Equation], list[Equation]]:
    p = equation.params
    body, constants, carry, flags = p["body"], p["constants"], p["carry"], tuple(linear)
    halves = memoised(body, ("scan split", flags, constants, carry), lambda: _halves(transform, body, flags, constants, carry))
    fixed, rest = parts(equation.inputs, constants)
    known: list[Equation] = []
    if halves.hoisted is not None:
        known, more = instantiate(halves.hoisted.outside, pick(fixed, flags[:constants], False))
        fixed += more
    stacked = [Var(along_rows(kind, p["length"])) for kind in halves.stacked]
    available: list[Atom] = [*fixed, *rest, *stacked]

    def part(op: Primitive, half: _Half, outputs: Sequence[Var]) -> list[Equation]:
        params = {**p, "body": half.body, "constants": half.constants, "carry": half.carry}
        return [Equation(op, [available[i] for i in half.sources], params, outputs)] if outputs else []

    known += part(scan, halves.known, [*pick(equation.outputs, halves.out_linear, False), *stacked])
    return known, part(scan_linear, halves.linear, pick(equation.outputs, halves.out_linear))


def _halves(transform: Transform, body: Program, given: tuple[bool, ...], constants: int, carry: int) -> _Halves:
    found = hoist(body, [i < constants and not m for i, m in enumerate(given)], constants)
    linear = list(given)
    if found is not None:
        extra = len(found.outside.outputs)
        body, constants, linear = found.body, constants + extra, [*linear[:constants], *[False] * extra, *linear[constants:]]
    inside = slice(constants, constants + carry)
    while True:
        known, rest, variables = transform(body, tuple(linear))
        grown = [m or a in variables for m, a in zip(linear[inside], body.outputs, strict=False)]
        if grown == linear[inside]:
            break
        linear[inside] = grown
    out_linear = (*linear[inside], *[a in variables for a in body.outputs[carry:]])
    rest = list(without_dead(Program((), rest, pick(body.outputs, out_linear))).equations)
    groups, flags = parts(body.inputs, constants, carry), parts(linear, constants, carry)
    free = {*pick(groups[0], flags[0], False), *pick(groups[2], flags[2], False)}
    needed = [v for v in reads(rest, pick(body.outputs, out_linear)) if v not in variables]
    repeated, kept = residuals(needed, known, free)
    stacked = [v for v in kept if v not in free]

    def half(is_linear: bool, equations: Sequence[Equation], outputs: Sequence[Atom]) -> _Half:
        c, s, x = [group if is_linear else pick(group, on, False) for group, on in zip(groups, flags, strict=True)]
        if is_linear:  # known constants and sequences are at hand, the known carry is not
            s, x = pick(s, flags[1]), [*x, *stacked]
        program = without_dead(Program([*c, *s, *x], equations, outputs))
        live = set(reads(program.equations, program.outputs))
        c, x = [v for v in c if v in live], [v for v in x if v in live]
        # a residual that is itself a known carry input is read under its own name, and comes in stacked
        where = {v: i for i, v in enumerate(body.inputs)} | ({v: len(body.inputs) + i for i, v in enumerate(stacked)} if is_linear else {})
        inputs = [*c, *s, *x]
        return _Half(Program(inputs, program.equations, program.outputs), tuple(where[v] for v in inputs), len(c), len(s))

    known_half = half(False, known, [*pick(body.outputs, out_linear, False), *stacked])
    linear_half = half(True, [*repeated, *rest], pick(body.outputs, out_linear))
    return _Halves(found, known_half, linear_half, out_linear, tuple(v.type for v in stacked))


# ---- reverse mode


class _Pulled(NamedTuple):
    """The transposed body, and which cotangents come in and go out."""

    body: Program
    out_alive: tuple[bool, ...]  # outputs whose cotangent may be more than zero
    in_alive: tuple[bool, ...]  # linear inputs whose cotangent may be
    linear: tuple[bool, ...]


def _transpose(
    transform: Transform, cts: Values, xs: Tangents, types: Types, *, body: Program, constants: int, carry: int, length: int, reverse: bool
) -> Pulled:
    """The carry's cotangents run backwards; those of linear constants are summed in carries of their own."""
    # a carry that starts as a literal zero is linear too
    linear = tuple(x is None or constants <= i < constants + carry for i, x in enumerate(xs))
    alive = tuple(not is_zero(ct) for ct in cts)
    key = ("scan transpose", linear, alive, constants, carry)
    pulled = memoised(body, key, lambda: _pulled(transform, body, linear, alive, constants, carry))
    flags, groups = parts(linear, constants, carry), parts(xs, constants, carry)
    sums = [zeros_of(kind) for kind, on in zip(pick(types[:constants], flags[0]), pulled.in_alive, strict=False) if on]
    fixed, rows = pick(groups[0], flags[0], False), pick(groups[2], flags[2], False)
    state, out = parts(pick(cts, pulled.out_alive), sum(pulled.out_alive[:carry]))
    counts = {"constants": len(fixed), "carry": len(sums) + len(state)}
    found = iter(scan(*fixed, *sums, *state, *rows, *out, body=pulled.body, **counts, length=length, reverse=not reverse))
    pulled_cts = iter([next(found) if on else None for on in pulled.in_alive])
    return [next(pulled_cts) if m else None for m in linear]


def _pulled(transform: Transform, body: Program, linear: tuple[bool, ...], alive: tuple[bool, ...], constants: int, carry: int) -> _Pulled:
    flags, types = parts(linear, constants, carry), parts(body.input_types, constants, carry)
    ahead = sum(flags[0])  # linear constants come before the carry among the linear inputs
    while True:
        back = transform(restricted(body, alive), linear)
        # a carry that nothing is asked of is out of the loop; one that its own body asks something of is in
        in_alive = [not is_zero(a) for a in back.outputs]
        grown = (*[a or b for a, b in zip(alive[:carry], in_alive[ahead : ahead + carry], strict=True)], *alive[carry:])
        if grown == alive:
            break
        alive = grown
    in_alive[ahead : ahead + carry] = alive[:carry]
    summed = pick(pick(types[0], flags[0]), in_alive[:ahead])
    fixed, rows = pick(types[0], flags[0], False), pick(types[2], flags[2], False)
    states, stacked = (pick(kinds, on) for kinds, on in zip(parts(body.output_types, carry), parts(alive, carry), strict=True))

    def step(*args: Value) -> list[Value]:
        known, sums, state, saved, out = parts(args, len(fixed), len(summed), len(states), len(rows))
        more = pick(inline(back, [*known, *saved, *state, *out]), in_alive)
        return [*[add(a, b) for a, b in zip(sums, more, strict=False)], *more[len(sums) :]]

    return _Pulled(without_dead(stage(step, [*fixed, *summed, *states, *rows, *stacked])), alive, tuple(in_alive), linear)


# ---- batching


def _batching(op_of: Rule) -> Rule:
    def batch(transform: Transform, xs: Values, mapped: Flags, size: int, *, body: Program, constants: int, carry: int, **loop: object) -> Batched:
        flags, inside = list(mapped), slice(constants, constants + carry)
        while True:
            want = (*flags[inside], *[False] * (len(body.outputs) - carry))
            program, out_mapped = transform(body, tuple(flags), size, want)
            if list(out_mapped[:carry]) == flags[inside]:
                break
            flags[inside] = out_mapped[:carry]

        def arranged(i: int, x: Value) -> Value:
            """Mapped from the start if mapped inside; a sequence keeps its own axis first."""
            x = spread(x, size) if flags[i] and not mapped[i] else x
            return swapped(x) if flags[i] and i >= constants + carry else x

        out = op_of()(*[arranged(i, x) for i, x in enumerate(xs)], body=program, constants=constants, carry=carry, **loop)
        return [swapped(y) if m and i >= carry else y for i, (y, m) in enumerate(zip(out, out_mapped, strict=True))], list(out_mapped)

    return batch


# ---- dead outputs


def _prune(equation: Equation, live: Flags) -> Equation:
    """The equation without outputs that nobody reads, and without the carries, constants and sequences that only those needed."""
    p = equation.params
    body, constants, carry = p["body"], p["constants"], p["carry"]
    kept, stacked = list(live[:carry]), list(live[carry:])
    while True:
        narrow = restricted(body, [*kept, *stacked])
        inputs = used(narrow)
        grown = [a or b for a, b in zip(kept, inputs[constants : constants + carry], strict=True)]
        if grown == kept:
            break
        kept = grown
    wanted = [*inputs[:constants], *kept, *inputs[constants + carry :]]
    outputs = [*kept, *stacked]
    if all(wanted) and all(outputs) and narrow is body:
        return equation
    params = {**p, "body": narrowed(narrow, wanted), "constants": sum(wanted[:constants]), "carry": sum(kept)}
    return Equation(equation.op, pick(equation.inputs, wanted), params, pick(equation.outputs, outputs))


# ---- examples for the tests


def _examples() -> list[Example]:
    scalar = array_type((), np.float64)

    def step(c: Value, s: Value, n: Value, x: Value) -> list[Value]:
        y = sin(mul(s, c))
        return [add(y, x), add(n, Literal(1, n.type)), mul(y, x)]

    body = stage(step, [scalar, scalar, array_type((), np.int64), scalar])
    params = {"body": body, "constants": 1, "carry": 2, "length": 4}
    values = [np.array(0.7), np.array(0.4), np.array(0), np.array([1.0, 1.5, -0.5, 2.0])]
    empty = [*values[:3], np.zeros(0)]
    return [(values, {**params, "reverse": r}) for r in (False, True)] + [(empty, {**params, "length": 0, "reverse": False})]


def _linear_examples() -> list[Example]:
    scalar = array_type((), np.float64)
    body = stage(lambda c, s, x: [add(mul(s, c), x), s], [scalar, scalar, scalar])
    params = {"body": body, "constants": 1, "carry": 1, "length": 3, "reverse": False}
    return [([np.array(0.7), np.array(0.4), np.array([1.0, 1.5, -0.5])], params)]


scan: Primitive = Primitive(
    name="scan",
    numpy=_numpy,
    infer=_infer,
    jvp=_jvp,
    transpose=Missing("it is split first: what is transposed is its linear half, `scan_linear`"),
    batch=_batching(lambda: scan),
    kernel=Call("scan"),
    split=_split,
    prune=_prune,
    multiple=True,
    kind="inner",
    examples=_examples,
    note="a loop of fixed length; inputs are constants, carry, sequences",
)
scan_linear: Primitive = Primitive(
    name="scan_linear",
    numpy=_numpy,
    infer=_infer,
    jvp=_jvp,
    transpose=_transpose,
    batch=_batching(lambda: scan_linear),
    kernel=Call("scan"),
    prune=_prune,
    multiple=True,
    kind="inner",
    examples=_linear_examples,
    note="the linear half of a scan: carry and outputs are linear in the carry",
)
