# mypy: disable-error-code="no-untyped-call"
"""From a Python function over pointers to an LLVM module, through numba's type inference and lowering.

What lives here: all that is known of numba's internals (the compiler's passes, flags, `noalias`, calling
convention).  It is imported at the first compile only, since it imports numba.
What it promises: a module with one external function, `symbol`, that takes an array of words and returns the status.
"""

import functools
from types import FunctionType

import llvmlite.binding as llvm
from llvmlite import ir
from numba import types
from numba.core import compiler, registry, typed_passes, untyped_passes
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import PassManager

from functad._compile.mathlib.intrinsics import NUMBA_TYPES, Context, Type
from functad._compile.mathlib.values import Node

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
            untyped_passes.TranslateByteCode,
            untyped_passes.FixupArgs,
            untyped_passes.IRProcessing,
            untyped_passes.ReconstructSSA,
            typed_passes.NopythonTypeInference,
            typed_passes.PreLowerStripPhis,
            typed_passes.IRLegalization,
            typed_passes.AnnotateTypes,
            typed_passes.NativeLowering,
            typed_passes.NoPythonBackend,
        ):
            passes.add_pass(step, step.__name__)
        passes.finalize()
        return [passes]


@functools.cache
def _flags() -> Type:
    flags: Type = compiler.Flags()
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


def numba_type(argument: str) -> Type:
    """The numba type of an argument kind such as "f8*" or "i8"."""
    return types.CPointer(NUMBA_TYPES[argument[:-1]]) if argument.endswith("*") else NUMBA_TYPES[argument]


def lower(function: FunctionType, arguments: tuple[str, ...], symbol: str) -> Node:
    """The function's LLVM module, not yet optimised, with the entry point added."""
    target = registry.cpu_target
    with global_compiler_lock:
        result = compiler.compile_extra(
            target.typing_context,
            target.target_context,
            function,
            tuple(map(numba_type, arguments)),
            types.int64,
            _flags(),
            {},
            pipeline_class=_ShortPipeline,
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


def _entry_module(context: Context, descriptor: Type, arguments: tuple[str, ...], symbol: str) -> Node:
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
