"""Distributions of `scipy.stats` whose densities and distribution functions take traced values; SciPy's own values otherwise.

Formulas: Johnson, Kotz and Balakrishnan, *Continuous Univariate Distributions* (1994, 1995); Johnson, Kemp and Kotz, *Univariate Discrete
Distributions* (2005); distribution functions by those of `scipy.special`.
"""

import math

import numpy as np
from scipy import special
from scipy import stats as _stats

from functad._api.scipys import OWN
from functad._numpy.arguments import Operand, Result
from functad.errors import ShapeMismatchError
from functad.numpy import asarray
from functad.scipy._distribution import Continuous, Discrete
from functad.scipy._given import any_traced, floating
from functad.scipy.linalg import cholesky, solve_triangular

__all__ = OWN["stats"]

_CONTINUOUS = "Johnson, Kotz and Balakrishnan, *Continuous Univariate Distributions*, chapter {}."
_DISCRETE = "Johnson, Kemp and Kotz, *Univariate Discrete Distributions*, chapter {}."
_HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)

# ---- continuous

norm = Continuous(
    "norm", (),
    {"logpdf": lambda z: -0.5 * z * z - _HALF_LOG_2PI, "cdf": special.ndtr, "logcdf": special.log_ndtr, "sf": lambda z: special.ndtr(-z),
     "logsf": lambda z: special.log_ndtr(-z), "ppf": special.ndtri},
    None, _CONTINUOUS.format(13),
)  # fmt: skip
t = Continuous(
    "t", ("df",),
    {"logpdf": lambda z, df: -0.5 * (df + 1) * np.log1p(z * z / df) - special.betaln(0.5 * df, 0.5) - 0.5 * np.log(df),
     "cdf": lambda z, df: special.stdtr(df, z), "sf": lambda z, df: special.stdtr(df, -z)},
    None, _CONTINUOUS.format(28),
)  # fmt: skip


def _from_zero(function: Result, inside: float, outside: float) -> Result:
    """The function of z where z > 0, a constant elsewhere; the branch not taken is computed at `inside`."""
    return lambda z, *shapes: np.where(z > 0, function(np.where(z > 0, z, inside), *shapes), outside)


gamma = Continuous(
    "gamma", ("a",),
    {"logpdf": lambda z, a: special.xlogy(a - 1, z) - z - special.gammaln(a),
     "cdf": _from_zero(lambda z, a: special.gammainc(a, z), 1.0, 0.0), "sf": _from_zero(lambda z, a: special.gammaincc(a, z), 1.0, 1.0)},
    lambda z, a: z >= 0, _CONTINUOUS.format(17),
)  # fmt: skip


def _clipped(z: Result) -> Result:
    return np.where(z > 0, np.where(z < 1, z, 1.0), 0.0)


beta = Continuous(
    "beta", ("a", "b"),
    {"logpdf": lambda z, a, b: special.xlogy(a - 1, z) + special.xlog1py(b - 1, -z) - special.betaln(a, b),
     "cdf": lambda z, a, b: special.betainc(a, b, _clipped(z)), "sf": lambda z, a, b: special.betainc(b, a, 1.0 - _clipped(z))},
    lambda z, a, b: (z >= 0) & (z <= 1), _CONTINUOUS.format(25),
)  # fmt: skip
expon = Continuous(
    "expon", (),
    {"logpdf": lambda z: -z, "cdf": _from_zero(lambda z: -np.expm1(-z), 1.0, 0.0), "sf": _from_zero(lambda z: np.exp(-z), 1.0, 1.0),
     "logsf": _from_zero(lambda z: -z, 1.0, 0.0), "ppf": lambda q: -np.log1p(-q)},
    lambda z: z >= 0, _CONTINUOUS.format(19),
)  # fmt: skip
uniform = Continuous(
    "uniform", (), {"logpdf": lambda z: 0.0 * z, "cdf": _clipped, "sf": lambda z: 1.0 - _clipped(z), "ppf": lambda q: q},
    lambda z: (z >= 0) & (z <= 1), _CONTINUOUS.format(26),
)  # fmt: skip


def _laplace_cdf(z: Result) -> Result:
    half = 0.5 * np.exp(-np.abs(z))
    return np.where(z > 0, 1.0 - half, half)


laplace = Continuous(
    "laplace", (),
    {"logpdf": lambda z: -np.abs(z) - math.log(2), "cdf": _laplace_cdf, "sf": lambda z: _laplace_cdf(-z)}, None, _CONTINUOUS.format(24),
)  # fmt: skip
logistic = Continuous(
    "logistic", (),
    {"logpdf": lambda z: special.log_expit(z) + special.log_expit(-z), "cdf": special.expit, "logcdf": special.log_expit,
     "sf": lambda z: special.expit(-z), "logsf": lambda z: special.log_expit(-z), "ppf": special.logit},
    None, _CONTINUOUS.format(23),
)  # fmt: skip
lognorm = Continuous(
    "lognorm", ("s",),
    {"logpdf": lambda z, s: -0.5 * (np.log(z) / s) ** 2 - np.log(s * z) - _HALF_LOG_2PI,
     "cdf": _from_zero(lambda z, s: special.ndtr(np.log(z) / s), 1.0, 0.0), "sf": _from_zero(lambda z, s: special.ndtr(-np.log(z) / s), 1.0, 1.0),
     "ppf": lambda q, s: np.exp(s * special.ndtri(q))},
    lambda z, s: z > 0, _CONTINUOUS.format(14),
)  # fmt: skip
cauchy = Continuous(
    "cauchy", (),
    {"logpdf": lambda z: -math.log(math.pi) - np.log1p(z * z), "cdf": lambda z: np.arctan2(1.0, -z) / math.pi,
     "sf": lambda z: np.arctan2(1.0, z) / math.pi},
    None, _CONTINUOUS.format(16),
)  # fmt: skip

# ---- discrete


def _whole(k: Result) -> Result:
    return np.floor(k) == k


def _from_count(function: Result, low: float, outside: float) -> Result:
    """A distribution function of whole numbers from `low` on, which is a constant below."""
    return lambda k, *shapes: np.where(k >= low, function(np.maximum(np.floor(k), low), *shapes), outside)


def _binom_cdf(k: Result, n: Result, p: Result) -> Result:
    held = np.minimum(k, n - 1)
    return np.where(k >= n, 1.0, special.betainc(n - held, held + 1, 1.0 - p))


def _binom_sf(k: Result, n: Result, p: Result) -> Result:
    held = np.minimum(k, n - 1)
    return np.where(k >= n, 0.0, special.betainc(held + 1, n - held, p))


poisson = Discrete(
    "poisson", ("mu",),
    {"logpmf": lambda k, mu: special.xlogy(k, mu) - mu - special.gammaln(k + 1),
     "cdf": _from_count(lambda k, mu: special.gammaincc(k + 1, mu), 0, 0.0), "sf": _from_count(lambda k, mu: special.gammainc(k + 1, mu), 0, 1.0)},
    lambda k, mu: (k >= 0) & _whole(k), _DISCRETE.format(4),
)  # fmt: skip
binom = Discrete(
    "binom", ("n", "p"),
    {"logpmf": lambda k, n, p: special.gammaln(n + 1) - special.gammaln(k + 1) - special.gammaln(n - k + 1) + special.xlogy(k, p)
     + special.xlog1py(n - k, -p),
     "cdf": _from_count(_binom_cdf, 0, 0.0), "sf": _from_count(_binom_sf, 0, 1.0)},
    lambda k, n, p: (k >= 0) & (k <= n) & _whole(k), _DISCRETE.format(3),
)  # fmt: skip
nbinom = Discrete(
    "nbinom", ("n", "p"),
    {"logpmf": lambda k, n, p: special.gammaln(n + k) - special.gammaln(k + 1) - special.gammaln(n) + n * np.log(p) + special.xlog1py(k, -p),
     "cdf": _from_count(lambda k, n, p: special.betainc(n, k + 1, p), 0, 0.0),
     "sf": _from_count(lambda k, n, p: special.betainc(k + 1, n, 1.0 - p), 0, 1.0)},
    lambda k, n, p: (k >= 0) & _whole(k), _DISCRETE.format(5),
)  # fmt: skip
geom = Discrete(
    "geom", ("p",),
    {"logpmf": lambda k, p: special.xlog1py(k - 1, -p) + np.log(p), "cdf": _from_count(lambda k, p: -np.expm1(k * np.log1p(-p)), 1, 0.0),
     "sf": _from_count(lambda k, p: np.exp(k * np.log1p(-p)), 1, 1.0)},
    lambda k, p: (k >= 1) & _whole(k), _DISCRETE.format(5),
)  # fmt: skip
bernoulli = Discrete(
    "bernoulli", ("p",),
    {"logpmf": lambda k, p: special.xlogy(k, p) + special.xlog1py(1 - k, -p),
     "cdf": _from_count(lambda k, p: np.where(k >= 1, 1.0, 1.0 - p), 0, 0.0), "sf": _from_count(lambda k, p: np.where(k >= 1, 0.0, p), 0, 1.0)},
    lambda k, p: (k == 0) | (k == 1), _DISCRETE.format(3),
)  # fmt: skip


# ---- of vectors


class _MultivariateNormal:
    """The distribution `scipy.stats.multivariate_normal`: logpdf, pdf.

    Parameters
    ----------
    mean : array_like, shape (n,), optional
        0 by default.
    cov : array_like, shape (n, n), (n,) or (), optional
        Covariance, positive definite; a vector is its diagonal, a number a multiple of the identity.

    Raises
    ------
    LinAlgError
        If the covariance is not positive definite.
    UnsupportedArgumentError
        For complex values.

    Notes
    -----
    Kotz, Balakrishnan and Johnson, *Continuous Multivariate Distributions* (2000), chapter 45; by the Cholesky factor of the covariance.

    Examples
    --------
    >>> import numpy as np, functad as fd
    >>> from functad.scipy.stats import multivariate_normal
    >>> fd.grad(lambda m: multivariate_normal.logpdf(np.array([1.0, 2.0]), m, np.eye(2)))(np.zeros(2))
    array([1., 2.])
    """

    def logpdf(self, x: Operand, mean: Operand = None, cov: Operand = 1, allow_singular: bool = False) -> Result:
        """Logarithm of the density at x, shape (..., n)."""
        if not any_traced(x, mean, cov):
            return _stats.multivariate_normal.logpdf(x, mean, cov, allow_singular)
        points, spread = floating(x), floating(cov)
        size = max(np.shape(spread)[-1:] + (() if mean is None else np.shape(mean)[-1:]), default=1)
        if np.ndim(points) == 0 or (np.ndim(points) == 1 and size == 1):
            points = np.reshape(points, (*np.shape(points), 1))
        difference: Result = points if mean is None else points - floating(mean)
        factor = cholesky(spread if np.ndim(spread) == 2 else spread * np.eye(size), lower=True)
        if difference.shape[-1] != size or factor.shape != (size, size):
            raise ShapeMismatchError(f"multivariate_normal: points of shape {np.shape(x)} for a covariance of shape {np.shape(cov)}")
        leading = difference.shape[:-1]
        scores = solve_triangular(factor, np.reshape(difference, (-1, size)).T, lower=True)
        out = -0.5 * np.sum(scores * scores, axis=0) - np.sum(np.log(np.diagonal(factor))) - size * _HALF_LOG_2PI
        return np.reshape(out, leading)

    def pdf(self, x: Operand, mean: Operand = None, cov: Operand = 1, allow_singular: bool = False) -> Result:
        """Density at x, shape (..., n)."""
        if not any_traced(x, mean, cov):
            return _stats.multivariate_normal.pdf(x, mean, cov, allow_singular)
        return np.exp(self.logpdf(x, mean, cov))


class _Dirichlet:
    """The distribution `scipy.stats.dirichlet`: logpdf, pdf.

    Parameters
    ----------
    alpha : array_like, shape (n,)
        Concentrations.

    Raises
    ------
    ShapeMismatchError
        If the first axis of x is neither as long as `alpha` nor one shorter.
    UnsupportedArgumentError
        For complex values.

    Notes
    -----
    Kotz, Balakrishnan and Johnson, *Continuous Multivariate Distributions* (2000), chapter 49.  That x sums to 1 is not checked for traced values.

    Examples
    --------
    >>> import numpy as np, functad as fd
    >>> from functad.scipy.stats import dirichlet
    >>> fd.grad(lambda x: dirichlet.logpdf(x, np.array([1.0, 3.0])))(np.array([0.5, 0.5]))
    array([0., 4.])
    """

    def logpdf(self, x: Operand, alpha: Operand) -> Result:
        """Logarithm of the density at x, shape (n,) or (n, m); the last element may be left out."""
        if not any_traced(x, alpha):
            return _stats.dirichlet.logpdf(x, alpha)
        x, alpha = floating(asarray(x)), floating(asarray(alpha))
        if x.shape[0] == alpha.shape[0] - 1:
            x = np.concatenate([x, 1.0 - np.sum(x, axis=0, keepdims=True)])
        if x.shape[0] != alpha.shape[0]:
            raise ShapeMismatchError(f"dirichlet: x of shape {x.shape} for {alpha.shape[0]} concentrations")
        constant = special.gammaln(np.sum(alpha)) - np.sum(special.gammaln(alpha))
        return np.sum(special.xlogy(alpha - 1, x.T), axis=-1) + constant

    def pdf(self, x: Operand, alpha: Operand) -> Result:
        """Density at x."""
        return np.exp(self.logpdf(x, alpha)) if any_traced(x, alpha) else _stats.dirichlet.pdf(x, alpha)


multivariate_normal, dirichlet = _MultivariateNormal(), _Dirichlet()

__test__ = {name: distribution.__doc__ for name, distribution in list(globals().items()) if isinstance(distribution, (Continuous, Discrete))}
