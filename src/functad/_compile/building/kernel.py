"""From a kernel's source to machine code that can be called.

What lives here: `Kernel`, `compile_kernel` and the one lock under which this process compiles.
What it may assume: the source is functad's own, one function over pointers and int64 numbers that returns a status
(0: all is well), calling what `mathlib.lookup` knows.  Pointers never overlap: `noalias` is promised to LLVM.
What it promises: importing it imports no compiler; errors surface as `KernelError` with our own line; equal kernels are
compiled once; a fork waits for a compile that is under way.

The plain part of Python that kernels are written in is turned into an LLVM module by `direct`; any other source by numba
(`lowering`).  Both give the same instructions, but numba takes 0.5 s to start and 2 ms an operation:

    operations, a tenth of them sin         first    1    10    30   100   300   1000
    directly, ms                               90   28    31    69   216   288   1300
    through numba, ms                         530   46    67   140   403   864   3325

Optimising and loading (`machine_code`) are the same for both: once, for an entry point that takes one pointer to an array
of 64-bit words, one for each argument.  So the way in (`front`) has no limit on their number, code that has been stored
on disk is loaded in the same way, and a kernel nobody holds is freed.
"""

import ast
import builtins
import copy
import ctypes
import hashlib
import linecache
import os
import re
import sys
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from functad._compile.mathlib.names import DOUBT
from functad._compile.mathlib.vocabulary import has_helper, lookup
from functad.errors import KernelError

__all__ = ["Kernel", "KernelError", "compile_kernel", "kernel_symbol", "load_kernel"]

ONLY_NUMBA = False  # True sends every source to numba: for tests that compare the two
_COMPILING = threading.RLock()
_DISCARDED: list[object] = []  # engines whose kernels are gone, to be freed under the lock
_KERNELS: "weakref.WeakValueDictionary[str, Kernel]" = weakref.WeakValueDictionary()  # by symbol; an entry lives as long as its kernel


class Kernel:
    """Machine code that takes an array of words.

    Attributes
    ----------
    name : str
        Name of the function in `source`.
    source : str
        The Python source.
    arguments : tuple of str
        Kind of each parameter: "f8*", ..., or "i8" for a number.
    address : int
        Entry point, in C: `int64_t entry(int64_t *words)`, one word for each argument (an address, or the number itself).
    symbol : str
        The entry point's name in `object_code`.
    object_code : bytes
        What `load_kernel` needs to make this kernel again in another process on the same machine.
    """

    __slots__ = ("__weakref__", "_careful", "_function", "address", "arguments", "name", "object_code", "source", "symbol")

    def __init__(self, name: str, source: str, arguments: tuple[str, ...], symbol: str, object_code: bytes, address: int) -> None:
        self.name, self.source, self.arguments = name, source, arguments
        self.symbol, self.object_code, self.address = symbol, object_code, address
        self._careful: Kernel | None = None
        self._function: Callable[[Any], int] = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(address)

    def __repr__(self) -> str:
        return f"<Kernel {self.name}({', '.join(self.arguments)})>"

    def run(self, words: Sequence[int]) -> int:
        """Call the kernel on these words, the GIL released; the caller keeps alive what they point to.  Returns the status."""
        if len(words) != len(self.arguments):
            raise ValueError(f"{self.name} takes {len(self.arguments)} words, not {len(words)}")
        array = (ctypes.c_int64 * max(len(words), 1))(*words)
        return self.run_at(ctypes.addressof(array))

    def run_at(self, address: int) -> int:
        """The same for words that lie at this address."""
        status = self._function(address)
        return status if status != DOUBT else self.careful().run_at(address)

    def careful(self) -> "Kernel":
        """The kernel that calls libm where this one's formulas may be in doubt (Note [doubt] in mathlib's `functions`)."""
        with _COMPILING:
            if self._careful is None:
                symbol = self.symbol + "_careful"
                where = _Place(self.name, f"<functad kernel {self.name} {symbol[8:16]}>", {})
                code = _build(self.source, self.name, self.arguments, symbol, where, careful=True)
                self._careful = _loaded(code, symbol, self.name, self.source, self.arguments)
            return self._careful


def compile_lock() -> threading.RLock:
    """The lock to hold while LLVM is at work anywhere in this room."""
    return _COMPILING


def kernel_symbol(source: str, name: str, arguments: Sequence[str]) -> str:
    """The entry point's name, from all that the kernel is made of: equal names mean equal kernels."""
    parts = "\0".join((name, *arguments, source))
    return "functad_" + hashlib.sha256(parts.encode()).hexdigest()[:32]


def compile_kernel(source: str, name: str, arguments: Sequence[str], equations: Mapping[int, str] | None = None) -> Kernel:
    """The kernel of `source`.

    Parameters
    ----------
    source : str
        Python source of one function `name` whose parameters are pointers and int64 numbers, and which returns an int64 status.
    name : str
        The function's name.
    arguments : sequence of str
        Kind of each parameter: "f8*", "f4*", "i8*", "u1*", "c16*", ... for a pointer, "i8" for a number.
    equations : mapping of int to str, optional
        For a line of the source, the equation it was made from; shown in errors.

    Returns
    -------
    Kernel
        The same object as before for the same source, if that is still alive.

    Raises
    ------
    KernelError
        If the source does not compile, or calls what does not exist.
    """
    symbol = kernel_symbol(source, name, arguments)
    with _COMPILING:
        _DISCARDED.clear()
        kernel = _KERNELS.get(symbol)
        if kernel is None:
            filename = f"<functad kernel {name} {symbol[8:16]}>"
            linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)  # tracebacks find the text here
            where = _Place(name, filename, equations or {})
            code = _build(source, name, tuple(arguments), symbol, where, careful=False)
            kernel = _KERNELS[symbol] = _loaded(code, symbol, name, source, tuple(arguments))
            weakref.finalize(kernel, linecache.cache.pop, filename, None).atexit = False
        return kernel


def load_kernel(object_code: bytes, symbol: str, name: str, source: str, arguments: Sequence[str]) -> Kernel:
    """A kernel from the object code of an earlier one.  Bad bytes end the process: whoever calls this has checked them.

    numba is not imported, nor is SciPy unless the kernel calls BLAS.
    """
    from functad._compile.mathlib import blas

    with _COMPILING:
        kernel = _KERNELS.get(symbol)
        if kernel is None:
            blas.link({routine.symbol for routine in blas.ROUTINES.values() if b"functad_" + routine.symbol.encode() in object_code})
            kernel = _KERNELS[symbol] = _loaded(object_code, symbol, name, source, tuple(arguments))
        return kernel


def _loaded(code: bytes, symbol: str, name: str, source: str, arguments: tuple[str, ...]) -> Kernel:
    import functad._compile.building.machine_code as machine_code

    address, engine = machine_code.load(code, symbol)
    kernel = Kernel(name, source, arguments, symbol, code, address)
    weakref.finalize(kernel, _discard, engine).atexit = False  # it alone holds the engine, which holds the code
    return kernel


def _discard(engine: object) -> None:
    """Free the engine now, or at the next compile if one is under way.

    Freeing takes LLVM's own lock, which a fork in another thread must not find taken; waiting for a lock here, where the
    garbage collector may have interrupted anyone, could wait for ever.
    """
    _DISCARDED.append(engine)
    if _COMPILING.acquire(blocking=False):
        try:
            _DISCARDED.clear()
        finally:
            _COMPILING.release()


class _Place:
    """Where in which generated source an error is, for its message."""

    def __init__(self, name: str, filename: str, equations: Mapping[int, str]) -> None:
        self.name, self.filename, self.equations = name, filename, equations

    def error_of_numba(self, text: str) -> KernelError:
        """numba's message without its talk of passes and candidates, and the line that it names."""
        said = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("Failed in")]
        signature = next((line[3:] for line in said if line.startswith(">>>")), "")
        named = re.search(re.escape(self.filename) + r'"?(?: \(|, line )(\d+)', text)
        return self.error(int(named[1]) if named else 0, said[0] + signature)

    def error(self, line: int, message: str) -> KernelError:
        equation = self.equations.get(line, "no equation")
        text = linecache.getline(self.filename, line).strip()
        return KernelError(f"kernel {self.name} does not compile: {message}\n  {equation}, generated line {line}: {text}")


def _build(source: str, name: str, arguments: tuple[str, ...], symbol: str, where: _Place, careful: bool) -> bytes:
    """Object code with the entry point `symbol`."""
    try:
        tree = ast.parse(source, where.filename)
    except SyntaxError as error:
        raise where.error(error.lineno or 0, error.msg) from None
    import functad._compile.building.machine_code as machine_code
    from functad._compile.mathlib import blas

    names = _global_names(tree)
    for used, line in names.items():
        if not has_helper(used) and not hasattr(builtins, used):
            raise where.error(line, f"there is no helper {used}")
    try:
        module = _lowered(tree, name, arguments, symbol, where, careful)
        blas.link(blas.symbols_used(set(names)))
        machine_code.check_symbols(module)
    except machine_code.UnresolvedSymbolError as error:
        raise where.error(0, f"this system has no function {error}") from None
    machine_code.optimize(module)
    return machine_code.object_code(module)


def _lowered(tree: ast.Module, name: str, arguments: tuple[str, ...], symbol: str, where: _Place, careful: bool) -> Any:
    """The LLVM module: written directly if the source is plain enough for that, else by numba."""
    import functad._compile.building.direct as direct

    if not ONLY_NUMBA:
        try:
            return direct.lower(tree, arguments, symbol, None if careful else DOUBT)
        except direct.NotDirect:
            pass
    from numba.core.errors import NumbaError

    import functad._compile.building.lowering as lowering
    from functad._compile.mathlib import functions, intrinsics

    names, calls = _global_names(tree), _Calls()
    tree = calls.visit(copy.deepcopy(tree))
    namespace: dict[str, Any] = {"__name__": "functad_kernels"}
    namespace |= {used: lookup(used, careful) for used in _global_names(tree) if used not in calls.names and not hasattr(builtins, used)}
    namespace |= {renamed: lookup(used, careful) for renamed, used in calls.names.items()}
    if not careful and any(map(functions.may_doubt, names)):
        tree = ast.fix_missing_locations(_SettleReturns().visit(tree))
        namespace["settle"] = intrinsics.settle()
    exec(compile(tree, where.filename, "exec"), namespace)
    try:
        return lowering.lower(namespace[name], arguments, symbol)
    except NumbaError as error:
        raise where.error_of_numba(str(error)) from None


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


def _global_names(tree: ast.Module) -> dict[str, int]:
    """Names that the source reads and never binds, with the line that first reads them."""
    bound: set[str] = set()
    read: dict[str, int] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, ast.FunctionDef):
            bound.add(node.name)
        elif isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Load):
                read[node.id] = min(node.lineno, read.get(node.id, node.lineno))
            else:
                bound.add(node.id)
    return {name: line for name, line in read.items() if name not in bound}


def _foreign_locks() -> list[Any]:
    """numba's and llvmlite's own locks, in the order in which they take them, so far as they are imported."""
    locks: list[Any] = []
    if "numba.core.compiler_lock" in sys.modules:
        locks.append(sys.modules["numba.core.compiler_lock"].global_compiler_lock)
    if "llvmlite.binding.ffi" in sys.modules:
        lock = getattr(sys.modules["llvmlite.binding.ffi"].lib, "_lock", None)
        if hasattr(lock, "__enter__"):
            locks.append(lock)
    return locks


_HELD: list[Any] = []  # what a fork holds, from before it to after it


def _hold_compilers() -> None:
    """Before a fork: wait for compiles, since the child would inherit their locks and have nobody to release them."""
    _COMPILING.acquire()
    for lock in _foreign_locks():
        lock.__enter__()
        _HELD.append(lock)


def _release_compilers() -> None:
    while _HELD:
        _HELD.pop().__exit__(None, None, None)
    _COMPILING.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_hold_compilers, after_in_parent=_release_compilers, after_in_child=_release_compilers)
