"""Program -> a smaller program with the same values.

What lives here: the pass: dead code, common subexpressions, constant folding, inner programs. It is given its rules, and is what
they ask and record with.
What it promises: the same inputs and outputs; every value is what the given program has, NaN, infinities and signs of zero
included; one pass over the equations, about 10 us each, kept in the program's memo.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from functad._core.primitive import Call, Expression, Primitive
from functad._core.program import Atom, Equation, Literal, Program, Var, without_dead
from functad._core.types import ArrayType
from functad._primitives.shape import broadcast

__all__ = ["Inputs", "Params", "Rule", "Simplifier", "simplified"]

Params = Mapping[str, Any]
Inputs = tuple[Atom, ...]
# (simplifier, inputs, params, output type) -> the atom that the operation equals, or None
Rule = Callable[["Simplifier", Inputs, Params, ArrayType], Atom | None]
_COMMUTES = frozenset({"add", "mul", "equal", "not_equal", "logical_and", "logical_or", "logical_xor"})  # bit for bit


def simplified(program: Program, rules: Mapping[str, Rule]) -> Program:
    """The simplified program, kept in the memo of the given one."""
    found = program.memo.get("simplified")
    if found is None:
        found = program.memo["simplified"] = Simplifier(rules).run(without_dead(program))
        found.memo["simplified"] = found
    return found


class Simplifier:
    """One pass, and what rules may ask and record."""

    def __init__(self, rules: Mapping[str, Rule]) -> None:
        self.rules = rules  # by name of primitive
        self.equations: list[Equation] = []
        self.producer: dict[Var, Equation] = {}
        self.seen: dict[Hashable, tuple[Atom, ...]] = {}

    def run(self, program: Program) -> Program:
        """Rewrite all equations."""
        atoms: dict[Any, Atom] = {}
        for e in program.equations:
            inputs = tuple([atoms.get(a, a) for a in e.inputs])
            found = self.record(e.op, inputs, e.params, e.outputs)
            for old, new in zip(e.outputs, found, strict=True):
                if new is not old:
                    atoms[old] = new
        outputs = [atoms.get(a, a) for a in program.outputs]
        return without_dead(Program(program.inputs, self.equations, outputs))

    def made_by(self, a: Atom, name: str) -> Equation | None:
        """The equation behind an atom if it is of this operation."""
        e = self.producer.get(a)  # type: ignore[arg-type]  # literals are not found
        return e if e is not None and e.op.name == name else None

    def bind(self, op: Primitive, *inputs: Atom, **params: Any) -> Atom:
        """An operation of one output on these atoms, simplified."""
        return self.record(op, inputs, params, None)[0]

    def record(self, op: Primitive, inputs: Inputs, params: Params, outputs: Sequence[Var] | None) -> tuple[Atom, ...]:
        """The atoms that `op(*inputs)` equals; a new equation only where there is none for it."""
        if op.identity:
            return inputs[:1]
        if isinstance(op.kernel, Call):
            params = _simplified_params(params, self.rules)
        if not op.multiple and (op.name in self.rules or isinstance(op.kernel, Expression)):
            kind = outputs[0].type if outputs is not None else op.infer(*[a.type for a in inputs], **params)[0]
            rule = self.rules.get(op.name)
            if rule is not None:
                atom = rule(self, inputs, params, kind)
                if atom is not None:
                    return (atom,)
            if inputs and isinstance(op.kernel, Expression) and all(isinstance(a, Literal) for a in inputs):
                return (folded(op, inputs, params, kind),)  # type: ignore[arg-type]  # all literals
            if inputs and isinstance(op.kernel, Expression) and kind.shape:
                small = spread_alike(self, inputs)
                if small is not None:
                    return (self.bind(broadcast, self.bind(op, *small[0], **params), **small[1]),)
        key = (op, inputs, tuple(params.items()))
        if op.name in _COMMUTES and len(inputs) == 2 and hash(inputs[0]) > hash(inputs[1]):
            key = (op, inputs[::-1], ())
        found = self.seen.get(key)
        if found is not None:
            return found
        if outputs is None:
            outputs = [Var(t) for t in op.infer(*[a.type for a in inputs], **params)]
        e = Equation(op, inputs, params, outputs)
        self.equations.append(e)
        for v in e.outputs:
            self.producer[v] = e
        self.seen[key] = e.outputs
        return e.outputs


def _simplified_params(params: Params, rules: Mapping[str, Rule]) -> Params:
    """Params with their inner programs simplified; the same object where there are none."""
    changed = None
    for k, v in params.items():
        new: Any = v
        if isinstance(v, Program):
            new = simplified(v, rules)
        elif isinstance(v, tuple) and v and isinstance(v[0], Program):
            inner = [simplified(p, rules) for p in v]
            make: Any = type(v)
            new = make(*inner) if hasattr(v, "_fields") else tuple(inner)
        if new is not v:
            changed = {**(changed or params), k: new}
    return params if changed is None else changed


def folded(op: Primitive, inputs: Sequence[Literal], params: Params, kind: ArrayType) -> Literal:
    """An elementwise operation on literals."""
    with np.errstate(all="ignore"):
        value = op.numpy(*[a.type.dtype.type(a.value) for a in inputs], **params)
    return Literal(value, kind)


def spread_alike(s: Simplifier, inputs: Inputs) -> tuple[list[Atom], Params] | None:
    """(smaller operands, params of their broadcast) where all operands are one and the same broadcast, or literals."""
    params: Params | None = None
    small: Any = None
    for a in inputs:
        if isinstance(a, Literal):
            continue
        e = s.made_by(a, "broadcast")
        if e is None or (params is not None and (e.params["axes"] != params["axes"] or e.inputs[0].type.shape != small)):
            return None
        params, small = e.params, e.inputs[0].type.shape
    if params is None:
        return None
    operands: list[Atom] = []
    for a in inputs:
        operands.append(Literal(a.value, a.type.with_shape(small)) if isinstance(a, Literal) else s.producer[a].inputs[0])
    return operands, params
