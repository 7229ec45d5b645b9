"""Forms that people spell by hand, recognised before a program is differentiated.

The value stays as NumPy computes it; the derivative becomes that of the function meant: norms have the subgradient 0 at 0, and sigmoid,
softplus, log-sum-exp and 1/cosh do not meet `0 * inf` where they saturate.  The table `FORMS` lists them: name of the last operation ->
a function of (matcher, equation) that gives the replacement, or None.
"""

from collections.abc import Callable
from typing import Any

from functad._core.primitive import Primitive
from functad._core.program import Atom, Equation, Literal, Program, Var
from functad._primitives import forms
from functad._primitives.elementwise import root
from functad._primitives.operands import constant

__all__ = ["FORMS", "recognised"]


class Matcher:
    """What made each variable."""

    def __init__(self) -> None:
        self.producer: dict[Atom, Equation] = {}
        self.squares: dict[Atom, bool] = {}

    def made(self, a: Atom, *names: str) -> Equation | None:
        """The equation behind an atom if it is one of these operations."""
        e = self.producer.get(a)
        return e if e is not None and e.op.name in names else None

    def is_sum_of_squares(self, a: Atom) -> bool:
        """Whether an atom is a square, or a sum of squares."""
        found = self.squares.get(a)
        if found is None:
            found = self.squares[a] = self._is_sum_of_squares(a)
        return found

    def _is_sum_of_squares(self, a: Atom) -> bool:
        e = self.producer.get(a)
        if e is None:
            return False
        name, inputs = e.op.name, e.inputs
        if name == "power_static":
            return bool(e.params["exponent"][0] == 2)
        if name == "mul":
            return self.same(inputs[0], inputs[1])
        if name == "div":  # by a number that no argument changes, as in a mean
            return isinstance(inputs[1], Literal) and self.is_sum_of_squares(inputs[0])
        if name == "add":
            return all(map(self.is_sum_of_squares, inputs))
        if name == "dot":
            contract = e.params["contract"]
            return self.same(inputs[0], inputs[1]) and contract[0] == contract[1]
        return name in ("reduce_sum", "reshape", "slice", "broadcast", "transpose") and self.is_sum_of_squares(inputs[0])

    def same(self, a: Atom, b: Atom) -> bool:
        """Whether two atoms are the same value: one variable, or the same view of one."""
        if a is b:
            return True
        x, y = self.producer.get(a), self.producer.get(b)
        if x is None or y is None or x.op is not y.op or x.params != y.params or x.op.kind not in ("view", "elementwise"):
            return False
        return all(self.same(p, q) for p, q in zip(x.inputs, y.inputs, strict=True))

    def offset_exponential(self, a: Atom) -> tuple[Atom, Atom] | None:
        """(d, u) where the atom is d + exp(u) with d free of exponentials."""
        e = self.made(a, "add")
        if e is None:
            return None
        for d, other in (e.inputs, e.inputs[::-1]):
            inner = self.made(other, "exp")
            if inner is not None and self.made(d, "exp") is None:
                return d, inner.inputs[0]
        return None


Form = tuple[Primitive, list[Atom], dict[str, Any], bool]  # operation, inputs, params, whether it replaces the equation (else it follows it)


def _norm(m: Matcher, e: Equation) -> Form | None:
    return (root, [e.inputs[0]], {}, True) if e.inputs[0].type.dtype.kind == "f" and m.is_sum_of_squares(e.inputs[0]) else None


def _quotient(m: Matcher, e: Equation) -> Form | None:
    return _over(m, e, e.inputs[0], e.inputs[1])


def _reciprocal(m: Matcher, e: Equation) -> Form | None:
    return _over(m, e, constant(1, e.outputs[0].type), e.inputs[0])


def _over(m: Matcher, e: Equation, c: Atom, divisor: Atom) -> Form | None:
    """c over d + exp(u), or over a power of cosh(u)."""
    found = m.offset_exponential(divisor)
    if found is not None:
        return forms.offset_exponential_quotient, [e.outputs[0], c, *found], {}, False
    power = m.made(divisor, "power_static")
    exponent = (1, int) if power is None else power.params["exponent"]
    return _over_cosh(m, e, c, divisor if power is None else power.inputs[0], exponent)


def _over_cosh(m: Matcher, e: Equation, c: Atom, base: Atom, exponent: tuple[Any, type]) -> Form | None:
    inner = m.made(base, "cosh")
    if inner is None or exponent[0] <= 0:
        return None
    return forms.inverse_cosh, [e.outputs[0], c, inner.inputs[0]], {"exponent": exponent}, False


def _logarithm(m: Matcher, e: Equation) -> Form | None:
    found = m.offset_exponential(e.inputs[0])
    if found is not None:
        return forms.log_of_offset_exponential, [e.outputs[0], *found], {}, False
    total = m.made(e.inputs[0], "reduce_sum")
    if total is not None and total.inputs[0].type.size:
        inner = m.made(total.inputs[0], "exp")
        if inner is not None:
            return forms.log_sum_exp, [e.outputs[0], inner.inputs[0]], {"axes": total.params["axes"]}, False
    return None


def _softplus(m: Matcher, e: Equation) -> Form | None:
    inner = m.made(e.inputs[0], "exp")
    if inner is None:
        return None
    return forms.log_of_offset_exponential, [e.outputs[0], constant(1, e.outputs[0].type), inner.inputs[0]], {}, False


def _power(m: Matcher, e: Equation) -> Form | None:
    exponent = e.params["exponent"]
    if exponent[0] < 0:
        form = _over_cosh(m, e, constant(1, e.outputs[0].type), e.inputs[0], (-exponent[0], exponent[1]))
        return _reciprocal(m, e) if form is None and exponent[0] == -1 else form
    if exponent[0] == 0.5 and m.is_sum_of_squares(e.inputs[0]):
        return forms.root_by_power, [e.outputs[0], e.inputs[0]], {}, False
    if exponent[0] not in (2, 4, 6, 8):
        return None
    inner = m.made(e.inputs[0], "root", "sqrt")
    if inner is None or not (inner.op is root or m.is_sum_of_squares(inner.inputs[0])):
        return None
    return forms.even_power_of_root, [e.outputs[0], inner.inputs[0]], {"exponent": (int(exponent[0]), int)}, False


FORMS: dict[str, Callable[[Matcher, Equation], Form | None]] = {
    "sqrt": _norm,
    "div": _quotient,
    "reciprocal": _reciprocal,
    "log": _logarithm,
    "log1p": _softplus,
    "power_static": _power,
}


def recognised(program: Program) -> Program:
    """The program with its forms marked; the same program where there are none."""
    found = program.memo.get("recognised")
    if found is None:
        found = program.memo["recognised"] = _recognise(program)
        found.memo["recognised"] = found
    return found


def _recognise(program: Program) -> Program:
    matcher = Matcher()
    renamed: dict[Atom, Atom] = {}
    equations: list[Equation] = []
    changed = False
    for e in program.equations:
        if changed and any(a in renamed for a in e.inputs):
            e = Equation(e.op, [renamed.get(a, a) for a in e.inputs], e.params, e.outputs)
        rule = FORMS.get(e.op.name)
        form = rule(matcher, e) if rule is not None and e.outputs[0].type.dtype.kind in "f" else None
        if form is None:
            equations.append(e)
        else:
            changed = True
            op, inputs, params, replaces = form
            if replaces:
                e = Equation(op, inputs, params, e.outputs)
                equations.append(e)
            else:
                marked = Var(e.outputs[0].type)
                equations += [e, Equation(op, inputs, params, [marked])]
                renamed[e.outputs[0]] = marked
        for v in e.outputs:
            matcher.producer[v] = e
            if v in renamed:
                matcher.producer[renamed[v]] = e
    return Program(program.inputs, equations, [renamed.get(a, a) for a in program.outputs]) if changed else program
