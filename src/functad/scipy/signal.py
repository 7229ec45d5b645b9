"""Convolution of `scipy.signal`, for traced values; SciPy's own otherwise."""

import itertools

import numpy as np
from scipy import signal as _signal

from functad._api.scipys import OWN
from functad._numpy.arguments import Operand, Result
from functad.errors import ShapeMismatchError, UnsupportedArgumentError
from functad.scipy._given import any_traced, floating

__all__ = OWN["signal"]


def convolve(in1: Operand, in2: Operand, mode: str = "full", method: str = "auto") -> Result:
    """The convolution of two arrays.

    Parameters
    ----------
    in1, in2 : array_like
        With the same number of dimensions.
    mode : {"full", "valid", "same"}, optional
        All of it, what needs no padding, or as much as `in1`, from the middle.
    method : {"auto", "direct", "fft"}, optional
        As SciPy's; for traced values it is the direct one.

    Returns
    -------
    array

    Raises
    ------
    ShapeMismatchError
        With traced values, if the numbers of dimensions differ, or neither contains the other for "valid".
    UnsupportedArgumentError
        With traced values, for another `mode`.

    Examples
    --------
    >>> import numpy as np, functad as fd
    >>> from functad.scipy.signal import convolve
    >>> fd.grad(lambda x: convolve(x, np.array([1.0, 2.0]), "valid")[0])(np.ones(3))
    array([2., 1., 0.])
    """
    if not any_traced(in1, in2):
        return _signal.convolve(in1, in2, mode, method)
    if mode not in ("full", "valid", "same"):
        raise UnsupportedArgumentError(f"functad.scipy.signal.convolve: mode={mode!r} is none of 'full', 'valid' and 'same'")
    a, b = floating(in1), floating(in2)
    if np.ndim(a) != np.ndim(b):
        raise ShapeMismatchError(f"functad.scipy.signal.convolve: the shapes {np.shape(a)} and {np.shape(b)} have different numbers of dimensions")
    if np.ndim(a) == 0:
        return a * b
    full = tuple(m + n - 1 for m, n in zip(a.shape, b.shape, strict=True))
    if mode == "full":
        wanted = full
    elif mode == "same":
        wanted = a.shape
    else:
        wanted = tuple(max(m, n) - min(m, n) + 1 for m, n in zip(a.shape, b.shape, strict=True))
        if not (all(m >= n for m, n in zip(a.shape, b.shape, strict=True)) or all(m <= n for m, n in zip(a.shape, b.shape, strict=True))):
            raise ShapeMismatchError(f"functad.scipy.signal.convolve: for mode='valid' one of the shapes {a.shape} and {b.shape} contains the other")
    out = _full(a, b) if a.size >= b.size else _full(b, a)
    starts = [(n - w) // 2 for n, w in zip(full, wanted, strict=True)]
    return out[tuple(slice(s, s + w) for s, w in zip(starts, wanted, strict=True))]


def _full(a: Result, b: Result) -> Result:
    """All places: of vectors a product of a's windows with b, else a shifted by every place of b."""
    padded = np.pad(a, [(n - 1, n - 1) for n in b.shape])
    if a.ndim == 1:
        windows = np.arange(a.size + b.size - 1)[:, None] + np.arange(b.size)[None, :]
        return padded[windows] @ b[::-1]
    full = [m + n - 1 for m, n in zip(a.shape, b.shape, strict=True)]
    out: Result = 0.0
    for place in itertools.product(*map(range, b.shape)):
        starts = [n - 1 - i for n, i in zip(b.shape, place, strict=True)]
        out = out + b[place] * padded[tuple(slice(s, s + size) for s, size in zip(starts, full, strict=True))]
    return out
