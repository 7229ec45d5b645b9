"""LLVM as the kernel room uses it: optimise a module, make object code, load object code.

What it may assume: the caller holds the compile lock, and gives object code that LLVM can trust (bad bytes end the process).
What it promises: neither numba nor SciPy is imported; each loaded object has its own engine, so that its memory is freed with it.
"""

import functools

import llvmlite.binding as llvm
from llvmlite import ir


class UnresolvedSymbolError(LookupError):
    """The code calls a function that this process does not have; LLVM would end the process."""


@functools.cache
def _target() -> tuple[llvm.Target, str, str, str]:
    """The target, the processor's name and features, and the relocation model."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    triple = llvm.get_process_triple()
    relocation = "static" if triple.startswith(("x86", "i386", "i686")) else "default"
    return llvm.Target.from_triple(triple), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten(), relocation


def _new_machine(level: int) -> llvm.TargetMachine:
    target, processor, features, relocation = _target()
    return target.create_target_machine(cpu=processor, features=features, opt=level, reloc=relocation, codemodel="jitdefault", jit=True)


@functools.cache
def _machine(level: int = 3) -> llvm.TargetMachine:
    return _new_machine(level)


def parsed(module: ir.Module) -> llvm.ModuleRef:
    """The module as LLVM reads it."""
    found = llvm.parse_assembly(str(module))
    found.verify()
    return found


def optimize(module: llvm.ModuleRef) -> None:
    """Run LLVM's standard pipeline once; numba would run it twice and the function passes besides.

    llvmlite never frees what a run leaves behind: 90 KB for each compile (nothing for a kernel that is only loaded).
    """
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = options.slp_vectorization = True
    builder = llvm.create_pass_builder(_machine(), options)
    builder.getModulePassManager().run(module, builder)


def optimize_little(module: llvm.ModuleRef) -> None:
    """Three passes, for code whose compile time matters more (the front: 25 ms, where the standard pipeline takes 46)."""
    passes = llvm.create_new_module_pass_manager()
    passes.add_sroa_pass()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    passes.run(module, llvm.create_pass_builder(_machine(), llvm.create_pipeline_tuning_options(speed_level=1)))


def check_symbols(module: llvm.ModuleRef) -> None:
    """Refuse a module that calls what cannot be found."""
    for function in module.functions:
        name = function.name
        if function.is_declaration and not name.startswith("llvm.") and not llvm.address_of_symbol(name):
            raise UnresolvedSymbolError(name)


def object_code(module: llvm.ModuleRef, level: int = 3) -> bytes:
    """The optimised module as an object file in memory."""
    return bytes(_machine(level).emit_object(module))


def load(code: bytes, symbol: str) -> tuple[int, llvm.ExecutionEngine]:
    """The address of `symbol` and the engine that keeps it alive."""
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _new_machine(1))
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return int(engine.get_function_address(symbol)), engine
