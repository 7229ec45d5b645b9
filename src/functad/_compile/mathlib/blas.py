# mypy: disable-error-code="no-untyped-call"
"""Matrix products through BLAS: a direct call of the routine that SciPy carries (14-20 ns; np.matmul from Python 560).

Row-major matrices, sizes and strides as in C.  Column-major BLAS computes the transpose of what it is told, so the
operands are swapped and nothing is copied.  The number of BLAS threads is left as it is: it is a setting of the whole
process, and changing it for a call would reach the user's own products in other threads.
"""

import ctypes
import functools
import importlib.util
import pathlib
import sys
from collections.abc import Sequence
from importlib.machinery import EXTENSION_SUFFIXES
from types import ModuleType
from typing import Any

from llvmlite import ir

from functad._compile.mathlib.values import declare

_INT = ir.IntType(32)  # SciPy's BLAS counts in 32 bits: whoever emits a call must check its sizes


# Helper -> routine: gemm(transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc).
ROUTINES = {"gemm_f8": "dgemm", "gemm_f4": "sgemm", "gemm_c16": "zgemm", "gemm_c8": "cgemm"}


@functools.cache
def _cython_blas() -> ModuleType:
    """SciPy's module of BLAS addresses, loaded from its file: importing all of scipy.linalg for it takes 260 ms, this 20."""
    name = "scipy.linalg.cython_blas"
    if name in sys.modules:
        return sys.modules[name]
    try:
        scipy = importlib.util.find_spec("scipy")
        folder = pathlib.Path(scipy.origin).parent / "linalg"  # type: ignore[union-attr, arg-type]  # else the except serves
        path = next(path for suffix in EXTENSION_SUFFIXES if (path := folder / f"cython_blas{suffix}").exists())
        spec = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]  # likewise
        spec.loader.exec_module(module)  # type: ignore[union-attr]  # likewise
        sys.modules.pop(name, None)  # a later import must find it by way of its package, which then knows it
        return module
    except (AttributeError, ImportError, OSError, StopIteration, TypeError):
        return importlib.import_module(name)


@functools.cache
def address_of(symbol: str) -> int:
    """Where SciPy's BLAS routine is."""
    capsule = _cython_blas().__pyx_capi__[symbol]
    name_of = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", ctypes.pythonapi))
    pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))
    signature = name_of(capsule)
    if b"int *" not in signature:
        raise KeyError(f"SciPy's {symbol} takes sizes of another width: {signature!r}")
    return int(pointer_of(capsule, signature))


def link(symbols: set[str]) -> None:
    """Make the routines that a module calls known to LLVM, under the names the module uses ("functad_dgemm")."""
    import llvmlite.binding as llvm

    for symbol in symbols:
        llvm.add_symbol("functad_" + symbol, address_of(symbol))


def symbols_used(names: set[str]) -> set[str]:
    """The BLAS symbols behind these helper names."""
    return {ROUTINES[name] for name in names if name in ROUTINES}


def call_gemm(symbol: str, builder: ir.IRBuilder, arguments: Sequence[ir.Value]) -> None:
    """c = alpha op(a) op(b) + beta c for row-major a, b, c; op is 0 as it is, 1 transposed, 2 conjugate transposed."""
    transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc = arguments

    def kept(value: ir.Value) -> ir.Value:
        with builder.goto_entry_block():
            place = builder.alloca(value.type)
        builder.store(value, place)
        return place

    def letter(flag: ir.Value) -> ir.Value:
        chosen = ir.Constant(ir.IntType(8), ord("N"))
        for code, character in ((1, "T"), (2, "C")):
            is_code = builder.icmp_signed("==", flag, ir.Constant(flag.type, code))
            chosen = builder.select(is_code, ir.Constant(ir.IntType(8), ord(character)), chosen)
        return kept(chosen)

    def size(value: ir.Value, least: int = 0) -> ir.Value:
        bound = ir.Constant(value.type, least)
        value = builder.select(builder.icmp_signed("<", value, bound), bound, value)  # a stride of 0 is refused, even unused
        return kept(builder.trunc(value, _INT))

    call = [
        letter(transb), letter(transa), size(n), size(m), size(k),
        kept(alpha), b, size(ldb, 1), a, size(lda, 1), kept(beta), c, size(ldc, 1),
    ]  # fmt: skip
    function_type = ir.FunctionType(ir.VoidType(), [argument.type for argument in call])
    builder.call(declare(builder.module, "functad_" + symbol, function_type), call)


@functools.cache
def numba_routine(name: str) -> Any:
    """The routine for numba-compiled code."""
    from numba import types

    from functad._compile.mathlib.intrinsics import NUMBA_TYPES, as_intrinsic

    scalar, size = NUMBA_TYPES[name.removeprefix("gemm_")], types.int64
    pointer = types.CPointer(scalar)
    signature = types.void(size, size, size, size, size, scalar, pointer, size, pointer, size, scalar, pointer, size)

    def spelling(builder: ir.IRBuilder, arguments: Sequence[ir.Value]) -> ir.Value:
        call_gemm(ROUTINES[name], builder, arguments)
        return ir.Constant(ir.IntType(8).as_pointer(), None)  # numba's dummy value

    return as_intrinsic(name, lambda *given: signature, spelling, 13)
