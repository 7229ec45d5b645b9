"""The part of `functad.scipy.linalg` that needs no factor: the exponential, and matrices with a structure."""

import math

import numpy as np
from scipy import linalg as _linalg

from functad._api.products import stop_gradient
from functad._numpy.arguments import Operand, Result
from functad.errors import ShapeMismatchError
from functad.numpy import asarray
from functad.scipy._given import any_traced, floating

__all__ = ["block_diag", "expm", "toeplitz"]

# ---- the exponential of a matrix

# Numerator of the Pade approximant of order 13, and the norm up to which it is exact in double precision: Higham (2005), tables 2.3 and (2.3).
_PADE = [math.factorial(26 - k) * math.factorial(13) / (math.factorial(26) * math.factorial(k) * math.factorial(13 - k)) for k in range(14)]
_NORM = 5.371920351148152
_SQUARINGS = 16  # a norm of 350 000; where the values are not known while tracing, as many products are made


def expm(A: Operand) -> Result:
    """The exponential of a matrix, by scaling and squaring.

    Parameters
    ----------
    A : array_like, shape (..., n, n)
        Traced, of a norm up to 350 000; above, the result is NaN.

    Returns
    -------
    array, shape (..., n, n)

    Raises
    ------
    ShapeMismatchError
        If the matrix is not square.

    Notes
    -----
    Higham, *The scaling and squaring method for the matrix exponential revisited* (2005), with the approximant of order 13 throughout.

    Examples
    --------
    >>> import numpy as np, functad as fd
    >>> from functad.scipy.linalg import expm
    >>> fd.grad(lambda t: expm(t * np.array([[0.0, 1.0], [0.0, 0.0]]))[0, 1])(2.0)
    np.float64(1.0)
    """
    if not any_traced(A):
        return _linalg.expm(A)
    a = floating(A)
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ShapeMismatchError(f"functad.scipy.linalg.expm: the last two dimensions must be square, and the shape is {a.shape}")
    norm = stop_gradient(np.max(np.sum(np.abs(a), axis=-2), axis=-1))[..., None, None]
    count = np.ceil(np.log2(np.maximum(norm / _NORM, 1.0)))
    out = _pade(a * np.exp2(-count))
    for k in range(_SQUARINGS):
        out = np.where(count > k, out @ out, out)
    return np.where(count > _SQUARINGS, np.nan, out)


def _pade(a: Result) -> Result:
    """(q - p)**-1 (q + p), p the odd and q the even part of the numerator."""
    one = np.eye(a.shape[-1], dtype=a.dtype)
    a2 = a @ a
    a4 = a2 @ a2
    a6 = a2 @ a4
    c = _PADE
    odd = a @ (a6 @ (c[13] * a6 + c[11] * a4 + c[9] * a2) + c[7] * a6 + c[5] * a4 + c[3] * a2 + c[1] * one)
    even = a6 @ (c[12] * a6 + c[10] * a4 + c[8] * a2) + c[6] * a6 + c[4] * a4 + c[2] * a2 + c[0] * one
    return np.linalg.solve(even - odd, even + odd)


# ---- matrices with a structure


def block_diag(*arrs: Operand) -> Result:
    """The matrix with these blocks along its diagonal.

    Parameters
    ----------
    *arrs : array_like
        Matrices; a vector is one row, a number a block of its own.

    Returns
    -------
    array, shape (m, n)

    Raises
    ------
    ShapeMismatchError
        With traced values, if one has more than two dimensions.

    Examples
    --------
    >>> import numpy as np, functad as fd
    >>> from functad.scipy.linalg import block_diag
    >>> fd.jacobian(lambda x: block_diag(x, np.ones((1, 2))))(2.0)
    array([[1., 0., 0.],
           [0., 0., 0.]])
    """
    if not any_traced(*arrs):
        return _linalg.block_diag(*arrs)
    blocks = [np.reshape(a, (1, -1)) if np.ndim(a) < 2 else a for a in map(floating, arrs)]
    if any(b.ndim > 2 for b in blocks):
        raise ShapeMismatchError(f"functad.scipy.linalg.block_diag takes matrices; the shapes are {', '.join(str(b.shape) for b in blocks)}")
    width, left, rows = sum(b.shape[1] for b in blocks), 0, []
    for b in blocks:
        rows.append(np.pad(b, ((0, 0), (left, width - left - b.shape[1]))))
        left += b.shape[1]
    return np.concatenate(rows)


def toeplitz(c: Operand, r: Operand = None) -> Result:
    """The matrix with constant diagonals.

    Parameters
    ----------
    c : array_like, shape (m,)
        First column.
    r : array_like, shape (n,), optional
        First row, of which the first element is not read; `c` by default.

    Returns
    -------
    array, shape (m, n)

    Raises
    ------
    ShapeMismatchError
        With traced values, if one has more than one dimension.

    Examples
    --------
    >>> import numpy as np, functad as fd
    >>> from functad.scipy.linalg import toeplitz
    >>> fd.grad(lambda c: np.sum(toeplitz(c)))(np.array([1.0, 2.0]))
    array([2., 2.])
    """
    if not any_traced(c, r):
        return _linalg.toeplitz(c, r)
    column = np.atleast_1d(asarray(c))
    row = column if r is None else np.atleast_1d(asarray(r))
    if column.ndim != 1 or row.ndim != 1:
        raise ShapeMismatchError(f"functad.scipy.linalg.toeplitz takes vectors; the shapes are {column.shape} and {row.shape}")
    m, n = column.shape[0], row.shape[0]
    return np.concatenate([column[::-1], row[1:]])[m - 1 + np.arange(n)[None, :] - np.arange(m)[:, None]]
