"""Piecewise linear interpolation, and sums and slopes over sample points."""

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from functad._numpy.dispatch import DOORS, implements
from functad._numpy.promote import broadcast_to, cast, operand, with_shape
from functad._numpy.reducing import sum_of
from functad._numpy.shaping import joined, part
from functad._numpy.sorting import search
from functad._numpy.ufuncs import apply_ufunc
from functad._primitives import elementwise as e
from functad._primitives import logic
from functad._primitives.index import gather
from functad._primitives.sort import argsort

__all__: list[str] = []


def _wrapped(x: Any, points: Any, values: Any, period: Any) -> tuple[Any, Any, Any]:
    """Everything brought into one period, and the table continued by one sample at either end."""
    period = apply_ufunc(np.absolute, cast(period, np.float64))
    x = apply_ufunc(np.remainder, x, period)
    points = apply_ufunc(np.remainder, points, period)
    order = argsort(points, axis=0)
    points, values = gather(points, order), gather(values, order)
    n = points.type.shape[0]
    first, last = part(points, 0, 0, 1), part(points, 0, n - 1, 1)
    points = joined([apply_ufunc(np.subtract, last, period), points, apply_ufunc(np.add, first, period)], 0)
    return x, points, joined([part(values, 0, n - 1, 1), values, part(values, 0, 0, 1)], 0)


@implements(np.interp, numeric=("x", "xp", "fp", "left", "right", "period"))
def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    if "c" in (operand(x).type.dtype.kind, operand(xp).type.dtype.kind):
        raise TypeError("np.interp: x and xp must be real, and one of them is complex: take np.real or np.abs")
    where, points, values = cast(x, np.float64), cast(xp, np.float64), operand(fp)
    values = cast(values, np.complex128 if values.type.dtype.kind == "c" else np.float64)
    if points.type.ndim != 1 or values.type.ndim != 1:
        raise ValueError("Data points must be 1-D sequences")
    if points.type.shape != values.type.shape:
        raise ValueError("fp and xp are not of the same length.")
    if points.type.size == 0:
        raise ValueError("array of sample points is empty")
    if period is not None:
        where, points, values = _wrapped(where, points, values, period)
        left = right = None
    n, shape = points.type.shape[0], where.type.shape

    def end(table: Any, i: int) -> Any:
        return broadcast_to(with_shape(part(table, 0, i, 1), ()), shape)

    low = end(values, 0) if left is None else broadcast_to(cast(left, values.type.dtype), shape)
    high = end(values, n - 1) if right is None else broadcast_to(cast(right, values.type.dtype), shape)
    if n == 1:
        out = end(values, 0)
    else:
        found = apply_ufunc(np.subtract, search(points, where, "right"), 1)
        left_of = apply_ufunc(np.minimum, apply_ufunc(np.maximum, found, 0), n - 2)
        right_of = apply_ufunc(np.add, left_of, 1)
        x0, x1, f0, f1 = gather(points, left_of), gather(points, right_of), gather(values, left_of), gather(values, right_of)
        slope = apply_ufunc(np.true_divide, apply_ufunc(np.subtract, f1, f0), apply_ufunc(np.subtract, x1, x0))
        # from the last point on its own sample is the base, so that the value there is exact
        ends = logic.equal(where, end(points, n - 1))
        offset = e.sub(where, logic.select(ends, x1, x0))
        out = apply_ufunc(np.add, apply_ufunc(np.multiply, slope, offset), logic.select(ends, f1, f0))
    out = logic.select(logic.less(where, end(points, 0)), low, out)
    return logic.select(logic.greater(where, end(points, n - 1)), high, out)


# ---- sums and slopes over sample points


@implements(np.trapezoid, numeric=("y", "x", "dx"), structural=("axis",))
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    y = operand(y)
    axis = normalize_axis_index(axis, y.type.ndim)
    n = max(y.type.shape[axis], 1)
    if x is None:
        width: Any = dx
    else:
        points = operand(x)
        if points.type.ndim == 1:
            step = apply_ufunc(np.subtract, part(points, 0, 1, points.type.size - 1), part(points, 0, 0, points.type.size - 1))
            width = with_shape(step, [step.type.size if i == axis else 1 for i in range(y.type.ndim)])
        else:
            m = points.type.shape[axis]
            width = apply_ufunc(np.subtract, part(points, axis, 1, m - 1), part(points, axis, 0, m - 1))
    both = apply_ufunc(np.add, part(y, axis, min(1, y.type.shape[axis]), n - 1), part(y, axis, 0, n - 1))
    return sum_of(apply_ufunc(np.true_divide, apply_ufunc(np.multiply, width, both), 2.0), axis)


def _slope(f: Any, spacing: Any, axis: int, edge_order: int) -> Any:
    """np.gradient along one axis: central differences inside, one-sided ones at the ends."""

    def at(x: Any, begin: int, end: int) -> Any:
        return x[tuple(slice(begin, end if end else None) if i == axis else slice(None) for i in range(x.ndim))]

    n = f.shape[axis]
    if n < edge_order + 1:
        raise ValueError("Shape of array too small to calculate a numerical gradient, at least (edge_order + 1) elements are required.")
    column = tuple(-1 if i == axis else 1 for i in range(f.ndim))
    h = None if np.ndim(spacing) == 0 else np.reshape(np.diff(spacing), column)
    if h is None:
        inner = (at(f, 2, 0) - at(f, 0, -2)) / (2.0 * spacing)
        before = after = spacing
    else:
        a, b = at(h, 0, -1), at(h, 1, 0)
        inner = -b / (a * (a + b)) * at(f, 0, -2) + (b - a) / (a * b) * at(f, 1, -1) + a / (b * (a + b)) * at(f, 2, 0)
        before, after = at(h, 0, 1), at(h, n - 2, 0)
    if edge_order == 1:
        first, last = (at(f, 1, 2) - at(f, 0, 1)) / before, (at(f, n - 1, 0) - at(f, n - 2, n - 1)) / after
    else:
        a, b = (spacing, spacing) if h is None else (at(h, 0, 1), at(h, 1, 2))
        first = -(2.0 * a + b) / (a * (a + b)) * at(f, 0, 1) + (a + b) / (a * b) * at(f, 1, 2) - a / (b * (a + b)) * at(f, 2, 3)
        a, b = (spacing, spacing) if h is None else (at(h, n - 3, n - 2), at(h, n - 2, 0))
        last = b / (a * (a + b)) * at(f, n - 3, n - 2) - (b + a) / (a * b) * at(f, n - 2, n - 1)
        last = last + (2.0 * b + a) / (b * (a + b)) * at(f, n - 1, 0)
    return np.concatenate([first, inner, last], axis)


def _gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """np.gradient."""
    f = np.asarray(f) if not hasattr(f, "atom") else f
    f = f.astype(float) if f.dtype.kind in "iu" else f  # differences of unsigned ones would wrap
    axes = range(f.ndim) if axis is None else [normalize_axis_index(a, f.ndim) for a in (axis if isinstance(axis, (tuple, list)) else (axis,))]
    spacings = list(varargs) if varargs else [1.0]
    if len(spacings) == 1:
        spacings *= len(axes)
    if len(spacings) != len(axes):
        raise TypeError("invalid number of arguments")
    if edge_order not in (1, 2):
        raise ValueError("'edge_order' greater than 2 not supported")
    out = [_slope(f, h, a, edge_order) for a, h in zip(axes, spacings, strict=True)]
    out = [slope.astype(f.dtype) for slope in out]
    return out[0] if len(out) == 1 else tuple(out)


DOORS[np.gradient] = _gradient
