"""Drop-in for `import numpy as np` where lists, creation and conversion must know traced values.

NumPy hands most of its functions over to traced arguments, but not those that make arrays: `np.array([x, y])` builds an array of objects,
`np.asarray(x, dtype=float)` and `np.full(3, x)` ask a traced x for its number, and `np.mean([x, y])` does not see what is in the list.  The
functions here accept traced values, nested lists of them among plain numbers, and traced bounds; given nothing traced they give what NumPy's do.
Ufuncs, types, constants and modules are NumPy's, so that `functad.numpy.sin is numpy.sin`; the names of the Python array API standard are there as
NumPy spells them.
"""

import builtins
import math

import numpy as np

# By module where a name is also NumPy's: `add` and `broadcast_to` here are NumPy's own.
from functad._core.recorder import answer
from functad._core.tracer import Tracer
from functad._numpy import promote as _promote
from functad._numpy.arguments import DType, DTypeLike, Implementation, Operand, Result
from functad._numpy.dispatch import door, refuse
from functad._primitives import elementwise as _elementwise
from functad._primitives.index import iota
from functad.numpy import fft as fft
from functad.numpy import linalg as linalg
from functad.numpy._conversions import fromiter as fromiter
from functad.numpy._conversions import vectorize as vectorize
from functad.numpy._lists import nested_lists, replacements, traced_within

_OWN = [
    "arange", "array", "asanyarray", "asarray", "asarray_chkfinite", "ascontiguousarray", "asfortranarray", "fromiter", "full", "full_like",
    "require", "vectorize",
]  # fmt: skip
__all__ = sorted({*np.__all__, *_OWN})

globals().update({name: function for name, function in replacements(np).items() if name not in _OWN})


def __getattr__(name: str) -> object:
    try:
        return getattr(np, name)
    except AttributeError:
        raise AttributeError(f"neither functad.numpy nor numpy has the attribute {name!r}") from None


def __dir__() -> list[str]:
    return sorted({*dir(np), *_OWN})


def _known(dtype: DTypeLike) -> DType | None:
    return None if dtype is None else np.dtype(dtype)


def _check(function: str, order: str | None, like: object = None) -> None:
    if order not in (None, "K", "A", "C", "F"):  # the layout of a traced value in memory is nobody's business
        refuse(function, "order", order)
    if like is not None:
        refuse(function, "like", like)


def _array(object: Operand, dtype: DTypeLike, ndmin: int) -> Result:
    out = _promote.operand(object)
    out = out if dtype is None else _promote.cast(out, dtype)
    missing = builtins.max(ndmin - out.type.ndim, 0)
    return _promote.with_shape(out, (*[1] * missing, *out.type.shape)) if missing else out


_ARRAY = door("array", _array, ["object"])


def array(
    object: Operand, dtype: Operand = None, *, copy: bool | None = True, order: Operand = "K", subok: bool = False, ndmin: int = 0,
    like: Operand = None,
) -> Result:  # fmt: skip
    """np.array; nested lists may mix traced values, arrays and numbers.

    Parameters
    ----------
    object : array_like
    dtype : dtype, optional
    copy, order, subok, like
        As NumPy's.  For traced values `like` is refused, the others mean nothing.
    ndmin : int

    Returns
    -------
    array

    Raises
    ------
    UnsupportedArgumentError
        With traced values, for `like` and an unknown `order`.
    ShapeMismatchError
        If the parts have different shapes.

    Examples
    --------
    >>> import functad as fd, functad.numpy as np
    >>> fd.jacobian(lambda x: np.array([x[1], -np.sin(x[0])], dtype=float))(np.zeros(2))
    array([[ 0.,  1.],
           [-1., -0.]])
    """
    if not traced_within(object):
        return np.array(object, dtype, copy=copy, order=order, subok=subok, ndmin=ndmin, like=like)
    _check("array", order, like)
    return _ARRAY(object=nested_lists(object), dtype=_known(dtype), ndmin=ndmin)


def _conversion(name: str) -> Implementation:
    original = getattr(np, name)

    def convert(a: Operand, dtype: DTypeLike = None, order: str | None = None, **keywords: Operand) -> Result:
        if not traced_within(a):
            return original(a, dtype, **({} if order is None else {"order": order}), **keywords)
        _check(name, order)
        for keyword, given in keywords.items():
            if keyword not in ("copy", "device") and given is not None:
                refuse(name, keyword, given)
        ndmin = 1 if name == "ascontiguousarray" else 0
        if isinstance(a, Tracer) and not keywords.get("copy") and (dtype is None or np.dtype(dtype) == a.dtype) and a.ndim >= ndmin:
            return a
        return _ARRAY(object=nested_lists(a), dtype=_known(dtype), ndmin=ndmin)

    convert.__name__ = convert.__qualname__ = name
    convert.__doc__ = f"""np.{name}; nested lists may mix traced values, arrays and numbers.

    Parameters
    ----------
    a : array_like
    dtype : dtype, optional
    order, copy, device
        As NumPy's.  For traced values `order` and `device` mean nothing.

    Returns
    -------
    array
        The argument itself where nothing changes, as NumPy's.

    Raises
    ------
    UnsupportedArgumentError
        With traced values, for other arguments and an unknown `order`.

    Examples
    --------
    >>> import functad as fd, functad.numpy as np
    >>> fd.grad(lambda x: np.sum(np.{name}([x, 2 * x], dtype=float)))(1.0)
    np.float64(3.0)
    """
    return convert


asarray = _conversion("asarray")
asanyarray = _conversion("asanyarray")
ascontiguousarray = _conversion("ascontiguousarray")


def asfortranarray(a: Operand, dtype: DTypeLike = None, *, like: Operand = None) -> Result:
    """np.asfortranarray; the layout of a traced value means nothing.

    Parameters
    ----------
    a : array_like
    dtype : dtype, optional
    like
        Refused for traced values.

    Returns
    -------
    array

    Raises
    ------
    UnsupportedArgumentError
        With traced values, for `like`.

    Examples
    --------
    >>> import functad as fd, functad.numpy as np
    >>> fd.grad(lambda x: np.sum(np.asfortranarray([x, 2 * x])))(1.0)
    np.float64(3.0)
    """
    return asarray(a, dtype, like=like) if traced_within(a) else np.asfortranarray(a, dtype, like=like)


def asarray_chkfinite(a: Operand, dtype: DTypeLike = None, order: str | None = None) -> Result:
    """np.asarray_chkfinite; a traced value is asked whether it is finite.

    Parameters
    ----------
    a : array_like
    dtype : dtype, optional
    order
        As NumPy's.  For traced values it means nothing.

    Returns
    -------
    array

    Raises
    ------
    ValueError
        If an element is infinite or NaN.
    NoValueError
        Where there is no value while tracing (under `jit` or `vmap`).

    Examples
    --------
    >>> import functad as fd, functad.numpy as np
    >>> fd.grad(lambda x: np.sum(np.asarray_chkfinite([x, 2 * x])))(1.0)
    np.float64(3.0)
    """
    if not traced_within(a):
        original: Operand = np.asarray_chkfinite  # its overloads do not know that a dtype may be anything
        return original(a, dtype, order)
    out = asarray(a, dtype, order)
    if out.dtype.kind in "fc" and not np.all(np.isfinite(out)):
        raise ValueError("array must not contain infs or NaNs")
    return out


def require(a: Operand, dtype: DTypeLike = None, requirements: Operand = None, *, like: Operand = None) -> Result:
    """np.require; a traced value meets every requirement but "W", since it cannot be written to.

    Parameters
    ----------
    a : array_like
    dtype : dtype, optional
    requirements : str or sequence of str, optional
    like
        Refused for traced values.

    Returns
    -------
    array

    Raises
    ------
    UnsupportedArgumentError
        With traced values, for `like` and the requirement of writing.

    Examples
    --------
    >>> import functad as fd, functad.numpy as np
    >>> fd.grad(lambda x: np.sum(np.require([x, 2 * x], float, "C")))(1.0)
    np.float64(3.0)
    """
    if not traced_within(a):
        return np.require(a, dtype, requirements, like=like)
    if requirements and {"W", "WRITEABLE"} & {str(r).upper() for r in requirements}:
        refuse("require", "requirements", requirements, "traced values cannot be written to")
    return asanyarray(a, dtype, like=like)


def _full(fill_value: Operand, shape: Operand, dtype: DTypeLike) -> Result:
    value = _promote.operand(fill_value)
    return _promote.broadcast_to(value if dtype is None else _promote.cast(value, dtype), shape)


_FULL = door("full", _full, ["fill_value"], ["shape"])


def full(shape: Operand, fill_value: Operand, dtype: Operand = None, order: Operand = "C", *, device: Operand = None, like: Operand = None) -> Result:
    """np.full with a traced value.

    Parameters
    ----------
    shape : int or tuple of int
    fill_value : array_like
    dtype : dtype, optional
    order, device, like
        As NumPy's.  For traced values `like` is refused, the others mean nothing.

    Returns
    -------
    array

    Raises
    ------
    UnsupportedArgumentError
        With traced values, for `like` and an unknown `order`.
    ShapeMismatchError
        If `fill_value` cannot be broadcast to `shape`.

    Examples
    --------
    >>> import functad as fd, functad.numpy as np
    >>> fd.grad(lambda x: np.sum(np.full((2, 3), x)))(1.0)
    np.float64(6.0)
    """
    if not traced_within(fill_value):
        return np.full(shape, fill_value, dtype, order, device=device, like=like)
    _check("full", order, like)
    sizes = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    return _FULL(fill_value=nested_lists(fill_value), shape=sizes, dtype=_known(dtype))


def full_like(
    a: Operand, fill_value: Operand, dtype: Operand = None, order: Operand = "K", subok: bool = True, shape: Operand = None, *,
    device: Operand = None,
) -> Result:  # fmt: skip
    """np.full_like of a plain array with a traced value.

    Parameters
    ----------
    a : array_like
        Gives the shape and the dtype.
    fill_value : array_like
    dtype : dtype, optional
    order, subok, device
        As NumPy's.  For traced values they mean nothing.
    shape : int or tuple of int, optional

    Returns
    -------
    array

    Raises
    ------
    UnsupportedArgumentError
        With traced values, for an unknown `order`.
    ShapeMismatchError
        If `fill_value` cannot be broadcast to the shape.

    Examples
    --------
    >>> import functad as fd, functad.numpy as np
    >>> fd.grad(lambda x: np.sum(np.full_like(np.zeros(4), x)))(1.0)
    np.float64(4.0)
    """
    if traced_within(a) or not traced_within(fill_value):
        return np.full_like(a, fill_value, dtype, order, subok, shape, device=device)
    like = np.asarray(a)
    return full(like.shape if shape is None else shape, fill_value, like.dtype if dtype is None else dtype, order)


def _arange(start: Operand, step: Operand, count: int, dtype: DTypeLike) -> Result:
    steps = _promote.cast(iota(shape=(count,), axis=0, dtype=np.dtype(np.int64)), dtype)
    begin, width = (_promote.broadcast_to(_promote.cast(_promote.operand(x), dtype), (count,)) for x in (start, step))
    return _elementwise.add(begin, _elementwise.mul(steps, width))


_ARANGE = door("arange", _arange, ["start", "step"], ["count"])


def arange(start: Operand, stop: Operand = None, step: Operand = 1, dtype: DTypeLike = None, *, device: object = None, like: object = None) -> Result:
    """np.arange with traced bounds or step: how many elements there are is read from their values.

    Parameters
    ----------
    start, stop, step : number
    dtype : dtype, optional
    device, like
        As NumPy's.  For traced values `like` is refused, `device` means nothing.

    Returns
    -------
    array, shape (ceil((stop - start) / step),)

    Raises
    ------
    NoValueError
        Where the bounds have no value while tracing (under `jit` or `vmap`).

    Examples
    --------
    >>> import functad as fd, functad.numpy as np
    >>> fd.grad(lambda x: np.sum(np.arange(0.0, 1.0, x)))(0.25)
    np.float64(6.0)
    """
    begin: Operand = 0 if stop is None else start
    end = start if stop is None else stop
    if not traced_within([begin, end, step]):
        original: Operand = np.arange  # its overloads do not know that a step may be anything
        return original(begin, end, step, dtype, device=device, like=like)
    _check("arange", None, like)
    span = (end - begin) / step
    count = answer(span, _whole) if isinstance(span, Tracer) else _whole(span)
    # Python's numbers count with their own dtype, unlike in ufuncs
    kinds = [x.dtype if isinstance(x, Tracer) else np.asarray(x).dtype for x in (begin, end, step)]
    return _ARANGE(start=begin, step=step, count=builtins.max(count, 0), dtype=_known(dtype) or np.result_type(*kinds))


def _whole(x: Operand) -> int:
    count: int = math.ceil(x)
    return count
