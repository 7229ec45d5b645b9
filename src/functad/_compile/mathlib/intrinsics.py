# mypy: disable-error-code="no-untyped-call"
"""Helpers as numba sees them.

Nothing is inherited from the kernel that calls: see `functions`, where they are made.
"""

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from functad._compile.mathlib.functions import FLAG, call_helper, doubt_flag
from functad._compile.mathlib.names import DOUBT
from functad._compile.mathlib.table import HELPERS
from functad._compile.mathlib.values import Builder, Node

Type: TypeAlias = Any  # a type or signature of numba's, which carries no types
Context: TypeAlias = Any
Intrinsic: TypeAlias = Any
Lowering = Callable[[Context, Builder, Type, Sequence[Node]], Node]
NUMBA_TYPES = {
    "f8": types.float64,
    "f4": types.float32,
    "c16": types.complex128,
    "c8": types.complex64,
    "b1": types.boolean,
    **{f"{sign}{size}": getattr(types, f"{word}{8 * size}") for sign, word in (("i", "int"), ("u", "uint")) for size in (1, 2, 4, 8)},
}


@functools.cache
def settle() -> Intrinsic:
    """settle(status): the status to return, DOUBT if any helper was in doubt."""

    def lower(context: Context, builder: Builder, signature: Type, arguments: Sequence[Node]) -> Node:
        doubt = builder.icmp_unsigned("!=", builder.load(doubt_flag(builder)), ir.Constant(FLAG, 0))
        return builder.select(doubt, ir.Constant(ir.IntType(64), DOUBT), arguments[0])

    return as_intrinsic("settle", lambda status: types.int64(types.int64), lower, 1)


def as_intrinsic(name: str, type_of: Callable[..., Type], lower: Lowering, count: int) -> Intrinsic:
    """numba's `intrinsic` for a function of `count` arguments: it wants to see them by name."""

    def typing(context: Context, *arguments: Type) -> tuple[Type, Lowering] | None:
        signature = type_of(*arguments)
        return None if signature is None else (signature, lower)

    words = ["context", *(f"a{i}" for i in range(count))]
    typing.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(word, inspect.Parameter.POSITIONAL_OR_KEYWORD) for word in words]
    )
    typing.__name__ = typing.__qualname__ = name
    return intrinsic(typing)


@functools.cache
def numba_helper(name: str, careful: bool = False) -> Intrinsic:
    """The helper of this name, for numba-compiled code; KeyError if there is none.  `careful` as in Note [doubt]."""
    helper = HELPERS[name]
    kind = NUMBA_TYPES[helper.argument_kind]
    signature = NUMBA_TYPES[helper.result_kind](*[kind] * helper.argument_count)

    def lower(context: Context, builder: Builder, signature: Type, arguments: Sequence[Node]) -> Node:
        return call_helper(helper, builder, arguments, careful)

    return as_intrinsic(name, lambda *given: signature, lower, helper.argument_count)


def _select_type(condition: Type, yes: Type, no: Type) -> Type:
    """Both values must agree: an untyped literal would turn float32 into float64 without a word."""
    yes, no = types.unliteral(yes), types.unliteral(no)
    return yes(types.boolean, yes, no) if yes == no else None


@functools.cache
def select() -> Intrinsic:
    """select(condition, yes, no) without a branch, for values of any one type."""

    def lower(context: Context, builder: Builder, signature: Type, arguments: Sequence[Node]) -> Node:
        return builder.select(*arguments)

    return as_intrinsic("select", _select_type, lower, 3)


@functools.cache
def offset() -> Intrinsic:
    """offset(pointer, count): the pointer moved by so many elements."""

    def type_of(pointer: Type, count: Type) -> Type:
        return pointer(pointer, types.int64) if isinstance(pointer, types.CPointer) else None

    def lower(context: Context, builder: Builder, signature: Type, arguments: Sequence[Node]) -> Node:
        return builder.gep(arguments[0], [arguments[1]])

    return as_intrinsic("offset", type_of, lower, 2)
