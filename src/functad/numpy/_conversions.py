"""Conversions that NumPy spells with C code or with a dtype, for traced values."""

from collections.abc import Iterable

import numpy as np

from functad._core.recorder import CONVERT
from functad._core.tracer import Tracer
from functad._numpy.arguments import DTypeLike, Implementation, Operand, Result
from functad._numpy.dispatch import refuse
from functad._numpy.objects import object_array
from functad.errors import UnsupportedArgumentError
from functad.numpy._lists import traced_within

__all__ = ["fromiter", "vectorize"]


def fromiter(iter: Iterable[Operand], dtype: DTypeLike, count: int = -1, *, like: Operand = None) -> Result:
    """np.fromiter of traced values.

    Parameters
    ----------
    iter : iterable of numbers
    dtype : dtype
    count : int
        How many are read; -1 for all.
    like
        Refused for traced values.

    Returns
    -------
    array, shape (count,)

    Raises
    ------
    UnsupportedArgumentError
        With traced values, for `like`.

    Examples
    --------
    >>> import functad as fd, functad.numpy as np
    >>> fd.grad(lambda x: np.sum(np.fromiter((x**k for k in range(3)), float)))(2.0)
    np.float64(5.0)
    """
    values: list[Operand] = []
    for value in iter:
        if len(values) == count:
            break
        values.append(value)
    if not traced_within(values):
        return np.fromiter(values, dtype, count, like=like)
    if like is not None:
        refuse("fromiter", "like", like)
    if len(values) < count:
        raise ValueError(f"iterator too short: Expected {count} but iterator had only {len(values)} items.")
    return np.stack([CONVERT[0](value) for value in values]).astype(dtype)


class vectorize(np.vectorize):  # NumPy's name
    """np.vectorize; with traced arguments the function is traced for each element.

    Parameters
    ----------
    pyfunc : callable
    otypes, doc, excluded, cache, signature
        As NumPy's.

    Raises
    ------
    ConversionError
        Where an argument has more than 128 elements: call a function of whole arrays, or use `functad.vmap`.

    Examples
    --------
    >>> import functad as fd, functad.numpy as np
    >>> f = np.vectorize(lambda a, b: a * b if b > 0 else a, otypes=[float])
    >>> fd.grad(lambda x: np.sum(f(x, [1.0, -1.0])))(np.array([2.0, 3.0]))
    array([1., 1.])
    """

    def __call__(self, *args: Operand, **kwargs: Operand) -> Result:
        if not traced_within(args) and not traced_within(list(kwargs.values())):
            return super().__call__(*args, **kwargs)
        function = self.pyfunc if self.signature is None else _of_objects(self.pyfunc)
        plain = np.vectorize(function, excluded=self.excluded, signature=self.signature)
        found = plain(*[CONVERT[0](x) if isinstance(x, (list, tuple)) and traced_within(x) else x for x in args], **kwargs)
        types: Operand = self.otypes
        if isinstance(found, tuple):
            return tuple(_typed(x, None if types is None else types[i]) for i, x in enumerate(found))
        return _typed(found, None if types is None else types[0])


def _of_objects(function: Implementation) -> Implementation:
    """The same with arrays of objects for results: NumPy writes these into an array like the first."""

    def call(*args: Operand, **kwargs: Operand) -> Result:
        out = function(*args, **kwargs)
        parts = [object_array(x) if isinstance(x, Tracer) else np.asarray(x, object) for x in (out if isinstance(out, tuple) else (out,))]
        return tuple(parts) if isinstance(out, tuple) else parts[0]

    return call


def _typed(x: Operand, dtype: DTypeLike) -> Result:
    """An array of objects as a traced array of that dtype."""
    out = CONVERT[0](x) if traced_within(x) else np.asarray(x)
    if not isinstance(out, Tracer) and out.dtype == object:
        raise UnsupportedArgumentError("the function of np.vectorize gave objects that are no numbers")
    return out if dtype is None else out.astype(dtype)
