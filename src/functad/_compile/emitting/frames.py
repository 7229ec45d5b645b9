"""Where the variables of a program are while it is spelt: `Frame`."""

from collections.abc import Sequence

from functad._compile.codes import code_of
from functad._compile.emitting.accesses import Block, Buffer, Names, Scalar, Storage, product, sum_of
from functad._compile.scheduling.plan import Plan
from functad._compile.scheduling.rows import in_rows
from functad._compile.scheduling.schedule import schedule
from functad._compile.scheduling.sizes import Sizes
from functad._core.program import Atom, Literal, Program, Var

__all__ = ["Frame", "Scratch", "fill", "number", "open_loops", "put"]

Scratch = tuple[str, tuple[str, ...]]  # dtype code and size texts of a scratch array


class Frame:
    """One program being spelt: where its variables are.

    Inner programs have frames of their own and share names, sizes and scratch.
    """

    def __init__(self, program: Program, sizes: Sizes, names: Names, scratch: list[Scratch]) -> None:
        self.sizes, self.names, self.scratch = sizes, names, scratch
        self.plan: Plan = schedule(program, sizes)
        self.steps = in_rows(self.plan, sizes)
        self.program = program
        self.order = {v: i for i, e in enumerate(program.equations) for v in e.outputs}
        self.storage: dict[Var, Storage] = {}
        self.outputs: list[Storage] = []

    def inner(self, program: Program) -> "Frame":
        """A frame for an inner program."""
        return Frame(program, self.sizes, self.names, self.scratch)

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

    def given(self, a: Atom) -> Storage:
        """Where an operand is; a literal is its own text, whatever its shape."""
        found = Scalar(self.sizes.literal(a), code_of(a)) if isinstance(a, Literal) else self.find(a)
        assert found is not None
        return found

    def spilled(self, a: Atom, block: Block) -> Buffer:
        """The buffer of an atom; a local variable or a literal is written to memory first."""
        found = self.given(a)
        if isinstance(found, Buffer):
            return found
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


def number(source: Storage) -> str:
    """Text of a variable or of the only element of a buffer."""
    return source.name if isinstance(source, Scalar) else source.load(source.offset)


def put(target: Storage, text: str, block: Block) -> None:
    """Write a number to a variable or to the only element of a buffer."""
    if isinstance(target, Scalar):
        block.line(f"{target.name} = {text}", "a result")
    else:
        block.line(target.store(target.offset, text), "a result")


def fill(frame: Frame, target: Buffer, source: str | Buffer, block: Block) -> None:
    """Write one number everywhere, or copy the elements of another buffer of the same shape."""
    size, i = product(target.shape), "0"
    if size != "1":
        i = frame.names.fresh("k")
        block.line(f"for {i} in range({size}):")
        block = block.block(1)
    text = source if isinstance(source, str) else source.load(sum_of(source.offset, i))
    block.line(target.store(sum_of(target.offset, i), text))


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
