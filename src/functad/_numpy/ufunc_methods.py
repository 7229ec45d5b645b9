"""`np.add.reduce`, `np.maximum.accumulate`, `np.multiply.outer` and their like."""

import numpy as np

from functad._core.recorder import Door
from functad._numpy.arguments import NO_VALUE, Axes, DTypeLike, Implementation, Operand, Result, axis_of
from functad._numpy.dispatch import DOORS, record_call, refuse
from functad._numpy.promote import as_array, operand, with_shape
from functad._numpy.reducing import all_, any_, max_, min_, prod, running, sum
from functad._numpy.shaping import joined, part
from functad._numpy.ufuncs import UFUNCS, apply_ufunc
from functad._primitives import cumulative

__all__: list[str] = []

_REDUCTIONS: dict[np.ufunc, Result] = {
    np.add: sum, np.multiply: prod, np.maximum: max_, np.minimum: min_, np.logical_and: all_,
    np.logical_or: any_,
}  # fmt: skip


def _declare(ufunc: np.ufunc, method: str, implementation: Implementation, names: list[str], data: set[str]) -> None:
    door = Door(f"{ufunc.__name__}.{method}", implementation)

    def call(*args: Operand, **kwargs: Operand) -> Result:
        kwargs = {k: v for k, v in kwargs.items() if k != "out"}  # refused before by the dispatcher
        return record_call(door, names, frozenset(data), frozenset({"axis"}), args, kwargs)

    DOORS[ufunc, method] = call


def _reduce(ufunc: np.ufunc) -> Implementation:
    function = _REDUCTIONS[ufunc].implementation

    def implementation(
        array: Operand, axis: Axes = 0, dtype: DTypeLike = None, out: None = None, keepdims: bool = False, initial: Operand = NO_VALUE,
        where: Operand = True,
    ) -> Result:  # fmt: skip
        given: dict[str, Result] = {"keepdims": keepdims, "where": where}
        if ufunc in (np.add, np.multiply):
            given["dtype"] = dtype
        elif dtype is not None:
            refuse(f"{ufunc.__name__}.reduce", "dtype", dtype)
        if ufunc not in (np.logical_and, np.logical_or):
            given["initial"] = initial
        elif initial is not NO_VALUE:
            refuse(f"{ufunc.__name__}.reduce", "initial", initial)
        return function(array, axis, **given)

    return implementation


def _running_extreme(ufunc: np.ufunc, x: Operand, axis: int) -> Result:
    """By doubling: after step k each element has seen the 2**k before it."""
    n, step = x.type.shape[axis], 1
    while step < n:
        later = apply_ufunc(ufunc, part(x, axis, step, n - step), part(x, axis, 0, n - step))
        x = joined([part(x, axis, 0, step), later], axis)
        step *= 2
    return x


def _accumulate(ufunc: np.ufunc) -> Implementation:
    def implementation(array: Operand, axis: int = 0, dtype: DTypeLike = None, out: object = None) -> Result:
        x = operand(array)
        if ufunc in (np.add, np.multiply):
            return running(cumulative.cumsum if ufunc is np.add else cumulative.cumprod, x, axis, dtype)
        if dtype is not None:
            refuse(f"{ufunc.__name__}.accumulate", "dtype", dtype)
        return _running_extreme(ufunc, x, axis_of(axis, x.type.ndim))

    return implementation


def _outer(ufunc: np.ufunc) -> Implementation:
    def implementation(A: Operand, B: Operand) -> Result:  # NumPy's names
        x, y = as_array(A), as_array(B)  # NumPy makes arrays of Python's numbers here
        return apply_ufunc(ufunc, with_shape(x, (*x.type.shape, *[1] * y.type.ndim)), y)

    return implementation


for _ufunc in _REDUCTIONS:
    _declare(_ufunc, "reduce", _reduce(_ufunc), ["array", "axis", "dtype", "out", "keepdims", "initial", "where"], {"array", "initial", "where"})
for _ufunc in (np.add, np.multiply, np.maximum, np.minimum):
    _declare(_ufunc, "accumulate", _accumulate(_ufunc), ["array", "axis", "dtype", "out"], {"array"})
for _ufunc in UFUNCS:
    if _ufunc.nin == 2:
        _declare(_ufunc, "outer", _outer(_ufunc), ["A", "B"], {"A", "B"})
