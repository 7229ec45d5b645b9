"""The traced value: what a user's function holds in place of an array while it is being recorded.

A tracer is a thin handle: the builder it belongs to, the atom it stands for, the cell that can compute its value.  Its NumPy face
(operators, methods, doors) is installed by the `_numpy` room, so this module knows no operation.
"""

from typing import Any

import numpy as np

from functad._core.program import Atom
from functad._core.types import ArrayType
from functad._core.values import COMPUTED, Cell

__all__ = ["Tracer", "install"]


class Tracer:
    """A value that is being traced; for `isinstance` checks.

    Attributes
    ----------
    shape : tuple of int
        Shape of the array that it stands for.
    dtype : numpy.dtype
        Its dtype.
    ndim, size : int
        Number of dimensions and of elements.

    Examples
    --------
    >>> import functad as fd
    >>> fd.grad(lambda x: x * x if isinstance(x, fd.Tracer) else 0.0)(3.0)
    np.float64(6.0)
    """

    __slots__ = ("__weakref__", "atom", "builder", "cell")

    builder: Any  # the `Builder` of `recorder` that it belongs to
    atom: Atom
    cell: Cell | None

    @property
    def type(self) -> ArrayType:
        """Shape, dtype and weakness."""
        return self.atom.type

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the array."""
        return self.atom.type.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Dtype of the array."""
        return self.atom.type.dtype

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return self.atom.type.ndim

    @property
    def size(self) -> int:
        """Number of elements."""
        return self.atom.type.size

    @property  # type: ignore[misc]  # nobody sets it
    def __class__(self) -> Any:
        """Class of the value that it stands for: `isinstance(x, np.ndarray)` and the like answer as they do for what the user gave.

        `isinstance` asks this where the type itself does not answer, so a tracer is a `Tracer` as well.
        """
        kind, cell = self.atom.type, self.cell
        if kind.shape:
            return np.ndarray
        if cell is not None and cell.step is None and cell.inputs is not COMPUTED:
            return type(cell.value)  # given as it is: an array without axes, Python's bool
        return _NUMBERS[kind.dtype.kind] if kind.weak else kind.dtype.type

    def __repr__(self) -> str:
        return f"Tracer({self.atom.type!r})"


_NUMBERS: dict[str, type] = {"b": bool, "i": int, "f": float, "c": complex}


def install(name: str, member: Any) -> None:
    """Give tracers a method, property or operator (the hook of the `_numpy` room)."""
    setattr(Tracer, name, member)


def make(builder: Any, atom: Atom, cell: Cell | None) -> Tracer:
    """A tracer with these parts."""
    tracer = Tracer()
    tracer.builder, tracer.atom, tracer.cell = builder, atom, cell
    return tracer
