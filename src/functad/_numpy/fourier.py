"""np.fft: transforms along one axis and along several, of complex and of real numbers, and the order of frequencies.

float32 is transformed in single precision, as NumPy 2 does.  Along several axes the transforms follow each other in NumPy's order.
"""

import warnings
from collections.abc import Sequence

import numpy as np

from functad._numpy.arguments import Axes, Operand, Result, Value, axis_of
from functad._numpy.dispatch import implements
from functad._numpy.promote import cast, operand
from functad._numpy.rearranging import roll
from functad._numpy.shaping import part
from functad._primitives import fourier
from functad._primitives import shape as s
from functad._primitives.logic import COMPLEX_OF, conj

__all__: list[str] = []

Norm = str | None
Sizes = Sequence[int | None] | None

# ---- pieces


def _norm(norm: Norm) -> Result:
    """The name of a scaling, or NumPy's complaint."""
    found = "backward" if norm is None else norm
    if found not in fourier.OTHER_NORM:
        raise ValueError(f'Invalid norm value {norm}; should be "backward", "ortho" or "forward".')
    return found


def _real(a: Operand) -> Result:
    """An array of floating-point numbers."""
    x = operand(a)
    if x.type.dtype.kind == "c":
        raise TypeError(f"ufunc 'rfft_n_even' did not contain a loop with signature matching types {x.type.dtype!r}: give np.fft.fft complex numbers")
    return cast(x, x.type.dtype if x.type.dtype.kind == "f" else np.float64)


def _complex(a: Operand) -> Result:
    """An array of complex numbers."""
    x = operand(a)
    return x if x.type.dtype.kind == "c" else cast(x, COMPLEX_OF["f" if x.type.dtype.char == "f" else "d"])


def _sized(x: Value, axis: int, size: int) -> Result:
    """x cropped at its end, or continued with zeros."""
    found = x.type.shape[axis]
    if size <= found:
        return part(x, axis, 0, size)
    low, high = (0,) * x.type.ndim, tuple(size - found if i == axis else 0 for i in range(x.type.ndim))
    return s.pad(x, low=low, high=high, inner=low)


def _count(n: int | None, default: int) -> int:
    count = default if n is None else int(n)
    if count < 1:
        raise ValueError(f"Invalid number of FFT data points ({count}) specified.")
    return count


def _full(a: Operand, n: int | None, axis: int, norm: Norm, inverse: bool) -> Result:
    x = _complex(a)
    axis = axis_of(axis, x.type.ndim)
    return fourier.fft(_sized(x, axis, _count(n, x.type.shape[axis])), axis=axis, inverse=inverse, norm=_norm(norm))


def _to_half(a: Operand, n: int | None, axis: int, norm: Norm) -> Result:
    x = _real(a)
    axis = axis_of(axis, x.type.ndim)
    return fourier.rfft(_sized(x, axis, _count(n, x.type.shape[axis])), axis=axis, norm=_norm(norm))


def _from_half(a: Operand, n: int | None, axis: int, norm: Norm) -> Result:
    x = _complex(a)
    axis = axis_of(axis, x.type.ndim)
    size = _count(n, 2 * (x.type.shape[axis] - 1))
    return fourier.irfft(_sized(x, axis, size // 2 + 1), axis=axis, n=size, norm=_norm(norm))


# ---- along one axis


@implements(np.fft.fft, numeric=("a",), structural=("n", "axis"))
def fft(a: Operand, n: int | None = None, axis: int = -1, norm: Norm = None, out: object = None) -> Result:
    return _full(a, n, axis, norm, False)


@implements(np.fft.ifft, numeric=("a",), structural=("n", "axis"))
def ifft(a: Operand, n: int | None = None, axis: int = -1, norm: Norm = None, out: object = None) -> Result:
    return _full(a, n, axis, norm, True)


@implements(np.fft.rfft, numeric=("a",), structural=("n", "axis"))
def rfft(a: Operand, n: int | None = None, axis: int = -1, norm: Norm = None, out: object = None) -> Result:
    return _to_half(a, n, axis, norm)


@implements(np.fft.irfft, numeric=("a",), structural=("n", "axis"))
def irfft(a: Operand, n: int | None = None, axis: int = -1, norm: Norm = None, out: object = None) -> Result:
    return _from_half(a, n, axis, norm)


@implements(np.fft.hfft, numeric=("a",), structural=("n", "axis"))
def hfft(a: Operand, n: int | None = None, axis: int = -1, norm: Norm = None, out: object = None) -> Result:
    return _from_half(conj(_complex(a)), n, axis, fourier.OTHER_NORM[_norm(norm)])


@implements(np.fft.ihfft, numeric=("a",), structural=("n", "axis"))
def ihfft(a: Operand, n: int | None = None, axis: int = -1, norm: Norm = None, out: object = None) -> Result:
    return conj(_to_half(a, n, axis, fourier.OTHER_NORM[_norm(norm)]))


# ---- along several axes


def _pairs(x: Value, sizes: Sizes, axes: Axes, of_half: bool = False) -> list[tuple[int, int]]:
    """(axis, number of points) of each transform; `of_half`: the last of them reads half a spectrum."""
    given: list[int | None] | None = None if sizes is None else list(sizes)
    if axes is None:
        if given is not None:
            warnings.warn("`axes` should not be `None` if `s` is not `None`: give axes=tuple(range(-len(s), 0))", DeprecationWarning, stacklevel=2)
        places = list(range(-(x.type.ndim if given is None else len(given)), 0))
    else:
        places = list(axes)  # type: ignore[arg-type]  # of one number this is NumPy's error too
    if given is not None and len(given) != len(places):
        raise ValueError("Shape and axes have different lengths.")
    if given is not None and None in given:
        warnings.warn("`s` should hold numbers only: -1 for the whole axis", DeprecationWarning, stacklevel=2)
    found = [axis_of(i, x.type.ndim) for i in places]
    if given is None and of_half and found:
        given = [*[x.type.shape[i] for i in found[:-1]], 2 * (x.type.shape[found[-1]] - 1)]
    counts = [-1] * len(found) if given is None else given
    return [(i, x.type.shape[i] if n is None or n == -1 else int(n)) for i, n in zip(found, counts, strict=True)]


def _all_full(a: Operand, sizes: Sizes, axes: Axes, norm: Norm, inverse: bool) -> Result:
    x = _complex(a)
    for axis, n in reversed(_pairs(x, sizes, axes)):
        x = _full(x, n, axis, norm, inverse)
    return x


def _all_to_half(a: Operand, sizes: Sizes, axes: Axes, norm: Norm) -> Result:
    x = _real(a)
    *others, (axis, n) = _pairs(x, sizes, axes)
    out = _to_half(x, n, axis, norm)
    for axis, n in reversed(others):
        out = _full(out, n, axis, norm, False)
    return out


def _all_from_half(a: Operand, sizes: Sizes, axes: Axes, norm: Norm) -> Result:
    x = _complex(a)
    *others, (last, size) = _pairs(x, sizes, axes, of_half=True)
    for axis, n in others:
        x = _full(x, n, axis, norm, True)
    return _from_half(x, size, last, norm)


def _along_axes(function: Operand, both: Operand, transform: Operand) -> None:
    """The doors of a transform along all axes and along two."""

    @implements(function, numeric=("a",), structural=("s", "axes"))
    def many(a: Operand, s: Sizes = None, axes: Axes = None, norm: Norm = None, out: object = None) -> Result:
        return transform(a, s, axes, norm)

    @implements(both, numeric=("a",), structural=("s", "axes"))
    def two(a: Operand, s: Sizes = None, axes: Axes = (-2, -1), norm: Norm = None, out: object = None) -> Result:
        return transform(a, s, axes, norm)


_along_axes(np.fft.fftn, np.fft.fft2, lambda a, s, axes, norm: _all_full(a, s, axes, norm, False))
_along_axes(np.fft.ifftn, np.fft.ifft2, lambda a, s, axes, norm: _all_full(a, s, axes, norm, True))
_along_axes(np.fft.rfftn, np.fft.rfft2, _all_to_half)
_along_axes(np.fft.irfftn, np.fft.irfft2, _all_from_half)

# ---- the order of frequencies


def _shift_door(function: Operand, amount: Operand) -> None:
    @implements(function, numeric=("x",), structural=("axes",))
    def implementation(x: Operand, axes: Axes = None) -> Result:
        x = operand(x)
        places = range(x.type.ndim) if axes is None else [axes] if isinstance(axes, (int, np.integer)) else axes
        found = [axis_of(i, x.type.ndim) for i in places]
        return roll.implementation(x, [amount(x.type.shape[i]) for i in found], tuple(found)) if found else x  # type: ignore[attr-defined]


_shift_door(np.fft.fftshift, lambda n: n // 2)
_shift_door(np.fft.ifftshift, lambda n: -(n // 2))
