"""Cutting a program where NumPy must step in: kernels between host operations.

What lives here: `host_reason`, `cut` and the driver that calls the pieces in order.
What it promises: a program with host operations is slower, never an error; its results are those of its pieces.
"""

import re
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from functad._compile.codes import CODES
from functad._compile.costs import inner_programs
from functad._compile.emitting.emit import CALLS
from functad._compile.emitting.spellings import UnsupportedKernelError, expression_text
from functad._compile.entering.front import Array, Caller
from functad._compile.mathlib.names import has_helper
from functad._core.interpret import compile_source
from functad._core.primitive import Call, Expression, Host
from functad._core.program import Atom, Equation, Literal, Program, Var

__all__ = ["Outputs", "Runner", "Segment", "cut", "driver", "host_reason"]

_HELPER = re.compile(r"\b([a-z_0-9]+_(?:f8|f4|i8|i4|i2|i1|u8|u4|u2|u1|b1|c16|c8))\(")
Outputs = tuple[Any, ...]  # a value for each output of a program
Runner = Callable[..., Outputs]

_KNOWN: dict[Hashable, str | None] = {}  # (operation, dtypes, params) -> why it has no kernel form; bounded by what programs use


# Compile time grows faster than a kernel: 4000 straight-line equations take 2.0 s in kernels of 500 and 8.2 s in kernels of 2000.  But what
# crosses from one to the next is an array (8 us in all for a loop of 800 equations), so up to 1500 stay together.
MOST_EQUATIONS, PIECE = 1500, 500


@dataclass(eq=False)
class Segment:
    """A piece without host operations, as a program of its own."""

    program: Program


def host_reason(e: Equation) -> str | None:
    """Why this equation runs in NumPy, or None where a kernel does it."""
    kernel = e.op.kernel
    if isinstance(kernel, Host):
        return kernel.reason
    for a in (*e.inputs, *e.outputs):
        if a.type.dtype not in CODES:
            return f"kernels do not know {a.type.dtype}"
    if isinstance(kernel, Call):
        return _call_reason(e, kernel)
    if isinstance(kernel, Expression):
        key = (e.op, tuple([a.type.dtype.char for a in (*e.inputs, *e.outputs)]), tuple(e.params.items()))
        if key not in _KNOWN:
            _KNOWN[key] = _expression_reason(e)
        return _KNOWN[key]
    return None


def _call_reason(e: Equation, kernel: Call) -> str | None:
    if kernel.kind not in CALLS:
        return f"no routine for {kernel.kind}"
    reasons = [reason for p in inner_programs(e) for reason in map(host_reason, p.equations) if reason is not None]
    return f"its body has an operation without kernel form: {reasons[0]}" if reasons else None


def _expression_reason(e: Equation) -> str | None:
    try:
        text = expression_text(e, [f"v{i}" for i in range(len(e.inputs))])
    except UnsupportedKernelError as error:
        return f"no kernel form of {error}"
    missing = [name for name in _HELPER.findall(text) if not has_helper(name)]
    return f"no helper {missing[0]}" if missing else None


def cut(program: Program) -> list[Segment | Equation]:
    """Pieces in the order in which they run."""
    level: dict[Atom, int] = dict.fromkeys(program.inputs, 0)
    kernels: dict[int, list[Equation]] = {}
    hosts: dict[int, list[Equation]] = {}
    for e in program.equations:
        at = max([level.get(a, 0) for a in e.inputs], default=0)
        host = host_reason(e) is not None
        (hosts if host else kernels).setdefault(at, []).append(e)
        level.update(dict.fromkeys(e.outputs, at + host))
    pieces: list[list[Equation] | Equation] = []
    for at in range(max([*kernels, *hosts], default=0) + 1):
        found = kernels.get(at, [])
        length = PIECE if len(found) > MOST_EQUATIONS else len(found)
        pieces += [found[k : k + length] for k in range(0, len(found), max(length, 1))]
        pieces += hosts.get(at, [])
    if not hosts and len(pieces) <= 1:
        return [Segment(program)]
    return _segments(program, pieces)


def _segments(program: Program, pieces: Sequence[list[Equation] | Equation]) -> list[Segment | Equation]:
    """Each list of equations as a program, whose outputs are what other pieces read."""
    reads = [{a for e in (p if isinstance(p, list) else [p]) for a in e.inputs if isinstance(a, Var)} for p in pieces]
    count = Counter(a for found in reads for a in found)
    count.update({a for a in program.outputs if isinstance(a, Var)})
    out: list[Segment | Equation] = []
    for piece, found in zip(pieces, reads, strict=True):
        if isinstance(piece, Equation):
            out.append(piece)
            continue
        bound = [v for e in piece for v in e.outputs]
        inputs = dict.fromkeys([a for e in piece for a in e.inputs if a in found])
        for v in bound:
            inputs.pop(v, None)
        outputs = [v for v in bound if count[v] > (v in found)]
        out.append(Segment(Program(inputs, piece, outputs)))  # type: ignore[arg-type]  # members of `found` are variables
    return out


def driver(program: Program, pieces: Sequence[Segment | Equation], callers: Mapping[Segment, Caller], bound: Mapping[int, Array]) -> Runner:
    """A function of the inputs that are not bound, which calls the pieces in order and returns the tuple of results."""
    names: dict[Var, str] = {}
    namespace: dict[str, object] = {"errstate": np.errstate, "array": np.array, "asarray": np.asarray}
    lines = ["with errstate(all='ignore'):"]

    def constant(value: object) -> str:
        name = f"k{len(namespace)}"
        namespace[name] = value
        return name

    def text(a: Atom) -> str:
        return constant(a.array()) if isinstance(a, Literal) else names[a]

    for i, v in enumerate(program.inputs):
        names[v] = f"v{i}"
        if i in bound:
            names[v] = constant(bound[i] if v.type.shape else np.asarray(bound[i], v.type.dtype)[()])
        elif not v.type.shape:
            lines.append(f"    v{i} = asarray(v{i}, {constant(v.type.dtype)})[()]")
    taken = [names[v] for i, v in enumerate(program.inputs) if i not in bound]
    for piece in pieces:
        outputs = piece.program.outputs if isinstance(piece, Segment) else piece.outputs
        for a in outputs:
            assert isinstance(a, Var)
            names.setdefault(a, f"v{len(names)}")
        targets = ", ".join([names[a] for a in outputs])  # type: ignore[index]  # variables, as just seen
        if isinstance(piece, Segment):
            call = f"{constant(callers[piece])}({', '.join([names[v] for v in piece.program.inputs])})"
        else:
            keywords = [f"{k}={constant(v)}" for k, v in piece.params.items()]
            call = f"{constant(piece.op.numpy)}({', '.join([*map(text, piece.inputs), *keywords])})"
            targets += "," if piece.op.multiple and len(outputs) == 1 else ""
        lines.append(f"    {targets} = {call}")
    fresh: set[Atom] = {v for e in program.equations for v in e.outputs}
    results = []
    for a in program.outputs:
        results.append(f"{text(a)}[()]" if not a.type.shape else (text(a) if a in fresh else f"array({text(a)})"))
        fresh.discard(a)
    source = f"def run({', '.join(taken)}):\n" + "".join(f"    {line}\n" for line in [*lines, f"return ({''.join(r + ', ' for r in results)})"])
    return compile_source(source, "run", namespace)
