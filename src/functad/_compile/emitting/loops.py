"""Spelling one nest of loops: values are pulled from what is stored or reduced, element by element.

What lives here: `Nest`. A value is asked for at index texts. Each value gets one local variable, placed in the outermost loop
that has its indices, so that a column is read once in each row; a value whose indices are the loops' own over the whole of its
array is in bounds anywhere and leaves the conditions (`if i0 >= h0:`) around it; every other stays inside them, so that nothing
is read out of bounds.
"""

import re
from collections.abc import Hashable
from dataclasses import dataclass

from functad._compile.codes import code_of
from functad._compile.emitting.accesses import Block, Buffer, Scalar, product
from functad._compile.emitting.frames import Frame
from functad._compile.emitting.spellings import expression_text, note_of
from functad._compile.scheduling.plan import Loops, Piece, Store, probe
from functad._core.primitive import Call, Expression, View
from functad._core.program import Atom, Equation, Literal, Var

__all__ = ["Nest", "RowBlock", "Scope"]

_NAMES = re.compile(r"[a-z]\d+")
_STEP = re.compile(r"^\(?([a-z]\d+) ([+-]) (\d+|[sh]\d+)\)?$")
Index = tuple[str, ...]


class Scope:
    """Where lines go and which values are known there; `block` is None for the loops themselves, which place by level."""

    __slots__ = ("block", "known", "parent")

    def __init__(self, parent: "Scope | None", block: Block | None) -> None:
        self.parent, self.block = parent, block
        self.known: dict[tuple[Var, Index], str] = {}

    def find(self, key: tuple[Var, Index]) -> str | None:
        """The text of a value that is known here."""
        scope: Scope | None = self
        while scope is not None:
            found = scope.known.get(key)
            if found is not None:
                return found
            scope = scope.parent
        return None


@dataclass
class RowBlock:
    """A block of rows that several nests run over: their leading loop runs from `start` to `end`."""

    start: str
    end: str
    head: Block  # before the blocks
    tail: Block  # after them


class Nest:
    """The loops of one step, open: `store` writes a value in them, `value` spells one."""

    def __init__(self, frame: Frame, loops: Loops, block: Block, around: RowBlock | None) -> None:
        self.frame, self.loops, self.names, self.sizes = frame, loops, frame.names, frame.sizes
        self.flat = loops.flat and len(loops.space) > 1
        self.space = (product(loops.space),) if self.flat else loops.space
        self.base = Scope(None, None)
        self.level: dict[str, int] = {}  # name -> number of loops around it
        self.indices: dict[Hashable, str] = {}  # text of an index, or (loop index, what is added) -> its local name
        self.moved: dict[str, tuple[str, dict[int | str, int]]] = {}  # local name -> (loop index, what is added, how often)
        self.conditional: set[str] = set()  # values that are known under a condition only
        self.own = tuple([f"i{k}" for k in range(len(self.space))])
        self.outside, self.around = block, around
        self.before = (around.head if around else block).block()  # what comes before everything: reductions fill their results
        self.blocks: list[Block] = []  # by level, before the next loop
        self.after: list[Block] = []
        self.chunk_start: Block | None = None
        self.chunk_end: Block | None = None

    def open(self, chunked: bool) -> None:
        """Write the loops; `chunked`: the innermost runs in blocks of 1024."""
        block = self.outside
        for k in range(len(self.space)):
            rows = self.around if k == 0 else None
            self.blocks.append((rows.head if rows else block).block())
            size, index, first = self.space[k], self.own[k], rows.start if rows else "0"
            size = rows.end if rows else size
            self.level[index] = k + 1
            if " " in size:
                name = self.names.fresh("n")
                self.blocks[0].line(f"{name} = {size}")
                size = name
            if chunked and k == len(self.space) - 1:
                start = self.names.fresh("b")
                block.line(f"for {start} in range({first}, {size}, 1024):")
                chunk = block.block(1)
                self.chunk_start = chunk.block()
                chunk.line(f"for {index} in range({start}, min({start} + 1024, {size})):")
                inner = chunk.block(1)
                self.chunk_end = chunk.block()
            else:
                block.line(f"for {index} in range({f'{first}, ' if rows else ''}{size}):")
                inner = block.block(1)
            self.after.append((rows.tail if rows else block).block())
            block = inner
        self.blocks.append(block.block())
        self.after.append(block)

    def identity(self, a: Atom) -> Index:
        """The indices at which an atom of this space is asked for."""
        shape = self.sizes.shape(a.type.shape)
        if self.flat:
            return self.own if shape else ()
        loops = iter(self.own)
        return tuple(["0" if n == "1" else next(loops) for n in shape])

    def store(self, store: Store) -> None:
        """Compute a value and write it to its place."""
        a, frame = store.atom, self.frame
        at = self.identity(a)
        text = self.value(a, at, self.base)
        if store.output is not None:
            target = frame.output(store.output, self.sizes.shape(a.type.shape))
        elif store.region is not None:
            v, axis, begin = store.region
            target = frame.buffer_of(v).region(axis, begin)
        elif isinstance(a, Var) and not a.type.shape:
            frame.define_scalar(a, text, self.blocks[-1])
            return
        else:
            target = frame.storage[a]  # type: ignore[index]  # without output or region, the atom is a variable
        if isinstance(target, Scalar):
            self.blocks[-1].line(f"{target.name} = {text}", "result")
        else:
            self.blocks[-1].line(target.store(self.place(target, at), text), "result")

    def place(self, buffer: Buffer, at: Index) -> str:
        """Position of an element of a buffer."""
        if self.flat and buffer.shape:
            return buffer.offset + " + " + at[0] if buffer.offset != "0" else at[0]
        return buffer.place(at)

    # ---- levels and names

    def level_of(self, text: str) -> int:
        """Number of loops whose indices a text has."""
        return max([self.level.get(name, 0) for name in _NAMES.findall(text)], default=0)

    def index(self, text: str) -> str:
        """A local name for an index; index arithmetic is safe anywhere."""
        if text.isalnum():
            return text
        key: Hashable = text
        step = _STEP.match(text)
        if step is not None and step[1] in self.level:  # i0 - 1 + 1 is i0: what one step computes the next may look up
            base, moves = self.moved.get(step[1], (step[1], {}))
            by: int | str = 1 if step[3].isdigit() else step[3]
            sign = int(step[3]) if by == 1 else 1
            moves = dict(moves)
            moves[by] = moves.get(by, 0) + (sign if step[2] == "+" else -sign)
            moves = {k: n for k, n in moves.items() if n}
            if not moves:
                return base
            key = (base, frozenset(moves.items()))
        found = self.indices.get(key)
        if found is None:
            level = self.level_of(text)
            found = self.indices[key] = self.names.fresh("j")
            self.level[found] = level
            if key is not text:
                self.moved[found] = (base, moves)
            self.blocks[level].line(f"{found} = {text[1:-1] if text[0] == '(' and text.count('(') == 1 else text}")
        return found

    def is_plain(self, v: Var, at: Index) -> bool:
        """Whether an element is in bounds whatever condition is around it."""
        for i, n in zip(at, self.sizes.shape(v.type.shape), strict=True):
            if i != "0" or n != "1":
                k = self.level.get(i, 0) - 1
                if i[0] != "i" or self.space[k] != n:
                    return False
        return True

    def home(self, v: Var, at: Index, scope: Scope) -> tuple[Block, Scope]:
        """Where the line of a value goes and where it is known."""
        if scope.block is None or self.is_plain(v, at):
            return self.blocks[max([self.level_of(i) for i in at], default=0)], self.base
        return scope.block, scope

    def assign(self, v: Var, at: Index, scope: Scope, text: str, note: str) -> str:
        """A local variable for a value."""
        if scope.block is not None and not self.conditional.isdisjoint(_NAMES.findall(text)):
            block = scope.block  # it uses what is known under this condition only
        else:
            block, scope = self.home(v, at, scope)
        name = self.names.fresh("v")
        block.line(f"{name} = {text}", note)
        return self._known(v, at, scope, name)

    def _known(self, v: Var, at: Index, home: Scope, name: str) -> str:
        """Note that a local variable has the value."""
        home.known[v, at] = name
        if home.block is not None:
            self.conditional.add(name)
        self.level[name] = max([self.level_of(i) for i in at], default=0)
        return name

    # ---- values

    def value(self, a: Atom, at: Index, scope: Scope) -> str:
        """Text of an element of an atom."""
        if isinstance(a, Literal):
            return self.sizes.literal(a)
        found = scope.find((a, at))
        if found is not None:
            return found
        if a not in self.loops.written:
            stored = self.frame.find(a)
            if isinstance(stored, Scalar):
                return stored.name
            if stored is not None:
                return self.assign(a, at, scope, stored.load(self.place(stored, at)), "a load")
        e = self.frame.plan.producer[a]
        kernel = e.op.kernel
        if isinstance(kernel, Expression):
            self._expressions(a, at, scope)
            found = scope.find((a, at))
            assert found is not None
            return found
        if isinstance(kernel, View):
            return self._view(e, at, scope)
        assert isinstance(kernel, Call)
        if kernel.kind == "iota":
            return f"{code_of(a)}({at[e.params['axis']]})"
        assert kernel.kind == "gather"
        return self._gather(e, at, scope)

    def _expressions(self, a: Var, at: Index, scope: Scope) -> None:
        """Elementwise operations behind a variable, in the program's order: chains are longer than Python's stack."""
        producer = self.frame.plan.producer
        wanted: dict[Var, Equation] = {}
        stack: list[Atom] = [a]
        while stack:
            v = stack.pop()
            if not isinstance(v, Var) or v in wanted or scope.find((v, at)) is not None:
                continue
            if v not in self.loops.written and self.frame.find(v) is not None:
                continue
            e = producer[v]
            if isinstance(e.op.kernel, Expression):
                wanted[v] = e
                stack.extend(e.inputs)
        order = self.frame.order
        for v in sorted(wanted, key=order.__getitem__):
            e = wanted[v]
            texts = [self.value(x, at, scope) for x in e.inputs]
            self.assign(v, at, scope, expression_text(e, texts), note_of(e))

    def _view(self, e: Equation, at: Index, scope: Scope) -> str:
        out, kernel = e.outputs[0], e.op.kernel
        assert isinstance(kernel, View)
        source = e.inputs[0]
        if self.flat:
            inside: Index = (at or ("0",)) if kernel.keeps_order and source.type.shape else ()  # a number may be a reshaped array of one
            return self.value(source, inside, scope)
        pieces = probe(e, self.sizes, at)
        if pieces[0][0] is None:
            return self._piece(e, pieces[0], scope)
        name = self.names.fresh("v")
        # under a condition it stays there: its pieces may use what is known there only
        block, home = self.home(out, at, scope) if scope.block is None else (scope.block, scope)
        lines = Block()
        word = "if"
        for condition, which, texts in pieces:
            inner = Block(1)
            text = self._piece(e, (None, which, texts), Scope(scope, inner))
            inner.line(f"{name} = {text}", note_of(e))
            lines.line(f"{word} {condition}:" if condition is not None else "else:", note_of(e))
            lines.items.append(inner)
            word = "elif"
            if condition is None:
                break
        block.items.append(lines)
        return self._known(out, at, home, name)

    def _piece(self, e: Equation, piece: Piece, scope: Scope) -> str:
        _, which, texts = piece
        if which is None:
            return self.sizes.literal(Literal(0, e.outputs[0].type))
        return self.value(e.inputs[which], tuple([self.index(t) for t in texts]), scope)

    def _gather(self, e: Equation, at: Index, scope: Scope) -> str:
        """x[i1, ..., ik] at one place; out of range ends the kernel with status 1, so that nothing wild is ever read."""
        out, source, first = e.outputs[0], e.inputs[0], e.inputs[1]
        n = first.type.ndim
        found = [self.value(i, at[:n], scope) for i in e.inputs[1:]]
        block, home = self.home(out, at, scope)
        if scope.block is not None and not self.conditional.isdisjoint(found):
            block, home = scope.block, scope  # the places are known under this condition only
        if isinstance(source, Literal):
            return self.value(source, ("0",) * source.type.ndim, scope)
        buffer = self.frame.spilled(source, self.before)
        inside = [f"{i} < 0 or {i} >= {size}" for i, size in zip(found, buffer.shape, strict=False)]
        block.line(f"if {' or '.join(inside)}:", note_of(e))
        block.line("    return 1", note_of(e))
        name = self.names.fresh("v")
        block.line(f"{name} = {buffer.at((*found, *at[n:]))}", note_of(e))
        return self._known(out, at, home, name)
