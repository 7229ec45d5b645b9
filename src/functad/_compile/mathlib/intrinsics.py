# mypy: disable-error-code="no-untyped-call"
"""Helpers as numba sees them, and as LLVM functions.

Each helper becomes one private LLVM function per module, marked to be inlined always, so that loops around it
vectorise and its text appears once however often it is called.  No fast-math flag or error model is inherited from
anyone: the instructions carry their own.

Note [doubt]: a formula may have no answer for rare arguments (sin beyond 5e14).  A branch to libm would keep the loop
from being vectorised: LLVM vectorises no call that is not an intrinsic, and makes an intrinsic unconditional (9 ns an
element instead of 1.2).  So a doubtful helper returns NaN there and raises a flag, a local variable of the kernel
that LLVM turns into an or-reduction (0.1 ns), and every `return status` of such a kernel becomes `return
settle(status)`, which gives DOUBT if the flag is up.  Whoever called the kernel then runs its careful twin, compiled
from the same source with libm's functions.  Kernels write to fresh memory only, so running twice is safe.
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

from ..kernel import DOUBT
from .table import HELPERS, Helper
from .values import Value, llvm_type

_FLAG = ir.IntType(32)
NUMBA_TYPES = {
    "f8": types.float64,
    "f4": types.float32,
    "c16": types.complex128,
    "c8": types.complex64,
    "b1": types.boolean,
    **{
        f"{sign}{size}": getattr(types, f"{word}{8 * size}")
        for sign, word in (("i", "int"), ("u", "uint"))
        for size in (1, 2, 4, 8)
    },
}


@functools.cache
def has_fused_multiply_add() -> bool:
    """Whether the processor that code is compiled for has one (x86 may lack it; 64-bit ARM never does)."""
    if not llvm.get_process_triple().startswith(("x86", "i386", "i686")):
        return True
    return bool(llvm.get_host_cpu_features().get("fma", False))


def _chosen_body(helper: Helper, careful: bool) -> tuple[Any, bool]:
    """The body to use and whether it is doubtful."""
    if helper.portable is not None and (not has_fused_multiply_add() or (careful and helper.doubtful)):
        return helper.portable, False
    return helper.body, helper.doubtful


def may_doubt(name: str) -> bool:
    """Whether a kernel that calls this helper needs Note [doubt]."""
    return name in HELPERS and _chosen_body(HELPERS[name], careful=False)[1]


def call_helper(helper: Helper, builder: Any, arguments: Sequence[Any], careful: bool) -> Any:
    """A call of the helper's function, which is written into the module at its first use there."""
    body, doubtful = _chosen_body(helper, careful)
    name = "functad." + helper.full_name
    function = builder.module.globals.get(name)
    if function is None:
        result = llvm_type(helper.result_kind)
        kinds = [llvm_type(helper.argument_kind)] * helper.argument_count
        returned = ir.LiteralStructType([result, ir.IntType(1)]) if doubtful else result
        function = ir.Function(builder.module, ir.FunctionType(returned, kinds), name)
        function.linkage = "internal"
        for attribute in ("alwaysinline", "nounwind"):
            function.attributes.add(attribute)
        inner = ir.IRBuilder(function.append_basic_block("entry"))
        answer = body(*(Value(inner, helper.argument_kind, argument) for argument in function.args))
        if doubtful:
            pair = inner.insert_value(ir.Constant(returned, ir.Undefined), answer[0].node, 0)
            inner.ret(inner.insert_value(pair, answer[1].node, 1))
        else:  # a careful body may say that it has no doubt
            inner.ret((answer[0] if isinstance(answer, tuple) else answer).node)
    called = builder.call(function, list(arguments))
    if not doubtful:
        return called
    flag = _doubt_flag(builder)
    builder.store(builder.or_(builder.load(flag), builder.zext(builder.extract_value(called, 1), _FLAG)), flag)
    return builder.extract_value(called, 0)


def _doubt_flag(builder: Any) -> Any:
    """The kernel's local variable that says whether any helper was in doubt."""
    for instruction in builder.function.entry_basic_block.instructions:
        if instruction.name == "functad.doubt":
            return instruction
    with builder.goto_block(builder.function.entry_basic_block):
        builder.position_at_start(builder.function.entry_basic_block)
        flag = builder.alloca(_FLAG, name="functad.doubt")
        builder.store(ir.Constant(_FLAG, 0), flag)
    return flag


@functools.cache
def settle() -> Any:
    """settle(status): the status to return, DOUBT if any helper was in doubt."""

    def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        doubt = builder.icmp_unsigned("!=", builder.load(_doubt_flag(builder)), ir.Constant(_FLAG, 0))
        return builder.select(doubt, ir.Constant(ir.IntType(64), DOUBT), arguments[0])

    return as_intrinsic("settle", lambda status: types.int64(types.int64), lower, 1)


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
def numba_helper(name: str, careful: bool = False) -> Any:
    """The helper of this name, for numba-compiled code; KeyError if there is none.  `careful` as in Note [doubt]."""
    helper = HELPERS[name]
    kind = NUMBA_TYPES[helper.argument_kind]
    signature = NUMBA_TYPES[helper.result_kind](*[kind] * helper.argument_count)

    def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return call_helper(helper, builder, arguments, careful)

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
