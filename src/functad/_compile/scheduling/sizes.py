"""The door of `schedule`: whole numbers leave the program here, and what remains is the key of its kernel.

What lives here: `Sizes`, which gives each size a symbol, equal where equal in value, with 0 and 1 literal, and `read`, which
walks a program once and gives its key together with its sizes.
What it promises: two programs with equal keys have the same symbols in the same order, so that one source serves both; nothing
behind this door sees a number that is not in the key. Sizes (`s0`, `s1`) and the whole numbers of views (starts, steps, pads:
`h0`, `h1`) are two pools, since a start that happens to equal a size would only split keys.
"""

from collections.abc import Hashable
from typing import Any

from functad._compile.codes import code_of
from functad._compile.scheduling.products import calls_blas
from functad._core.primitive import Call
from functad._core.program import Atom, Literal, Program, Var

__all__ = ["Sizes", "read"]

_SIZE_PARAMS = frozenset({"shape", "size", "length"})
# Floats that may be in a key; as text, since -0.0 equals 0.0 and NaN nothing.
_COMMON = {repr(x): repr(x) for x in (0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 2.0, -2.0, float("inf"), float("-inf"), float("nan"))}
UNROLLED = 4  # longest last axis that is part of the key
_HOLE_PARAMS = frozenset({"start", "step", "low", "high", "inner"})


class Sizes:
    """Symbols of one program's sizes and their values."""

    __slots__ = ("holes", "literals", "names", "numbers", "shapes", "sizes", "values")

    def __init__(self) -> None:
        self.names: list[str] = []  # kernel arguments, in order of first appearance
        self.values: list[int] = []
        self.sizes: dict[int, str] = {0: "0", 1: "1"}
        self.holes: dict[int, str] = {0: "0", 1: "1"}
        self.shapes: dict[tuple[int, ...], tuple[str, ...]] = {(): ()}
        self.numbers: list[float] = []  # values of literals, an array that the kernel reads
        self.literals: dict[str, str] = {}  # a float as text -> how it is spelt

    def _new(self, pool: dict[int, str], letter: str, n: int) -> str:
        name = pool[n] = f"{letter}{sum([m[0] == letter for m in self.names])}"
        self.names.append(name)
        self.values.append(int(n))
        return name

    def size(self, n: int) -> str:
        """Text of a size."""
        return self.sizes.get(n) or self._new(self.sizes, "s", n)

    def hole(self, n: int) -> str:
        """Text of another whole number."""
        return self.holes.get(n) or self._new(self.holes, "h", n)

    def shape(self, shape: tuple[int, ...]) -> tuple[str, ...]:
        """Texts of a shape."""
        found = self.shapes.get(shape)
        if found is None:
            found = self.shapes[shape] = tuple([self.size(n) for n in shape])
        return found

    def param(self, name: str, value: Any) -> Any:
        """A param as text where it holds sizes or holes, else as it is."""
        if name in _SIZE_PARAMS:
            return self.shape(value) if type(value) is tuple else self.size(value)
        if name in _HOLE_PARAMS:
            return tuple([self.hole(n) for n in value]) if type(value) is tuple else self.hole(value)
        return value

    def literal(self, a: Literal) -> str:
        """Text of a literal, with its dtype: an untyped one would silently be float64 (415 of 1000 float32 values differed,
        seven times slower).

        A number that may come from a size (the 1000 of a mean) must not be in the key: all but the commonest are read from
        memory.
        """
        code, value = code_of(a), a.value
        if code == "b1":
            return "True" if value else "False"
        if code[0] == "c":
            return f"{code}(complex({self._float(value.real)}, {self._float(value.imag)}))"
        if code[0] == "f":
            return f"{code}({self._float(value)})"
        if -2 <= value <= 2 or value >= 2**63:
            return f"{code}({value})"
        return f"{code}({self.hole(value)})"

    def _float(self, x: float) -> str:
        key = repr(x)
        found = self.literals.get(key)
        if found is None:
            if key in _COMMON:
                found = _COMMON[key]
            else:
                found = f"r{len(self.numbers)}"
                self.numbers.append(x)
            self.literals[key] = found
        return found


def read(program: Program) -> tuple[Hashable, Sizes]:
    """(key of the program's kernel, its sizes)."""
    sizes = Sizes()
    sizes.sizes.update((n, str(n)) for n in sorted(_small_rows(program)))
    return _read(program, sizes), sizes


def _small_rows(program: Program) -> set[int]:
    """Last axes of matrices that are so short that loops over them are worth unrolling: points in space, small systems."""
    kinds = {v.type for v in program.inputs} | {v.type for e in program.equations for v in e.outputs}
    return {kind.shape[-1] for kind in kinds if kind.ndim > 1 and 2 <= kind.shape[-1] <= UNROLLED}


def _read(program: Program, sizes: Sizes) -> Hashable:
    numbers: dict[Var, int] = {}
    shape = sizes.shape

    def bind(v: Var) -> tuple[Hashable, ...]:
        numbers[v] = len(numbers)
        return (v.type.dtype.char, shape(v.type.shape))

    def atom(a: Atom) -> Hashable:
        return numbers[a] if isinstance(a, Var) else (sizes.literal(a), shape(a.type.shape))

    parts: list[Hashable] = [tuple([bind(v) for v in program.inputs])]
    for e in program.equations:
        inputs = tuple([atom(a) for a in e.inputs])
        params = tuple([(k, _param_key(k, v, sizes)) for k, v in e.params.items()]) if e.params else ()
        kind = e.op.kernel
        # a choice that depends on the exact sizes belongs to the key
        policy = calls_blas(e) if isinstance(kind, Call) and kind.kind == "dot" else None
        parts.append((e.op.name, inputs, params, tuple([bind(v) for v in e.outputs]), policy))
    parts.append(tuple([atom(a) for a in program.outputs]))
    return tuple(parts)


def _param_key(name: str, value: Any, sizes: Sizes) -> Hashable:
    if isinstance(value, Program):
        return _read(value, sizes)
    if isinstance(value, tuple) and value and isinstance(value[0], Program):
        return tuple([_read(p, sizes) for p in value])
    text = sizes.param(name, value)
    return (type(text).__name__, repr(text)) if isinstance(text, float) else text
