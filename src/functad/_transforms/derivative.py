"""Whole derivatives as one program: value and gradient, Jacobians in either mode.

Each is the forward half inlined, followed by the linear half or its transpose, mapped over a basis made inside the program.
"""

from collections.abc import Sequence
from typing import Any

from functad._core.program import Literal, Program, without_dead
from functad._core.recorder import inline, stage
from functad._core.types import ArrayType, array_type
from functad._primitives.logic import convert, equal
from functad._primitives.operands import zeros_of
from functad._primitives.shape import reshape
from functad._transforms.linearize import Linearized, linearize
from functad._transforms.transpose import transpose
from functad._transforms.vmap import vmap

__all__ = ["gradient", "jacobian", "pullback", "transposed"]


def pullback(linearized: Linearized) -> Program:
    """Residuals, cotangents of the active outputs -> cotangents of the active inputs."""
    linear = linearized.linear
    return transpose(linear, [i >= linearized.residuals for i in range(len(linear.inputs))])


def transposed(program: Program, active: Sequence[bool]) -> Program | None:
    """Other inputs, cotangents of the outputs -> cotangents of the active inputs; None where the derivative depends on these: it is not linear."""
    key = ("transposed", tuple(active))
    if key not in program.memo:
        program.memo[key] = _transposed(program, tuple(active))
    found: Program | None = program.memo[key]
    return found


def _transposed(program: Program, active: tuple[bool, ...]) -> Program | None:
    halves, m = linearize(program, active), len(program.outputs)
    # narrowed first: a loop that carries both kinds of values depends on the active inputs as a whole
    known = without_dead(Program(halves.forward.inputs, halves.forward.equations, halves.forward.outputs[m:]))
    moving: set[Any] = {v for v, a in zip(known.inputs, active, strict=True) if a}
    if not moving.isdisjoint(known.outputs) or any(not moving.isdisjoint(e.inputs) for e in known.equations):
        return None
    fixed = [v for v, a in zip(known.inputs, active, strict=True) if not a]
    residuals = Program(fixed, known.equations, known.outputs)

    def function(*inputs: Any) -> list[Any]:
        cts = [ct for ct, on in zip(inputs[len(fixed) :], halves.out_active, strict=True) if on]
        return inline(pullback(halves), [*inline(residuals, inputs[: len(fixed)]), *cts])

    return stage(function, [*[v.type for v in fixed], *program.output_types])


def gradient(program: Program, active: Sequence[bool]) -> Program:
    """Inputs -> outputs, gradient of the first output (a scalar) with respect to each active input; the inputs are the program's own."""
    key = ("gradient", tuple(active))
    found = program.memo.get(key)
    if found is None:
        found = program.memo[key] = _gradient(program, tuple(active))
    return found


def _gradient(program: Program, active: tuple[bool, ...]) -> Program:
    m = len(program.outputs)
    halves = linearize(program, active)
    wanted = [v.type for v, a in zip(program.inputs, active, strict=True) if a]

    def function(*inputs: Any) -> list[Any]:
        outs = inline(halves.forward, inputs)
        values, residuals = outs[:m], outs[m:]
        if not halves.out_active[0]:
            return [*values, *map(zeros_of, wanted)]
        kinds = [a.type for a, on in zip(program.outputs, halves.out_active, strict=True) if on]
        cts = [Literal(1 if i == 0 else 0, array_type(k.shape, k.dtype)) for i, k in enumerate(kinds)]
        return [*values, *inline(pullback(halves), [*residuals, *cts])]

    return stage(function, program.inputs)


def _basis(kind: ArrayType) -> Any:
    """The identity of `kind.size` elements as an array of shape (size, *shape)."""
    from functad._primitives.index import iota

    n = kind.size
    whole = array_type((n, n), "int64")
    rows, columns = (iota(shape=whole.shape, axis=a, dtype=whole.dtype) for a in (0, 1))
    eye = convert(equal(rows, columns), dtype=kind.dtype)
    return eye if kind.shape == (n,) else reshape(eye, shape=(n, *kind.shape))


def jacobian(program: Program, active: Sequence[bool], forward: bool, outputs: int) -> Program:
    """Inputs -> all outputs, then for each of the first `outputs` outputs and each active input their Jacobian, output axes first."""
    key = ("jacobian", tuple(active), forward, outputs)
    found = program.memo.get(key)
    if found is None:
        found = program.memo[key] = (_forward_jacobian if forward else _reverse_jacobian)(program, tuple(active), outputs)
    return found


def _zero_block(out: ArrayType, given: ArrayType) -> Any:
    return zeros_of(array_type((*out.shape, *given.shape), out.dtype))


def _reverse_jacobian(program: Program, active: tuple[bool, ...], outputs: int) -> Program:
    halves, m = linearize(program, active), len(program.outputs)
    wanted = [v.type for v, a in zip(program.inputs, active, strict=True) if a]
    kinds = [a.type for a, on in zip(program.outputs, halves.out_active, strict=True) if on]

    def function(*inputs: Any) -> list[Any]:
        outs = inline(halves.forward, inputs)
        values, residuals = outs[:m], outs[m:]
        blocks: list[Any] = []
        position = 0
        for i in range(outputs):
            out = program.outputs[i].type
            if not halves.out_active[i]:
                blocks += [_zero_block(out, k) for k in wanted]
                continue
            mapped = [False] * len(residuals) + [k == position for k in range(len(kinds))]
            batched, _ = vmap(pullback(halves), mapped, out.size, [True] * len(wanted))
            cts = [_basis(k) if j == position else zeros_of(k) for j, k in enumerate(kinds)]
            rows = inline(batched, [*residuals, *cts])
            blocks += [_shaped(r, (*out.shape, *k.shape)) for r, k in zip(rows, wanted, strict=True)]
            position += 1
        return [*values, *blocks]

    return stage(function, program.input_types)


def _forward_jacobian(program: Program, active: tuple[bool, ...], outputs: int) -> Program:
    from functad._primitives.shape import transpose as permute

    halves, m = linearize(program, active), len(program.outputs)
    wanted = [v.type for v, a in zip(program.inputs, active, strict=True) if a]

    def function(*inputs: Any) -> list[Any]:
        outs = inline(halves.forward, inputs)
        values, residuals = outs[:m], outs[m:]
        columns = []
        for j, kind in enumerate(wanted):
            mapped = [False] * len(residuals) + [k == j for k in range(len(wanted))]
            batched, _ = vmap(halves.linear, mapped, kind.size, [True] * sum(halves.out_active))
            ts = [_basis(k) if i == j else zeros_of(k) for i, k in enumerate(wanted)]
            columns.append(inline(batched, [*residuals, *ts]))
        blocks: list[Any] = []
        position = 0
        for i in range(outputs):
            out = program.outputs[i].type
            if not halves.out_active[i]:
                blocks += [_zero_block(out, k) for k in wanted]
                continue
            for kind, column in zip(wanted, columns, strict=True):
                block = permute(column[position], order=(*range(1, out.ndim + 1), 0))
                blocks.append(_shaped(block, (*out.shape, *kind.shape)))
            position += 1
        return [*values, *blocks]

    return stage(function, program.input_types)


def _shaped(x: Any, shape: tuple[int, ...]) -> Any:
    if x.type.shape == shape:
        return x
    return Literal(x.value, array_type(shape, x.type.dtype)) if isinstance(x, Literal) else reshape(x, shape=shape)
