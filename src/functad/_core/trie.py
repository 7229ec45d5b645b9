"""The trie of everything recorded: see Note [interning recorder] in `recorder`.

The roots (one per tuple of input types) and their nodes live in `ROOTS`, bounded in number of roots and of nodes: past the bound a root
forgets all but the path just walked, and recorders under way keep theirs.
"""

from collections import deque
from collections.abc import Hashable, Sequence
from typing import Any, Final

from functad._core.program import Atom, Deferred, Program, Var, without_dead
from functad._core.template import EMPTY, Outputs, Stamp, Template
from functad._core.types import ArrayType

__all__ = ["Node", "Recorded", "Root", "root_of"]

MAX_ROOTS = 1_000
MAX_NODES = 100_000  # nodes and equations of one root, and three times that in all: each takes some 2 KB with what is derived from it
KEPT_PATHS = 32  # latest paths that survive when a root forgets, as far as they fill half of it


class Node:
    """A state of the recorder: what the last edge added, and where edges lead from here."""

    __slots__ = ("edge", "edges", "fresh", "guard", "outputs", "parent", "programs", "stamp", "template")

    def __init__(self, parent: "Node | None", edge: Hashable = None, template: Template = EMPTY, operands: tuple[Atom, ...] = ()) -> None:
        self.parent = parent
        self.edge = edge  # the key that leads here from the parent
        self.edges: dict[Hashable, Node] = {}
        self.template = template
        self.stamp = stamp = Stamp(template, operands)
        self.outputs: Outputs = stamp.results[0] if template.is_plain else template.outputs_for(operands, stamp.results)
        self.fresh: tuple[int, ...] = ()  # positions of the operands that are new inputs of the program
        self.guard: tuple[Atom, Any] | None = None  # this edge is an answer given to the user's `if`
        self.programs: dict[Hashable, Recorded] | None = None

    def evaluate(self, values: Sequence[Any]) -> Any:
        """Run this step alone, on the values of its operands."""
        return self.template.evaluate(values)


class Recorded(Deferred):
    """The program of a path."""

    __slots__ = ("path", "results", "size")

    def __init__(self, root: "Root", node: Node, outputs: tuple[Atom, ...]) -> None:
        path: list[Node] = []
        last: Node | None = node
        while last is not None and last is not root:
            path.append(last)
            last = last.parent
        path.reverse()
        self.path = tuple([n.stamp for n in path if n.stamp.results])  # of nodes it holds none: the trie may forget them
        self.results = outputs
        self.size = sum([len(n.template.program.equations) for n in path])
        captured = [n.stamp.operands[i] for n in path for i in n.fresh]
        super().__init__([*captured, *root.inputs], self._assembled)  # type: ignore[list-item]  # a fresh operand is a variable

    @property
    def outputs(self) -> tuple[Atom, ...]:  # type: ignore[override]
        """As of any program; known before the equations are."""
        return self.results

    def _assembled(self) -> Program:
        return without_dead(Program(self.inputs, [e for step in self.path for e in step.equations], self.results))


class Root(Node):
    """The state before the first operation: the inputs."""

    __slots__ = ("count", "inputs", "latest")

    def __init__(self, types: Sequence[ArrayType]) -> None:
        super().__init__(None)
        self.inputs = tuple(Var(t) for t in types)
        self.count = 0
        self.latest: deque[Node] = deque(maxlen=KEPT_PATHS)

    def program(self, node: Node, outputs: tuple[Atom, ...]) -> Recorded:
        """The program of the path that ends at a node, made once."""
        if node.programs is None:
            node.programs = {}
        found = node.programs.get(outputs)
        if found is None:
            found = node.programs.setdefault(outputs, Recorded(self, node, outputs))
            self.count += found.size
            if self.count > MAX_NODES:
                _forget(self, node)
        if not self.latest or self.latest[-1] is not node:
            self.latest.append(node)
        return found


ROOTS: Final[dict[tuple[ArrayType, ...], Root]] = {}


def root_of(types: Sequence[ArrayType]) -> Root:
    """The root for inputs of these types."""
    key = tuple(types)
    root = ROOTS.get(key)
    if root is None:
        if len(ROOTS) >= MAX_ROOTS:
            ROOTS.pop(next(iter(ROOTS)), None)
        root = ROOTS.setdefault(key, Root(key))
    return root


def _forget(root: Root, node: Node) -> None:
    """Cut the root's trie down to the latest paths, this one first, and drop other roots while there is too much in all.

    A single path that is longer than the bound stays, so that its function finds it at its next call.
    """
    kept: set[Node] = set()
    final: set[Node] = set()
    size = 0
    for last in (node, *reversed(root.latest)):
        path: list[Node] = []
        at: Node | None = last
        while at is not None and at not in kept:
            path.append(at)
            at = at.parent
        more = len(path) + sum(p.size for p in (last.programs or {}).values())
        if size and size + more > MAX_NODES // 2:
            break
        size += more
        kept.update(path)
        final.add(last)
    for n in kept:
        n.edges = {edge: child for edge, child in list(n.edges.items()) if child in kept}
        if n not in final:
            n.programs = None
    root.count = min(size, MAX_NODES)
    others = [key for key, other in list(ROOTS.items()) if other is not root]
    while others and sum(r.count for r in list(ROOTS.values())) > 3 * MAX_NODES:
        ROOTS.pop(others.pop(0), None)
