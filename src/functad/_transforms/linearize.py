"""Linearize: forward mode, then a split into what is known and what is linear in the tangents.

The two halves are joined by residuals: known values that the linear half needs.  No primal output is in the linear half.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from functad._core.primitive import View, rule_of
from functad._core.program import Atom, Equation, Program, Var, without_dead
from functad._transforms.jvp import jvp

__all__ = ["Linearized", "linearize", "split"]


@dataclass(frozen=True)
class Linearized:
    """`forward`: inputs -> outputs, residuals.  `linear`: residuals, tangents of the active inputs -> tangents of the active outputs."""

    forward: Program
    linear: Program
    residuals: int
    active: tuple[bool, ...]
    out_active: tuple[bool, ...]


def split(program: Program, linear: Sequence[bool]) -> tuple[list[Equation], list[Equation], set[Var]]:
    """Known equations, linear equations and the linear variables, given which inputs are linear.

    Plain primitives split by dependence; those with inner programs state a rule of their own.
    """
    variables = {v for v, m in zip(program.inputs, linear, strict=True) if m}
    known: list[Equation] = []
    rest: list[Equation] = []
    for e in program.equations:
        mask = [a in variables for a in e.inputs]
        if not any(mask):
            known.append(e)
        elif e.op.split is None:
            rest.append(e)
            variables.update(e.outputs)
        else:
            more_known, more_linear = rule_of(e.op, "split")(split, e, mask)
            known += more_known
            for part in more_linear:
                rest.append(part)
                variables.update(part.outputs)
    return known, rest, variables


def _residuals(rest: Sequence[Equation], outputs: Sequence[Atom], variables: set[Var]) -> list[Var]:
    used = [a for e in rest for a in e.inputs] + list(outputs)
    return list(dict.fromkeys(a for a in used if isinstance(a, Var) and a not in variables))


def linearize(program: Program, active: Sequence[bool]) -> Linearized:
    """Split the program's derivative at its known values."""
    key = ("linearize", tuple(active))
    found = program.memo.get(key)
    if found is None:
        found = program.memo[key] = _linearize(program, tuple(active))
    return found


def _linearize(program: Program, active: tuple[bool, ...]) -> Linearized:
    pushed, out_active = jvp(program, active)
    n, m = len(program.inputs), len(program.outputs)
    known, rest, variables = split(pushed, [i >= n for i in range(len(pushed.inputs))])
    outputs, tangents = pushed.outputs[:m], pushed.outputs[m:]
    rest = list(without_dead(Program((), rest, tangents)).equations)
    residuals = _residuals(rest, tangents, variables)
    producers = {v: e for e in known for v in e.outputs}
    place = {e: i for i, e in enumerate(known)}
    moved: list[Equation] = []
    while grown := [r for r in residuals if _cheaper_to_repeat(producers.get(r))]:
        # a broadcast kept for the backward half would hold many copies of a small array: repeat it there instead
        moved = sorted([*moved, *[producers[r] for r in grown]], key=place.__getitem__)  # one may be made from another
        residuals = _residuals([*moved, *rest], tangents, variables | {v for e in moved for v in e.outputs})
    forward = without_dead(Program(pushed.inputs[:n], known, [*outputs, *residuals]))
    linear = Program([*residuals, *pushed.inputs[n:]], [*moved, *rest], tangents)
    return Linearized(forward, linear, len(residuals), active, out_active)


def _cheaper_to_repeat(equation: Equation | None) -> bool:
    if equation is None or not isinstance(equation.op.kernel, View) or len(equation.inputs) != 1:
        return False
    return equation.inputs[0].type.size < equation.outputs[0].type.size
