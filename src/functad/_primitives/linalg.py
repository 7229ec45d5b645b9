"""Matrices: linear systems, inverses, determinants, the Cholesky factor.  Decompositions into several factors live in `decompositions`.

Every primitive here works on the last two axes; leading axes run together and are the same for all operands.  None has a kernel form: LAPACK,
called through NumPy, does the work between kernels.  A derivative is spelt in primitives, so it can be differentiated again and transposed.
Where NumPy raises LinAlgError for the value, so does the evaluation; what only a derivative needs (`strict=False`) is NaN for a singular
matrix instead, since the branch that asks for it may not be taken.

Sources: Giles, "Collected matrix derivative results for forward and reverse mode algorithmic differentiation" (2008); Murray, "Differentiation of
the Cholesky decomposition" (2016); Golub and Pereyra, "The differentiation of pseudo-inverses and nonlinear least squares problems whose variables
separate" (1973); Stewart, "On the adjugate matrix" (1998).
"""

import numpy as np

from functad._core.primitive import Host, Missing, Primitive
from functad._core.types import ArrayType, array_type
from functad._primitives.arithmetic import add, mask, mul, neg, scale, select, sub, total
from functad._primitives.dot import matrix_product, reordered
from functad._primitives.index import INT, iota
from functad._primitives.logic import REAL_OF, conj, equal, greater_equal, imag, imaginary, logical_and, logical_not, make_complex, real
from functad._primitives.operands import Array, Examples, Shape, Value, constant
from functad._primitives.reduce import reduce_sum
from functad._primitives.rules import NOT_LINEAR, Batched, Flags, Inferred, Pushed, Rule, Tangents, Transform, Values
from functad._primitives.shape import aligned, broadcast, reshape, slice_
from functad.errors import ShapeMismatchError

__all__ = [
    "MatrixShapeError", "adjoint", "cholesky", "cofactors", "det", "diagonal", "from_triangle", "host", "inv", "lstsq", "matrices", "matrix_shape",
    "minors", "on_diagonal", "pinv", "slogdet", "solve", "square_size", "swapped", "triangle",
]  # fmt: skip


class MatrixShapeError(ShapeMismatchError, np.linalg.LinAlgError):
    """What should be a matrix, or a square one, is not; also what NumPy raises then."""


# ---- the kind: an operation on the last two axes


def host(
    name: str,
    numpy: Rule,
    infer: Rule,
    jvp: Rule,
    examples: Examples,
    *,
    reason: str = "a LAPACK routine",
    transpose: Rule | Missing = NOT_LINEAR,
    multiple: bool = False,
    kind: str = "linalg",
    note: str = "",
) -> Primitive:
    """Declare an operation of matrices that NumPy computes: mapping adds a leading axis to every operand.

    The kind "hermitian" marks those that read one triangle and differentiate both: their derivative may be tested along Hermitian directions only.
    """

    def batch(transform: Transform, xs: Values, mapped: Flags, size: int, **params: object) -> Batched:
        out = op(*aligned(xs, mapped, size), **params)
        return (list(out), [True] * len(out)) if multiple else ([out], [True])

    op = Primitive(
        name=name, numpy=numpy, infer=infer, jvp=jvp, transpose=transpose, batch=batch, kernel=Host(reason), kind=kind, multiple=multiple,
        examples=examples, note=note,
    )  # fmt: skip
    return op


def matrix_shape(x: ArrayType) -> tuple[Shape, int, int]:
    """(leading axes, rows, columns) of a stack of matrices."""
    if x.ndim < 2:
        raise MatrixShapeError(f"{x.ndim}-dimensional array given: an array of at least two dimensions was expected")
    return x.shape[:-2], x.shape[-2], x.shape[-1]


def square_size(x: ArrayType) -> int:
    """The n of a stack of n x n matrices."""
    _, rows, columns = matrix_shape(x)
    if rows != columns:
        raise MatrixShapeError(f"the last two dimensions of the array must be square: its shape is {x.shape}")
    return rows


def _like_the_matrix(x: ArrayType, **params: object) -> Inferred:
    square_size(x)
    return (array_type(x.shape, x.dtype),)


def _one_number(x: ArrayType) -> Inferred:
    square_size(x)
    return (array_type(x.shape[:-2], x.dtype),)


def matrices(*shape: int, kind: str = "f", seed: int = 3) -> Array:
    """Example matrices: square ones are well conditioned."""
    random = np.random.default_rng(seed)
    x = random.uniform(-1, 1, shape)
    if kind == "c":
        x = x + 1j * random.uniform(-1, 1, shape)
    return x + 2 * np.eye(shape[-1]) if shape[-1] == shape[-2] else x


def _square_examples(**params: object) -> Examples:
    return lambda: [([x], params) for x in (matrices(3, 3), matrices(2, 2, 2), matrices(1, 1), matrices(2, 2, kind="c"))]


# ---- pieces that the rules are made of


def swapped(x: Value) -> Value:
    """The last two axes exchanged."""
    n = x.type.ndim
    return reordered(x, (*range(n - 2), n - 1, n - 2))


def adjoint(x: Value) -> Value:
    """The conjugate transpose."""
    return swapped(conj(x) if x.type.dtype.kind == "c" else x)


def diagonal(x: Value, offset: int = 0) -> Value:
    """A diagonal of the last two axes: every (columns + 1)th element of the flattened matrix."""
    *leading, rows, columns = x.type.shape
    count = max(0, min(rows + min(offset, 0), columns - max(offset, 0)))
    begin = (offset if offset >= 0 else -offset * columns) if count else 0
    flat = reshape(x, shape=(*leading, rows * columns))
    return slice_(flat, start=(*[0] * len(leading), begin), size=(*leading, count), step=(*[1] * len(leading), columns + 1))


def _places(kind: ArrayType) -> tuple[Value, Value]:
    """The number of the row and of the column of each element."""
    return iota(shape=kind.shape, axis=kind.ndim - 2, dtype=INT), iota(shape=kind.shape, axis=kind.ndim - 1, dtype=INT)


def triangle(kind: ArrayType, lower: bool = True) -> Value:
    """Booleans of that shape: True on the diagonal and below it (above it)."""
    row, column = _places(kind)
    return greater_equal(row, column) if lower else greater_equal(column, row)


def on_diagonal(kind: ArrayType) -> Value:
    """Booleans of that shape: True on the diagonal."""
    return equal(*_places(kind))


def from_triangle(x: Value, lower: bool = True) -> Value:
    """The Hermitian matrix of which x holds the lower (upper) triangle: the other triangle and the diagonal's imaginary part are not read."""
    on = on_diagonal(x.type)
    off = mask(logical_and(triangle(x.type, lower), logical_not(on)), x)
    middle = make_complex(real(x), constant(0, real(x))) if x.type.dtype.kind == "c" else x
    return add(add(off, adjoint(off)), mask(on, middle))


def _spread_number(x: Value, shape: Shape) -> Value:
    """One number for each matrix, repeated over the matrix."""
    return broadcast(x, shape=shape, axes=tuple(range(len(shape) - 2)))


def _sum_of_products(t: Value, p: Value) -> Value:
    """sum of t_ij p_ij for each matrix."""
    n = t.type.ndim
    return reduce_sum(scale(t, p), axes=(n - 2, n - 1))


# ---- linear systems and inverses


def _singular_as_nan(function: Rule, *xs: Array) -> Array:
    """function(*xs), with NaN for each matrix that is singular."""
    try:
        return function(*xs)
    except np.linalg.LinAlgError:
        first = xs[0]
        if first.ndim == 2:
            return np.full(xs[-1].shape, np.nan, first.dtype)
        return np.stack([_singular_as_nan(function, *parts) for parts in zip(*xs, strict=True)])


def _solve_infer(a: ArrayType, b: ArrayType, strict: bool) -> Inferred:
    n = square_size(a)
    if b.ndim != a.ndim or b.shape[:-1] != (*a.shape[:-2], n):
        raise ShapeMismatchError(f"a system with matrices of shape {a.shape} has a right-hand side of shape {b.shape}")
    return (array_type(b.shape, b.dtype),)


def _solve_numpy(a: Array, b: Array, strict: bool) -> Array:
    return np.linalg.solve(a, b) if strict else _singular_as_nan(np.linalg.solve, a, b)


def _solve_jvp(transform: Transform, xs: Values, ts: Tangents, strict: bool) -> Pushed:
    """a x = b: a dx = db - da x (Giles 2008, 2.3.1)."""
    (a, b), (ta, tb) = xs, ts
    x = solve(a, b, strict=strict)
    change = total([tb, None if ta is None else neg(matrix_product(ta, x))])
    return [x], [solve(a, change, strict=strict)]


solve: Primitive = host(
    "solve", _solve_numpy, _solve_infer, _solve_jvp,
    lambda: [([matrices(3, 3), matrices(3, 2, seed=1)], {"strict": True}), ([matrices(2, 2, 2), matrices(2, 2, 1)], {"strict": False}),
             ([matrices(2, 2, kind="c"), matrices(2, 3, kind="c")], {"strict": True})],
    transpose=lambda transform, cts, xs, types, strict: [None, solve(swapped(xs[0]), cts[0], strict=strict)],
    note="x of a x = b, where b is a stack of matrices",
)  # fmt: skip


def _inv_jvp(transform: Transform, xs: Values, ts: Values, strict: bool) -> Pushed:
    """d(a^-1) = -a^-1 da a^-1 (Giles 2008, 2.2.3)."""
    out = inv(xs[0], strict=strict)
    return [out], [neg(matrix_product(matrix_product(out, ts[0]), out))]


inv: Primitive = host(
    "inv", lambda x, strict: np.linalg.inv(x) if strict else _singular_as_nan(np.linalg.inv, x), _like_the_matrix, _inv_jvp,
    _square_examples(strict=True),
)  # fmt: skip


def _pinv_infer(x: ArrayType, cutoff: float | None) -> Inferred:
    leading, rows, columns = matrix_shape(x)
    return (array_type((*leading, columns, rows), x.dtype),)


def _pinv_jvp(transform: Transform, xs: Values, ts: Values, cutoff: float | None) -> Pushed:
    """Golub and Pereyra 1973, eq. 4.12; where the rank changes there is no derivative.  p and q project on what a and p leave out."""
    a, t = xs[0], ts[0]
    p = pinv(a, cutoff=cutoff)
    ph, th = adjoint(p), adjoint(t)
    left = matrix_product(matrix_product(p, ph), sub(th, matrix_product(matrix_product(th, a), p)))
    right = matrix_product(sub(th, matrix_product(p, matrix_product(a, th))), matrix_product(ph, p))
    return [p], [total([neg(matrix_product(matrix_product(p, t), p)), left, right])]


pinv: Primitive = host(
    "pinv", lambda x, cutoff: np.linalg.pinv(x) if cutoff is None else np.linalg.pinv(x, cutoff), _pinv_infer, _pinv_jvp,
    lambda: [([x], {"cutoff": None}) for x in (matrices(3, 2), matrices(2, 3), matrices(2, 2, 2), matrices(3, 2, kind="c"))],
)  # fmt: skip


def _lstsq_numpy(a: Array, b: Array, cutoff: float) -> Array:
    if a.ndim == 2:
        return np.linalg.lstsq(a, b, rcond=cutoff)[0]
    return np.stack([_lstsq_numpy(*parts, cutoff) for parts in zip(a, b, strict=True)])


def _lstsq_infer(a: ArrayType, b: ArrayType, cutoff: float) -> Inferred:
    if a.ndim < 2 or b.shape[:-1] != a.shape[:-1]:
        raise MatrixShapeError(f"a least-squares problem with matrices of shape {a.shape} has a right-hand side of shape {b.shape}")
    return (array_type((*a.shape[:-2], a.shape[-1], b.shape[-1]), b.dtype),)


def _lstsq_jvp(transform: Transform, xs: Values, ts: Tangents, cutoff: float) -> Pushed:
    """x = p b for the pseudo-inverse p, whose derivative is that of `pinv`, applied to b from the right so that only columns are formed."""
    (a, b), (ta, tb) = xs, ts
    x, p = lstsq(a, b, cutoff=cutoff), pinv(a, cutoff=cutoff)
    parts = [] if tb is None else [matrix_product(p, tb)]
    if ta is not None:
        ph, th = adjoint(p), adjoint(ta)
        residual = sub(b, matrix_product(a, x))
        within = matrix_product(th, matrix_product(ph, x))
        parts += [neg(matrix_product(p, matrix_product(ta, x))), matrix_product(p, matrix_product(ph, matrix_product(th, residual))),
                  sub(within, matrix_product(p, matrix_product(a, within)))]  # fmt: skip
    return [x], [total(parts)]


lstsq: Primitive = host(
    "lstsq", _lstsq_numpy, _lstsq_infer, _lstsq_jvp,
    lambda: [([a, matrices(a.shape[-2], 1, seed=2)], {"cutoff": 1e-14}) for a in (matrices(3, 2), matrices(2, 3), matrices(2, 2))],
    note="the shortest x that brings a x closest to b",
)  # fmt: skip


# ---- determinants.  The derivative of det is the matrix of cofactors, which is right for singular matrices too; theirs are the minors


def _rotations(x: Array) -> tuple[Array, Array, Array, Array]:
    """u, s, vh of the singular value decomposition, and det(u) det(vh)."""
    u, s, vh = np.linalg.svd(x)
    return u, s, vh, np.linalg.det(u) * np.linalg.det(vh)


def _cofactors_numpy(x: Array) -> Array:
    """cof(u s vh) = cof(u) cof(s) cof(vh), and cof(u) = det(u) conj(u) for a unitary u (Stewart 1998): no division by s."""
    n = x.shape[-1]
    if n <= 1:
        return np.ones_like(x)
    u, s, vh, sign = _rotations(x)
    others = np.stack([np.prod(np.delete(s, i, axis=-1), axis=-1) for i in range(n)], axis=-1)
    return np.conj(u) * (others * np.asarray(sign)[..., None])[..., None, :] @ np.conj(vh)


def _minors_numpy(x: Array, m: Array) -> Array:
    """Derivative of cofactors along m: for a diagonal matrix s, that of entry (i, i) is the sum over k of p_ik m_kk, and that of (i, j) is
    -p_ij m_ji, where p_ij is the product of all s but s_i and s_j."""
    n = x.shape[-1]
    if n <= 1:
        return np.zeros_like(x)
    u, s, vh, sign = _rotations(x)
    inner = np.conj(np.swapaxes(u, -1, -2)) @ m @ np.conj(np.swapaxes(vh, -1, -2))
    p = np.zeros(x.shape, s.dtype)
    for i in range(n):
        for j in range(i):
            p[..., i, j] = p[..., j, i] = np.prod(np.delete(s, [i, j], axis=-1), axis=-1)
    out = -p * np.swapaxes(inner, -1, -2)
    places = np.arange(n)
    out[..., places, places] = np.einsum("...ik,...kk->...i", p, inner)
    return np.conj(u) * np.asarray(sign)[..., None, None] @ out @ np.conj(vh)


def _det_jvp(transform: Transform, xs: Values, ts: Values) -> Pushed:
    return [det(xs[0])], [_sum_of_products(ts[0], cofactors(xs[0]))]


det: Primitive = host("det", lambda x: np.linalg.det(x)[()], _one_number, _det_jvp, _square_examples())
cofactors: Primitive = host(
    "cofactors", _cofactors_numpy, _like_the_matrix, lambda transform, xs, ts: ([cofactors(xs[0])], [minors(xs[0], ts[0])]), _square_examples(),
    reason="singular value decomposition", note="derivative of det: right for singular matrices",
)  # fmt: skip


def _minors_jvp(transform: Transform, xs: Values, ts: Tangents) -> Pushed:
    """Linear in m.  In x through the inverse: with b = x^-T, minors(x, m) = det(x) (<b, m> b - b m^T b)."""
    (x, m), (tx, tm) = xs, ts
    out = minors(x, m)
    parts = [None if tm is None else minors(x, tm)]
    if tx is not None:
        b = swapped(inv(x, strict=False))
        tb = neg(matrix_product(matrix_product(b, swapped(tx)), b))
        mt, shape = swapped(m), x.type.shape

        def times(number: Value, matrix: Value) -> Value:
            return mul(matrix, _spread_number(number, shape))

        bmt = matrix_product(b, mt)
        changed = [times(_sum_of_products(tb, m), b), times(_sum_of_products(m, b), tb),
                   neg(matrix_product(matrix_product(tb, mt), b)), neg(matrix_product(bmt, tb))]  # fmt: skip
        whole = total(changed)
        assert whole is not None
        parts += [times(_sum_of_products(tx, b), out), times(det(x), whole)]
    return [out], [total(parts)]


def _minors_infer(x: ArrayType, m: ArrayType) -> Inferred:
    square_size(x)
    if x.shape != m.shape:
        raise ShapeMismatchError(f"minors of a matrix of shape {x.shape} along one of shape {m.shape}")
    return (array_type(x.shape, x.dtype),)


minors: Primitive = host(
    "minors", _minors_numpy, _minors_infer, _minors_jvp,
    lambda: [([matrices(*s, kind=k), matrices(*s, kind=k, seed=1)], {}) for s, k in (((3, 3), "f"), ((2, 2, 2), "f"), ((2, 2), "c"))],
    # <w, minors(x, m)> is the second derivative of det along w and m: symmetric
    transpose=lambda transform, cts, xs, types: [None, minors(xs[0], cts[0])],
    reason="singular value decomposition", note="derivative of the cofactors of x along m",
)  # fmt: skip


def _slogdet_infer(x: ArrayType) -> Inferred:
    square_size(x)
    return array_type(x.shape[:-2], x.dtype), array_type(x.shape[:-2], REAL_OF[x.dtype.char])


def _slogdet_jvp(transform: Transform, xs: Values, ts: Values) -> Pushed:
    """d log det(a) = tr(a^-1 da) (Giles 2008, 2.2.4): the real part is that of log|det|, the imaginary part turns the sign."""
    sign, log = slogdet(xs[0])
    change = _sum_of_products(ts[0], swapped(inv(xs[0], strict=False)))
    if change.type.dtype.kind != "c":
        return [sign, log], [None, change]
    angle = imag(change)
    return [sign, log], [scale(imaginary(angle), sign), real(change)]


def _slogdet_numpy(x: Array) -> Array:
    sign, log = np.linalg.slogdet(x)
    return sign[()], log[()]


slogdet: Primitive = host("slogdet", _slogdet_numpy, _slogdet_infer, _slogdet_jvp, _square_examples(), multiple=True)


# ---- the Cholesky factor


def _cholesky_jvp(transform: Transform, xs: Values, ts: Values) -> Pushed:
    """l^-1 dl is the lower triangle, with half the diagonal, of l^-1 da l^-H (Murray 2016, eq. 8), da read from the lower triangle."""
    out = cholesky(xs[0])
    half = solve(out, from_triangle(ts[0]), strict=False)
    inner = solve(out, adjoint(half), strict=False)
    weight = select(on_diagonal(out.type), constant(0.5, out), constant(1, out))
    return [out], [matrix_product(out, mask(triangle(out.type), scale(inner, weight)))]


def _positive(*shape: int, kind: str = "f") -> Array:
    x = matrices(*shape, kind=kind)
    return x @ np.conj(np.swapaxes(x, -1, -2)) + np.eye(shape[-1])


cholesky: Primitive = host(
    "cholesky", np.linalg.cholesky, _like_the_matrix, _cholesky_jvp,
    lambda: [([_positive(3, 3)], {}), ([_positive(2, 2, 2)], {}), ([_positive(2, 2, kind="c")], {})],
    kind="hermitian", note="lower factor; reads the lower triangle",
)  # fmt: skip
