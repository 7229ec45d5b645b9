"""The program: what every transform takes and gives, and what a kernel is made from.

A program is straight-line: equations apply an operation to atoms (variables and literals) and bind fresh variables.  Broadcasts and casts
are equations of their own.  Nothing here is ever changed after it is built, so programs are compared by identity and carry a `memo`
in which transforms keep what they made of them; the memo dies with the program.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from functad._core.primitive import Primitive
from functad._core.types import ArrayType

__all__ = ["Atom", "Deferred", "Equation", "Literal", "Program", "Var", "program_text", "without_dead"]


class Var:
    """A variable: an identity and a type."""

    __slots__ = ("type",)

    def __init__(self, type: ArrayType) -> None:
        self.type = type


class Literal:
    """A number known when the program was built, standing for an array of `type` filled with it.

    Only rules make literals (the 0 of a derivative, the 2 of `x**2`); what a user writes is an input of the program.
    """

    __slots__ = ("type", "value")

    def __init__(self, value: Any, type: ArrayType) -> None:
        self.value = type.dtype.type(value).item()
        self.type = type

    def _key(self) -> tuple[Hashable, ...]:
        return (self.type, repr(self.value))  # repr tells -0.0 from 0.0 and lets NaN equal itself

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Literal) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def is_zero(self) -> bool:
        """Whether this is the number zero (of either sign)."""
        return bool(self.value == 0)

    def array(self) -> Any:
        """The value as NumPy computes with it: a scalar of the dtype, or a filled array."""
        scalar = self.type.dtype.type(self.value)
        return scalar if self.type.shape == () else np.full(self.type.shape, scalar)


Atom = Var | Literal


class Equation:
    """`outputs = op(*inputs, **params)`."""

    __slots__ = ("inputs", "op", "outputs", "params")

    def __init__(self, op: Primitive, inputs: Sequence[Atom], params: Mapping[str, Any], outputs: Sequence[Var]) -> None:
        self.op = op
        self.inputs = tuple(inputs)
        self.params = params
        self.outputs = tuple(outputs)


class Program:
    """What a function is traced to: equations between variables, from inputs to outputs; it prints as text.

    Attributes
    ----------
    inputs : tuple of Var
        Captured values in order of use, then the arguments.
    equations : tuple of Equation
        `outputs = op(*inputs, **params)`, in an order in which each variable is bound before it is used.
    outputs : tuple of Var or Literal
    input_types, output_types : tuple of ArrayType
        Shapes and dtypes.
    memo : dict
        What transforms have made of this program, by transform and arguments.

    Examples
    --------
    >>> import numpy as np
    >>> import functad as fd
    >>> program = fd.make_program(np.exp)(np.ones(3))
    >>> program
    program(a: f8[3])
      b: f8[3] = exp a
      return b
    >>> program.output_types
    (f8[3],)
    """

    __slots__ = ("__weakref__", "equations", "inputs", "memo", "outputs")

    def __init__(self, inputs: Iterable[Var], equations: Iterable[Equation], outputs: Iterable[Atom]) -> None:
        self.inputs = tuple(inputs)
        self.equations = tuple(equations)
        self.outputs = tuple(outputs)
        self.memo: dict[Hashable, Any] = {}

    @property
    def input_types(self) -> tuple[ArrayType, ...]:
        """Types of the inputs."""
        return tuple(v.type for v in self.inputs)

    @property
    def output_types(self) -> tuple[ArrayType, ...]:
        """Types of the outputs."""
        return tuple(a.type for a in self.outputs)

    def __repr__(self) -> str:
        return program_text(self)


class Deferred(Program):
    """A program that is made when somebody reads its equations; `stepwise` computes its outputs without them.

    A path that is met once, a loop over data of a new length say, may never need them.
    """

    __slots__ = ("_make", "stepwise")

    def __init__(self, inputs: Iterable[Var], make: Callable[[], Program], stepwise: Callable[..., tuple[Any, ...] | None] | None = None) -> None:
        self.inputs = tuple(inputs)
        self.memo = {}
        self.stepwise = stepwise
        self._make = make

    @property
    def _made(self) -> Program:
        found = self.memo.get("made")
        if found is None:
            found = self.memo.setdefault("made", self._make())  # two threads must see one
        return found  # type: ignore[no-any-return]  # memo is untyped

    @property
    def equations(self) -> tuple[Equation, ...]:  # type: ignore[override]  # a plain program has attributes
        """As of any program."""
        return self._made.equations

    @property
    def outputs(self) -> tuple[Atom, ...]:  # type: ignore[override]
        """As of any program."""
        return self._made.outputs


def without_dead(program: Program) -> Program:
    """The same inputs and outputs without the equations that no output needs; inner programs are narrowed to what is read of them."""
    live: set[Any] = {a for a in program.outputs if isinstance(a, Var)}
    kept: list[Equation] = []
    changed = False
    for e in reversed(program.equations):
        if live.isdisjoint(e.outputs):
            changed = True
            continue
        if e.op.prune is not None:
            narrow = e.op.prune(e, [v in live for v in e.outputs])
            changed, e = changed or narrow is not e, narrow
        kept.append(e)
        live.update(a for a in e.inputs if isinstance(a, Var))
    return Program(program.inputs, reversed(kept), program.outputs) if changed else program


# ---- programs as text: one line an equation, types beside the names


def _letters(n: int) -> str:
    text = ""
    while True:
        text = chr(ord("a") + n % 26) + text
        n = n // 26 - 1
        if n < 0:
            return text


def program_text(program: Program, indent: str = "") -> str:
    """The program as readable text; inner programs are indented below their equation."""
    names: dict[Var, str] = {}

    def name(atom: Atom) -> str:
        if isinstance(atom, Literal):
            return f"{atom.value!r}:{atom.type!r}"
        if atom not in names:
            names[atom] = _letters(len(names))
        return names[atom]

    lines = [f"{indent}program({', '.join(f'{name(v)}: {v.type!r}' for v in program.inputs)})"]
    for e in program.equations:
        inner = {k: v for k, v in e.params.items() if _programs(v)}
        params = " ".join(f"{k}={v!r}" for k, v in e.params.items() if k not in inner)
        targets = ", ".join(f"{name(v)}: {v.type!r}" for v in e.outputs)
        lines.append(f"{indent}  {targets} = {e.op.name}{f'[{params}]' if params else ''} {' '.join(name(a) for a in e.inputs)}".rstrip())
        for key, value in inner.items():
            for i, p in enumerate(_programs(value)):
                lines.append(f"{indent}    {key}{i if isinstance(value, tuple) else ''}:")
                lines.append(program_text(p, indent + "      "))
    lines.append(f"{indent}  return {', '.join(name(a) for a in program.outputs)}".rstrip())
    return "\n".join(lines)


def _programs(value: Any) -> tuple[Program, ...]:
    if isinstance(value, Program):
        return (value,)
    return value if isinstance(value, tuple) and value and all(isinstance(p, Program) for p in value) else ()
