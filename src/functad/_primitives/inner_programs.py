"""What primitives with inner programs share: cutting lists and programs, hoisting, choosing residuals, removing dead work.

Everything here maps programs to programs, knows no transform and records nothing.  What is derived from a program is kept in its memo, so that a
second trace finds it.
"""

from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from typing import NamedTuple, TypeVar

from functad._core.primitive import Expression, View
from functad._core.program import Atom, Equation, Literal, Program, Var, without_dead
from functad._core.types import ArrayType
from functad._primitives.rules import Flags

__all__ = ["Hoisted", "hoist", "instantiate", "memoised", "narrowed", "parts", "pick", "reads", "residuals", "restricted", "used"]

T = TypeVar("T")

# ---- lists


def parts(items: Iterable[T], *counts: int) -> list[list[T]]:
    """Cut a list into pieces of these lengths and the rest."""
    rest, out = list(items), []
    for n in counts:
        out.append(rest[:n])
        rest = rest[n:]
    return [*out, rest]


def pick(items: Iterable[T], flags: Iterable[bool], wanted: bool = True) -> list[T]:
    """The items whose flag is as wanted."""
    return [x for x, flag in zip(items, flags, strict=True) if flag == wanted]


def memoised(program: Program, key: Hashable, make: Callable[[], T]) -> T:
    """What was derived from the program under this key, made at the first call."""
    found = program.memo.get(key)
    if found is None:
        found = program.memo[key] = make()
    return found


# ---- programs


def reads(equations: Iterable[Equation], outputs: Iterable[Atom]) -> list[Var]:
    """Variables that the equations and outputs read and do not bind, in order of use."""
    bound: set[Var] = set()
    found: dict[Var, None] = {}
    for e in equations:
        found.update(dict.fromkeys(a for a in e.inputs if isinstance(a, Var) and a not in bound))
        bound.update(e.outputs)
    found.update(dict.fromkeys(a for a in outputs if isinstance(a, Var) and a not in bound))
    return list(found)


def used(program: Program) -> tuple[bool, ...]:
    """Which inputs are read."""
    live = set(reads(program.equations, program.outputs))
    return tuple(v in live for v in program.inputs)


def narrowed(program: Program, read: Flags) -> Program:
    """The program without the inputs that are not to be given."""
    read = tuple(read)
    return memoised(program, ("inputs", read), lambda: Program(pick(program.inputs, read), program.equations, program.outputs))


def restricted(program: Program, wanted: Flags) -> Program:
    """The same inputs and only the wanted outputs, without dead work."""
    if all(wanted):
        return program
    key = ("restricted", tuple(wanted))
    return memoised(program, key, lambda: without_dead(Program(program.inputs, program.equations, pick(program.outputs, wanted))))


def instantiate(program: Program, inputs: Sequence[Atom]) -> tuple[list[Equation], list[Atom]]:
    """(the program's equations on these atoms, its outputs), with fresh variables."""
    atoms: dict[Atom, Atom] = dict(zip(program.inputs, inputs, strict=True))
    equations = []
    for e in program.equations:
        outputs = [Var(v.type) for v in e.outputs]
        equations.append(Equation(e.op, [atoms.get(a, a) for a in e.inputs], e.params, outputs))
        atoms.update(zip(e.outputs, outputs, strict=True))
    return equations, [atoms.get(a, a) for a in program.outputs]


# ---- hoisting


class Hoisted(NamedTuple):
    """`outside`: all invariant inputs -> hoisted values; `body`: takes these as inputs behind its constants."""

    outside: Program
    body: Program


def hoist(program: Program, invariant: Flags, constants: int) -> Hoisted | None:
    """Move the work that depends on invariant inputs alone out of a loop's body, or None where there is none.

    Views are repeated inside instead: in a kernel they are index maps and cost nothing, outside they would be arrays.
    """
    key = ("hoisted", tuple(invariant), constants)
    return memoised(program, key, lambda: (_hoist(program, tuple(invariant), constants),))[0]


def _hoist(program: Program, invariant: tuple[bool, ...], constants: int) -> Hoisted | None:
    given = pick(program.inputs, invariant)
    fixed: set[Atom] = set(given)
    moved, rest = [], []
    for e in program.equations:
        if all(isinstance(a, Literal) or a in fixed for a in e.inputs):
            moved.append(e)
            fixed.update(e.outputs)
        else:
            rest.append(e)
    bound = {v for e in moved for v in e.outputs}
    needed = [v for v in reads(rest, program.outputs) if v in bound]
    repeated, kept = residuals(needed, moved, given, views_only=True)
    kept = [v for v in kept if v in bound]
    if not kept:
        return None
    inputs = [*program.inputs[:constants], *kept, *program.inputs[constants:]]
    return Hoisted(without_dead(Program(given, moved, kept)), Program(inputs, [*repeated, *rest], program.outputs))


# ---- residuals


def residuals(needed: Iterable[Var], known: Sequence[Equation], free: Collection[Var], views_only: bool = False) -> tuple[list[Equation], list[Var]]:
    """(known equations to repeat, variables to keep) so that all that is needed is at hand.

    `free` variables cost nothing to keep.  What is cheap to compute from values that are at hand anyway, or from less memory than
    it takes itself, is repeated: a store and a load in each step cost more than an addition.
    """
    producer = {v: e for e in known for v in e.outputs}
    order = {v: i for i, e in enumerate(known) for v in e.outputs}
    kept = dict.fromkeys(needed)
    repeated: dict[Equation, None] = {}
    at_hand = set(free) | set(kept)
    changed = True
    while changed:
        changed = False
        for v in sorted(kept, key=lambda v: -order.get(v, -1)):
            e = producer.get(v)
            if e is None or v in free or e in repeated or not _worth_repeating(e, at_hand, views_only):
                continue
            repeated[e] = None
            del kept[v]
            new = [a for a in e.inputs if isinstance(a, Var) and a not in at_hand]
            kept.update(dict.fromkeys(new))
            kept.update(dict.fromkeys(a for a in e.inputs if a in free))  # type: ignore[misc]  # members of `free` are variables
            at_hand.update(new)
            changed = True
    return sorted(repeated, key=lambda e: order[e.outputs[0]]), sorted(kept, key=lambda v: order.get(v, -1))


def _worth_repeating(equation: Equation, at_hand: Collection[Var], views_only: bool) -> bool:
    kernel = equation.op.kernel
    bytes_missing = sum(_bytes(a.type) for a in set(equation.inputs) if isinstance(a, Var) and a not in at_hand)
    if isinstance(kernel, View):
        return bytes_missing <= _bytes(equation.outputs[0].type)
    if views_only or not isinstance(kernel, Expression) or kernel.cost > 1:
        return False
    return bytes_missing < _bytes(equation.outputs[0].type)


def _bytes(kind: ArrayType) -> int:
    return max(1, kind.size * kind.dtype.itemsize)
