"""Spelling a plan as the source of one kernel: readable Python, the types as comments, each line mapped to its equation.

What it promises: one function of pointers and int64 sizes that returns a status; every loop is guarded by its sizes; policy is not
here but in `scheduling`.
"""

from dataclasses import dataclass

import functad._compile.emitting.along as along
import functad._compile.emitting.dots as dots
import functad._compile.emitting.nested as nested
from functad._compile.emitting.accesses import Block, Buffer, Names, Scalar, Storage
from functad._compile.emitting.frame import Frame, Routine, Scratch
from functad._compile.emitting.loops import write_loops
from functad._compile.emitting.nest import RowBlock
from functad._compile.emitting.spelling import UnsupportedKernelError, product
from functad._compile.scheduling.plan import Loops, Step
from functad._compile.scheduling.rows import BLOCK_ELEMENTS, BLOCK_ROWS, Rows
from functad._compile.scheduling.sizes import CODES, Sizes, code_of
from functad._core.primitive import Call
from functad._core.program import Program

__all__ = ["ROUTINES", "KernelText", "kernel_text"]

# Kind of a `Call` -> what spells it; calls without loops of their own (`PULLED`) are spelt in `nest`.
ROUTINES: dict[str, Routine] = {**along.ROUTINES, **dots.ROUTINES, **nested.ROUTINES}


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
    scratch: Scratch


def _spell(frame: Frame, step: Step, block: Block) -> None:
    if isinstance(step, Loops):
        write_loops(frame, step, block.block())
    elif isinstance(step, Rows):
        _rows(frame, step, block)
    else:
        kernel = step.equation.op.kernel
        assert isinstance(kernel, Call)
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
        write_loops(frame, part, body.block(), around)


def kernel_text(program: Program, sizes: Sizes) -> KernelText:
    """The source of a program whose equations all have kernel forms; UnsupportedKernelError where a dtype has none."""
    for v in program.inputs:
        if v.type.dtype not in CODES:
            raise UnsupportedKernelError(f"an input of dtype {v.type.dtype}")
    scratch: Scratch = []
    frame = Frame(program, sizes, Names(), scratch, _spell)
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
