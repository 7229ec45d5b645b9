"""A gradient step by step, for a path that may never come again.

A path through a user's function, a loop over data of a new length say, costs its program, the program's derivative, simplification and
generated source: 0.25 ms for each operation.  Where it runs once that is never earned back.  So a long path is first evaluated as a tape: each
step of the recording runs as a small function made for its template, forward and then backward, with the rules of the transforms inside a
step and sums of cotangents between steps.  Templates and their functions are kept, so a new path costs microseconds for each operation.

What a tape may assume: a path of steps, inputs known to be active.  What it promises: the outputs of `derivative.gradient`, up to the last
bits where structural zeros are shared between steps; after `MOST_CALLS` calls the program has paid for itself, and is made.

Structural zeros (Note [structural zeros] in `_primitives.alive`) between steps are arrays of booleans beside the cotangents.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from functad._api.tape_steps import Backward, Step, Variant, marked_step, step_of
from functad._core.program import Atom, Literal, Program, Var
from functad._core.trie import Recorded
from functad._transforms.marking import Marker

__all__ = ["LEAST_STEPS", "MOST_CALLS", "Tape", "tape_of"]

LEAST_STEPS = 100  # shorter paths are made programs at once: their repeated calls are faster
MOST_CALLS = 20  # a program costs about as much as this many calls of a tape


Vars = tuple[Var, ...]
Run = Callable[..., tuple[Any, ...]]
Forward = tuple[Run, Vars, Vars]  # a step's function, the variables that it takes, its results (residuals follow)
# A step's function on the way back, which forward step's tuple of values it takes, variables whose cotangents it takes, those of them whose
# structural zeros it takes as well, variables that its results are contributions to, and those whose booleans follow:
Back = tuple[Run, int, Vars, Vars, Vars, Vars]


class Tape:
    """Outputs from `first` on, and the gradient of output 0 with respect to the active inputs, as `derivative.gradient` gives them."""

    __slots__ = ("active", "backward", "calls", "first", "forward", "inputs", "outputs")

    def __init__(self, program: Recorded, active: Sequence[bool], first: int) -> None:
        self.inputs, self.outputs, self.first = program.inputs, program.outputs, first
        self.active: Vars = tuple([v for v, m in zip(program.inputs, active, strict=True) if m])
        self.calls = 0
        self.forward: list[Forward] = []
        self.backward: list[Back] = []
        self._plan(_steps(program))

    def __call__(self, *args: Any) -> tuple[Any, ...] | None:
        """The outputs, or None when the program has paid for itself."""
        self.calls += 1
        if self.calls > MOST_CALLS:
            return None
        values: dict[Atom, Any] = dict(zip(self.inputs, args, strict=True))
        with np.errstate(all="ignore"):
            saved = []
            for run, inputs, results in self.forward:
                out = run(*[values[v] for v in inputs])
                saved.append(out)
                if len(results) == 1:
                    values[results[0]] = out[0]
                else:
                    values.update(zip(results, out, strict=False))  # residuals follow
            cts = self._pulled(saved)
        found = [a.array() if isinstance(a, Literal) else values[a] for a in self.outputs[self.first :]]
        kinds = [a.type for a in (*self.outputs[self.first :], *self.active)]
        found += [cts[v] if v in cts else np.zeros(v.type.shape, v.type.dtype) for v in self.active]
        return tuple([np.array(x, kind.dtype)[()] for x, kind in zip(found, kinds, strict=True)])

    def _pulled(self, saved: Sequence[tuple[Any, ...]]) -> dict[Atom, Any]:
        """Cotangents of the inputs."""
        out = self.outputs[0]
        cts: dict[Atom, Any] = {out: out.type.dtype.type(1)}
        alive: dict[Var, Any] = {}
        for run, at, given, masked, targets, more in self.backward:
            if masked:
                found = run(saved[at], *[cts[v] for v in given], *[alive[v] for v in masked])
            else:
                found = run(saved[at], *[cts[v] for v in given])
            for v, ct in zip(targets, found, strict=False):
                before = cts.get(v)
                cts[v] = ct if before is None else np.add(before, ct)
            for v, holds in zip(more, found[len(targets) :], strict=True):
                before = alive.get(v)
                alive[v] = holds if before is None else before | holds
        return cts

    def _plan(self, steps: Sequence[tuple[Step, Vars, Vars]]) -> None:
        moving: set[Var] = set(self.active)
        variants: list[Variant] = []
        for step, inputs, results in steps:
            variant = step.variant(tuple([v in moving for v in inputs]))
            if variant.is_active:
                moving.update(variant.carriers(results))
            self.forward.append((variant.run, inputs, results))
            variants.append(variant)
        out = self.outputs[0]
        zeros: dict[Atom, bool] = {out: False} if out in moving else {}  # variables with a cotangent, and whether that has structural zeros
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
            self.backward.append((back.function(wanted), at, given, masked, targets, alive))


def tape_of(program: Program, active: Sequence[bool], first: int) -> Tape | None:
    """The tape of a path that is long enough for one."""
    return Tape(program, active, first) if isinstance(program, Recorded) and len(program.path) >= LEAST_STEPS else None


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
