"""Recording: how a running function becomes a program.

Note [interning recorder].  A user-level operation (a "door": `np.add`, `x[1:]`, a call of a memoised program) is one edge of a trie.  The
recorder's state is a node; one dictionary lookup on (door, atoms of the traced operands, types of the others, parameters) gives the next
node, whose equations and output types are already there.  Only the first walk along an edge runs the door's implementation, in a plain builder
that collects primitive equations; inference, broadcasts, casts and every transform of the final program therefore run once per node, however
often the user's function runs.  Scalars and arrays that are not traced become inputs of the program, keyed by type, never by value.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from functad._core.held import capture, check_unwritten
from functad._core.primitive import CURRENT, Primitive
from functad._core.program import Atom, Equation, Literal, Program, Var, without_dead
from functad._core.template import TEMPLATES, Template, keep, operands_of
from functad._core.tracer import Tracer, make
from functad._core.trie import Node, Root, root_of
from functad._core.types import SCALAR_TYPES, ArrayType, array_type
from functad._core.values import Cell, computed, force
from functad.errors import EscapedTracerError, NoValueError, UnsupportedArgumentError

__all__ = ["CURRENT", "Builder", "Door", "again", "answer", "inline", "lift", "plain_value", "record", "shares_memory", "stage", "trace"]


@dataclass(eq=False, frozen=True)
class Door:
    """A user-level operation; `implementation` spells it in primitives, on tracers of a plain builder."""

    name: str
    implementation: Callable[..., Any]
    view: bool = False  # whether NumPy's result shares memory with the operand


class _NoEdges(dict[Hashable, Node]):
    """A plain builder's node leads nowhere, so that recording meets it on the slow path only."""


PLAIN = Node(None)
PLAIN.edges = _NoEdges()


class Builder:
    """A recording under way.  `plain` ones collect primitive equations; the others walk the trie."""

    __slots__ = (
        "alive",
        "arguments",
        "captured",
        "equations",
        "large",
        "node",
        "open",
        "parent",
        "plain",
        "ranges",
        "root",
        "scanned",
        "structural",
        "views",
    )

    def __init__(self, parent: "Builder | None", root: Root | None) -> None:
        self.parent = parent
        self.plain = root is None
        self.root = root
        self.node: Node = PLAIN if root is None else root
        self.open = True
        if root is None:
            self.equations: list[Equation] = []
            self.ranges: list[tuple[Atom, int, int]] = []  # whole numbers that must fit a dtype: (atom, lowest, highest)
            self.alive: dict[Atom, Any] = {}  # see _primitives.alive
            self.structural: dict[Var, Equation] = {}  # variables with structural zeros, and what made them
        else:
            self.arguments: list[Any] = []  # values of the captured: outer tracers, arrays, scalars
            self.captured: dict[tuple[Builder, Atom], Var] = {}  # outer builder and atom -> our input
            self.large: list[tuple[np.ndarray[Any, Any], Any]] = []  # held by reference, with the fingerprint at capture
            self.views: set[Atom] | None = None  # see `shares_memory`
            self.scanned: Node | None = root

    def bind(self, op: Primitive, inputs: Sequence[Any], params: Mapping[str, Any], like: Equation | None = None) -> tuple[Tracer, ...]:
        """Record one primitive equation, in a plain builder; inputs are its tracers or literals.

        `like` is an equation of the same operation and params: inputs of the same types need no second inference.
        """
        atoms = [x if isinstance(x, Literal) else atom_of(x, self) for x in inputs]
        if like is not None and all(map(_same_type, atoms, like.inputs)):
            outputs = [Var(v.type) for v in like.outputs]
        else:
            outputs = [Var(t) for t in op.infer(*[a.type for a in atoms], **params)]
        equation = Equation(op, atoms, params, outputs)
        self.equations.append(equation)
        if op.structural is not None and op.structural(equation, self.structural):
            self.structural[outputs[0]] = equation
        return tuple([make(self, v, None) for v in outputs])


def _same_type(a: Atom, b: Atom) -> bool:
    return a.type is b.type


def stage(function: Callable[..., Sequence[Any]], types: Sequence[ArrayType | Var]) -> Program:
    """The program of a rule or transform: `function` gets tracers and gives a sequence of tracers or literals.

    A variable among the types becomes the input itself.
    """
    builder = Builder(CURRENT.get(), None)
    inputs = [t if isinstance(t, Var) else Var(t) for t in types]
    token = CURRENT.set(builder)
    try:
        outputs = [atom_of(x, builder) for x in function(*[make(builder, v, None) for v in inputs])]
    finally:
        CURRENT.reset(token)
        builder.open = False
    return without_dead(Program(inputs, builder.equations, outputs))


def atom_of(x: Any, builder: Builder) -> Atom:
    """The atom of a tracer of this builder, or the literal itself."""
    if isinstance(x, Literal):
        return x
    if type(x) is Tracer and x.builder is builder:
        return x.atom
    raise RuntimeError(f"{x!r} does not belong to the open builder")


def again(equation: Equation, inputs: Sequence[Any]) -> tuple[Tracer, ...]:
    """Record an equation once more in the open plain builder, on these tracers or literals."""
    found: tuple[Tracer, ...] = CURRENT.get().bind(equation.op, inputs, equation.params, equation)
    return found


def inline(program: Program, inputs: Sequence[Any]) -> list[Any]:
    """Record the program's equations in the open plain builder, on these tracers or literals; its outputs."""
    values: dict[Any, Any] = dict(zip(program.inputs, inputs, strict=True))
    for e in program.equations:
        values.update(zip(e.outputs, again(e, [a if isinstance(a, Literal) else values[a] for a in e.inputs]), strict=True))
    return [a if isinstance(a, Literal) else values[a] for a in program.outputs]


# ---- walking the trie

# What makes a list, an array of objects or a foreign array an array or a tracer; the `_numpy` room puts its own in place.
CONVERT: list[Callable[[Any], Any]] = [np.asarray]


def lift(builder: Builder | None, x: Any) -> tuple[Any, Any]:
    """(key, cell or value) of an operand that is not a tracer of this builder: the key is an atom we know, or the type of a new input."""
    if builder is None and type(x) is not Tracer:
        raise _escaped()
    kind = SCALAR_TYPES.get(type(x))
    if kind is not None:
        return kind, x
    if type(x) is Tracer:
        _check_encloses(builder, x.builder)
        assert builder is not None
        if x.builder is builder or builder.plain:
            return x.atom, x.cell
        inner = builder.captured.get((x.builder, x.atom))  # two open traces may share variables: atoms are interned per path
        return (x.atom.type if inner is None else inner), x.cell
    if type(x) is not np.ndarray or x.dtype == object:
        return lift(builder, CONVERT[0](x))
    assert builder is not None
    kind = array_type(x.shape, x.dtype)
    return kind, capture(builder.large, x) if x.dtype.isnative else x.astype(kind.dtype)


def _escaped() -> EscapedTracerError:
    return EscapedTracerError(
        "a traced value was used where no trace is open: it was kept (in a global, a list, an attribute, a cache of functools) after the traced "
        "function had returned, or handed to another thread.  Return it from the function instead"
    )


def _check_encloses(builder: Builder | None, owner: Builder) -> None:
    if not owner.open:
        raise _escaped()
    while builder is not owner:
        if builder is None:
            raise EscapedTracerError("a traced value was used in a trace that does not enclose it, or in another thread than its own")
        builder = builder.parent


def record(door: Door, key: Hashable, operands: Sequence[Any], rebuild: Callable[[Sequence[Tracer]], Any] | None) -> Any:
    """Walk the edge `(door, key parts, key)`; `operands` are tracers, scalars and arrays.

    `rebuild` calls the implementation with the operands in their places; None means that they are its positional arguments.
    """
    builder = CURRENT.get()
    keys, cells = [], []
    for x in operands:
        if type(x) is Tracer and x.builder is builder:
            keys.append(x.atom)
            cells.append(x.cell)
        else:
            k, c = lift(builder, x)
            keys.append(k)
            cells.append(c)
    assert builder is not None  # else a tracer among the operands, or among what decides the path, was refused
    if builder.plain:
        return door.implementation(*operands) if rebuild is None else rebuild(operands)
    edge = (door, *keys, key)
    node = builder.node.edges.get(edge)
    if node is None:
        node = _expand(builder, door, edge, keys, rebuild)
    return _advance(builder, node, operands, cells)


def binary(door: Door, a: Any, b: Any) -> Any:
    """`record(door, None, (a, b), None)`, unrolled: operators are the hot path (0.4 us an operation against 0.9)."""
    builder = CURRENT.get()
    if type(a) is Tracer and a.builder is builder:
        key_a, cell_a = a.atom, a.cell
    else:
        key_a, cell_a = lift(builder, a)
    if type(b) is Tracer and b.builder is builder:
        key_b, cell_b = b.atom, b.cell
    else:
        key_b, cell_b = SCALAR_TYPES.get(type(b)), b  # type: ignore[assignment]  # a literal is its own value
        if key_b is None or builder is None:
            key_b, cell_b = lift(builder, b)
    if builder.plain:
        return door.implementation(a, b)
    edge = (door, key_a, key_b, None)
    node = builder.node.edges.get(edge)
    if node is None:
        node = _expand(builder, door, edge, (key_a, key_b), None)
    if node.fresh:
        if node.template.ranges or len(node.fresh) == 2:
            return _advance(builder, node, (a, b), (cell_a, cell_b))
        x, cell = (b, cell_b) if node.fresh[0] else (a, cell_a)
        if type(x) is Tracer:
            return _advance(builder, node, (a, b), (cell_a, cell_b))
        builder.arguments.append(cell)
    builder.node = node
    cell = Cell()
    cell.step, cell.inputs = node, (cell_a, cell_b)
    out = Tracer()
    out.builder, out.atom, out.cell = builder, node.outputs, cell
    return out


def unary(door: Door, a: Tracer, key: Hashable = None, rebuild: Callable[[Sequence[Tracer]], Any] | None = None) -> Any:
    """`record(door, key, (a,), rebuild)` for one traced operand, unrolled; with a key alone, it calls `implementation(a, key)`."""
    builder = CURRENT.get()
    if a.builder is builder and not builder.plain:
        edge = (door, a.atom, key)
        node = builder.node.edges.get(edge)
        if node is not None and type(node.outputs) is not tuple:
            builder.node = node
            cell = Cell()
            cell.step, cell.inputs = node, (a.cell,)
            out = Tracer()
            out.builder, out.atom, out.cell = builder, node.outputs, cell
            return out
    if rebuild is None and key is not None:
        rebuild = lambda operands: door.implementation(operands[0], key)  # rarely made
    return record(door, key, (a,), rebuild)


def _advance(builder: Builder, node: Node, operands: Sequence[Any], cells: Sequence[Any]) -> Any:
    for position, low, high in node.template.ranges:  # a literal's value is not in the key, so each call is checked
        if type(operands[position]) is int and not low <= operands[position] <= high:
            raise OverflowError(f"Python integer {operands[position]} out of bounds for the integers from {low} to {high} that it meets")
        if type(operands[position]) is Tracer:
            raise _unchecked(low, high)
    for i in node.fresh:
        x = operands[i]
        if type(x) is Tracer:
            builder.captured.setdefault((x.builder, x.atom), node.stamp.operands[i])  # type: ignore[arg-type]  # a fresh operand is a variable
            builder.arguments.append(x)
        else:
            builder.arguments.append(cells[i])
    builder.node = node
    cell = computed(node, tuple(cells))
    if type(node.outputs) is not tuple:
        return make(builder, node.outputs, cell)  # type: ignore[arg-type]  # one atom, as just seen
    parts = [make(builder, atom, computed(i, (cell,))) for i, atom in enumerate(node.outputs)]
    container = node.template.container
    return container(parts) if container is not None else tuple(parts)


def _unchecked(low: int, high: int) -> UnsupportedArgumentError:
    return UnsupportedArgumentError(
        f"a traced Python integer meets integers from {low} to {high}, and whether it fits cannot be checked while tracing: give it as a NumPy "
        "integer of the array's dtype, or make it a static argument of jit"
    )


def _expand(builder: Builder, door: Door, edge: tuple[Any, ...], keys: Sequence[Any], rebuild: Callable[[Sequence[Tracer]], Any] | None) -> Node:
    """First time along this edge: a node with the operation's template, which is made at its first use with such operands."""
    pattern: list[Any] = []  # types, literals by value, and which operands are one value
    operands: list[Atom] = []
    fresh: list[int] = []
    seen: dict[Atom, int] = {}
    for i, k in enumerate(keys):
        if type(k) is Var:
            first = seen.setdefault(k, i)
            pattern.append(k.type if first == i else first)
            operands.append(k)
        elif type(k) is ArrayType:
            pattern.append(k)
            operands.append(Var(k))
            fresh.append(i)
        else:
            pattern.append(k)
            operands.append(k)
    at = (door, edge[-1], *pattern)
    template = TEMPLATES.get(at)
    if template is None:
        template = keep(at, _template(builder, door, operands_of(pattern), rebuild))
    for position, low, high in template.ranges:
        if position not in fresh:
            raise _unchecked(low, high)
    node = Node(builder.node, edge, template, tuple(operands))
    node.fresh = tuple(fresh)
    root = builder.root
    assert root is not None
    root.count += 1
    return builder.node.edges.setdefault(edge, node)  # setdefault: two threads must walk one node


def _template(builder: Builder, door: Door, operands: tuple[Atom, ...], rebuild: Callable[[Sequence[Tracer]], Any] | None) -> Template:
    """What the implementation records in a plain builder."""
    inner = Builder(builder, None)
    given = [make(inner, a, None) for a in operands]
    token = CURRENT.set(inner)
    try:
        out = door.implementation(*given) if rebuild is None else rebuild(given)
    finally:
        CURRENT.reset(token)
        inner.open = False
    container: Any = None
    if isinstance(out, (tuple, list)):
        outputs: Any = tuple([atom_of(x, inner) for x in out])
        if type(out) is not tuple:
            kind: Any = type(out)
            container = kind._make if hasattr(kind, "_make") else kind
    else:
        outputs = atom_of(out, inner)
    ranges = [(operands.index(a), low, high) for a, low, high in inner.ranges if a in operands]
    return Template(operands, inner.equations, outputs, container, door.view, ranges)


def shares_memory(tracer: Tracer) -> bool:
    """Whether another traced array shares its memory in NumPy: one is a view of the other.  Reads the path since it was last asked."""
    builder = tracer.builder
    views = builder.views
    if views is None:
        views = builder.views = set()
    node: Node | None = builder.node
    while node is not None and node is not builder.scanned:
        if node.template.view:
            out = node.outputs if isinstance(node.outputs, tuple) else (node.outputs,)
            if any(a.type.ndim for a in out):
                views.update((*node.stamp.operands, *out))
        node = node.parent
    builder.scanned = builder.node
    return tracer.atom in views


GUARD = Door("guard", lambda *_: None)


def answer(tracer: Tracer, kind: Callable[[Any], Any]) -> Any:
    """The answer to the user's question about a tracer's value; it becomes an edge of the builder that owns the tracer."""
    owner = tracer.builder
    _check_encloses(CURRENT.get(), owner)
    if tracer.cell is None:
        raise RuntimeError("an intermediate value of a rule has no value")
    found = kind(force(tracer.cell))
    if not owner.plain:
        edge = (GUARD, tracer.atom, kind, found)
        node = owner.node.edges.get(edge)
        if node is None:
            node = Node(owner.node, edge)
            if owner.root is not None:
                owner.root.count += 1
            node.guard = (tracer.atom, found)
            node = owner.node.edges.setdefault(edge, node)
        owner.node = node
    return found


def plain_value(tracer: Tracer) -> Any:
    """A copy of a tracer's value, for whole numbers and booleans, which carry no derivative; None where it has no single value.

    What comes of it is plain data and enters the program like any captured array, so no edge needs to tell one value from another.
    """
    _check_encloses(CURRENT.get(), tracer.builder)
    try:
        return None if tracer.cell is None else np.array(force(tracer.cell), tracer.type.dtype)
    except NoValueError:
        return None


IDENTITY = Door("identity", lambda x: x)


def trace(function: Callable[..., Sequence[Any]], types: Sequence[ArrayType], cells: Sequence[Cell]) -> tuple[Program, list[Any], Builder]:
    """Run `function` on tracers: (program, values of its leading inputs, the builder).

    The program's inputs are the captured (outer tracers, arrays, scalars, in order of use) and then one for each type.  `function` gives a
    sequence of tracers, scalars and arrays.
    """
    root = root_of(types)
    builder = Builder(CURRENT.get(), root)
    token = CURRENT.set(builder)
    try:
        given = []
        for v, c in zip(root.inputs, cells):  # noqa: B905  # as many as types; strict costs 0.2 us
            tracer = Tracer()
            tracer.builder, tracer.atom, tracer.cell = builder, v, c
            given.append(tracer)
        out = function(*given)
        atoms = []
        for x in out:
            if type(x) is not Tracer or x.builder is not builder:
                x = record(IDENTITY, None, (x,), None)
            atoms.append(x.atom)
        if builder.large:
            check_unwritten(builder.large)
    finally:
        CURRENT.reset(token)
        builder.open = False
    outputs = tuple(atoms)
    return root.program(builder.node, outputs), builder.arguments, builder
