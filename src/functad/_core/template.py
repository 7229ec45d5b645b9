"""What one user-level operation records, kept once for each combination of types and stamped wherever the operation is used.

The equations of an operation depend on the operation, the types of its operands and its parameters alone.  So a path that was never seen
before costs a look-up and a few fresh variables for each of its operations; the equations themselves are made only if somebody reads them.
The table lives as long as the process and is bounded: past the bound the oldest templates go, and are made again when they are needed.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Final

from functad._core.interpret import evaluate_equations
from functad._core.program import Atom, Equation, Literal, Program, Var
from functad._core.types import ArrayType

__all__ = ["EMPTY", "TEMPLATES", "Stamp", "Template", "keep", "operands_of"]

MAX_TEMPLATES = 20_000
Outputs = Atom | tuple[Atom, ...]


class Template:
    """Equations between variables of its own.

    `operands` has an atom for each operand (one variable twice where the operation was given one value twice); `results` are the
    variables that equations bind and `outputs` names; `outputs` may also name operands and literals.
    """

    __slots__ = ("container", "inputs", "is_plain", "operands", "outputs", "program", "ranges", "results", "view")

    def __init__(
        self,
        operands: Sequence[Atom],
        equations: Sequence[Equation],
        outputs: Outputs,
        container: Callable[..., Any] | None = None,
        view: bool = False,
        ranges: Sequence[tuple[int, int, int]] = (),
    ) -> None:
        self.operands = tuple(operands)
        self.inputs: tuple[Var, ...] = tuple(dict.fromkeys([a for a in operands if isinstance(a, Var)]))
        self.outputs = outputs
        bound = {v for e in equations for v in e.outputs}
        named = outputs if isinstance(outputs, tuple) else (outputs,)
        self.results: tuple[Var, ...] = tuple(dict.fromkeys([a for a in named if isinstance(a, Var) and a in bound]))
        self.is_plain = len(self.results) == 1 and outputs is self.results[0]  # the usual case: one result, which is the output
        self.program = Program(self.inputs, equations, self.results)
        self.container = container  # makes a tuple of outputs what NumPy returns (a named tuple, a list)
        self.view = view  # NumPy's result shares memory with the operand
        self.ranges = tuple(ranges)  # (operand, lowest, highest) of literals that are cast to a narrow integer dtype

    def outputs_for(self, operands: Sequence[Atom], results: Sequence[Var]) -> Outputs:
        """The outputs in terms of other operands and results."""
        atoms: dict[Atom, Atom] = dict(zip(self.operands, operands, strict=True))
        atoms.update(zip(self.results, results, strict=True))
        if isinstance(self.outputs, tuple):
            return tuple([atoms.get(a, a) for a in self.outputs])
        return atoms.get(self.outputs, self.outputs)

    def evaluate(self, values: Sequence[Any]) -> Any:
        """The outputs for values of the operands."""
        found = evaluate_equations(self.program.equations, self.operands, values)
        atoms = self.outputs if isinstance(self.outputs, tuple) else (self.outputs,)
        outputs = tuple(a.array() if isinstance(a, Literal) else found[a] for a in atoms)
        return outputs if isinstance(self.outputs, tuple) else outputs[0]


class Stamp:
    """A template on operands and results of its own: one step of a path, which knows nothing of the trie around it."""

    __slots__ = ("_equations", "operands", "results", "template")

    def __init__(self, template: Template, operands: tuple[Atom, ...]) -> None:
        self.template = template
        self.operands = operands
        if template.is_plain:
            self.results: tuple[Var, ...] = (Var(template.results[0].type),)
        else:
            self.results = tuple([Var(v.type) for v in template.results])
        self._equations: list[Equation] | None = None

    @property
    def equations(self) -> list[Equation]:
        """The template's equations on these operands, everything between them and the results fresh; made at the first question."""
        if self._equations is None:
            made = self._made()
            if self._equations is None:
                self._equations = made
        return self._equations

    def _made(self) -> list[Equation]:
        atoms: dict[Atom, Atom] = dict(zip(self.template.operands, self.operands, strict=True))
        atoms.update(zip(self.template.results, self.results, strict=True))
        equations = []
        for e in self.template.program.equations:
            inputs = [atoms.get(a, a) for a in e.inputs]
            outputs = []
            for v in e.outputs:
                fresh = atoms.get(v)
                if fresh is None:
                    fresh = atoms[v] = Var(v.type)
                outputs.append(fresh)
            equations.append(Equation(e.op, inputs, e.params, outputs))  # type: ignore[arg-type]  # what equations bind are variables
        return equations


EMPTY: Final = Template((), (), ())
TEMPLATES: Final[dict[Hashable, Template]] = {}


def operands_of(pattern: Sequence[Hashable]) -> tuple[Atom, ...]:
    """Variables and literals for operands given by type, by value, or as the place of an earlier one."""
    atoms: list[Atom] = []
    for part in pattern:
        atoms.append(Var(part) if isinstance(part, ArrayType) else atoms[part] if isinstance(part, int) else part)  # type: ignore[arg-type]
    return tuple(atoms)


def keep(key: Hashable, template: Template) -> Template:
    """Keep a template; the one that another thread kept meanwhile wins."""
    while len(TEMPLATES) >= MAX_TEMPLATES:
        TEMPLATES.pop(next(iter(TEMPLATES)), None)
    return TEMPLATES.setdefault(key, template)
