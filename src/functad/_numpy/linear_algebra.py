"""np.linalg: systems, inverses, determinants, decompositions, and what is made from them.

Signatures and named tuples are NumPy's.  Arguments become stacks of matrices with the same leading axes, as the primitives of `linalg` and
`decompositions` expect them; their conventions (which triangle is read, phases of vectors, degenerate values) are stated there.
"""

import operator

import numpy as np

from functad._core.program import Literal
from functad._core.tracer import Tracer
from functad._core.types import array_type
from functad._numpy.algebra import matmul
from functad._numpy.arguments import NO_VALUE, Operand, Result, axis_of
from functad._numpy.dispatch import DOORS, implements, refuse
from functad._numpy.norms import inexact
from functad._numpy.promote import broadcast_shapes, broadcast_to, cast, operand, with_shape
from functad._numpy.reducing import square_size
from functad._primitives import decompositions, linalg, logic
from functad._primitives import elementwise as e
from functad._primitives.dot import reordered
from functad._primitives.operands import constant
from functad._primitives.reduce import reduce_any, reduce_max, reduce_sum
from functad.errors import UnsupportedFunctionError

__all__: list[str] = []

_EIGH, _QR = type(np.linalg.eigh(np.eye(1))), type(np.linalg.qr(np.eye(1)))
_SVD, _SLOGDET = type(np.linalg.svd(np.eye(1))), type(np.linalg.slogdet(np.eye(1)))


def _number(function: str, name: str, found: object) -> float:
    """A parameter that must be one plain number."""
    if type(found) is Tracer or not isinstance(found, (int, float, np.integer, np.floating)):
        refuse(function, name, found, "it must be a number")
    return float(found)


# ---- systems and inverses


def _stacks(a: Operand, b: Operand) -> tuple[Result, Result]:
    """Two stacks of matrices in one dtype, with the same leading axes."""
    x, y = inexact(a), inexact(b)
    common = np.result_type(x.type.dtype, y.type.dtype)
    leading = broadcast_shapes(x.type.shape[:-2], y.type.shape[:-2])
    return tuple(broadcast_to(cast(v, common), (*leading, *v.type.shape[-2:])) for v in (x, y))  # type: ignore[return-value]


@implements(np.linalg.solve, numeric=("a", "b"))
def _solve(a: Operand, b: Operand) -> Result:
    return _solution(a, b)


def _solution(a: Operand, b: Operand) -> Result:
    x, y = inexact(a), inexact(b)
    linalg.square_size(x.type)
    vector = y.type.ndim == 1  # NumPy 2: only then is b a vector
    if y.type.ndim == 0:
        raise linalg.MatrixShapeError("0-dimensional right-hand side given: a vector or a stack of matrices was expected")
    x, y = _stacks(x, with_shape(y, (y.type.size, 1)) if vector else y)
    out = linalg.solve(x, y, strict=True)
    return with_shape(out, out.type.shape[:-1]) if vector else out


implements(np.linalg.inv, numeric=("a",))(lambda a: linalg.inv(inexact(a), strict=True))


@implements(np.linalg.pinv, numeric=("a",))
def _pinv(a: Operand, rcond: Operand = None, hermitian: bool = False, *, rtol: Operand = NO_VALUE) -> Result:
    if hermitian:
        refuse("linalg.pinv", "hermitian", hermitian)
    x = inexact(a)
    if rcond is not None and rtol is not NO_VALUE:
        raise ValueError("`rtol` and `rcond` can't be both set.")
    if rcond is None and rtol is NO_VALUE:
        return linalg.pinv(x, cutoff=None)
    if rcond is None and rtol is None:
        return linalg.pinv(x, cutoff=float(max(x.type.shape[-2:]) * np.finfo(x.type.dtype).eps))
    return linalg.pinv(x, cutoff=_number("linalg.pinv", "rcond" if rcond is not None else "rtol", rcond if rcond is not None else rtol))


@implements(np.linalg.lstsq, numeric=("a", "b"))
def _lstsq(a: Operand, b: Operand, rcond: Operand = None) -> Result:
    """(solution, residuals, rank, singular values).  The residuals are those of full rank: NumPy's are empty where the rank is smaller."""
    x, y = inexact(a), inexact(b)
    vector = y.type.ndim == 1
    if x.type.ndim != 2 or y.type.ndim not in (1, 2):
        raise linalg.MatrixShapeError(f"np.linalg.lstsq takes a matrix, and a vector or matrix; the shapes are {x.type.shape} and {y.type.shape}")
    rows, columns = x.type.shape
    if y.type.shape[0] != rows:
        raise linalg.MatrixShapeError(f"np.linalg.lstsq: shapes {x.type.shape} and {y.type.shape} are incompatible")
    x, y = _stacks(x, with_shape(y, (rows, 1)) if vector else y)
    eps = np.finfo(x.type.dtype).eps
    cutoff = float(eps * max(rows, columns)) if rcond is None else _number("linalg.lstsq", "rcond", rcond)
    cutoff = float(eps) if cutoff < 0 else cutoff  # LAPACK: machine precision
    out = linalg.lstsq(x, y, cutoff=cutoff)
    left = e.sub(y, matmul(x, out))
    size = square_size(left)
    residuals = reduce_sum(size, axes=(0,)) if rows > columns else Literal(0, array_type((0,), size.type.dtype))
    values = decompositions.svdvals(x)
    rank = cast(_count_above(values, _largest(values, cutoff)), np.int32)
    return with_shape(out, (columns,)) if vector else out, residuals, rank, values


@implements(np.linalg.tensorsolve, numeric=("a", "b"), structural=("axes",))
def _tensorsolve(a: Operand, b: Operand, axes: Operand = None) -> Result:
    x, y = inexact(a), inexact(b)
    n = x.type.ndim
    moved = [] if axes is None else [axis_of(k, n) for k in axes]
    x = reordered(x, [*[i for i in range(n) if i not in moved], *moved])
    shape = x.type.shape[-(n - y.type.ndim) :]  # all of it where there is no more, as NumPy
    size = int(np.prod(shape, dtype=int))
    if x.type.size != size**2:
        raise linalg.MatrixShapeError(f"np.linalg.tensorsolve: an array of shape {x.type.shape} is no square system for {y.type.shape}")
    out = _solution(with_shape(x, (size, size)), with_shape(y, (y.type.size,)))
    return with_shape(out, shape)


@implements(np.linalg.tensorinv, numeric=("a",))
def _tensorinv(a: Operand, ind: int = 2) -> Result:
    x, count = inexact(a), operator.index(ind)
    if count <= 0:
        raise ValueError("Invalid ind argument.")
    shape = x.type.shape
    size = int(np.prod(shape[count:], dtype=int))
    out = linalg.inv(with_shape(x, (x.type.size // max(size, 1), size)), strict=True)
    return with_shape(out, (*shape[count:], *shape[:count]))


@implements(np.linalg.matrix_power, numeric=("a",), structural=("n",))
def _matrix_power(a: Operand, n: Operand) -> Result:
    """By repeated squaring."""
    try:
        count = operator.index(n)
    except TypeError:
        raise TypeError("exponent must be an integer") from None
    x = operand(a)
    linalg.square_size(x.type)
    if count == 0:
        return logic.convert(linalg.on_diagonal(x.type), dtype=x.type.dtype)
    if count < 0:
        x, count = linalg.inv(inexact(x), strict=True), -count
    square, result = None, None
    while count:
        square = x if square is None else matmul(square, square)
        count, bit = divmod(count, 2)
        if bit:
            result = square if result is None else matmul(result, square)
    return result


# ---- determinants and rank


implements(np.linalg.det, numeric=("a",))(lambda a: linalg.det(inexact(a)))
implements(np.linalg.slogdet, numeric=("a",))(lambda a: _SLOGDET(*linalg.slogdet(inexact(a))))


def _largest(values: Operand, factor: float) -> Result:
    """factor * max of the singular values, repeated for each."""
    if values.type.shape[-1] == 0:
        return constant(0, values)
    last = values.type.ndim - 1
    largest = reduce_max(values, axes=(last,))
    limit = e.mul(largest, constant(factor, largest))
    return broadcast_to(with_shape(limit, (*limit.type.shape, 1)), values.type.shape)


def _count_above(values: Operand, limit: Operand) -> Result:
    return reduce_sum(cast(logic.greater(values, limit), np.int64), axes=(values.type.ndim - 1,))


@implements(np.linalg.matrix_rank, numeric=("A", "tol", "rtol"))
def _matrix_rank(A: Operand, tol: Operand = None, hermitian: bool = False, *, rtol: Operand = None) -> Result:
    if hermitian:
        refuse("linalg.matrix_rank", "hermitian", hermitian)
    if rtol is not None and tol is not None:
        raise ValueError("`tol` and `rtol` can't be both set.")
    x = inexact(A)
    if x.type.ndim < 2:
        return cast(reduce_any(logic.not_equal(x, constant(0, x)), axes=tuple(range(x.type.ndim))), np.int64)
    values = decompositions.svdvals(x)
    given = tol if tol is not None else rtol
    if given is None:
        return _count_above(values, _largest(values, float(max(x.type.shape[-2:]) * np.finfo(values.type.dtype).eps)))
    bound = cast(given, values.type.dtype)
    bound = broadcast_to(with_shape(bound, (*bound.type.shape, 1)), values.type.shape)
    return _count_above(values, bound if tol is not None else e.mul(bound, _largest(values, 1.0)))


# ---- decompositions


@implements(np.linalg.cholesky, numeric=("a",))
def _cholesky(a: Operand, /, *, upper: bool = False) -> Result:
    """The upper triangle of a is the lower one of its adjoint."""
    x = inexact(a)
    return linalg.adjoint(linalg.cholesky(linalg.adjoint(x))) if upper else linalg.cholesky(x)


def _lower(function: str, UPLO: str) -> bool:
    if UPLO.upper() not in ("L", "U"):
        raise ValueError(f"np.linalg.{function}: UPLO argument must be 'L' or 'U'")
    return UPLO.upper() == "L"


@implements(np.linalg.eigh, numeric=("a",))
def _eigh(a: Operand, UPLO: str = "L") -> Result:
    return _EIGH(*decompositions.eigh(inexact(a), lower=_lower("eigh", UPLO)))


@implements(np.linalg.eigvalsh, numeric=("a",))
def _eigvalsh(a: Operand, UPLO: str = "L") -> Result:
    return decompositions.eigvalsh(inexact(a), lower=_lower("eigvalsh", UPLO))


@implements(np.linalg.svd, numeric=("a",))
def _svd(a: Operand, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Result:
    if hermitian:
        refuse("linalg.svd", "hermitian", hermitian, "use np.linalg.eigh")
    x = inexact(a)
    return _SVD(*decompositions.svd(x, full=bool(full_matrices))) if compute_uv else decompositions.svdvals(x)


implements(np.linalg.svdvals, numeric=("x",))(lambda x, /: decompositions.svdvals(inexact(x)))


@implements(np.linalg.qr, numeric=("a",))
def _qr(a: Operand, mode: str = "reduced") -> Result:
    if mode not in ("reduced", "complete", "r"):
        refuse("linalg.qr", "mode", mode)
    q, r = decompositions.qr(inexact(a), full=mode == "complete")
    return r if mode == "r" else _QR(q, r)


def _refuse_general(function: Operand) -> None:
    def call(*args: Operand, **kwargs: Operand) -> Result:
        raise UnsupportedFunctionError(
            f"np.linalg.{function.__name__} has no rule for traced values: whether its result is real or complex depends on the values.  "
            "For symmetric or Hermitian matrices use np.linalg.eigh or np.linalg.eigvalsh"
        )

    DOORS[function] = call


for _function in (np.linalg.eig, np.linalg.eigvals):
    _refuse_general(_function)
