"""Functions that read, remove or insert at places which an index, a mask, a shape or a value decides: take, repeat, insert, nonzero, unique ...

Their callers stand in front of the recorder: a concrete index is checked and made non-negative at each call and goes in as an operand, a traced mask
is asked for its count.
"""

import operator

import numpy as np

from functad._core.program import Literal
from functad._core.recorder import CONVERT, Door, answer, record
from functad._core.tracer import Tracer, install
from functad._core.types import array_type
from functad._numpy.arguments import Axes, Operand, Result, axis_of
from functad._numpy.dispatch import DOORS, implements, no_out, refuse
from functad._numpy.indexing import count_true, gathered_along, mask_places, non_negative, normalised
from functad._numpy.promote import broadcast_shapes, broadcast_to, cast, operand, promote, ravelled
from functad._numpy.rearranging import repeated
from functad._numpy.ufuncs import apply_ufunc
from functad._primitives import logic
from functad._primitives.index import gather, iota, scatter_add

__all__ = ["take"]

INT = np.dtype(np.int64)

# ---- take


def _take(x: Operand, index: Operand, axis: Axes, mode: str) -> Result:
    x, axis = ravelled(operand(x), axis)
    n = x.type.shape[axis]
    index = cast(index, INT)
    if mode == "wrap":
        index = apply_ufunc(np.remainder, index, n)
    elif mode == "clip":
        index = apply_ufunc(np.minimum, apply_ufunc(np.maximum, index, 0), n - 1)
    return gathered_along(x, non_negative(index, n) if mode == "raise" else index, axis)


_TAKE = Door("take", _take)


def _index_operand(index: Operand, n: int, axis: int, mode: str = "raise") -> Result:
    """An index as an operand: traced, or concrete, non-negative and in range."""
    index = _array(index)
    if index.dtype.kind not in "iub" and index.size:
        raise TypeError(f"Cannot cast array data from {index.dtype!r} to dtype('int64') according to the rule 'safe'")
    if isinstance(index, Tracer):
        return index
    if index.size == 0:
        return index.astype(INT)
    if mode == "wrap":
        return (index % n).astype(INT)
    if mode == "clip":
        return np.clip(index, 0, n - 1).astype(INT)
    return normalised(index, axis, n)


def _array(x: Operand) -> Result:
    """A tracer as it is, anything else as an array."""
    return x if isinstance(x, Tracer) else CONVERT[0](x)


def take(a: Operand, indices: Operand, axis: Axes = None, out: object = None, mode: str = "raise") -> Result:
    """np.take."""
    no_out(np.take, out)
    if mode not in ("raise", "wrap", "clip"):
        raise ValueError(f"clipmode must be one of 'clip', 'raise', or 'wrap' (got {mode!r})")
    x = _array(a)
    axis = None if axis is None else axis_of(axis, x.ndim)
    index = _index_operand(indices, x.size if axis is None else x.shape[axis], axis or 0, mode)
    return record(_TAKE, (axis, mode), (x, index), lambda given: _take(given[0], given[1], axis, mode))


DOORS[np.take] = take
install("take", lambda self, indices, axis=None, out=None, mode="raise": take(self, indices, axis, out, mode))


def _take_along(x: Operand, index: Operand, axis: int) -> Result:
    x, index = operand(x), operand(index)
    if x.type.ndim != index.type.ndim:
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    lanes = tuple(1 if i == axis else n for i, n in enumerate(x.type.shape))
    shape = broadcast_shapes(lanes, index.type.shape)
    places = [
        broadcast_to(non_negative(index, x.type.shape[axis]), shape)
        if i == axis
        else Literal(0, array_type(shape, INT))
        if x.type.shape[i] == 1
        else iota(shape=shape, axis=i, dtype=INT)
        for i in range(x.type.ndim)
    ]
    return gather(x, *places)


_TAKE_ALONG = Door("take_along_axis", _take_along)


def take_along_axis(arr: Operand, indices: Operand, axis: Axes = -1) -> Result:
    """np.take_along_axis."""
    x = _array(arr)
    if axis is None:
        x, axis = np.ravel(x), 0
    axis = axis_of(axis, x.ndim)
    index = _array(indices)
    if index.dtype.kind not in "iu":
        raise IndexError("`indices` must be an integer array")
    index = _index_operand(index, x.shape[axis], axis)
    return record(_TAKE_ALONG, axis, (x, index), lambda given: _take_along(given[0], given[1], axis))


DOORS[np.take_along_axis] = take_along_axis


@implements(np.choose, numeric=("a", "choices"))
def _choose(a: Operand, choices: Operand, out: object = None, mode: str = "raise") -> Result:
    if not isinstance(choices, (tuple, list)):
        refuse("choose", "choices", choices, "give a sequence of arrays")
    index, *given = operand(a), *promote(*choices)
    shape = broadcast_shapes(index.type.shape, given[0].type.shape)
    if mode == "wrap":
        index = apply_ufunc(np.remainder, index, len(given))
    table = broadcast_to(given[0], shape)
    for k, x in enumerate(given[1:], 1):
        test = np.greater_equal if mode == "clip" or k < len(given) - 1 else np.equal
        table = logic.select(broadcast_to(apply_ufunc(test, index, k), shape), broadcast_to(x, shape), table)
    return table


# ---- repeat, delete, insert


@implements(np.repeat, numeric=("a",), structural=("repeats", "axis"))
def _repeat(a: Operand, repeats: Operand, axis: Axes = None) -> Result:
    return repeated(a, int(repeats), axis)


def _repeat_each(a: Operand, repeats: Operand, axis: Axes = None) -> Result:
    """np.repeat; one number for each element makes it a take."""
    if isinstance(repeats, Tracer):
        repeats = operator.index(repeats)  # type: ignore[arg-type]  # `methods` installs __index__
    counts = np.asarray(repeats)
    if counts.ndim == 0 or counts.size == 1:
        return _repeat(a, int(counts.reshape(())), axis)
    n = a.size if axis is None else a.shape[axis]
    return take(a, np.repeat(np.arange(n), counts), axis)


DOORS[np.repeat] = _repeat_each
install("repeat", lambda self, repeats, axis=None: _repeat_each(self, repeats, axis))


def _flat_or_along(x: Operand, axis: Axes) -> tuple[Result, int]:
    return (np.ravel(x), 0) if axis is None else (x, axis_of(axis, x.ndim))


def _delete(arr: Operand, obj: Operand, axis: Axes = None) -> Result:
    x, axis = _flat_or_along(arr, axis)
    return take(x, np.delete(np.arange(x.shape[axis]), obj), axis)


def _insert(arr: Operand, obj: Operand, values: Operand, axis: Axes = None) -> Result:
    """NumPy says where each element of the result comes from: from the array, or from the values behind it."""
    x, axis = _flat_or_along(_array(arr), axis)
    v = _array(values)
    n = x.shape[axis]
    if np.ndim(obj) == 0 and not isinstance(obj, slice):  # as NumPy: one index inserts whole slices
        v = np.moveaxis(np.reshape(v, (1,) * (x.ndim - v.ndim) + v.shape), 0, axis)
        count = v.shape[axis]
    else:
        count = len(np.insert(np.arange(n), obj, -1)) - n
    places = np.insert(np.arange(n), obj, n + np.arange(count))
    v = np.broadcast_to(v, tuple(count if i == axis else m for i, m in enumerate(x.shape)))
    return take(np.concatenate([x, v.astype(x.dtype)], axis), places, axis)


DOORS[np.delete] = _delete
DOORS[np.insert] = _insert

# ---- places where something holds: the number of them is asked for


def _places(mask: Operand, count: int) -> Result:
    return tuple(mask_places(mask, count, mask.type.ndim))


_NONZERO = Door("nonzero", _places)


def _nonzero(a: Operand) -> Result:
    """np.nonzero."""
    if a.ndim == 0:
        raise ValueError("Calling nonzero on 0d arrays is not allowed. Use np.atleast_1d(scalar).nonzero() instead.")
    mask = a if a.dtype.kind == "b" else a != 0
    count = answer(mask, count_true)
    return record(_NONZERO, count, (mask,), lambda given: _places(given[0], count))


def _argwhere(a: Operand) -> Result:
    return np.stack(_nonzero(np.atleast_1d(a)), axis=1)


def _unique(
    ar: Operand, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False, axis: Axes = None, *, equal_nan: bool = True,
    sorted: bool = True,
) -> Result:  # fmt: skip
    """np.unique of the flattened array: sorted, neighbours compared, the number of different ones asked for."""
    if axis is not None:
        refuse("unique", "axis", axis)
    flat = np.ravel(ar)
    order = np.argsort(flat, stable=True)
    ranked = flat[order]
    fresh = ranked[1:] != ranked[:-1]
    if equal_nan and flat.dtype.kind in "fc":
        fresh = fresh & ~(np.isnan(ranked[1:]) & np.isnan(ranked[:-1]))
    first = np.concatenate([np.ones_like(ranked[:1], dtype=bool), fresh])
    (places,) = _nonzero(first)
    out = [ranked[places]]
    if return_index:
        out.append(order[places])
    if return_inverse:
        rank = np.cumsum(first) - 1
        out.append(np.reshape(rank[np.argsort(order, stable=True)], np.shape(ar)))
    if return_counts:
        out.append(np.diff(places, append=flat.size))
    return out[0] if len(out) == 1 else tuple(out)


DOORS[np.nonzero] = _nonzero
DOORS[np.flatnonzero] = lambda a: _nonzero(np.ravel(a))[0]
DOORS[np.argwhere] = _argwhere
DOORS[np.unique] = _unique
DOORS[np.extract] = lambda condition, arr: DOORS[np.take](np.ravel(arr), np.nonzero(np.ravel(condition))[0])
install("nonzero", _nonzero)

# ---- places that a shape decides


def _blank(x: Operand) -> Result:
    """An array of that shape which takes no memory."""
    return np.broadcast_to(np.zeros((), np.int8), x.shape)


DOORS[np.diag_indices_from] = lambda arr: np.diag_indices_from(_blank(arr))
DOORS[np.tril_indices_from] = lambda arr, k=0: np.tril_indices_from(_blank(arr), k)
DOORS[np.triu_indices_from] = lambda arr, k=0: np.triu_indices_from(_blank(arr), k)

# ---- adding up by place


def _largest(value: Operand) -> int:
    return int(np.max(value.astype(INT), initial=-1))


def _smallest(value: Operand) -> int:
    return int(np.min(value, initial=0))


def _add_up(index: Operand, weights: Operand, size: int) -> Result:
    index = cast(index, INT)
    updates = Literal(1, index.type) if weights is None else cast(weights, np.float64)
    return scatter_add(updates, index, shape=(size,))


_BINCOUNT = Door("bincount", _add_up)


def _bincount(x: Operand, /, weights: Operand = None, minlength: Operand = 0) -> Result:
    """np.bincount; traced places are asked for the largest."""
    index = x if isinstance(x, Tracer) else np.asarray(x)
    if index.ndim != 1 or index.dtype.kind not in "iub":
        raise (ValueError if index.ndim != 1 else TypeError)("np.bincount needs an array of whole numbers of one dimension")
    low, high = (answer(index, f) if isinstance(index, Tracer) else f(index) for f in (_smallest, _largest))
    if low < 0:
        raise ValueError("'list' argument must have no negative elements")
    size = max(high + 1, operator.index(minlength))
    operands = [index] if weights is None else [index, weights]
    return record(_BINCOUNT, size, operands, lambda given: _add_up(given[0], given[1] if len(given) > 1 else None, size))


DOORS[np.bincount] = _bincount
