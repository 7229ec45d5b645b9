"""A gradient step by step, for a path that may never come again.

A path through a user's function, a loop over data of a new length say, costs its program, the program's derivative, simplification and
generated source: 0.25 ms for each operation.  Where it runs once that is never earned back.  So a long path is first evaluated as a tape: each
step of the recording runs as a small function made for its template, forward and then backward, with the rules of the transforms inside a
step and sums of cotangents between steps.  Templates and their functions are kept, so a new path costs microseconds for each operation.

What a tape may assume: a path of steps, inputs known to be active.  What it promises: the outputs of `derivative.gradient`, up to the last
bits where structural zeros are shared between steps; after `MOST_CALLS` calls the program has paid for itself, and is made.

Structural zeros (Note [structural zeros] in `_primitives.alive`) between steps are arrays of booleans beside the cotangents.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeGuard

import numpy as np

from functad._api.tape_steps import Backward, Step, Variant, marked_step, step_of
from functad._core.program import Atom, Literal, Program, Var
from functad._core.tracer import Tracer
from functad._core.trie import Recorded
from functad._core.types import ArrayType
from functad._transforms.marking import Marker
from functad.tree import Leaf

__all__ = ["LEAST_STEPS", "MOST_CALLS", "Tape", "fresh", "gradient_tape", "is_long", "rented"]

LEAST_STEPS = 100  # shorter paths are made programs at once: their repeated calls are faster
MOST_CALLS = 20  # a program costs about as much as this many calls of a tape


Vars = tuple[Var, ...]
Run = Callable[..., tuple[Any, ...]]
Forward = tuple[Run, Vars, Vars]  # a step's function, the variables that it takes, its results (residuals follow)
# A step's function on the way back, which forward step's tuple of values it takes, variables whose cotangents it takes, those of them whose
# structural zeros it takes as well, variables that its results are contributions to, and those whose booleans follow:
Back = tuple[Run, int, Vars, Vars, Vars, Vars]


class Tape:
    """A program and the way back through it, for cotangents of the first `seeded` outputs."""

    __slots__ = ("_back", "_forward", "active", "inputs", "outputs", "seeds")

    def __init__(self, program: Recorded, active: Sequence[bool], seeded: int) -> None:
        self.inputs, self.outputs = program.inputs, program.outputs
        self.active: Vars = tuple([v for v, m in zip(program.inputs, active, strict=True) if m])
        self._forward: list[Forward] = []
        self._back: list[Back] = []
        self.seeds: list[Var | None] = []  # of the seeded outputs: the variable, None where no active input reaches it
        self._plan(_steps(program), seeded)

    def forward(self, args: Sequence[Leaf]) -> tuple[list[Leaf], list[tuple[Leaf, ...]]]:
        """(outputs, values of all steps, for the way back); the outputs may share memory with these and with the arguments."""
        values: dict[Atom, Leaf] = dict(zip(self.inputs, args, strict=True))
        saved = []
        with np.errstate(all="ignore"):
            for run, inputs, results in self._forward:
                out = run(*[values[v] for v in inputs])
                saved.append(out)
                if len(results) == 1:
                    values[results[0]] = out[0]
                else:
                    values.update(zip(results, out, strict=False))  # residuals follow
        return [a.array() if isinstance(a, Literal) else values[a] for a in self.outputs], saved

    def back(self, saved: Sequence[tuple[Leaf, ...]], given: Sequence[Leaf]) -> list[Leaf]:
        """Cotangents of the active inputs from those of the seeded outputs; fresh arrays."""
        cts: dict[Atom, Leaf] = {}
        alive: dict[Var, Leaf] = {}
        with np.errstate(all="ignore"):
            for seed, ct in zip(self.seeds, given, strict=True):
                if seed is not None:
                    cts[seed] = np.add(cts[seed], ct) if seed in cts else ct
            for run, at, wanted, masked, targets, more in self._back:
                if masked:
                    found = run(saved[at], *[cts[v] for v in wanted], *[alive[v] for v in masked])
                else:
                    found = run(saved[at], *[cts[v] for v in wanted])
                for v, ct in zip(targets, found, strict=False):
                    before = cts.get(v)
                    cts[v] = ct if before is None else np.add(before, ct)
                for v, holds in zip(more, found[len(targets) :], strict=True):
                    before = alive.get(v)
                    alive[v] = holds if before is None else before | holds
        return [fresh(cts[v], v.type) if v in cts else np.zeros(v.type.shape, v.type.dtype)[()] for v in self.active]

    def _plan(self, steps: Sequence[tuple[Step, Vars, Vars]], seeded: int) -> None:
        moving: set[Var] = set(self.active)
        variants: list[Variant] = []
        for step, inputs, results in steps:
            variant = step.variant(tuple([v in moving for v in inputs]))
            if variant.is_active:
                moving.update(variant.carriers(results))
            self._forward.append((variant.run, inputs, results))
            variants.append(variant)
        self.seeds = [a if isinstance(a, Var) and a in moving else None for a in self.outputs[:seeded]]
        zeros: dict[Atom, bool] = {v: False for v in self.seeds if v is not None}  # variables with a cotangent: whether it has structural zeros
        chosen: list[tuple[Backward, int, Vars, Vars]] = []
        for at in range(len(steps) - 1, -1, -1):
            variant = variants[at]
            if not variant.is_active:
                continue
            carriers = variant.carriers(steps[at][2])
            present = tuple([v in zeros for v in carriers])
            if True not in present:
                continue
            given = carriers if False not in present else tuple([v for v in carriers if v in zeros])
            back = variant.backward(present, tuple([zeros.get(v, False) for v in carriers]))
            inputs = steps[at][1]
            targets = tuple([inputs[i] for i in back.targets])
            for v, has in zip(targets, back.structural, strict=True):
                zeros[v] = has and zeros.get(v, True)
            chosen.append((back, at, given, targets))
        asked: set[Atom] = {v for _, _, given, _ in chosen for v in given if zeros[v]}
        for back, at, given, targets in chosen:
            masked: Vars = ()
            alive: Vars = ()
            if asked:
                masked = tuple([v for v in given if v in asked])
                alive = tuple([v for v, has in zip(targets, back.structural, strict=True) if has and v in asked])
            wanted = tuple([has and v in asked for v, has in zip(targets, back.structural, strict=True)]) if alive else ()
            self._back.append((back.function(wanted), at, given, masked, targets, alive))


def fresh(x: Leaf, kind: ArrayType) -> Leaf:
    """A copy of a result; a NumPy scalar where it has no axes."""
    return np.array(x, kind.dtype)[()]


class Rented:
    """A tape by the call, until the program that it stands for has paid for itself."""

    __slots__ = ("calls", "tape")

    def __init__(self, tape: Tape) -> None:
        self.tape = tape
        self.calls = 0

    def is_over(self) -> bool:
        """Count a call: whether it was the last, and the program is due."""
        self.calls += 1
        return self.calls > MOST_CALLS


class TapedGradient(Rented):
    """Outputs from `first` on, and the gradient of output 0 with respect to the active inputs, as `derivative.gradient` gives them."""

    __slots__ = ("first",)

    def __init__(self, tape: Tape, first: int) -> None:
        super().__init__(tape)
        self.first = first

    def __call__(self, *args: Leaf) -> tuple[Leaf, ...] | None:
        """The results, or None when the program is due."""
        if self.is_over():
            return None
        outputs, saved = self.tape.forward(args)
        gradient = self.tape.back(saved, [self.tape.outputs[0].type.dtype.type(1)])
        values = [fresh(x, a.type) for x, a in zip(outputs[self.first :], self.tape.outputs[self.first :], strict=True)]
        return (*values, *gradient)


def gradient_tape(program: Program, active: Sequence[bool], first: int) -> TapedGradient | None:
    """The gradient of a path that is long enough for a tape."""
    return TapedGradient(Tape(program, active, 1), first) if is_long(program) else None


def is_long(program: Program) -> TypeGuard[Recorded]:
    """Whether this is the program of a path that is worth a tape."""
    return isinstance(program, Recorded) and len(program.path) >= LEAST_STEPS


def rented(program: Recorded, active: tuple[bool, ...], seeded: int, operands: Iterable[Leaf]) -> Tape | None:
    """The tape of a long path for one more evaluation, or None where its program serves: due, pinned, or part of another trace."""
    from functad._compile.pipeline import pinned_evaluator  # the kernel room is not loaded with the package

    if pinned_evaluator() is not None or any(type(x) is Tracer for x in operands):
        return None
    key = ("tape", active, seeded)
    found = program.memo.get(key)
    if found is None:
        found = program.memo[key] = Rented(Tape(program, active, seeded))
    return None if found.is_over() else found.tape


def _steps(program: Recorded) -> list[tuple[Step, Vars, Vars]]:
    """What the outputs need, in order: (step, its inputs, its results)."""
    needed: set[Any] = set(program.outputs)
    live = []
    for stamp in reversed(program.path):
        if not needed.isdisjoint(stamp.results):
            live.append(stamp)
            needed.update(stamp.operands)
    live.reverse()
    marker = Marker(live)
    steps = []
    for stamp in live:
        step = step_of(stamp.template)
        marked = marker.marked(stamp, step.suspects) if step.suspects else None
        if marked is not None:
            key, whole, taken = marked
            steps.append((marked_step(key, whole), tuple(taken), stamp.results))
        elif len(stamp.template.inputs) == len(stamp.operands):
            steps.append((step, stamp.operands, stamp.results))  # type: ignore[arg-type]  # no literal among them
        else:
            steps.append((step, tuple(dict.fromkeys([a for a in stamp.operands if type(a) is Var])), stamp.results))
    return steps
