"""From a kernel's source to machine code that can be called.

What lives here: `Kernel` and `compile_kernel`.
What it may assume: the source is functad's own, one function over pointers and int64 numbers that returns a status
(0: all is well), calling what `mathlib.names` knows.  Pointers never overlap: `noalias` is promised to LLVM.
What it promises: importing it imports no compiler; errors surface as `KernelError` with our own line; equal kernels are
compiled once.

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
import ctypes
import hashlib
import linecache
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from functad._compile.building.locks import COMPILING
from functad._compile.building.source import Place, global_names
from functad.errors import KernelError

if TYPE_CHECKING:
    import llvmlite.binding as llvm

__all__ = ["Kernel", "KernelError", "compile_kernel", "kernel_symbol", "load_kernel"]

ONLY_NUMBA = False  # True sends every source to numba: for tests that compare the two
DOUBT = -2  # a status that never leaves this room: Note [doubt] in mathlib's `functions`
_DISCARDED: list[object] = []  # engines whose kernels are gone, to be freed under the lock
_KERNELS: weakref.WeakValueDictionary[str, "Kernel"] = weakref.WeakValueDictionary()  # by symbol; an entry lives as long as its kernel


class Kernel:
    """Machine code that takes an array of words: in C, `int64_t entry(int64_t *words)` at `address`.

    There is one word for each of `arguments`, an address ("f8*", ...) or the number itself ("i8").  `name` is the function's in
    `source`, `symbol` the entry point's in `object_code`, from which `load_kernel` makes this kernel again in another process on
    the same machine.
    """

    __slots__ = ("__weakref__", "_careful", "_function", "address", "arguments", "name", "object_code", "source", "symbol")

    def __init__(self, name: str, source: str, arguments: tuple[str, ...], symbol: str, object_code: bytes, address: int) -> None:
        self.name, self.source, self.arguments = name, source, arguments
        self.symbol, self.object_code, self.address = symbol, object_code, address
        self._careful: Kernel | None = None
        self._function: Callable[[int], int] = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(address)

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
        with COMPILING:
            if self._careful is None:
                symbol = self.symbol + "_careful"
                place = Place(self.name, f"<functad kernel {self.name} {symbol[8:16]}>", {})
                code = _build(self.source, self.name, self.arguments, symbol, place, careful=True)
                self._careful = _loaded(code, symbol, self.name, self.source, self.arguments)
            return self._careful


def kernel_symbol(source: str, name: str, arguments: Sequence[str]) -> str:
    """The entry point's name, from all that the kernel is made of: equal names mean equal kernels."""
    parts = "\0".join((name, *arguments, source))
    return "functad_" + hashlib.sha256(parts.encode()).hexdigest()[:32]


def compile_kernel(source: str, name: str, arguments: Sequence[str], equations: Mapping[int, str] | None = None) -> Kernel:
    """The kernel of `source`: the same object as before for the same source, if that is still alive.

    The source is one function `name` whose parameters are pointers and int64 numbers, and which returns an int64 status.
    `arguments` are the kinds of the parameters: "f8*", "f4*", "i8*", "u1*", "c16*", ... for a pointer, "i8" for a number.
    `equations` gives for a line of the source the equation it was made from, for the KernelError that is raised if the source
    does not compile or calls what does not exist.
    """
    symbol = kernel_symbol(source, name, arguments)
    with COMPILING:
        _DISCARDED.clear()
        kernel = _KERNELS.get(symbol)
        if kernel is None:
            filename = f"<functad kernel {name} {symbol[8:16]}>"
            linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)  # tracebacks find the text here
            place = Place(name, filename, equations or {})
            code = _build(source, name, tuple(arguments), symbol, place, careful=False)
            kernel = _KERNELS[symbol] = _loaded(code, symbol, name, source, tuple(arguments))
            weakref.finalize(kernel, linecache.cache.pop, filename, None).atexit = False
        return kernel


def load_kernel(object_code: bytes, symbol: str, name: str, source: str, arguments: Sequence[str]) -> Kernel:
    """A kernel from the object code of an earlier one.  Bad bytes end the process: whoever calls this has checked them.

    numba is not imported, nor is SciPy unless the kernel calls BLAS.
    """
    from functad._compile.mathlib import blas

    with COMPILING:
        kernel = _KERNELS.get(symbol)
        if kernel is None:
            blas.link({symbol for symbol in blas.ROUTINES.values() if b"functad_" + symbol.encode() in object_code})
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
    if COMPILING.acquire(blocking=False):
        try:
            _DISCARDED.clear()
        finally:
            COMPILING.release()


def _build(source: str, name: str, arguments: tuple[str, ...], symbol: str, place: Place, careful: bool) -> bytes:
    """Object code with the entry point `symbol`."""
    try:
        tree = ast.parse(source, place.filename)
    except SyntaxError as error:
        raise place.error(error.lineno or 0, error.msg) from None
    import functad._compile.building.machine_code as machine_code
    from functad._compile.mathlib import blas
    from functad._compile.mathlib.names import has_helper

    names = global_names(tree)
    for used, line in names.items():
        if not has_helper(used) and not hasattr(builtins, used):
            raise place.error(line, f"there is no helper {used}")
    try:
        module = _lowered(tree, name, arguments, symbol, place, careful)
        blas.link(blas.symbols_used(set(names)))
        machine_code.check_symbols(module)
    except machine_code.UnresolvedSymbolError as error:
        raise place.error(0, f"this system has no function {error}") from None
    machine_code.optimize(module)
    return machine_code.object_code(module)


def _lowered(tree: ast.Module, name: str, arguments: tuple[str, ...], symbol: str, place: Place, careful: bool) -> "llvm.ModuleRef":
    """The LLVM module: written directly if the source is plain enough for that, else by numba."""
    import functad._compile.building.direct as direct

    doubt = None if careful else DOUBT
    if not ONLY_NUMBA:
        try:
            return direct.lower(tree, arguments, symbol, doubt)
        except direct.NotDirect:
            pass
    import functad._compile.building.lowering as lowering

    return lowering.lower(tree, name, arguments, symbol, place, doubt)
