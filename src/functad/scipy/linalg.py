"""`scipy.linalg` for traced matrices; every other name is SciPy's own.

Values that are not traced go to SciPy.  Leading axes of traced arguments are stacks, as in `numpy.linalg`, and single precision stays single.
"""

from typing import Literal

import numpy as np
from scipy import linalg as _linalg

from functad._api.scipys import OWN
from functad._numpy.arguments import Operand, Result
from functad.errors import UnsupportedArgumentError
from functad.scipy._given import any_traced, floating, refuse_given
from functad.scipy._matrices import block_diag as block_diag
from functad.scipy._matrices import expm as expm
from functad.scipy._matrices import toeplitz as toeplitz

_OWN = OWN["linalg"]
__all__ = sorted({*_linalg.__all__, *_OWN})


def __getattr__(name: str) -> object:
    try:
        return getattr(_linalg, name)
    except AttributeError:
        raise AttributeError(f"neither functad.scipy.linalg nor scipy.linalg has the attribute {name!r}") from None


def __dir__() -> list[str]:
    return sorted({*dir(_linalg), *_OWN})


def _adjoint(a: Result) -> Result:
    return np.swapaxes(a, -1, -2)


# ---- the Cholesky factor


def cholesky(a: Operand, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Result:
    """The triangular factor of a positive definite matrix, upper unless `lower`.

    Parameters
    ----------
    a : array_like, shape (..., n, n)
        Of which one triangle is read; the derivative is that of the symmetrised matrix.
    lower : bool, optional
        Whether the lower triangle is read, and the factor is lower.
    overwrite_a, check_finite : bool, optional
        As SciPy's; mean nothing for traced values.

    Returns
    -------
    array, shape (..., n, n)

    Raises
    ------
    LinAlgError
        If the matrix is not positive definite, or not square.

    Notes
    -----
    Murray, *Differentiation of the Cholesky decomposition* (2016).

    Examples
    --------
    >>> import numpy as np, functad as fd
    >>> from functad.scipy.linalg import cholesky
    >>> fd.grad(lambda s: cholesky(s * np.eye(2), lower=True)[0, 0])(4.0)
    np.float64(0.25)
    """
    if not any_traced(a):
        return _linalg.cholesky(a, lower, overwrite_a, check_finite)
    return np.linalg.cholesky(floating(a), upper=not lower)


def cho_factor(a: Operand, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Result, bool]:
    """The Cholesky factor for `cho_solve`.

    Parameters
    ----------
    a : array_like, shape (..., n, n)
    lower : bool, optional
    overwrite_a, check_finite : bool, optional
        As for `cholesky`.

    Returns
    -------
    array, shape (..., n, n)
        The factor.  The other triangle, which SciPy leaves as it was, is 0 for traced values.
    bool
        `lower`.

    Raises
    ------
    LinAlgError
        If the matrix is not positive definite, or not square.

    Examples
    --------
    >>> import numpy as np, functad as fd
    >>> from functad.scipy.linalg import cho_factor, cho_solve
    >>> fd.grad(lambda s: cho_solve(cho_factor(s * np.eye(2)), np.ones(2))[0])(4.0)
    np.float64(-0.0625)
    """
    if not any_traced(a):
        factor, _ = _linalg.cho_factor(a, lower, overwrite_a, check_finite)
        return factor, lower
    return cholesky(a, lower), lower


def cho_solve(c_and_lower: tuple[Operand, bool], b: Operand, overwrite_b: bool = False, check_finite: bool = True) -> Result:
    """The solution of a x = b by the factor of a that `cho_factor` gave.

    Parameters
    ----------
    c_and_lower : (array, bool)
    b : array_like, shape (n,) or (..., n, k)
    overwrite_b, check_finite : bool, optional
        As SciPy's; mean nothing for traced values.

    Returns
    -------
    array
        The shape of `b`.

    Raises
    ------
    LinAlgError
        If the factor is singular.

    Examples
    --------
    >>> import numpy as np, functad as fd
    >>> from functad.scipy.linalg import cho_factor, cho_solve
    >>> c = cho_factor(np.diag([4.0, 1.0]))
    >>> fd.jacobian(lambda b: cho_solve(c, b))(np.ones(2))
    array([[0.25, 0.  ],
           [0.  , 1.  ]])
    """
    c, lower = c_and_lower
    if not any_traced(c, b):
        return _linalg.cho_solve(c_and_lower, b, overwrite_b, check_finite)
    first, second = (0, 1) if lower else (1, 0)
    return solve_triangular(c, solve_triangular(c, b, first, lower), second, lower)


# ---- systems


def solve_triangular(
    a: Operand, b: Operand, trans: int | str = 0, lower: bool = False, unit_diagonal: bool = False, overwrite_b: bool = False,
    check_finite: bool = True,
) -> Result:  # fmt: skip
    """The solution of a x = b for a triangular a, of which the other triangle is not read.

    Parameters
    ----------
    a : array_like, shape (..., n, n)
    b : array_like, shape (n,) or (..., n, k)
    trans : {0, 1, 2, "N", "T", "C"}, optional
        Whether a is transposed.
    lower : bool, optional
        Which triangle is read; the upper one by default.
    unit_diagonal : bool, optional
        Whether the diagonal is taken for ones and not read.
    overwrite_b, check_finite : bool, optional
        As SciPy's; mean nothing for traced values.

    Returns
    -------
    array
        The shape of `b`.

    Raises
    ------
    LinAlgError
        If the matrix is singular.
    UnsupportedArgumentError
        For complex traced values, and an unknown `trans`.

    Examples
    --------
    >>> import numpy as np, functad as fd
    >>> from functad.scipy.linalg import solve_triangular
    >>> fd.grad(lambda a: np.sum(solve_triangular(a, np.ones(2))))(np.eye(2))
    array([[-1., -1.],
           [ 0., -1.]])
    """
    if not any_traced(a, b):
        return _linalg.solve_triangular(a, b, trans, lower, unit_diagonal, overwrite_b, check_finite)
    if trans not in (0, 1, 2, "N", "T", "C"):
        raise UnsupportedArgumentError(f"functad.scipy.linalg.solve_triangular: trans={trans!r} is none of 0, 1, 2, 'N', 'T' and 'C'")
    a = floating(a)
    size = a.shape[-1]
    triangle = np.tril(a, -1 if unit_diagonal else 0) if lower else np.triu(a, 1 if unit_diagonal else 0)
    if unit_diagonal:
        triangle = triangle + np.eye(size, dtype=a.dtype)
    return np.linalg.solve(triangle if trans in (0, "N") else _adjoint(triangle), floating(b))


_SYMMETRIC, _TRIANGULAR = ("sym", "symmetric", "her", "hermitian", "pos", "positive definite"), ("upper triangular", "lower triangular")


def solve(
    a: Operand, b: Operand, lower: bool = False, overwrite_a: bool = False, overwrite_b: bool = False, check_finite: bool = True,
    assume_a: str | None = None, transposed: bool = False,
) -> Result:  # fmt: skip
    """The solution of a x = b.

    Parameters
    ----------
    a : array_like, shape (..., n, n)
    b : array_like, shape (n,) or (..., n, k)
    lower : bool, optional
        Which triangle is read where `assume_a` says that one is.
    overwrite_a, overwrite_b, check_finite : bool, optional
        As SciPy's; mean nothing for traced values.
    assume_a : str, optional
        Structure of a: None, "gen", "general"; "sym", "her", "pos" (one triangle is read); "upper triangular", "lower triangular".
    transposed : bool, optional
        Whether a is transposed.

    Returns
    -------
    array
        The shape of `b`.

    Raises
    ------
    LinAlgError
        If the matrix is singular.
    UnsupportedArgumentError
        With traced values, for other structures.

    Notes
    -----
    Giles, *Collected matrix derivative results* (2008).

    Examples
    --------
    >>> import numpy as np, functad as fd
    >>> from functad.scipy.linalg import solve
    >>> fd.grad(lambda s: solve(s * np.eye(2), np.ones(2))[0])(2.0)
    np.float64(-0.25)
    """
    if not any_traced(a, b):
        return _linalg.solve(a, b, lower, overwrite_a, overwrite_b, check_finite, assume_a, transposed)
    a = floating(a)
    if assume_a in _TRIANGULAR:
        return solve_triangular(a, b, int(transposed), assume_a == "lower triangular")
    if assume_a in _SYMMETRIC:
        half = np.tril(a, -1) if lower else np.triu(a, 1)
        a = half + _adjoint(half) + a * np.eye(a.shape[-1], dtype=a.dtype)
    elif assume_a not in (None, "gen", "general"):
        raise UnsupportedArgumentError(f"functad.scipy.linalg.solve: assume_a={assume_a!r} cannot be honoured for traced values: leave it out")
    return np.linalg.solve(_adjoint(a) if transposed else a, floating(b))


def inv(a: Operand, overwrite_a: bool = False, check_finite: bool = True, **keywords: Operand) -> Result:
    """The inverse of a matrix.

    Parameters
    ----------
    a : array_like, shape (..., n, n)
    overwrite_a, check_finite : bool, optional
        As SciPy's; mean nothing for traced values.
    keywords : optional
        Further arguments of SciPy's; refused for traced values.

    Returns
    -------
    array, shape (..., n, n)

    Raises
    ------
    LinAlgError
        If the matrix is singular.
    UnsupportedArgumentError
        With traced values, for other arguments.

    Examples
    --------
    >>> import numpy as np, functad as fd
    >>> from functad.scipy.linalg import inv
    >>> fd.grad(lambda s: inv(s * np.eye(2))[0, 0])(2.0)
    np.float64(-0.25)
    """
    if not any_traced(a):
        return _linalg.inv(a, overwrite_a=overwrite_a, check_finite=check_finite, **keywords)
    refuse_given("linalg.inv", **keywords)
    return np.linalg.inv(floating(a))


def det(a: Operand, overwrite_a: bool = False, check_finite: bool = True) -> Result:
    """The determinant of a matrix.

    Parameters
    ----------
    a : array_like, shape (..., n, n)
    overwrite_a, check_finite : bool, optional
        As SciPy's; mean nothing for traced values.

    Returns
    -------
    array, shape (...)

    Raises
    ------
    LinAlgError
        If the matrix is not square.

    Examples
    --------
    >>> import numpy as np, functad as fd
    >>> from functad.scipy.linalg import det
    >>> fd.grad(det)(np.diag([2.0, 0.0]))
    array([[0., 0.],
           [0., 2.]])
    """
    return _linalg.det(a, overwrite_a, check_finite) if not any_traced(a) else np.linalg.det(floating(a))


def eigh(a: Operand, b: Operand = None, *, lower: bool = True, eigvals_only: bool = False, **keywords: Operand) -> Result:
    """Eigenvalues, in ascending order, and eigenvectors of a symmetric matrix.

    Parameters
    ----------
    a : array_like, shape (..., n, n)
    b : array_like, optional
        Of the generalised problem; refused for traced values.
    lower : bool, optional
        Which triangle is read.
    eigvals_only : bool, optional
    keywords : optional
        Further arguments of SciPy's; refused for traced values.

    Returns
    -------
    array, shape (..., n), or with it an array, shape (..., n, n)

    Raises
    ------
    UnsupportedArgumentError
        With traced values, for `b` and other arguments.

    Notes
    -----
    Giles, *Collected matrix derivative results* (2008).

    Examples
    --------
    >>> import numpy as np, functad as fd
    >>> from functad.scipy.linalg import eigh
    >>> fd.grad(lambda a: eigh(a, eigvals_only=True)[1])(np.diag([1.0, 3.0]))
    array([[0., 0.],
           [0., 1.]])
    """
    if not any_traced(a, b):
        return _linalg.eigh(a, b, lower=lower, eigvals_only=eigvals_only, **keywords)
    refuse_given("linalg.eigh", b=b, **keywords)
    triangle: Literal["L", "U"] = "L" if lower else "U"
    if eigvals_only:
        return np.linalg.eigvalsh(floating(a), triangle)
    values, vectors = np.linalg.eigh(floating(a), triangle)
    return values, vectors
