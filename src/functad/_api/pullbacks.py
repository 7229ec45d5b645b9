"""What vjp returns beside the value: the map from cotangents of the output to cotangents of the arguments, of a program or along a tape."""

import threading
from collections.abc import Sequence
from typing import NamedTuple

from functad._api.call import Structure, Traced, as_scalar_or_array, executable, run_program, unflatten_call
from functad._api.matching import matching
from functad._api.tape import Tape, fresh
from functad._core.program import Program
from functad._core.tracer import Tracer
from functad._core.types import ArrayType
from functad._primitives.inner_programs import memoised
from functad._transforms import derivative
from functad._transforms.linearize import Linearized
from functad._transforms.linearize import linearize as linearize_program
from functad.tree import Function, Leaf, Tree, TreeDef

__all__ = ["Point", "Pullback", "TapedPullback", "like_primals", "outputs_alone"]


def like_primals(structure: Structure, leaves: Sequence[Leaf], values: Sequence[Leaf]) -> tuple[Tree, ...]:
    """Cotangents in the trees of the primals, arrays where those are."""
    return unflatten_call(structure, [as_scalar_or_array(v, x) for v, x in zip(values, leaves, strict=True)])[0]


_SETTLING = threading.Lock()


class Point(NamedTuple):
    """A function linearised at its primals; `structure` and `types` are those of the outputs that are differentiated."""

    halves: Linearized
    residuals: tuple[Leaf, ...]
    structure: TreeDef | None
    types: Sequence[ArrayType]


def outputs_alone(program: Program, count: int) -> Program:
    """The program of the outputs that are differentiated."""
    if count == len(program.outputs):
        return program
    return memoised(program, ("outputs", count), lambda: Program(program.inputs, program.equations, program.outputs[:count]))


class Pullback:
    """The linear map from cotangents of the output to cotangents of the arguments; may be called any number of times."""

    __slots__ = ("_evaluate", "_leaves", "_point", "_structure")

    def __init__(self, point: Point, structure: Structure, leaves: Sequence[Leaf]) -> None:
        self._point, self._structure, self._leaves = point, structure, leaves
        self._evaluate: Function | None = None

    def _settle(self, program: Program) -> Function:
        """One evaluator for life: the same cotangent gives the same bits, from any thread."""
        with _SETTLING:
            if self._evaluate is None:
                self._evaluate = executable(program).settled()
            return self._evaluate

    def __call__(self, cotangent: Tree) -> tuple[Tree, ...]:
        """Cotangents of the arguments, a tuple with one entry for each."""
        point = self._point
        cts = matching(cotangent, point.structure, point.types, "cotangent", "output")
        active = [ct for ct, on in zip(cts, point.halves.out_active, strict=True) if on]
        program, operands = derivative.pullback(point.halves), [*point.residuals, *active]
        if any(type(x) is Tracer for x in operands):
            outs = run_program(program, operands)
        else:
            outs = (self._evaluate or self._settle(program))(*operands)
        return like_primals(self._structure, self._leaves, outs)


class TapedPullback:
    """The same along a tape, for a path that was met a few times only."""

    __slots__ = ("_active", "_inputs", "_leaves", "_program", "_saved", "_structure", "_tape", "_types", "output_structure", "outputs")

    def __init__(
        self, tape: Tape, traced: Traced, active: tuple[bool, ...], count: int, output_structure: TreeDef | None, structure: Structure,
        leaves: Sequence[Leaf],
    ) -> None:  # fmt: skip
        # copies, so that a later change to an argument or a captured array does not matter; one of what a loop captures at each of its rounds
        values, kinds = traced.inputs(), [v.type for v in tape.inputs]
        copies: dict[tuple[int, ArrayType], Leaf] = {}
        for x, kind in zip(values, kinds, strict=True):
            if (id(x), kind) not in copies:
                copies[id(x), kind] = fresh(x, kind)
        self._inputs = [copies[id(x), kind] for x, kind in zip(values, kinds, strict=True)]
        found, self._saved = tape.forward(self._inputs)
        self.outputs = [fresh(x, a.type) for x, a in zip(found, tape.outputs, strict=True)]
        self._tape, self._program, self._active = tape, traced.program, active
        self._types, self.output_structure = traced.program.output_types[:count], output_structure
        self._structure, self._leaves = structure, leaves

    def __call__(self, cotangent: Tree) -> tuple[Tree, ...]:
        """Cotangents of the arguments, a tuple with one entry for each."""
        cts = matching(cotangent, self.output_structure, self._types, "cotangent", "output")
        if any(type(ct) is Tracer for ct in cts):
            return self._as_program()(cotangent)
        return like_primals(self._structure, self._leaves, self._tape.back(self._saved, cts))

    def _as_program(self) -> Pullback:
        """For cotangents that are traced themselves: a step of their trace is a program."""
        n = len(self._types)
        halves = linearize_program(outputs_alone(self._program, n), self._active)
        residuals = tuple(executable(halves.forward)(*self._inputs)[n:])
        return Pullback(Point(halves, residuals, self.output_structure, self._types), self._structure, self._leaves)
