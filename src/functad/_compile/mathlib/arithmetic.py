"""Arithmetic that Python's operators do not spell as NumPy does: extremes, rounding, signs, remainders, accumulation."""

import math

from functad._compile.mathlib.values import Value, absolute, copysign, fma, llvm_intrinsic, select


def maximum(x: Value, y: Value) -> Value:
    """NaN if either is NaN.  llvm.maximum vectorises; compare-and-select on the same values does not."""
    if x.is_float:
        return llvm_intrinsic("maximum", x, y)
    return select(x > y, x, y)


def minimum(x: Value, y: Value) -> Value:
    if x.is_float:
        return llvm_intrinsic("minimum", x, y)
    return select(x < y, x, y)


def add_reassoc(total: Value, x: Value) -> Value:
    """total + x whose order LLVM may change: on the accumulator it lets a loop keep several partial sums (4-5 times faster)."""
    return total._with(total.builder.fadd(total.node, x.node, flags=("reassoc",)))


def sign(x: Value) -> Value:
    """-1, 0 or 1 (0 for -0.0, as NumPy); NaN for NaN."""
    positive = select(x > 0, x.constant(1), select(x < 0, x.constant(-1), 0)) if x.kind[0] != "u" else select(x > 0, x.constant(1), 0)
    return select(x != x, x, positive) if x.is_float else positive


def absolute_value(x: Value) -> Value:
    if x.is_float:
        return absolute(x)
    return select(x < 0, -x, x) if x.is_signed else x


def floor(x: Value) -> Value:
    return llvm_intrinsic("floor", x)


def ceil(x: Value) -> Value:
    return llvm_intrinsic("ceil", x)


def trunc(x: Value) -> Value:
    return llvm_intrinsic("trunc", x)


def rint(x: Value) -> Value:
    return llvm_intrinsic("rint", x)


def sqrt(x: Value) -> Value:
    return llvm_intrinsic("sqrt", x)


def isnan(x: Value) -> Value:
    return x != x


def isinf(x: Value) -> Value:
    return absolute(x) == math.inf


def isfinite(x: Value) -> Value:
    return absolute(x) < math.inf


def signbit(x: Value) -> Value:
    return x.bits() < 0


def hypot(x: Value, y: Value) -> Value:
    """sqrt(x**2 + y**2) scaled by a power of two, so that nothing overflows; infinite if either is, whatever the other."""
    if x.kind == "f4":
        return hypot(x.to("f8"), y.to("f8")).to("f4")
    x, y = absolute(x), absolute(y)
    large, small = select(x > y, x, y), select(x > y, y, x)
    huge, tiny = large > 2.0**300, large < 2.0**-300
    scale = select(huge, x.constant(2.0**-600), select(tiny, x.constant(2.0**600), 1.0))
    back = select(huge, x.constant(2.0**600), select(tiny, x.constant(2.0**-600), 1.0))
    a, b = large * scale, small * scale
    value = llvm_intrinsic("sqrt", fma(a, a, b * b)) * back
    value = select((x != x) | (y != y), x + y, value)
    return select((x == math.inf) | (y == math.inf), math.inf, value)


def fmod(x: Value, y: Value) -> Value:
    return Value(x.builder, x.kind, x.builder.frem(x.node, y.node))


def _divide_with_remainder(x: Value, y: Value) -> tuple[Value, Value]:
    """Quotient rounded down and remainder with the divisor's sign, step by step as NumPy's npy_divmod."""
    rest = fmod(x, y)
    quotient = (x - rest) / y
    crossed = (rest != 0.0) & ((y < 0.0) ^ (rest < 0.0))
    quotient = select(crossed, quotient - 1.0, quotient)
    floored = llvm_intrinsic("floor", quotient)
    floored = select(quotient - floored > 0.5, floored + 1.0, floored)
    floored = select(quotient != 0.0, floored, copysign(0.0, x / y))
    remainder = select(rest != 0.0, select(crossed, rest + y, rest), copysign(0.0, y))
    zero = y == 0.0
    return select(zero, x / y, floored), select(zero, rest, remainder)


def floor_divide(x: Value, y: Value) -> Value:
    return _divide_with_remainder(x, y)[0]


def remainder(x: Value, y: Value) -> Value:
    return _divide_with_remainder(x, y)[1]


def integer_floor_divide(x: Value, y: Value) -> Value:
    """Rounded down; by zero gives 0, and the least integer by -1 itself, as NumPy (the processor would trap)."""
    quotient, rest, zero = _safe_division(x, y)
    if x.is_signed:
        quotient = select((rest != 0) & ((rest ^ y) < 0), quotient - 1, quotient)
    return select(zero, 0, quotient)


def integer_remainder(x: Value, y: Value) -> Value:
    """With the divisor's sign; by zero gives 0, as NumPy."""
    _, rest, zero = _safe_division(x, y)
    if x.is_signed:
        rest = select((rest != 0) & ((rest ^ y) < 0), rest + y, rest)
    return select(zero, 0, rest)


def integer_fmod(x: Value, y: Value) -> Value:
    _, rest, zero = _safe_division(x, y)
    return select(zero, 0, rest)


def _safe_division(x: Value, y: Value) -> tuple[Value, Value, Value]:
    """Quotient and remainder rounded towards zero where that is defined, and whether the divisor is zero."""
    build = x.builder
    zero = y == 0
    if not x.is_signed:
        divisor = select(zero, 1, y)
        return x._with(build.udiv(x.node, divisor.node)), x._with(build.urem(x.node, divisor.node)), zero
    opposite = y == -1
    divisor = select(zero | opposite, 1, y)
    quotient = x._with(build.sdiv(x.node, divisor.node))
    return select(opposite, -x, quotient), x._with(build.srem(x.node, divisor.node)), zero


def integer_power(x: Value, y: Value) -> Value:
    """x**y modulo 2**bits for y >= 0, by squaring; NumPy refuses negative exponents, and so must whoever writes the kernel."""
    build = x.builder
    entry = build.block
    head, body, done = (build.append_basic_block(name) for name in ("power", "power_step", "power_done"))
    build.branch(head)
    build.position_at_end(head)
    result, base, left = (x._with(build.phi(x.node.type)) for _ in range(3))
    build.cbranch((left > 0).node, body, done)
    build.position_at_end(body)
    stepped = (select((left & 1) != 0, result * base, result), base * base, left >> 1)
    build.branch(head)
    for phi, start, step in zip((result, base, left), (x.constant(1), x, y), stepped, strict=True):
        phi.node.add_incoming(start.node, entry)
        phi.node.add_incoming(step.node, body)
    build.position_at_end(done)
    return result
