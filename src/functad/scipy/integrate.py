"""Sums over samples of `scipy.integrate`, for traced values; SciPy's own otherwise.  Single precision stays single."""

import numpy as np
from numpy.lib.array_utils import normalize_axis_index
from scipy import integrate as _integrate

from functad._api.scipys import OWN
from functad._numpy.arguments import Operand, Result
from functad.errors import ShapeMismatchError, UnsupportedArgumentError
from functad.scipy._given import any_traced, floating

__all__ = OWN["integrate"]


def trapezoid(y: Operand, x: Operand = None, dx: float = 1.0, axis: int = -1) -> Result:
    """The integral of samples by the trapezoidal rule.

    Parameters
    ----------
    y : array_like
    x : array_like, optional
        Places of the samples, a vector or of the shape of `y`.
    dx : float, optional
        Their distance, where `x` is not given.
    axis : int, optional

    Returns
    -------
    array
        The shape of `y` without the axis.

    Raises
    ------
    ShapeMismatchError
        If `x` and `y` do not fit.

    Examples
    --------
    >>> import numpy as np, functad as fd
    >>> from functad.scipy.integrate import trapezoid
    >>> fd.grad(trapezoid)(np.ones(3))
    array([0.5, 1. , 0.5])
    """
    if not any_traced(y, x, dx):
        return _integrate.trapezoid(y, x, dx, axis)
    return np.trapezoid(floating(y), None if x is None else floating(x), dx, axis)


def _widths(y: Result, x: Operand, dx: float, axis: int) -> Result:
    """Distances of neighbours, as an array that broadcasts with y, one shorter along the last axis; the axis has been moved there."""
    if x is None:
        return np.full(y.shape[-1] - 1, 1.0, y.dtype) * dx
    x = floating(x)
    x = x if x.ndim == 1 else np.moveaxis(x, axis, -1)
    if x.shape[-1] != y.shape[-1]:
        raise ShapeMismatchError(f"functad.scipy.integrate: x has {x.shape[-1]} places for {y.shape[-1]} samples")
    return x[..., 1:] - x[..., :-1]


def cumulative_trapezoid(y: Operand, x: Operand = None, dx: float = 1.0, axis: int = -1, initial: float | None = None) -> Result:
    """The running integral of samples by the trapezoidal rule.

    Parameters
    ----------
    y : array_like
    x : array_like, optional
        Places of the samples, a vector or of the shape of `y`.
    dx : float, optional
        Their distance, where `x` is not given.
    axis : int, optional
    initial : {None, 0}, optional
        Whether a zero stands in front, so that the shape is that of `y`.

    Returns
    -------
    array
        The shape of `y`, one shorter along the axis unless `initial` is given.

    Raises
    ------
    ShapeMismatchError
        If `x` and `y` do not fit.
    UnsupportedArgumentError
        With traced values, for another `initial`.

    Examples
    --------
    >>> import numpy as np, functad as fd
    >>> from functad.scipy.integrate import cumulative_trapezoid
    >>> fd.jacobian(cumulative_trapezoid)(np.ones(3))
    array([[0.5, 0.5, 0. ],
           [0.5, 1. , 0.5]])
    """
    if not any_traced(y, x, dx):
        return _integrate.cumulative_trapezoid(y, x, dx, axis, initial)
    if initial not in (None, 0):
        raise UnsupportedArgumentError(f"functad.scipy.integrate.cumulative_trapezoid: initial={initial!r} is neither None nor 0")
    y = floating(y)
    axis = normalize_axis_index(axis, y.ndim)
    moved = np.moveaxis(y, axis, -1)
    out = np.cumsum(_widths(moved, x, dx, axis) * (moved[..., 1:] + moved[..., :-1]) / 2.0, axis=-1)
    if initial is not None:
        out = np.concatenate([np.zeros((*out.shape[:-1], 1), out.dtype), out], axis=-1)
    return np.moveaxis(out, -1, axis)


def simpson(y: Operand, x: Operand = None, *, dx: float = 1.0, axis: int = -1) -> Result:
    """The integral of samples by Simpson's rule, for any distances.

    Parameters
    ----------
    y : array_like
    x : array_like, optional
        Places of the samples, a vector or of the shape of `y`.
    dx : float, optional
        Their distance, where `x` is not given.
    axis : int, optional

    Returns
    -------
    array
        The shape of `y` without the axis.

    Raises
    ------
    ShapeMismatchError
        If `x` and `y` do not fit.

    Notes
    -----
    The last of an odd number of intervals is that of the parabola through the last three samples: Cartwright, *Simpson's rule cumulative
    integration with MS Excel and irregularly-spaced data* (2017).

    Examples
    --------
    >>> import numpy as np, functad as fd
    >>> from functad.scipy.integrate import simpson
    >>> fd.grad(simpson)(np.ones(3))
    array([0.33333333, 1.33333333, 0.33333333])
    """
    if not any_traced(y, x, dx):
        return _integrate.simpson(y, x, dx=dx, axis=axis)
    y = floating(y)
    axis = normalize_axis_index(axis, y.ndim)
    y = np.moveaxis(y, axis, -1)
    h = _widths(y, x, dx, axis)
    count = y.shape[-1]
    if count <= 2:
        return np.sum(h * (y[..., 1:] + y[..., :-1]) / 2.0, axis=-1)
    pairs = (count - 1) // 2 * 2
    h0, h1 = h[..., 0:pairs:2], h[..., 1:pairs:2]
    both = h0 + h1
    sides = y[..., 0 : pairs - 1 : 2] * (2.0 - h1 / h0) + y[..., 2 : pairs + 1 : 2] * (2.0 - h0 / h1)
    out = np.sum(both / 6.0 * (sides + y[..., 1:pairs:2] * (both / h0) * (both / h1)), axis=-1)
    if pairs == count - 1:
        return out
    h0, h1 = h[..., -2], h[..., -1]
    last = y[..., -1] * (2.0 * h1 + 3.0 * h0) / (h0 + h1) + y[..., -2] * (h1 + 3.0 * h0) / h0 - y[..., -3] * h1 * h1 / (h0 * (h0 + h1))
    return out + h1 / 6.0 * last
