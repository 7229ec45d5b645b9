"""From a program to something that runs.

What lives here: `Executable`, which evaluates a program in NumPy until a kernel has paid for itself (the ski-rental rule: when
what the NumPy calls are estimated to have cost exceeds what compiling is estimated to cost), or from the start where the kernel
is there or asked for; the process-wide table of kernels by program structure (bounded, the oldest goes first); the setting that
pins an evaluator.
What it promises: thread-safe; one compile for each key; results are fresh arrays, numbers without axes are NumPy scalars; equal
bits for equal calls under one evaluator. The table lives as long as the process.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from functad._compile.building.kernel import Kernel, compile_kernel
from functad._compile.building.locks import COMPILING
from functad._compile.codes import DTYPES
from functad._compile.costs import compile_cost, kernel_cost, numpy_cost
from functad._compile.emitting.emit import KernelText, kernel_text
from functad._compile.entering.front import Array, Caller, Slot, guarded, make_caller
from functad._compile.rewriting.simplify import simplify
from functad._compile.scheduling.sizes import Sizes, read
from functad._compile.segments import Outputs, Runner, Segment, cut, driver, host_reason
from functad._core.interpret import python_function
from functad._core.program import Deferred, Equation, Program
from functad.errors import KernelError

__all__ = ["Executable", "compile_count", "evaluator", "pinned_evaluator"]

MAX_RECIPES = 10_000
RELEASE_GIL = 20e-6  # seconds of estimated work; letting go and taking it back costs 0.04 us and may cost a switch

_PINNED: ContextVar[str | None] = ContextVar("functad evaluator", default=None)


class _Recipe:
    """What is known of all programs with one key."""

    __slots__ = ("account", "kernel", "ready", "text")

    def __init__(self) -> None:
        self.account = 0.0  # estimated seconds spent in NumPy
        self.ready = False  # some program with this key was compiled
        self.text: KernelText | None = None
        self.kernel: Kernel | None = None


_RECIPES: dict[Hashable, _Recipe] = {}


def compile_count() -> int:
    """Number of kernels made so far, for the tests of what must not compile."""
    return sum([r.kernel is not None for r in list(_RECIPES.values())])


def pinned_evaluator() -> str | None:
    """The evaluator that is pinned here, None for the rule."""
    return _PINNED.get()


@contextmanager
def evaluator(name: str | None) -> Iterator[None]:
    """Pin the evaluator of unjitted programs: "numpy", "kernel", or None for the rule."""
    if name not in (None, "numpy", "kernel"):
        raise ValueError(f"evaluator is 'numpy', 'kernel' or None, not {name!r}")
    token = _PINNED.set(name)
    try:
        yield
    finally:
        _PINNED.reset(token)


def _recipe(key: Hashable) -> _Recipe:
    found = _RECIPES.get(key)
    if found is None:
        if len(_RECIPES) >= MAX_RECIPES:
            _RECIPES.pop(next(iter(_RECIPES)), None)  # whoever calls its kernel keeps that alive
        found = _RECIPES.setdefault(key, _Recipe())
    return found


def _kernel(program: Program, recipe: _Recipe, sizes: Sizes) -> tuple[Kernel, KernelText]:
    """The kernel of a program without host operations."""
    with COMPILING:  # a fork waits for it
        if recipe.text is None:
            recipe.text = kernel_text(program, sizes)
        if recipe.kernel is None:
            text = recipe.text
            try:
                recipe.kernel = compile_kernel(text.source, "kernel", text.arguments, text.notes)
            except KernelError as error:
                message = str(error).split("\n  at ")[0]
                raise KernelError(
                    f"{message}\n\n{text.source}\nThis is a fault of functad; until it is mended, evaluate in NumPy, "
                    "inside `with functad.evaluator('numpy'):`"
                ) from None
        return recipe.kernel, recipe.text


def _segment_caller(program: Program, bound: Mapping[int, Array], fallback: Caller | None = None) -> Caller:
    """The front of a kernel: takes the inputs that are not bound, returns one result or a tuple."""
    key, sizes = read(program)
    recipe = _recipe(key)
    kernel, text = _kernel(program, recipe, sizes)
    recipe.ready = True
    values = dict(zip(sizes.names, sizes.values, strict=True))
    inputs = _slots(program, exact=fallback is not None)
    bound = dict(bound)
    if sizes.numbers:
        bound[len(inputs)] = np.array(sizes.numbers)
        inputs.append(Slot(np.dtype(np.float64), (len(sizes.numbers),)))
    outputs = [Slot(a.type.dtype, a.type.shape, not a.type.shape) for a in program.outputs]
    scratch = [Slot(DTYPES[code], tuple([int(n) if n.isdigit() else values[n] for n in shape])) for code, shape in text.scratch]
    return make_caller(kernel, inputs, sizes.values, outputs, scratch, fallback, bound, kernel_cost(program) > RELEASE_GIL)


def _slots(program: Program, exact: bool) -> list[Slot]:
    """Inputs as the front sees them; `exact` tells Python's numbers from NumPy's, which promote otherwise."""
    return [Slot(v.type.dtype, v.type.shape, not v.type.shape, v.type.weak if exact and not v.type.shape else None) for v in program.inputs]


class Executable:
    """A program that can be called: `executable(*inputs) -> tuple of outputs`."""

    __slots__ = ("_compiled", "_cost", "_numpy", "_price", "_recipe", "_stepwise", "program")

    def __init__(self, program: Program) -> None:
        self.program = program
        self._numpy: Runner | None = None
        self._compiled: Runner | None = None
        self._recipe: _Recipe | None = None
        self._stepwise = program.stepwise if isinstance(program, Deferred) else None
        self._cost = self._price = 0.0

    def __call__(self, *args: object) -> Outputs:
        pinned = _PINNED.get()
        if pinned is None:
            compiled = self._compiled
            if compiled is not None:
                return compiled(*args)
            return self._rented(args)
        if pinned == "numpy":
            return (self._numpy or self._in_numpy())(*args)
        return (self._compiled or self.compile())(*args)

    def _rented(self, args: Sequence[object]) -> Outputs:
        """A call that may still be in NumPy, or step by step."""
        if self._stepwise is not None:
            outs = self._stepwise(*args)
            if outs is not None:
                return outs
            self._stepwise = None
        recipe = self._counted()
        recipe.account += self._cost
        if recipe.ready or recipe.account > self._price:
            return self.compile()(*args)
        return (self._numpy or self._in_numpy())(*args)

    def settled(self) -> Runner:
        """What evaluates the program now, for a caller whose answers must stay equal bit for bit; its calls still count."""
        pinned = _PINNED.get()
        if pinned == "kernel" or (pinned is None and self._is_ready()):
            return self._compiled or self.compile()
        numpy = self._numpy or self._in_numpy()
        if pinned == "numpy":
            return numpy

        def counted(*args: object) -> Outputs:
            if self._recipe is not None:
                self._recipe.account += self._cost
            return numpy(*args)

        return counted

    def _is_ready(self) -> bool:
        """Whether the kernel is there, or has paid for itself."""
        if self._compiled is not None:
            return True
        recipe = self._counted()
        return recipe.ready or recipe.account > self._price

    def _counted(self) -> _Recipe:
        recipe = self._recipe
        if recipe is None:
            recipe = self._recipe = _recipe(read(self.simplified)[0])
            self._cost, self._price = numpy_cost(self.simplified), compile_cost(self.simplified)
        return recipe

    @property
    def simplified(self) -> Program:
        """The program after `simplify`."""
        return simplify(self.program)

    def _in_numpy(self) -> Runner:
        found = self._numpy = python_function(self.simplified)
        return found

    def compile(self) -> Runner:
        """Make the kernels now; from here on they are used."""
        with COMPILING:
            if self._compiled is None:
                call = self._caller({}, always_tuple=True)
                self._recipe = self._recipe or _recipe(read(self.simplified)[0])
                self._recipe.ready = True
                self._compiled = call
            return self._compiled

    def caller(self, bound: Mapping[int, Array] | None = None, fallback: Caller | None = None) -> Caller:
        """A callable that takes the inputs that are not bound (by position) and returns one result, or a tuple where there is
        not just one.

        Kernels are compiled now; where there is no host operation, the callable is the front in machine code itself.  Arguments
        of other types than the inputs go to `fallback`, or are converted where there is none.
        """
        if _PINNED.get() == "numpy":
            call = _with_bound(self._numpy or self._in_numpy(), len(self.program.inputs), bound or {})
            return self._guarded(_unpacked(call, len(self.program.outputs)), bound or {}, fallback)
        return self._caller(bound or {}, always_tuple=False, fallback=fallback)

    def _guarded(self, call: Caller, bound: Mapping[int, Array], fallback: Caller | None) -> Caller:
        """`call` behind a check of its arguments."""
        if fallback is None:
            return call
        return guarded([slot for i, slot in enumerate(_slots(self.program, exact=True)) if i not in bound], call, fallback)

    def _caller(self, bound: Mapping[int, Array], always_tuple: bool, fallback: Caller | None = None) -> Caller:
        program = self.simplified
        pieces = cut(program)
        single = len(program.outputs) == 1
        if len(pieces) == 1 and isinstance(pieces[0], Segment):
            call = _segment_caller(program, bound, fallback)
            return (lambda *args: (call(*args),)) if always_tuple and single else call
        callers = {piece: _segment_caller(piece.program, {}) for piece in pieces if isinstance(piece, Segment)}
        run = driver(program, pieces, callers, bound)
        return run if always_tuple else self._guarded(_unpacked(run, len(program.outputs)), bound, fallback)

    def source(self) -> str:
        """Text of the kernels, with the steps that run in NumPy between them; compiles nothing."""
        texts = []
        for piece in cut(self.simplified):
            if isinstance(piece, Segment):
                texts.append(kernel_text(piece.program, read(piece.program)[1]).source)
            else:
                texts.append(_host_text(piece))
        return "\n".join(texts)


def _host_text(e: Equation) -> str:
    outputs = ", ".join(repr(v.type) for v in e.outputs)
    return f"# in NumPy: {e.op.name} of {', '.join(repr(a.type) for a in e.inputs)} -> {outputs}  ({host_reason(e)})\n"


def _with_bound(call: Caller, count: int, bound: Mapping[int, Array]) -> Caller:
    """`call` without the inputs that are bound."""
    if not bound:
        return call
    fixed = {i: np.array(x)[()] for i, x in bound.items()}

    def rest(*args: object) -> Any:
        given = iter(args)
        return call(*[fixed[i] if i in fixed else next(given) for i in range(count)])

    return rest


def _unpacked(call: Runner, outputs: int) -> Caller:
    return (lambda *args: call(*args)[0]) if outputs == 1 else call
