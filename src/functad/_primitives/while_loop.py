"""`while_loop`: repeat a step while a condition holds.

Inputs are the constants of the condition, the constants of the body, and the carry.  `condition` is a closed program
of its constants and the carry that gives one boolean, `body` one of its constants and the carry that gives the next
carry; `condition_constants` and `body_constants` are counts.

Which carries are active or mapped is a fixpoint.  With one condition per lane the loop runs until all lanes are done,
and a lane that is done keeps its value, whatever the body makes of it.  There is no reverse mode: the number of
steps, and so the memory for residuals, is not known before.
"""

import numpy as np

from functad._core.interpret import python_function
from functad._core.primitive import Call, Missing, Primitive
from functad._core.program import Equation, Literal, Program, without_dead
from functad._core.recorder import inline, stage
from functad._core.types import ArrayType, array_type
from functad._primitives.arithmetic import add, mul, select
from functad._primitives.inner_programs import memoised, narrowed, parts, pick, restricted, used
from functad._primitives.inner_values import copies, is_zero, lanes, same_types, typed
from functad._primitives.logic import less, logical_and
from functad._primitives.operands import Array, Example, Value, zeros_of
from functad._primitives.reduce import reduce_any
from functad._primitives.rules import Batched, Flags, Inferred, Pushed, Tangents, Transform, Types, Values
from functad._primitives.shape import spread
from functad.errors import ShapeMismatchError

__all__ = ["while_loop"]

_NO_REVERSE = Missing("reverse mode through while_loop needs a tape; use scan with a fixed length, or a Python while loop without jit")

# ---- what it computes


def _numpy(*values: Array, condition: Program, body: Program, condition_constants: int, body_constants: int) -> tuple[Array, ...]:
    goes_on, step = python_function(condition), python_function(body)
    kinds = [*condition.input_types[:condition_constants], *body.input_types]
    asked, fixed, state = parts(typed(values, kinds), condition_constants, body_constants)
    state = copies(state)
    while goes_on(*asked, *state)[0]:
        state = step(*fixed, *state)  # type: ignore[assignment]  # a tuple does as well
    return tuple(state)


def _infer(*types: ArrayType, condition: Program, body: Program, condition_constants: int, body_constants: int) -> Inferred:
    asked, fixed, carry = parts(types, condition_constants, body_constants)
    for name, program, given in (("condition", condition, [*asked, *carry]), ("body", body, [*fixed, *carry])):
        if not same_types(program.input_types, given):
            raise ShapeMismatchError(f"the {name} of while_loop takes {list(program.input_types)}, got {given}")
    if [t.shape for t in condition.output_types] != [()] or condition.output_types[0].dtype != np.bool_:
        raise ShapeMismatchError(f"the condition of while_loop must give one boolean, got {list(condition.output_types)}")
    for i, (a, b) in enumerate(zip(carry, body.output_types, strict=True)):
        if not same_types([a], [b]):
            raise ShapeMismatchError(f"carry {i} of a while_loop starts as {a!r} and is {b!r} after a step")
    return tuple(array_type(t.shape, t.dtype) for t in carry)


# ---- forward mode


def _jvp(
    transform: Transform, xs: Values, ts: Tangents, *, condition: Program, body: Program, condition_constants: int, body_constants: int
) -> Pushed:
    ts = [None if is_zero(t) else t for t in ts]
    asked, fixed, state = parts(xs, condition_constants, body_constants)
    _, dfixed, dstate = parts(ts, condition_constants, body_constants)
    given = tuple(t is not None for t in [*dfixed, *dstate])
    both, active = memoised(body, ("while_loop jvp", given, body_constants), lambda: _pushed(transform, body, given, body_constants))
    on = active[body_constants:]
    kinds = [x.type for x in state]
    key = ("while_loop jvp", condition_constants, on)
    asking = memoised(condition, key, lambda: _ignoring(condition, pick(kinds, on)))
    starts = [zeros_of(kind) if t is None else t for kind, t, a in zip(kinds, dstate, on, strict=True) if a]
    out = while_loop(
        *asked, *fixed, *pick(dfixed, active[:body_constants]), *state, *starts,
        condition=asking, body=both, condition_constants=len(asked), body_constants=len(fixed) + sum(active[:body_constants]),
    )  # fmt: skip
    ys, tys = parts(out, len(state))
    tangents = iter(tys)
    return ys, [next(tangents) if a else None for a in on]


def _ignoring(condition: Program, kinds: Types) -> Program:
    """The condition with the carry's tangents as further inputs, which it does not read."""
    n = len(condition.inputs)
    return stage(lambda *args: inline(condition, args[:n]), [*condition.input_types, *kinds])


def _pushed(transform: Transform, body: Program, given: tuple[bool, ...], constants: int) -> tuple[Program, tuple[bool, ...]]:
    """(body of constants, their tangents, carry, its tangents; active inputs)."""
    active = list(given)
    while True:
        pushed, out_active = transform(body, tuple(active), tuple(active[constants:]))
        if list(out_active) == active[constants:]:
            break
        active[constants:] = out_active
    types, flags = parts(body.input_types, constants), parts(active, constants)
    counts = (constants, sum(flags[0]), len(flags[1]))

    def both(*args: Value) -> list[Value]:
        c, dc, s, ds = parts(args, *counts)
        return inline(pushed, [*c, *s, *dc, *ds])

    kinds = [kind for group, on in zip(types, flags, strict=True) for kind in [*group, *pick(group, on)]]
    return without_dead(stage(both, kinds)), tuple(active)


# ---- batching


def _batch(
    transform: Transform, xs: Values, mapped: Flags, size: int, *, condition: Program, body: Program, condition_constants: int, body_constants: int
) -> Batched:
    asked_on, fixed_on, state_on = parts(mapped, condition_constants, body_constants)
    flags = list(state_on)
    while True:
        _, (lanewise,) = transform(condition, (*asked_on, *flags), size)
        want = [True] * len(flags) if lanewise else flags  # a lane that is done keeps its own value
        _, out_mapped = transform(body, (*fixed_on, *want), size, tuple(want))
        if list(out_mapped) == flags:
            break
        flags = list(out_mapped)
    asking, _ = transform(condition, (*asked_on, *flags), size)
    step, _ = transform(body, (*fixed_on, *flags), size, tuple(flags))
    asked, fixed, state = parts(xs, condition_constants, body_constants)
    state = [spread(x, size) if on and not was else x for x, on, was in zip(state, flags, state_on, strict=True)]
    if not lanewise:
        counts = {"condition_constants": condition_constants, "body_constants": body_constants}
        return list(while_loop(*asked, *fixed, *state, condition=asking, body=step, **counts)), flags
    (first,) = inline(asking, [*asked, *state])
    running, until = memoised(step, ("lanes", asking, body_constants), lambda: _until_all_done(asking, step, len(asked), body_constants))
    own = len(asked) + len(fixed)
    out = while_loop(*asked, *fixed, first, *state, condition=until, body=running, condition_constants=0, body_constants=own)
    return list(out[1:]), flags


def _until_all_done(asking: Program, step: Program, asked: int, fixed: int) -> tuple[Program, Program]:
    """(body, condition) of a loop whose first carry says which lanes go on."""
    kinds = step.input_types[fixed:]
    going = array_type(asking.output_types[0].shape, np.bool_)

    def body(*args: Value) -> list[Value]:
        c, f, (on,), state = parts(args, asked, fixed, 1)
        moved = inline(step, [*f, *state])
        state = [select(lanes(on, x.type.shape), y, x) for x, y in zip(state, moved, strict=True)]
        return [logical_and(on, inline(asking, [*c, *state])[0]), *state]

    running = without_dead(stage(body, [*asking.input_types[:asked], *step.input_types[:fixed], going, *kinds]))
    return running, stage(lambda on, *_: [reduce_any(on, axes=(0,))], [going, *kinds])


# ---- dead outputs


def _prune(equation: Equation, live: Flags) -> Equation:
    p = equation.params
    condition, body, asked, fixed = p["condition"], p["body"], p["condition_constants"], p["body_constants"]
    asks = used(condition)
    kept = [a or b for a, b in zip(live, asks[asked:], strict=True)]
    while True:
        narrow = restricted(body, kept)
        reads = used(narrow)
        grown = [a or b for a, b in zip(kept, reads[fixed:], strict=True)]
        if grown == kept:
            break
        kept = grown
    wanted = [*asks[:asked], *reads[:fixed], *kept]
    if all(wanted):
        return equation
    params = {
        "condition": narrowed(condition, (*asks[:asked], *kept)),
        "body": narrowed(narrow, (*reads[:fixed], *kept)),
        "condition_constants": sum(asks[:asked]),
        "body_constants": sum(reads[:fixed]),
    }
    return Equation(equation.op, pick(equation.inputs, wanted), params, pick(equation.outputs, kept))


# ---- examples for the tests


def _examples() -> list[Example]:
    scalar, whole = array_type((), np.float64), array_type((), np.int64)
    condition = stage(lambda limit, x, n: [less(x, limit)], [scalar, scalar, whole])
    body = stage(lambda c, x, n: [mul(x, c), add(n, Literal(1, whole))], [scalar, scalar, whole])
    params = {"condition": condition, "body": body, "condition_constants": 1, "body_constants": 1}
    return [([np.array(limit), np.array(1.5), np.array(0.7), np.array(0)], params) for limit in (10.0, 0.0)]


while_loop = Primitive(
    name="while_loop",
    numpy=_numpy,
    infer=_infer,
    jvp=_jvp,
    transpose=_NO_REVERSE,
    batch=_batch,
    kernel=Call("while_loop"),
    split=_NO_REVERSE,
    prune=_prune,
    multiple=True,
    kind="inner",
    examples=_examples,
    note="inputs are constants of the condition, constants of the body, carry",
)
