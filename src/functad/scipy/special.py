"""`scipy.special` with the functions that are no ufuncs replaced; every other name is SciPy's own.

Values that are not traced go to SciPy.  Of those that are, single precision stays single.  Formulas:
the Digital Library of Mathematical Functions (dlmf.nist.gov).
"""

import math
import operator

import numpy as np
from scipy import special as _special

from functad._api.products import stop_gradient
from functad._api.scipys import OWN
from functad._core.tracer import Tracer
from functad._numpy.arguments import Axes, Operand, Result
from functad._numpy.dispatch import door
from functad._numpy.promote import cast, operand
from functad._numpy.special import meet_scipy
from functad._primitives import bessel as _bessel
from functad._primitives import special as _rows
from functad.errors import UnsupportedArgumentError
from functad.scipy._given import any_traced, floating

meet_scipy()

_OWN = OWN["special"]
__all__ = sorted({*_special.__all__, *_OWN})


def __getattr__(name: str) -> object:
    try:
        return getattr(_special, name)
    except AttributeError:
        raise AttributeError(f"neither functad.scipy.special nor scipy.special has the attribute {name!r}") from None


def __dir__() -> list[str]:
    return sorted({*dir(_special), *_OWN})


# ---- sums of exponentials


def _highest(a: Result, axis: Axes) -> Result:
    """The largest element, as a constant; 0 where that is infinite."""
    top = stop_gradient(np.max(a, axis=axis, keepdims=True))
    return np.where(np.isfinite(top), top, 0)


def _squeezed(x: Result, axis: Axes, keepdims: bool) -> Result:
    return x if keepdims else np.squeeze(x, axis=tuple(range(x.ndim)) if axis is None else axis)


def logsumexp(
    a: Operand, axis: Axes = None, b: Operand = None, keepdims: bool = False, return_sign: bool = False
) -> Result:  # fmt: skip
    """log(sum(b * exp(a))), shifted by the largest exponent.

    Parameters
    ----------
    a : array_like
    axis : int or tuple of int, optional
        Axes to sum over; all by default.
    b : array_like, optional
        Factors, broadcast with `a`.  One that is zero takes no part in the value and has its derivative, exp(a - out).
    keepdims : bool, optional
        Whether the axes stay, with length 1.
    return_sign : bool, optional
        Whether the sign of the sum is returned as well, and the logarithm is that of its size.

    Returns
    -------
    array, or (array, array)
        The shape of `a` without the axes.

    Raises
    ------
    UnsupportedArgumentError
        For complex traced values.

    Notes
    -----
    Where all of `a` is -inf, the derivative is 0, as that of `np.logaddexp`.

    Examples
    --------
    >>> import numpy as np, functad as fd
    >>> from functad.scipy.special import logsumexp
    >>> fd.grad(lambda b: logsumexp(np.zeros(3), b=b))(np.array([1.0, 0.0, 3.0]))
    array([0.25, 0.25, 0.25])
    """
    if not any_traced(a, b):
        return _special.logsumexp(a, axis=axis, b=b, keepdims=keepdims, return_sign=return_sign)
    a = floating(a)
    if b is None:
        top = _highest(a, axis)
        total = np.sum(np.exp(a - top), axis=axis, keepdims=True)
    else:
        b = floating(b)
        shape = np.broadcast_shapes(np.shape(a), np.shape(b))
        a, b = np.broadcast_to(a, shape), np.broadcast_to(b, shape)
        top = _highest(np.where(b == 0, -np.inf, a), axis)
        most = math.log(np.finfo(a.dtype).max) - 1  # beyond, a factor of zero would make NaN of an infinity
        total = np.sum(b * np.exp(np.minimum(a - top, most)), axis=axis, keepdims=True)
    size = np.abs(total) if return_sign else total
    dead = np.max(a, axis=axis, keepdims=True) == -np.inf
    out = _squeezed(np.where(dead, -np.inf, np.log(size) + top), axis, keepdims)
    return (out, _squeezed(np.sign(total), axis, keepdims)) if return_sign else out


def softmax(x: Operand, axis: Axes = None) -> Result:
    """exp(x) / sum(exp(x)), shifted by the largest exponent.

    Parameters
    ----------
    x : array_like
    axis : int or tuple of int, optional
        Axes to sum over; all by default.

    Returns
    -------
    array
        The shape of `x`.

    Raises
    ------
    UnsupportedArgumentError
        For complex traced values.

    Examples
    --------
    >>> import numpy as np, functad as fd
    >>> from functad.scipy.special import softmax
    >>> fd.jacobian(softmax)(np.zeros(2))
    array([[ 0.25, -0.25],
           [-0.25,  0.25]])
    """
    if not any_traced(x):
        return _special.softmax(x, axis=axis)
    x = floating(x)
    powers = np.exp(x - stop_gradient(np.max(x, axis=axis, keepdims=True)))
    return powers / np.sum(powers, axis=axis, keepdims=True)


def log_softmax(x: Operand, axis: Axes = None) -> Result:
    """x - logsumexp(x), the logarithm of `softmax`.

    Parameters
    ----------
    x : array_like
    axis : int or tuple of int, optional
        Axes to sum over; all by default.

    Returns
    -------
    array
        The shape of `x`.

    Raises
    ------
    UnsupportedArgumentError
        For complex traced values.

    Examples
    --------
    >>> import numpy as np, functad as fd
    >>> from functad.scipy.special import log_softmax
    >>> fd.grad(lambda x: log_softmax(x)[0])(np.array([0.0, 1000.0]))
    array([ 1., -1.])
    """
    if not any_traced(x):
        return _special.log_softmax(x, axis=axis)
    x = floating(x)
    shifted = x - _highest(x, axis)
    return shifted - np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True))


# ---- functions with a whole number among their parameters


def _whole(function: str, name: str, found: Operand) -> int:
    if isinstance(found, Tracer):
        raise UnsupportedArgumentError(f"functad.scipy.special.{function}: {name} must be a plain whole number, and is traced")
    return operator.index(found)


_POLYGAMMA = door("polygamma", lambda x, order: _rows.polygamma(_float(x), order=order), ["x"])
_SPHERICAL = door("spherical_jn", lambda x, order: _bessel.spherical_jn(_float(x), order=order), ["x"])
_LAMBERTW = door("lambertw", lambda x, branch: _bessel.lambertw(_float(x), branch=branch), ["x"])


def _float(x: Operand) -> Result:
    given = operand(x)
    return given if given.type.dtype.kind in "fc" else cast(given, np.float64)


def polygamma(n: int, x: Operand) -> Result:
    """The derivative of order n of `digamma` (DLMF 5.15).

    Parameters
    ----------
    n : int
    x : array_like

    Returns
    -------
    array
        The shape of `x`.

    Raises
    ------
    UnsupportedArgumentError
        If `n` is traced; for complex traced values.
    TypeError
        If `n` is no whole number while `x` is traced.

    Examples
    --------
    >>> import functad as fd
    >>> from functad.scipy.special import polygamma
    >>> fd.grad(lambda x: polygamma(0, x))(1.0) == polygamma(1, 1.0)
    np.True_
    """
    if not any_traced(n, x):
        return _special.polygamma(n, x)
    return _POLYGAMMA(x=x, order=_whole("polygamma", "n", n))


def spherical_jn(n: int, z: Operand, derivative: bool = False) -> Result:
    """The spherical Bessel function of the first kind (DLMF 10.47), sin(z)/z for n = 0.

    Parameters
    ----------
    n : int
    z : array_like
    derivative : bool, optional
        As SciPy's; refused for traced values, of which `functad.grad` takes the derivative.

    Returns
    -------
    array
        The shape of `z`.

    Raises
    ------
    UnsupportedArgumentError
        If `n` is traced; for `derivative=True` and complex values if `z` is traced.

    Examples
    --------
    >>> import functad as fd
    >>> from functad.scipy.special import spherical_jn
    >>> fd.grad(fd.grad(lambda z: spherical_jn(0, z)))(0.0)
    np.float64(-0.3333333333333333)
    """
    if not any_traced(n, z):
        return _special.spherical_jn(n, z, derivative)
    if derivative:
        raise UnsupportedArgumentError("functad.scipy.special.spherical_jn: derivative=True cannot be honoured for traced values: use functad.grad")
    return _SPHERICAL(x=z, order=_whole("spherical_jn", "n", n))


def lambertw(z: Operand, k: int = 0, tol: float = 1e-8) -> Result:
    """The real branches of Lambert's function, w exp(w) = z (DLMF 4.13).

    Parameters
    ----------
    z : array_like
    k : {0, -1}, optional
        The branch.
    tol : float, optional
        As SciPy's; means nothing for traced values.

    Returns
    -------
    array
        The shape of `z`.  Complex, as SciPy's, unless `z` is traced: then real, and NaN where there is no real value.

    Raises
    ------
    UnsupportedArgumentError
        If `k` is another or `z` is complex, while `z` is traced.

    Examples
    --------
    >>> import functad as fd
    >>> from functad.scipy.special import lambertw
    >>> fd.grad(lambertw)(0.0)
    np.float64(1.0)
    """
    if not any_traced(z, k):
        return _special.lambertw(z, k, tol)
    branch = _whole("lambertw", "k", k)
    if branch not in (0, -1):
        raise UnsupportedArgumentError(
            f"functad.scipy.special.lambertw: k={k!r} cannot be honoured for traced values: only 0 and -1 have real values"
        )
    return _LAMBERTW(x=z, branch=branch)


def multigammaln(a: Operand, d: int) -> Result:
    """The logarithm of the multivariate gamma function (DLMF 35.3.4).

    Parameters
    ----------
    a : array_like
        Above (d - 1)/2.
    d : int

    Returns
    -------
    array
        The shape of `a`.

    Raises
    ------
    UnsupportedArgumentError
        If `d` is traced; for complex traced values.

    Examples
    --------
    >>> import functad as fd
    >>> from functad.scipy.special import digamma, multigammaln
    >>> abs(fd.grad(lambda a: multigammaln(a, 2))(3.0) - digamma(3.0) - digamma(2.5)) < 1e-15
    np.True_
    """
    if not any_traced(a, d):
        return _special.multigammaln(a, d)
    count = _whole("multigammaln", "d", d)
    a = floating(a)
    out = count * (count - 1) / 4 * math.log(math.pi)
    for i in range(count):
        out = out + _special.gammaln(a - i / 2)
    return out
