"""Piecewise linear interpolation, and sums and slopes over sample points."""

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from functad._numpy.arguments import Axes, Operand, Result, Value, axis_of
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


def _wrapped(x: Operand, points: Operand, values: Operand, period: Operand) -> tuple[Result, Result, Result]:
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


def _table(x: Operand, xp: Operand, fp: Operand) -> tuple[Value, Value, Value]:
    """The places and the table in the dtypes in which NumPy interpolates."""
    if "c" in (operand(x).type.dtype.kind, operand(xp).type.dtype.kind):
        raise TypeError("np.interp: x and xp must be real, and one of them is complex: take np.real or np.abs")
    points, values = cast(xp, np.float64), operand(fp)
    if points.type.ndim != 1 or values.type.ndim != 1:
        raise ValueError("Data points must be 1-D sequences")
    if points.type.shape != values.type.shape:
        raise ValueError("fp and xp are not of the same length.")
    if points.type.size == 0:
        raise ValueError("array of sample points is empty")
    return cast(x, np.float64), points, cast(values, np.complex128 if values.type.dtype.kind == "c" else np.float64)


def _between(where: Value, points: Value, values: Value) -> Result:
    """On the line through the neighbours of each place; from the last point on its own sample is the base, so that the value there is exact."""
    n = points.type.shape[0]
    found = apply_ufunc(np.subtract, search(points, where, "right"), 1)
    left_of = apply_ufunc(np.minimum, apply_ufunc(np.maximum, found, 0), n - 2)
    right_of = apply_ufunc(np.add, left_of, 1)
    x0, x1, f0, f1 = (gather(table, place) for table in (points, values) for place in (left_of, right_of))
    slope = apply_ufunc(np.true_divide, apply_ufunc(np.subtract, f1, f0), apply_ufunc(np.subtract, x1, x0))
    ends = logic.equal(where, _sample(points, n - 1, where))
    offset = e.sub(where, logic.select(ends, x1, x0))
    return apply_ufunc(np.add, apply_ufunc(np.multiply, slope, offset), logic.select(ends, f1, f0))


def _sample(table: Value, i: int, like: Value) -> Result:
    """One sample, repeated for every place."""
    return broadcast_to(with_shape(part(table, 0, i, 1), ()), like.type.shape)


@implements(np.interp, numeric=("x", "xp", "fp", "left", "right", "period"))
def interp(x: Operand, xp: Operand, fp: Operand, left: Operand = None, right: Operand = None, period: Operand = None) -> Result:
    where, points, values = _table(x, xp, fp)
    if period is not None:
        where, points, values = _wrapped(where, points, values, period)
        left = right = None
    last = points.type.shape[0] - 1
    low, high = (
        _sample(values, i, where) if given is None else broadcast_to(cast(given, values.type.dtype), where.type.shape)
        for i, given in ((0, left), (last, right))
    )
    out = _between(where, points, values) if last else _sample(values, 0, where)
    out = logic.select(logic.less(where, _sample(points, 0, where)), low, out)
    return logic.select(logic.greater(where, _sample(points, last, where)), high, out)


# ---- sums and slopes over sample points


@implements(np.trapezoid, numeric=("y", "x", "dx"), structural=("axis",))
def trapezoid(y: Operand, x: Operand = None, dx: Operand = 1.0, axis: int = -1) -> Result:
    y = operand(y)
    axis = axis_of(axis, y.type.ndim)
    n = max(y.type.shape[axis], 1)
    if x is None:
        width: Result = dx
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


def _slope(f: Operand, spacing: Operand, axis: int, edge_order: int) -> Result:
    """np.gradient along one axis: central differences inside, one-sided ones at the ends."""

    def at(x: Operand, begin: int, end: int) -> Result:
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


def _gradient(f: Operand, *varargs: Operand, axis: Axes = None, edge_order: int = 1) -> Result:
    """np.gradient."""
    f = np.asarray(f) if not hasattr(f, "atom") else f
    f = f.astype(float) if f.dtype.kind in "iu" else f  # differences of unsigned ones would wrap
    axes = range(f.ndim) if axis is None else normalize_axis_tuple(axis, f.ndim)
    spacings = list(varargs) if varargs else [1.0]
    if len(spacings) == 1:
        spacings *= len(axes)
    if len(spacings) != len(axes):
        raise TypeError("invalid number of arguments")
    if edge_order not in (1, 2):
        raise ValueError("'edge_order' greater than 2 not supported")
    out = [_slope(f, h, a, edge_order).astype(f.dtype) for a, h in zip(axes, spacings, strict=True)]
    return out[0] if len(out) == 1 else tuple(out)


DOORS[np.gradient] = _gradient
