"""functad.scipy: SciPy's values in NumPy and in kernels, mapped and in single precision; derivatives against differences."""

import numpy as np
import pytest
import scipy
from scipy import integrate as scipy_integrate
from scipy import linalg, special, stats
from scipy import ndimage as scipy_ndimage
from scipy import signal as scipy_signal

import functad as fd
import functad.scipy as fs
from functad.testing import check_grads

RANDOM = np.random.default_rng(5)
X, Y, A = RANDOM.uniform(0.2, 0.9, 5), np.arange(6) + RANDOM.uniform(0.2, 0.6, 6), RANDOM.uniform(-1, 1, (3, 3))
S = A @ A.T + 3 * np.eye(3)
B = RANDOM.uniform(-1, 1, (3, 2))

# name, the call with SciPy's or functad's module for m, arguments
CALLS = [
    ("logsumexp", lambda m, x: m.special.logsumexp(x), (X,)),
    ("logsumexp axis", lambda m, x: m.special.logsumexp(x, axis=1, keepdims=True), (A,)),
    ("logsumexp axes", lambda m, x: m.special.logsumexp(x, axis=(0, 1)), (A,)),
    ("logsumexp b", lambda m, x, b: m.special.logsumexp(x, axis=0, b=b), (A, np.array([[1.0], [0.5], [2.0]]))),
    ("logsumexp sign", lambda m, x: m.special.logsumexp(x, b=np.array([1.0, -3.0, 1.0, -1.0, 0.5]), return_sign=True)[0], (X,)),
    ("softmax", lambda m, x: m.special.softmax(x, axis=-1), (A,)),
    ("log_softmax", lambda m, x: m.special.log_softmax(x, axis=0), (A,)),
    ("multigammaln", lambda m, x: m.special.multigammaln(x + 2, 3), (X,)),
    ("polygamma", lambda m, x: m.special.polygamma(2, x), (X,)),
    ("spherical_jn", lambda m, x: m.special.spherical_jn(2, x), (X,)),
    ("lambertw", lambda m, x: np.real(m.special.lambertw(x)), (X,)),
    ("lambertw -1", lambda m, x: np.real(m.special.lambertw(-0.3 * x, -1)), (X,)),
    ("erf", lambda m, x: m.special.erf(x), (X,)),
    ("cholesky", lambda m, a: m.linalg.cholesky(a @ a.T + 3 * np.eye(3)), (A,)),
    ("cholesky lower", lambda m, a: m.linalg.cholesky(a @ a.T + 3 * np.eye(3), lower=True), (A,)),
    ("cho_solve", lambda m, a, b: m.linalg.cho_solve(m.linalg.cho_factor(a @ a.T + 3 * np.eye(3)), b), (A, B)),
    ("cho_solve lower", lambda m, a, b: m.linalg.cho_solve(m.linalg.cho_factor(a @ a.T + 3 * np.eye(3), True), b), (A, B[:, 0])),
    *[
        (f"solve_triangular {k}", lambda m, a, b, k=k: m.linalg.solve_triangular(a, b, **k), (S, B))
        for k in ({}, {"lower": True}, {"trans": 1}, {"trans": "T", "lower": True}, {"unit_diagonal": True})
    ],
    ("solve", lambda m, a, b: m.linalg.solve(a, b), (S, B)),
    ("solve transposed", lambda m, a, b: m.linalg.solve(a, b, transposed=True), (A + 2 * np.eye(3), B)),
    ("solve sym", lambda m, a, b: m.linalg.solve(a, b, assume_a="sym"), (S + A, B)),
    ("solve pos", lambda m, a, b: m.linalg.solve(a, b, assume_a="pos", lower=True), (S, B[:, 0])),
    ("solve upper", lambda m, a, b: m.linalg.solve(a, b, assume_a="upper triangular"), (S, B)),
    ("inv", lambda m, a: m.linalg.inv(a), (S,)),
    ("det", lambda m, a: m.linalg.det(a), (S,)),
    ("eigh", lambda m, a: m.linalg.eigh(a + a.T, eigvals_only=True), (A,)),
    ("eigh vectors", lambda m, a: m.linalg.eigh(a + a.T)[1] ** 2, (A,)),
    ("expm", lambda m, a: m.linalg.expm(a), (A,)),
    ("expm large", lambda m, a: m.linalg.expm(20 * a), (A / 2,)),
    ("block_diag", lambda m, a, b: m.linalg.block_diag(a, b, 2.0), (A, B)),
    ("toeplitz", lambda m, c, r: m.linalg.toeplitz(c, r), (X, Y)),
    ("trapezoid", lambda m, y: m.integrate.trapezoid(y, dx=0.5, axis=0), (A,)),
    ("trapezoid x", lambda m, y, x: m.integrate.trapezoid(y * y, x), (Y, Y)),
    ("cumulative_trapezoid", lambda m, y: m.integrate.cumulative_trapezoid(y, axis=0, initial=0), (A,)),
    ("cumulative_trapezoid x", lambda m, y, x: m.integrate.cumulative_trapezoid(y * y, x), (Y, Y)),
    ("simpson odd", lambda m, y: m.integrate.simpson(y, axis=0), (A,)),
    ("simpson even", lambda m, y, x: m.integrate.simpson(y * y, x), (Y, Y)),
    ("simpson odd x", lambda m, y, x: m.integrate.simpson(y * y, x), (Y[:5], Y[:5])),
    ("simpson two", lambda m, y: m.integrate.simpson(y), (Y[:2],)),
    *[(f"convolve {mode}", lambda m, x, y, mode=mode: m.signal.convolve(x, y, mode), (X, Y[:3])) for mode in ("full", "same", "valid")],
    ("convolve short first", lambda m, x, y: m.signal.convolve(x, y, "same"), (Y[:3], X)),
    ("convolve planes", lambda m, x, y: m.signal.convolve(x, y, "same"), (A, S[:2, :2])),
    ("map_coordinates", lambda m, a, c: m.ndimage.map_coordinates(a, c, order=1), (A, RANDOM.uniform(0.1, 0.9, (2, 4)) + [[0], [1]])),
    (
        "map_coordinates nearest",
        lambda m, a, c: m.ndimage.map_coordinates(a, c, order=1, mode="nearest"),
        (A, np.array([[-1.0, 0.3, 5.0], [0.5, 1.5, -0.4]])),
    ),
    (
        "map_coordinates outside",
        lambda m, a, c: m.ndimage.map_coordinates(a, c, order=1, cval=7.0),
        (A, np.array([[-1.0, 0.3, 5.0], [0.5, 1.5, -0.4]])),
    ),
]
IDS = [c[0] for c in CALLS]
assert [linalg, special, stats, scipy_integrate, scipy_ndimage, scipy_signal]  # submodules of scipy, imported
ATOL = 1e-12


@pytest.mark.parametrize(("name", "call", "args"), CALLS, ids=IDS)
def test_values_are_scipys(name, call, args):
    expected = call(scipy, *args)
    assert np.array_equal(call(fs, *args), expected)  # untraced it is SciPy's own
    for f in (fd.jit(lambda *xs: call(fs, *xs)), lambda *xs: fd.jvp(lambda *ys: call(fs, *ys), xs, xs)[0]):
        found = f(*args)
        assert found.shape == np.shape(expected)
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=ATOL)


@pytest.mark.parametrize(("name", "call", "args"), CALLS, ids=IDS)
def test_derivatives_to_second_order(name, call, args):
    check_grads(lambda *xs: call(fs, *xs), args, order=2, atol=3e-6, rtol=3e-6)


@pytest.mark.parametrize(("name", "call", "args"), CALLS, ids=IDS)
def test_mapped_and_single(name, call, args):
    stacks = [np.stack([x, 1.1 * x]) for x in args]
    out = fd.vmap(lambda *xs: call(fs, *xs))(*stacks)
    for i, row in enumerate(out):
        np.testing.assert_allclose(row, call(scipy, *[x[i] for x in stacks]), rtol=1e-11, atol=ATOL)
    single = [x.astype(np.float32) for x in args]
    if not name.startswith(("logsumexp sign", "cholesky", "cho_solve", "block_diag")):  # these have arrays in double precision in them
        assert fd.jit(lambda *xs: call(fs, *xs))(*single).dtype == np.float32


# ---- distributions: name, shape parameters, places inside and outside of the support

DISTRIBUTIONS = [
    ("norm", (), [-2.0, 0.0, 1.3]), ("t", (3.5,), [-2.0, 0.0, 1.3]), ("gamma", (2.5,), [-1.0, 0.3, 2.0]), ("beta", (2.5, 1.5), [-0.5, 0.3, 0.7, 1.5]),
    ("expon", (), [-1.0, 0.3, 2.0]), ("uniform", (), [-0.5, 0.3, 1.5]), ("laplace", (), [-1.0, 0.3, 2.0]), ("logistic", (), [-800.0, -1.0, 0.0, 2.0]),
    ("lognorm", (0.7,), [-1.0, 0.3, 2.0]), ("cauchy", (), [-1e9, -1.0, 0.0, 2.0]), ("poisson", (2.5,), [-1.0, 0.0, 0.5, 1.0, 4.0]),
    ("binom", (4.0, 0.3), [-1.0, 0.0, 0.5, 2.0, 4.0, 5.0]), ("nbinom", (2.5, 0.4), [-1.0, 0.0, 3.0]), ("geom", (0.4,), [0.0, 1.0, 3.0, 2.5]),
    ("bernoulli", (0.3,), [-1.0, 0.0, 1.0, 2.0]),
]  # fmt: skip
FUNCTIONS = [(name, shapes, np.array(x), f) for name, shapes, x in DISTRIBUTIONS for f in getattr(fs.stats, name).functions()]


@pytest.mark.parametrize(("name", "shapes", "x", "function"), FUNCTIONS, ids=[f"{f[0]}.{f[3]}" for f in FUNCTIONS])
def test_distributions_have_scipys_values(name, shapes, x, function):
    continuous = hasattr(getattr(stats, name), "pdf")
    place = {"loc": 0.25, "scale": 1.5} if continuous else {"loc": 2}
    x = np.array([0.1, 0.5, 0.9]) if function == "ppf" else x * 1.5 + 0.25 if continuous else x + 2
    with np.errstate(all="ignore"):
        expected = getattr(getattr(stats, name), function)(x, *shapes, **place)
    ours = getattr(getattr(fs.stats, name), function)
    for run in (fd.jit, lambda f: lambda x: fd.jvp(f, (x,), (x,))[0], fd.vmap):
        np.testing.assert_allclose(run(lambda x: ours(x, *shapes, **place))(x), expected, rtol=1e-9, atol=1e-300)
    assert fd.jit(lambda x: ours(x, *shapes, **place))(x.astype(np.float32)).dtype == np.float64  # as SciPy's
    frozen = getattr(fs.stats, name)(*shapes, **place)
    assert np.array_equal(getattr(frozen, function)(x), expected)


SHAPES_REFUSED = {("t", "cdf"), ("gamma", "cdf"), ("beta", "cdf"), ("binom", "cdf"), ("nbinom", "cdf")}


@pytest.mark.parametrize(("name", "shapes", "x", "function"), FUNCTIONS, ids=[f"{f[0]}.{f[3]}" for f in FUNCTIONS])
def test_distributions_have_derivatives(name, shapes, x, function):
    ours = getattr(getattr(fs.stats, name), function)
    inside = np.array([0.31, 0.72]) if function == "ppf" or hasattr(getattr(stats, name), "pdf") else np.array([1.0 if name != "bernoulli" else 0.0])
    of_shapes = (name, function.removeprefix("log").replace("sf", "cdf")) not in SHAPES_REFUSED
    if hasattr(getattr(stats, name), "pdf"):
        # a place and a scale that keep the points inside, and no shape where its derivative is refused
        free = shapes if of_shapes else ()
        held = () if of_shapes else shapes
        if function == "ppf":
            check_grads(lambda x, loc, scale, *s: ours(x, *s, *held, loc, scale), (inside, 0.1, 1.2, *free), order=2)
        else:
            check_grads(lambda x, loc, scale, *s: ours(x, *s, *held, loc, scale), (inside, 0.1, 1.2, *free), order=2, atol=1e-6, rtol=1e-6)
    elif name == "binom" or (not of_shapes and name == "nbinom"):  # SciPy wants whole numbers of trials
        check_grads(lambda p: ours(inside, shapes[0], p), (shapes[1],), order=2)
    else:
        check_grads(lambda *s: ours(inside, *s), shapes, order=2)


def test_outside_of_the_support_the_derivative_is_zero():
    for name, shapes, x in [("gamma", (2.5,), -1.0), ("beta", (2.0, 2.0), 1.5), ("expon", (), -1.0), ("lognorm", (0.5,), -1.0), ("uniform", (), 3.0)]:
        d = getattr(fs.stats, name)
        assert fd.grad(lambda x, d=d, s=shapes: d.pdf(x, *s))(x) == 0.0
        assert fd.grad(lambda x, d=d, s=shapes: d.cdf(x, *s))(x) == 0.0


def test_a_shape_whose_derivative_is_no_such_function_is_refused():
    with pytest.raises(fd.errors.MissingRuleError, match="gammainc has no derivative in its parameter a"):
        fd.grad(lambda a: fs.stats.gamma.cdf(1.0, a))(2.0)


def test_other_functions_of_a_distribution_are_refused_by_name():
    with pytest.raises(fd.errors.UnsupportedFunctionError, match=r"functad\.scipy\.stats\.t\.ppf has no rule .* logpdf, pdf"):
        fd.jit(lambda q: fs.stats.t.ppf(q, 3.0))(0.5)
    with pytest.raises(AttributeError, match="no attribute 'entropy_of'"):
        fs.stats.norm(0.0, 1.0).entropy_of
    with pytest.raises(TypeError, match="takes the parameters a, loc, scale"):
        fd.jit(lambda x: fs.stats.gamma.logpdf(x))(0.5)


@pytest.mark.parametrize(
    ("x", "mean", "cov"),
    [(X[:3], X[1:4], S), (RANDOM.normal(size=(4, 3)), X[:3], S), (RANDOM.normal(size=(2, 2, 3)), np.zeros(3), S), (X[:3], np.zeros(3), np.ones(3))],
)
def test_multivariate_normal(x, mean, cov):
    expected = stats.multivariate_normal.logpdf(x, mean, cov)
    ours = lambda *a: fs.stats.multivariate_normal.logpdf(*a)
    np.testing.assert_allclose(fd.jit(ours)(x, mean, cov), expected, rtol=1e-12)
    np.testing.assert_allclose(fd.jit(fs.stats.multivariate_normal.pdf)(x, mean, cov), np.exp(expected), rtol=1e-12)
    check_grads(lambda x, mean, r: ours(x, mean, r @ r.T if r.ndim == 2 else r), (x, mean, cov), order=2, atol=1e-6, rtol=1e-6)


def test_multivariate_normal_of_a_number_and_without_a_mean():
    assert fd.jit(fs.stats.multivariate_normal.logpdf)(0.3) == pytest.approx(stats.multivariate_normal.logpdf(0.3), rel=1e-14)
    assert fd.jit(fs.stats.multivariate_normal.logpdf)(X) == pytest.approx(stats.multivariate_normal.logpdf(X), rel=1e-14)


def test_dirichlet():
    alpha, x = np.array([1.5, 2.0, 0.7]), np.array([0.2, 0.5, 0.3])
    expected = stats.dirichlet.logpdf(x, alpha)
    for given in (x, x[:2]):
        assert fd.jit(fs.stats.dirichlet.logpdf)(given, alpha) == pytest.approx(expected, rel=1e-13)
        check_grads(fd.jit(fs.stats.dirichlet.logpdf), (given, alpha), order=2)  # SciPy refuses what does not sum to 1
    columns = np.stack([x, x[::-1]], axis=1)
    np.testing.assert_allclose(fd.jit(fs.stats.dirichlet.pdf)(columns, alpha), stats.dirichlet.pdf(columns, alpha), rtol=1e-13)


# ---- what is special


def test_a_factor_of_zero_has_its_derivative():
    assert np.allclose(fd.grad(lambda b: fs.special.logsumexp(np.zeros(3), b=b))(np.array([2.0, 0.0, 5.0])), 1 / 7)
    hidden = lambda a: fs.special.logsumexp(a, b=np.array([1.0, 0.0]))
    assert np.array_equal(fd.grad(hidden)(np.array([1.0, 5000.0])), [1.0, 0.0])
    assert fd.jit(hidden)(np.array([1.0, 5000.0])) == 1.0


def test_nothing_but_minus_infinity():
    a = np.full(3, -np.inf)
    assert fd.jit(fs.special.logsumexp)(a) == -np.inf
    assert np.array_equal(fd.grad(fs.special.logsumexp)(a), np.zeros(3))


def test_a_plain_image_at_traced_places():
    assert fd.jit(lambda c: fs.ndimage.map_coordinates(np.array([0.0, 1.0, 4.0]), c, order=1))(np.array([[1.5]])) == 2.5


def test_other_names_are_scipys():
    assert fs.special.gammaln is special.gammaln
    assert fs.linalg.svdvals is linalg.svdvals
    with pytest.raises(AttributeError, match="neither"):
        fs.special.no_such_function
    with pytest.raises(AttributeError, match="neither"):
        fs.linalg.no_such_function
    assert "gammaln" in dir(fs.special)
    assert "svdvals" in dir(fs.linalg)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: fs.special.spherical_jn(1, x, derivative=True), "use functad.grad"),
        (lambda x: fs.special.lambertw(x, 2), "only 0 and -1"),
        (lambda x: fs.special.polygamma(x, 1.0), "must be a plain whole number"),
        (lambda x: fs.special.logsumexp(x + 1j), "real numbers"),
        (lambda x: fs.linalg.solve_triangular(x * np.eye(2), np.ones(2), trans=3), "trans=3"),
        (lambda x: fs.linalg.solve(x * np.eye(2), np.ones(2), assume_a="banded"), "assume_a='banded'"),
        (lambda x: fs.linalg.eigh(x * np.eye(2), np.eye(2)), "the argument b="),
        (lambda x: fs.linalg.expm(x * np.ones((2, 3))), "must be square"),
        (lambda x: fs.linalg.toeplitz(x * np.ones((2, 3))), "takes vectors"),
        (lambda x: fs.linalg.block_diag(x * np.ones((2, 3, 1))), "takes matrices"),
        (lambda x: fs.integrate.cumulative_trapezoid(x * np.ones(3), initial=2), "initial=2"),
        (lambda x: fs.integrate.simpson(x * np.ones(3), np.arange(4.0)), "4 places for 3 samples"),
        (lambda x: fs.signal.convolve(x * np.ones(3), np.ones(2), "other"), "mode='other'"),
        (lambda x: fs.signal.convolve(x * np.ones(3), np.ones((2, 2))), "different numbers of dimensions"),
        (lambda x: fs.signal.convolve(x * np.ones((3, 1)), np.ones((1, 3)), "valid"), "contains the other"),
        (lambda x: fs.ndimage.map_coordinates(x * np.ones(3), np.ones((1, 1))), "order=3"),
        (lambda x: fs.ndimage.map_coordinates(x * np.ones(3), np.ones((2, 1)), order=1), "2 coordinates"),
        (lambda x: fs.stats.dirichlet.logpdf(x * np.ones(4), np.ones(2)), "2 concentrations"),
        (lambda x: fs.stats.multivariate_normal.logpdf(x * np.ones(4), None, np.eye(2)), "for a covariance"),
    ],
)
def test_what_cannot_be_honoured_is_refused_by_name(call, message):
    with pytest.raises(fd.errors.FunctadError, match=message) as caught:
        fd.jit(call)(1.5)
    assert caught.value.location.startswith(__file__)
