"""Pytrees as one vector, and back: for optimisers and solvers that know only vectors."""

import math
from collections.abc import Callable

import numpy as np

from functad import tree as trees
from functad._core.tracer import Tracer
from functad._numpy.arguments import DType
from functad.errors import ShapeMismatchError
from functad.tree import Leaf, Tree

__all__ = ["ravel_pytree"]


def ravel_pytree(pytree: Tree) -> tuple[Leaf, Callable[[Leaf], Tree]]:
    """All leaves in one 1-D array, and the function that takes such an array apart again.

    Parameters
    ----------
    pytree : pytree of arrays and scalars
        Traced leaves are fine.

    Returns
    -------
    flat : array, shape (total number of elements,)
        In the order of the leaves; its dtype is NumPy's result type of theirs.
    unravel : callable
        From a 1-D array of that length, traced or not, to a pytree with the structure, shapes and dtypes of the argument.  Its leaves share no
        memory with the array.

    Raises
    ------
    ShapeMismatchError
        By `unravel`, for an array of another shape.

    Examples
    --------
    >>> import numpy as np
    >>> flat, unravel = ravel_pytree({"w": np.ones((2, 2)), "b": 3.0})
    >>> flat
    array([3., 1., 1., 1., 1.])
    >>> unravel(flat * 2)["b"]
    np.float64(6.0)
    """
    leaves, structure = trees.flatten(pytree)
    arrays: list[Leaf] = [x if isinstance(x, Tracer) else np.asarray(x) for x in leaves]
    scalar = [not isinstance(x, (Tracer, np.ndarray)) for x in leaves]
    kinds = [(x.shape, x.dtype) for x in arrays]
    sizes = [math.prod(shape) for shape, _ in kinds]
    flat = np.concatenate([np.reshape(x, (-1,)) for x in arrays]) if arrays else np.zeros(0)
    ends = [0, *np.cumsum(sizes, dtype=int).tolist()]
    names = trees.leaf_names(pytree)

    def unravel(vector: Leaf) -> Tree:
        given: Leaf = vector if isinstance(vector, Tracer) else np.asarray(vector)
        if given.shape != (ends[-1],):
            parts = ", ".join(f"{name or 'the leaf'}: {shape}" for name, (shape, _) in zip(names, kinds, strict=True))
            raise ShapeMismatchError(f"unravel needs an array of shape ({ends[-1]},) and got {given.shape}; the leaves are {parts or 'none'}")
        out = []
        for i, (shape, dtype) in enumerate(kinds):
            part = np.reshape(given[ends[i] : ends[i + 1]], shape)
            part = part.astype(_target(given.dtype, dtype))  # a copy
            out.append(part[()] if scalar[i] else part)
        return trees.unflatten(structure, out)

    return flat, unravel


def _target(given: DType, wanted: DType) -> DType:
    """The leaf's own dtype, except that complex numbers stay complex: their imaginary part must not vanish in silence."""
    return np.result_type(given, wanted) if given.kind == "c" and wanted.kind != "c" else wanted
