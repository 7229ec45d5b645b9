"""Helpers as LLVM functions.

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

import functools
from collections.abc import Sequence

import llvmlite.binding as llvm
from llvmlite import ir

from functad._compile.mathlib.table import HELPERS, Body, Helper
from functad._compile.mathlib.values import Value, llvm_type

FLAG = ir.IntType(32)


@functools.cache
def has_fused_multiply_add() -> bool:
    """Whether the processor that code is compiled for has one (x86 may lack it; 64-bit ARM never does)."""
    if not llvm.get_process_triple().startswith(("x86", "i386", "i686")):
        return True
    return bool(llvm.get_host_cpu_features().get("fma", False))


def _chosen_body(helper: Helper, careful: bool) -> tuple[Body, bool]:
    """The body to use and whether it is doubtful."""
    if helper.portable is not None and (not has_fused_multiply_add() or (careful and helper.doubtful)):
        return helper.portable, False
    return helper.body, helper.doubtful


def may_doubt(name: str) -> bool:
    """Whether a kernel that calls this helper needs Note [doubt]."""
    return name in HELPERS and _chosen_body(HELPERS[name], careful=False)[1]


def call_helper(helper: Helper, builder: ir.IRBuilder, arguments: Sequence[ir.Value], careful: bool, apart: bool = False) -> ir.Value:
    """A call of the helper's function, which is written into the module at its first use there; `apart`: never inlined."""
    body, doubtful = _chosen_body(helper, careful)
    name = "functad." + helper.full_name + (".apart" if apart else "")
    function = builder.module.globals.get(name)
    if function is None:
        result = llvm_type(helper.result_kind)
        kinds = [llvm_type(helper.argument_kind)] * helper.argument_count
        returned = ir.LiteralStructType([result, ir.IntType(1)]) if doubtful else result
        function = ir.Function(builder.module, ir.FunctionType(returned, kinds), name)
        function.linkage = "internal"
        for attribute in ("noinline" if apart else "alwaysinline", "nounwind"):
            function.attributes.add(attribute)
        inner = ir.IRBuilder(function.append_basic_block("entry"))
        answer = body(*(Value(inner, helper.argument_kind, argument) for argument in function.args))
        if doubtful:
            assert isinstance(answer, tuple)
            pair = inner.insert_value(ir.Constant(returned, ir.Undefined), answer[0].node, 0)
            inner.ret(inner.insert_value(pair, answer[1].node, 1))
        else:  # a careful body may say that it has no doubt
            inner.ret((answer[0] if isinstance(answer, tuple) else answer).node)
    called = builder.call(function, list(arguments))
    if not doubtful:
        return called
    flag = doubt_flag(builder)
    builder.store(builder.or_(builder.load(flag), builder.zext(builder.extract_value(called, 1), FLAG)), flag)
    return builder.extract_value(called, 0)


def doubt_flag(builder: ir.IRBuilder) -> ir.Value:
    """The kernel's local variable that says whether any helper was in doubt."""
    for instruction in builder.function.entry_basic_block.instructions:
        if instruction.name == "functad.doubt":
            return instruction
    with builder.goto_block(builder.function.entry_basic_block):
        builder.position_at_start(builder.function.entry_basic_block)
        flag = builder.alloca(FLAG, name="functad.doubt")
        builder.store(ir.Constant(FLAG, 0), flag)
    return flag
