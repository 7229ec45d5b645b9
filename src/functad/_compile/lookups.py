"""Reading at computed places and counting, one element at a time; adding at computed places, as a loop.

Every computed index is checked before it is used: out of range ends the kernel with status 1, and nothing wild is ever read.
"""

from functad._compile.loops import PULLED_CALLS, Index, Nest, Scope, note_of
from functad._compile.sizes import code_of
from functad._core.program import Equation, Var


def _iota(nest: Nest, e: Equation, at: Index, scope: Scope) -> str:
    code = code_of(e.outputs[0])
    return f"{code}({at[e.params['axis']]})"


def _gather(nest: Nest, e: Equation, at: Index, scope: Scope) -> str:
    """x[i1, ..., ik] at one place."""
    out, source, first = e.outputs[0], e.inputs[0], e.inputs[1]
    n = first.type.ndim
    found = [nest.value(i, at[:n], scope) for i in e.inputs[1:]]
    block, home = nest.home(out, at, scope)
    if scope.block is not None and not nest.conditional.isdisjoint(found):
        block, home = scope.block, scope  # the places are known under this condition only
    if isinstance(source, Var):
        buffer = nest.frame.spilled(source, nest.before)
        inside = [f"{i} < 0 or {i} >= {size}" for i, size in zip(found, buffer.shape, strict=False)]
        block.line(f"if {' or '.join(inside)}:", note_of(e))
        block.line("    return 1", note_of(e))
        name = nest.names.fresh("v")
        block.line(f"{name} = {buffer.load(buffer.place((*found, *at[n:])))}", note_of(e))
        nest.level[name] = max([nest.level_of(i) for i in at], default=0)
        home.known[out, at] = name
        if home.block is not None:
            nest.conditional.add(name)
        return name
    return nest.value(source, ("0",) * source.type.ndim, scope)


PULLED_CALLS["gather"] = _gather
PULLED_CALLS["iota"] = _iota
