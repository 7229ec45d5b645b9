"""One pass over a program, and what a rule is.

What lives here: dead code, common subexpressions, constant folding, inner programs, and `Simplifier`, which rules ask for what
is behind an atom and have record what they replace it by.  The rules themselves are handed in.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from functad._core.primitive import Call, Expression, Primitive
from functad._core.program import Atom, Equation, Literal, Program, Var, without_dead
from functad._core.types import ArrayType
from functad._primitives.shape import broadcast

__all__ = ["Inputs", "Params", "Rule", "Simplifier", "simplified"]

Inputs = tuple[Atom, ...]
Params = Mapping[str, Any]
# (simplifier, inputs, params, output type) -> the atom that the operation equals, or None.
Rule = Callable[["Simplifier", Inputs, Params, ArrayType], Atom | None]

_COMMUTES = frozenset({"add", "mul", "equal", "not_equal", "logical_and", "logical_or", "logical_xor"})  # bit for bit


def simplified(program: Program, rules: Mapping[str, Rule]) -> Program:
    """The program after one pass with these rules, by the names of primitives; kept in the memo of the given one."""
    found: Program | None = program.memo.get("simplified")
    if found is None:
        found = program.memo["simplified"] = Simplifier(rules).run(without_dead(program))
        found.memo["simplified"] = found
    return found


class Simplifier:
    """One pass, and what rules may ask and record."""

    def __init__(self, rules: Mapping[str, Rule]) -> None:
        self.rules = rules
        self.equations: list[Equation] = []
        self.producer: dict[Var, Equation] = {}
        self.seen: dict[Hashable, tuple[Atom, ...]] = {}

    def run(self, program: Program) -> Program:
        """Rewrite all equations."""
        atoms: dict[Atom, Atom] = {}
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
            params = self._simplified_params(params)
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
                small = self._spread_alike(inputs)
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

    def _simplified_params(self, params: Params) -> Params:
        """Params with their inner programs simplified; the same object where there are none."""
        changed: dict[str, Any] = {}
        for k, v in params.items():
            if isinstance(v, Program):
                inner = simplified(v, self.rules)
                changed |= {k: inner} if inner is not v else {}
            elif isinstance(v, tuple) and v and isinstance(v[0], Program):
                programs = [simplified(p, self.rules) for p in v]
                changed[k] = v._make(programs) if hasattr(v, "_make") else tuple(programs)
        return {**params, **changed} if changed else params

    def _spread_alike(self, inputs: Inputs) -> tuple[list[Atom], Params] | None:
        """(smaller operands, params of their broadcast) where all operands are one and the same broadcast, or literals."""
        spread = [self.made_by(a, "broadcast") for a in inputs if isinstance(a, Var)]
        alike = [e for e in spread if e is not None]
        if len(alike) < len(spread):
            return None
        params, small = alike[0].params, alike[0].inputs[0].type.shape
        if any(e.params["axes"] != params["axes"] or e.inputs[0].type.shape != small for e in alike):
            return None
        operands = [Literal(a.value, a.type.with_shape(small)) if isinstance(a, Literal) else self.producer[a].inputs[0] for a in inputs]
        return operands, params


def folded(op: Primitive, inputs: Sequence[Literal], params: Params, kind: ArrayType) -> Literal:
    """An elementwise operation on literals."""
    with np.errstate(all="ignore"):
        value = op.numpy(*[a.type.dtype.type(a.value) for a in inputs], **params)
    return Literal(value, kind)
