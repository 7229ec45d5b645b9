"""What a schedule is: steps, and where variables live.

What lives here: `Loops`, `Routine`, `Rows` and `Store`, of which a `Plan` is made, and what may be asked of an equation while planning:
its cost, its index map.  Which steps there are is decided in `schedule` and `rows`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from functad._compile.scheduling.sizes import Sizes
from functad._core.primitive import Expression, View
from functad._core.program import Atom, Equation, Program, Var

__all__ = ["PULLED", "Loops", "Piece", "Plan", "Routine", "Rows", "Step", "Store", "cost_of", "probe", "space_of"]

Piece = tuple[str | None, int | None, Sequence[str]]  # of a view: the condition, which input, its indices
PULLED = frozenset({"gather", "iota"})  # calls without loops of their own: one element at a time, like a view


@dataclass(eq=False)
class Store:
    """Write `atom`, element by element, to its own storage, to a result (`output`), or to a part of a join (`region`: variable,
    axis, first index).
    """

    atom: Atom
    output: int | None = None
    region: tuple[Var, int, str] | None = None


@dataclass(eq=False)
class Loops:
    """A nest of loops over `space` (sizes other than 1; none: straight-line code); `flat` if it may run over the flat index."""

    space: tuple[str, ...]
    stores: list[Store] = field(default_factory=list)
    folds: list[Equation] = field(default_factory=list)
    written: set[Var] = field(default_factory=set)
    pulled: set[Var] = field(default_factory=set)
    reads: set[tuple[Var, bool]] = field(default_factory=set)  # stored variables, and whether at the loops' own index
    flat: bool = True
    cost: float = 0.0


@dataclass(eq=False)
class Routine:
    """An equation with loops of its own."""

    equation: Equation


@dataclass(eq=False)
class Rows:
    """Nests over one leading axis, run block by block, and the stored variables that live in a block only."""

    size: str
    parts: list[Loops]
    local: set[Var] = field(default_factory=set)

    def inner(self) -> tuple[str, ...]:
        """The other axes of its largest nest."""
        return max([p.space for p in self.parts], key=len)[1:]


Step = Loops | Routine | Rows


@dataclass(eq=False)
class Plan:
    """`stored`: variables that get storage of their own; `roots`: for a variable that shares another's storage in the same
    order, that other.
    """

    program: Program
    steps: list[Step]
    stored: set[Var]
    roots: dict[Atom, Var]
    producer: dict[Var, Equation]
    own_output: dict[Var, int]  # stored variable -> result that is its storage

    def overwrites(self, given: Var, output: int) -> bool:
        """Whether a result may be written over an input: where nothing reads the input but the loops that write the result,
        each element just before.
        """
        a = self.program.outputs[output]
        if not isinstance(a, Var) or self.own_output.get(a) != output or a.type.shape != given.type.shape:
            return False
        for step in self.steps:
            if isinstance(step, Routine):
                if any(self.roots.get(x, x) is given for x in step.equation.inputs):
                    return False
                continue
            assert isinstance(step, Loops)
            if a in step.written:
                if (given, False) in step.reads or not self._reaches(a, given):
                    return False
            elif (given, False) in step.reads or (given, True) in step.reads:
                return False
        return any(isinstance(step, Loops) and a in step.written for step in self.steps)

    def _reaches(self, v: Var, given: Var) -> bool:
        """Whether the value of v is computed from the input, element by element, in the loops that write it."""
        stack, seen = [v], {v}
        while stack:
            e = self.producer.get(stack.pop())
            if e is None or not isinstance(e.op.kernel, Expression):
                continue
            for a in e.inputs:
                if a is given:
                    return True
                if isinstance(a, Var) and a not in seen and a not in self.stored:
                    seen.add(a)
                    stack.append(a)
        return False


def cost_of(e: Equation) -> float:
    """Of one element, about one for an addition."""
    kernel = e.op.kernel
    if isinstance(kernel, Expression):
        return kernel.cost if kernel.costs is None else kernel.costs(**e.params)
    return 0.0 if isinstance(kernel, View) else 2.0


def space_of(shape: tuple[str, ...]) -> tuple[str, ...]:
    """The loops of an index space: an axis of length 1 needs none."""
    return tuple([n for n in shape if n != "1"])


def probe(e: Equation, sizes: Sizes, indices: Sequence[str]) -> list[Piece]:
    """Pieces of a view at these indices: (condition, which input, its indices), tried in order."""
    kernel = e.op.kernel
    assert isinstance(kernel, View)
    params = {k: sizes.param(k, v) for k, v in e.params.items()}
    found = kernel.index(list(indices), [sizes.shape(a.type.shape) for a in e.inputs], sizes.shape(e.outputs[0].type.shape), **params)
    return [(None, *found)] if isinstance(found, tuple) else list(found)
