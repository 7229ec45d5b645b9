"""The steps that tapes are made of: functions forward and backward for one operation, kept for each use that is made of it."""

from collections.abc import Callable, Hashable, Iterator
from typing import Any, Final

import numpy as np

from functad._core.interpret import step_function
from functad._core.program import Atom, Equation, Literal, Program, Var, without_dead
from functad._core.recorder import stage
from functad._core.template import Template
from functad._core.types import array_type
from functad._primitives.alive import alive, has_zeros
from functad._primitives.arithmetic import mask
from functad._transforms.linearize import linearize
from functad._transforms.marking import suspects_of
from functad._transforms.transpose import pulled_back

__all__ = ["Backward", "Step", "Variant", "marked_step", "step_of"]

MOST_MARKED = 10_000
Flags = tuple[bool, ...]


class Step:
    """One operation, by which of its inputs are active."""

    __slots__ = ("program", "suspects", "variants")

    def __init__(self, program: Program) -> None:
        self.program = program
        self.suspects = suspects_of(program)
        self.variants: dict[Flags, Variant] = {}

    def variant(self, active: Flags) -> "Variant":
        """The step for these active inputs."""
        found = self.variants.get(active)
        if found is None:
            found = self.variants[active] = Variant(self.program, active)
        return found


class Variant:
    """`run` gives the results and then the residuals; `out_active` says which results have a derivative, `is_active` whether any has."""

    __slots__ = ("backwards", "halves", "is_active", "out_active", "results", "run")

    def __init__(self, program: Program, active: Flags) -> None:
        self.results = len(program.outputs)
        self.backwards: dict[tuple[Flags, Flags], Backward] = {}
        self.halves = linearize(program, active) if any(active) else None
        self.out_active = self.halves.out_active if self.halves is not None else (False,) * self.results
        self.is_active = any(self.out_active)
        self.run = step_function(simplified(self.halves.forward if self.halves is not None and self.is_active else program))

    def carriers(self, results: tuple[Var, ...]) -> tuple[Var, ...]:
        """The results that have a derivative."""
        return results if all(self.out_active) else tuple([v for v, on in zip(results, self.out_active, strict=True) if on])

    def backward(self, present: Flags, structural: Flags) -> "Backward":
        """The way back, by which active results have a cotangent and which of these have structural zeros."""
        found = self.backwards.get((present, structural))
        if found is None:
            assert self.halves is not None
            found = self.backwards[present, structural] = Backward(self.halves, self.results, present, structural)
        return found


def simplified(program: Program) -> Program:
    """The program without needless work."""
    from functad._compile.rewriting.simplify import simplify  # the kernel room is not loaded with the package

    return simplify(program)


class Backward:
    """From residuals, cotangents and booleans of structural zeros to contributions: `targets` says to which inputs."""

    __slots__ = ("functions", "packed", "program", "structural", "targets")

    def __init__(self, halves: Any, results: int, present: Flags, structural: Flags) -> None:
        linear, r = halves.linear, halves.residuals
        order = [i for i, on in enumerate(halves.active) if on]
        place = dict(zip(linear.inputs[r:], order, strict=True))
        self.packed = (results, r)
        self.functions: dict[Flags, Callable[..., tuple[Any, ...]]] = {}
        self.targets: tuple[int, ...] = ()
        self.structural: Flags = ()
        kinds = [a.type for a, on in zip(linear.outputs, present, strict=True) if on]
        masks = [array_type(a.type.shape, np.bool_) for a, on in zip(linear.outputs, structural, strict=True) if on]
        wrapped: dict[Atom, Atom] = {}

        def function(*args: Any) -> list[Any]:
            cts, holds = iter(args[r : r + len(kinds)]), iter(args[r + len(kinds) :])
            found: list[tuple[int, Any]] = []
            pulled_back(
                linear, [i >= r for i in range(len(linear.inputs))], args[:r], list(_wrapped(cts, holds, present, structural, wrapped)),
                lambda v, ct: found.append((place[v], ct)),
            )  # fmt: skip
            booleans = [alive(ct) if has_zeros(ct) else None for _, ct in found]
            self.targets = tuple([i for i, _ in found])
            self.structural = tuple([b is not None and not (isinstance(b, Literal) and b.value) for b in booleans])
            return [ct for _, ct in found] + [b for b, on in zip(booleans, self.structural, strict=True) if on]

        whole = stage(function, [*[v.type for v in linear.inputs[:r]], *kinds, *masks])
        self.program = _renamed(whole, wrapped)

    def function(self, wanted: Flags) -> Callable[..., tuple[Any, ...]]:
        """The function that gives the contributions, and the booleans of those that are wanted (none, if it is empty)."""
        found = self.functions.get(wanted)
        if found is None:
            n = len(self.targets)
            places = [i for i, has in enumerate(self.structural) if has]
            kept = [b for i, b in zip(places, self.program.outputs[n:], strict=True) if wanted and wanted[i]]
            narrow = without_dead(Program(self.program.inputs, self.program.equations, [*self.program.outputs[:n], *kept]))
            found = self.functions[wanted] = step_function(simplified(narrow), self.packed)
        return found


def _wrapped(cts: Iterator[Any], holds: Iterator[Any], present: Flags, structural: Flags, wrapped: dict[Atom, Atom]) -> Iterator[Any]:
    """The cotangents of the outputs; behind a mask, so that rules see their structural zeros."""
    for on, has in zip(present, structural, strict=True):
        if not on:
            yield None
        elif not has:
            yield next(cts)
        else:
            ct = next(cts)
            masked = mask(next(holds), ct)
            wrapped[masked.atom] = ct.atom  # type: ignore[union-attr]  # no literal: the boolean and the cotangent are inputs
            yield masked


def _renamed(program: Program, atoms: dict[Atom, Atom]) -> Program:
    """The masks around cotangents left out again: where nothing was multiplied the zeros are there already."""
    if not atoms:
        return program
    equations = [Equation(e.op, [atoms.get(a, a) for a in e.inputs], e.params, e.outputs) for e in program.equations]
    return without_dead(Program(program.inputs, equations, [atoms.get(a, a) for a in program.outputs]))


_MARKED: Final[dict[Hashable, Step]] = {}


def step_of(template: Template) -> Step:
    """The step of a template, kept with it."""
    memo = template.program.memo
    found = memo.get("step")
    if found is None:
        found = memo.setdefault("step", Step(template.program))
    return found  # type: ignore[no-any-return]  # memo is untyped


def marked_step(key: Hashable, program: Program) -> Step:
    """The step of a marked program, kept by its key; bounded."""
    found = _MARKED.get(key)
    if found is None:
        while len(_MARKED) >= MOST_MARKED:
            _MARKED.pop(next(iter(_MARKED)), None)
        found = _MARKED.setdefault(key, Step(program))
    return found
