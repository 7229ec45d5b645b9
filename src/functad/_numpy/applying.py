"""A user's own function applied along axes or to each element: what NumPy calls in a loop is traced in one."""

import numpy as np

from functad._core.recorder import CONVERT
from functad._core.tracer import Tracer
from functad._numpy.arguments import Operand, Result, axis_of
from functad._numpy.dispatch import DOORS, PYTHON_UFUNCS, refuse
from functad._numpy.objects import object_array

__all__: list[str] = []


def _along_axis(func1d: Operand, axis: int, arr: Operand, *args: Operand, **kwargs: Operand) -> Result:
    """np.apply_along_axis: the function is traced for each lane."""
    x = CONVERT[0](arr)
    axis = axis_of(axis, x.ndim)
    lanes = np.moveaxis(x, axis, -1)
    lead = lanes.shape[:-1]
    if 0 in lead:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    parts = [CONVERT[0](func1d(lanes[place], *args, **kwargs)) for place in np.ndindex(lead)]
    first = parts[0]
    out = np.stack([p if p.dtype == first.dtype else p.astype(first.dtype) for p in parts])
    out = np.reshape(out, (*lead, *first.shape))
    kept, n = list(range(axis)), out.ndim - len(lead)
    return np.transpose(out, [*kept, *range(len(lead), len(lead) + n), *range(axis, len(lead))])


def _over_axes(func: Operand, a: Operand, axes: Operand) -> Result:
    """np.apply_over_axes."""
    out = CONVERT[0](a)
    ndim = out.ndim
    for axis in [axes] if np.ndim(axes) == 0 else axes:
        place = axis_of(axis, ndim)
        found = func(out, place)
        if found.ndim != out.ndim:
            found = np.expand_dims(found, place)
            if found.ndim != out.ndim:
                raise ValueError("function is not returning an array of the correct shape")
        out = found
    return out


DOORS[np.apply_along_axis], DOORS[np.apply_over_axes] = _along_axis, _over_axes


def _each_element(ufunc: np.ufunc, *inputs: Operand, **kwargs: Operand) -> Result:
    """An np.frompyfunc on arrays of objects: its function is traced for each element."""
    for name, value in kwargs.items():
        refuse(ufunc.__name__, name, value)
    out = ufunc(*[object_array(x) if isinstance(x, Tracer) else x for x in inputs])
    return tuple(map(_collected, out)) if isinstance(out, tuple) else _collected(out)


def _collected(x: Operand) -> Result:
    return CONVERT[0](x) if isinstance(x, np.ndarray) and any(isinstance(v, Tracer) for v in x.flat) else x


PYTHON_UFUNCS.append(_each_element)
