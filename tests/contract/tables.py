"""What the contract suite runs over: each primitive's examples times dtypes, and the oracles that it is held against.

Oracles are NumPy (through the primitive's `numpy`), the complex step where the function is analytic and NumPy computes it for complex numbers,
Richardson differences elsewhere, the adjoint identity, and a Python loop.
"""

import itertools
from dataclasses import dataclass, field

import numpy as np

import functad as fd
from functad._compile.pipeline import Executable
from functad._core.interpret import python_function
from functad._core.primitive import REGISTRY, Missing, Primitive
from functad._core.program import Program
from functad._core.recorder import inline, stage
from functad._core.types import type_of_value
from functad._core.verify import verify
from functad._numpy.special import meet_scipy
from functad._transforms.derivative import pullback
from functad._transforms.jvp import jvp
from functad._transforms.linearize import linearize

assert fd  # importing it fills the registry
meet_scipy()

# Their first input repeats what the others say, and is constant: differences would vary it by itself.  tests/_primitives/test_second_derivatives.py
# holds them to high precision.
CARRIED = ("power_log", "power_slope", "cosine")

# Their derivative is not that of their value, on purpose.
NOT_THE_DERIVATIVE = {
    "stop_gradient": "constant for every derivative",
    **dict.fromkeys(CARRIED, "their first input is constant"),
    "annihilated": "its derivative is that of the product, not that of the zero put in the place of NaN",
    "gate": "what is held back is a structural zero in derivatives, and any number in values",
}

# The first derivative at a tie is a convention that central differences share; the second does not exist.
TIED = {("reduce_max", 4): "two of its elements are the largest"}

# Analytic, and NumPy computes them for complex numbers: differentiated by the complex step, exact to rounding.
ANALYTIC = frozenset({
    "add", "neg", "sub", "mul", "reciprocal", "div", "power_static", "power", "exp", "exp2", "expm1", "log", "log1p", "log2", "log10", "sqrt", "root",
    "sin", "cos", "tan", "sinh", "cosh", "tanh", "arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh",
    "broadcast", "reshape", "transpose", "flip", "slice", "pad", "concatenate", "reduce_sum", "reduce_prod", "cumsum", "cumprod",
    "gather", "scatter_add", "dot", "solve", "inv", "det",
})  # fmt: skip


@dataclass(frozen=True)
class Example:
    """One call of a primitive, at one precision."""

    op: Primitive
    number: int
    precision: str  # "double", "single"
    values: tuple = field(repr=False)
    params: dict = field(repr=False)

    def __str__(self):
        return f"{self.op.name}-{self.number}-{self.precision}"

    @property
    def types(self):
        return [type_of_value(x) for x in self.values]

    @property
    def active(self):
        """Which inputs have derivatives."""
        return tuple(t.is_inexact for t in self.types)

    @property
    def eps(self):
        return np.finfo(np.float32 if self.precision == "single" else np.float64).eps

    def program(self):
        def function(*xs):
            return as_tuple(self.op, self.op(*xs, **self.params))

        return stage(function, self.types)

    def numpy(self, *values):
        """NumPy's outputs, always a tuple."""
        with np.errstate(all="ignore"):
            return as_tuple(self.op, self.op.numpy(*values, **self.params))


def as_tuple(op, out):
    return tuple(out) if op.multiple else (out,)


def has_inner(params):
    """Whether a primitive's params hold inner programs, whose types are fixed."""
    return any(isinstance(p, Program) for v in params.values() for p in (v if isinstance(v, tuple) else (v,)))


def _single(x):
    narrow = {"d": np.float32, "D": np.complex64}.get(x.dtype.char)
    return x if narrow is None else x.astype(narrow)


def examples(precisions=("double", "single"), kinds=None):
    """All examples of all primitives; single precision where the example has floating-point inputs."""
    found = []
    for op in REGISTRY.values():
        if op.examples is None or (kinds is not None and op.kind not in kinds):
            continue
        for number, (values, params) in enumerate(op.examples()):
            arrays = tuple(np.asarray(x)[()] for x in values)
            if "double" in precisions:
                found.append(Example(op, number, "double", arrays, dict(params)))
            if "single" in precisions and not has_inner(params) and any(x.dtype.char in "dD" for x in arrays):
                found.append(Example(op, number, "single", tuple(_single(x) for x in arrays), dict(params)))
    return found


def differentiable():
    """Double-precision examples with a floating-point input, whose primitive has a forward rule."""
    return [e for e in examples(("double",)) if any(e.active) and not isinstance(e.op.jvp, Missing)]


def reversible():
    """Those of them that have a reverse mode."""
    return [e for e in differentiable() if not isinstance(e.op.split, Missing)]


def masks(available):
    """Each available input alone, then all of them."""
    single = [tuple(i == j for i in range(len(available))) for j, on in enumerate(available) if on]
    return single if len(single) == 1 else [*single, tuple(available)]


def subsets(count):
    """Each non-empty subset of the inputs; of many inputs just the single ones and all."""
    if count <= 3:
        return [m for m in itertools.product([False, True], repeat=count) if any(m)]
    return [*[tuple(i == j for i in range(count)) for j in range(count)], (True,) * count]


def run(program, values):
    """The program's outputs from the NumPy evaluator."""
    return python_function(verify(program))(*values)


def kernel(program):
    """The program's kernel."""
    return Executable(program).compile()


def pulled(program, active):
    """Program: inputs, cotangents of the active outputs -> cotangents of the active inputs; None where no output is active."""
    halves = linearize(program, active)
    if not any(halves.out_active):
        return None, halves
    back = pullback(halves)
    count, outputs = len(program.inputs), len(program.outputs)
    kinds = [a.type for a, on in zip(program.outputs, halves.out_active, strict=True) if on]

    def function(*args):
        residuals = inline(halves.forward, args[:count])[outputs:]
        return inline(back, [*residuals, *args[count:]])

    return stage(function, [*program.input_types, *kinds]), halves


def pushed(program, active):
    """Program: inputs, tangents -> tangents of the active outputs; and which outputs are active."""
    whole, on = jvp(program, active)
    return Program(whole.inputs, whole.equations, whole.outputs[len(program.outputs) :]), on


def directions(kinds, seed):
    """Random arrays of these types, entries between 0.5 and 1.5 in size."""
    random = np.random.default_rng(seed)
    out = []
    for kind in kinds:
        t = random.uniform(0.5, 1.5, kind.shape) * random.choice([-1.0, 1.0], kind.shape)
        if kind.dtype.kind == "c":
            t = t + 1j * random.uniform(0.5, 1.5, kind.shape)
        out.append(np.asarray(t, kind.dtype)[()])
    return out


def complex_step(function, values, tangents):
    """Derivative of an analytic function of real arguments along the tangents, exact to rounding."""
    h = 1e-150
    moved = [x if t is None else np.asarray(x + 1j * h * t)[()] for x, t in zip(values, tangents, strict=True)]
    return [np.imag(y) / h for y in function(*moved)]


def richardson(function, values, tangents, step=2e-3):
    """Directional derivative by four central differences, extrapolated to order step**8: what is left is rounding."""

    def at(s):
        return [np.asarray(y) for y in function(*[x if t is None else np.asarray(x + s * t)[()] for x, t in zip(values, tangents, strict=True)])]

    def along(h):
        return [(a - b) / (2 * h) if a.dtype.kind in "fc" else np.zeros(a.shape) for a, b in zip(at(h), at(-h), strict=True)]

    table = [along(step / 2**i) for i in range(4)]
    for level in range(1, 4):
        table = [[b + (b - a) / (4**level - 1) for a, b in zip(x, y, strict=True)] for x, y in itertools.pairwise(table)]
    return table[0]


def pairing(xs, ys):
    """Sum of the real parts of all products, which transposition preserves, and the sum of their sizes."""
    products = [np.multiply(x, y, dtype=np.complex128) for x, y in zip(xs, ys, strict=True)]
    return sum(float(np.sum(p.real)) for p in products), sum(float(np.sum(np.abs(p))) for p in products)


def spread_out(x, k):
    """A different value like x for each k: scaled numbers, rotated integers and booleans."""
    return x * x.dtype.type(1 + k / 64) if x.dtype.kind in "fc" else np.roll(x, k)
