"""Forward mode: the program that computes a program's outputs and their tangents."""

from collections.abc import Sequence
from typing import Any

from functad._core.primitive import rule_of
from functad._core.program import Literal, Program, Var
from functad._core.recorder import again, stage
from functad._primitives.inner_values import vanishing
from functad._primitives.operands import zeros_like
from functad._transforms.forms import recognised

__all__ = ["jvp"]


def jvp(program: Program, active: Sequence[bool], want: Sequence[bool] = ()) -> tuple[Program, tuple[bool, ...]]:
    """(pushed program, which outputs have a tangent).

    The pushed program takes the inputs and then a tangent for each active one; it gives the outputs and then the tangents of the active
    outputs.  `want[i]` makes the tangent of output i exist, as a zero if need be.
    """
    key = ("jvp", tuple(active), tuple(want))
    found = program.memo.get(key)
    if found is None:
        found = program.memo[key] = _jvp(recognised(program), tuple(active), tuple(want))
    return found


def _jvp(program: Program, active: tuple[bool, ...], want: tuple[bool, ...]) -> tuple[Program, tuple[bool, ...]]:
    out_active: list[bool] = []

    def function(*args: Any) -> list[Any]:
        n = len(program.inputs)
        given = iter(args[n:])
        primal: dict[Var, Any] = dict(zip(program.inputs, args[:n], strict=True))
        tangent: dict[Var, Any] = {v: next(given) for v, a in zip(program.inputs, active, strict=True) if a}
        for e in program.equations:
            xs = [a if isinstance(a, Literal) else primal[a] for a in e.inputs]
            ts = [None if isinstance(a, Literal) else tangent.get(a) for a in e.inputs]
            if all(t is None for t in ts):
                ys: Sequence[Any] = again(e, xs)
                tys: Sequence[Any] = [None] * len(ys)
            else:
                ys, tys = rule_of(e.op, "jvp")(jvp, xs, ts, **e.params)
                if e.op.kind == "inner":
                    tys = vanishing(tys, ts)
            for v, y, t in zip(e.outputs, ys, tys, strict=True):
                primal[v] = y
                if t is not None and v.type.is_inexact and not (isinstance(t, Literal) and t.is_zero()):
                    tangent[v] = t
        outs = [(a, None) if isinstance(a, Literal) else (primal[a], tangent.get(a)) for a in program.outputs]
        wanted = want or (False,) * len(outs)
        pairs = [(y, zeros_like(y) if t is None and w else t) for (y, t), w in zip(outs, wanted, strict=True)]
        out_active[:] = [t is not None for _, t in pairs]
        return [y for y, _ in pairs] + [t for _, t in pairs if t is not None]

    types = [v.type for v in program.inputs]
    pushed = stage(function, types + [t for t, a in zip(types, active, strict=True) if a])
    return pushed, tuple(out_active)
