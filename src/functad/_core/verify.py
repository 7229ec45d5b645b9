"""The invariants of a program, checked after every pass in the tests.

Variables are bound once and before use; `infer` reproduces the types; elementwise inputs share one shape (no implicit broadcast);
params are hashable and hold no tracers or arrays; inner programs are closed and valid themselves.
"""

from typing import Any

import numpy as np

from functad._core.program import Literal, Program, Var
from functad._core.tracer import Tracer
from functad.errors import VerificationError

__all__ = ["verify"]


def _check_param(where: str, value: Any) -> None:
    if isinstance(value, Program):
        verify(value)
    elif isinstance(value, (tuple, list)):
        for v in value:
            _check_param(where, v)
    elif isinstance(value, (Tracer, np.ndarray)):
        raise VerificationError(f"{where}: a param holds {type(value).__name__}")
    try:
        hash(value)
    except TypeError:
        raise VerificationError(f"{where}: a param is not hashable: {value!r}") from None


def verify(program: Program) -> Program:
    """The program itself, or VerificationError."""
    bound: set[Var] = set()
    for v in program.inputs:
        if v in bound:
            raise VerificationError("an input is bound twice")
        bound.add(v)
    for i, e in enumerate(program.equations):
        where = f"equation {i} ({e.op.name})"
        for a in e.inputs:
            if not isinstance(a, Literal) and a not in bound:
                raise VerificationError(f"{where}: an input is used before it is bound")
        for value in e.params.values():
            _check_param(where, value)
        inferred = e.op.infer(*[a.type for a in e.inputs], **e.params)
        found = tuple(v.type for v in e.outputs)
        if [(t.shape, t.dtype) for t in inferred] != [(t.shape, t.dtype) for t in found]:
            raise VerificationError(f"{where}: types are {found}, infer says {inferred}")
        for v in e.outputs:
            if v in bound:
                raise VerificationError(f"{where}: an output is bound twice")
            bound.add(v)
    for a in program.outputs:
        if not isinstance(a, Literal) and a not in bound:
            raise VerificationError("an output is not bound")
    return program
