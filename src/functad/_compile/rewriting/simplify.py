"""The one way into this room: `simplify`, the pass with all rules."""

import functad._compile.rewriting.algebra as algebra
import functad._compile.rewriting.views as views
from functad._compile.rewriting.simplifier import simplified
from functad._core.program import Program

__all__ = ["simplify"]

RULES = {**views.RULES, **algebra.RULES}


def simplify(program: Program) -> Program:
    """The simplified program, kept in the memo of the given one."""
    return simplified(program, RULES)
