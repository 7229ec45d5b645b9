"""Discrete Fourier transforms along one axis: complex to complex, real to half a spectrum, and back.

All three are linear.  The matrix of `fft` is symmetric, so it is its own transpose.  `rfft` keeps the first n//2 + 1 numbers of the spectrum; `irfft`
reads just these, takes the others for their conjugates and passes over the imaginary parts of the first, and for an even n of the last.  They are
the transposes of each other up to a conjugation and a factor of two for the numbers that stand for two.  `norm` says which direction is scaled.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from functad._core.primitive import Host, Primitive
from functad._core.types import ArrayType, array_type
from functad._primitives.arithmetic import mul
from functad._primitives.logic import COMPLEX_OF, REAL_OF, conj
from functad._primitives.operands import Array, Example, Examples, Value, constant
from functad._primitives.rules import Batched, Flags, Inferred, Pulled, Pushed, Rule, Tangents, Transform, Types, Values
from functad._primitives.shape import concatenate, part
from functad.errors import ShapeMismatchError

__all__ = ["OTHER_NORM", "fft", "irfft", "rfft"]

Norm = Literal["backward", "ortho", "forward"]
OTHER_NORM: dict[Norm, Norm] = {"backward": "forward", "ortho": "ortho", "forward": "backward"}  # what scales the other direction likewise
NORMS: Sequence[Norm] = tuple(OTHER_NORM)
X = np.array([[0.5, -1.5, 2.0, 0.75, -0.25], [3.0, 0.25, 1.0, -2.0, 1.5]])
_REASON = "a library routine in NumPy"


def _linear(name: str, numpy: Rule, infer: Rule, transpose: Rule, examples: Examples, note: str) -> Primitive:
    """Declare a linear operation along `axis`; transpose(ct, type of the input, axis, **params) -> cotangent."""

    def pushed(transform: Transform, xs: Values, ts: Tangents, **params: object) -> Pushed:
        return [op(xs[0], **params)], [None if ts[0] is None else op(ts[0], **params)]

    def pulled(transform: Transform, cts: Values, xs: Tangents, types: Types, **params: object) -> Pulled:
        return [transpose(cts[0], types[0], **params)]

    def batched(transform: Transform, xs: Values, mapped: Flags, size: int, axis: int, **params: object) -> Batched:
        return [op(xs[0], axis=axis + 1, **params)], [True]

    def inferred(x: ArrayType, axis: int, **params: object) -> Inferred:
        if not 0 <= axis < x.ndim or x.shape[axis] == 0:
            raise ShapeMismatchError(f"a Fourier transform along axis {axis} of an array of shape {x.shape}: there are no numbers")
        return (infer(x, axis=axis, **params),)

    op = Primitive(
        name=name, numpy=numpy, infer=inferred, jvp=pushed, transpose=pulled, batch=batched, kernel=Host(_REASON), kind="fourier",
        examples=examples, note=note,
    )  # fmt: skip
    return op


def _resized(x: ArrayType, axis: int, size: int, dtype: np.dtype[Array]) -> ArrayType:
    return array_type(tuple(size if i == axis else n for i, n in enumerate(x.shape)), dtype)


def _examples() -> list[tuple[Array, dict[str, Array]]]:
    return [(x, {"axis": axis, "norm": norm}) for x, axis, norm in zip((X, X, X[0]), (0, 1, 0), NORMS, strict=True)]


def _fft_numpy(x: Array, axis: int, inverse: bool, norm: Norm) -> Array:
    return (np.fft.ifft if inverse else np.fft.fft)(x, axis=axis, norm=norm)


fft: Primitive = _linear(
    "fft", _fft_numpy, lambda x, axis, inverse, norm: array_type(x.shape, x.dtype),
    lambda ct, kind, **params: fft(ct, **params),
    lambda: [([x + 1j * np.flip(x)], {**params, "inverse": inverse}) for inverse in (False, True) for x, params in _examples()],
    note="of complex numbers; `inverse` has the other sign in the exponent",
)  # fmt: skip

# ---- real numbers and half a spectrum


def _on_pairs(z: Value, axis: int, n: int, factor: float) -> Value:
    """Half a spectrum of n real numbers with the factor on what stands for two numbers: all but the first and, for an even n, the last."""
    end = (n + 1) // 2
    if end == 1:
        return z
    pairs = part(z, axis, 1, end)
    pieces = [part(z, axis, 0, 1), mul(pairs, constant(factor, pairs))]
    if n % 2 == 0:
        pieces.append(part(z, axis, end, end + 1))
    return concatenate(*pieces, axis=axis)


def _rfft_numpy(x: Array, axis: int, norm: Norm) -> Array:
    return np.fft.rfft(x, axis=axis, norm=norm)


def _rfft_infer(x: ArrayType, axis: int, norm: Norm) -> ArrayType:
    return _resized(x, axis, x.shape[axis] // 2 + 1, COMPLEX_OF[x.dtype.char])


def _rfft_transpose(ct: Value, kind: ArrayType, axis: int, norm: Norm) -> Value:
    """The real part of the sum of ct[k] exp(-2 pi i j k / n)."""
    n = kind.shape[axis]
    return irfft(conj(_on_pairs(ct, axis, n, 0.5)), axis=axis, n=n, norm=OTHER_NORM[norm])


rfft: Primitive = _linear(
    "rfft", _rfft_numpy, _rfft_infer, _rfft_transpose,
    lambda: [([x], params) for x, params in _examples()],
    note="of real numbers; the first half of the spectrum",
)  # fmt: skip


def _irfft_numpy(z: Array, axis: int, n: int, norm: Norm) -> Array:
    return np.fft.irfft(z, n, axis=axis, norm=norm)


def _irfft_infer(z: ArrayType, axis: int, n: int, norm: Norm) -> ArrayType:
    if z.shape[axis] != n // 2 + 1:
        raise ShapeMismatchError(f"half a spectrum of {n} numbers has {n // 2 + 1}, not {z.shape[axis]}")
    return _resized(z, axis, n, REAL_OF[z.dtype.char])


def _irfft_transpose(ct: Value, kind: ArrayType, axis: int, n: int, norm: Norm) -> Value:
    """The sum of ct[j] exp(2 pi i j k / n), twice where k stands for two numbers."""
    return _on_pairs(conj(rfft(ct, axis=axis, norm=OTHER_NORM[norm])), axis, n, 2.0)


def _half_example(x: Array, params: dict[str, Array], odd: int) -> Example:
    return [x + 1j * np.flip(x)], {**params, "n": 2 * x.shape[params["axis"]] - 2 + odd}


irfft: Primitive = _linear(
    "irfft", _irfft_numpy, _irfft_infer, _irfft_transpose,
    lambda: [_half_example(x, params, odd) for odd in (0, 1) for x, params in _examples()],
    note="the n real numbers of half a spectrum",
)  # fmt: skip
