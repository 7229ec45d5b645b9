"""np.linalg through its doors: values, shapes and dtypes are NumPy's, derivatives are those of differences, both modes agree; norms at zero, singular
matrices and equal eigenvalues have the derivatives that docs/maths.md promises."""

import numpy as np
import pytest

import functad as fd
from functad.errors import ShapeMismatchError, UnsupportedArgumentError, UnsupportedFunctionError
from functad.testing import check_grads

from .products_and_matrices import RANDOM, START, check, complex_, real


@pytest.fixture(autouse=True)
def same_numbers():
    """Whatever ran before."""
    RANDOM.bit_generator.state = START


def regular(*shape):
    """Well-conditioned square matrices."""
    return real(*shape) + 2 * np.eye(shape[-1])


def positive(*shape):
    x = real(*shape)
    return x @ np.swapaxes(x, -1, -2) + np.eye(shape[-1])


def symmetrised(function):
    """Of (x + x^H)/2: NumPy reads one triangle, so that a difference along another direction would see half of it."""
    return lambda x: function((x + np.conj(np.swapaxes(x, -1, -2))) / 2)


# ---- norms


@pytest.mark.parametrize("order", [None, 1, 2, 3, 1.5, 0.5, -1, -2.5, np.inf, -np.inf, 0])
def test_vector_norms(order):
    check(lambda x: np.linalg.norm(x, order), real(4))
    check(lambda x: np.linalg.norm(x, order, axis=1), real(3, 4))
    check(lambda x: np.linalg.norm(x, order, axis=(0,), keepdims=True), real(3, 4))
    check(lambda x: np.linalg.norm(x, order), complex_(4))
    if order is not None:
        check(lambda x: np.linalg.vector_norm(x, ord=order, axis=(0, -1), keepdims=True), real(3, 2, 4))
        check(lambda x: np.linalg.vector_norm(x, ord=order), real(3, 2, 4))


@pytest.mark.parametrize("order", [None, 1, -1, 2, -2, np.inf, -np.inf, "fro", "nuc"])
def test_matrix_norms(order):
    check(lambda x: np.linalg.norm(x, order), real(3, 4))
    check(lambda x: np.linalg.norm(x, order, axis=(2, 0), keepdims=True), real(2, 3, 4))
    check(lambda x: np.linalg.norm(x, order), complex_(3, 3))
    if order is not None:
        check(lambda x: np.linalg.matrix_norm(x, ord=order), real(2, 3, 4))
        check(lambda x: np.linalg.matrix_norm(x, ord=order, keepdims=True), real(2, 3, 4))
    check(lambda x: np.linalg.cond(x, order), regular(3, 3))
    check(lambda x: np.linalg.cond(x, order), regular(2, 3, 3))


def test_norms_of_all_elements():
    check(np.linalg.norm, real(2, 3, 4))
    check(lambda x: np.linalg.norm(x, keepdims=True), real(2, 3, 4))
    value, _ = fd.vjp(lambda x: np.linalg.norm(x), np.ones(3, np.float32))
    assert value.dtype == np.float32


@pytest.mark.parametrize("order", [None, 1, 2, 3, 1.5, np.inf])
def test_subgradient_of_vector_norms_at_zero(order):
    found = fd.grad(lambda x: np.linalg.norm(x, order))(np.zeros(3))
    np.testing.assert_array_equal(found, np.zeros(3))


@pytest.mark.parametrize("order", [None, 1, 2, "nuc", np.inf])
def test_subgradient_of_matrix_norms_at_zero(order):
    found = fd.grad(lambda x: np.linalg.norm(x, order))(np.zeros((2, 3)))
    np.testing.assert_array_equal(found, np.zeros((2, 3)))


def test_zeros_within_a_norm():
    found = fd.grad(lambda x: np.linalg.norm(x, 1.5))(np.array([1.0, 0.0, 2.0]))
    assert found[1] == 0
    assert np.isfinite(found).all()
    found = fd.grad(lambda x: np.sum(np.linalg.norm(x, axis=1)))(np.array([[3.0, 4.0], [0.0, 0.0]]))
    np.testing.assert_allclose(found, [[0.6, 0.8], [0, 0]], rtol=1e-15)


def test_norms_of_nothing():
    assert fd.make_program(lambda x: np.linalg.norm(x, np.inf))(np.ones(0)) is not None
    for order in (None, 1, 2, np.inf):
        value, _ = fd.vjp(lambda x, order=order: np.linalg.norm(x, order), np.ones(0))
        assert value == 0


def test_condition_of_a_singular_matrix_is_infinite():
    for p in (None, 1):
        value, _ = fd.vjp(lambda x, p=p: np.linalg.cond(x, p), np.zeros((2, 2)))
        assert value == np.inf


# ---- systems and inverses


@pytest.mark.parametrize(
    "xs",
    [
        (regular(3, 3), real(3)),
        (regular(3, 3), real(3, 2)),
        (regular(2, 3, 3), real(3)),
        (regular(2, 3, 3), real(2, 3, 1)),
        (regular(2, 2), real(2, 2, 2)),
        (regular(2, 2), complex_(2, 2)),
    ],
)
def test_solve(xs):
    check(np.linalg.solve, *xs)


@pytest.mark.parametrize(
    ("call", "xs"),
    [
        (np.linalg.inv, (regular(2, 3, 3),)),
        (np.linalg.inv, (complex_(2, 2),)),
        (np.linalg.pinv, (real(3, 2),)),
        (lambda x: np.linalg.pinv(x, 1e-10), (real(2, 3),)),
        (lambda x: np.linalg.pinv(x, rtol=None), (real(2, 3),)),
        (lambda x, y: np.linalg.tensorsolve(x, y), (real(2, 3, 6), real(2, 3))),
        (lambda x, y: np.linalg.tensorsolve(x, y, axes=(0,)), (real(6, 2, 3), real(2, 3))),
        (np.linalg.tensorinv, (real(2, 3, 6),)),
        (lambda x: np.linalg.tensorinv(x, ind=1), (real(6, 2, 3),)),
    ],
)
def test_inverses(call, xs):
    check(call, *xs, tolerance=1e-6)


@pytest.mark.parametrize("shape", [(4, 2), (2, 4), (3, 3)])
def test_lstsq(shape):
    for part in (0, 1, 3):
        check(lambda x, y, part=part: np.linalg.lstsq(x, y)[part], real(*shape), real(shape[0], 2), tolerance=1e-6)
    check(lambda x, y: np.linalg.lstsq(x, y)[0], real(*shape), real(shape[0]), tolerance=1e-6)
    check(lambda x, y: np.linalg.lstsq(x, y)[0], complex_(*shape), real(shape[0], 2), tolerance=1e-6)
    rank = fd.make_program(lambda x, y: np.linalg.lstsq(x, y)[2])(real(*shape), real(shape[0]))
    assert rank.output_types[0].dtype == np.linalg.lstsq(np.eye(2), np.ones(2))[2].dtype


@pytest.mark.parametrize("n", [0, 1, 2, 3, 5, -1, -3])
def test_matrix_power(n):
    check(lambda x: np.linalg.matrix_power(x, n), regular(3, 3), tolerance=1e-5)
    check(lambda x: np.linalg.matrix_power(x, n), regular(2, 2, 2), tolerance=1e-5)


def test_integers_become_floats():
    x = np.array([[2, 1], [1, 3]])
    for call in (np.linalg.inv, np.linalg.det, np.linalg.norm, lambda x: np.linalg.solve(x, x[0])):
        kind = fd.make_program(call)(x).output_types[0]
        assert (kind.shape, kind.dtype) == (np.shape(call(x)), np.float64)


# ---- determinants and rank


def test_determinants():
    check(np.linalg.det, regular(2, 3, 3))
    check(np.linalg.det, complex_(2, 2))
    check(lambda x: np.linalg.slogdet(x)[1], regular(2, 3, 3))
    check(lambda x: np.linalg.slogdet(x).sign, complex_(3, 3))
    check(lambda x: np.linalg.slogdet(x).logabsdet, complex_(3, 3), tolerance=1e-5)


@pytest.mark.parametrize(
    "x", [np.array([[1.0, 2.0], [2.0, 4.0]]), np.zeros((1, 1)), np.arange(1.0, 10.0).reshape(3, 3), np.ones((3, 3)), np.zeros((3, 3))]
)
def test_determinant_of_a_singular_matrix_twice(x):
    """det is a polynomial: central differences of it, and of its gradient, are right to their rounding."""
    n = len(x)
    unit = np.eye(n * n).reshape(n, n, n, n)
    gradient = np.array([[(np.linalg.det(x + 1e-3 * e) - np.linalg.det(x - 1e-3 * e)) / 2e-3 for e in row] for row in unit])
    np.testing.assert_allclose(fd.grad(np.linalg.det)(x), gradient, atol=1e-9)
    hessian = np.array([[(fd.grad(np.linalg.det)(x + 1e-3 * e) - fd.grad(np.linalg.det)(x - 1e-3 * e)) / 2e-3 for e in row] for row in unit])
    np.testing.assert_allclose(fd.hessian(np.linalg.det)(x), hessian, atol=1e-9)


def test_third_derivative_of_a_determinant():
    """d^3 det / (dx_00 dx_11 dx_22) is 1, and 0 where two of the three share a column."""
    third = fd.jacfwd(fd.hessian(np.linalg.det))(regular(3, 3))
    np.testing.assert_allclose(third[0, 0, 1, 1, 2, 2], 1, rtol=1e-9)
    np.testing.assert_allclose(third[0, 0, 1, 1, 2, 0], 0, atol=1e-9)


def test_log_determinant_where_it_is_not_taken():
    """The branch of a singular matrix: its derivative is zero, without an error and without NaN."""

    def f(x):
        sign, log = np.linalg.slogdet(x)
        return np.where(sign > 0, log, 0.0)

    np.testing.assert_array_equal(fd.grad(f)(np.zeros((2, 2))), np.zeros((2, 2)))


def test_rank():
    for x, keywords in ((np.ones((3, 3)), {}), (regular(3, 3), {"tol": 1.5}), (regular(2, 3, 3), {"rtol": 0.5}), (real(3), {}), (np.zeros(3), {})):
        found, _ = fd.vjp(lambda x, keywords=keywords: np.linalg.matrix_rank(x, **keywords) * 1.0, x)
        np.testing.assert_array_equal(found, np.linalg.matrix_rank(x, **keywords))


# ---- decompositions


@pytest.mark.parametrize("triangle", ["L", "U"])
def test_hermitian_matrices(triangle):
    check(symmetrised(lambda x: np.linalg.eigh(x, triangle).eigenvalues), real(2, 3, 3))
    check(symmetrised(lambda x: np.linalg.eigh(x, triangle)[1]), real(2, 3, 3), tolerance=1e-5)
    check(symmetrised(lambda x: np.linalg.eigvalsh(x, triangle)), real(2, 3, 3))
    check(symmetrised(lambda x: np.linalg.eigvalsh(x, triangle)), complex_(3, 3))

    def projector(x):
        v = np.linalg.eigh(x, triangle).eigenvectors
        return v[:, :1] @ np.conj(v[:, :1]).T

    check(symmetrised(projector), complex_(3, 3), tolerance=1e-5)


TRIANGULAR = {
    "eigvalsh": np.linalg.eigvalsh,
    "eigvalsh, upper": lambda x: np.linalg.eigvalsh(x, UPLO="U"),
    "eigh": lambda x: np.linalg.eigh(x)[0],
    "eigh, upper": lambda x: np.linalg.eigh(x, UPLO="U").eigenvalues,
    "projector": lambda x: np.abs(np.linalg.eigh(x)[1][..., 0]),
    "projector, upper": lambda x: np.abs(np.linalg.eigh(x, "U")[1][..., 0]),
    "cholesky": lambda x: np.abs(np.linalg.cholesky(x)),
    "cholesky, upper": lambda x: np.abs(np.linalg.cholesky(x, upper=True)),
}


@pytest.mark.parametrize("kind", ["real", "stack", "complex"])
@pytest.mark.parametrize("name", TRIANGULAR)
def test_the_derivative_is_that_of_the_triangle_that_is_read(name, kind):
    """Each element is perturbed by itself: differences see that the other triangle, and the diagonal's imaginary part, are not read."""
    random = np.random.default_rng(3)
    a = random.normal(size=(2, 3, 3) if kind == "stack" else (3, 3))
    a = a + 1j * random.normal(size=a.shape) if kind == "complex" else a
    a = a @ np.conj(np.swapaxes(a, -1, -2)) + np.diag([1.0, 2.0, 4.0])
    check_grads(TRIANGULAR[name], (a,), order=2)


def test_a_gradient_is_zero_where_nothing_is_read():
    a = np.array([[2.0, 1.0], [1.0, 3.0]])
    assert fd.grad(lambda a: np.linalg.eigvalsh(a)[0])(a)[0, 1] == 0
    assert fd.grad(lambda a: np.linalg.eigvalsh(a, "U")[0])(a)[1, 0] == 0
    assert fd.grad(lambda a: np.sum(np.linalg.cholesky(a)))(a)[0, 1] == 0
    assert fd.grad(lambda a: np.linalg.eigvalsh(a + np.conj(a.T))[0].real)(a.astype(complex)).dtype == complex


def test_cholesky():
    check(symmetrised(np.linalg.cholesky), positive(3, 3))
    check(symmetrised(lambda x: np.linalg.cholesky(x, upper=True)), positive(2, 3, 3))


@pytest.mark.parametrize("full", [True, False])
@pytest.mark.parametrize("shape", [(3, 3), (3, 2), (2, 3), (2, 3, 2)])
def test_svd(full, shape):
    check(lambda x: np.linalg.svd(x, full_matrices=full).U, real(*shape), tolerance=1e-4)
    check(lambda x: np.linalg.svd(x, full_matrices=full).S, real(*shape), tolerance=1e-5)
    check(lambda x: np.linalg.svd(x, full).Vh, real(*shape), tolerance=1e-4)
    check(lambda x: np.linalg.svd(x, compute_uv=False), real(*shape), tolerance=1e-5)
    check(np.linalg.svdvals, complex_(*shape), tolerance=1e-5)


@pytest.mark.parametrize("shape", [(3, 3), (3, 2), (2, 3), (2, 3, 2)])
def test_qr(shape):
    for mode in ("reduced", "complete"):
        check(lambda x, mode=mode: np.linalg.qr(x, mode).Q, real(*shape), tolerance=1e-4)
        check(lambda x, mode=mode: np.linalg.qr(x, mode)[1], real(*shape), tolerance=1e-4)
    check(lambda x: np.linalg.qr(x, "r"), real(*shape), tolerance=1e-4)
    check(lambda x: np.linalg.qr(x)[0], complex_(*shape), tolerance=1e-4)


def test_sums_over_equal_values():
    """sum of w^2 is tr(x x), with gradient 2x; the sum of the singular values of the identity has the gradient 1."""
    x = np.diag([2.0, 2.0, 5.0])
    np.testing.assert_allclose(fd.grad(lambda x: np.sum(np.linalg.eigh(x)[0] ** 2))(x), 2 * x, atol=1e-14)
    np.testing.assert_allclose(fd.grad(lambda x: np.sum(np.linalg.eigvalsh(x) ** 2))(x), 2 * x, atol=1e-14)
    for call in (lambda x: np.linalg.svd(x, compute_uv=False), lambda x: np.linalg.svd(x)[1], np.linalg.svdvals):
        np.testing.assert_allclose(fd.grad(lambda x, call=call: np.sum(call(x)))(np.eye(3)), np.eye(3), atol=1e-14)


def test_vectors_of_equal_values_that_nobody_asks_for():
    """A cotangent of zero for the vectors is as good as none; a derivative of the vectors themselves is infinite, not a number that looks right."""
    x = np.diag([2.0, 2.0, 5.0])
    for call in (lambda x: tuple(np.linalg.eigh(x)), lambda x: tuple(np.linalg.svd(x))[1::-1]):
        (values, _), pullback = fd.vjp(call, x)
        pulled = pullback((2 * values, np.zeros((3, 3))))
        np.testing.assert_allclose(pulled[0] if isinstance(pulled, tuple) else pulled, 2 * x, atol=1e-14)
        assert not np.isfinite(fd.grad(lambda x, call=call: np.sum(call(x)[1] * np.arange(9.0).reshape(3, 3)))(x)).all()


def test_projector_on_an_eigenspace():
    """It does not depend on the basis of the space: the derivative along t of the projector on {1, 2} is that of a smooth function."""
    x, t = np.diag([2.0, 2.0, 5.0]), np.array([[0.0, 0.0, 1.0], [0.0, 0.0, -2.0], [1.0, -2.0, 0.0]])

    def projector(x):
        v = np.linalg.eigh(x)[1][:, :2]
        return v @ v.T

    difference = (projector(x + 1e-5 * t) - projector(x - 1e-5 * t)) / 2e-5
    np.testing.assert_allclose(fd.jvp(projector, (x,), (t,))[1], difference, atol=1e-9)


def test_results_are_numpys_named_tuples():
    kinds = {}

    def f(x):
        for call in (np.linalg.eigh, np.linalg.svd, np.linalg.qr, np.linalg.slogdet):
            kinds[call] = type(call(x))
        return x

    x = positive(2, 2)
    fd.make_program(f)(x)
    assert kinds == {call: type(call(x)) for call in kinds}


# ---- second derivatives and mapping, once through everything


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.linalg.slogdet(x)[1],
        lambda x: np.sum(np.linalg.inv(x) ** 2),
        lambda x: np.sum(np.linalg.solve(x, np.arange(3.0)) ** 2),
        lambda x: np.sum(np.linalg.cholesky(x @ x.T) ** 3),
        lambda x: np.sum(np.linalg.eigh(x @ x.T)[1] ** 3),
        lambda x: np.sum(np.linalg.svd(x)[0] ** 3),
        lambda x: np.sum(np.linalg.qr(x)[0] ** 3),
        lambda x: np.linalg.norm(x, "nuc"),
        lambda x: np.linalg.norm(x, 2),
        lambda x: np.sum(np.linalg.pinv(x[:, :2]) ** 2),
        lambda x: np.linalg.cond(x),
    ],
)
def test_second_derivatives_and_mapping(call):
    x = np.array([[2.0, 0.3, -0.4], [0.1, 1.5, 0.2], [0.6, -0.7, 3.0]])
    check(fd.grad(call), x, tolerance=1e-6)
    np.testing.assert_allclose(fd.hessian(call)(x).reshape(9, 9), fd.hessian(call)(x).reshape(9, 9).T, atol=1e-10)
    rows = np.stack([x, x + 0.1 * x.T, 2 * x])
    np.testing.assert_allclose(fd.vmap(fd.grad(call))(rows), np.stack([fd.grad(call)(r) for r in rows]), rtol=1e-9, atol=1e-11)


# ---- errors


def test_singular_matrices_raise_as_in_numpy():
    for call in (np.linalg.inv, lambda x: np.linalg.solve(x, np.ones(2))):
        with pytest.raises(np.linalg.LinAlgError, match="Singular"):
            fd.grad(lambda x, call=call: np.sum(call(x)))(np.ones((2, 2)))
    with pytest.raises(np.linalg.LinAlgError, match="positive definite"):
        fd.grad(lambda x: np.sum(np.linalg.cholesky(x)))(-np.eye(2))


@pytest.mark.parametrize(
    "call",
    [
        np.linalg.det,
        np.linalg.inv,
        np.linalg.cholesky,
        np.linalg.eigh,
        np.linalg.eigvalsh,
        np.linalg.slogdet,
        lambda x: np.linalg.solve(x, x),
        lambda x: np.linalg.matrix_power(x, 2),
        lambda x: np.linalg.cond(x, 1),
    ],
)
@pytest.mark.parametrize("shape", [(3,), (2, 3)])
def test_shapes_that_are_no_square(call, shape):
    with pytest.raises(np.linalg.LinAlgError):
        fd.make_program(call)(np.ones(shape))


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda x: np.linalg.svd(x, hermitian=True), "hermitian"),
        (lambda x: np.linalg.pinv(x, hermitian=True), "hermitian"),
        (lambda x: np.linalg.matrix_rank(x, hermitian=True), "hermitian"),
        (lambda x: np.linalg.qr(x, "raw"), "mode"),
        (lambda x: np.linalg.pinv(x, rcond=x[0]), "rcond"),
    ],
)
def test_arguments_are_refused_by_name(call, name):
    with pytest.raises(UnsupportedArgumentError, match=f"{name}="):
        fd.make_program(call)(np.eye(2))


@pytest.mark.parametrize("call", [np.linalg.eig, np.linalg.eigvals])
def test_general_eigenvalues_are_refused_with_a_reason(call):
    with pytest.raises(UnsupportedFunctionError, match="eigh"):
        fd.make_program(call)(np.eye(2))


def test_orders_that_do_not_exist():
    for call in (lambda x: np.linalg.norm(x, "nuc"), lambda x: np.linalg.norm(x[:, None], 3), lambda x: np.linalg.norm(x[:, None, None], 1)):
        with pytest.raises(ValueError):
            fd.make_program(call)(np.ones(3))
    with pytest.raises(ShapeMismatchError):
        fd.make_program(lambda x: np.linalg.norm(x[:, None], axis=(0, 0)))(np.ones(3))
    with pytest.raises(np.exceptions.AxisError):
        fd.make_program(lambda x: np.linalg.norm(x, axis=1))(np.ones(3))
