"""Spelling a plan as the source of one kernel: readable Python, the types as comments, each line mapped to its equation.

What lives here: `kernel_text`, the frames in which programs (inner ones too) are spelt, and the table of routines for equations
that have loops of their own.
What it promises: one function of pointers and int64 sizes that returns a status; literals and helper names carry the dtype;
every loop is guarded by its sizes; policy is not here but in `schedule`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from functad._compile.accesses import Block, Buffer, Names, Scalar, Storage, product
from functad._compile.loops import Nest, RowBlock, UnsupportedKernelError, note_of
from functad._compile.plan import Loops, Plan
from functad._compile.rows import BLOCK_ELEMENTS, BLOCK_ROWS, Rows, in_rows, lifetimes
from functad._compile.schedule import schedule
from functad._compile.sizes import CODES, Sizes, code_of
from functad._core.primitive import Call
from functad._core.program import Atom, Equation, Literal, Program, Var

__all__ = ["ROUTINES", "Frame", "KernelText", "Routine", "kernel_text"]

Routine = Callable[["Frame", Equation, Block], None]
ROUTINES: dict[str, Routine] = {}  # filled by the modules that hold the routines


@dataclass
class KernelText:
    """A kernel before it is compiled.

    Attributes
    ----------
    source, arguments, notes :
        What `compile_kernel` takes.
    scratch :
        (dtype code, size texts) of each scratch array.
    """

    source: str
    arguments: list[str]
    notes: dict[int, str]
    scratch: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)


class Frame:
    """One program being spelt: where its variables are.  Inner programs have frames of their own and share names, sizes and
    scratch.
    """

    def __init__(self, program: Program, sizes: Sizes, names: Names, scratch: list[tuple[str, tuple[str, ...]]]) -> None:
        self.sizes, self.names, self.scratch = sizes, names, scratch
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
            self._step(step, block)
            for v in dead:
                buffer = self.buffer_of(v)
                free.setdefault((buffer.code, buffer.shape), []).append(buffer)
        for number, buffer in late:
            put(number, buffer.load(buffer.offset), block)

    def _step(self, step: Any, block: Block) -> None:
        if isinstance(step, Loops):
            Nest(self, step, block.block()).write()
        elif isinstance(step, Rows):
            self._rows(step, block)
        else:
            kernel = step.equation.op.kernel
            assert isinstance(kernel, Call)
            ROUTINES[kernel.kind](self, step.equation, block)

    def _rows(self, rows: Rows, block: Block) -> None:
        """Nests that run block by block over the same rows."""
        count, start, end = self.names.fresh("n"), self.names.fresh("b"), self.names.fresh("e")
        around = RowBlock(start, end, block.block(), Block())
        around.head.line(f"{count} = max(1, min({BLOCK_ROWS}, {BLOCK_ELEMENTS} // max(1, {product(rows.inner())})))")
        block.line(f"for {start} in range(0, {rows.size}, {count}):")
        body = block.block(1)
        body.line(f"{end} = min({start} + {count}, {rows.size})")
        block.items.append(around.tail)
        for v in sorted(rows.local, key=self.order.__getitem__):
            shape = self.sizes.shape(v.type.shape)
            axis = next(k for k, n in enumerate(shape) if n != "1")
            buffer = self.new_buffer(code_of(v), (*shape[:axis], str(BLOCK_ROWS), *shape[axis + 1 :]))
            self.storage[v] = buffer.region(axis, f"-{start}")
        for part in rows.parts:
            Nest(self, part, body.block(), around).write()

    def inner(self, program: Program) -> "Frame":
        """A frame for an inner program."""
        return Frame(program, self.sizes, self.names, self.scratch)

    def new_buffer(self, code: str, shape: tuple[str, ...]) -> Buffer:
        """A scratch array."""
        self.scratch.append((code, shape))
        return Buffer(f"w{len(self.scratch) - 1}", code, shape)

    def output(self, i: int, shape: tuple[str, ...]) -> Any:
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
    from functad._compile.accesses import product, sum_of

    size = product(buffer.shape)
    if size == "1":
        block.line(buffer.store(buffer.offset, text))
        return
    i = frame.names.fresh("k")
    block.line(f"for {i} in range({size}):")
    block.block(1).line(buffer.store(sum_of(buffer.offset, i), text))


def kernel_text(program: Program, sizes: Sizes) -> KernelText:
    """The source of a program whose equations all have kernel forms; UnsupportedKernelError where a dtype has none."""
    from functad._compile import routines  # noqa: F401  # fills ROUTINES; it needs the frames above

    for v in program.inputs:
        if v.type.dtype not in CODES:
            raise UnsupportedKernelError(f"an input of dtype {v.type.dtype}")
    scratch: list[tuple[str, tuple[str, ...]]] = []
    frame = Frame(program, sizes, Names(), scratch)
    body = Block(1)
    inputs = [Buffer(f"x{i}", code_of(v), sizes.shape(v.type.shape)) for i, v in enumerate(program.inputs)]
    outputs = [Buffer(f"o{i}", code_of(a), sizes.shape(a.type.shape)) for i, a in enumerate(program.outputs)]
    given: list[Storage] = list(inputs)
    top = body.block()
    for i, b in enumerate(inputs):
        if not b.shape:
            name = frame.names.fresh("a")
            top.line(f"{name} = {b.load('0')}")
            given[i] = Scalar(name, b.code)
    for i in range(len(sizes.numbers)):
        top.line(f"r{i} = x{len(inputs)}[{i}]")
    frame.write(given, outputs, body)
    body.line("return 0")
    work = [Buffer(f"w{i}", code, shape) for i, (code, shape) in enumerate(scratch)]
    if sizes.numbers:
        inputs.append(Buffer(f"x{len(inputs)}", "f8", (str(len(sizes.numbers)),)))
    pointers = [*inputs, *outputs, *work]
    lines = [f"def kernel({', '.join([b.name for b in inputs] + sizes.names + [b.name for b in (*outputs, *work)])}):"]
    lines += [f"    # {b.name}: {b.code}[{', '.join(b.shape)}]" for b in pointers]
    notes: dict[int, str] = {}
    body.render(lines, notes)
    kinds = [("u1" if b.code == "b1" else b.code) + "*" for b in pointers]
    n = len(inputs)
    return KernelText("\n".join(lines) + "\n", [*kinds[:n], *["i8"] * len(sizes.names), *kinds[n:]], notes, scratch)


__all__ += ["fill", "note_of", "put"]
