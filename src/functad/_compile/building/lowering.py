# mypy: disable-error-code="no-untyped-call"
"""From a Python function over pointers to an LLVM module, through numba's type inference and lowering.

What lives here: all that is known of numba's internals (the compiler's passes, flags, `noalias`, calling
convention).  It is imported at the first compile only, since it imports numba.
What it promises: a module with one external function, `symbol`, that takes an array of words and returns the status.
"""

import ast
import builtins
import copy
import functools
import re
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba import types
from numba.core import compiler, registry, typed_passes, untyped_passes
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import PassManager
from numba.core.errors import NumbaError
from numba.core.funcdesc import FunctionDescriptor

from functad._compile.building.source import Place, global_names
from functad._compile.mathlib import functions, intrinsics
from functad._compile.mathlib.names import lookup
from functad.errors import KernelError

_WORD = ir.IntType(64)
RAISED = -1  # the status of a kernel in which numba's own code raised


class _ShortPipeline(compiler.CompilerBase):
    """The passes that plain loops over scalars need, with `noalias` on every pointer.

    numba's full pipeline takes half as long again (30 operations: 86 against 66 ms); no option of njit sets `noalias`.
    """

    def define_pipelines(self) -> list[PassManager]:
        self.state.flags.noalias = True
        passes = PassManager("functad")
        for step in (
            untyped_passes.TranslateByteCode, untyped_passes.FixupArgs, untyped_passes.IRProcessing, untyped_passes.ReconstructSSA,
            typed_passes.NopythonTypeInference, typed_passes.PreLowerStripPhis, typed_passes.IRLegalization, typed_passes.AnnotateTypes,
            typed_passes.NativeLowering, typed_passes.NoPythonBackend,
        ):  # fmt: skip
            passes.add_pass(step, step.__name__)
        passes.finalize()
        return [passes]


@functools.cache
def _flags() -> Any:
    flags: Any = compiler.Flags()
    options = {
        "nopython": True,
        "error_model": "numpy",  # division by zero gives inf or NaN, and no exception
        "fastmath": False,
        "boundscheck": False,
        "_nrt": False,
        "no_cpython_wrapper": True,
        "no_cfunc_wrapper": True,
    }
    registry.cpu_target.options.parse_as_flags(flags, options)
    flags.no_compile = True  # numba keeps what it compiles for good; here it only writes the module
    flags.enable_pyobject = False
    return flags


def numba_type(argument: str) -> types.Type:
    """The numba type of an argument kind such as "f8*" or "i8"."""
    return types.CPointer(intrinsics.NUMBA_TYPES[argument[:-1]]) if argument.endswith("*") else intrinsics.NUMBA_TYPES[argument]


def lower(tree: ast.Module, name: str, arguments: tuple[str, ...], symbol: str, place: Place, doubt: int | None) -> llvm.ModuleRef:
    """The module of the function `name` in `tree`, with the entry point `symbol`; `doubt` as in `direct.lower`."""
    careful, names, calls = doubt is None, global_names(tree), _Calls()
    tree = calls.visit(copy.deepcopy(tree))
    namespace: dict[str, Any] = {"__name__": "functad_kernels"}
    namespace |= {used: lookup(used, careful) for used in global_names(tree) if used not in calls.names and not hasattr(builtins, used)}
    namespace |= {renamed: lookup(used, careful) for renamed, used in calls.names.items()}
    if doubt is not None and any(map(functions.may_doubt, names)):
        tree = ast.fix_missing_locations(_SettleReturns().visit(tree))
        namespace["settle"] = intrinsics.settle(doubt)
    exec(compile(tree, place.filename, "exec"), namespace)
    try:
        return _module_of(namespace[name], arguments, symbol)
    except NumbaError as error:
        raise _error(place, str(error)) from None


class _Calls(ast.NodeTransformer):
    """`i1(x)` becomes `call_i1(x)`: in Python a loop index of that name would hide the cast to int8."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}  # new name -> helper

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and not hasattr(builtins, node.func.id):
            renamed = "call_" + node.func.id
            self.names[renamed] = node.func.id
            node.func = ast.copy_location(ast.Name(renamed, ast.Load()), node.func)
        return node


class _SettleReturns(ast.NodeTransformer):
    """`return status` becomes `return settle(status)`, on the same line."""

    def visit_Return(self, node: ast.Return) -> ast.Return:
        call = ast.Call(ast.Name("settle", ast.Load()), [node.value or ast.Constant(0)], [])
        return ast.copy_location(ast.Return(call), node)


def _error(place: Place, text: str) -> KernelError:
    """numba's message without its talk of passes and candidates, and the line that it names."""
    said = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("Failed in")]
    signature = next((line[3:] for line in said if line.startswith(">>>")), "")
    named = re.search(re.escape(place.filename) + r'"?(?: \(|, line )(\d+)', text)
    return place.error(int(named[1]) if named else 0, said[0] + signature)


def _module_of(function: Callable[..., int], arguments: tuple[str, ...], symbol: str) -> llvm.ModuleRef:
    """The function's LLVM module, not yet optimised, with the entry point added."""
    target = registry.cpu_target
    with global_compiler_lock:
        kinds = tuple(map(numba_type, arguments))
        result = compiler.compile_extra(
            target.typing_context, target.target_context, function, kinds, types.int64, _flags(), {}, pipeline_class=_ShortPipeline
        )
        made = result.library
        # A copy: `_final_module` is made in LLVM's global context and belongs to numba's library.
        module = llvm.parse_assembly(str(made._final_module))
        for other in made._linking_libraries:
            if other.name != "nrt":  # numba's memory manager, which `_nrt=False` leaves unused
                module.link_in(other._get_module_for_linking(), preserve=True)
        entry = llvm.parse_assembly(str(_entry_module(target.target_context, result.fndesc, arguments, symbol)))
    module.link_in(entry)
    module.get_function(result.fndesc.llvm_func_name).linkage = "internal"
    module.verify()
    return module


def _entry_module(context: Any, descriptor: FunctionDescriptor, arguments: tuple[str, ...], symbol: str) -> ir.Module:
    """int64 symbol(int64 *words): takes the arguments from the words and calls the function.

    The call is not inlined, since `noalias` says more on a parameter than on what inlining leaves of it.
    """
    module = context.create_module(symbol)
    function_type = context.call_conv.get_function_type(descriptor.restype, descriptor.argtypes)
    callee = ir.Function(module, function_type, descriptor.llvm_func_name)
    entry = ir.Function(module, ir.FunctionType(_WORD, [_WORD.as_pointer()]), symbol)
    build = ir.IRBuilder(entry.append_basic_block("entry"))
    values = []
    for position, kind in enumerate(arguments):
        word = build.load(build.gep(entry.args[0], [ir.Constant(_WORD, position)]))
        values.append(build.inttoptr(word, context.get_value_type(numba_type(kind))) if kind.endswith("*") else word)
    status, result = context.call_conv.call_function(build, callee, descriptor.restype, descriptor.argtypes, values, attrs=("noinline",))
    build.ret(build.select(status.is_error, ir.Constant(_WORD, RAISED), result))
    return module
