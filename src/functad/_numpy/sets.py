"""Arrays as sets, and open meshes.  How many elements a set has is asked of a traced value."""

from collections.abc import Callable

import numpy as np

from functad._core.recorder import CONVERT
from functad._core.tracer import Tracer
from functad._numpy.arguments import Operand, Result
from functad._numpy.dispatch import DOORS, refuse

__all__: list[str] = []


def _flat(x: Operand, assume_unique: bool = False) -> Result:
    """The elements, each of them once."""
    flat = np.ravel(CONVERT[0](x))
    return flat if assume_unique else np.unique(flat)


def _union1d(ar1: Operand, ar2: Operand) -> Result:
    """np.union1d."""
    return np.unique(np.concatenate([np.ravel(CONVERT[0](ar1)), np.ravel(CONVERT[0](ar2))]))


def _intersect1d(ar1: Operand, ar2: Operand, assume_unique: bool = False, return_indices: bool = False) -> Result:
    """np.intersect1d."""
    if return_indices:
        refuse("intersect1d", "return_indices", return_indices)
    both = np.sort(np.concatenate([_flat(ar1, assume_unique), _flat(ar2, assume_unique)]))
    return both[:-1][both[1:] == both[:-1]]


def _setxor1d(ar1: Operand, ar2: Operand, assume_unique: bool = False) -> Result:
    """np.setxor1d."""
    both = np.sort(np.concatenate([_flat(ar1, assume_unique), _flat(ar2, assume_unique)]))
    if both.size == 0:
        return both
    fresh = both[1:] != both[:-1]
    end = np.ones(1, bool)
    return both[np.concatenate([end, fresh]) & np.concatenate([fresh, end])]


def _setdiff1d(ar1: Operand, ar2: Operand, assume_unique: bool = False) -> Result:
    """np.setdiff1d."""
    first = _flat(ar1, assume_unique)
    outside = np.isin(first, CONVERT[0](ar2), invert=True)
    return DOORS[np.take](first, DOORS[np.flatnonzero](outside)) if isinstance(outside, Tracer) else first[outside]


def _ix_(*args: Operand) -> Result:
    """np.ix_."""
    out = []
    for k, given in enumerate(args):
        x = CONVERT[0](given)
        if x.ndim != 1:
            raise ValueError("Cross index must be 1 dimensional")
        if x.size == 0 and isinstance(given, (list, tuple)):
            x = x.astype(np.intp)
        if x.dtype == np.bool_:
            (x,) = np.nonzero(x)
        out.append(np.reshape(x, [-1 if i == k else 1 for i in range(len(args))]))
    return tuple(out)


DOORS.update(
    {np.union1d: _union1d, np.intersect1d: _intersect1d, np.setxor1d: _setxor1d, np.setdiff1d: _setdiff1d, np.ix_: _ix_}
)  # fmt: skip


def _unique_door(name: str, **wanted: bool) -> None:
    """Of the Python array API standard: named results, NaN by NaN."""
    function = getattr(np, name)
    unique: Operand = np.unique  # its overloads want each flag written out

    def call(x: Operand) -> Result:
        found = unique(x, **wanted, equal_nan=False)
        named: Callable[..., Result] = type(function(np.zeros(1)))  # asked here: np.unique imports numpy.ma, 9 ms
        return named(*found) if isinstance(found, tuple) else found

    call.__name__, call.__doc__ = name, f"np.{name}."
    DOORS[function] = call


_unique_door("unique_values")
_unique_door("unique_counts", return_counts=True)
_unique_door("unique_inverse", return_inverse=True)
_unique_door("unique_all", return_index=True, return_inverse=True, return_counts=True)

# ---- text

for _function in (np.array_repr, np.array2string):
    DOORS[_function] = lambda a, *args, **kwargs: repr(a)
DOORS[np.array_str] = lambda a, *args, **kwargs: str(a)
