# mypy: disable-error-code="no-untyped-call"
"""Helpers as numba sees them.

Nothing is inherited from the kernel that calls: see `functions`, where they are made.
"""

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir
from numba import from_dtype, types
from numba.core.base import BaseContext
from numba.core.typing.templates import Signature
from numba.extending import intrinsic

from functad._compile.codes import CODES
from functad._compile.mathlib.functions import FLAG, call_helper, doubt_flag
from functad._compile.mathlib.table import HELPERS

NUMBA_TYPES = {code: from_dtype(dtype) for dtype, code in CODES.items()}
Spelling = Callable[[ir.IRBuilder, Sequence[ir.Value]], ir.Value]  # writes the instructions of a call


def as_intrinsic(name: str, type_of: Callable[..., Signature | None], spelling: Spelling, count: int) -> Any:
    """numba's `intrinsic` for a function of `count` arguments: it wants to see them by name."""

    def lower(context: BaseContext, builder: ir.IRBuilder, signature: Signature, arguments: Sequence[ir.Value]) -> ir.Value:
        return spelling(builder, arguments)

    def typing(context: BaseContext, *arguments: types.Type) -> tuple[Signature, Callable[..., ir.Value]] | None:
        signature = type_of(*arguments)
        return None if signature is None else (signature, lower)

    words = ["context", *(f"a{i}" for i in range(count))]
    parameters = [inspect.Parameter(word, inspect.Parameter.POSITIONAL_OR_KEYWORD) for word in words]
    typing.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    typing.__name__ = typing.__qualname__ = name
    return intrinsic(typing)


@functools.cache
def settle(in_doubt: int) -> Any:
    """settle(status): the status to return, or this one if any helper was in doubt."""

    def spelling(builder: ir.IRBuilder, arguments: Sequence[ir.Value]) -> ir.Value:
        doubt = builder.icmp_unsigned("!=", builder.load(doubt_flag(builder)), ir.Constant(FLAG, 0))
        return builder.select(doubt, ir.Constant(ir.IntType(64), in_doubt), arguments[0])

    return as_intrinsic("settle", lambda status: types.int64(types.int64), spelling, 1)


@functools.cache
def numba_helper(name: str, careful: bool = False) -> Any:
    """The helper of this name, for numba-compiled code; KeyError if there is none.  `careful` as in Note [doubt]."""
    helper = HELPERS[name]
    kind = NUMBA_TYPES[helper.argument_kind]
    signature = NUMBA_TYPES[helper.result_kind](*[kind] * helper.argument_count)
    spelling: Spelling = lambda builder, arguments: call_helper(helper, builder, arguments, careful)
    return as_intrinsic(name, lambda *given: signature, spelling, helper.argument_count)


@functools.cache
def select() -> Any:
    """select(condition, yes, no) without a branch, for values of any one type."""

    def type_of(condition: types.Type, yes: types.Type, no: types.Type) -> Signature | None:
        """Both values must agree: an untyped literal would turn float32 into float64 without a word."""
        yes, no = types.unliteral(yes), types.unliteral(no)
        return yes(types.boolean, yes, no) if yes == no else None

    return as_intrinsic("select", type_of, lambda builder, arguments: builder.select(*arguments), 3)


@functools.cache
def offset() -> Any:
    """offset(pointer, count): the pointer moved by so many elements."""

    def type_of(pointer: types.Type, count: types.Type) -> Signature | None:
        return pointer(pointer, types.int64) if isinstance(pointer, types.CPointer) else None

    return as_intrinsic("offset", type_of, lambda builder, arguments: builder.gep(arguments[0], [arguments[1]]), 2)
