"""A primitive: one operation, declared once, with everything the machine wants to know of it.

What an operation computes (`numpy`), what type comes out (`infer`), how it is differentiated (`jvp`, `transpose`, `split`), how it is mapped
(`batch`), how it is spelt in a kernel (`kernel`) and where it may be tested (`examples`).  A rule that does not exist is `Missing(reason)`:
the reason is shown in the docs, and asking for the rule is an error that repeats it.  The registry is filled while the `_primitives` room
is imported, a second time when a function of SciPy's is first met (`_primitives.special`), and never changes otherwise.
"""

from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from functad._core.types import ArrayType
from functad.errors import MissingRuleError

__all__ = ["CURRENT", "REGISTRY", "Call", "Expression", "Fold", "Host", "KernelForm", "Missing", "Primitive", "Spelling", "View", "rule_of"]


@dataclass(frozen=True)
class Missing:
    """A rule that does not exist, and why."""

    reason: str


@dataclass(frozen=True)
class Expression:
    """Kernel form of an elementwise operation: `emit(dtype codes of the inputs, code of the output, *operand text, **params)` -> text.

    Codes are those of mathlib's helpers: f8, f4, i8, i4, b1, c16 ...  None instead of text means: not in a kernel for these dtypes.
    """

    emit: Callable[..., str | None]
    cost: float = 1.0  # about one for an addition, ten for a transcendental function: schedule decides by it what to compute twice
    costs: Callable[..., float] | None = None  # the cost for these params, where they matter


@dataclass(frozen=True)
class View:
    """Kernel form of an operation that only moves elements.

    `index(out_index, in_types, out_type, **params)` gets the text of each output index and returns `(which input, input index texts)`, or a list of
    `(condition text or None, which input or None, index texts)` tried in order, where input None is the number zero.
    """

    index: Callable[..., Any]
    keeps_order: bool = False  # the elements stay where they are in memory: a contiguous buffer serves as it is
    joins: bool = False  # the inputs lie one after the other along params["axis"]: each can be written to its place


@dataclass(frozen=True)
class Fold:
    """Kernel form of a reduction over `params["axes"]`: `combine` is the name of a kind the emitter knows (sum, prod, max, min, all, any)."""

    combine: str


@dataclass(frozen=True)
class Call:
    """Kernel form of an operation with loops of its own; `kind` names the emitter's routine (dot, gather, scatter_add, scan, cond, ...)."""

    kind: str


@dataclass(frozen=True)
class Host:
    """No kernel form: runs in NumPy between kernels.  The reason is shown in the docs."""

    reason: str


@dataclass(frozen=True)
class Spelling:
    """The ufuncs that an elementwise primitive is on traced values, and how these treat their operands."""

    ufuncs: tuple[np.ufunc, ...] = ()
    on_booleans: tuple[np.ufunc, ...] = ()  # further ufuncs, which are this where all operands are booleans
    keeps_weak: bool = False  # of Python scalars alone the first of the ufuncs gives a Python scalar again
    as_booleans: bool = False  # operands are cast to booleans
    compares: bool = False  # a Python integer beside an integer array need not fit its dtype
    of_integers: bool | None = None  # the answer for every integer, which then is not asked


CURRENT: ContextVar[Any] = ContextVar("functad builder", default=None)  # the open `Builder` of `recorder`, which binds what is called, or None

KernelForm = Expression | View | Fold | Call | Host
REGISTRY: dict[str, "Primitive"] = {}


@dataclass(eq=False)
class Primitive:
    """See the module docstring.  Rules:

    numpy(*values, **params)                                     -> value, or a tuple when `multiple`
    infer(*types, **params)                                      -> tuple of types; raises ShapeMismatchError with a message for the user
    jvp(transform, xs, ts, **params)                             -> (ys, tys): None in ts and tys is a structural zero
    transpose(transform, cts, xs, types, **params)               -> cotangent or None per input: xs has None where the input is linear
    batch(transform, xs, mapped, size, **params)                 -> (ys, mapped outputs): the mapped axis is axis 0
    split(transform, equation, linear)                           -> see _transforms.linearize; only for primitives with inner programs

    `transform` is the running transform itself, for rules that must transform inner programs: no rule imports one.
    """

    name: str
    numpy: Callable[..., Any]
    infer: Callable[..., tuple[ArrayType, ...]]
    jvp: Callable[..., Any] | Missing
    transpose: Callable[..., Any] | Missing
    batch: Callable[..., Any] | Missing
    kernel: KernelForm
    split: Callable[..., Any] | Missing | None = None
    multiple: bool = False
    kind: str = "other"
    examples: Callable[[], Sequence[tuple[Sequence[Any], Mapping[str, Any]]]] | None = None  # () -> [(arrays, params)] for the tests
    ufunc: np.ufunc | None = None
    spreads: bool = False  # `numpy` broadcasts its operands by itself, as every ufunc does, so the evaluator may leave broadcasts to it
    spelling: Spelling | None = None  # the ufuncs that it is: `_numpy.ufuncs` takes its table from here
    partials: Sequence[Any] = ()  # of an elementwise operation: its tangent rules, None where the derivative is zero (for the docs' table)
    identity: bool = False  # the value is the first input: `simplify` drops it once derivatives have been taken
    # Structural zeros, see Note [structural zeros] in _primitives.alive:
    structural: Callable[..., bool] | None = None  # (equation, variables known to have some) -> whether the output has some
    inward: Callable[..., Any] | None = None  # (times, inputs, p, **params) -> output times p, moved inside; None where it cannot be moved
    alive: "Callable[..., Any] | None" = None  # (booleans for inexact inputs, others as they are, **params) -> booleans; default: as the first's
    prune: Callable[..., Any] | None = None  # (equation, which outputs are read) -> the equation narrowed to them, for inner programs
    note: str = ""
    home: str = ""  # the module whose import declares it, where that is not imported with the package: see `pickle` below

    def __post_init__(self) -> None:
        if self.name in REGISTRY:
            raise ValueError(f"primitive {self.name} is declared twice")
        REGISTRY[self.name] = self
        self.spreads = self.spreads or self.ufunc is not None

    def __call__(self, *inputs: Any, **params: Any) -> Any:
        """Record in the open builder: a tracer, or a tuple of them when `multiple`."""
        builder = CURRENT.get()
        if builder is None or not builder.plain:
            raise RuntimeError(f"primitive {self.name} used outside of a door, a rule or `stage`")
        outputs = builder.bind(self, inputs, params)
        return outputs if self.multiple else outputs[0]

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[Any, ...]:
        return _registered, (self.name, self.home)


def _registered(name: str, home: str = "") -> Primitive:
    """What a pickled primitive is: the one of this process."""
    if name not in REGISTRY and home:
        import_module(home)
    return REGISTRY[name]


def rule_of(op: Primitive, rule: str) -> Callable[..., Any]:
    """The rule, or the error that says why there is none."""
    found = getattr(op, rule)
    if found is None or isinstance(found, Missing):
        reason = found.reason if isinstance(found, Missing) else "it is not linear"
        raise MissingRuleError(f"{op.name} has no {rule} rule: {reason}")
    return found  # type: ignore[no-any-return]  # getattr by name
