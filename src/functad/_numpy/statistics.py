"""Covariances, correlations and histograms.

The counts of a histogram are constant; the edges that are read off the data, weights and densities have derivatives.  Each function is spelt in
NumPy's functions on traced values.
"""

import operator
import warnings
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np

from functad._core.recorder import CONVERT, Door, answer, record
from functad._core.tracer import Tracer
from functad._numpy.arguments import Array, DTypeLike, Operand, Result
from functad._numpy.dispatch import DOORS, refuse
from functad._numpy.promote import cast, operand
from functad._primitives.index import INT, scatter_add
from functad._primitives.operands import ones_like

__all__: list[str] = []

# ---- covariance


def _variables(m: Operand, y: Operand, rowvar: bool, dtype: DTypeLike) -> Result:
    """The variables as rows."""
    x, other = CONVERT[0](m), None if y is None else CONVERT[0](y)
    for name, given in (("m", x), ("y", other)):
        if given is not None and given.ndim > 2:
            raise ValueError(f"{name} has more than 2 dimensions")
    wide = np.result_type(x, *([] if other is None else [other]), np.float64) if dtype is None else np.dtype(dtype)
    rows = np.atleast_2d(x).astype(wide)
    rows = rows.T if not rowvar and x.ndim != 1 else rows
    if other is None or rows.shape[0] == 0:
        return rows
    more = np.atleast_2d(other).astype(wide)
    return np.concatenate([rows, more.T if not rowvar and more.shape[0] != 1 else more], axis=0)


def _weights(given: Operand, name: str, count: int) -> Result:
    if given is None:
        return None
    w = CONVERT[0](given).astype(float)
    if not isinstance(w, Tracer) and name == "fweights" and not np.all(w == np.around(w)):
        raise TypeError("fweights must be integer")
    if w.ndim > 1:
        raise RuntimeError(f"cannot handle multidimensional {name}")
    if w.shape[0] != count:
        raise RuntimeError(f"incompatible numbers of samples and {name}")
    if not isinstance(w, Tracer) and np.any(w < 0):
        raise ValueError(f"{name} cannot be negative")
    return w


def _one_over(factor: Operand) -> Result:
    """1 / factor, and infinity where there are no degrees of freedom."""
    if type(factor) is Tracer:
        return 1 / np.maximum(factor, 0.0)  # type: ignore[call-overload]  # of a tracer
    if factor <= 0:
        warnings.warn("Degrees of freedom <= 0 for slice", RuntimeWarning, stacklevel=3)
    return np.float64(1 / factor if factor > 0 else np.inf)


def _cov(
    m: Operand, y: Operand = None, rowvar: bool = True, bias: bool = False, ddof: Operand = None, fweights: Operand = None, aweights: Operand = None,
    *, dtype: DTypeLike = None,
) -> Result:  # fmt: skip
    """np.cov; that traced weights are negative is not noticed."""
    if ddof is not None and ddof != int(ddof):
        raise ValueError("ddof must be integer")
    x = _variables(m, y, rowvar, dtype)
    if x.shape[0] == 0:
        return np.array([]).reshape(0, 0)
    less = (0 if bias else 1) if ddof is None else ddof
    often, much = _weights(fweights, "fweights", x.shape[1]), _weights(aweights, "aweights", x.shape[1])
    w = much if often is None else often if much is None else often * much
    mean, total = np.average(x, axis=1, weights=w, returned=True)
    total = total[0]
    if w is None:
        factor = x.shape[1] - less
    elif less == 0:
        factor = total
    else:
        factor = total - (less if much is None else less * np.sum(w * much) / total)
    x = x - mean[:, None]
    right = x.T if w is None else (x * w).T
    out = np.dot(x, right.conj()) * (_one_over(factor).astype(x.real.dtype))
    return np.squeeze(out)


def _corrcoef(x: Operand, y: Operand = None, rowvar: bool = True, *, dtype: DTypeLike = None) -> Result:
    """np.corrcoef."""
    c = _cov(x, y, rowvar, dtype=dtype)
    if c.ndim == 0:
        return c / c
    spread = np.sqrt(np.diag(c).real)
    c = c / spread[:, None] / spread[None, :]
    if c.dtype.kind == "c":
        return np.clip(c.real, -1, 1) + 1j * np.clip(c.imag, -1, 1)
    return np.clip(c, -1, 1)


DOORS[np.cov], DOORS[np.corrcoef] = _cov, _corrcoef

# ---- edges


@cache  # a question is told from others by its function
def _bins_question(bins: str, limits: tuple[float, float] | None) -> Callable[[Array], int]:
    """How many bins an estimator of NumPy's asks for."""
    return lambda value: len(np.histogram_bin_edges(value, bins, limits)) - 1


def _estimated(x: Operand, bins: str, limits: Operand, weights: Operand) -> int:
    if weights is not None:
        raise TypeError("Automated estimation of the number of bins is not supported for weighted data")
    fixed = None if limits is None else (float(limits[0]), float(limits[1]))
    question = _bins_question(bins, fixed)
    return int(answer(x, question) if isinstance(x, Tracer) else question(x))


def _ends(x: Operand, limits: Operand) -> tuple[Result, Result]:
    """The first and the last edge; no two that are equal."""
    if limits is None:
        first, last = (0, 1) if x.size == 0 else (np.min(x), np.max(x))
    else:
        first, last = limits
    if not isinstance(first, Tracer) and not isinstance(last, Tracer):
        if first > last:
            raise ValueError("max must be larger than min in range parameter.")
        if not (np.isfinite(first) and np.isfinite(last)):
            raise ValueError(f"{'autodetected' if limits is None else 'supplied'} range of [{first}, {last}] is not finite")
        return (first - 0.5, last + 0.5) if first == last else (first, last)
    same = first == last
    return np.where(same, first - 0.5, first), np.where(same, last + 0.5, last)


def _rising(bins: Operand, message: str) -> Result:
    edges = CONVERT[0](bins)
    if edges.ndim != 1:
        raise ValueError("`bins` must be 1d, when an array")
    if not isinstance(edges, Tracer) and np.any(edges[:-1] > edges[1:]):
        raise ValueError(message)
    return edges


def _edges(x: Operand, bins: Operand, limits: Operand, weights: Operand) -> Result:
    if isinstance(bins, str):
        bins = _estimated(x, bins, limits, weights)
    if np.ndim(bins):
        return _rising(bins, "`bins` must increase monotonically, when an array")
    try:
        count = operator.index(bins)
    except TypeError:
        raise TypeError("`bins` must be an integer, a string, or an array") from None
    if count < 1:
        raise ValueError("`bins` must be positive, when an integer")
    first, last = _ends(x, limits)
    wide = np.result_type(first, last, x)
    return np.linspace(first, last, count + 1, dtype=np.result_type(wide, float) if wide.kind in "iub" else wide)


def _flat(a: Operand, weights: Operand) -> tuple[Result, Result]:
    x, w = CONVERT[0](a), None if weights is None else CONVERT[0](weights)
    if w is not None and w.shape != x.shape:
        raise ValueError("weights should have the same shape as a.")
    if x.dtype == np.bool_:
        warnings.warn(f"Converting input from {x.dtype} to {np.uint8} for compatibility.", RuntimeWarning, stacklevel=4)
        x = x.astype(np.uint8)
    return np.ravel(x), None if w is None else np.ravel(w)


def _bin_edges(a: Operand, bins: Operand = 10, range: Operand = None, weights: Operand = None) -> Result:
    """np.histogram_bin_edges; estimators are asked for the number of bins."""
    x, w = _flat(a, weights)
    return _edges(x, bins, range, w)


DOORS[np.histogram_bin_edges] = _bin_edges

# ---- counts


def _added(index: Operand, weights: Operand, size: int) -> Result:
    place = cast(index, INT)
    return scatter_add(ones_like(place) if weights is None else operand(weights), place, shape=(size,))


_ADDED = Door("histogram", _added)


def _add_up(index: Operand, weights: Operand, size: int) -> Result:
    """How many of each index there are, or the sum of their weights."""
    given = [index] if weights is None else [index, weights]
    return record(_ADDED, size, given, lambda xs: _added(xs[0], xs[1] if len(xs) > 1 else None, size))


def _places(x: Operand, edges: Operand) -> Result:
    """The number of the bin of each value, from 1 on; the last bin has its right edge too."""
    return np.searchsorted(edges, x, side="right") - (x == edges[-1])


def _histogram(a: Operand, bins: Operand = 10, range: Operand = None, density: Operand = None, weights: Operand = None) -> Result:
    """np.histogram; weights have a derivative, counts have none."""
    x, w = _flat(a, weights)
    edges = _edges(x, bins, range, w)
    kind = np.dtype(np.intp) if w is None else w.dtype
    wide = None if w is None else w.astype(np.complex128 if kind.kind == "c" else np.float64)
    out = _add_up(_places(x, edges), wide, edges.shape[0] + 1)[1:-1].astype(kind)
    if density:
        return out / np.diff(edges).astype(float) / np.sum(out), edges
    return out, edges


def _sample(sample: Operand) -> Result:
    if isinstance(sample, (list, tuple)):  # of one array for each dimension
        return np.atleast_2d(np.stack([CONVERT[0](x) for x in sample])).T
    x = CONVERT[0](sample)
    return x if x.ndim == 2 else np.atleast_2d(x).T


def _edges_along(x: Operand, bins: Operand, limits: Operand, i: int) -> Result:
    if np.ndim(bins):
        return _rising(bins, f"`bins[{i}]` must be monotonically increasing, when an array")
    try:
        count = operator.index(bins)
    except TypeError:
        raise TypeError(f"`bins[{i}]` must be an integer, when a scalar") from None
    if count < 1:
        raise ValueError(f"`bins[{i}]` must be positive, when an integer")
    return np.linspace(*_ends(x, limits), count + 1)


def _per_axis(given: Operand, count: int, message: str) -> Sequence[Operand]:
    found = list(given)
    if len(found) != count:
        raise ValueError(message)
    return found


def _histogramdd(sample: Operand, bins: Operand = 10, range: Operand = None, density: Operand = None, weights: Operand = None) -> Result:
    """np.histogramdd; weights have a derivative, counts have none."""
    x = _sample(sample)
    count = x.shape[1]
    w = None if weights is None else CONVERT[0](weights)
    if w is not None and w.dtype.kind == "c":
        refuse("histogramdd", "weights", w, "complex weights are not summed")
    every = bins if isinstance(bins, (list, tuple)) or np.ndim(bins) else [bins] * count
    every = _per_axis(every, count, "The dimension of bins must be equal to the dimension of the sample x.")
    limits = [None] * count if range is None else _per_axis(range, count, "range argument must have one entry per dimension")
    edges = [_edges_along(x[:, i], every[i], limits[i], i) for i in np.arange(count).tolist()]
    shape = [e.shape[0] + 1 for e in edges]  # with one outside of each end
    place: Result = 0
    for i, e in enumerate(edges):
        place = place * shape[i] + _places(x[:, i], e)
    out = _add_up(place, None if w is None else w.astype(float), int(np.prod(shape))).astype(float)
    out = np.reshape(out, shape)[(slice(1, -1),) * count]
    if density:
        total = np.sum(out)
        for i, e in enumerate(edges):
            out = out / np.reshape(np.diff(e), [-1 if k == i else 1 for k in np.arange(count).tolist()])
        out = out / total
    return out, edges


def _histogram2d(x: Operand, y: Operand, bins: Operand = 10, range: Operand = None, density: Operand = None, weights: Operand = None) -> Result:
    """np.histogram2d; weights have a derivative, counts have none."""
    if len(x) != len(y):
        raise ValueError("x and y must have the same length.")
    if (isinstance(bins, (list, tuple)) or np.ndim(bins)) and len(bins) not in (1, 2):
        bins = [CONVERT[0](bins)] * 2
    out, edges = _histogramdd([x, y], bins, range, density, weights)
    return out, edges[0], edges[1]


DOORS[np.histogram], DOORS[np.histogramdd], DOORS[np.histogram2d] = _histogram, _histogramdd, _histogram2d
