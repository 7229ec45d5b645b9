"""Kinds of primitives: from a short row, a kind derives type rule, jvp, transpose, batching and kernel form.

Letters in rules: `x, y` values, `t` tangent, `ct` cotangent, `out` the result.  Rules record primitives in the open plain builder.
An elementwise row states one tangent rule for each input, `(t, out, *xs) -> tangent`, written with `scale` and `mask` of `linear`,
or None where the derivative is zero.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from functad._core.primitive import Expression, Missing, Primitive, View
from functad._core.program import Literal
from functad._core.types import ArrayType, array_type
from functad.errors import ShapeMismatchError

__all__ = ["constant", "elementwise", "linear_view", "ones_like", "spread", "total", "zeros_like", "zeros_of"]

TangentRule = Callable[..., Any] | None


# ---- literals


def constant(value: Any, like: Any) -> Literal:
    """A literal of the shape and dtype of a tracer or type."""
    kind = like if isinstance(like, ArrayType) else like.type
    return Literal(value, array_type(kind.shape, kind.dtype))


def zeros_of(kind: ArrayType) -> Literal:
    """The zero of a type."""
    return constant(0, kind)


def zeros_like(x: Any) -> Literal:
    """A literal zero like x."""
    return constant(0, x)


def ones_like(x: Any) -> Literal:
    """A literal one like x."""
    return constant(1, x)


def total(ts: Sequence[Any]) -> Any:
    """Sum of tangents; None stands for zero."""
    from functad._primitives.elementwise import add

    out = None
    for t in ts:
        if t is not None:
            out = t if out is None else add(out, t)
    return out


def spread(x: Any, size: int) -> Any:
    """x with a new leading axis of that size."""
    if isinstance(x, Literal):
        return Literal(x.value, array_type((size, *x.type.shape), x.type.dtype))
    from functad._primitives.shape import broadcast

    return broadcast(x, shape=(size, *x.type.shape), axes=tuple(range(1, 1 + x.type.ndim)))


# ---- elementwise


def _same_shape(name: str, types: Sequence[ArrayType]) -> tuple[int, ...]:
    shape = types[0].shape
    for t in types[1:]:
        if t.shape != shape:
            raise ShapeMismatchError(f"{name} got operands of shapes {', '.join(str(t.shape) for t in types)}")
    return shape


def elementwise(
    name: str,
    numpy: Callable[..., Any],
    tangents: Sequence[TangentRule],
    emit: str | Callable[..., str | None],
    *,
    domain: Sequence[Any] = (),
    dtype: Callable[..., Any] | None = None,
    transpose: Callable[..., Any] | None = None,
    structural: Callable[..., bool] | None = None,
    inward: Callable[..., Any] | None = None,
    cost: float = 1.0,
    kinds: str = "f",
    note: str = "",
) -> Primitive:
    """Declare an elementwise primitive.

    `emit` is a template (`"sin_{d}({0})"`: operand texts by position, `{d}` the helper code of the first input's dtype, `{o}` of the output's) or a
    function as in `Expression`.  `domain` gives an interval `(low, high)` for each input, where the function is smooth: tests and
    benchmarks sample there.  `kinds` are the dtype kinds that it is tested with (f, c, i, b).  `dtype(*dtypes, **params)` gives the output's dtype;
    the default asks the ufunc.
    """
    ufunc = numpy if isinstance(numpy, np.ufunc) else None

    def infer(*types: ArrayType, **params: Any) -> tuple[ArrayType, ...]:
        shape = _same_shape(name, types)
        dtypes = [t.dtype for t in types]
        if dtype is not None:
            return (array_type(shape, dtype(*dtypes, **params)),)
        assert ufunc is not None, name
        return (array_type(shape, ufunc.resolve_dtypes((*dtypes, None))[-1]),)

    def jvp(transform: Any, xs: Sequence[Any], ts: Sequence[Any], /, **params: Any) -> tuple[list[Any], list[Any]]:
        out = op(*xs, **params)
        parts = [rule(t, out, *xs, **params) for rule, t in zip(tangents, ts, strict=True) if rule is not None and t is not None]
        return [out], [total(parts)]

    def batch(transform: Any, xs: Sequence[Any], mapped: Sequence[bool], size: int, /, **params: Any) -> tuple[list[Any], list[bool]]:
        return [op(*[x if m else spread(x, size) for x, m in zip(xs, mapped, strict=True)], **params)], [True]

    def pull(transform: Any, cts: Sequence[Any], xs: Sequence[Any], types: Sequence[ArrayType], /, **params: Any) -> Any:
        assert transpose is not None
        return transpose(cts[0], *xs, **params)

    op = Primitive(
        name=name,
        numpy=numpy,
        infer=infer,
        jvp=jvp,
        transpose=pull if transpose is not None else Missing("not linear"),
        batch=batch,
        kernel=Expression(_template(emit) if isinstance(emit, str) else emit, cost),
        kind="elementwise",
        ufunc=ufunc,
        partials=tangents,
        structural=structural,
        inward=inward,
        note=note,
    )
    op.examples = lambda: [e for k in kinds for e in _samples(op, domain, k)]
    return op


def _template(text: str) -> Callable[..., str | None]:
    def emit(codes: Sequence[str], out: str, *operands: str, **params: Any) -> str:
        return text.format(*operands, d=codes[0], o=out)

    return emit


def _samples(op: Primitive, domain: Sequence[Any], kind: str) -> list[tuple[list[Any], Mapping[str, Any]]]:
    random = np.random.default_rng(7)
    columns: list[Any] = []
    for low, high in domain:
        x = random.uniform(low, high, (3, 4))
        if kind == "c":
            x = x + 1j * random.uniform(0.1, 0.4, (3, 4))
        columns.append(
            x if kind in "fc" else random.integers(max(int(low), -9), max(int(high), 3) + 1, (3, 4)) if kind == "i" else x > (low + high) / 2
        )
    return [(columns, {})]


# ---- linear operations that only move (or add up) elements


def linear_view(
    name: str,
    numpy: Callable[..., Any],
    shape: Callable[..., tuple[int, ...]],
    transpose: Callable[..., Any],
    batch: Callable[..., Any],
    index: Callable[..., Any],
    examples: Callable[[], Sequence[tuple[Sequence[Any], Mapping[str, Any]]]],
    *,
    structural: Callable[..., bool] | None = None,
    inward: Callable[..., Any] | None = None,
    note: str = "",
) -> Primitive:
    """Declare an operation of one input that moves elements.

    shape(in_shape, **params) -> out shape; transpose(ct, in_type, **params) -> cotangent; batch(x, size, **params) -> mapped result with the
    batch axis in front; index: see `View`.
    """

    def infer(x: ArrayType, **params: Any) -> tuple[ArrayType, ...]:
        return (array_type(shape(x.shape, **params), x.dtype),)

    def jvp(transform: Any, xs: Sequence[Any], ts: Sequence[Any], /, **params: Any) -> tuple[list[Any], list[Any]]:
        return [op(xs[0], **params)], [None if ts[0] is None else op(ts[0], **params)]

    def pull(transform: Any, cts: Sequence[Any], xs: Sequence[Any], types: Sequence[ArrayType], /, **params: Any) -> list[Any]:
        return [transpose(cts[0], types[0], **params)]

    def mapped(transform: Any, xs: Sequence[Any], mask: Sequence[bool], size: int, /, **params: Any) -> tuple[list[Any], list[bool]]:
        return [batch(xs[0], size, **params)], [True]

    op = Primitive(
        name=name, numpy=numpy, infer=infer, jvp=jvp, transpose=pull, batch=mapped, kernel=View(index), kind="view",
        examples=examples, structural=structural, inward=inward, note=note,
    )  # fmt: skip
    return op
