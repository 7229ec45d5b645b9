"""Writing one `Loops` step: its stores and its reductions in a nest of loops."""

from typing import Any

from functad._compile.emitting.accesses import Block, Scalar
from functad._compile.emitting.folds import Folding
from functad._compile.emitting.frame import Frame
from functad._compile.emitting.nest import Nest, RowBlock
from functad._compile.scheduling.plan import Loops, Store
from functad._core.program import Var

__all__ = ["write_loops"]


def write_loops(frame: Frame, loops: Loops, block: Block, around: RowBlock | None = None) -> None:
    """All stores and reductions of a step."""
    nest = Nest(frame, loops, block, around)
    nest.open(block, chunked=any(Folding.is_chunked(nest, e) for e in loops.folds))
    for store in loops.stores:
        _store(nest, store)
    for e in loops.folds:
        Folding(nest, e).write()
    if nest.blocks[-1].is_empty() and nest.space:
        nest.blocks[-1].line("pass")


def _store(nest: Nest, store: Store) -> None:
    a, frame = store.atom, nest.frame
    at = nest.identity(a)
    text = nest.value(a, at, nest.base)
    if store.output is not None:
        target: Any = frame.output(store.output, nest.sizes.shape(a.type.shape))
    elif store.region is not None:
        v, axis, begin = store.region
        target = frame.buffer_of(v).region(axis, begin)
    elif not a.type.shape:
        assert isinstance(a, Var)
        frame.define_scalar(a, text, nest.blocks[-1])
        return
    else:
        target = frame.storage[a]  # type: ignore[index]  # without output or region, the atom is a variable
    if isinstance(target, Scalar):
        nest.blocks[-1].line(f"{target.name} = {text}", "result")
    else:
        nest.blocks[-1].line(target.store(nest.place(target, at), text), "result")
