"""Matrix primitives: derivatives of first and second order against differences, the adjoint identity, mapping against a loop, and the points where
derivatives are easily lost: singular matrices, equal eigenvalues, equal singular values."""

import itertools

import numpy as np
import pytest

from functad._core.interpret import python_function
from functad._core.primitive import REGISTRY
from functad._core.recorder import stage
from functad._core.types import type_of_value
from functad._core.verify import verify
from functad._primitives import decompositions, linalg
from functad._transforms.jvp import jvp
from functad._transforms.linearize import linearize
from functad._transforms.transpose import transpose
from functad._transforms.vmap import vmap

OPS = [op for op in REGISTRY.values() if op.kind in ("dot", "linalg", "hermitian")]
CASES = [
    pytest.param(op, xs, params, id=f"{op.name}-{i}")
    for op in OPS
    for i, (xs, params) in enumerate(op.examples())
    if xs[0].dtype.kind in "fc"
]  # fmt: skip


def program_of(op, xs, params):
    def function(*given):
        out = op(*given, **params)
        return out if op.multiple else [out]

    return verify(stage(function, [type_of_value(x) for x in xs]))


def directions(op, xs, seed):
    """Random tangents."""
    random = np.random.default_rng(seed)
    return [random.uniform(-1, 1, x.shape) + (1j * random.uniform(-1, 1, x.shape) if x.dtype.kind == "c" else 0) for x in xs]


def differences(function, xs, ts, step=4e-3):
    """Richardson's extrapolation of central differences, error O(step^6)."""

    def central(h):
        up, down = (function(*[x + s * h * t for x, t in zip(xs, ts, strict=True)]) for s in (1, -1))
        return [(np.asarray(a) - np.asarray(b)) / (2 * h) for a, b in zip(up, down, strict=True)]

    return [(64 * c - 20 * b + a) / 45 for a, b, c in zip(central(step), central(step / 2), central(step / 4), strict=True)]


def check_tangents(program, xs, ts, active):
    pushed, on = jvp(program, active)
    found = python_function(verify(pushed))(*xs, *[t for t, a in zip(ts, active, strict=True) if a])[len(program.outputs) :]
    expected = differences(python_function(program), xs, ts)
    expected, rest = [e for e, a in zip(expected, on, strict=True) if a], [e for e, a in zip(expected, on, strict=True) if not a]
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-8)
    for r in rest:
        np.testing.assert_allclose(r, 0, atol=1e-8)
    return pushed


@pytest.mark.parametrize(("op", "xs", "params"), CASES)
def test_derivatives(op, xs, params):
    program = program_of(op, xs, params)
    ts = directions(op, xs, 1)
    pushed = check_tangents(program, xs, ts, [True] * len(xs))
    again = [*directions(op, xs, 2), *[np.zeros_like(t) for t in ts]]
    check_tangents(pushed, [*xs, *ts], again, [True] * len(xs) + [False] * len(ts))


@pytest.mark.parametrize(("op", "xs", "params"), CASES)
def test_adjoint(op, xs, params):
    """Re <ct, J t> = Re <J^T ct, t>."""
    program = program_of(op, xs, params)
    ts = directions(op, xs, 3)
    halves = linearize(program, [True] * len(xs))
    residuals = python_function(halves.forward)(*xs)[len(program.outputs) :]
    tangents = python_function(halves.linear)(*residuals, *ts)
    random = np.random.default_rng(4)
    cts = [np.asarray(random.uniform(-1, 1, np.shape(t)), np.asarray(t).dtype)[()] for t in tangents]
    back = verify(transpose(halves.linear, [i >= halves.residuals for i in range(len(halves.linear.inputs))]))
    pulled = python_function(back)(*residuals, *cts)
    left = sum(np.sum(ct * t) for ct, t in zip(cts, tangents, strict=True))
    right = sum(np.sum(p * t) for p, t in zip(pulled, ts, strict=True))
    np.testing.assert_allclose(np.real(left), np.real(right), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize(("op", "xs", "params"), CASES)
def test_mapping_is_a_loop(op, xs, params):
    program = program_of(op, xs, params)
    run = python_function(program)
    for mapped in itertools.product((True, False), repeat=len(xs)):
        if not any(mapped):
            continue
        rows = [[x * (1 + k / 8) if m else x for x, m in zip(xs, mapped, strict=True)] for k in range(3)]
        stacked = [np.stack([r[i] for r in rows]) if m else xs[i] for i, m in enumerate(mapped)]
        batched, _ = vmap(program, mapped, 3, [True] * len(program.outputs))
        found = python_function(verify(batched))(*stacked)
        for k, row in enumerate(rows):
            for a, b in zip(found, run(*row), strict=True):
                np.testing.assert_allclose(a[k], b, rtol=1e-9, atol=1e-11)


# ---- singular matrices


def minor(x, i, j):
    return (-1) ** (i + j) * np.linalg.det(np.delete(np.delete(x, i, 0), j, 1))


def by_deletion(x):
    n = len(x)
    return np.array([[minor(x, i, j) if n > 1 else 1.0 for j in range(n)] for i in range(n)])


@pytest.mark.parametrize("rank", range(5))
def test_cofactors_at_every_rank(rank):
    """Against the definition: signed determinants of what is left without a row and a column."""
    random = np.random.default_rng(rank)
    x = random.uniform(-1, 1, (4, rank)) @ random.uniform(-1, 1, (rank, 4))
    np.testing.assert_allclose(linalg.cofactors.numpy(x), by_deletion(x), atol=1e-13)
    t = random.uniform(-1, 1, (4, 4))
    expected = differences(lambda y: [by_deletion(y)], [x], [t])[0]
    np.testing.assert_allclose(linalg.minors.numpy(x, t), expected, atol=1e-10)


def test_determinants_of_nothing_and_of_one_number():
    assert linalg.cofactors.numpy(np.zeros((1, 1))) == [[1.0]]
    assert linalg.minors.numpy(np.zeros((1, 1)), np.ones((1, 1))) == [[0.0]]
    assert linalg.cofactors.numpy(np.zeros((0, 0))).shape == (0, 0)


def test_what_only_a_derivative_needs_is_nan_where_singular():
    stack = np.stack([np.eye(2), np.zeros((2, 2))])
    found = linalg.inv.numpy(stack, strict=False)
    np.testing.assert_array_equal(found[0], np.eye(2))
    assert np.isnan(found[1]).all()
    found = linalg.solve.numpy(stack, np.ones((2, 2, 1)), strict=False)
    np.testing.assert_array_equal(found[0], np.ones((2, 1)))
    assert np.isnan(found[1]).all()
    for op, xs in ((linalg.inv, [stack]), (linalg.solve, [stack, stack])):
        with pytest.raises(np.linalg.LinAlgError, match="Singular"):
            op.numpy(*xs, strict=True)


# ---- values that coincide


def test_eigenvalues_that_coincide_have_derivatives():
    """The derivative of the sum of squares of all eigenvalues of x, tr(x x), is 2 x; no eigenvector is differentiated for it."""
    x = np.diag([2.0, 2.0, 5.0])
    program = program_of(decompositions.eigvalsh, [x], {"lower": True})
    t = np.arange(9.0).reshape(3, 3)
    pushed, _ = jvp(program, (True,))
    w, dw = python_function(pushed)(x, t)
    np.testing.assert_allclose(np.sum(2 * w * dw), np.sum(2 * x * t), rtol=1e-14)


def test_eigenvectors_of_equal_eigenvalues_have_no_derivative():
    x = np.diag([2.0, 2.0, 5.0])
    pushed, _ = jvp(program_of(decompositions.eigh, [x], {"lower": True}), (True,))
    _, _, dw, dv = python_function(pushed)(x, np.ones((3, 3)))
    assert np.isfinite(dw).all()
    assert not np.isfinite(dv[:, :2]).all()


def test_singular_values_that_coincide_have_derivatives():
    pushed, _ = jvp(program_of(decompositions.svdvals, [np.eye(3)], {}), (True,))
    t = np.arange(9.0).reshape(3, 3)
    _, ds = python_function(pushed)(np.eye(3), t)
    np.testing.assert_allclose(np.sum(ds), np.trace(t), rtol=1e-14)


# ---- complex vectors: what does not depend on their phases


def complex_matrix(*shape):
    random = np.random.default_rng(8)
    return random.uniform(-1, 1, shape) + 1j * random.uniform(-1, 1, shape)


def test_projector_on_a_complex_eigenvector():
    x = complex_matrix(3, 3)
    x, t = x + x.conj().T, (x @ x) + (x @ x).conj().T

    def projector(w, v):
        return v[:, :1] @ np.conj(v[:, :1]).T

    pushed, _ = jvp(program_of(decompositions.eigh, [x], {"lower": True}), (True,))
    _, v, _, dv = python_function(pushed)(x, t)
    found = dv[:, :1] @ np.conj(v[:, :1]).T + v[:, :1] @ np.conj(dv[:, :1]).T
    (expected,) = differences(lambda y: [projector(*np.linalg.eigh(y))], [x], [t])
    np.testing.assert_allclose(found, expected, atol=1e-8)


@pytest.mark.parametrize("shape", [(3, 2), (2, 3), (3, 3)])
def test_complex_matrix_of_rank_one(shape):
    """u_1 s_1 v_1^H, the best approximation of rank one."""
    x = complex_matrix(*shape)
    t = complex_matrix(*shape)[::-1]
    pushed, _ = jvp(program_of(decompositions.svd, [x], {"full": False}), (True,))
    u, s, vh, du, ds, dvh = python_function(pushed)(x, t)
    left, right = u[:, :1] * s[0], vh[:1]
    found = (du[:, :1] * s[0] + u[:, :1] * ds[0]) @ right + left @ dvh[:1]

    def approximation(y):
        u, s, vh = np.linalg.svd(y, full_matrices=False)
        return [u[:, :1] * s[0] @ vh[:1]]

    np.testing.assert_allclose(found, differences(approximation, [x], [t])[0], atol=1e-8)


def test_columns_that_complete_a_factor_stay_unitary():
    """Two columns are added to u: only the space that they span is determined, so they are held to that."""
    x, t = linalg.matrices(4, 2), linalg.matrices(4, 2, seed=9)
    pushed, _ = jvp(program_of(decompositions.svd, [x], {"full": True}), (True,))
    u, _, _, du, _, _ = python_function(pushed)(x, t)
    np.testing.assert_allclose(du.T @ u + u.T @ du, 0, atol=1e-12)

    def space(y):
        u2 = np.linalg.svd(y)[0][:, 2:]
        return [u2 @ u2.T]

    found = du[:, 2:] @ u[:, 2:].T + u[:, 2:] @ du[:, 2:].T
    np.testing.assert_allclose(found, differences(space, [x], [t])[0], atol=1e-8)


@pytest.mark.parametrize("op", [linalg.inv, linalg.det, linalg.slogdet, linalg.cholesky, decompositions.eigh])
@pytest.mark.parametrize("shape", [(3,), (2, 3)])
def test_shapes_that_are_no_square(op, shape):
    params = {linalg.inv: {"strict": True}, decompositions.eigh: {"lower": True}}.get(op, {})
    with pytest.raises(np.linalg.LinAlgError):
        program_of(op, [np.ones(shape)], params)
