"""The cost model: estimated times, from counts alone and never from a clock, so that a run repeats.

Constants are measured on one core of a 2-core x86-64 machine: a NumPy call costs about 0.7 us and 0.5 ns an element and operation,
ten times that for a transcendental function; a kernel a third of it; compiling 25 ms and 1 ms an equation, and 100 ms more at the
first compile of a process.
"""

import sys
from weakref import WeakKeyDictionary

from functad._core.primitive import Call, Expression, View
from functad._core.program import Equation, Program

__all__ = ["compile_cost", "inner_programs", "kernel_cost", "numpy_cost"]

CALL, ELEMENT = 0.7e-6, 0.5e-9
COMPILE, COMPILE_EQUATION, IMPORT = 25e-3, 1e-3, 0.1

_WORK: "WeakKeyDictionary[Program, tuple[int, float]]" = WeakKeyDictionary()


def inner_programs(e: Equation) -> list[Program]:
    """The programs among an equation's params."""
    values = [v for value in e.params.values() for v in (value if isinstance(value, tuple) else (value,))]
    return [v for v in values if isinstance(v, Program)]


def _trips(e: Equation) -> float:
    """How often an inner program runs: as often as is known, else a guess."""
    if isinstance(e.op.kernel, Call) and e.op.kernel.kind == "while_loop":
        return 100.0
    return float(e.params.get("length", 1))


def work(program: Program) -> tuple[int, float]:
    """(equations, inner ones counted once; operations weighted by cost, inner ones times the trip count)."""
    found = _WORK.get(program)
    if found is None:
        count, total = 0, 0.0
        for e in program.equations:
            kernel = e.op.kernel
            size = max([a.type.size for a in (*e.inputs, *e.outputs)], default=1)
            weight = kernel.cost if isinstance(kernel, Expression) else (0.2 if isinstance(kernel, View) else 2.0)
            count, total = count + 1, total + weight * size
            for inner in inner_programs(e):
                n, w = work(inner)
                count, total = count + n, total + w * _trips(e)
        found = _WORK[program] = (count, total)
    return found


def _calls(program: Program) -> float:
    """Calls of NumPy, those of loop bodies included."""
    inner = [_calls(p) * _trips(e) for e in program.equations for p in inner_programs(e)]
    return len(program.equations) + sum(inner)


def numpy_cost(program: Program) -> float:
    """Seconds of one evaluation in NumPy."""
    return CALL * _calls(program) + ELEMENT * work(program)[1]


def kernel_cost(program: Program) -> float:
    """Seconds of one call of the kernel."""
    return ELEMENT / 3 * work(program)[1]


def compile_cost(program: Program) -> float:
    """Seconds of compiling the program's kernel."""
    return COMPILE + COMPILE_EQUATION * work(program)[0] + (0.0 if "llvmlite" in sys.modules else IMPORT)
