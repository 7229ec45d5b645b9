"""Functions of SciPy's that cannot take traced values: the error names the one that can, and the user's own line."""

import inspect

import numpy as np
import pytest
import scipy.integrate
import scipy.linalg
import scipy.ndimage
import scipy.optimize
import scipy.special
import scipy.stats

import functad as fd

INSTEAD = [
    (lambda x: scipy.stats.norm.logpdf(x), r"scipy\.stats\.norm\.logpdf was given .* use functad\.scipy\.stats\.norm\.logpdf\b"),
    (lambda x: scipy.stats.norm(x).logpdf(1.0), r"use functad\.scipy\.stats\.norm\b"),
    (lambda x: scipy.stats.multivariate_normal.logpdf(x * np.ones(2), np.zeros(2)), r"use functad\.scipy\.stats\.multivariate_normal\.logpdf"),
    (lambda x: scipy.special.logsumexp(x), r"scipy\.special\.logsumexp was given .* use functad\.scipy\.special\.logsumexp"),
    (lambda x: scipy.special.polygamma(1, x), r"use functad\.scipy\.special\.polygamma"),
    (lambda x: np.real(scipy.special.lambertw(x)), r"use functad\.scipy\.special\.lambertw"),
    (lambda x: scipy.special.multigammaln(x + 3.0, 2), r"use functad\.scipy\.special\.multigammaln"),
    (lambda x: scipy.linalg.cholesky(x * np.eye(2)), r"use functad\.scipy\.linalg\.cholesky"),
    (lambda x: scipy.linalg.expm(x * np.eye(2)), r"use functad\.scipy\.linalg\.expm"),
    (lambda x: scipy.ndimage.map_coordinates(x * np.ones(3), np.ones((1, 1)), order=1), r"use functad\.scipy\.ndimage\.map_coordinates"),
]
OUTSIDE = [
    (lambda x: scipy.integrate.odeint(lambda y, t: -y, x, np.linspace(0, 1, 3)), r"scipy\.integrate\.odeint was given .* outside"),
    (lambda x: scipy.integrate.solve_ivp(lambda t, y: -x * y, (0, 1), [1.0]).y, r"scipy\.integrate\.solve_ivp was given .* outside"),
    (lambda x: scipy.stats.zscore(x * np.ones(3)), r"scipy\.stats\.zscore was given .* functad\.scipy"),
]


@pytest.mark.parametrize(("function", "message"), INSTEAD + OUTSIDE)
@pytest.mark.parametrize("transform", [fd.jit, lambda f: fd.grad(lambda x: np.sum(f(x)))], ids=["jit", "grad"])
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::RuntimeWarning")
def test_the_error_names_what_can_and_the_users_line(function, message, transform):
    with pytest.raises(fd.errors.UnsupportedFunctionError, match=message) as caught:
        transform(function)(0.7)
    assert caught.value.location == f"{__file__}:{inspect.getsourcelines(function)[1]}"


def test_what_scipy_says_of_plain_values_stays():
    def f(x):
        scipy.linalg.cholesky(-np.eye(2))
        return x

    with pytest.raises(scipy.linalg.LinAlgError) as caught:  # its words differ between versions
        fd.jit(f)(1.0)
    assert not isinstance(caught.value, fd.errors.FunctadError)


def test_a_mistake_in_a_function_that_scipy_calls_stays_the_users():
    def f(x):
        return scipy.optimize.brentq(lambda y: np.zeros(2) @ np.zeros(3) * x, -1.0, 1.0)

    with pytest.raises(ValueError, match="mismatch"):
        fd.jit(f)(1.0)
