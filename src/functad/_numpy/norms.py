"""Norms of vectors and matrices: np.linalg.norm, vector_norm, matrix_norm, cond.

A norm has no derivative at zero; the subgradient 0 is taken there.  Extremes (orders 1 and inf) share ties equally; a spectral norm follows
the first of equal singular values.
"""

import numpy as np

from functad._core.program import Literal
from functad._core.types import array_type
from functad._numpy.algebra import component
from functad._numpy.arguments import Axes, Operand, Result, axis_of, kept
from functad._numpy.dispatch import implements
from functad._numpy.promote import cast, operand, with_shape
from functad._numpy.reducing import square_size
from functad._primitives import elementwise as e
from functad._primitives import linalg, logic
from functad._primitives.decompositions import svdvals
from functad._primitives.dot import reordered
from functad._primitives.operands import constant
from functad._primitives.reduce import reduce_any, reduce_max, reduce_min, reduce_sum
from functad.errors import ShapeMismatchError

__all__ = ["inexact"]


def inexact(x: Operand) -> Result:
    """x as an array that LAPACK computes with: integers and booleans become float64."""
    given = operand(x)
    return given if given.type.is_inexact else cast(given, np.float64)


# ---- vectors


def _extreme(x: Operand, axis: int, largest: bool) -> Result:
    if largest and x.type.shape[axis] == 0:
        return Literal(0, array_type(tuple(n for i, n in enumerate(x.type.shape) if i != axis), x.type.dtype))
    return (reduce_max if largest else reduce_min)(x, axes=(axis,))


def _power(x: Operand, exponent: float) -> Result:
    return e.power_static(x, exponent=(exponent, type(exponent)))


def _nonzero(x: Operand) -> Result:
    return logic.not_equal(x, constant(0, x))


def _general(x: Operand, order: float, axes: tuple[int, ...]) -> Result:
    """(sum of |x|^p)^(1/p).  At zero, and for p < 1 in each element that is zero, the symmetric choice 0 of the derivative."""
    size = e.absolute(x)
    powers = _power(size, order)
    if 0 < order < 1:
        powers = logic.select(_nonzero(size), powers, constant(0, powers))
    total = reduce_sum(powers, axes=axes)
    if order < 0:
        return _power(total, 1 / order)
    positive = _nonzero(total)
    inner = logic.select(positive, total, constant(1, total))  # so that 0^(1/p - 1) is never computed
    return logic.select(positive, _power(inner, 1 / order), constant(0, total))


def _vector(x: Operand, order: Operand, axes: tuple[int, ...]) -> Result:
    """The norm over `axes` together."""
    if order is None or order == 2:
        return e.root(reduce_sum(square_size(x), axes=axes))
    if isinstance(order, str):
        raise ValueError(f"Invalid norm order '{order}' for vectors")
    if order == 1:
        return reduce_sum(e.absolute(x), axes=axes)
    if order == 0:
        return reduce_sum(cast(_nonzero(x), np.finfo(x.type.dtype).dtype), axes=axes)
    if np.isinf(order):
        return _extreme(e.absolute(x), axes[0], order > 0)
    return _general(x, order.item() if isinstance(order, np.generic) else order, axes)


# ---- matrices


def _matrix(x: Operand, order: Operand, rows: int, columns: int) -> Result:
    """The norm over two axes."""
    if order in (None, "fro", "f"):
        return e.root(reduce_sum(square_size(x), axes=tuple(sorted((rows, columns)))))
    if order in (2, -2, "nuc"):
        return _spectral(x, order, rows, columns)
    if order in (1, -1, np.inf, -np.inf):
        summed, left = (rows, columns) if abs(order) == 1 else (columns, rows)
        sums = reduce_sum(e.absolute(x), axes=(summed,))
        return _extreme(sums, left - (left > summed), order > 0)
    raise ValueError("Invalid norm order for matrices.")


def _spectral(x: Operand, order: Operand, rows: int, columns: int) -> Result:
    others = [i for i in range(x.type.ndim) if i not in (rows, columns)]
    values = svdvals(reordered(x, [*others, rows, columns]))
    values = logic.select(_nonzero(values), values, constant(0, values))  # the subgradient 0 for those that are zero
    last = values.type.ndim - 1
    if order == "nuc" or values.type.shape[-1] == 0:
        return reduce_sum(values, axes=(last,))
    return component(values, 0 if order == 2 else values.type.shape[-1] - 1)


# ---- doors


def norm_of(x: Operand, ord: Operand = None, axis: Axes = None, keepdims: bool = False) -> Result:
    """Of vectors, matrices, or all elements together."""
    x = inexact(x)
    n = x.type.ndim
    if axis is None and (ord is None or (ord in ("f", "fro") and n == 2) or (n == 1 and ord == 2)):
        axes = tuple(range(n))
        return with_shape(_vector(x, 2, axes), kept(x.type, axes)) if keepdims else _vector(x, 2, axes)
    places = tuple(range(n)) if axis is None else tuple(axis_of(a, n) for a in (axis if isinstance(axis, (tuple, list)) else (axis,)))
    if len(places) == 1:
        out = _vector(x, ord, places)
    elif len(places) == 2:
        if places[0] == places[1]:
            raise ShapeMismatchError("np.linalg.norm: the two axes are the same")
        out = _matrix(x, ord, *places)
    else:
        raise ShapeMismatchError(f"np.linalg.norm over {len(places)} axes: it takes one axis (vectors), two (matrices), or ord=None for all together")
    return with_shape(out, kept(x.type, places)) if keepdims else out


implements(np.linalg.norm, numeric=("x",), structural=("axis",))(norm_of)


@implements(np.linalg.vector_norm, numeric=("x",), structural=("axis",))
def _vector_norm(x: Operand, /, *, axis: Axes = None, keepdims: bool = False, ord: Operand = 2) -> Result:
    x = inexact(x)
    n = x.type.ndim
    axes = tuple(range(n)) if axis is None else tuple(axis_of(a, n) for a in (axis if isinstance(axis, tuple) else (axis,)))
    rest = [i for i in range(n) if i not in axes]
    flat = with_shape(reordered(x, [*rest, *axes]), (*[x.type.shape[i] for i in rest], int(np.prod([x.type.shape[i] for i in axes], dtype=int))))
    out = _vector(flat, ord, (len(rest),))
    return with_shape(out, kept(x.type, axes)) if keepdims else out


@implements(np.linalg.matrix_norm, numeric=("x",))
def _matrix_norm(x: Operand, /, *, keepdims: bool = False, ord: Operand = "fro") -> Result:
    return norm_of(x, ord, (-2, -1), keepdims)


@implements(np.linalg.cond, numeric=("x",))
def _cond(x: Operand, p: Operand = None) -> Result:
    """Infinite for a singular matrix, NaN only where x is."""
    x = inexact(x)
    if x.type.ndim < 2:
        raise linalg.MatrixShapeError(f"{x.type.ndim}-dimensional array given: an array of at least two dimensions was expected")
    if x.type.size == 0:
        raise linalg.MatrixShapeError("cond is not defined on empty arrays")
    n = x.type.ndim
    if p is None or p in (2, -2):
        values = svdvals(x)
        first, last = component(values, 0), component(values, values.type.shape[-1] - 1)
        ratio = e.div(last, first) if p == -2 else e.div(first, last)
    else:
        linalg.square_size(x.type)
        ratio = e.mul(_matrix(x, p, n - 2, n - 1), _matrix(linalg.inv(x, strict=False), p, n - 2, n - 1))
    real = logic.real(x) if x.type.dtype.kind == "c" else x
    lost = reduce_any(logic.isnan(real), axes=(n - 2, n - 1))
    return logic.select(logic.logical_and(logic.isnan(ratio), logic.logical_not(lost)), constant(np.inf, ratio), ratio)
