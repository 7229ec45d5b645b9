"""Helpers as numba sees them, and as LLVM functions.

Each helper becomes one private LLVM function per module, marked to be inlined always, so that loops around it vectorise and its text
appears once however often it is called.  No fast-math flag or error model is inherited from anyone: the instructions carry their own.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from .table import HELPERS, Helper
from .values import Value, llvm_type

NUMBA_TYPES = {
    "f8": types.float64,
    "f4": types.float32,
    "c16": types.complex128,
    "c8": types.complex64,
    "b1": types.boolean,
    **{f"{sign}{size}": getattr(types, f"{word}{8 * size}") for sign, word in (("i", "int"), ("u", "uint")) for size in (1, 2, 4, 8)},
}


@functools.cache
def has_fused_multiply_add() -> bool:
    """Whether the processor that code is compiled for has one (x86 may lack it; 64-bit ARM never does)."""
    if not llvm.get_process_triple().startswith(("x86", "i386", "i686")):
        return True
    return bool(llvm.get_host_cpu_features().get("fma", False))


def call_helper(helper: Helper, builder: Any, arguments: Sequence[Any]) -> Any:
    """A call of the helper's function, which is written into the module at its first use there."""
    name = "functad." + helper.full_name
    function = builder.module.globals.get(name)
    if function is None:
        kinds = [llvm_type(helper.kind)] * helper.argument_count
        function = ir.Function(builder.module, ir.FunctionType(llvm_type(helper.result_kind), kinds), name)
        function.linkage = "internal"
        for attribute in ("alwaysinline", "nounwind"):
            function.attributes.add(attribute)
        inner = ir.IRBuilder(function.append_basic_block("entry"))
        body = helper.body if has_fused_multiply_add() or helper.portable is None else helper.portable
        inner.ret(body(*(Value(inner, helper.kind, argument) for argument in function.args)).node)
    return builder.call(function, list(arguments))


def as_intrinsic(name: str, type_of: Callable[..., Any], lower: Callable[..., Any], count: int) -> Any:
    """numba's `intrinsic` for a function of `count` arguments: it wants to see them by name."""

    def typing(context: Any, *arguments: Any) -> Any:
        signature = type_of(*arguments)
        return None if signature is None else (signature, lower)

    words = ["context", *(f"a{i}" for i in range(count))]
    typing.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(word, inspect.Parameter.POSITIONAL_OR_KEYWORD) for word in words]
    )
    typing.__name__ = typing.__qualname__ = name
    return intrinsic(typing)


@functools.cache
def numba_helper(name: str) -> Any:
    """The helper of this name, for numba-compiled code; KeyError if there is none."""
    helper = HELPERS[name]
    kind = NUMBA_TYPES[helper.kind]
    signature = NUMBA_TYPES[helper.result_kind](*[kind] * helper.argument_count)

    def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return call_helper(helper, builder, arguments)

    return as_intrinsic(name, lambda *given: signature, lower, helper.argument_count)


def _select_type(condition: Any, yes: Any, no: Any) -> Any:
    """Both values must agree: an untyped literal would turn float32 into float64 without a word."""
    yes, no = types.unliteral(yes), types.unliteral(no)
    return yes(types.boolean, yes, no) if yes == no else None


@functools.cache
def select() -> Any:
    """select(condition, yes, no) without a branch, for values of any one type."""

    def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.select(*arguments)

    return as_intrinsic("select", _select_type, lower, 3)


@functools.cache
def offset() -> Any:
    """offset(pointer, count): the pointer moved by so many elements."""

    def type_of(pointer: Any, count: Any) -> Any:
        return pointer(pointer, types.int64) if isinstance(pointer, types.CPointer) else None

    def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.gep(arguments[0], [arguments[1]])

    return as_intrinsic("offset", type_of, lower, 2)
