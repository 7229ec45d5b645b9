"""Products of arrays: dot, matmul and the @ operator, tensordot, outer, inner, kron, cross, trace, and their namesakes in np.linalg.

All sums of products are the primitive `dot`; products without a sum are elementwise, so that kernels can fuse them.  In these functions NumPy
counts a Python scalar with its own dtype (`np.dot(float32 array, 2.0)` is float64), unlike in ufuncs; so does this module.  Only the first factor
of `vdot`, `vecdot` and `vecmat` is conjugated.  `einsum` has its own module.
"""

from collections.abc import Sequence

import numpy as np

from functad._core.recorder import Door, binary
from functad._core.tracer import Tracer, install
from functad._numpy.arguments import Axes, DTypeLike, Operand, Result, Value, axis_of
from functad._numpy.dispatch import DOORS, implements, record_call, refuse
from functad._numpy.promote import broadcast_shapes, broadcast_to, cast, operand, with_shape
from functad._numpy.rearranging import diagonal_of
from functad._primitives import linalg
from functad._primitives.dot import dot, matrix_product, reordered
from functad._primitives.elementwise import mul, neg, sub
from functad._primitives.logic import conj, logical_and
from functad._primitives.reduce import reduce_any, reduce_sum
from functad._primitives.shape import concatenate, slice_
from functad.errors import ShapeMismatchError

__all__ = ["component", "conjugate", "matmul", "strong", "sum_of", "times"]


# ---- pieces


def strong(*xs: Operand, dtype: DTypeLike = None) -> list[Result]:
    """The operands in one dtype, to which Python scalars contribute theirs."""
    given = [operand(x) for x in xs]
    common = np.result_type(*[x.type.dtype for x in given]) if dtype is None else np.dtype(dtype)
    return [cast(x, common) for x in given]


def conjugate(x: Operand) -> Result:
    """The complex conjugate; a real array itself."""
    return conj(x) if x.type.dtype.kind == "c" else x


def sum_of(x: Value, axes: Sequence[int]) -> Result:
    """The sum in the dtype of x (of booleans: their or)."""
    axes = tuple(sorted(axes))
    return (reduce_any if x.type.dtype.kind == "b" else reduce_sum)(x, axes=axes) if axes else x


def component(x: Operand, i: int) -> Result:
    """x[..., i]."""
    n = x.type.ndim
    part = slice_(x, start=(*[0] * (n - 1), i), size=(*x.type.shape[:-1], 1), step=(1,) * n)
    return with_shape(part, x.type.shape[:-1])


def product(x: Operand, y: Operand) -> Result:
    """Elementwise, with broadcasting; both have one dtype."""
    shape = broadcast_shapes(x.type.shape, y.type.shape)
    return times(broadcast_to(x, shape), broadcast_to(y, shape))


def times(x: Operand, y: Operand) -> Result:
    """x * y of one shape and dtype."""
    return logical_and(x, y) if x.type.dtype.kind == "b" else mul(x, y)


def _ravelled(x: Operand) -> Result:
    return with_shape(x, (x.type.size,))


def _moved_last(x: Operand, axis: Axes) -> Result:
    n = x.type.ndim
    place = axis_of(axis, n)
    return reordered(x, [*[i for i in range(n) if i != place], place])


# ---- dot and its relatives


@implements(np.dot, numeric=("a", "b"), method="dot")
def _dot(a: Operand, b: Operand, out: object = None) -> Result:
    """Over the last axis of a and the last but one of b; a product where one is a scalar."""
    x, y = strong(a, b)
    n, m = x.type.ndim, y.type.ndim
    if n == 0 or m == 0:
        return product(x, y)
    _check_aligned("dot", x, y, n - 1, max(m - 2, 0))
    return dot(x, y, contract=((n - 1,), (max(m - 2, 0),)), batch=((), ()))


def _check_aligned(function: str, x: Operand, y: Operand, i: int, j: int) -> None:
    if x.type.shape[i] != y.type.shape[j]:
        raise ShapeMismatchError(
            f"np.{function}: shapes {x.type.shape} and {y.type.shape} not aligned: {x.type.shape[i]} (axis {i}) != {y.type.shape[j]} (axis {j})"
        )


@implements(np.inner, numeric=("a", "b"))
def _inner(a: Operand, b: Operand) -> Result:
    x, y = strong(a, b)
    n, m = x.type.ndim, y.type.ndim
    if n == 0 or m == 0:
        return product(x, y)
    _check_aligned("inner", x, y, n - 1, m - 1)
    return dot(x, y, contract=((n - 1,), (m - 1,)), batch=((), ()))


@implements(np.vdot, numeric=("a", "b"))
def _vdot(a: Operand, b: Operand) -> Result:
    x, y = (_ravelled(x) for x in strong(a, b))
    _check_aligned("vdot", x, y, 0, 0)
    return dot(conjugate(x), y, contract=((0,), (0,)), batch=((), ()))


@implements(np.outer, numeric=("a", "b"))
def _outer(a: Operand, b: Operand, out: object = None) -> Result:
    return _outer_of(*[_ravelled(x) for x in strong(a, b)])


def _outer_of(x: Operand, y: Operand) -> Result:
    return product(with_shape(x, (x.type.size, 1)), y)


@implements(np.linalg.outer, numeric=("x1", "x2"))
def _linalg_outer(x1: Operand, x2: Operand, /) -> Result:
    x, y = strong(x1, x2)
    if x.type.ndim != 1 or y.type.ndim != 1:
        raise ShapeMismatchError(f"np.linalg.outer takes vectors; the arguments have {x.type.ndim} and {y.type.ndim} dimensions")
    return _outer_of(x, y)


def tensordot_of(a: Operand, b: Operand, axes: Operand = 2) -> Result:
    """Over the last axes of a and the first of b, or over the pairs of axes given."""
    x, y = strong(a, b)
    n, m = x.type.ndim, y.type.ndim
    if isinstance(axes, (int, np.integer)):
        count = int(axes)
        if count > min(n, m):
            raise ShapeMismatchError(f"np.tensordot over {count} axes of arrays of shapes {x.type.shape} and {y.type.shape}")
        pairs: Result = (range(n - count, n), range(count))
    else:
        pairs = [[part] if np.ndim(part) == 0 else list(part) for part in axes]
    places = tuple(tuple(axis_of(i, k) for i in part) for part, k in zip(pairs, (n, m), strict=True))
    if len(places[0]) != len(places[1]) or any(x.type.shape[i] != y.type.shape[j] for i, j in zip(*places, strict=True)):
        raise ShapeMismatchError(f"np.tensordot: axes {places[0]} of shape {x.type.shape} do not match axes {places[1]} of {y.type.shape}")
    if not places[0]:
        return product(with_shape(x, (*x.type.shape, *[1] * m)), y)
    return dot(x, y, contract=places, batch=((), ()))


implements(np.tensordot, numeric=("a", "b"), structural=("axes",))(tensordot_of)
implements(np.linalg.tensordot, numeric=("x1", "x2"), structural=("axes",))(lambda x1, x2, /, *, axes=2: tensordot_of(x1, x2, axes))


@implements(np.kron, numeric=("a", "b"))
def _kron(a: Operand, b: Operand) -> Result:
    x, y = strong(a, b)
    n = max(x.type.ndim, y.type.ndim)
    left, right = ((*[1] * (n - v.type.ndim), *v.type.shape) for v in (x, y))
    x = with_shape(x, [k for size in left for k in (size, 1)])
    y = with_shape(y, [k for size in right for k in (1, size)])
    return with_shape(product(x, y), [i * j for i, j in zip(left, right, strict=True)])


# ---- matmul: stacks of matrices


def matmul(a: Operand, b: Operand, dtype: DTypeLike = None) -> Result:
    """NumPy's rules: vectors lose the axis they are given, leading axes broadcast."""
    x, y = strong(a, b, dtype=dtype)
    n, m = x.type.ndim, y.type.ndim
    if n == 0 or m == 0:
        raise ShapeMismatchError("np.matmul (the @ operator) does not take scalars: use * instead")
    _check_aligned("matmul", x, y, n - 1, max(m - 2, 0))
    if m <= 2 or n == 1:
        return dot(x, y, contract=((n - 1,), (max(m - 2, 0),)), batch=((), ()))
    leading = broadcast_shapes(x.type.shape[:-2], y.type.shape[:-2])
    if n == 2 and y.type.shape[:-2] == leading:  # one matrix on the left: its rows are a free axis, which moves behind the leading ones
        out = dot(x, y, contract=((1,), (m - 2,)), batch=((), ()))
        return reordered(out, [*range(1, m - 1), 0, m - 1])
    return matrix_product(broadcast_to(x, (*leading, *x.type.shape[-2:])), broadcast_to(y, (*leading, *y.type.shape[-2:])))


def _vecdot(a: Operand, b: Operand, dtype: DTypeLike = None, axis: int = -1) -> Result:
    x, y = (_moved_last(x, axis) for x in strong(a, b, dtype=dtype))
    _check_aligned("vecdot", x, y, x.type.ndim - 1, y.type.ndim - 1)
    if x.type.ndim == 1 and y.type.ndim == 1:
        return dot(conjugate(x), y, contract=((0,), (0,)), batch=((), ()))
    out = product(conjugate(x), y)
    return sum_of(out, (out.type.ndim - 1,))


def _matvec(a: Operand, b: Operand, dtype: DTypeLike = None) -> Result:
    """Matrices times vectors, both stacked."""
    x, y = strong(a, b, dtype=dtype)
    if y.type.ndim == 1:
        return matmul(x, y)
    return _without_axis(matmul(x, with_shape(y, (*y.type.shape, 1))), -1)


def _vecmat(a: Operand, b: Operand, dtype: DTypeLike = None) -> Result:
    """Conjugated vectors times matrices, both stacked."""
    x, y = strong(a, b, dtype=dtype)
    x = conjugate(x)
    if x.type.ndim == 1:
        return matmul(x, y)
    return _without_axis(matmul(with_shape(x, (*x.type.shape[:-1], 1, x.type.shape[-1])), y), -2)


def _without_axis(x: Operand, axis: int) -> Result:
    place = axis % x.type.ndim
    return with_shape(x, [n for i, n in enumerate(x.type.shape) if i != place])


def _declare(ufunc: Operand, implementation: Operand, keywords: Sequence[str]) -> Door:
    """The door of a ufunc of products; two operands and nothing else are the hot path."""
    door = Door(ufunc.__name__, implementation)
    data = frozenset(("a", "b"))

    def call(*xs: Operand, **kwargs: Operand) -> Result:
        if not kwargs and len(xs) == 2 and not isinstance(xs[0], (list, tuple)) and not isinstance(xs[1], (list, tuple)):
            return binary(door, *xs)
        for name in [k for k, v in kwargs.items() if (k, v) in _HARMLESS]:
            del kwargs[name]
        for name, given in kwargs.items():
            if name not in keywords:
                refuse(ufunc.__name__, name, given)
        if kwargs.get("dtype") is not None:
            kwargs["dtype"] = np.dtype(kwargs["dtype"])
        return record_call(door, ["a", "b", *keywords], data, frozenset(), xs, kwargs)

    call.__name__ = ufunc.__name__
    DOORS[ufunc] = call
    return door


_HARMLESS = [("out", None), ("order", "K"), ("subok", True), ("casting", "same_kind")]
_MATMUL = _declare(np.matmul, matmul, ["dtype"])
_declare(np.vecdot, _vecdot, ["dtype", "axis"])
if hasattr(np, "matvec"):  # since NumPy 2.2
    _declare(np.matvec, _matvec, ["dtype"])
    _declare(np.vecmat, _vecmat, ["dtype"])


def _operator(left: Operand, right: Operand) -> Result:
    if type(left) in _LISTS or type(right) in _LISTS:
        return DOORS[np.matmul](left, right)
    return binary(_MATMUL, left, right)


_LISTS = (list, tuple)
install("__matmul__", lambda self, other: binary(_MATMUL, self, other) if type(other) is Tracer else _operator(self, other))
install("__rmatmul__", lambda self, other: _operator(other, self))


implements(np.linalg.matmul, numeric=("x1", "x2"))(lambda x1, x2, /: matmul(x1, x2))
implements(np.linalg.vecdot, numeric=("x1", "x2"))(lambda x1, x2, /, *, axis=-1: _vecdot(x1, x2, axis=axis))


@implements(np.linalg.multi_dot, numeric=("arrays",))
def _multi_dot(arrays: Operand, *, out: object = None) -> Result:
    """Products in the order that needs the fewest multiplications (Cormen et al., Introduction to Algorithms, 15.2)."""
    xs = strong(*arrays)
    if len(xs) < 2:
        raise ShapeMismatchError("np.linalg.multi_dot takes at least two arrays")
    ends = (xs[0].type.ndim == 1, xs[-1].type.ndim == 1)
    xs[0] = with_shape(xs[0], (1, xs[0].type.size)) if ends[0] else xs[0]
    xs[-1] = with_shape(xs[-1], (xs[-1].type.size, 1)) if ends[1] else xs[-1]
    for x in xs:
        if x.type.ndim != 2:
            raise linalg.MatrixShapeError(f"np.linalg.multi_dot takes matrices, and vectors at the ends; found {x.type.ndim} dimensions")
    product_of_all = _chain(xs)
    rows, columns = product_of_all.type.shape
    return with_shape(product_of_all, [n for n, dropped in zip((rows, columns), ends, strict=True) if not dropped])


def _chain(xs: Sequence[Operand]) -> Result:
    sizes = [xs[0].type.shape[0], *[x.type.shape[1] for x in xs]]
    best: dict[tuple[int, int], tuple[int, int]] = {(i, i): (0, i) for i in range(len(xs))}
    for width in range(1, len(xs)):
        for i in range(len(xs) - width):
            j = i + width
            best[i, j] = min((best[i, k][0] + best[k + 1, j][0] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j))

    def multiplied(i: int, j: int) -> Result:
        if i == j:
            return xs[i]
        split = best[i, j][1]
        return matmul(multiplied(i, split), multiplied(split + 1, j))

    return multiplied(0, len(xs) - 1)


# ---- cross products


_CROSS_SIZES = (2, 3) if np.lib.NumpyVersion(np.__version__) < "2.5.0" else (3,)  # NumPy 2.5 refuses vectors in the plane


@implements(np.cross, numeric=("a", "b"))
def _cross(a: Operand, b: Operand, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Result:
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = strong(a, b)
    return _cross_of(x, y, axisa, axisb, axisc)


def _cross_of(x: Operand, y: Operand, axisa: Operand, axisb: Operand, axisc: Operand) -> Result:
    x, y = _moved_last(x, axisa), _moved_last(y, axisb)
    if x.type.shape[-1] not in _CROSS_SIZES or y.type.shape[-1] not in _CROSS_SIZES:
        sizes = " or ".join(map(str, _CROSS_SIZES))
        raise ShapeMismatchError(f"np.cross takes vectors of {sizes} elements; the shapes are {x.type.shape} and {y.type.shape}")
    left = [component(x, i) for i in range(x.type.shape[-1])]
    right = [component(y, i) for i in range(y.type.shape[-1])]

    def area(i: int, j: int) -> Result:
        """x_i y_j - x_j y_i, where a missing third element is zero."""
        terms = [product(left[p], right[q]) if p < len(left) and q < len(right) else None for p, q in ((i, j), (j, i))]
        if terms[1] is None:
            return terms[0]
        return sub(*terms) if terms[0] is not None else neg(terms[1])

    if len(left) == 2 and len(right) == 2:
        return area(0, 1)
    parts = [area(1, 2), area(2, 0), area(0, 1)]
    out = concatenate(*[with_shape(p, (*p.type.shape, 1)) for p in parts], axis=parts[0].type.ndim)
    n = out.type.ndim
    place = axis_of(axisc, n)
    return reordered(out, [*range(place), n - 1, *range(place, n - 1)])


@implements(np.linalg.cross, numeric=("x1", "x2"))
def _linalg_cross(x1: Operand, x2: Operand, /, *, axis: int = -1) -> Result:
    x, y = strong(x1, x2)
    if x.type.shape[axis_of(axis, x.type.ndim)] != 3 or y.type.shape[axis_of(axis, y.type.ndim)] != 3:
        raise ShapeMismatchError(f"np.linalg.cross takes vectors of 3 elements; the shapes are {x.type.shape} and {y.type.shape}")
    return _cross_of(x, y, axis, axis, axis)


# ---- diagonals


def _trace(x: Operand, offset: Operand, axis1: Operand, axis2: Operand, dtype: DTypeLike) -> Result:
    parts = diagonal_of(operand(x), offset, axis1, axis2)
    kind = parts.type.dtype
    target = np.dtype(dtype) if dtype is not None else np.add.reduce(np.zeros(1, kind)).dtype  # small integers are added up as int64
    return reduce_sum(cast(parts, target), axes=(parts.type.ndim - 1,))


@implements(np.trace, numeric=("a",), method="trace")
def _numpy_trace(a: Operand, offset: Operand = 0, axis1: Operand = 0, axis2: Operand = 1, dtype: DTypeLike = None, out: object = None) -> Result:
    return _trace(a, offset, axis1, axis2, dtype)


implements(np.linalg.trace, numeric=("x",))(lambda x, /, *, offset=0, dtype=None: _trace(x, offset, -2, -1, dtype))
implements(np.linalg.diagonal, numeric=("x",), view=True)(lambda x, /, *, offset=0: diagonal_of(x, offset, -2, -1))
