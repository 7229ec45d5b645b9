"""Loops along one axis, in order: running sums and products, the linear recurrence, the place of an extreme; adding at computed
places.
"""

from collections.abc import Sequence

from functad._compile.emitting.accesses import Block, Buffer
from functad._compile.emitting.frame import Frame, Routine, fill, open_loops
from functad._compile.emitting.spelling import cast, combined, note_of, start_text
from functad._compile.scheduling.sizes import code_of
from functad._core.program import Equation


def _axis_loops(frame: Frame, e: Equation, buffer: Buffer, block: Block, axis_inside: bool) -> tuple[list[str], str, Block, Block]:
    """Loops over all axes of a buffer, the axis of the equation in its place or innermost: (indices, count along it, around it,
    innermost).
    """
    axis, note = e.params["axis"], note_of(e)
    before, count = buffer.shape[:axis], buffer.shape[axis]
    after = buffer.shape[axis + 1 :]
    indices, outer = open_loops(frame, before, block, note)
    rest: list[str] = []
    if axis_inside:
        rest, outer = open_loops(frame, after, outer, note)
    k = frame.names.fresh("k")
    around = outer.block()
    outer.line(f"for {k} in range({count}):", note)
    inner = outer.block(1)
    place = k
    if e.params.get("reverse"):
        place = frame.names.fresh("q")
        inner.line(f"{place} = {count} - 1 - {k}")
    if not axis_inside:
        rest, innermost = open_loops(frame, after, inner, note)
    else:
        innermost = inner
    return [*indices, place, *rest], k, around, innermost


def _running(combine: str) -> Routine:
    def routine(frame: Frame, e: Equation, block: Block) -> None:
        x, out = frame.spilled(e.inputs[0], block), frame.buffer_of(e.outputs[0])
        indices, k, _, inner = _axis_loops(frame, e, x, block, axis_inside=False)
        at, before = tuple(indices), _neighbour(e, indices)
        note = note_of(e)
        inner.line(f"if {k} == 0:", note)
        inner.line(f"    {out.store(out.place(at), x.load(x.place(at)))}", note)
        inner.line("else:", note)
        inner.line(f"    {out.store(out.place(at), combined(combine, out.code, out.load(out.place(before)), x.load(x.place(at))))}", note)

    return routine


def _neighbour(e: Equation, indices: Sequence[str]) -> tuple[str, ...]:
    step = "+ 1" if e.params["reverse"] else "- 1"
    return tuple([f"({i} {step})" if axis == e.params["axis"] else i for axis, i in enumerate(indices)])


def _recurrence(frame: Frame, e: Equation, block: Block) -> None:
    """y[k] = a[k] * y[k-1] + b[k]."""
    a, b, out = frame.spilled(e.inputs[0], block), frame.spilled(e.inputs[1], block), frame.buffer_of(e.outputs[0])
    indices, k, _, inner = _axis_loops(frame, e, b, block, axis_inside=False)
    at, before = tuple(indices), _neighbour(e, indices)
    place, note = out.place(at), note_of(e)
    inner.line(f"if {k} == 0:", note)
    inner.line(f"    {out.store(place, b.load(place))}", note)
    inner.line("else:", note)
    value = cast(out.code, f"{b.load(place)} + {cast(out.code, f'{a.load(place)} * {out.load(out.place(before))}')}")
    inner.line(f"    {out.store(place, value)}", note)


def _extreme(sign: str) -> Routine:
    """The first of the extreme elements; a NaN before all others."""

    def routine(frame: Frame, e: Equation, block: Block) -> None:
        x = frame.spilled(e.inputs[0], block)
        axis, note = e.params["axis"], note_of(e)
        indices, k, around, inner = _axis_loops(frame, e, x, block, axis_inside=True)
        best, place, value = frame.names.fresh("t"), frame.names.fresh("q"), frame.names.fresh("v")
        around.line(f"{best} = {start_text('max' if sign == '>' else 'min', x.code)}", note)
        around.line(f"{place} = 0", note)
        inner.line(f"{value} = {x.load(x.place(tuple(indices)))}", note)
        better = f"{value} {sign} {best}" if x.code != "b1" else (f"{value} and not {best}" if sign == ">" else f"{best} and not {value}")
        if x.code[0] == "f":
            better = f"({better}) or ({value} != {value} and {best} == {best})"
        inner.line(f"if {k} == 0 or {better}:", note)
        inner.line(f"    {best} = {value}", note)
        inner.line(f"    {place} = {k}", note)
        _write_place(frame, e, block, around, place, [i for d, i in enumerate(indices) if d != axis])

    return routine


def _write_place(frame: Frame, e: Equation, block: Block, around: Block, place: str, indices: Sequence[str]) -> None:
    out = e.outputs[0]
    parent = _parent_of(block, around)
    if out.type.shape:
        target = frame.buffer_of(out)
        parent.line(target.store(target.place(tuple(indices)), place), note_of(e))
    else:
        frame.define_scalar(out, place, parent)


def _parent_of(block: Block, child: Block) -> Block:
    """The block that holds another."""
    stack = [block]
    while stack:
        top = stack.pop()
        for item in top.items:
            if item is child:
                return top
            if isinstance(item, Block):
                stack.append(item)
    raise AssertionError("a block that is not inside")


def _scatter_add(frame: Frame, e: Equation, block: Block) -> None:
    """Zeros, and then each update to its place; duplicates add up in order."""
    updates = frame.spilled(e.inputs[0], block)
    places = [frame.spilled(i, block) for i in e.inputs[1:]]
    out, note = frame.buffer_of(e.outputs[0]), note_of(e)
    code = code_of(e.outputs[0])
    fill(frame, out, start_text("sum", code), block)
    indices, inner = open_loops(frame, places[0].shape, block, note)
    found = []
    for buffer, size in zip(places, out.shape, strict=False):
        name = frame.names.fresh("q")
        inner.line(f"{name} = {buffer.load(buffer.place(tuple(indices)))}", note)
        inner.line(f"if {name} < 0 or {name} >= {size}:", note)
        inner.line("    return 1", note)
        found.append(name)
    rest, inner = open_loops(frame, out.shape[len(places) :], inner, note)
    target = out.place((*found, *rest))
    value = combined("sum" if code != "b1" else "any", code, out.load(target), updates.load(updates.place((*indices, *rest))))
    inner.line(out.store(target, value), note)


ROUTINES: dict[str, Routine] = {
    "cumsum": _running("sum"), "cumprod": _running("prod"), "recurrence": _recurrence,
    "argmax": _extreme(">"), "argmin": _extreme("<"), "scatter_add": _scatter_add,
}  # fmt: skip
