"""Spelling a plan as the source of one kernel: readable Python, the types as comments, each line mapped to its equation.

What lives here: `kernel_text`, and `write`, which spells the steps of a program, inner ones too.
What it promises: one function of pointers and int64 sizes that returns a status; literals and helper names carry the dtype;
every loop is guarded by its sizes; policy is not here but in `scheduling`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from functad._compile.codes import CODES, code_of
from functad._compile.emitting.accesses import Block, Buffer, Names, Scalar, Storage, product
from functad._compile.emitting.along import ALONG
from functad._compile.emitting.dots import DOTS
from functad._compile.emitting.folds import write_nest
from functad._compile.emitting.frames import Frame, Scratch, put
from functad._compile.emitting.loops import RowBlock
from functad._compile.emitting.nested import NESTED
from functad._compile.emitting.spellings import UnsupportedKernelError
from functad._compile.scheduling.plan import PULLED, Loops, Rows, Step
from functad._compile.scheduling.rows import BLOCK_ELEMENTS, BLOCK_ROWS, lifetimes
from functad._compile.scheduling.sizes import Sizes
from functad._core.primitive import Call
from functad._core.program import Program

__all__ = ["CALLS", "KernelText", "kernel_text"]

ROUTINES = {**ALONG, **DOTS}  # equations with loops of their own
CALLS = frozenset({*PULLED, *ROUTINES, *NESTED})  # every kind of call that a kernel knows


@dataclass
class KernelText:
    """A kernel before it is compiled: what `compile_kernel` takes, and its scratch arrays."""

    source: str
    arguments: list[str]
    notes: dict[int, str]
    scratch: list[Scratch]


def kernel_text(program: Program, sizes: Sizes) -> KernelText:
    """The source of a program whose equations all have kernel forms; UnsupportedKernelError where a dtype has none."""
    for v in program.inputs:
        if v.type.dtype not in CODES:
            raise UnsupportedKernelError(f"an input of dtype {v.type.dtype}")
    scratch: list[Scratch] = []
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
    write(frame, given, outputs, body)
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


def write(frame: Frame, inputs: Sequence[Storage], outputs: Sequence[Storage], block: Block) -> None:
    """Spell a frame's program: its inputs are there, its outputs go there."""
    frame.storage = dict(zip(frame.program.inputs, inputs, strict=True))
    frame.outputs = list(outputs)
    late: list[tuple[Scalar, Buffer]] = []  # a result without axes whose variable has axes of length 1
    free: dict[Scratch, list[Buffer]] = {}  # memory that is not needed any more
    for step, (born, dead) in zip(frame.steps, lifetimes(frame.plan, frame.steps), strict=True):
        for v in born:
            shape, own = frame.sizes.shape(v.type.shape), frame.plan.own_output.get(v)
            target = None if own is None else frame.output(own, shape)
            if not isinstance(target, Buffer):
                spare = free.get((code_of(v), shape)) if target is None else None
                buffer = spare.pop() if spare else frame.new_buffer(code_of(v), shape)
                if isinstance(target, Scalar):
                    late.append((target, buffer))
                target = buffer
            frame.storage[v] = target
        _step(frame, step, block)
        for v in dead:
            buffer = frame.buffer_of(v)
            free.setdefault((buffer.code, buffer.shape), []).append(buffer)
    for number, buffer in late:
        put(number, buffer.load(buffer.offset), block)


def _step(frame: Frame, step: Step, block: Block) -> None:
    if isinstance(step, Loops):
        write_nest(frame, step, block.block())
    elif isinstance(step, Rows):
        _rows(frame, step, block)
    else:
        kernel = step.equation.op.kernel
        assert isinstance(kernel, Call)
        if kernel.kind in NESTED:
            NESTED[kernel.kind](frame, step.equation, block, write)
        else:
            ROUTINES[kernel.kind](frame, step.equation, block)


def _rows(frame: Frame, rows: Rows, block: Block) -> None:
    """Nests that run block by block over the same rows."""
    count, start, end = frame.names.fresh("n"), frame.names.fresh("b"), frame.names.fresh("e")
    around = RowBlock(start, end, block.block(), Block())
    around.head.line(f"{count} = max(1, min({BLOCK_ROWS}, {BLOCK_ELEMENTS} // max(1, {product(rows.inner())})))")
    block.line(f"for {start} in range(0, {rows.size}, {count}):")
    body = block.block(1)
    body.line(f"{end} = min({start} + {count}, {rows.size})")
    block.items.append(around.tail)
    for v in sorted(rows.local, key=frame.order.__getitem__):
        shape = frame.sizes.shape(v.type.shape)
        axis = next(k for k, n in enumerate(shape) if n != "1")
        buffer = frame.new_buffer(code_of(v), (*shape[:axis], str(BLOCK_ROWS), *shape[axis + 1 :]))
        frame.storage[v] = buffer.region(axis, f"-{start}")
    for part in rows.parts:
        write_nest(frame, part, body.block(), around)
