"""SciPy's ufuncs on traced values: how they are found, and their derivatives against high precision, where formulas would cancel or be 0/0."""

import pickle
import subprocess
import sys

import mpmath
import numpy as np
import pytest
from scipy import special

import functad as fd
from functad._core.primitive import REGISTRY
from functad.testing import check_grads

# name, function of mpmath, where: the places at which a formula of the tables would lose digits
PLACES = [
    ("gammaln", mpmath.loggamma, [1e-3, 0.5, 1.0, 2.0, 30.0, 1e5]),
    ("gamma", mpmath.gamma, [-1.5, -0.3, 0.5, 3.0, 20.0]),
    ("psi", mpmath.digamma, [-0.5, 0.1, 1.4616321449683623, 5.0, 1e4]),
    ("erf", mpmath.erf, [-3.0, 0.0, 0.1, 2.0]),
    ("erfc", mpmath.erfc, [-1.0, 0.0, 5.0]),
    ("erfcx", lambda x: mpmath.exp(x * x) * mpmath.erfc(x), [-2.0, 0.0, 1.0, 21.0, 40.0, 1e4]),
    ("erfinv", mpmath.erfinv, [-0.9, 0.0, 0.5]),
    ("dawsn", lambda x: mpmath.sqrt(mpmath.pi) / 2 * mpmath.exp(-x * x) * mpmath.erfi(x), [-1.0, 0.0, 2.0, 21.0, 60.0]),
    ("ndtr", mpmath.ncdf, [-5.0, 0.0, 2.0]),
    ("log_ndtr", lambda x: mpmath.log(mpmath.erfc(-x / mpmath.sqrt(2)) / 2), [-300.0, -40.0, -5.0, -0.1, 0.5, 6.0]),
    ("expit", lambda x: 1 / (1 + mpmath.exp(-x)), [-50.0, 0.0, 30.0]),
    ("logit", lambda x: mpmath.log(x / (1 - x)), [1e-6, 0.5, 0.75]),
    ("log_expit", lambda x: -mpmath.log(1 + mpmath.exp(-x)), [-800.0, 0.0, 30.0]),
    ("entr", lambda x: -x * mpmath.log(x), [1e-9, 0.5, 3.0]),
    ("exprel", lambda x: mpmath.expm1(x) / x if x else mpmath.mpf(1), [-30.0, -1e-8, 0.0, 1e-5, 2.0]),
    ("j0", lambda x: mpmath.besselj(0, x), [0.0, 0.5, 8.0]),
    ("j1", lambda x: mpmath.besselj(1, x), [0.0, 0.5, 8.0]),
    ("y0", lambda x: mpmath.bessely(0, x), [0.5, 8.0]),
    ("y1", lambda x: mpmath.bessely(1, x), [0.5, 8.0]),
    ("i0", lambda x: mpmath.besseli(0, x), [0.0, 2.0]),
    ("i1", lambda x: mpmath.besseli(1, x), [0.0, 2.0]),
    ("k0", lambda x: mpmath.besselk(0, x), [0.1, 2.0]),
    ("k1", lambda x: mpmath.besselk(1, x), [0.1, 2.0]),
    ("i0e", lambda x: mpmath.exp(-abs(x)) * mpmath.besseli(0, x), [-2.0, 0.5, 30.0]),
    ("i1e", lambda x: mpmath.exp(-abs(x)) * mpmath.besseli(1, x), [-2.0, 0.5, 30.0]),
    ("spence", lambda x: mpmath.polylog(2, 1 - x), [0.1, 0.9999999, 1.0, 1.5]),
    ("ellipk", mpmath.ellipk, [-3.0, 0.0, 1e-9, 0.5, 0.99]),
    ("ellipe", mpmath.ellipe, [-3.0, 0.0, 1e-9, 0.5, 0.99]),
    ("expi", mpmath.ei, [0.1, 2.0]),
    ("exp1", mpmath.e1, [0.1, 2.0]),
]


@pytest.mark.parametrize(("name", "exact", "places"), PLACES, ids=[p[0] for p in PLACES])
def test_first_and_second_derivatives_in_high_precision(name, exact, places):
    function = getattr(special, name)
    for order, derivative in ((1, fd.grad(function)), (2, fd.grad(fd.grad(function)))):
        for x in places:
            with mpmath.workdps(60):
                expected = float(mpmath.re(mpmath.diff(exact, mpmath.mpf(x), order, h=mpmath.mpf(10) ** -15)))
            assert derivative(x) == pytest.approx(expected, rel=1e-11, abs=1e-14), (order, x)


def with_orders(name, *parameters):
    return lambda x: getattr(special, name)(*parameters, x)


@pytest.mark.parametrize(
    "function",
    [with_orders(n, v) for n in ("jv", "yv", "iv", "kv", "ive", "kve") for v in (0, 1, 2.5)]
    + [with_orders("yn", 2), with_orders("gammainc", 2.5), with_orders("gammaincc", 2.5), with_orders("betainc", 2.0, 3.5)]
    + [with_orders("zeta", 2.5), with_orders("hyp1f1", 0.5, 1.5), with_orders("hyp2f1", 0.5, 1.0, 1.5), with_orders("stdtr", 3.5)]
    + [with_orders("boxcox1p", 0.5), with_orders("huber", 0.3), with_orders("huber", 3.0), with_orders("pseudo_huber", 0.7)],
)
def test_derivatives_in_the_argument(function):
    check_grads(function, (np.array([0.4, 0.65]),), order=2)


@pytest.mark.parametrize("name", ["beta", "betaln", "xlogy", "xlog1py", "rel_entr", "kl_div", "boxcox", "boxcox1p", "pseudo_huber"])
def test_derivatives_in_both_arguments(name):
    check_grads(getattr(special, name), (np.array([0.4, 1.5]), np.array([0.7, 0.6])), order=2)


@pytest.mark.parametrize("name", ["sici", "fresnel"])
def test_two_results(name):
    x = np.array([0.0, 0.4, 3.0]) if name == "fresnel" else np.array([0.4, 3.0])
    check_grads(getattr(special, name), (x,), order=2)
    assert np.array_equal(fd.jit(getattr(special, name))(x), getattr(special, name)(x))


def test_the_sine_integral_is_smooth_at_zero():
    third = fd.grad(fd.grad(fd.grad(lambda x: special.sici(x)[0])))
    assert third(0.0) == pytest.approx(-1 / 3, rel=1e-12)


# ---- zeros and poles


def test_zero_times_the_logarithm_of_zero_has_no_part():
    """x log y in y at x = 0 is constant; in x it has the pole of the logarithm."""
    dx, dy = fd.grad(special.xlogy, argnums=(0, 1))(0.0, 0.0)
    assert (dx, dy) == (-np.inf, 0.0)
    assert fd.grad(special.xlogy, argnums=1)(0.0, 0.0) == 0.0
    assert fd.grad(special.xlog1py, argnums=1)(0.0, -1.0) == 0.0
    assert fd.hessian(special.xlogy, argnums=1)(0.0, 0.0) == 0.0


def test_counts_of_zero_in_a_likelihood():
    counts = np.array([0.0, 3.0, 0.0])
    p = np.array([0.0, 0.5, 0.5])
    assert np.array_equal(fd.grad(lambda p: np.sum(special.xlogy(counts, p)))(p), [0.0, 6.0, 0.0])


def test_entropies_at_zero():
    assert fd.grad(special.entr)(0.0) == np.inf
    assert fd.grad(lambda x: np.sum(np.where(x > 0, special.entr(x), 0.0)))(np.array([0.0, 1.0])).tolist() == [0.0, -1.0]
    assert fd.grad(special.rel_entr, argnums=(0, 1))(0.0, 0.0) == (0.0, 0.0)
    assert fd.grad(special.rel_entr, argnums=(0, 1))(0.0, 0.5) == (-np.inf, 0.0)
    assert fd.grad(special.kl_div, argnums=(0, 1))(0.0, 0.0) == (0.0, 1.0)


def test_the_inverse_of_the_normal_distribution_has_poles_at_its_ends():
    assert fd.grad(special.ndtri)(0.0) == np.inf
    assert fd.grad(special.erfinv)(1.0) == np.inf


def test_far_tails_stay_finite():
    x = np.array([-1e150, -1e5, -400.0, 0.0, 400.0])
    slope = fd.grad(lambda x: np.sum(special.log_ndtr(x)))
    assert np.allclose(slope(x), [1e150, 100000.00001, 400.002499968751, np.sqrt(2 / np.pi), 0.0], rtol=1e-13)
    curvature = fd.grad(lambda x: np.sum(slope(x)))(x)
    assert np.all(np.isfinite(curvature))
    assert np.allclose(curvature[1:], [-1.0, -0.99999375011, -2 / np.pi, 0.0], rtol=1e-9)


# ---- how they are found


@pytest.mark.parametrize("name", ["gammaln", "erf", "j0", "expit", "xlogy"])
def test_single_precision_stays_single(name):
    function = getattr(special, name)
    x = np.full(3, 0.5, np.float32)
    given = (x,) * function.nin
    for f in (function, fd.jit(function), fd.grad(lambda *xs: np.sum(function(*xs))), fd.vmap(function)):
        assert f(*given).dtype == np.float32


@pytest.mark.parametrize(("name", "parameters"), [("gammainc", [2.5]), ("gammaincc", [2]), ("hyp2f1", [0.5, 1, 1.5]), ("jv", [1])])
def test_precision_beside_parameters_is_scipys(name, parameters):
    """Some go over to double beside a plain number, as their first loop takes it; a derivative has the dtype of its argument."""
    x = np.full(3, 0.5, np.float32)
    function = lambda x: getattr(special, name)(*parameters, x)
    assert fd.jit(function)(x).dtype == function(x).dtype
    assert fd.grad(lambda x: np.sum(function(x)))(x).dtype == np.float32


@pytest.mark.parametrize("name", ["gammaln", "erf", "ndtr", "expit", "log_expit", "xlogy", "xlog1py", "entr"])
def test_kernels_have_the_special_values(name):
    function = getattr(special, name)
    special_values = np.array([-np.inf, -1.0, -0.0, 0.0, 1e-300, 0.5, 30.0, np.inf, np.nan])
    given = [special_values] if function.nin == 1 else [special_values[:, None], special_values[None, :]]
    with np.errstate(all="ignore"):
        assert np.allclose(fd.jit(function)(*given), function(*given), rtol=1e-14, atol=0, equal_nan=True)


def test_numbers_and_integers_are_taken_as_scipy_takes_them():
    assert fd.jit(special.gammaln)(4) == special.gammaln(4)
    assert fd.grad(special.betaln, argnums=1)(2, 3.0) == pytest.approx(special.psi(3.0) - special.psi(5.0))
    assert fd.jit(special.jv)(np.arange(3), np.arange(3.0)).dtype == np.float64


@pytest.mark.parametrize(
    ("f", "parameter"),
    [(lambda v: special.jv(v, 1.0), "v"), (lambda a: special.gammainc(a, 1.0), "a"), (lambda s: special.zeta(s, 2.0), "x"), (special.zeta, "x")],
)
def test_orders_are_refused_with_the_reason(f, parameter):
    with pytest.raises(fd.errors.MissingRuleError, match=f"no derivative in its parameter {parameter}") as caught:
        fd.grad(f)(2.5)
    assert caught.value.location.startswith(__file__)


def test_complex_arguments_are_refused_by_name():
    with pytest.raises(fd.errors.UnsupportedArgumentError, match=r"scipy\.special\.erf of traced values is for real arguments"):
        fd.jit(special.erf)(1.0 + 1.0j)


@pytest.mark.parametrize("use", ["print(fd.grad(special.gammaln)(2.0))", "print(fd.jit(special.gammaln)(2.0))"])
def test_a_function_of_scipys_is_known_as_soon_as_scipy_is(use):
    code = f"import sys, functad as fd; assert 'scipy' not in sys.modules; from scipy import special; {use}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_an_operation_travels_to_a_process_that_has_not_met_scipy():
    text = pickle.dumps(REGISTRY["gammaln"])
    code = f"import pickle, sys; import functad; print(pickle.loads({text!r}).name)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "gammaln", done.stderr
