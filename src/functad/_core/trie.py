"""The trie of everything recorded: see Note [interning recorder] in `recorder`.

The roots (one per tuple of input types) and their nodes live in `ROOTS`, bounded in number of roots and of nodes: past the bound a root
forgets all but the path just walked, and recorders under way keep theirs.
"""

from collections import deque
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Final

from functad._core.program import Atom, Equation, Literal, Program, Var, without_dead
from functad._core.types import ArrayType

__all__ = ["Node", "Root", "root_of"]

MAX_ROOTS = 1_000
MAX_NODES = 100_000  # nodes and equations of one root, and three times that in all: each takes some 2 KB with what is derived from it
KEPT_PATHS = 32  # latest paths that survive when a root forgets, as far as they fill half of it


class Node:
    """A state of the recorder: what the last edge added, and where edges lead from here."""

    __slots__ = ("container", "edge", "edges", "equations", "fresh", "guard", "operands", "outputs", "parent", "programs", "ranges", "view")

    def __init__(self, parent: "Node | None", edge: Hashable = None) -> None:
        self.parent = parent
        self.edge = edge  # the key that leads here from the parent
        self.edges: dict[Hashable, Node] = {}
        self.equations: tuple[Equation, ...] = ()
        self.operands: tuple[Atom, ...] = ()
        self.fresh: tuple[int, ...] = ()  # positions of the operands that are new inputs of the program
        self.outputs: Any = None  # an atom, or a tuple of atoms
        self.container: Callable[..., Any] | None = None  # makes a tuple of outputs what NumPy returns (a named tuple, a list)
        self.guard: tuple[Atom, Any] | None = None  # this edge is an answer given to the user's `if`
        self.programs: dict[Hashable, Program] = {}
        self.view = False
        self.ranges: tuple[tuple[int, int, int], ...] = ()  # (operand, lowest, highest) of literals that are cast to a narrow integer dtype

    def evaluate(self, values: Sequence[Any]) -> Any:
        """Run this step alone, on the values of its operands."""
        from functad._core.interpret import evaluate_equations

        found = evaluate_equations(self.equations, self.operands, values)
        atoms = self.outputs if type(self.outputs) is tuple else (self.outputs,)
        outputs = tuple(a.array() if isinstance(a, Literal) else found[a] for a in atoms)
        return outputs if type(self.outputs) is tuple else outputs[0]


class Root(Node):
    """The state before the first operation: the inputs."""

    __slots__ = ("count", "inputs", "latest")

    def __init__(self, types: Sequence[ArrayType]) -> None:
        super().__init__(None)
        self.inputs = tuple(Var(t) for t in types)
        self.count = 0
        self.latest: deque[Node] = deque(maxlen=KEPT_PATHS)

    def program(self, node: Node, outputs: tuple[Atom, ...]) -> Program:
        """The program of the path that ends at a node, made once."""
        found = node.programs.get(outputs)
        if found is None:
            found = node.programs.setdefault(outputs, _assemble(self, node, outputs))
            self.count += len(found.equations)
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
        more = len(path) + sum(len(p.equations) for p in last.programs.values())
        if size and size + more > MAX_NODES // 2:
            break
        size += more
        kept.update(path)
        final.add(last)
    for n in kept:
        n.edges = {edge: child for edge, child in list(n.edges.items()) if child in kept}
        if n not in final:
            n.programs = {}
    root.count = min(size, MAX_NODES)
    while sum(r.count for r in list(ROOTS.values())) > 3 * MAX_NODES and len(ROOTS) > 1:
        key = next((k for k, r in list(ROOTS.items()) if r is not root), None)
        if key is None:
            return
        ROOTS.pop(key, None)


def _assemble(root: Root, node: Node, outputs: tuple[Atom, ...]) -> Program:
    path: list[Node] = []
    last: Node | None = node
    while last is not None and last is not root:
        path.append(last)
        last = last.parent
    path.reverse()
    captured = [n.operands[i] for n in path for i in n.fresh]
    return without_dead(Program([*captured, *root.inputs], [e for n in path for e in n.equations], outputs))  # type: ignore[list-item]
