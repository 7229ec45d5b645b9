"""Batching: the program that maps a program over a leading axis."""

from collections.abc import Sequence
from typing import Any

from functad._core.primitive import rule_of
from functad._core.program import Literal, Program, Var
from functad._core.recorder import again, stage
from functad._core.types import array_type
from functad._primitives.shape import spread

__all__ = ["vmap"]


def vmap(program: Program, mapped: Sequence[bool], size: int, want: Sequence[bool] = ()) -> tuple[Program, tuple[bool, ...]]:
    """(batched program, which outputs are mapped): mapped inputs and outputs carry a leading axis of `size`; `want[i]` forces output i."""
    key = ("vmap", tuple(mapped), size, tuple(want))
    found = program.memo.get(key)
    if found is None:
        found = program.memo[key] = _vmap(program, tuple(mapped), size, tuple(want))
    return found


def _vmap(program: Program, mapped: tuple[bool, ...], size: int, want: tuple[bool, ...]) -> tuple[Program, tuple[bool, ...]]:
    out_mapped: list[bool] = []

    def function(*args: Any) -> list[Any]:
        values: dict[Var, Any] = dict(zip(program.inputs, args, strict=True))
        batched = {v for v, m in zip(program.inputs, mapped, strict=True) if m}
        for e in program.equations:
            xs = [a if isinstance(a, Literal) else values[a] for a in e.inputs]
            mask = [a in batched for a in e.inputs]
            if any(mask):
                ys, masks = rule_of(e.op, "batch")(vmap, xs, mask, size, **e.params)
            else:
                ys, masks = again(e, xs), [False] * len(e.outputs)
            for v, y, m in zip(e.outputs, ys, masks, strict=True):
                values[v] = y
                if m:
                    batched.add(v)
        outs = [(a, False) if isinstance(a, Literal) else (values[a], a in batched) for a in program.outputs]
        wanted = want or (False,) * len(outs)
        outs = [(spread(y, size), True) if w and not m else (y, m) for (y, m), w in zip(outs, wanted, strict=True)]
        out_mapped[:] = [m for _, m in outs]
        return [y for y, _ in outs]

    types = [array_type((size, *v.type.shape), v.type.dtype) if m else v.type for v, m in zip(program.inputs, mapped, strict=True)]
    return stage(function, types), tuple(out_mapped)
