"""Products summed over axes: BLAS where both operands are matrices of some size, loops otherwise.

`scheduling.products` says which.  Loops run along contiguous memory: they add multiples of rows where
the last axis is free, and take inner products where it is summed.
"""

from collections.abc import Sequence

from functad._compile.emitting.accesses import Block, Buffer
from functad._compile.emitting.folds import compensated
from functad._compile.emitting.frame import Frame, Routine, fill, open_loops
from functad._compile.emitting.spelling import cast, combined, note_of, product, start_text
from functad._compile.scheduling.products import Axes, axes_of, calls_blas
from functad._core.program import Equation


def _dot(frame: Frame, e: Equation, block: Block) -> None:
    x, y = (frame.spilled(a, block) for a in e.inputs)
    if calls_blas(e):
        _blas(frame, e, x, y, block)
        return
    axes = axes_of(e)
    if not e.outputs[0].type.shape:
        frame.define_scalar(e.outputs[0], _inner_product(frame, e, axes, x, y, [], [], [], block), block)
    elif axes.free_y and axes.free_y[-1] == len(y.shape) - 1 and axes.sum_x:
        _rows(frame, e, axes, x, y, block, along_y=True)
    elif axes.free_x and axes.free_x[-1] == len(x.shape) - 1 and axes.sum_x:
        _rows(frame, e, axes, x, y, block, along_y=False)
    else:
        batch, inner = open_loops(frame, [x.shape[i] for i in axes.batch_x], block, note_of(e))
        free_x, inner = open_loops(frame, [x.shape[i] for i in axes.free_x], inner, note_of(e))
        free_y, inner = open_loops(frame, [y.shape[i] for i in axes.free_y], inner, note_of(e))
        total = _inner_product(frame, e, axes, x, y, batch, free_x, free_y, inner)
        out = frame.buffer_of(e.outputs[0])
        inner.line(out.store(out.place((*batch, *free_x, *free_y)), total), note_of(e))


Part = tuple[int, ...]  # some axes of an operand
Indices = Sequence[str]  # of some of its axes


def _place(buffer: Buffer, batch: Part, free: Part, summed: Part, *indices: Indices) -> str:
    """Position in an operand from the indices of its batch, free and summed axes."""
    at = dict(zip((*batch, *free, *summed), [i for group in indices for i in group], strict=True))
    return buffer.place(tuple([at[k] for k in range(len(buffer.shape))]))


def _times(code: str, x: str, y: str) -> str:
    return f"({x} & {y})" if code == "b1" else cast(code, f"({x} * {y})")


def _plus(code: str, total: str, x: str) -> str:
    if code[0] == "f":
        return f"add_reassoc_{code}({total}, {x})"
    return combined("any" if code == "b1" else "sum", code, total, x)


def _inner_product(
    frame: Frame, e: Equation, axes: Axes, x: Buffer, y: Buffer, batch: Indices, free_x: Indices, free_y: Indices, block: Block
) -> str:
    """One element of the result, summed in a local variable."""
    code, note = x.code, note_of(e)
    if not axes.sum_x:
        places = _place(x, axes.batch_x, axes.free_x, (), batch, free_x), _place(y, axes.batch_y, axes.free_y, (), batch, free_y)
        name = frame.names.fresh("t")
        block.line(f"{name} = {_times(code, x.load(places[0]), y.load(places[1]))}", note)
        return name
    total = frame.names.fresh("t")
    block.line(f"{total} = {start_text('sum', code)}", note)
    sizes = [x.shape[i] for i in axes.sum_x]
    if code[0] == "f" and not sizes[-1].isdigit():  # a few terms need no blocks
        _blocked_product(frame, axes, x, y, (batch, free_x, free_y), total, block, note)
        return total
    summed, inner = open_loops(frame, sizes, block, note)
    left = x.load(_place(x, axes.batch_x, axes.free_x, axes.sum_x, batch, free_x, summed))
    right = y.load(_place(y, axes.batch_y, axes.free_y, axes.sum_y, batch, free_y, summed))
    inner.line(f"{total} = {_plus(code, total, _times(code, left, right))}", note)
    return total


def _blocked_product(
    frame: Frame, axes: Axes, x: Buffer, y: Buffer, indices: tuple[Indices, Indices, Indices], total: str, block: Block, note: str
) -> None:
    """The products along the last summed axis in blocks of 1024, with a compensated sum of the blocks, as long sums are.

    Without blocks a product of 1e6 terms was 2450 units in the last place off, where BLAS is 100.
    """
    code, (batch, free_x, free_y) = x.code, indices
    lost, part, start, k = (frame.names.fresh(letter) for letter in ("lost", "p", "b", "k"))
    sizes = [x.shape[i] for i in axes.sum_x]
    block.line(f"{lost} = {code}(0.0)", note)
    summed, inner = open_loops(frame, sizes[:-1], block, note)
    inner.line(f"for {start} in range(0, {sizes[-1]}, 1024):", note)
    chunk = inner.block(1)
    chunk.line(f"{part} = {code}(0.0)", note)
    chunk.line(f"for {k} in range({start}, min({start} + 1024, {sizes[-1]})):", note)
    left = x.load(_place(x, axes.batch_x, axes.free_x, axes.sum_x, batch, free_x, [*summed, k]))
    right = y.load(_place(y, axes.batch_y, axes.free_y, axes.sum_y, batch, free_y, [*summed, k]))
    chunk.block(1).line(f"{part} = {_plus(code, part, _times(code, left, right))}", note)
    for text in compensated(frame.names, code, total, lost, part):
        chunk.line(text, note)


def _rows(frame: Frame, e: Equation, axes: Axes, x: Buffer, y: Buffer, block: Block, along_y: bool) -> None:
    """Multiples of rows are added to the result: the innermost loop runs along memory."""
    out, code, note = frame.buffer_of(e.outputs[0]), x.code, note_of(e)
    fill(frame, out, start_text("sum", code), block)
    batch, inner = open_loops(frame, [x.shape[i] for i in axes.batch_x], block, note)
    sizes = [x.shape[i] for i in axes.sum_x]
    if along_y:
        free_x, inner = open_loops(frame, [x.shape[i] for i in axes.free_x], inner, note)
        summed, inner = open_loops(frame, sizes, inner, note)
        factor = x.load(_place(x, axes.batch_x, axes.free_x, axes.sum_x, batch, free_x, summed))
    else:
        free_y, inner = open_loops(frame, [y.shape[i] for i in axes.free_y], inner, note)
        summed, inner = open_loops(frame, sizes, inner, note)
        factor = y.load(_place(y, axes.batch_y, axes.free_y, axes.sum_y, batch, free_y, summed))
    name = frame.names.fresh("v")
    inner.line(f"{name} = {factor}", note)
    if along_y:
        free_y, inner = open_loops(frame, [y.shape[i] for i in axes.free_y], inner, note)
        term = _times(code, name, y.load(_place(y, axes.batch_y, axes.free_y, axes.sum_y, batch, free_y, summed)))
    else:
        free_x, inner = open_loops(frame, [x.shape[i] for i in axes.free_x], inner, note)
        term = _times(code, x.load(_place(x, axes.batch_x, axes.free_x, axes.sum_x, batch, free_x, summed)), name)
    place = out.place((*batch, *free_x, *free_y))
    inner.line(out.store(place, combined("any" if code == "b1" else "sum", code, out.load(place), term)), note)


# ---- BLAS


def _matrix(frame: Frame, buffer: Buffer, batch: Part, free: Part, summed: Part, e: Equation, block: Block) -> tuple[Buffer, bool]:
    """(buffer with the batch axes first, whether the summed axes come before the free ones), copied where the axes lie
    otherwise.
    """
    order = tuple(range(len(buffer.shape)))
    for wanted, turned in (((*batch, *free, *summed), False), ((*batch, *summed, *free), True)):
        if wanted == order:
            return buffer, turned
    wanted = (*batch, *free, *summed)
    moved = frame.new_buffer(buffer.code, tuple([buffer.shape[i] for i in wanted]))
    indices, inner = open_loops(frame, moved.shape, block, note_of(e))
    at = dict(zip(wanted, indices, strict=True))
    inner.line(moved.store(moved.place(tuple(indices)), buffer.load(buffer.place(tuple([at[i] for i in order])))), note_of(e))
    return moved, False


def _group(shape: Sequence[str], axes: Sequence[int]) -> str:
    text = product(tuple([shape[i] for i in axes]))
    return f"({text})" if " " in text else text


def _blas(frame: Frame, e: Equation, x: Buffer, y: Buffer, block: Block) -> None:
    axes, code, note = axes_of(e), x.code, note_of(e)
    out = frame.buffer_of(e.outputs[0])
    rows, columns, inner = _group(x.shape, axes.free_x), _group(y.shape, axes.free_y), _group(x.shape, axes.sum_x)
    left, x_turned = _matrix(frame, x, axes.batch_x, axes.free_x, axes.sum_x, e, block)
    right, y_summed_first = _matrix(frame, y, axes.batch_y, axes.free_y, axes.sum_y, e, block)
    if (axes.sum_y != tuple(sorted(axes.sum_y)) and right is y) or (axes.sum_x != tuple(sorted(axes.sum_x)) and left is x):
        raise AssertionError("summed axes in another order are copied")
    batch, body = open_loops(frame, [x.shape[i] for i in axes.batch_x], block, note)

    def pointer(buffer: Buffer, size: str) -> str:
        flat = "0"
        for i, n in zip(batch, [x.shape[k] for k in axes.batch_x], strict=True):
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


ROUTINES: dict[str, Routine] = {"dot": _dot}
