"""Decompositions of matrices into factors: eigenvalues of Hermitian matrices, singular values, orthogonal and triangular factors.

They work on the last two axes, in NumPy between kernels (see `linalg`).  Conventions:

* `eigh` and `eigvalsh` read one triangle, and so does their derivative: it is zero for the elements that are not read.
* Values have their derivative everywhere, degenerate or not: it never divides by a difference of two of them.  (Where values coincide this is the
  derivative of their sorted list along the basis that LAPACK chose: right for every symmetric function of them.)
* Vectors have none where their value is degenerate: the derivative is infinite there, never a number that looks right, except for what does not
  depend on the choice of basis (a zero cotangent, the projector on the whole eigenspace).
* Vectors are unique up to a phase: the derivative is the one in which that phase does not change.  The columns that `full` adds to a factor of a
  matrix that is not square are determined up to a rotation; their derivative leaves the rotation alone.

Sources: Giles, "Collected matrix derivative results for forward and reverse mode algorithmic differentiation" (2008); Townsend, "Differentiating the
singular value decomposition" (2016); Wan and Zhang, "Automatic differentiation for complex valued SVD" (2019); Walter and Lehmann, "Algorithmic
differentiation of linear algebra functions with application in optimum experimental design" (2010).
"""

import numpy as np

from functad._core.primitive import Primitive
from functad._core.types import ArrayType, array_type
from functad._primitives.arithmetic import add, mask, mul, neg, over, select, sub
from functad._primitives.dot import matrix_product
from functad._primitives.linalg import (
    adjoint,
    diagonal,
    from_triangle,
    host,
    matrices,
    matrix_shape,
    on_diagonal,
    solve,
    square_size,
    swapped,
    triangle,
)
from functad._primitives.logic import REAL_OF, equal, imag, imaginary, logical_not, make_complex, real
from functad._primitives.operands import Array, Example, Shape, Value, constant
from functad._primitives.rules import Inferred, Pushed, Transform, Values
from functad._primitives.shape import broadcast, concatenate, part

__all__ = ["eigh", "eigvalsh", "qr", "svd", "svdvals"]


# ---- pieces


def _part(x: Value, axis: int, begin: int, end: int) -> Value:
    """x[..., begin:end] along an axis counted from the end."""
    axis += x.type.ndim
    return x if end - begin == x.type.shape[axis] else part(x, axis, begin, end)


def _along(x: Value, shape: Shape, axis: int, like: Value) -> Value:
    """A vector for each matrix, repeated along the other axis of matrices of that shape, in the dtype of `like`."""
    n = len(shape)
    out = broadcast(x, shape=shape, axes=(*range(n - 2), n + axis))
    return make_complex(out, constant(0, out)) if like.type.dtype.kind == "c" else out


def _real_diagonal(x: Value) -> Value:
    out = diagonal(x)
    return real(out) if out.type.dtype.kind == "c" else out


def _between(x: Value, gaps: Value) -> Value:
    """x / gaps off the diagonal, zero on it.

    A gap of zero counts as the smallest positive number: infinite for every x but 0, and 0 for a tangent or cotangent that is 0 there.
    """
    zero = constant(0, gaps)
    smallest = constant(2.0**-1074 if REAL_OF[gaps.type.dtype.char] == np.float64 else 2.0**-149, gaps)
    return mask(logical_not(on_diagonal(x.type)), over(x, select(equal(gaps, zero), smallest, gaps)))


# ---- Hermitian matrices


def _eigh_infer(x: ArrayType, lower: bool) -> Inferred:
    square_size(x)
    return array_type(x.shape[:-1], REAL_OF[x.dtype.char]), array_type(x.shape, x.dtype)


def _eigh_numpy(x: Array, lower: bool) -> Array:
    return tuple(np.linalg.eigh(x, "L" if lower else "U"))


def _eigh_jvp(transform: Transform, xs: Values, ts: Values, lower: bool) -> Pushed:
    """With m = v^H da v: dw_i = m_ii, dv = v (m_ij / (w_j - w_i)) off the diagonal (Giles 2008, 3.1)."""
    w, v = eigh(xs[0], lower=lower)
    m = matrix_product(adjoint(v), matrix_product(from_triangle(ts[0], lower), v))
    gaps = sub(_along(w, m.type.shape, -1, m), _along(w, m.type.shape, -2, m))
    return [w, v], [_real_diagonal(m), matrix_product(v, _between(m, gaps))]


def _eigvalsh_jvp(transform: Transform, xs: Values, ts: Values, lower: bool) -> Pushed:
    w, v = eigh(xs[0], lower=lower)
    return [w], [_real_diagonal(matrix_product(adjoint(v), matrix_product(from_triangle(ts[0], lower), v)))]


def _hermitian_examples() -> list[Example]:
    xs = [matrices(3, 3), matrices(2, 2, 2)]  # LAPACK gives complex vectors a phase of its own: no differences of them
    return [([x + np.conj(np.swapaxes(x, -1, -2)) + np.diag(np.arange(x.shape[-1]))], {"lower": low}) for x in xs for low in (True, False)]


eigh: Primitive = host(
    "eigh", _eigh_numpy, _eigh_infer, _eigh_jvp, _hermitian_examples,
    multiple=True, kind="hermitian", note="eigenvalues, eigenvectors in columns",
)  # fmt: skip
eigvalsh: Primitive = host(
    "eigvalsh", lambda x, lower: np.linalg.eigvalsh(x, "L" if lower else "U"), lambda x, lower: _eigh_infer(x, lower)[:1], _eigvalsh_jvp,
    lambda: [*_hermitian_examples(), ([np.array([[2, 1j], [-1j, 3]])], {"lower": True})], kind="hermitian",
)  # fmt: skip

# ---- singular values


def _svd_infer(x: ArrayType, full: bool) -> Inferred:
    leading, rows, columns = matrix_shape(x)
    count = min(rows, columns)
    u, vh = (*leading, rows, rows if full else count), (*leading, columns if full else count, columns)
    return array_type(u, x.dtype), array_type((*leading, count), REAL_OF[x.dtype.char]), array_type(vh, x.dtype)


def _thin_svd_tangents(t: Value, u: Value, s: Value, v: Value) -> tuple[Value, Value, Value]:
    """(du, ds, dv) of the thin factors, v = vh^H (Townsend 2016; the phase of complex vectors as in Wan and Zhang 2019, all of it in u).

    With p = u^H da v: ds = Re p_ii; du = u (f (p s + s p^H)), dv = v (f (s p + p^H s)), f_ij = 1/((s_j - s_i)(s_j + s_i)) off the diagonal; and what
    lies outside the span of the thin factor, divided by s.
    """
    p = matrix_product(adjoint(u), matrix_product(t, v))
    shape = p.type.shape
    row, column = _along(s, shape, -1, p), _along(s, shape, -2, p)
    gaps = mul(sub(row, column), add(row, column))
    ps, sp = mul(p, row), mul(p, column)
    turn_u = _between(add(ps, adjoint(ps)), gaps)
    if p.type.dtype.kind == "c":
        angle = imag(p)
        phase = over(imaginary(angle), row)
        turn_u = add(turn_u, mask(on_diagonal(p.type), phase))
    du = matrix_product(u, turn_u)
    dv = matrix_product(v, _between(add(sp, adjoint(sp)), gaps))
    return _with_outside(du, u, t, v, s), _real_diagonal(p), _with_outside(dv, v, adjoint(t), u, s)


def _with_outside(change: Value, u: Value, t: Value, v: Value, s: Value) -> Value:
    """change + (1 - u u^H) t v / s, which is zero for a square u."""
    if u.type.shape[-1] == u.type.shape[-2]:
        return change
    tv = matrix_product(t, v)
    outside = sub(tv, matrix_product(u, matrix_product(adjoint(u), tv)))
    return add(change, over(outside, _along(s, outside.type.shape, -1, outside)))


def _completed(du: Value, u: Value, count: int) -> Value:
    """The tangent of the columns that complete u to a unitary matrix: d(u2) = -u1 (du1^H u2), appended to du1."""
    if u.type.shape[-1] == count:
        return du
    u1, u2 = _part(u, -1, 0, count), _part(u, -1, count, u.type.shape[-1])
    rest = neg(matrix_product(u1, matrix_product(adjoint(du), u2)))
    return concatenate(du, rest, axis=u.type.ndim - 1)


def _svd_jvp(transform: Transform, xs: Values, ts: Values, full: bool) -> Pushed:
    u, s, vh = svd(xs[0], full=full)
    count = s.type.shape[-1]
    v = adjoint(vh)
    du, ds, dv = _thin_svd_tangents(ts[0], _part(u, -1, 0, count), s, _part(v, -1, 0, count))
    return [u, s, vh], [_completed(du, u, count), ds, adjoint(_completed(dv, v, count))]


def _svdvals_jvp(transform: Transform, xs: Values, ts: Values) -> Pushed:
    u, s, vh = svd(xs[0], full=False)
    return [s], [_real_diagonal(matrix_product(adjoint(u), matrix_product(ts[0], adjoint(vh))))]


def _any_examples(full: bool) -> list[Array]:
    return [matrices(2, 2), matrices(3, 2), matrices(2, 3), matrices(2, 2, 2), *([] if full else [matrices(4, 2)])]


svd: Primitive = host(
    "svd", lambda x, full: tuple(np.linalg.svd(x, full_matrices=full)), _svd_infer, _svd_jvp,
    lambda: [([x], {"full": full}) for full in (True, False) for x in _any_examples(full)],
    multiple=True, note="u, s, vh; `full` completes u and vh to unitary matrices",
)  # fmt: skip
svdvals: Primitive = host(
    "svdvals", lambda x: np.linalg.svd(x, compute_uv=False), lambda x: (_svd_infer(x, False)[1],), _svdvals_jvp,
    lambda: [([x], {}) for x in [*_any_examples(False), matrices(3, 2, kind="c")]],
)  # fmt: skip

# ---- orthogonal and triangular factors


def _qr_infer(x: ArrayType, full: bool) -> Inferred:
    leading, rows, columns = matrix_shape(x)
    inner = rows if full else min(rows, columns)
    return array_type((*leading, rows, inner), x.dtype), array_type((*leading, inner, columns), x.dtype)


def _qr_jvp(transform: Transform, xs: Values, ts: Values, full: bool) -> Pushed:
    """Walter and Lehmann 2010: with c = da r^-1 and m = q^H c, q^H dq = w = l - l^H for l the part of m below the diagonal, and dr = q^H da - w r.

    Of a wide matrix the leading square block decides q.
    """
    q, r = qr(xs[0], full=full)
    count = min(xs[0].type.shape[-2:])
    q1, r1 = _part(q, -1, 0, count), _part(r, -2, 0, count)
    head = _part(r1, -1, 0, count)
    c = swapped(solve(swapped(head), swapped(_part(ts[0], -1, 0, count)), strict=False))
    m = matrix_product(adjoint(q1), c)
    below = mask(logical_not(triangle(m.type, lower=False)), m)
    turn = sub(below, adjoint(below))
    if m.type.dtype.kind == "c":  # the diagonal of r stays real
        angle = imag(m)
        turn = add(turn, mask(on_diagonal(m.type), imaginary(angle)))
    dq = add(matrix_product(q1, sub(turn, m)), c)
    dr = sub(matrix_product(adjoint(q1), ts[0]), matrix_product(turn, r1))
    dr = mask(triangle(dr.type, lower=False), dr)
    if r.type.shape[-2] != count:
        missing = (*r.type.shape[:-2], r.type.shape[-2] - count, r.type.shape[-1])
        dr = concatenate(dr, constant(0, array_type(missing, r.type.dtype)), axis=r.type.ndim - 2)
    return [q, r], [_completed(dq, q, count), dr]


qr: Primitive = host(
    "qr", lambda x, full: tuple(np.linalg.qr(x, "complete" if full else "reduced")), _qr_infer, _qr_jvp,
    lambda: [([x], {"full": f}) for f in (True, False) for x in [*_any_examples(f), matrices(2, 2, kind="c")]], multiple=True,
    note="q, r; `full` completes q to a unitary matrix",
)  # fmt: skip
