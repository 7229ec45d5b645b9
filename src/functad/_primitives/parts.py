"""Signs, exponents and fractions of floating-point numbers, their neighbours, and functions of whole numbers, one row each.

What is piecewise constant has the derivative 0.  Rows without a kernel form run in NumPy between kernels.
"""

from collections.abc import Sequence

import numpy as np

from functad._core.primitive import Primitive, Spelling
from functad._primitives.arithmetic import Emit, elementwise, mask, mul, neg, scale
from functad._primitives.elementwise import sign
from functad._primitives.logic import equal
from functad._primitives.operands import Example, Value, constant, ones_like

__all__ = [
    "bitwise_count", "copysign", "exponent", "fraction", "gcd", "heaviside", "lcm", "ldexp", "left_shift", "mantissa", "nextafter", "right_shift",
    "signbit", "spacing",
]  # fmt: skip

X = np.array([[0.7, -1.5, 2.9], [3.0, -0.37, 0.18]])
WHOLE = np.array([[0, -3, 12], [18, 5, 7]])
COUNTS = np.array([[0, 3, 1], [2, 5, 4]])


def _in_numpy(codes: Sequence[str], out: str, *operands: str) -> None:
    """No kernel form."""


# ---- signs


def _heaviside_emit(codes: Sequence[str], out: str, x: str, h: str) -> str:
    return f"select({x} != {x}, {x}, select({x} < {out}(0.0), {out}(0.0), select({x} > {out}(0.0), {out}(1.0), {h})))"


signbit: Primitive = elementwise("signbit", np.signbit, [None], "signbit_{d}({0})", domain=[(0.5, 3)])
# |x| with the sign of y: at x = 0 a kink, where the derivative is 0 as that of |x|
copysign: Primitive = elementwise(
    "copysign", np.copysign, [lambda t, out, x, y: scale(t, mul(sign(x), copysign(ones_like(y), y))), None], "copysign_{d}({0}, {1})",
    domain=[(0.5, 3), (-3, -0.5)], cost=2,
)  # fmt: skip
heaviside: Primitive = elementwise(
    "heaviside", np.heaviside, [None, lambda t, out, x, h: mask(equal(x, constant(0, x)), t)], _heaviside_emit, domain=[(0.5, 3), (-3, 3)], cost=3,
)  # fmt: skip

# ---- exponents and fractions


def _scaled(t: Value, i: Value) -> Value:
    """t * 2**i."""
    return scale(t, ldexp(constant(1, t), i))


ldexp: Primitive = elementwise(
    "ldexp", np.ldexp, [lambda t, out, x, i: _scaled(t, i), None], _in_numpy, examples=lambda: [([X, COUNTS - 2], {})], cost=5,
)  # fmt: skip
mantissa: Primitive = elementwise(
    "mantissa", lambda x: np.frexp(x)[0], [lambda t, out, x: _scaled(t, neg(exponent(x)))], _in_numpy, dtype=lambda x: x,
    examples=lambda: [([X], {})], cost=5, note="the first result of frexp",
)  # fmt: skip
exponent: Primitive = elementwise(
    "exponent", lambda x: np.frexp(x)[1], [None], _in_numpy, dtype=lambda x: np.dtype(np.int32), examples=lambda: [([X], {})], cost=5,
    note="the second result of frexp",
)  # fmt: skip
fraction: Primitive = elementwise(
    "fraction", lambda x: np.modf(x)[0], [lambda t, out, x: t],
    lambda codes, out, x: f"copysign_{out}(select(isinf_{out}({x}), {out}(0.0), {x} - trunc_{out}({x})), {x})", dtype=lambda x: x,
    domain=[(0.1, 0.9)], cost=3, note="the first result of modf; the second is trunc",
)  # fmt: skip

# ---- neighbours

nextafter: Primitive = elementwise(
    "nextafter", np.nextafter, [lambda t, out, x, y: t, None], "nextafter_{d}({0}, {1})", domain=[(0.5, 1), (2, 3)], cost=5,
    note="a step of one unit in the last place: the derivative is that of x",
)  # fmt: skip
spacing: Primitive = elementwise("spacing", np.spacing, [None], _in_numpy, domain=[(0.6, 0.9)], cost=5)

# ---- whole numbers


def _whole(name: str, ufunc: np.ufunc, second: Sequence[Example], emit: Emit = _in_numpy, spelling: Spelling | None = None) -> Primitive:
    return elementwise(name, ufunc, [None] * ufunc.nin, emit, examples=lambda: second, cost=5, spelling=spelling)


_BOTH: list[Example] = [([WHOLE, WHOLE[::-1]], {}), ([WHOLE.astype(np.int32), COUNTS.astype(np.int32)], {})]
_SHIFTS: list[Example] = [([WHOLE, COUNTS], {}), ([np.abs(WHOLE).astype(np.uint8), COUNTS.astype(np.uint8)], {})]
gcd: Primitive = _whole("gcd", np.gcd, _BOTH)
lcm: Primitive = _whole("lcm", np.lcm, _BOTH)
left_shift: Primitive = _whole("left_shift", np.left_shift, _SHIFTS, spelling=Spelling((np.left_shift,), keeps_weak=True))
right_shift: Primitive = _whole("right_shift", np.right_shift, _SHIFTS, spelling=Spelling((np.right_shift,), keeps_weak=True))
bitwise_count: Primitive = _whole("bitwise_count", np.bitwise_count, [([WHOLE], {})])
