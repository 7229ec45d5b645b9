"""Entire functions of which all derivatives are known in closed form: what sinc and the Bessel function i0 are made of.

With j_n the spherical and I_n the modified Bessel functions (Abramowitz and Stegun, 10.1 and 9.6), g_n(z) = j_n(z)/z**n and h_n(x) = I_n(x)/x**n
are even, finite at 0, and their derivatives are -z g_{n+1}(z) and x h_{n+1}(x).  So derivatives of every order are right at 0 and beside it,
where those of sin(z)/z cancel.
"""

import math
from collections.abc import Sequence

import numpy as np

from functad._core.primitive import Primitive
from functad._primitives.arithmetic import elementwise, mul, neg, scale
from functad._primitives.operands import Array

__all__ = ["i0_of_order", "sinc_of_order"]

TERMS = 20  # of the series of g_n: enough for |z| < n + 1
I0_TERMS = 80  # of the series of h_n: enough for |x| < 30, and none of them is negative
FAR = 30.0  # from where on the asymptotic series of I_n serves, to 1e-17 for the orders of a few derivatives


def _sinc_coefficients(n: int) -> list[float]:
    """Of (z*z)**k in g_n: (-1/2)**k / (k! (2n + 2k + 1)!!) (Abramowitz and Stegun, 10.1.2)."""
    return [(-0.5) ** k / (math.factorial(k) * math.prod(range(1, 2 * n + 2 * k + 2, 2))) for k in range(TERMS)]


def _horner(x: Array, coefficients: Sequence[float]) -> Array:
    out = np.full_like(x, coefficients[-1])
    for c in coefficients[-2::-1]:
        out = out * x + x.dtype.type(c)
    return out


def _sinc_numpy(z: Array, n: int) -> Array:
    z = np.asarray(z)
    far = np.where(np.abs(z) < n + 1, n + 1, z) if n else np.where(z == 0, 1, z)
    square = far * far
    before, value = np.cos(far), np.sin(far) / far
    for k in range(n):
        before, value = value, ((2 * k + 1) * value - before) / square
    near = _horner(np.where(np.abs(z) < n + 1, z, 0) ** 2, _sinc_coefficients(n)) if n else np.ones_like(z)
    return np.where(np.abs(z) < n + 1 if n else z == 0, near, value).astype(z.dtype)[()]


def _sinc_emit(codes: Sequence[str], out: str, z: str, n: int) -> str | None:
    """sin(z)/z and its derivative; NumPy's loop for higher ones."""
    if out[0] != "f" or n > 1:
        return None
    if n == 0:
        return f"select({z} == {out}(0.0), {out}(1.0), sin_{out}({z}) / {z})"
    near = ""
    for c in _sinc_coefficients(1)[12::-1]:
        near = f"({near} * ({z} * {z}) + {out}({c!r}))" if near else f"{out}({c!r})"
    return f"select(abs_{out}({z}) < {out}(2.0), {near}, (sin_{out}({z}) / {z} - cos_{out}({z})) / ({z} * {z}))"


sinc_of_order: Primitive = elementwise(
    "sinc_of_order", _sinc_numpy, [lambda t, out, z, n: scale(t, neg(mul(z, sinc_of_order(z, n=n + 1))))], _sinc_emit, dtype=lambda z, n: z,
    examples=lambda: [([np.array([[0.0, 1e-3, -0.7], [1.9, -2.1, 12.5]])], {"n": n}) for n in (0, 1, 2)], cost=30,
    note="the spherical Bessel function j_n(z)/z**n: sin(z)/z for n = 0",
)  # fmt: skip


def _i0_numpy(x: Array, n: int) -> Array:
    x = np.asarray(x)
    if n == 0:
        return np.asarray(np.i0(x))[()]
    size = np.abs(x)
    # (x/2)**(2k) / (k! (n+k)! 2**n) (9.6.10); exp(x)/sqrt(2 pi x) times 1 - (m-1)/(8x) + (m-1)(m-9)/(2! (8x)**2) - ..., m = 4 n**2 (9.7.1)
    series = _horner(np.where(size < FAR, x, 0) ** 2, [0.25**k / (math.factorial(k) * math.factorial(n + k) * 2**n) for k in range(I0_TERMS)])
    far = np.where(size < FAR, FAR, size)
    term, total = np.ones_like(far), np.ones_like(far)
    for k in range(1, 25):
        term = term * ((2 * k - 1) ** 2 - 4 * n * n) / (8 * k * far)
        total = total + term
    half = np.exp(far / 2)  # exp(x) overflows before the quotient does
    return np.where(size < FAR, series, half / np.sqrt(2 * np.pi * far) / far**n * total * half).astype(x.dtype)[()]


i0_of_order: Primitive = elementwise(
    "i0_of_order", _i0_numpy, [lambda t, out, x, n: scale(t, mul(x, i0_of_order(x, n=n + 1)))], lambda codes, out, x, n: None, dtype=lambda x, n: x,
    examples=lambda: [([np.array([[0.0, 1e-3, -0.7], [1.9, -9.0, 40.0]])], {"n": n}) for n in (0, 1, 2)], cost=100,
    note="the modified Bessel function I_n(x)/x**n: np.i0 for n = 0",
)  # fmt: skip
