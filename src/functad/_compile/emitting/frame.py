"""Where the variables of one program are while it is spelt, and the order in which its steps are.

What lives here: `Frame`, for a whole program or an inner one, and what is written about buffers without any equation. How a
step is spelt the frame is told (`spell`), since a step may hold programs, which need frames again.
"""

from collections.abc import Callable, Sequence

from functad._compile.emitting.accesses import Block, Buffer, Names, Scalar, Storage
from functad._compile.emitting.spelling import product, sum_of
from functad._compile.scheduling.plan import Plan, Step
from functad._compile.scheduling.rows import in_rows, lifetimes
from functad._compile.scheduling.schedule import schedule
from functad._compile.scheduling.sizes import Sizes, code_of
from functad._core.program import Atom, Equation, Literal, Program, Var

__all__ = ["Frame", "Routine", "Scratch", "copy", "fill", "open_loops", "put"]

Routine = Callable[["Frame", Equation, Block], None]  # spells an equation with loops of its own
Speller = Callable[["Frame", Step, Block], None]
Scratch = list[tuple[str, tuple[str, ...]]]  # (dtype code, size texts) of each scratch array


class Frame:
    """One program being spelt: where its variables are.  Inner programs have frames of their own and share names, sizes and
    scratch.
    """

    def __init__(self, program: Program, sizes: Sizes, names: Names, scratch: Scratch, spell: Speller) -> None:
        self.sizes, self.names, self.scratch, self.spell = sizes, names, scratch, spell
        self.plan: Plan = schedule(program, sizes)
        self.steps = in_rows(self.plan, sizes)
        self.program = program
        self.order = {v: i for i, e in enumerate(program.equations) for v in e.outputs}
        self.storage: dict[Var, Storage] = {}
        self.outputs: list[Storage] = []

    def write(self, inputs: Sequence[Storage], outputs: Sequence[Storage], block: Block) -> None:
        """Spell the program: its inputs are there, its outputs go there."""
        self.storage = dict(zip(self.program.inputs, inputs, strict=True))
        self.outputs = list(outputs)
        late: list[tuple[Scalar, Buffer]] = []  # a result without axes whose variable has axes of length 1
        free: dict[tuple[str, tuple[str, ...]], list[Buffer]] = {}  # memory that is not needed any more
        for step, (born, dead) in zip(self.steps, lifetimes(self.plan, self.steps), strict=True):
            for v in born:
                shape, own = self.sizes.shape(v.type.shape), self.plan.own_output.get(v)
                target = None if own is None else self.output(own, shape)
                if not isinstance(target, Buffer):
                    spare = free.get((code_of(v), shape)) if target is None else None
                    buffer = spare.pop() if spare else self.new_buffer(code_of(v), shape)
                    if isinstance(target, Scalar):
                        late.append((target, buffer))
                    target = buffer
                self.storage[v] = target
            self.spell(self, step, block)
            for v in dead:
                buffer = self.buffer_of(v)
                free.setdefault((buffer.code, buffer.shape), []).append(buffer)
        for number, buffer in late:
            put(number, buffer.load(buffer.offset), block)

    def inner(self, program: Program) -> "Frame":
        """A frame for an inner program."""
        return Frame(program, self.sizes, self.names, self.scratch, self.spell)

    def new_buffer(self, code: str, shape: tuple[str, ...]) -> Buffer:
        """A scratch array."""
        self.scratch.append((code, shape))
        return Buffer(f"w{len(self.scratch) - 1}", code, shape)

    def output(self, i: int, shape: tuple[str, ...]) -> Storage:
        """Where a result goes, in this shape."""
        target = self.outputs[i]
        return target.reshaped(shape) if isinstance(target, Buffer) else target

    def find(self, v: Var) -> Storage | None:
        """Where a variable is, or None where it is to be computed."""
        found = self.storage.get(v)
        if found is None:
            root = self.plan.roots.get(v)
            found = None if root is None else self.storage.get(root)
            if isinstance(found, Buffer):
                found = self.storage[v] = found.reshaped(self.sizes.shape(v.type.shape))
        return found

    def buffer_of(self, v: Var) -> Buffer:
        """The buffer of a stored variable."""
        found = self.find(v)
        assert isinstance(found, Buffer)
        return found

    def spilled(self, a: Atom, block: Block) -> Buffer:
        """The buffer of an atom; a local variable or a literal is written to memory first."""
        found = Scalar(self.sizes.literal(a), code_of(a)) if isinstance(a, Literal) else self.find(a)
        if isinstance(found, Buffer):
            return found
        assert found is not None
        shape = self.sizes.shape(a.type.shape)
        buffer = self.new_buffer(found.code, shape)
        fill(self, buffer, found.name, block)
        if isinstance(a, Var):
            self.storage[a] = buffer
        return buffer

    def define_scalar(self, v: Var, text: str, block: Block) -> None:
        """A number without axes has its value; it goes to its result too if it is one."""
        self.storage[v] = Scalar(text, code_of(v))
        own = self.plan.own_output.get(v)
        if own is not None:
            put(self.outputs[own], text, block)


def put(target: Storage, text: str, block: Block) -> None:
    """Write a number to a variable or to the only element of a buffer."""
    if isinstance(target, Scalar):
        block.line(f"{target.name} = {text}", "a result")
    else:
        block.line(target.store(target.offset, text), "a result")


def fill(frame: Frame, buffer: Buffer, text: str, block: Block) -> None:
    """Write one number everywhere."""
    size = product(buffer.shape)
    if size == "1":
        block.line(buffer.store(buffer.offset, text))
        return
    i = frame.names.fresh("k")
    block.line(f"for {i} in range({size}):")
    block.block(1).line(buffer.store(sum_of(buffer.offset, i), text))


def copy(frame: Frame, source: Buffer, target: Buffer, block: Block) -> None:
    """All elements of one buffer into another of the same shape."""
    size = product(source.shape)
    if size == "1":
        block.line(target.store(target.offset, source.load(source.offset)))
        return
    i = frame.names.fresh("k")
    block.line(f"for {i} in range({size}):")
    block.block(1).line(target.store(sum_of(target.offset, i), source.load(sum_of(source.offset, i))))


def open_loops(frame: Frame, shape: Sequence[str], block: Block, note: str) -> tuple[list[str], Block]:
    """Loops over an index space: (index of each axis, the innermost block)."""
    indices = []
    for n in shape:
        if n == "1":
            indices.append("0")
            continue
        i = frame.names.fresh("k")
        block.line(f"for {i} in range({n}):", note)
        block = block.block(1)
        indices.append(i)
    return indices, block
