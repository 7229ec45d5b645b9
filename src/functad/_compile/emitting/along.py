"""Loops along one axis, in order: running sums and products, the linear recurrence, the place of an extreme; adding at computed
places.
"""

from collections.abc import Callable

from functad._compile.codes import code_of
from functad._compile.emitting.accesses import Block
from functad._compile.emitting.frames import Frame, fill, open_loops
from functad._compile.emitting.spellings import cast, combined, note_of, start_text
from functad._core.program import Equation

__all__ = ["ALONG", "Routine"]

Routine = Callable[[Frame, Equation, Block], None]


def _axis_loop(frame: Frame, e: Equation, count: str, block: Block) -> tuple[str, str, Block]:
    """A loop along the axis of an equation: (count, index, what is inside)."""
    k = place = frame.names.fresh("k")
    block.line(f"for {k} in range({count}):", note_of(e))
    inner = block.block(1)
    if e.params.get("reverse"):
        place = frame.names.fresh("q")
        inner.line(f"{place} = {count} - 1 - {k}")
    return k, place, inner


Places = Callable[[tuple[str, ...]], str]  # indices -> text of the element there


def _carried(frame: Frame, e: Equation, block: Block, first: Places, following: Callable[[str, tuple[str, ...]], str]) -> None:
    """Each element from the one before it along the axis: `following` gets that one's text and the indices."""
    out, axis, note = frame.buffer_of(e.outputs[0]), e.params["axis"], note_of(e)
    before, inner = open_loops(frame, out.shape[:axis], block, note)
    k, place, inner = _axis_loop(frame, e, out.shape[axis], inner)
    after, inner = open_loops(frame, out.shape[axis + 1 :], inner, note)
    at = (*before, place, *after)
    last = out.load(out.place((*before, f"({place} {'+' if e.params['reverse'] else '-'} 1)", *after)))
    inner.line(f"if {k} == 0:", note)
    inner.line(f"    {out.store(out.place(at), first(at))}", note)
    inner.line("else:", note)
    inner.line(f"    {out.store(out.place(at), following(last, at))}", note)


def _running(combine: str) -> Routine:
    def routine(frame: Frame, e: Equation, block: Block) -> None:
        x = frame.spilled(e.inputs[0], block)
        _carried(frame, e, block, x.at, lambda last, at: combined(combine, x.code, last, x.at(at)))

    return routine


def _recurrence(frame: Frame, e: Equation, block: Block) -> None:
    """y[k] = a[k] * y[k-1] + b[k]."""
    a, b = (frame.spilled(x, block) for x in e.inputs)
    _carried(frame, e, block, b.at, lambda last, at: cast(b.code, f"{b.at(at)} + {cast(b.code, f'{a.at(at)} * {last}')}"))


def _extreme(sign: str) -> Routine:
    """The first of the extreme elements; a NaN before all others."""

    def routine(frame: Frame, e: Equation, block: Block) -> None:
        x, out, axis, note = frame.spilled(e.inputs[0], block), e.outputs[0], e.params["axis"], note_of(e)
        before, outer = open_loops(frame, x.shape[:axis], block, note)
        after, outer = open_loops(frame, x.shape[axis + 1 :], outer, note)
        best, place, value = frame.names.fresh("t"), frame.names.fresh("q"), frame.names.fresh("v")
        outer.line(f"{best} = {start_text('max' if sign == '>' else 'min', x.code)}", note)
        outer.line(f"{place} = 0", note)
        k, _, inner = _axis_loop(frame, e, x.shape[axis], outer)
        inner.line(f"{value} = {x.at((*before, k, *after))}", note)
        better = f"{value} {sign} {best}" if x.code != "b1" else (f"{value} and not {best}" if sign == ">" else f"{best} and not {value}")
        if x.code[0] == "f":
            better = f"({better}) or ({value} != {value} and {best} == {best})"
        inner.line(f"if {k} == 0 or {better}:", note)
        inner.line(f"    {best} = {value}", note)
        inner.line(f"    {place} = {k}", note)
        if out.type.shape:
            target = frame.buffer_of(out)
            outer.line(target.store(target.place((*before, *after)), place), note)
        else:
            frame.define_scalar(out, place, outer)

    return routine


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
        inner.line(f"{name} = {buffer.at(tuple(indices))}", note)
        inner.line(f"if {name} < 0 or {name} >= {size}:", note)
        inner.line("    return 1", note)
        found.append(name)
    rest, inner = open_loops(frame, out.shape[len(places) :], inner, note)
    target = out.place((*found, *rest))
    value = combined("sum" if code != "b1" else "any", code, out.load(target), updates.at((*indices, *rest)))
    inner.line(out.store(target, value), note)


ALONG: dict[str, Routine] = {
    "cumsum": _running("sum"), "cumprod": _running("prod"), "recurrence": _recurrence,
    "argmax": _extreme(">"), "argmin": _extreme("<"), "scatter_add": _scatter_add,
}  # fmt: skip
