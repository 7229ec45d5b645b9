"""Linear interpolation of `scipy.ndimage`, for traced values; SciPy's own otherwise."""

import itertools
import math

import numpy as np
from scipy import ndimage as _ndimage

from functad._api.scipys import OWN
from functad._numpy.arguments import Operand, Result
from functad._numpy.reading import take
from functad.errors import ShapeMismatchError, UnsupportedArgumentError
from functad.numpy import asarray
from functad.scipy._given import any_traced, floating, refuse_given

__all__ = OWN["ndimage"]


def map_coordinates(
    input: Operand, coordinates: Operand, output: Operand = None, order: int = 3, mode: str = "constant", cval: float = 0.0, prefilter: bool = True
) -> Result:
    """Values between the elements of an array.

    Parameters
    ----------
    input : array_like
    coordinates : array_like, shape (input.ndim, ...)
        Where, in elements.
    output : optional
        As SciPy's; refused for traced values.
    order : int, optional
        Of the splines; for traced values it must be 1.
    mode : {"constant", "nearest"}, optional
        What is outside: `cval`, or the nearest element.  SciPy's other modes are refused for traced values.
    cval : float, optional
    prefilter : bool, optional
        As SciPy's; means nothing for order 1.

    Returns
    -------
    array, shape of `coordinates` without its first axis

    Raises
    ------
    UnsupportedArgumentError
        With traced values, for another `order` or `mode`, and for `output`.
    ShapeMismatchError
        With traced values, if there are more or fewer coordinates than dimensions.

    Notes
    -----
    At an element the derivative in the coordinate is that to the right, as `np.interp`'s; at the last one, to the left.

    Examples
    --------
    >>> import numpy as np, functad as fd
    >>> from functad.scipy.ndimage import map_coordinates
    >>> fd.grad(lambda x: map_coordinates(np.array([0.0, 1.0, 4.0]), x, order=1)[0])(np.array([[1.5]]))
    array([[3.]])
    """
    if not any_traced(input, coordinates, cval):
        return _ndimage.map_coordinates(input, coordinates, output, order, mode, cval, prefilter)
    refuse_given("ndimage.map_coordinates", output=output)
    if order != 1 or mode not in ("constant", "nearest"):
        raise UnsupportedArgumentError(
            f"functad.scipy.ndimage.map_coordinates: order={order!r}, mode={mode!r} cannot be honoured for traced values: only order=1 with "
            "'constant' or 'nearest'"
        )
    values, places = floating(input), [floating(c) for c in asarray(coordinates)]
    if len(places) != values.ndim:
        raise ShapeMismatchError(f"functad.scipy.ndimage.map_coordinates: {len(places)} coordinates for an array of {values.ndim} dimensions")
    lower, weights, inside = [], [], True
    for place, n in zip(places, values.shape, strict=True):
        within = (place >= 0) & (place <= n - 1)
        inside = inside & within
        held = np.where(within, place, np.where(place > 0, n - 1.0, 0.0).astype(place.dtype))
        base = np.clip(np.floor(held), 0, max(n - 2, 0))
        lower.append(base.astype(np.int64))
        weights.append(held - base)
    flat: Result = np.reshape(values, (-1,))
    out: Result = 0.0
    strides = [math.prod(values.shape[i + 1 :]) for i in range(values.ndim)]
    for corner in itertools.product((0, 1), repeat=values.ndim):
        at: Result = 0
        weight: Result = 1.0
        for one, base, w, stride, n in zip(corner, lower, weights, strides, values.shape, strict=True):
            at = at + np.minimum(base + one, n - 1) * stride
            weight = weight * (w if one else 1.0 - w)
        out = out + weight * take(flat, at)  # np.take of a plain array does not ask a traced index
    return np.where(inside, out, cval) if mode == "constant" else out
