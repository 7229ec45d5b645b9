"""np.convolve and np.correlate."""

import numpy as np

from functad._numpy.algebra import conjugate, strong
from functad._numpy.arguments import Operand, Result, Value
from functad._numpy.dispatch import implements
from functad._numpy.promote import with_shape
from functad._numpy.shaping import flipped
from functad._primitives.convolution import correlate
from functad.errors import ShapeMismatchError

__all__: list[str] = []

_MODES = ("valid", "same", "full")


def _mode(mode: Operand) -> str:
    """The name of a mode; NumPy takes its number and its first letter too."""
    found = [m for i, m in enumerate(_MODES) if mode in (m, m[0], i)]
    if not found:
        raise ValueError(f"mode must be one of 'valid', 'same', or 'full' (got {mode!r})")
    return found[0]


def _slid(x: Value, y: Value, mode: str) -> Result:
    """Sums of x[k + j] y[j]: `valid` where y lies inside of x, `full` where they meet at all, `same` the middle of these; y is not longer."""
    n = y.type.shape[0]
    low = {"valid": 0, "same": n // 2, "full": n - 1}[mode]
    return correlate(x, y, low=low, high=n - 1 - low if mode == "same" else low)


def _two(function: str, a: Operand, v: Operand) -> list[Result]:
    x, y = strong(a, v)
    x, y = (with_shape(z, (1,)) if z.type.ndim == 0 and function == "convolve" else z for z in (x, y))
    if x.type.ndim != 1 or y.type.ndim != 1:
        raise ShapeMismatchError(f"np.{function} takes arrays of one dimension; the shapes are {x.type.shape} and {y.type.shape}")
    for z, name in ((x, "a"), (y, "v")):
        if z.type.size == 0:
            raise ValueError(
                f"{name} cannot be empty" if function == "convolve" else f"{'first' if name == 'a' else 'second'} argument cannot be empty"
            )
    return [x, y]


@implements(np.convolve, numeric=("a", "v"))
def convolve(a: Operand, v: Operand, mode: Operand = "full") -> Result:
    x, y = _two("convolve", a, v)
    if y.type.size > x.type.size:
        x, y = y, x
    return _slid(x, flipped(y, (0,)), _mode(mode))


@implements(np.correlate, numeric=("a", "v"))
def _correlate(a: Operand, v: Operand, mode: Operand = "valid") -> Result:
    x, y = _two("correlate", a, v)
    y = conjugate(y)
    if y.type.size > x.type.size:  # as NumPy: the shorter one moves, and the result is turned round
        return flipped(_slid(y, x, _mode(mode)), (0,))
    return _slid(x, y, _mode(mode))
