"""NumPy's promotion (NEP 50) and broadcasting, made explicit: casts and broadcasts become equations.

Everything here works on the operands of a door's implementation: tracers of the open plain builder, literals, and Python scalars that rules of
thumb inside an implementation write (`multiply(x, 0.5)`).
"""

import builtins
from collections.abc import Sequence

import numpy as np

from functad._core.program import Literal
from functad._core.tracer import Tracer
from functad._core.types import DTYPE_CODES, SCALAR_TYPES, ArrayType, array_type
from functad._numpy.arguments import Axes, DType, DTypeLike, Operand, Result, Value, axis_of
from functad._primitives.logic import convert
from functad._primitives.shape import broadcast, concatenate, reshape
from functad.errors import ShapeMismatchError, UnsupportedArgumentError

__all__ = [
    "as_array", "as_bool", "broadcast_shapes", "broadcast_to", "cast", "known_dtype", "operand", "promote", "ravelled", "result_dtype", "stacked",
    "weak_kind",
]  # fmt: skip


def operand(x: Operand) -> Value:
    """A tracer or literal for what an implementation was given."""
    if isinstance(x, (Tracer, Literal)):
        return x
    kind = SCALAR_TYPES.get(builtins.type(x))
    if kind is not None:
        return Literal(x, kind)
    if isinstance(x, (list, tuple)):
        return stacked(x)
    raise TypeError(f"np.array of {x!r} is no operand")


def stacked(xs: Sequence[Operand]) -> Value:
    """What np.array makes of a (nested) list: Python scalars count with their own dtype, as they do there."""
    if not xs:
        return Literal(0, array_type((0,), np.float64))
    parts = [operand(x) for x in xs]
    shape = parts[0].type.shape
    if any(p.type.shape != shape for p in parts):
        raise ShapeMismatchError(f"a list of arrays of shapes {', '.join(str(p.type.shape) for p in parts)} is no array: they must have one shape")
    common = np.result_type(*[p.type.dtype for p in parts])
    rows = [with_shape(cast(p, common), (1, *shape)) for p in parts]
    return rows[0] if len(rows) == 1 else concatenate(*rows, axis=0)  # type: ignore[no-any-return]  # a primitive returns tracers


def weak_kind(kind: ArrayType) -> Result:
    """What NumPy's promotion should see: a Python type for a weak scalar, else the dtype."""
    return {"i": int, "f": float, "c": complex, "b": bool}[kind.dtype.kind] if kind.weak else kind.dtype


def result_dtype(*xs: Operand) -> DType:
    """np.result_type of operands, weak scalars being weak."""
    kinds = [operand(x).type for x in xs]
    strong = [k.dtype for k in kinds if not k.weak]
    return np.result_type(*strong, *[weak_kind(k)(0) for k in kinds if k.weak])


def known_dtype(dtype: DTypeLike) -> DType:
    """The dtype, if traced values can have it."""
    found: DType = np.dtype(dtype)
    if found.char not in DTYPE_CODES:
        raise UnsupportedArgumentError(f"dtype={found} cannot be honoured: traced values have bool, integer, float32/64 or complex dtypes")
    return found


def cast(x: Operand, dtype: DTypeLike) -> Value:
    """x with that dtype, as `astype` does it."""
    x, dtype = operand(x), np.dtype(dtype)
    if x.type.dtype == dtype:
        return x  # type: ignore[no-any-return]  # a primitive returns tracers
    dtype = known_dtype(dtype)
    if isinstance(x, Literal):
        value = x.type.dtype.type(x.value)
        return Literal(np.asarray(value).astype(dtype)[()], array_type(x.type.shape, dtype))
    if x.type.weak and x.type.dtype.kind == "i" and dtype.kind in "iu":
        info = np.iinfo(dtype)  # NumPy refuses a Python integer that does not fit
        x.builder.ranges.append((x.atom, int(info.min), int(info.max)))
    return convert(x, dtype=dtype)  # type: ignore[no-any-return]  # a primitive returns tracers


def as_array(x: Operand) -> Result:
    """x as an array of its dtype, no longer a weak Python scalar."""
    x = operand(x)
    if not x.type.weak:
        return x
    return Literal(x.value, array_type((), x.type.dtype)) if isinstance(x, Literal) else convert(x, dtype=x.type.dtype)


def as_bool(x: Operand) -> Value:
    """x != 0."""
    return cast(x, np.bool_)


def broadcast_to(x: Operand, shape: Sequence[int]) -> Value:
    """x with that shape, by NumPy's rules."""
    x, shape = operand(x), tuple(shape)
    source = x.type.shape
    if source == shape:
        return x  # type: ignore[no-any-return]  # a primitive returns tracers
    if len(source) > len(shape) or any(n not in (1, m) for n, m in zip(source[::-1], shape[::-1], strict=False)):
        raise ShapeMismatchError(f"an array of shape {source} cannot be broadcast to shape {shape}")
    if isinstance(x, Literal):
        return Literal(x.value, array_type(shape, x.type.dtype))
    return broadcast(x, shape=shape, axes=tuple(range(len(shape) - len(source), len(shape))))  # type: ignore[no-any-return]


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """np.broadcast_shapes with our error."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise ShapeMismatchError(f"operands could not be broadcast together with shapes {' '.join(map(str, shapes))}") from None


def promote(*xs: Operand, dtype: DTypeLike = None) -> list[Result]:
    """The operands with one dtype (NumPy's result type by default) and one shape."""
    given = [operand(x) for x in xs]
    common = np.dtype(dtype) if dtype is not None else result_dtype(*given)
    shape = broadcast_shapes(*[x.type.shape for x in given])
    return [broadcast_to(cast(x, common), shape) for x in given]


def with_shape(x: Operand, shape: Sequence[int]) -> Result:
    """x reshaped (same number of elements); nothing is recorded where nothing changes."""
    x, shape = operand(x), tuple(int(n) for n in shape)
    if x.type.shape == shape:
        return x
    if isinstance(x, Literal):
        return Literal(x.value, array_type(shape, x.type.dtype))
    return reshape(x, shape=shape)


def ravelled(x: Value, axis: Axes) -> tuple[Value, int]:
    """x and a non-negative axis of it; for None the flattened array."""
    if axis is None:
        return with_shape(x, (x.type.size,)), 0
    return x, axis_of(axis, x.type.ndim)
