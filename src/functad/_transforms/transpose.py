"""Transposition: from a linear program to the program that carries cotangents back."""

from collections.abc import Callable, Sequence
from typing import Any

from functad._core.primitive import rule_of
from functad._core.program import Literal, Program, Var
from functad._core.recorder import again, stage
from functad._primitives.elementwise import add
from functad._primitives.inner_values import vanishing
from functad._primitives.operands import zeros_of

__all__ = ["pulled_back", "transpose"]


def transpose(program: Program, linear: Sequence[bool]) -> Program:
    """The program: non-linear inputs, a cotangent for each output -> a cotangent for each linear input."""
    key = ("transpose", tuple(linear))
    found = program.memo.get(key)
    if found is None:
        found = program.memo[key] = _transpose(program, tuple(linear))
    return found


def _transpose(program: Program, linear: tuple[bool, ...]) -> Program:
    fixed = [v for v, m in zip(program.inputs, linear, strict=True) if not m]

    def function(*args: Any) -> list[Any]:
        cts = pulled_back(program, linear, args[: len(fixed)], args[len(fixed) :])
        return [cts[v] if v in cts else zeros_of(v.type) for v, m in zip(program.inputs, linear, strict=True) if m]

    return stage(function, [v.type for v in fixed] + [a.type for a in program.outputs])


def pulled_back(
    program: Program, linear: Sequence[bool], fixed: Sequence[Any], given: Sequence[Any], receive: Callable[[Var, Any], None] | None = None
) -> dict[Var, Any]:
    """Record a linear program backwards: the cotangents of its linear inputs, those that are not zero.

    `fixed` are the values of the other inputs, `given` the cotangents of the outputs, None for zero.  `receive` gets the contributions to inputs
    one by one, in the order in which they would be added up.
    """
    variables = {v for v, m in zip(program.inputs, linear, strict=True) if m}
    known: dict[Var, Any] = dict(zip([v for v, m in zip(program.inputs, linear, strict=True) if not m], fixed, strict=True))
    received = frozenset(variables if receive is not None else ())
    cts: dict[Var, Any] = {}

    def read(a: Any) -> Any:
        return a if isinstance(a, Literal) else known[a]

    def accumulate(a: Any, ct: Any) -> None:
        if ct is None or a not in variables or (isinstance(ct, Literal) and ct.is_zero()):
            return
        if a in received:
            receive(a, ct)  # type: ignore[misc]  # nothing is received without it
        else:
            cts[a] = add(cts[a], ct) if a in cts else ct

    backward = []
    for e in program.equations:
        if any(a in variables for a in e.inputs):
            variables.update(e.outputs)
            backward.append(e)
        else:
            known.update(zip(e.outputs, again(e, [read(a) for a in e.inputs]), strict=True))
    for a, ct in zip(program.outputs, given, strict=True):
        accumulate(a, ct)
    for e in reversed(backward):
        outs = [cts.pop(v, None) for v in e.outputs]
        if all(ct is None for ct in outs):
            continue
        whole = [zeros_of(v.type) if ct is None else ct for v, ct in zip(e.outputs, outs, strict=True)]
        xs = [None if a in variables else read(a) for a in e.inputs]
        pulled = rule_of(e.op, "transpose")(transpose, whole, xs, [a.type for a in e.inputs], **e.params)
        if e.op.kind == "inner":
            pulled = vanishing(pulled, whole)
        for a, ct in zip(e.inputs, pulled, strict=True):
            accumulate(a, ct)
    return cts
