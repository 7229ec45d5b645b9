"""Forms across the steps of a path: which operations must be marked, with what they need of earlier ones.

`forms.recognised` marks a whole program.  A path that is differentiated step by step is never made a program, so the steps whose last
operation may end a form are looked at one by one, and only what stands behind them is made.
"""

from collections.abc import Sequence
from typing import Any

from functad._core.program import Atom, Equation, Literal, Program, Var
from functad._core.trie import Node
from functad._transforms.forms import FORMS, Form, Matcher

__all__ = ["Marker", "suspects_of"]

Key = tuple[Any, ...]


class _Producers(dict[Atom, Equation]):
    """The equation behind each variable, made when it is asked for."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        super().__init__()
        self.owner: dict[Atom, Node] = {v: n for n in nodes for v in n.results}

    def get(self, a: Atom, default: Any = None) -> Any:
        found = super().get(a)
        if found is None and (node := self.owner.get(a)) is not None:
            self.add(node)
            found = super().get(a)
        return found

    def add(self, node: Node) -> None:
        """All equations of a node."""
        for e in node.equations:
            self.update(dict.fromkeys(e.outputs, e))


class Marker:
    """Asks the nodes of one path for forms."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.producers = _Producers(nodes)
        self.matcher = Matcher()
        self.matcher.producer = self.producers

    def marked(self, node: Node, suspects: Sequence[int]) -> tuple[Key, Program, list[Var]] | None:
        """(what distinguishes the marked step from others, its program, variables of the path that it takes); None where there is no form.

        `suspects` are the positions of equations that may end one.
        """
        self.producers.add(node)
        forms: dict[int, Form] = {}
        for i in suspects:
            e = node.equations[i]
            form = FORMS[e.op.name](self.matcher, e)
            if form is not None:
                forms[i] = form
        return _MarkedStep(node, forms, self.producers).build() if forms else None


def suspects_of(program: Program) -> tuple[int, ...]:
    """Positions of the equations that may end a form."""
    return tuple([i for i, e in enumerate(program.equations) if e.op.name in FORMS and e.outputs[0].type.dtype.kind == "f"])


class _MarkedStep:
    """A node's equations with their forms marked, and what these need of earlier steps computed once more."""

    def __init__(self, node: Node, forms: dict[int, Form], producers: _Producers) -> None:
        self.node, self.forms, self.producers = node, forms, producers
        self.inputs: list[Var] = list(dict.fromkeys([a for a in node.operands if isinstance(a, Var)]))
        self.code: dict[Atom, Any] = {v: i for i, v in enumerate(self.inputs)}
        self.before: list[Equation] = []
        self.key: list[Any] = [node.template]

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
        own = {v for e in self.node.equations for v in e.outputs}
        for _, inputs, _, _ in self.forms.values():
            for a in inputs:
                if a not in own:
                    self.need(a)
        for e in self.node.equations:
            self.code.update({v: len(self.code) + i for i, v in enumerate(e.outputs)})
        renamed: dict[Atom, Atom] = {}
        equations = list(self.before)
        for i, e in enumerate(self.node.equations):
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
        program = Program(self.inputs, equations, [renamed.get(v, v) for v in self.node.results])
        program.memo["recognised"] = program
        return tuple(self.key), program, self.inputs
