"""Evaluating a program without a kernel: straight-line Python over NumPy, generated once per program.

The source goes into `linecache`, so tracebacks and `show_source` show it with the types as comments.  Broadcasts that NumPy does by
itself are left to the ufunc (2.8 us a `np.broadcast_to` against 0.4 inside the ufunc).  Results never share memory with an argument or
with each other, and floating-point warnings are off, since both branches of a `where` are computed.
"""

import itertools
import linecache
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from functad._core.primitive import View
from functad._core.program import Atom, Equation, Literal, Program, Var

__all__ = ["compile_source", "evaluate_equations", "python_function", "python_source", "step_function"]

_COUNTER = itertools.count()
_OF_PYTHON = "?lqdD"  # dtypes in which NumPy computes with Python's own numbers


def evaluate_equations(equations: Sequence[Equation], operands: Sequence[Atom], values: Sequence[Any]) -> dict[Var, Any]:
    """Values of all variables, equation by equation; for a step that is asked for while tracing."""
    found: dict[Any, Any] = {}
    for atom, value in zip(operands, values, strict=True):
        if isinstance(atom, Var):
            found[atom] = value if getattr(value, "dtype", None) == atom.type.dtype else np.asarray(value, atom.type.dtype)[()]
    with np.errstate(all="ignore"):
        for equation in equations:
            given = [a.array() if isinstance(a, Literal) else found[a] for a in equation.inputs]
            out = equation.op.numpy(*given, **equation.params)
            found.update(zip(equation.outputs, out if equation.op.multiple else (out,), strict=True))
    return found


def compile_source(source: str, name: str, namespace: dict[str, Any]) -> Callable[..., Any]:
    """The function `name` of generated source, which tracebacks can show."""
    filename = f"<functad {name} {next(_COUNTER)}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    exec(compile(source, filename, "exec"), namespace)  # our own generated text
    function = namespace[name]
    weakref.finalize(function, linecache.cache.pop, filename, None).atexit = False  # the text lives as long as the function
    return function  # type: ignore[no-any-return]  # exec's namespace


def _broadcasts_itself(equation: Equation) -> bool:
    """Whether NumPy's own broadcasting makes this equation needless: a broadcast along leading or length-1 axes."""
    if equation.op.name != "broadcast":
        return False
    source = equation.inputs[0].type
    shape, axes = equation.outputs[0].type.shape, equation.params["axes"]
    return bool(axes == tuple(range(len(shape) - source.ndim, len(shape))))


class _Writer:
    """Names and lines of one generated function."""

    def __init__(self, program: Program) -> None:
        self.names: dict[Var, str] = {}
        self.namespace: dict[str, Any] = {"errstate": np.errstate, "array": np.array}
        self.lines: list[str] = []
        self.producer = {v: e for e in program.equations for v in e.outputs}
        self.inputs = frozenset(program.inputs)
        self.folds = False  # whether what depends on no input is computed now
        self.folded: dict[Atom, Any] = {}
        for v in program.inputs:
            self.name(v)

    def name(self, v: Var) -> str:
        if v not in self.names:
            self.names[v] = f"v{len(self.names)}"
        return self.names[v]

    def constant(self, value: Any) -> str:
        name = f"k{len(self.namespace)}"
        self.namespace[name] = value
        return name

    def operand(self, a: Atom, full: bool) -> str:
        """Text of an input; a literal array is made once when a scalar does not do."""
        if isinstance(a, Var):
            return self.name(a)
        scalar = a.type.dtype.type(a.value)
        return self.constant(scalar if not full or a.type.shape == () else np.full(a.type.shape, scalar))

    def spread_operands(self, equation: Equation) -> list[str]:
        shape = equation.outputs[0].type.shape
        folded: list[tuple[Atom, tuple[int, ...]]] = []
        for a in equation.inputs:
            source = self.producer.get(a) if isinstance(a, Var) else None
            if source is not None and _broadcasts_itself(source):
                folded.append((source.inputs[0], source.inputs[0].type.shape))
            else:
                folded.append((a, a.type.shape if isinstance(a, Var) else ()))
        if np.broadcast_shapes(*[s for _, s in folded]) != shape:
            return [self.operand(a, full=True) for a in equation.inputs]
        return [self.operand(a, full=False) for a, _ in folded]

    def equation(self, equation: Equation) -> None:
        op = equation.op
        if self.folds and all(isinstance(a, Literal) or a in self.folded for a in equation.inputs):
            with np.errstate(all="ignore"):
                out = op.numpy(*[a.array() if isinstance(a, Literal) else self.folded[a] for a in equation.inputs], **equation.params)
            for v, value in zip(equation.outputs, out if op.multiple else (out,), strict=True):
                self.folded[v] = self.namespace[self.name(v)] = value
            return
        operands = self.spread_operands(equation) if op.spreads else [self.operand(a, full=True) for a in equation.inputs]
        function = op.ufunc if op.ufunc is not None and not equation.params else op.numpy
        self.namespace.setdefault(f"{op.name}_", function)
        keywords = [f"{k}={self.constant(v)}" for k, v in equation.params.items()]
        targets = ", ".join(self.name(v) for v in equation.outputs) + ("," if op.multiple else "")
        note = ", ".join(repr(v.type) for v in equation.outputs)
        shown = "".join(f" {k}={v!r}" for k, v in equation.params.items() if not isinstance(v, Program))
        self.lines.append(f"{targets} = {op.name}_({', '.join(operands + keywords)})  # {note}{shown}")


def _needed(program: Program, writer: _Writer) -> list[Equation]:
    """Equations whose text is needed: a broadcast that every ufunc folds is not."""
    live: set[Any] = set(program.outputs)
    kept = []
    for e in reversed(program.equations):
        if live.isdisjoint(e.outputs):
            continue
        kept.append(e)
        texts = None
        if e.op.spreads:
            shape = e.outputs[0].type.shape
            folded = []
            for a in e.inputs:
                source = writer.producer.get(a) if isinstance(a, Var) else None
                folded.append(source.inputs[0] if source is not None and _broadcasts_itself(source) else a)
            shapes = [a.type.shape if isinstance(a, Var) else () for a in folded]
            texts = folded if np.broadcast_shapes(*shapes) == shape else None
        live.update(texts if texts is not None else e.inputs)
    return kept[::-1]


def _lines(program: Program, writer: _Writer) -> list[str]:
    """One line an equation."""
    for v in program.inputs:
        if v.type.shape == () and v.type.dtype.char not in _OF_PYTHON:  # a Python number would compute in Python's own precision
            writer.lines.append(f"{writer.name(v)} = {writer.constant(v.type.dtype.type)}({writer.name(v)})")
    for e in _needed(program, writer):
        writer.equation(e)
    return writer.lines


def python_source(program: Program) -> tuple[str, dict[str, Any]]:
    """(source of a function `run(*inputs)` that returns a tuple, its namespace)."""
    writer = _Writer(program)
    lines = _lines(program, writer)
    fresh: set[Atom] = {v for e in program.equations if not isinstance(e.op.kernel, View) for v in e.outputs}
    outputs = []
    for a in program.outputs:
        text = writer.operand(a, full=True)
        if a in writer.inputs and a.type.shape == ():
            text = f"array({text}, {writer.constant(a.type.dtype)})[()]"  # it may be a Python number
        elif a.type.shape == ():
            text += "[()]"  # a NumPy scalar, which cannot alias
        elif a not in fresh or isinstance(a, Literal):
            text = f"array({text})"
        fresh.discard(a)
        outputs.append(text)
    arguments = ", ".join(writer.name(v) for v in program.inputs)
    types = "   ".join(f"{writer.name(v)}: {v.type!r}" for v in program.inputs)
    body = [f"# {types}", "with errstate(all='ignore'):", *["    " + line for line in lines], f"    return ({''.join(o + ', ' for o in outputs)})"]
    return f"def run({arguments}):\n" + "".join(f"    {line}\n" for line in body), writer.namespace


def python_function(program: Program) -> Callable[..., tuple[Any, ...]]:
    """The program as a Python function over NumPy, kept in the program's memo."""
    found = program.memo.get("python")
    if found is None:
        source, namespace = python_source(program)
        found = program.memo["python"] = compile_source(source, "run", namespace)
    return found


def step_function(program: Program, packed: tuple[int, int] | None = None) -> Callable[..., tuple[Any, ...]]:
    """The program as one step of many: its results may share memory with its arguments, and the caller turns floating-point warnings off.

    What depends on no input is computed now.  With `packed = (skip, count)` the first `count` inputs come as one tuple, behind `skip` other entries.
    """
    writer = _Writer(program)
    writer.folds = True
    lines = _lines(program, writer)
    names = [writer.name(v) for v in program.inputs]
    if packed is not None:
        skip, count = packed
        lines.insert(0, f"({''.join([*['_, '] * skip, *[f'{n}, ' for n in names[:count]]])}) = saved")
        names = ["saved", *names[count:]]
    outputs = [writer.operand(a, full=True) + ("[()]" if a.type.shape == () and a not in writer.inputs else "") for a in program.outputs]
    body = [*lines, f"return ({''.join(o + ', ' for o in outputs)})"]
    return compile_source(f"def run({', '.join(names)}):\n" + "".join(f"    {line}\n" for line in body), "run", writer.namespace)
