"""Compiled loops against NumPy: value and gradient of sum(sin(x)**2 * exp(-x)), and how long compiling takes.

Run: python benchmarks/kernel_loops.py
Best of many short runs on one core; compare figures within a run, never between machines.
"""

import timeit
from collections.abc import Callable
from typing import Any

import numpy as np

from functad._compile.pipeline import Executable
from functad._core.interpret import python_function
from functad._core.program import Literal, Program
from functad._core.recorder import stage
from functad._core.types import array_type
from functad._primitives import elementwise, reduce, shape


def value_and_gradient(x: Any) -> list[Any]:
    """One loop: a sum, and an array."""
    s, e = elementwise.sin(x), elementwise.exp(elementwise.neg(x))
    square = elementwise.square(s)
    slope = elementwise.sub(elementwise.mul(elementwise.mul(Literal(2, x.type), s), elementwise.cos(x)), square)
    return [reduce.reduce_sum(elementwise.mul(square, e), axes=(0,)), elementwise.mul(slope, e)]


def softmax(x: Any) -> list[Any]:
    """Three nests over the same rows."""
    n, m = x.type.shape
    wide = lambda v: shape.broadcast(v, shape=(n, m), axes=(0,))
    e = elementwise.exp(elementwise.sub(x, wide(reduce.reduce_max(x, axes=(1,)))))
    return [elementwise.div(e, wide(reduce.reduce_sum(e, axes=(1,))))]


def chain(length: int) -> Callable[[Any], list[Any]]:
    """A fused loop of so many operations, every tenth transcendental."""

    def function(x: Any) -> list[Any]:
        y = x
        for k in range(length):
            y = elementwise.sin(y) if k % 10 == 9 else elementwise.add(elementwise.mul(y, x), Literal(0.5, x.type))
        return [y]

    return function


def seconds(function: Callable[..., Any], *args: Any) -> float:
    """Best of many short runs."""
    timer = timeit.Timer(lambda: function(*args))
    number = max(1, int(2e-3 / max(timer.timeit(3) / 3, 1e-8)))
    return min(timer.repeat(repeat=20, number=number)) / number


def program_of(function: Callable[[Any], list[Any]], size: tuple[int, ...], dtype: str) -> Program:
    """The program of a function of one array."""
    return stage(function, [array_type(size, np.dtype(dtype))])


def main() -> None:
    """Print the tables."""
    random = np.random.default_rng(0)
    compile_seconds(program_of(lambda x: [elementwise.exp(x)], (3,), "f8"))  # the first compile imports numba
    print("microseconds a call            kernel      NumPy  ratio")
    for name, function, sizes in (
        ("sum(sin(x)**2 * exp(-x))", value_and_gradient, [(1000,), (100_000,)]),
        ("softmax of rows", softmax, [(300, 300)]),
    ):
        for size in sizes:
            for dtype in ("f8", "f4"):
                program = program_of(function, size, dtype)
                x = random.uniform(0, 3, size).astype(dtype)
                compiled, plain = seconds(Executable(program).caller(), x), seconds(python_function(program), x)
                print(f"{name:25s} {size!s:12s} {dtype} {1e6 * compiled:10.2f} {1e6 * plain:10.2f} {compiled / plain:6.3f}")
    print("\noperations   simplify, schedule and emit, ms   compile, ms")
    for length in (1, 10, 30, 100, 300):
        program = program_of(chain(length), (1000,), "f8")
        text = min(timeit.repeat(lambda program=program: Executable(Program(program.inputs, program.equations, program.outputs)).source(), number=1))
        print(f"{length:10d} {1e3 * text:32.2f} {1e3 * compile_seconds(program):13.1f}")


def compile_seconds(program: Program) -> float:
    """Time to compile a program whose kernel is not there yet."""
    return timeit.timeit(Executable(program).compile, number=1)


if __name__ == "__main__":
    main()
