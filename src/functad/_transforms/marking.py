"""Forms across the steps of a path: which operations must be marked, with what they need of earlier ones.

`forms.recognised` marks a whole program.  A path that is differentiated step by step is never made a program, so the steps whose last
operation may end a form are looked at one by one, and only what stands behind them is made.
"""

from collections.abc import Sequence
from typing import Any

from functad._core.program import Atom, Equation, Literal, Program, Var
from functad._core.template import Stamp
from functad._transforms.forms import FORMS, Form, Matcher

__all__ = ["Marker", "suspects_of"]

Key = tuple[Any, ...]


class _Producers(dict[Atom, Equation]):
    """The equation behind each variable, made when it is asked for."""

    def __init__(self, steps: Sequence[Stamp]) -> None:
        super().__init__()
        self.owner: dict[Atom, Stamp] = {v: step for step in steps for v in step.results}

    def get(self, a: Atom, default: Any = None) -> Any:
        found = super().get(a)
        if found is None and (step := self.owner.get(a)) is not None:
            self.add(step)
            found = super().get(a)
        return found

    def add(self, step: Stamp) -> None:
        """All equations of a step."""
        for e in step.equations:
            self.update(dict.fromkeys(e.outputs, e))


class Marker:
    """Asks the steps of one path for forms."""

    def __init__(self, steps: Sequence[Stamp]) -> None:
        self.producers = _Producers(steps)
        self.matcher = Matcher()
        self.matcher.producer = self.producers

    def marked(self, step: Stamp, suspects: Sequence[int]) -> tuple[Key, Program, list[Var]] | None:
        """(what distinguishes the marked step from others, its program, variables of the path that it takes); None where there is no form.

        `suspects` are the positions of equations that may end one.
        """
        self.producers.add(step)
        forms: dict[int, Form] = {}
        for i in suspects:
            e = step.equations[i]
            form = FORMS[e.op.name](self.matcher, e)
            if form is not None:
                forms[i] = form
        return _MarkedStep(step, forms, self.producers).build() if forms else None


def suspects_of(program: Program) -> tuple[int, ...]:
    """Positions of the equations that may end a form."""
    return tuple([i for i, e in enumerate(program.equations) if e.op.name in FORMS and e.outputs[0].type.dtype.kind == "f"])


class _MarkedStep:
    """A step's equations with their forms marked, and what these need of earlier steps computed once more."""

    def __init__(self, step: Stamp, forms: dict[int, Form], producers: _Producers) -> None:
        self.step, self.forms, self.producers = step, forms, producers
        self.inputs: list[Var] = list(dict.fromkeys([a for a in step.operands if isinstance(a, Var)]))
        self.code: dict[Atom, Any] = {v: i for i, v in enumerate(self.inputs)}
        self.before: list[Equation] = []
        self.key: list[Any] = [step.template]

    def coded(self, atoms: Sequence[Atom]) -> Key:
        return tuple([a if isinstance(a, Literal) else self.code[a] for a in atoms])

    def need(self, a: Atom) -> None:
        """Make an atom of an earlier step available: a step's result is taken, what is within a step is computed once more."""
        if isinstance(a, Literal) or a in self.code:
            return
        e = None if a in self.producers.owner else self.producers.get(a)
        if e is None:
            self.code[a] = len(self.code)
            self.inputs.append(a)
            self.key.append(a.type)
            return
        for x in e.inputs:
            self.need(x)
        self.before.append(e)
        self.key.append((e.op, tuple(e.params.items()), self.coded(e.inputs)))
        self.code.update({v: len(self.code) + i for i, v in enumerate(e.outputs)})

    def build(self) -> tuple[Key, Program, list[Var]]:
        own = {v for e in self.step.equations for v in e.outputs}
        for _, inputs, _, _ in self.forms.values():
            for a in inputs:
                if a not in own:
                    self.need(a)
        for e in self.step.equations:
            self.code.update({v: len(self.code) + i for i, v in enumerate(e.outputs)})
        renamed: dict[Atom, Atom] = {}
        equations = list(self.before)
        for i, e in enumerate(self.step.equations):
            if renamed:
                e = Equation(e.op, [renamed.get(a, a) for a in e.inputs], e.params, e.outputs)
            form = self.forms.get(i)
            if form is None:
                equations.append(e)
                continue
            op, inputs, params, replaces = form
            self.key.append((i, op, tuple(params.items()), replaces, self.coded(inputs)))
            if replaces:
                equations.append(Equation(op, inputs, params, e.outputs))
            else:
                marked = Var(e.outputs[0].type)
                equations += [e, Equation(op, inputs, params, [marked])]
                renamed[e.outputs[0]] = marked
        program = Program(self.inputs, equations, [renamed.get(v, v) for v in self.step.results])
        program.memo["recognised"] = program
        return tuple(self.key), program, self.inputs
