"""`np.add.reduce`, `np.maximum.accumulate`, `np.multiply.outer`, `np.add.reduceat` and their like.

A ufunc whose order of operands does not matter is folded by halves, in a number of operations that grows with the logarithm of the length; any other
from left to right, which is refused for long axes.
"""

import operator
from collections.abc import Callable

import numpy as np

from functad._core.program import Literal
from functad._core.recorder import Door
from functad._core.types import DTYPE_CODES, array_type
from functad._numpy.arguments import NO_VALUE, Axes, DType, DTypeLike, Implementation, Operand, Result, Value, axes_of, axis_of, given, kept
from functad._numpy.dispatch import DOORS, record_call, refuse
from functad._numpy.promote import as_array, as_bool, broadcast_shapes, broadcast_to, cast, operand, with_shape
from functad._numpy.reducing import all_, any_, max_, min_, prod, running, sum
from functad._numpy.shaping import joined, part
from functad._numpy.ufuncs import UFUNCS, apply_ufunc
from functad._primitives import cumulative, logic

__all__: list[str] = []

_REDUCTIONS: dict[np.ufunc, Result] = {
    np.add: sum, np.multiply: prod, np.maximum: max_, np.minimum: min_, np.logical_and: all_, np.logical_or: any_,
}  # fmt: skip
_ANY_ORDER = {
    np.add, np.multiply, np.maximum, np.minimum, np.fmax, np.fmin, np.logaddexp, np.logaddexp2, np.hypot, np.logical_and, np.logical_or,
    np.logical_xor, np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.gcd, np.lcm,
}  # fmt: skip
_IN_ORDER = {np.subtract, np.true_divide, np.floor_divide, np.remainder, np.fmod}  # NumPy's own loops do not fold np.power and np.arctan2
MAX_STEPS = 1000  # of a fold from left to right: each is an operation of the program


def _declare(ufunc: np.ufunc, method: str, implementation: Implementation, names: list[str], data: set[str]) -> None:
    door = Door(f"{ufunc.__name__}.{method}", implementation)

    def call(*args: Operand, **kwargs: Operand) -> Result:
        kwargs = {k: v for k, v in kwargs.items() if k != "out"}  # refused before by the dispatcher
        return record_call(door, names, frozenset(data), frozenset({"axis", "indices"}), args, kwargs)

    DOORS[ufunc, method] = call


def _loop_dtype(ufunc: np.ufunc, x: Value, dtype: DTypeLike) -> DType:
    """The dtype in which the ufunc folds x: that of its loop on two such operands."""
    found: DType = ufunc.resolve_dtypes((x.type.dtype, x.type.dtype, None))[2] if dtype is None else np.dtype(dtype)
    if found.char not in DTYPE_CODES:
        refuse(f"{ufunc.__name__}.reduce", "array", x.type, f"it would be folded in {found}")
    return found


# ---- reduce


def _reduce(ufunc: np.ufunc) -> Implementation:
    """A fold that NumPy has a function for."""
    function = _REDUCTIONS[ufunc].implementation

    def implementation(
        array: Operand, axis: Axes = 0, dtype: DTypeLike = None, out: None = None, keepdims: bool = False, initial: Operand = NO_VALUE,
        where: Operand = True,
    ) -> Result:  # fmt: skip
        wanted: dict[str, Result] = {"keepdims": keepdims, "where": where}
        if ufunc in (np.add, np.multiply):
            wanted["dtype"] = dtype
        elif dtype is not None:
            array = cast(array, dtype)
        if ufunc not in (np.logical_and, np.logical_or):
            return function(array, axis, **wanted, initial=initial)
        found = function(array, axis, **wanted)
        return apply_ufunc(ufunc, initial, found) if given(initial) else found

    return implementation


def _halved(ufunc: np.ufunc, x: Value, axis: int) -> Value:
    """The fold of an axis that is not empty, by halves; the axis stays, of length 1."""
    while (n := x.type.shape[axis]) > 1:
        half = n // 2
        folded = apply_ufunc(ufunc, part(x, axis, 0, half), part(x, axis, half, half))
        x = joined([folded, part(x, axis, 2 * half, 1)], axis) if n % 2 else folded
    return x


def _stepped(ufunc: np.ufunc, x: Value, axis: int, start: Value | None, mask: Value | None) -> Value:
    """The fold from left to right; the axis stays, of length 1."""
    out, first = (part(x, axis, 0, 1), 1) if start is None else (start, 0)
    if x.type.shape[axis] > MAX_STEPS:
        refuse(f"{ufunc.__name__}.reduce", "array", x.type, f"an axis of more than {MAX_STEPS} is not folded from left to right: use functad.scan")
    for i in range(first, x.type.shape[axis]):
        step = apply_ufunc(ufunc, out, part(x, axis, i, 1))
        out = step if mask is None else logic.select(part(mask, axis, i, 1), step, out)
    return out


def _fold(
    ufunc: np.ufunc, array: Operand, axis: Axes = 0, dtype: DTypeLike = None, keepdims: bool = False, initial: Operand = NO_VALUE,
    where: Operand = True,
) -> Result:  # fmt: skip
    x = operand(array)
    x = cast(x, _loop_dtype(ufunc, x, dtype))
    axes = axes_of(axis, x.type.ndim)
    name, any_order = ufunc.__name__, ufunc in _ANY_ORDER
    if len(axes) > 1 and not any_order:
        raise ValueError(f"reduction operation '{name}' is not reorderable, so at most one axis may be specified")
    whole = kept(x.type, axes)
    mask = None if where is True else broadcast_to(as_bool(where), broadcast_shapes(x.type.shape, operand(where).type.shape))
    x = x if mask is None else broadcast_to(x, mask.type.shape)
    begin = initial if given(initial) else ufunc.identity if initial is NO_VALUE else None
    if begin is None and mask is not None:
        raise ValueError(f"reduction operation '{name}' does not have an identity, so to use a where mask one has to specify 'initial'")
    empty = any(x.type.shape[i] == 0 for i in axes)
    if begin is None and empty:
        raise ValueError(f"zero-size array to reduction operation {name} which has no identity")
    start = None if begin is None else broadcast_to(cast(begin, x.type.dtype), whole)
    if empty:
        out = start
    elif any_order:
        neutral = begin if ufunc.identity is None else ufunc.identity  # without an identity these are extremes, which may see `initial` twice
        out = x if mask is None else logic.select(mask, x, broadcast_to(cast(neutral, x.type.dtype), x.type.shape))
        for i in axes:
            out = _halved(ufunc, out, i)
        out = apply_ufunc(ufunc, start, out) if given(initial) else out
    else:
        out = _stepped(ufunc, x, axes[0], start if given(initial) else None, mask) if axes else x
    return out if keepdims else with_shape(out, tuple(n for i, n in enumerate(whole) if i not in axes))


def _general_reduce(ufunc: np.ufunc) -> Implementation:
    def implementation(
        array: Operand, axis: Axes = 0, dtype: DTypeLike = None, out: None = None, keepdims: bool = False, initial: Operand = NO_VALUE,
        where: Operand = True,
    ) -> Result:  # fmt: skip
        return _fold(ufunc, array, axis, dtype, keepdims, initial, where)

    return implementation


# ---- accumulate


def _doubled(ufunc: np.ufunc, x: Value, axis: int) -> Value:
    """Running folds by doubling: after step k each element has seen the 2**k before it."""
    n, step = x.type.shape[axis], 1
    while step < n:
        later = apply_ufunc(ufunc, part(x, axis, step, n - step), part(x, axis, 0, n - step))
        x = joined([part(x, axis, 0, step), later], axis)
        step *= 2
    return x


def _running_steps(ufunc: np.ufunc, x: Value, axis: int) -> Value:
    n = x.type.shape[axis]
    if n > MAX_STEPS:
        refuse(f"{ufunc.__name__}.accumulate", "array", x.type, f"an axis of more than {MAX_STEPS} is not run through: use functad.scan")
    pieces = [part(x, axis, 0, min(n, 1))]
    for i in range(1, n):
        pieces.append(apply_ufunc(ufunc, pieces[-1], part(x, axis, i, 1)))
    out: Value = joined(pieces, axis)
    return out


def _accumulate(ufunc: np.ufunc) -> Implementation:
    def implementation(array: Operand, axis: int = 0, dtype: DTypeLike = None, out: object = None) -> Result:
        x = operand(array)
        if x.type.ndim == 0:
            raise TypeError("cannot accumulate on a scalar")
        if ufunc in (np.add, np.multiply):
            return running(cumulative.cumsum if ufunc is np.add else cumulative.cumprod, x, axis_of(axis, x.type.ndim), dtype)
        x = cast(x, _loop_dtype(ufunc, x, dtype))
        return (_doubled if ufunc in _ANY_ORDER else _running_steps)(ufunc, x, axis_of(axis, x.type.ndim))

    return implementation


# ---- reduceat and outer


def _reduceat(ufunc: np.ufunc, reduce: Callable[..., Result]) -> Implementation:
    def implementation(array: Operand, indices: Operand, axis: int = 0, dtype: DTypeLike = None, out: object = None) -> Result:
        x = operand(array)
        if x.type.ndim == 0:
            raise TypeError("cannot reduceat on a scalar")
        axis = axis_of(axis, x.type.ndim)
        n = x.type.shape[axis]
        begins = [operator.index(i) for i in np.asarray(indices).reshape(-1).tolist()]
        for i in begins:
            if not 0 <= i < n:
                raise IndexError(f"index {i} out-of-bounds in {ufunc.__name__}.reduceat [0, {n})")
        ends = [*begins[1:], n]
        pieces = [reduce(part(x, axis, a, max(b - a, 1)), axis, dtype, keepdims=True) for a, b in zip(begins, ends, strict=True)]
        if pieces:
            return joined(pieces, axis)
        kind = reduce(part(x, axis, 0, min(n, 1)), axis, dtype, keepdims=True).type
        return Literal(0, array_type(tuple(0 if i == axis else m for i, m in enumerate(x.type.shape)), kind.dtype))

    return implementation


def _outer(ufunc: np.ufunc) -> Implementation:
    def implementation(A: Operand, B: Operand) -> Result:  # NumPy's names
        x, y = as_array(A), as_array(B)  # NumPy makes arrays of Python's numbers here
        return apply_ufunc(ufunc, with_shape(x, (*x.type.shape, *[1] * y.type.ndim)), y)

    return implementation


for _ufunc in UFUNCS:
    if _ufunc.nin != 2:
        continue
    _declare(_ufunc, "outer", _outer(_ufunc), ["A", "B"], {"A", "B"})
    if _ufunc not in _ANY_ORDER | _IN_ORDER:  # such as comparisons, whose results are not operands again
        continue
    _fold_of = _reduce(_ufunc) if _ufunc in _REDUCTIONS else _general_reduce(_ufunc)
    _declare(_ufunc, "reduce", _fold_of, ["array", "axis", "dtype", "out", "keepdims", "initial", "where"], {"array", "initial", "where"})
    _declare(_ufunc, "accumulate", _accumulate(_ufunc), ["array", "axis", "dtype", "out"], {"array"})
    _declare(_ufunc, "reduceat", _reduceat(_ufunc, _fold_of), ["array", "indices", "axis", "dtype", "out"], {"array"})
