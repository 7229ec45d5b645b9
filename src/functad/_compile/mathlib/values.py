"""LLVM values that compute with Python's operators, so that a helper reads like the formula it implements.

A helper's body is an ordinary Python function over `Value`s.  Running it once writes its instructions into an LLVM
function; no compiler looks at the Python.  That takes about a millisecond, where compiling the same formula through
numba takes 30 to 100.

Nothing here sets a fast-math flag: what is written is what is computed, except where `add_reassoc` is asked for by
name. Kinds are NumPy's short names ("f8", "i4", "b1" for one bit).  Two values of different kinds never meet
silently: that is a `TypeError`.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TypeAlias

from llvmlite import ir

Number: TypeAlias = "Value | float | int"

_FLOATS = {"f8": ir.DoubleType(), "f4": ir.FloatType()}
_BITS = {"b1": 1, "i1": 8, "i2": 16, "i4": 32, "i8": 64, "u1": 8, "u2": 16, "u4": 32, "u8": 64}


def llvm_type(kind: str) -> ir.Type:
    """The LLVM type of one value of this kind; complex kinds are a pair, as in numba."""
    if kind in _FLOATS:
        return _FLOATS[kind]
    if kind in _BITS:
        return ir.IntType(_BITS[kind])
    if kind in ("c8", "c16"):
        part = _FLOATS["f4" if kind == "c8" else "f8"]
        return ir.LiteralStructType([part, part])
    if kind.endswith("*"):
        return llvm_type(kind[:-1]).as_pointer()
    raise KeyError(kind)


def bit_width(kind: str) -> int:
    """How many bits a scalar of this kind has."""
    return int(kind[1:]) * 8 if kind != "b1" else 1


class Value:
    """One scalar in the function under construction."""

    __slots__ = ("builder", "kind", "node")

    def __init__(self, builder: ir.IRBuilder, kind: str, node: ir.Value) -> None:
        self.builder = builder
        self.kind = kind
        self.node = node

    @property
    def is_float(self) -> bool:
        return self.kind in _FLOATS

    @property
    def is_signed(self) -> bool:
        return self.kind[0] == "i"

    def constant(self, number: float | int) -> Value:
        """`number` as a value of this kind."""
        if not self.is_float:
            return Value(self.builder, self.kind, ir.Constant(llvm_type(self.kind), int(number)))
        rounded = struct.unpack("f", struct.pack("f", number))[0] if self.kind == "f4" and abs(number) < 3.4e38 else float(number)
        return Value(self.builder, self.kind, ir.Constant(llvm_type(self.kind), rounded))

    def _same_kind(self, other: Number) -> Value:
        if not isinstance(other, Value):
            return self.constant(other)
        if other.kind != self.kind:
            raise TypeError(f"{self.kind} meets {other.kind}")
        return other

    def _with(self, node: ir.Value, kind: str | None = None) -> Value:
        return Value(self.builder, kind or self.kind, node)

    def _arithmetic(self, other: Number, name: str, swapped: bool = False) -> Value:
        other = self._same_kind(other)
        left, right = (other, self) if swapped else (self, other)
        return self._with(getattr(self.builder, "f" + name if self.is_float else name)(left.node, right.node))

    def __add__(self, other: Number) -> Value:
        return self._arithmetic(other, "add")

    def __radd__(self, other: Number) -> Value:
        return self._arithmetic(other, "add", swapped=True)

    def __sub__(self, other: Number) -> Value:
        return self._arithmetic(other, "sub")

    def __rsub__(self, other: Number) -> Value:
        return self._arithmetic(other, "sub", swapped=True)

    def __mul__(self, other: Number) -> Value:
        return self._arithmetic(other, "mul")

    def __rmul__(self, other: Number) -> Value:
        return self._arithmetic(other, "mul", swapped=True)

    def __truediv__(self, other: Number) -> Value:
        return self._arithmetic(other, "div")

    def __rtruediv__(self, other: Number) -> Value:
        return self._arithmetic(other, "div", swapped=True)

    def __neg__(self) -> Value:
        return self._with(self.builder.fneg(self.node) if self.is_float else self.builder.neg(self.node))

    def _bitwise(self, other: Number, name: str) -> Value:
        return self._with(getattr(self.builder, name)(self.node, self._same_kind(other).node))

    def __and__(self, other: Number) -> Value:
        return self._bitwise(other, "and_")

    def __or__(self, other: Number) -> Value:
        return self._bitwise(other, "or_")

    def __xor__(self, other: Number) -> Value:
        return self._bitwise(other, "xor")

    def __invert__(self) -> Value:
        return self._with(self.builder.not_(self.node))

    def __lshift__(self, other: Number) -> Value:
        return self._bitwise(other, "shl")

    def __rshift__(self, other: Number) -> Value:
        return self._bitwise(other, "ashr" if self.is_signed else "lshr")

    def _compare(self, other: Number, operator: str) -> Value:
        right = self._same_kind(other).node
        if self.is_float:  # NaN differs from everything and is otherwise in no relation, as in Python
            compare = self.builder.fcmp_unordered if operator == "!=" else self.builder.fcmp_ordered
        else:
            compare = self.builder.icmp_signed if self.is_signed else self.builder.icmp_unsigned
        return self._with(compare(operator, self.node, right), "b1")

    def __lt__(self, other: Number) -> Value:
        return self._compare(other, "<")

    def __le__(self, other: Number) -> Value:
        return self._compare(other, "<=")

    def __gt__(self, other: Number) -> Value:
        return self._compare(other, ">")

    def __ge__(self, other: Number) -> Value:
        return self._compare(other, ">=")

    def __eq__(self, other: Number) -> Value:  # type: ignore[override]  # an instruction, not a Python answer
        return self._compare(other, "==")

    def __ne__(self, other: Number) -> Value:  # type: ignore[override]  # an instruction, not a Python answer
        return self._compare(other, "!=")

    __hash__ = object.__hash__

    def bits(self) -> Value:
        """The representation of a float as a signed integer."""
        kind = "i8" if self.kind == "f8" else "i4"
        return self._with(self.builder.bitcast(self.node, llvm_type(kind)), kind)

    def as_float(self) -> Value:
        """The float that this integer represents, bit for bit."""
        kind = "f8" if self.kind == "i8" else "f4"
        return self._with(self.builder.bitcast(self.node, llvm_type(kind)), kind)

    def to(self, kind: str) -> Value:
        """The same number in another kind (floats are rounded, or cut to an integer)."""
        if kind == self.kind:
            return self
        target, build = llvm_type(kind), self.builder
        if self.is_float and kind in _FLOATS:
            cast = build.fpext if kind == "f8" else build.fptrunc
        elif self.is_float:
            cast = build.fptosi if kind[0] == "i" else build.fptoui
        elif kind in _FLOATS:
            cast = build.sitofp if self.is_signed else build.uitofp
        elif bit_width(kind) < bit_width(self.kind):
            cast = build.trunc
        elif bit_width(kind) == bit_width(self.kind):
            return self._with(self.node, kind)
        else:
            cast = build.sext if self.is_signed else build.zext
        return self._with(cast(self.node, target), kind)


def select(condition: Value, yes: Number, no: Number) -> Value:
    """`yes` where the condition holds, else `no`, without a branch."""
    if isinstance(yes, Value):
        model = yes
    elif isinstance(no, Value):
        model = no
    else:
        raise TypeError("select between two Python numbers has no kind")
    yes, no = model._same_kind(yes), model._same_kind(no)
    return model._with(model.builder.select(condition.node, yes.node, no.node))


def llvm_intrinsic(name: str, *arguments: Value) -> Value:
    """llvm.<name>.<type>(arguments), all of one kind."""
    first = arguments[0]
    kind = llvm_type(first.kind)
    function = first.builder.module.declare_intrinsic("llvm." + name, [kind], ir.FunctionType(kind, [kind] * len(arguments)))
    return first._with(first.builder.call(function, [argument.node for argument in arguments]))


def external(name: str, *arguments: Value) -> Value:
    """A C function of floats that reads and writes no memory we could see (libm), by its symbol."""
    first = arguments[0]
    function = declare(first.builder.module, name, ir.FunctionType(llvm_type(first.kind), [llvm_type(a.kind) for a in arguments]))
    for attribute in ("nounwind", "readnone"):
        function.attributes.add(attribute)
    return first._with(first.builder.call(function, [argument.node for argument in arguments]))


def libm(name: str, *arguments: Value) -> Value:
    """libm's function of this name, with an f appended for float32."""
    return external(name + ("f" if arguments[0].kind == "f4" else ""), *arguments)


def declare(module: ir.Module, name: str, function_type: ir.FunctionType) -> ir.Function:
    """The function of this name in the module, declared if it is not there."""
    known = module.globals.get(name)
    return known if known is not None else ir.Function(module, function_type, name)


def fma(x: Value, y: Number, z: Number) -> Value:
    """x * y + z, rounded once."""
    return llvm_intrinsic("fma", x, x._same_kind(y), x._same_kind(z))


def absolute(x: Value) -> Value:
    return llvm_intrinsic("fabs", x)


def copysign(magnitude: Number, sign: Value) -> Value:
    return llvm_intrinsic("copysign", sign._same_kind(magnitude), sign)


def polynomial(x: Value, coefficients: Sequence[float], start: Number | None = None) -> Value:
    """sum(c[k] * x**k) by Horner's rule, lowest power first; `start` stands for all higher terms."""
    higher = list(coefficients)
    total = x._same_kind(higher.pop() if start is None else start)
    while higher:
        total = fma(total, x, higher.pop())
    return total


def polynomial_in_pairs(x: Value, coefficients: Sequence[float]) -> Value:
    """The same polynomial by Estrin's scheme: shorter chains of dependent operations (exp: 1.1 against 1.4 ns an element)."""
    terms: list[Number] = list(coefficients)
    power = x
    while len(terms) > 1:
        pairs = [(terms[i], terms[i + 1] if i + 1 < len(terms) else None) for i in range(0, len(terms), 2)]
        terms = [low if high is None else fma(power, high, low) for low, high in pairs]
        power = power * power if len(terms) > 1 else power
    return x._same_kind(terms[0])
