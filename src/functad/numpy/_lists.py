"""Lists and arrays of objects that hold traced values, given to NumPy's functions.

NumPy asks an argument what it is, but not what stands in a list: `np.mean([x, y])` makes an array of objects of the list.  The functions of
`functad.numpy` make a traced array of it first.
"""

import functools
from collections.abc import Callable

import numpy as np

from functad._core.recorder import CONVERT
from functad._core.tracer import Tracer
from functad._numpy.arguments import Implementation, Operand, Result
from functad._numpy.dispatch import DOORS
from functad._numpy.objects import holds_traced as traced_within

__all__ = ["nested_lists", "replacements", "taking_lists", "traced_within"]

# Their first argument is a list of arrays, which may differ in shape; NumPy looks into it.
OF_ARRAYS = {
    np.concatenate, np.stack, np.vstack, np.hstack, np.dstack, np.column_stack, np.block, np.select, np.piecewise, np.choose, np.histogramdd,
    np.linalg.multi_dot,
}  # fmt: skip


def nested_lists(x: Operand) -> Result:
    """Arrays of objects as nested lists."""
    if isinstance(x, (list, tuple)):
        return [nested_lists(part) for part in x]
    return nested_lists(x.tolist()) if isinstance(x, np.ndarray) and x.dtype == object else x


def _may_hold(x: Operand) -> bool:
    return isinstance(x, (list, tuple)) or (isinstance(x, np.ndarray) and x.dtype == object)


def _as_traced(x: Operand, of_arrays: bool) -> Result:
    """A list or array of objects that holds traced values as one traced array; anything else as it is."""
    if not _may_hold(x) or not traced_within(x):
        return x
    if of_arrays and isinstance(x, (list, tuple)):
        return type(x)([_as_traced(part, of_arrays) for part in x])
    return _stacked(nested_lists(x))


def _stacked(x: Operand) -> Result:
    if not isinstance(x, list):
        return x
    parts = [_stacked(part) for part in x]
    if not traced_within(parts):
        return np.asarray(parts)
    return np.stack([CONVERT[0](part) for part in parts])


def taking_lists(function: Implementation) -> Implementation:
    """NumPy's function, which sees traced arrays where it was given lists of traced values."""
    of_arrays = function in OF_ARRAYS

    @functools.wraps(function)
    def call(*args: Operand, **kwargs: Operand) -> Result:
        for x in args:
            if _may_hold(x) and traced_within(x):
                args = tuple(_as_traced(x, of_arrays) for x in args)
                break
        for name, x in kwargs.items():
            if _may_hold(x) and traced_within(x):
                kwargs = {**kwargs, name: _as_traced(x, of_arrays)}
        if any(type(x) is Tracer for x in (*args, *kwargs.values())):  # NumPy asks the first argument only: the indices of `take` may be traced
            return DOORS[function](*args, **kwargs)
        return function(*args, **kwargs)

    return call


def replacements(module: Operand) -> dict[str, Callable[..., Result]]:
    """For each public function of a module of NumPy's that knows traced arrays: the same, which takes lists of traced values."""
    found = {}
    for name in module.__all__:
        thing = getattr(module, name, None)
        if callable(thing) and not isinstance(thing, (type, np.ufunc)) and thing in DOORS:
            found[name] = taking_lists(thing)
    return found
