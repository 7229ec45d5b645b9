"""Lists and object arrays that hold traced values, as `np.array([dx, dy])` makes them.

NumPy can only hold tracers in arrays of objects.  Wherever such an array meets a traced operation, or is returned, it is stacked to one traced
array; one that was merely taken apart is recognised and costs nothing.
"""

import sys
from collections.abc import Sequence

import numpy as np

from functad._core.recorder import CONVERT, CURRENT, Door, plain_value, record
from functad._core.tracer import Tracer
from functad._core.types import SCALAR_TYPES
from functad._core.values import Cell
from functad._numpy.arguments import Array, DTypeLike, Operand, Result
from functad._numpy.promote import cast, operand, with_shape
from functad._numpy.shaping import expanded, joined, part
from functad.errors import ConversionError, UnsupportedArgumentError

__all__ = ["ELEMENTS", "as_operand", "holds_traced", "object_array", "stack_objects"]

MAX_ELEMENTS = 128  # an object array of more scalar tracers than this is refused: each element costs an operation


def holds_traced(x: Operand) -> bool:
    """Whether a traced value is in it: an array of objects, or lists however nested."""
    if isinstance(x, (list, tuple)):
        return any(map(holds_traced, x))
    if isinstance(x, np.ndarray) and x.dtype == object:
        return any(map(holds_traced, x.flat))
    return type(x) is Tracer


def _elements(x: Operand) -> tuple[Result, ...]:
    """All elements, as scalars."""
    flat = with_shape(x, (operand(x).type.size,))
    return tuple(with_shape(part(flat, 0, i, 1), ()) for i in range(flat.type.size))


ELEMENTS = Door("elements", _elements)


def object_array(x: Tracer, dtype: DTypeLike = None, copy: object = None) -> Array:
    """`__array__`: the values of whole numbers and booleans; of others an array of scalar tracers, if it stays small.

    An assertion of `numpy.testing` compares values and returns nothing, so it gets the values of all.
    """
    if x.type.dtype.kind in "biu" or sys._getframe(1).f_globals.get("__name__", "").startswith("numpy.testing"):
        plain: Array | None = plain_value(x)
        if plain is not None:
            return plain if dtype is None else plain.astype(dtype)
    if dtype is not None and np.dtype(dtype) != object:
        raise ConversionError(
            f"a traced value cannot become a plain NumPy array of {np.dtype(dtype)}: that would cut its derivative.  Keep it traced: leave dtype "
            f"out or use x.astype({np.dtype(dtype)}), build with np.stack or np.full_like, or write `import functad.numpy as np`, "
            "whose functions take traced values in lists; functad.stop_gradient(x), which stays traced, where none is wanted"
        )
    if x.type.dtype.kind == "c":  # NumPy takes np.imag of an array of objects for 0, in silence
        raise ConversionError(
            "a traced complex value cannot become an element of a plain NumPy array: build with np.stack([x, y]) instead of np.array([x, y]), or "
            "write `import functad.numpy as np`, whose np.array does that"
        )
    if x.ndim and x.size > MAX_ELEMENTS:
        raise ConversionError(
            f"a traced array of {x.size} elements cannot become a plain NumPy array (up to {MAX_ELEMENTS} become an array of scalars): use the "
            "traced array itself, np.stack or np.concatenate instead of np.array, or `import functad.numpy as np`"
        )
    out = np.empty(x.shape, object)
    if x.ndim == 0:
        out[()] = x
    elif x.size:
        flat = out.reshape(-1)
        for i, element in enumerate(record(ELEMENTS, None, (x,), None)):
            flat[i] = element
    return out


def _stack(shape: tuple[int, ...], given: Sequence[Operand]) -> Result:
    xs = [operand(x) for x in given]
    common = np.result_type(*[x.type.dtype for x in xs])  # np.array takes Python's numbers for what they are
    return with_shape(joined([expanded(cast(x, common), 0) for x in xs], 0), shape)


STACK = Door("stack", _stack)


def _source(first: Operand, elements: Sequence[Operand]) -> Tracer | None:
    """The array that was taken apart into just these elements, in order."""
    cell = first.cell if type(first) is Tracer else None
    if not isinstance(cell, Cell) or type(cell.step) is not int:
        return None
    parent = cell.inputs[0]
    builder = first.builder
    for i, x in enumerate(elements):
        c = x.cell if type(x) is Tracer else None
        if not isinstance(c, Cell) or c.step != i or type(c.step) is not int or c.inputs[0] is not parent or x.builder is not builder:
            return None
    node = parent.step
    if node is None or isinstance(node, (int, str)) or len(node.outputs) != len(elements) or len(node.stamp.operands) != 1:
        return None
    out = Tracer()
    out.builder, out.atom, out.cell = builder, node.stamp.operands[0], parent.inputs[0]
    return out if out.atom.type.size == len(elements) and not node.fresh else None


def stack_objects(array: Array) -> Result:
    """An object array of tracers and numbers as one traced array; without tracers, as a plain array of numbers."""
    elements = [x[()] if type(x) is np.ndarray and x.ndim == 0 else x for x in array.reshape(-1)]
    if not any(type(x) is Tracer for x in elements):
        plain = np.array(array.tolist())
        if plain.dtype == object or plain.dtype.kind in "SU":
            raise UnsupportedArgumentError(f"an array of {type(elements[0]).__name__ if elements else 'object'} cannot be used with traced values")
        return plain
    for x in elements:
        if type(x) is not Tracer and type(x) not in SCALAR_TYPES:
            raise UnsupportedArgumentError(f"an array that holds traced values and {type(x).__name__} cannot be used with traced values")
        if type(x) is Tracer and x.ndim:
            raise UnsupportedArgumentError("an object array that holds traced arrays cannot be stacked: use np.stack or np.concatenate")
    shape = array.shape
    source = _source(elements[0], elements)
    if source is not None and source.builder is CURRENT.get():
        return source if source.shape == shape else np.reshape(source, shape)  # type: ignore[call-overload]  # of a tracer
    return record(STACK, shape, elements, lambda given: _stack(shape, given))


def as_operand(x: Operand) -> Result:
    """A tracer or plain array for a list, an object array or a foreign array."""
    if type(x) is np.ndarray and x.dtype != object:
        return x
    if isinstance(x, Tracer):
        return x
    if x is None or isinstance(x, (str, bytes)):
        raise UnsupportedArgumentError(f"{x!r} cannot be used with traced values")
    array = np.asarray(x)
    return stack_objects(array) if array.dtype == object else np.asarray(array)


CONVERT[0] = as_operand
