"""vmap: mapping a function over an axis of its arguments."""

from collections.abc import Sequence

import numpy as np

from functad import tree
from functad._api.call import Traced, flatten_call, leaf_type, run_program, trace_call, unflatten_output
from functad._api.transformed import Transformed
from functad._core.program import Program
from functad._core.recorder import inline, stage
from functad._core.tracer import Tracer
from functad._core.types import ArrayType, array_type
from functad._numpy.arguments import Result, Value
from functad._numpy.shaping import transposed
from functad._transforms.vmap import vmap as vmap_program
from functad.errors import ShapeMismatchError, TreeMismatchError
from functad.tree import Function, Leaf, Tree

__all__ = ["vmap"]


def _axes_of(axes: Tree, value: Leaf, what: str) -> list[int | None]:
    """An axis (or None) for each leaf of value, from a prefix of its tree."""
    if axes is None or isinstance(axes, (int, np.integer)):
        return [None if axes is None else int(axes)] * len(tree.flatten(value)[0])
    if isinstance(axes, (tuple, list)) and isinstance(value, (tuple, list)):
        if len(axes) != len(value):
            raise TreeMismatchError(f"{what} has {len(axes)} entries for {len(value)} values")
        return [a for x, v in zip(axes, value, strict=True) for a in _axes_of(x, v, what)]
    if isinstance(axes, dict) and isinstance(value, dict):
        if axes.keys() != value.keys():
            raise TreeMismatchError(f"{what} has the keys {sorted(axes)}, the value has {sorted(value)}")
        keys = tree.structure(value).entries()  # in the order of the leaves
        return [a for k in keys for a in _axes_of(axes[k], value[k], what)]
    if type(axes) is type(value) and not tree.structure(value).is_leaf():  # a dataclass or another registered node
        inner, parts = tree.children(axes), tree.children(value)
        if len(inner) == len(parts):
            return [a for x, v in zip(inner, parts, strict=True) for a in _axes_of(x, v, what)]
    raise TreeMismatchError(f"{what}={axes!r} does not fit the structure of the values")


def _front(axis: int, ndim: int) -> tuple[int, ...]:
    """Order that brings an axis to the front."""
    return (axis, *[i for i in range(ndim) if i != axis])


class Vmap(Transformed):
    """A function mapped over an axis."""

    def __init__(self, function: Function, in_axes: Tree = 0, out_axes: Tree = 0) -> None:
        super().__init__(function, in_axes=in_axes, out_axes=out_axes)
        self.in_axes, self.out_axes = in_axes, out_axes

    def __call__(self, *args: Tree, **kwargs: Tree) -> Tree:
        """The function's outputs, stacked along out_axes."""
        leaves, structure = flatten_call(args, kwargs)
        axes, types, size = _examples([leaf_type(x)[1] for x in leaves], self._axes(args, kwargs))
        valued = [i for i, axis in enumerate(axes) if axis is None]  # the same in every example
        traced = trace_call(self.function, leaves, structure, "a mapped argument of vmap", types, valued)
        places = (*[None] * len(traced.captured), *[axes[i] for i in traced.positions])
        out_axes = tuple(self._out_axes(traced))
        key = ("vmap plan", places, out_axes, size)
        plan = traced.program.memo.get(key)
        if plan is None:
            plan = traced.program.memo[key] = _mapped(traced.program, places, out_axes, size)
        return unflatten_output(traced, run_program(plan, traced.inputs()))

    def _axes(self, args: tuple[Tree, ...], kwargs: dict[str, Tree]) -> list[int | None]:
        given = self.in_axes
        if isinstance(given, list):
            given = tuple(given)
        if isinstance(given, tuple) and len(given) != len(args):
            raise TreeMismatchError(f"vmap has {len(given)} in_axes for {len(args)} positional arguments")
        return _axes_of(given, args, "in_axes") + _axes_of(0, kwargs, "in_axes")

    def _out_axes(self, traced: Traced) -> Sequence[int | None]:
        count = len(traced.program.outputs)
        if self.out_axes is None or isinstance(self.out_axes, int):
            return [self.out_axes] * count
        shape = unflatten_output(traced, [0] * count)
        return _axes_of(self.out_axes, shape, "out_axes")


def _examples(kinds: Sequence[ArrayType | None], axes: Sequence[int | None]) -> tuple[list[int | None], list[ArrayType | None], int]:
    """Of each leaf the mapped axis and the type of one example, and how many examples there are."""
    places: list[int | None] = []
    types: list[ArrayType | None] = []
    sizes: dict[int, str] = {}
    for i, (kind, axis) in enumerate(zip(kinds, axes, strict=True)):
        if axis is None or kind is None:
            places.append(None)
            types.append(kind)
            continue
        if not -kind.ndim <= axis < kind.ndim:
            raise ShapeMismatchError(f"vmap maps argument leaf {i} over axis {axis}, but it has shape {kind.shape}; in_axes=None leaves it alone")
        axis %= kind.ndim
        sizes.setdefault(kind.shape[axis], f"argument leaf {i} has {kind.shape[axis]} along axis {axis}")
        places.append(axis)
        types.append(array_type(kind.shape[:axis] + kind.shape[axis + 1 :], kind.dtype))
    if len(sizes) != 1:
        found = "; ".join(sizes.values()) if sizes else "in_axes maps none of the arguments"
        raise ShapeMismatchError(f"vmap needs one common size for the mapped axes: {found}")
    return places, types, next(iter(sizes))


def _mapped(program: Program, places: Sequence[int | None], out_axes: Sequence[int | None], size: int) -> Program:
    """The program over all examples, with the mapped axes where the user has them."""
    batched, out_mapped = vmap_program(program, [p is not None for p in places], size, [a is not None for a in out_axes])
    for i, (axis, m) in enumerate(zip(out_axes, out_mapped, strict=True)):
        if axis is None and m:
            raise ShapeMismatchError(f"vmap has out_axes=None for output leaf {i}, which depends on a mapped argument: give an axis")

    def function(*inputs: Tracer) -> list[Value]:
        given = [x if p is None else transposed(x, _front(p, x.type.ndim)) for x, p in zip(inputs, places, strict=True)]
        return [y if axis is None else _moved(y, axis) for y, axis in zip(inline(batched, given), out_axes, strict=True)]

    types = []
    for v, p in zip(program.inputs, places, strict=True):
        shape = v.type.shape
        types.append(v.type if p is None else array_type((*shape[:p], size, *shape[p:]), v.type.dtype))
    return stage(function, types)


def _moved(y: Value, axis: int) -> Result:
    """An output with its front axis where the user wants it."""
    n = y.type.ndim
    if not -n <= axis < n:
        raise ShapeMismatchError(f"vmap has out_axes={axis} for an output of {n} dimensions")
    return transposed(y, np.argsort(_front(axis % n, n)).tolist())


def vmap(fun: Function, in_axes: Tree = 0, out_axes: Tree = 0) -> Function:
    """Map a function over an axis of its arguments.

    Parameters
    ----------
    fun : callable
        Function of single examples.
    in_axes : int, None, or tuple or pytree of them, optional
        Which axis of each positional argument is mapped; None hands the argument to every example, and it may be asked for its value.  Keyword
        arguments are mapped over axis 0.
    out_axes : int, None or pytree of them, optional
        Where the mapped axis appears in each output.

    Returns
    -------
    callable
        Takes arguments with one axis more, returns outputs with one axis more.

    Raises
    ------
    ShapeMismatchError
        If mapped sizes differ, or an axis does not exist.
    TreeMismatchError
        If in_axes or out_axes does not fit the arguments or outputs.
    NoValueError
        If the function asks for the value of a mapped argument (`if x > 0`).

    Examples
    --------
    >>> import numpy as np
    >>> from functad import vmap
    >>> vmap(np.dot, in_axes=(0, None))(np.eye(2), np.array([3.0, 4.0]))
    array([3., 4.])
    """
    return Vmap(fun, in_axes, out_axes)
