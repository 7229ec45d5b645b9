"""Transposition: from a linear program to the program that carries cotangents back."""

from collections.abc import Sequence
from typing import Any

from functad._core.primitive import rule_of
from functad._core.program import Literal, Program, Var
from functad._core.recorder import again, stage
from functad._primitives.alive import vanishing
from functad._primitives.elementwise import add
from functad._primitives.kinds import zeros_of

__all__ = ["transpose"]


def transpose(program: Program, linear: Sequence[bool]) -> Program:
    """The program: non-linear inputs, a cotangent for each output -> a cotangent for each linear input."""
    key = ("transpose", tuple(linear))
    found = program.memo.get(key)
    if found is None:
        found = program.memo[key] = _transpose(program, tuple(linear))
    return found


def _transpose(program: Program, linear: tuple[bool, ...]) -> Program:
    variables = {v for v, m in zip(program.inputs, linear, strict=True) if m}
    fixed = [v for v, m in zip(program.inputs, linear, strict=True) if not m]
    backward = []
    forward = []
    for e in program.equations:
        if any(a in variables for a in e.inputs):
            variables.update(e.outputs)
            backward.append(e)
        else:
            forward.append(e)

    def function(*args: Any) -> list[Any]:
        known: dict[Var, Any] = dict(zip(fixed, args[: len(fixed)], strict=True))
        cts: dict[Var, Any] = {}

        def read(a: Any) -> Any:
            return a if isinstance(a, Literal) else known[a]

        def accumulate(a: Any, ct: Any) -> None:
            if ct is None or a not in variables or (isinstance(ct, Literal) and ct.is_zero()):
                return
            cts[a] = add(cts[a], ct) if a in cts else ct

        for e in forward:
            known.update(zip(e.outputs, again(e, [read(a) for a in e.inputs]), strict=True))
        for a, ct in zip(program.outputs, args[len(fixed) :], strict=True):
            accumulate(a, ct)
        for e in reversed(backward):
            outs = [cts.pop(v, None) for v in e.outputs]
            if all(ct is None for ct in outs):
                continue
            given = [zeros_of(v.type) if ct is None else ct for v, ct in zip(e.outputs, outs, strict=True)]
            xs = [None if a in variables else read(a) for a in e.inputs]
            pulled = rule_of(e.op, "transpose")(transpose, given, xs, [a.type for a in e.inputs], **e.params)
            if e.op.kind == "inner":
                pulled = vanishing(pulled, given)
            for a, ct in zip(e.inputs, pulled, strict=True):
                accumulate(a, ct)
        return [cts[v] if v in cts else zeros_of(v.type) for v, m in zip(program.inputs, linear, strict=True) if m]

    return stage(function, [v.type for v in fixed] + [a.type for a in program.outputs])
