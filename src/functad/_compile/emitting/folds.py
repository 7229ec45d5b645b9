"""Spelling reductions inside a nest of loops.

What lives here: `write_nest`, the loops of one step with all that is computed in them. Axes that are reduced innermost are added
up in local variables, the others in the result itself, row by row. Sums of floats run in blocks of 1024 whose order LLVM may
change, with a compensated sum of the blocks: as accurate as NumPy's pairwise sum at no cost (1e6 x 0.1: 7 units in the last
place; without blocks 5724), and vectorised.
"""

from functad._compile.codes import code_of
from functad._compile.emitting.accesses import Block, product, sum_of
from functad._compile.emitting.frames import Frame
from functad._compile.emitting.loops import Nest, RowBlock
from functad._compile.emitting.spellings import combined, compensated, note_of, parts_of, start_text
from functad._compile.scheduling.plan import Loops
from functad._core.primitive import Fold
from functad._core.program import Equation

__all__ = ["write_nest"]


def write_nest(frame: Frame, loops: Loops, block: Block, around: RowBlock | None = None) -> None:
    """Spell one step of loops: its stores and its reductions; `around`: a block of rows that it runs over."""
    nest = Nest(frame, loops, block, around)
    folds = [_Folding(nest, e) for e in loops.folds]
    nest.open(chunked=any(fold.is_chunked for fold in folds))
    for store in loops.stores:
        nest.store(store)
    for fold in folds:
        fold.write()


class _Folding:
    """Writes one reduction of a nest."""

    def __init__(self, nest: Nest, e: Equation) -> None:
        assert isinstance(e.op.kernel, Fold)
        self.nest, self.e, self.combine = nest, e, e.op.kernel.combine
        self.out, self.code = e.outputs[0], code_of(e.outputs[0])
        self.depth, self.earlier = self._depth()
        self.note = note_of(e)
        summed = nest.space[self.depth :]
        # it is added up in blocks along the innermost loop; a few terms need none
        self.is_chunked = self.combine == "sum" and self.code[0] in "fc" and not all(n.isdigit() for n in summed)

    def _depth(self) -> tuple[int, bool]:
        """(first of the innermost loops that are all reduced, whether a reduced loop is outside of a kept one)."""
        e, n = self.e, len(self.nest.space)
        axes = e.params["axes"]
        if len(axes) == e.inputs[0].type.ndim:
            return 0, False
        looped = [axis for axis, size in enumerate(self.nest.sizes.shape(e.inputs[0].type.shape)) if size != "1"]
        reduced = {k for k, axis in enumerate(looped) if axis in axes}
        depth = n
        while depth and depth - 1 in reduced:
            depth -= 1
        return depth, any(k < depth for k in reduced)

    def write(self) -> None:
        """Add up what the loops meet."""
        nest, e = self.nest, self.e
        full = len(e.params["axes"]) == e.inputs[0].type.ndim
        source = nest.frame.plan.roots.get(e.inputs[0], e.inputs[0]) if full else e.inputs[0]
        at = nest.identity(source)
        value = nest.value(source, at, nest.base)
        if self.earlier:
            self._fill()
        if self.depth == len(nest.space):
            self._into_result(value, nest.blocks[-1])
        elif self.is_chunked:
            self._into_result(self._sum(value), nest.after[self.depth])
        else:
            total = nest.names.fresh("t")
            nest.blocks[self.depth].line(f"{total} = {start_text(self.combine, self.code)}", self.note)
            nest.blocks[-1].line(f"{total} = {combined(self.combine, self.code, total, value)}", self.note)
            self._into_result(total, nest.after[self.depth])

    def _fill(self) -> None:
        target = self.nest.frame.buffer_of(self.out)
        i = self.nest.names.fresh("i_")
        self.nest.before.line(f"for {i} in range({product(target.shape)}):", self.note)
        self.nest.before.block(1).line(target.store(sum_of(target.offset, i), start_text(self.combine, self.code)), self.note)

    def _into_result(self, value: str, block: Block) -> None:
        """Write the result, or add to it what other rows gave."""
        nest, e = self.nest, self.e
        if not self.out.type.shape:
            nest.frame.define_scalar(self.out, value, block)
            return
        target = nest.frame.buffer_of(self.out)
        axes = e.params["axes"]
        place = target.place(tuple([i for k, i in enumerate(nest.identity(e.inputs[0])) if k not in axes]))
        if self.earlier:
            value = combined(self.combine, self.code, target.load(place), value)
        block.line(target.store(place, value), self.note)

    def _sum(self, value: str) -> str:
        """A sum in blocks; complex numbers as two sums."""
        nest = self.nest
        if self.code[0] == "f":
            return self._real_sum(self.code, value)
        block = nest.after[self.depth]
        totals = [self._real_sum(parts_of(self.code), f"{value}.{part}") for part in ("real", "imag")]
        name = nest.names.fresh("t")
        block.line(f"{name} = {self.code}(complex({totals[0]}, {totals[1]}))", self.note)
        return name

    def _real_sum(self, code: str, value: str) -> str:
        nest, note = self.nest, self.note
        total, lost, part = (nest.names.fresh(letter) for letter in ("t", "lost", "p"))
        zero = f"{code}(0.0)"
        assert nest.chunk_start is not None
        assert nest.chunk_end is not None
        nest.blocks[self.depth].line(f"{total} = {zero}", note)
        nest.blocks[self.depth].line(f"{lost} = {zero}", note)
        nest.chunk_start.line(f"{part} = {zero}", note)
        nest.blocks[-1].line(f"{part} = add_reassoc_{code}({part}, {value})", note)
        for text in compensated(nest.names, code, total, lost, part):
            nest.chunk_end.line(text, note)
        return total
