"""Products summed over axes: BLAS where both operands are matrices of some size, loops otherwise.

Loops run along contiguous memory: they add multiples of rows where
the last axis is free, and take inner products where it is summed.
"""

from collections.abc import Sequence
from typing import NamedTuple

from functad._compile.emitting.accesses import Block, Buffer, product
from functad._compile.emitting.frames import Frame, fill, open_loops
from functad._compile.emitting.spellings import cast, combined, compensated, note_of, start_text
from functad._compile.scheduling.products import axes_of, calls_blas
from functad._core.program import Equation

__all__ = ["DOTS"]


class _Operand(NamedTuple):
    """One side of a product, and its axes by what they do."""

    buffer: Buffer
    batch: tuple[int, ...]
    free: tuple[int, ...]
    summed: tuple[int, ...]

    def load(self, batch: Sequence[str], free: Sequence[str], summed: Sequence[str]) -> str:
        """Text of an element, from the indices of its axes."""
        at = dict(zip((*self.batch, *self.free, *self.summed), (*batch, *free, *summed), strict=True))
        return self.buffer.at(tuple([at[k] for k in range(len(self.buffer.shape))]))

    def sizes(self, axes: Sequence[int]) -> tuple[str, ...]:
        return tuple([self.buffer.shape[i] for i in axes])

    def size(self, axes: Sequence[int]) -> str:
        """Text of the number of elements along axes, as one factor."""
        text = product(self.sizes(axes))
        return f"({text})" if " " in text else text

    @property
    def is_free_along_memory(self) -> bool:
        return bool(self.free) and self.free[-1] == len(self.buffer.shape) - 1


def _dot(frame: Frame, e: Equation, block: Block) -> None:
    """The product of two arrays."""
    axes = axes_of(e)
    x = _Operand(frame.spilled(e.inputs[0], block), axes.batch_x, axes.free_x, axes.sum_x)
    y = _Operand(frame.spilled(e.inputs[1], block), axes.batch_y, axes.free_y, axes.sum_y)
    if calls_blas(e):
        _blas(frame, e, x, y, block)
    elif not e.outputs[0].type.shape:
        frame.define_scalar(e.outputs[0], _inner_product(frame, note_of(e), x, y, ([], [], []), block), block)
    elif y.is_free_along_memory and x.summed:
        _rows(frame, e, x, y, block, along_y=True)
    elif x.is_free_along_memory and x.summed:
        _rows(frame, e, x, y, block, along_y=False)
    else:
        batch, inner = open_loops(frame, x.sizes(x.batch), block, note_of(e))
        free_x, inner = open_loops(frame, x.sizes(x.free), inner, note_of(e))
        free_y, inner = open_loops(frame, y.sizes(y.free), inner, note_of(e))
        total = _inner_product(frame, note_of(e), x, y, (batch, free_x, free_y), inner)
        out = frame.buffer_of(e.outputs[0])
        inner.line(out.store(out.place((*batch, *free_x, *free_y)), total), note_of(e))


def _times(code: str, x: str, y: str) -> str:
    return f"({x} & {y})" if code == "b1" else cast(code, f"({x} * {y})")


def _plus(code: str, total: str, x: str) -> str:
    return combined("any" if code == "b1" else "sum", code, total, x)


def _added(code: str, total: str, x: str) -> str:
    """The same where LLVM may change the order."""
    return f"add_reassoc_{code}({total}, {x})" if code[0] == "f" else _plus(code, total, x)


_Indices = tuple[Sequence[str], Sequence[str], Sequence[str]]  # of the batch axes, the free axes of x, those of y


def _inner_product(frame: Frame, note: str, x: _Operand, y: _Operand, at: _Indices, block: Block) -> str:
    """One element of the result, summed in a local variable."""
    code, (batch, free_x, free_y), total = x.buffer.code, at, frame.names.fresh("t")
    if not x.summed:
        block.line(f"{total} = {_times(code, x.load(batch, free_x, ()), y.load(batch, free_y, ()))}", note)
        return total
    block.line(f"{total} = {start_text('sum', code)}", note)
    sizes = x.sizes(x.summed)
    if code[0] == "f" and not sizes[-1].isdigit():  # a few terms need no blocks
        _blocked_product(frame, note, x, y, at, total, block)
        return total
    summed, inner = open_loops(frame, sizes, block, note)
    term = _times(code, x.load(batch, free_x, summed), y.load(batch, free_y, summed))
    inner.line(f"{total} = {_added(code, total, term)}", note)
    return total


def _blocked_product(frame: Frame, note: str, x: _Operand, y: _Operand, at: _Indices, total: str, block: Block) -> None:
    """The products along the last summed axis in blocks of 1024, with a compensated sum of the blocks, as long sums are.

    Without blocks a product of 1e6 terms was 2450 units in the last place off, where BLAS is 100.
    """
    code, (batch, free_x, free_y) = x.buffer.code, at
    lost, part, start, k = (frame.names.fresh(letter) for letter in ("lost", "p", "b", "k"))
    *outer, size = x.sizes(x.summed)
    block.line(f"{lost} = {code}(0.0)", note)
    summed, inner = open_loops(frame, outer, block, note)
    inner.line(f"for {start} in range(0, {size}, 1024):", note)
    chunk = inner.block(1)
    chunk.line(f"{part} = {code}(0.0)", note)
    chunk.line(f"for {k} in range({start}, min({start} + 1024, {size})):", note)
    term = _times(code, x.load(batch, free_x, [*summed, k]), y.load(batch, free_y, [*summed, k]))
    chunk.block(1).line(f"{part} = {_added(code, part, term)}", note)
    for text in compensated(frame.names, code, total, lost, part):
        chunk.line(text, note)


def _rows(frame: Frame, e: Equation, x: _Operand, y: _Operand, block: Block, along_y: bool) -> None:
    """Multiples of rows are added to the result: the innermost loop runs along memory."""
    out, code, note = frame.buffer_of(e.outputs[0]), x.buffer.code, note_of(e)
    fill(frame, out, start_text("sum", code), block)
    batch, inner = open_loops(frame, x.sizes(x.batch), block, note)
    one, row = (x, y) if along_y else (y, x)  # the operand that gives the factor, and the one that gives the row
    outer, inner = open_loops(frame, one.sizes(one.free), inner, note)
    summed, inner = open_loops(frame, x.sizes(x.summed), inner, note)
    factor = frame.names.fresh("v")
    inner.line(f"{factor} = {one.load(batch, outer, summed)}", note)
    along, inner = open_loops(frame, row.sizes(row.free), inner, note)
    element = row.load(batch, along, summed)
    term = _times(code, factor, element) if along_y else _times(code, element, factor)
    place = out.place((*batch, *outer, *along) if along_y else (*batch, *along, *outer))
    inner.line(out.store(place, _plus(code, out.load(place), term)), note)


# ---- BLAS


def _matrix(frame: Frame, note: str, x: _Operand, block: Block) -> tuple[Buffer, bool]:
    """(buffer with the batch axes first, whether the summed axes come before the free ones), copied where the axes lie otherwise."""
    order = tuple(range(len(x.buffer.shape)))
    wanted = (*x.batch, *x.free, *x.summed)
    if wanted == order:
        return x.buffer, False
    if (*x.batch, *x.summed, *x.free) == order:
        return x.buffer, True
    moved = frame.new_buffer(x.buffer.code, x.sizes(wanted))
    indices, inner = open_loops(frame, moved.shape, block, note)
    at = dict(zip(wanted, indices, strict=True))
    inner.line(moved.store(moved.place(tuple(indices)), x.buffer.at(tuple([at[i] for i in order]))), note)
    return moved, False


def _blas(frame: Frame, e: Equation, x: _Operand, y: _Operand, block: Block) -> None:
    code, note, out = x.buffer.code, note_of(e), frame.buffer_of(e.outputs[0])
    rows, columns, inner = x.size(x.free), y.size(y.free), x.size(x.summed)
    left, x_turned = _matrix(frame, note, x, block)
    right, y_summed_first = _matrix(frame, note, y, block)
    batch_sizes = x.sizes(x.batch)
    batch, body = open_loops(frame, batch_sizes, block, note)

    def pointer(buffer: Buffer, size: str) -> str:
        flat = "0"
        for i, n in zip(batch, batch_sizes, strict=True):
            flat = i if flat == "0" else f"({flat} * {n} + {i})"
        place = buffer.offset if flat == "0" else f"{flat} * {size}" + ("" if buffer.offset == "0" else f" + {buffer.offset}")
        return buffer.name if place == "0" else f"offset({buffer.name}, {place})"

    one, zero = (f"{code}({n})" if code[0] == "f" else f"{code}(complex({n}, 0.0))" for n in ("1.0", "0.0"))
    arguments = [
        "1" if x_turned else "0", "0" if y_summed_first else "1", rows, columns, inner, one,
        pointer(left, f"{rows} * {inner}"), rows if x_turned else inner,
        pointer(right, f"{inner} * {columns}"), columns if y_summed_first else inner,
        zero, pointer(out, f"{rows} * {columns}"), columns,
    ]  # fmt: skip
    body.line(f"gemm_{code}({', '.join(arguments)})", note)


DOTS = {"dot": _dot}
