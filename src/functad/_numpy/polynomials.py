"""Polynomials as NumPy's functions take them: coefficients with the highest power first.

Each is spelt in NumPy's functions on traced values, so that every step is one recorded operation.  Where NumPy drops leading zeros, a traced
coefficient is asked whether it is one.
"""

import operator
from collections.abc import Sequence

import numpy as np

from functad._core.recorder import CONVERT, answer
from functad._core.tracer import Tracer
from functad._numpy.arguments import Array, DTypeLike, Operand, Result
from functad._numpy.dispatch import DOORS, refuse
from functad.errors import UnsupportedFunctionError

__all__: list[str] = []

# ---- zeros at the ends


def _extent(mask: Array) -> tuple[tuple[int, int], ...]:
    """For each axis the first place where the mask holds, and that behind the last; (0, 0) where it holds nowhere."""
    places = np.nonzero(np.atleast_1d(mask))
    return tuple((int(p.min()), int(p.max()) + 1) if p.size else (0, 0) for p in places)


def _trim_zeros(filt: Operand, trim: str = "fb", axis: Operand = None) -> Result:
    """np.trim_zeros: traced values are asked where they are zero."""
    if trim.lower() not in ("fb", "bf", "f", "b"):
        raise ValueError(f"unexpected character(s) in `trim`: {trim!r}")
    x = CONVERT[0](filt)
    axes = range(x.ndim) if axis is None else [operator.index(axis)] if np.ndim(axis) == 0 else list(axis)
    chosen = [i % x.ndim if -x.ndim <= i < x.ndim else refuse("trim_zeros", "axis", axis) for i in axes]
    mask = x != 0
    extent = answer(mask, _extent) if isinstance(mask, Tracer) else _extent(mask)
    ends = [(a if "f" in trim.lower() or (a, b) == (0, 0) else 0, b if "b" in trim.lower() or (a, b) == (0, 0) else None) for a, b in extent]
    return x[tuple(slice(*ends[i]) if i in chosen else slice(None) for i in range(x.ndim))]


def _trimmed(p: Operand) -> Result:
    """Coefficients as np.poly1d keeps them: without leading zeros, at least one."""
    if isinstance(p, np.poly1d):
        return p.coeffs
    x = np.atleast_1d(CONVERT[0](p))
    if x.ndim != 1:
        raise ValueError("Polynomial must be 1d only.")
    found = _trim_zeros(x, "f")
    return found if found.shape[0] else np.zeros(1, x.dtype)


def _coefficients(p: Operand) -> Result:
    return p.coeffs if isinstance(p, np.poly1d) else np.atleast_1d(CONVERT[0](p))


# ---- values and sums


def _polyval(p: Operand, x: Operand) -> Result:
    """np.polyval, by Horner's rule."""
    if isinstance(x, np.poly1d):
        refuse("polyval", "x", x, "a polynomial in a polynomial is not known: give numbers")
    p, x = CONVERT[0](p.coeffs if isinstance(p, np.poly1d) else p), CONVERT[0](x)
    out = np.zeros_like(x)
    for k in range(p.shape[0]):
        out = out * x + p[k]
    return out


def _same_length(a1: Operand, a2: Operand) -> list[Result]:
    found = [_coefficients(a1), _coefficients(a2)]
    size = max(x.shape[0] for x in found)
    return [np.concatenate([np.zeros(size - x.shape[0], x.dtype), x]) if x.shape[0] < size else x for x in found]


def _polyadd(a1: Operand, a2: Operand) -> Result:
    """np.polyadd."""
    return operator.add(*_same_length(a1, a2))


def _polysub(a1: Operand, a2: Operand) -> Result:
    """np.polysub."""
    return operator.sub(*_same_length(a1, a2))


def _polymul(a1: Operand, a2: Operand) -> Result:
    """np.polymul."""
    return np.convolve(_trimmed(a1), _trimmed(a2))


def _negligible(r: Array) -> int:
    """How many leading coefficients NumPy drops from a remainder."""
    count = 0
    while count < len(r) - 1 and np.allclose(r[count], 0, rtol=1e-14):
        count += 1
    return count


def _polydiv(u: Operand, v: Operand) -> Result:
    """np.polydiv."""
    a, b = _coefficients(u) + 0.0, _coefficients(v) + 0.0
    m, n = a.shape[0] - 1, b.shape[0] - 1
    wide = (a[0] + b[0]).dtype
    scale, rest, quotient = 1.0 / b[0], a.astype(wide), []
    for k in range(m - n + 1):
        quotient.append(scale * rest[k])
        rest = np.concatenate([rest[:k], rest[k : k + n + 1] - quotient[-1] * b, rest[k + n + 1 :]])
    count = answer(rest, _negligible) if isinstance(rest, Tracer) else _negligible(rest)
    return np.stack(quotient) if quotient else np.zeros(1, wide), rest[count:]


# ---- derivatives and integrals


def _polyder(p: Operand, m: int = 1) -> Result:
    """np.polyder."""
    if operator.index(m) < 0:
        raise ValueError("Order of derivative must be positive (see polyint)")
    x = CONVERT[0](p)
    for _ in range(operator.index(m)):
        x = x[:-1] * np.arange(max(x.shape[0] - 1, 0), 0, -1)
    return x


def _polyint(p: Operand, m: int = 1, k: Operand = None) -> Result:
    """np.polyint."""
    count = operator.index(m)
    if count < 0:
        raise ValueError("Order of integral must be positive (see polyder)")
    constants = np.atleast_1d(CONVERT[0](np.zeros(count) if k is None else k))
    if constants.shape[0] == 1 and count > 1:
        constants = constants[0] * np.ones(count)
    if constants.shape[0] < count:
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or >m.")
    x = CONVERT[0](p)
    for i in range(count):
        x = np.concatenate([x / np.arange(x.shape[0], 0, -1), constants[i : i + 1]])
    return x


# ---- roots


def _closed(roots: Array) -> bool:
    """Whether the conjugate of each root is a root."""
    return bool(np.all(np.sort(roots) == np.sort(roots.conjugate())))


def _poly(seq_of_zeros: Operand) -> Result:
    """np.poly of a sequence of roots."""
    x = np.atleast_1d(CONVERT[0](seq_of_zeros))
    if x.ndim == 2 and x.shape[0] == x.shape[1] != 0:
        raise _of_eigenvalues("poly of a matrix", "np.linalg.det of x * np.eye(n) - a is the value of that polynomial at x")
    if x.ndim != 1:
        raise ValueError("input must be 1d or non-empty square 2d array.")
    if x.shape[0] == 0:
        return 1.0
    x = x.astype(np.mintypecode(x.dtype.char))
    out = np.ones(1, x.dtype)
    for k in range(x.shape[0]):
        out = np.concatenate([out, np.zeros(1, x.dtype)]) - np.concatenate([np.zeros(1, x.dtype), x[k] * out])
    if x.dtype.kind == "c" and (answer(x, _closed) if isinstance(x, Tracer) else _closed(x)):
        out = out.real
    return out


def _of_eigenvalues(name: str, cure: str) -> UnsupportedFunctionError:
    return UnsupportedFunctionError(
        f"np.{name} has no rule for traced values: these are eigenvalues of a matrix that is not symmetric, and whether they are real or complex "
        f"depends on the values.  {cure[0].upper()}{cure[1:]}"
    )


def _roots(p: Operand) -> Result:
    raise _of_eigenvalues(
        "roots",
        "find them outside of the traced function, and follow one by a step of Newton's method inside: r - np.polyval(p, r) / slope, where slope is "
        "np.polyval(np.polyder(p), r) of plain numbers",
    )


# ---- fits


def _vander(x: Operand, N: Operand = None, increasing: bool = False) -> Result:  # NumPy's name
    """np.vander."""
    x = CONVERT[0](x)
    if x.ndim != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    count = x.shape[0] if N is None else operator.index(N)
    if count < 0:
        raise ValueError("negative dimensions are not allowed")
    wide = np.promote_types(x.dtype, int)
    one = np.ones((x.shape[0], min(count, 1)), wide)
    powers = np.cumprod(np.broadcast_to(x.astype(wide)[:, None], (x.shape[0], max(count - 1, 0))), axis=1)
    out = np.concatenate([one, powers], axis=1)
    return out if increasing else out[:, ::-1]


def _check_fit(x: Operand, y: Operand, deg: int, w: Operand) -> None:
    if deg < 0:
        raise ValueError("expected deg >= 0")
    if x.ndim != 1:
        raise TypeError("expected 1D vector for x")
    if x.size == 0:
        raise TypeError("expected non-empty vector for x")
    if y.ndim not in (1, 2):
        raise TypeError("expected 1D or 2D array for y")
    if x.shape[0] != y.shape[0]:
        raise TypeError("expected x and y to have same length")
    if w is not None and w.shape != (y.shape[0],):
        raise TypeError("expected a 1-d array for weights" if w.ndim != 1 else "expected w and y to have the same length")


def _polyfit(x: Operand, y: Operand, deg: int, rcond: Operand = None, full: bool = False, w: Operand = None, cov: Operand = False) -> Result:
    """np.polyfit; an ill-conditioned fit gives no warning."""
    x, y = CONVERT[0](x) + 0.0, CONVERT[0](y) + 0.0
    weights = None if w is None else CONVERT[0](w) + 0.0
    order = operator.index(deg) + 1
    _check_fit(x, y, order - 1, weights)
    cutoff = len(x) * np.finfo(x.dtype).eps if rcond is None else rcond
    left, right = _vander(x, order), y
    if weights is not None:
        left = left * weights[:, None]
        right = right * (weights[:, None] if y.ndim == 2 else weights)
    scale = np.sqrt(np.sum(left * left, axis=0))
    left = left / scale
    found, residuals, rank, values = np.linalg.lstsq(left, right, cutoff)
    out = (found.T / scale).T
    if full:
        return out, residuals, rank, values, cutoff
    if not cov:
        return out
    inverse = np.linalg.inv(np.dot(left.T, left)) / np.outer(scale, scale)
    factor: Result = 1
    if cov != "unscaled":
        if len(x) <= order:
            raise ValueError("the number of data points must exceed order to scale the covariance matrix")
        factor = residuals / (len(x) - order)
    return out, (inverse if y.ndim == 1 else inverse[:, :, None]) * factor


_FUNCTIONS: Sequence[tuple[Operand, Operand]] = (
    (np.trim_zeros, _trim_zeros), (np.polyval, _polyval), (np.polyadd, _polyadd), (np.polysub, _polysub), (np.polymul, _polymul),
    (np.polydiv, _polydiv), (np.polyder, _polyder), (np.polyint, _polyint), (np.poly, _poly), (np.roots, _roots), (np.vander, _vander),
    (np.polyfit, _polyfit),
)  # fmt: skip
DOORS.update(_FUNCTIONS)

# ---- samples between two ends


def _geomspace(start: Operand, stop: Operand, num: int = 50, endpoint: bool = True, dtype: DTypeLike = None, axis: int = 0) -> Result:
    """np.geomspace; that an end is zero is not noticed while tracing."""
    begin, end = CONVERT[0](start), CONVERT[0](stop)
    wide = np.result_type(begin, end, float(num), np.zeros((), dtype))
    begin, end = begin.astype(wide), end.astype(wide)
    sign = np.sign(begin)
    begin, end = np.broadcast_arrays(begin / sign, end / sign)
    out = np.logspace(np.log10(begin), np.log10(end), num=num, endpoint=endpoint, base=10.0, dtype=wide)
    if num > 0:  # the ends themselves: 10**log10(x) need not be x
        last = [end[None]] if num > 1 and endpoint else []
        out = np.concatenate([begin[None], out[1 : num - len(last)], *last])
    out = np.moveaxis(out * sign, 0, axis)
    return out if dtype is None else out.astype(dtype)


DOORS[np.geomspace] = _geomspace
