"""Indexing: `x[...]` in all of NumPy's forms, and the functions that read at computed places.

Basic indexing (whole numbers, slices, newaxis, ellipsis) is a slice, a flip and a reshape, recorded under a key frozen by hand.  Advanced indexing
is a gather: concrete index arrays are operands, made non-negative and checked at each call, since their values may change under the same
key; traced ones are made non-negative in the program.  A traced mask is asked how many of its elements hold, and its places stay data.
"""

import operator
from collections.abc import Hashable, Sequence

import numpy as np

from functad._core.program import Literal
from functad._core.recorder import CONVERT, Door, answer, record, unary
from functad._core.tracer import Tracer, install
from functad._core.types import array_type
from functad._numpy.arguments import Array, Operand, Result
from functad._numpy.promote import broadcast_to, cast, operand, with_shape
from functad._numpy.shaping import flipped, transposed
from functad._numpy.ufuncs import apply_ufunc
from functad._primitives import logic
from functad._primitives import shape as s
from functad._primitives.index import gather, nonzero

__all__ = ["basic", "count_true", "gathered_along", "getitem", "mask_places", "non_negative", "normalised"]

INT = np.dtype(np.int64)
_WRONG_KIND = "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean arrays are valid indices"
_FULL = (slice, None, None, None)

# ---- basic indexing


def _out_of_bounds(i: int, axis: int, n: int) -> IndexError:
    return IndexError(f"index {i} is out of bounds for axis {axis} with size {n}")


def _expanded(entries: Sequence[Operand], consumed: int, ndim: int) -> list[Result]:
    """The entries with the ellipsis (or the missing rest) written out as full slices."""
    if consumed > ndim:
        raise IndexError(f"too many indices for array: array is {ndim}-dimensional, but {consumed} were indexed")
    fill = [_FULL] * (ndim - consumed)
    places = [i for i, e in enumerate(entries) if e is Ellipsis]
    if len(places) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    if not places:
        return [*entries, *fill]
    return [*entries[: places[0]], *fill, *entries[places[0] + 1 :]]


def basic(x: Operand, entries: Sequence[Operand]) -> Result:
    """x indexed by expanded entries: whole numbers, `(slice, start, stop, step)`, None for a new axis."""
    x = operand(x)
    start, size, step, flips, shape = [], [], [], [], []
    axis = 0
    for entry in entries:
        if entry is None:
            shape.append(1)
            continue
        n = x.type.shape[axis]
        if type(entry) is int:
            if not -n <= entry < n:
                raise _out_of_bounds(entry, axis, n)
            start.append(entry % n)
            size.append(1)
            step.append(1)
        else:
            a, b, c = slice(*entry[1:]).indices(n)
            count = len(range(a, b, c))
            if c < 0:
                flips.append(axis)
                a, c = a + (count - 1) * c, -c
            start.append(a if count else 0)
            size.append(count)
            step.append(c if count > 1 else 1)
            shape.append(count)
        axis += 1
    if tuple(size) != x.type.shape:
        kind = array_type(tuple(size), x.type.dtype)
        x = Literal(x.value, kind) if isinstance(x, Literal) else s.slice_(x, start=tuple(start), size=tuple(size), step=tuple(step))
    flips = [i for i in flips if size[i] > 1]
    return with_shape(flipped(x, flips), shape)


def _basic_door(x: Operand, key: Operand) -> Result:
    entries = key if type(key) is tuple and (not key or key[0] is not slice) else (key,)
    consumed = sum(e is not None and e is not Ellipsis for e in entries)
    return basic(x, _expanded(entries, consumed, operand(x).type.ndim))


BASIC = Door("getitem", _basic_door, view=True)
_PLAIN = {int, type(None)}


def _frozen(entry: Operand) -> Result:
    """A basic entry as part of a key, or NotImplemented."""
    kind = type(entry)
    if kind is int or entry is None or entry is Ellipsis:
        return entry
    if kind is slice:
        a, b, c = entry.start, entry.stop, entry.step
        if type(a) in _PLAIN and type(b) in _PLAIN and type(c) in _PLAIN:
            return (slice, a, b, c)
        return (slice, *[None if v is None else operator.index(v) for v in (a, b, c)])
    if kind is not Tracer and isinstance(entry, np.integer):
        return int(entry)
    return NotImplemented


def getitem(self: Tracer, key: Operand) -> Result:
    """x[key]."""
    kind = type(key)
    frozen: Result
    if kind is int:
        return unary(BASIC, self, key)
    if kind is slice and key.step is None and type(key.start) in _PLAIN and type(key.stop) in _PLAIN:
        return unary(BASIC, self, (slice, key.start, key.stop, None))
    if kind is tuple:
        parts = []
        for entry in key:
            part = entry if type(entry) is int else _frozen(entry)
            if part is NotImplemented:
                return _advanced(self, key)
            parts.append(part)
        frozen = tuple(parts)
    else:
        frozen = _frozen(key)
        if frozen is NotImplemented:
            return _advanced(self, (key,))
        if frozen is None or frozen is Ellipsis:
            frozen = (frozen,)
    return unary(BASIC, self, frozen)


install("__getitem__", getitem)

# ---- advanced indexing


def normalised(index: Array, axis: int, n: int) -> Array:
    """A concrete index array of whole numbers, checked and made non-negative."""
    index = index.astype(INT)
    if index.size:
        low, high = int(index.min()), int(index.max())
        if low < -n or high >= n:
            raise _out_of_bounds(low if low < -n else high, axis, n)
        if low < 0:
            index = np.where(index < 0, index + n, index)
    return index


def non_negative(index: Operand, n: int) -> Result:
    """A traced index array made non-negative; what lies below -n becomes n, which every evaluation refuses."""
    index = cast(index, INT)
    counted = apply_ufunc(np.add, index, n)
    counted = logic.select(apply_ufunc(np.less, counted, 0), Literal(n, counted.type), counted)
    return logic.select(apply_ufunc(np.less, index, 0), counted, index)


def count_true(value: Operand) -> int:
    """How many elements hold."""
    return int(np.count_nonzero(value))


class _Key:
    """An advanced key under construction: the pattern (hashable) and the index arrays that go with it."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape
        self.pattern: list[Hashable] = []
        self.arrays: list[Result] = []
        self.axis = 0

    def array(self, index: Operand) -> None:
        """An integer array for the next axis."""
        if not isinstance(index, Tracer):
            index = normalised(index, self.axis, self.shape[self.axis])
        self.pattern.append("array")
        self.arrays.append(index)
        self.axis += 1

    def mask(self, index: Operand) -> None:
        """A boolean array for the next axes; one without dimensions is a new axis, kept or emptied."""
        if index.ndim == 0:
            self.pattern += [None, "new"]
            self.arrays.append(np.zeros(int(bool(index)), INT))
            return
        sizes = self.shape[self.axis : self.axis + index.ndim]
        for k, (n, m) in enumerate(zip(sizes, index.shape, strict=True)):
            if n != m:
                raise IndexError(
                    f"boolean index did not match indexed array along axis {self.axis + k}; size of axis is {n} but size of corresponding "
                    f"boolean axis is {m}"
                )
        if isinstance(index, Tracer):
            self.pattern.append(("mask", answer(index, count_true), index.ndim))
            self.arrays.append(index)
        else:
            self.pattern += ["array"] * index.ndim
            self.arrays += [i.astype(INT) for i in np.nonzero(index)]
        self.axis += index.ndim


def _as_index(entry: Operand) -> Result:
    """An entry as a frozen basic one, an array or a tracer."""
    frozen = _frozen(entry)
    if frozen is not NotImplemented:
        return frozen
    if isinstance(entry, Tracer):
        if entry.dtype.kind not in "iub":
            raise IndexError("arrays used as indices must be of integer (or boolean) type")
        return entry
    if isinstance(entry, (bool, np.bool_)):
        return np.asarray(entry)
    if isinstance(entry, (list, tuple, np.ndarray)):
        found = CONVERT[0](entry)
        if isinstance(found, np.ndarray) and found.size == 0 and isinstance(entry, (list, tuple)):
            found = found.astype(INT)
        if found.dtype.kind not in "iub":
            raise IndexError("arrays used as indices must be of integer (or boolean) type")
        return int(found) if type(found) is np.ndarray and found.ndim == 0 and found.dtype.kind != "b" else found
    if hasattr(entry, "__index__"):
        return operator.index(entry)
    if hasattr(entry, "__array__"):
        return _as_index(np.asarray(entry))
    raise IndexError(_WRONG_KIND)


def _consumes(entry: Operand) -> int:
    if entry is None or entry is Ellipsis:
        return 0
    return entry.ndim if isinstance(entry, (Tracer, np.ndarray)) and entry.dtype.kind == "b" else 1


def _advanced(x: Tracer, key: Sequence[Operand]) -> Result:
    entries = [_as_index(entry) for entry in key]
    entries = _expanded(entries, sum(map(_consumes, entries)), x.ndim)
    made = _Key(x.shape)
    for entry in entries:
        if entry is None:
            made.pattern.append(None)
        elif isinstance(entry, (Tracer, np.ndarray)):
            (made.mask if entry.dtype.kind == "b" else made.array)(entry)
        else:
            made.pattern.append(entry)
            made.axis += 1
    if not made.arrays:  # numbers of foreign types only
        return getitem(x, tuple(slice(*e[1:]) if type(e) is tuple else e for e in made.pattern))
    pattern = tuple(made.pattern)
    return record(ADVANCED, pattern, [x, *made.arrays], lambda given: advanced(given[0], pattern, given[1:]))


def advanced(x: Operand, pattern: Sequence[Operand], arrays: Sequence[Operand]) -> Result:
    """x indexed by an expanded pattern: basic entries first, then one gather, then NumPy's rule for where the index dimensions go."""
    x = operand(x)
    entries: list[Result] = []  # what basic indexing sees: full slices where arrays index
    advanced_axes, indices, marks = [], [], []  # axes after basic indexing; marks: per entry, whether it is advanced
    given, axis, out_axis, kept_before = iter(arrays), 0, 0, None
    for entry in pattern:
        if entry == "array" or (type(entry) is tuple and entry[0] == "mask"):
            found = [non_negative(next(given), x.type.shape[axis])] if entry == "array" else mask_places(next(given), *entry[1:])
            if kept_before is None:
                kept_before = out_axis
            for index in found:
                indices.append(index)
                advanced_axes.append(out_axis)
                entries.append(_FULL)
                axis, out_axis = axis + 1, out_axis + 1
            marks.append(True)
        elif entry == "new":  # the new axis just made is indexed
            marks[-1] = True
            kept_before = out_axis - 1 if kept_before is None else kept_before
            indices.append(next(given))
            advanced_axes.append(out_axis - 1)
        else:
            entries.append(entry)
            number = type(entry) is int
            marks.append(number)
            if number and kept_before is None:
                kept_before = out_axis
            axis += entry is not None
            out_axis += not number
    y = basic(x, entries)
    touched = [i for i, m in enumerate(marks) if m]
    together = touched[-1] - touched[0] + 1 == len(touched)
    return _gathered(y, indices, advanced_axes, kept_before if together else 0)


ADVANCED = Door("getitem", advanced)


def mask_places(mask: Operand, count: int, ndim: int) -> list[Result]:
    """One index array for each axis of a mask."""
    flat = nonzero(mask, size=count)
    places = []
    shape = mask.type.shape
    for axis in range(ndim):
        below = int(np.prod(shape[axis + 1 :], dtype=np.int64))
        index = flat if below == 1 else apply_ufunc(np.floor_divide, flat, below)
        places.append(index if axis == 0 else apply_ufunc(np.remainder, index, shape[axis]))
    return places


def _gathered(x: Operand, indices: Sequence[Operand], axes: Sequence[int], position: Operand) -> Result:
    """x[indices] along these axes, with the dimensions of the indices at `position` of the result."""
    given = [operand(i) for i in indices]
    try:
        shape = np.broadcast_shapes(*[i.type.shape for i in given])
    except ValueError:
        shapes = " ".join(str(i.type.shape) for i in given)
        raise IndexError(f"shape mismatch: indexing arrays could not be broadcast together with shapes {shapes}") from None
    rest = [i for i in range(x.type.ndim) if i not in axes]
    found = gather(transposed(x, [*axes, *rest]), *[broadcast_to(i, shape) for i in given])
    n = len(shape)
    order = [*range(n, n + position), *range(n), *range(n + position, n + len(rest))]
    return transposed(found, order)


def gathered_along(x: Operand, index: Operand, axis: int) -> Result:
    """x at places of one axis; the dimensions of the index take the axis' place."""
    return _gathered(x, [index], [axis], axis)
