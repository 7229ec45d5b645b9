"""Operations that move elements: broadcast, reshape, transpose, slice, flip, pad, concatenate.

Kernel forms get every size and every whole number among the params as text (a literal 0 or 1, or the name of a kernel argument), so that one kernel
serves all sizes.
"""

import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np

from functad._core.primitive import Missing, Primitive, View
from functad._core.program import Equation, Literal
from functad._core.types import ArrayType, array_type
from functad._primitives.alive import passes_on
from functad._primitives.operands import Array, Examples, Shape, Value, spread_literal, zeros_of
from functad._primitives.rules import Batched, Flags, Inferred, Known, Pulled, Pushed, Rule, Tangents, Transform, Types, Values
from functad.errors import ShapeMismatchError

__all__ = [
    "aligned",
    "broadcast",
    "concatenate",
    "flip",
    "linear_view",
    "meet",
    "pad",
    "part",
    "reshape",
    "reshaped",
    "slice_",
    "spread",
    "transpose",
]

Pieces = list[tuple[str | None, int | None, list[str]]]  # of a kernel's index map, see `View`


def linear_view(
    name: str,
    numpy: Rule,
    shape: Callable[..., Shape],
    transpose: Rule | Missing,
    batch: Rule,
    index: Callable[..., Pieces],
    examples: Examples,
    *,
    structural: Callable[..., bool] = passes_on,
    inward: Rule | None = None,
    keeps_order: bool = False,
    note: str = "",
) -> Primitive:
    """Declare an operation of one input that moves elements.

    shape(in_shape, **params) -> out shape; transpose(ct, in_type, **params) -> cotangent; batch(x, size, **params) -> mapped result with the
    batch axis in front; index and keeps_order: see `View`.
    """

    def infer(x: ArrayType, **params: object) -> Inferred:
        return (array_type(shape(x.shape, **params), x.dtype),)

    def jvp(transform: Transform, xs: Values, ts: Tangents, /, **params: object) -> Pushed:
        return [op(xs[0], **params)], [None if ts[0] is None else op(ts[0], **params)]

    def pull(transform: Transform, cts: Values, xs: Tangents, types: Types, /, **params: object) -> Pulled:
        assert not isinstance(transpose, Missing)
        return [transpose(cts[0], types[0], **params)]

    def mapped(transform: Transform, xs: Values, mask: Flags, size: int, /, **params: object) -> Batched:
        return [batch(xs[0], size, **params)], [True]

    op = Primitive(
        name=name, numpy=numpy, infer=infer, jvp=jvp, transpose=transpose if isinstance(transpose, Missing) else pull, batch=mapped,
        kernel=View(index, keeps_order), kind="view", examples=examples, structural=structural, inward=inward, note=note,
    )  # fmt: skip
    op.alive = op
    return op


def _data(*shape: int) -> Array:
    return np.arange(1.0, 1.0 + math.prod(shape)).reshape(shape)


def _shifted(axes: Shape) -> Shape:
    return tuple(a + 1 for a in axes)


# ---- broadcast: input axis i is output axis axes[i]; a length-1 axis may grow, other output axes are new


def _broadcast_numpy(x: Array, shape: Shape, axes: Shape) -> Array:
    if any(a > b for a, b in itertools.pairwise(axes)):  # simplification makes these of a broadcast that is transposed
        order = sorted(range(len(axes)), key=axes.__getitem__)
        x, axes = np.transpose(x, order), tuple(sorted(axes))
    source = [1] * len(shape)
    for n, a in zip(np.shape(x), axes, strict=True):
        source[a] = n
    return np.broadcast_to(np.reshape(x, source), shape)


def _broadcast_shape(s: Shape, shape: Shape, axes: Shape) -> Shape:
    if len(s) != len(axes) or any(n != shape[a] and n != 1 for n, a in zip(s, axes, strict=True)):
        raise ShapeMismatchError(f"an array of shape {s} cannot be broadcast to {shape}")
    return shape


def _broadcast_index(
    out: Sequence[str], shapes: Sequence[Sequence[str]], out_shape: Sequence[str], shape: Sequence[str], axes: Sequence[str]
) -> Pieces:
    return [(None, 0, ["0" if n == "1" else out[int(a)] for n, a in zip(shapes[0], axes, strict=True)])]


broadcast: Primitive = linear_view(
    "broadcast", _broadcast_numpy, _broadcast_shape, Missing("declared with `reduce_sum`"),
    lambda x, size, shape, axes: broadcast(x, shape=(size, *shape), axes=(0, *_shifted(axes))), _broadcast_index,
    lambda: [([_data(3)], {"shape": (2, 3), "axes": (1,)}), ([_data(3)], {"shape": (3, 2), "axes": (0,)}),
             ([_data(1, 3)], {"shape": (4, 3), "axes": (0, 1)}),
             ([_data()], {"shape": (2, 2), "axes": ()}), ([_data(2, 3)], {"shape": (3, 4, 2), "axes": (2, 0)})],
    note="input axis i becomes output axis axes[i]",
)  # fmt: skip


def spread(x: Value, size: int) -> Value:
    """x with a new leading axis of that size."""
    shape = (size, *x.type.shape)
    return spread_literal(x, shape) if isinstance(x, Literal) else broadcast(x, shape=shape, axes=tuple(range(1, len(shape))))


def aligned(xs: Values, mapped: Flags, size: int) -> Values:
    """Operands of a batch rule, all mapped."""
    return [x if m else spread(x, size) for x, m in zip(xs, mapped, strict=True)]


# ---- reshape, transpose, flip


def _reshape_shape(s: Shape, shape: Shape) -> Shape:
    if math.prod(s) != math.prod(shape):
        raise ShapeMismatchError(f"cannot reshape an array of shape {s} into shape {shape}")
    return shape


def _reshape_index(out: Sequence[str], shapes: Sequence[Sequence[str]], out_shape: Sequence[str], shape: Sequence[str]) -> Pieces:
    """Through the flat index; axes that both shapes share at either end stay as they are."""
    source, target = list(shapes[0]), list(out_shape)
    front = 0
    while front < min(len(source), len(target)) and source[front] == target[front]:
        front += 1
    back = 0
    while back < min(len(source), len(target)) - front and source[-1 - back] == target[-1 - back]:
        back += 1
    inner_in, inner_out = source[front : len(source) - back], target[front : len(target) - back]
    flat = "0"
    for n, i in zip(inner_out, out[front : len(target) - back], strict=True):
        flat = i if flat == "0" or (n == "1" and flat == "0") else (flat if n == "1" else f"({flat} * {n} + {i})")
    texts: list[str] = []
    real = [k for k, n in enumerate(inner_in) if n != "1"]
    for k, n in enumerate(inner_in):
        if n == "1":
            texts.append("0")
            continue
        below = [inner_in[j] for j in real if j > k]
        text = flat if not below else f"({flat} // ({' * '.join(below)}))"
        texts.append(text if k == real[0] else f"({text} % {n})")
    return [(None, 0, [*out[:front], *texts, *out[len(target) - back :]])]


reshape: Primitive = linear_view(
    "reshape", lambda x, shape: np.reshape(x, shape), _reshape_shape, lambda ct, kind, shape: reshape(ct, shape=kind.shape),
    lambda x, size, shape: reshape(x, shape=(size, *shape)), _reshape_index,
    lambda: [([_data(2, 3)], {"shape": s}) for s in ((6,), (3, 2), (2, 1, 3), (2, 3))]
    + [([_data()], {"shape": (1, 1)}), ([_data(2, 3, 4)], {"shape": (6, 4)})],
    inward=lambda times, inputs, p, shape: reshape(times(inputs[0], reshaped(p, inputs[0].type.shape)), shape=shape), keeps_order=True,
)  # fmt: skip


def reshaped(x: Value, shape: Shape) -> Value:
    """x in another shape; nothing is recorded where nothing changes."""
    if x.type.shape == shape:
        return x
    return spread_literal(x, shape) if isinstance(x, Literal) else reshape(x, shape=shape)


def _inverse(order: Sequence[int]) -> Shape:
    return tuple(int(i) for i in np.argsort(order))


transpose: Primitive = linear_view(
    "transpose", lambda x, order: np.transpose(x, order), lambda s, order: tuple(s[i] for i in order),
    lambda ct, kind, order: transpose(ct, order=_inverse(order)), lambda x, size, order: transpose(x, order=(0, *_shifted(order))),
    lambda out, shapes, out_shape, order: [(None, 0, [out[_inverse([int(o) for o in order])[i]] for i in range(len(order))])],
    lambda: [([_data(2, 3)], {"order": (1, 0)}), ([_data(2, 3, 4)], {"order": (2, 0, 1)}), ([_data(2, 3, 4)], {"order": (0, 2, 1)})],
    inward=lambda times, inputs, p, order: transpose(times(inputs[0], _untransposed(p, inputs[0], order)), order=order),
)  # fmt: skip


def _untransposed(p: Value, x: Value, order: Shape) -> Value:
    return spread_literal(p, x.type.shape) if isinstance(p, Literal) else transpose(p, order=_inverse(order))


def _flipped(out: Sequence[str], shape: Sequence[str], axes: Sequence[str]) -> list[str]:
    turned = [int(a) for a in axes]
    return [f"({shape[i]} - 1 - {o})" if i in turned else o for i, o in enumerate(out)]


flip: Primitive = linear_view(
    "flip", lambda x, axes: np.flip(x, axes), lambda s, axes: s, lambda ct, kind, axes: flip(ct, axes=axes),
    lambda x, size, axes: flip(x, axes=_shifted(axes)),
    lambda out, shapes, out_shape, axes: [(None, 0, _flipped(out, out_shape, axes))],
    lambda: [([_data(2, 3)], {"axes": (0,)}), ([_data(2, 3)], {"axes": (0, 1)})],
    inward=lambda times, inputs, p, axes: flip(times(inputs[0], p if isinstance(p, Literal) else flip(p, axes=axes)), axes=axes),
)  # fmt: skip


# ---- slice and pad, transposes of each other.  Strides are positive: a negative step is a slice of a flip


def _slice_numpy(x: Array, start: Shape, size: Shape, step: Shape) -> Array:
    return x[tuple(slice(a, a + (n - 1) * s + 1 if n else a, s) for a, n, s in zip(start, size, step, strict=True))]


def _slice_shape(s: Shape, start: Shape, size: Shape, step: Shape) -> Shape:
    for n, a, m, d in zip(s, start, size, step, strict=True):
        if m and not (a >= 0 and a + (m - 1) * d < n):
            raise ShapeMismatchError(f"a slice reaches beyond an axis of length {n}")
    return size


def _back(x: Value, shape: Shape, start: Shape, size: Shape, step: Shape) -> Value:
    """x where it was sliced from, in zeros of that shape."""
    ends = [a + (n - 1) * d + 1 if n else a for a, n, d in zip(start, size, step, strict=True)]
    high = tuple(n - e for n, e in zip(shape, ends, strict=True))
    return pad(x, low=start, high=high, inner=tuple(d - 1 for d in step))


def _slice_inward(times: Rule, inputs: Values, p: Value, start: Shape, size: Shape, step: Shape) -> Value:
    """Multiply before the slice: the factor is padded with zeros, which meet only what the slice drops."""
    shape = inputs[0].type.shape
    factor = spread_literal(p, shape) if isinstance(p, Literal) else _back(p, shape, start, size, step)
    return slice_(times(inputs[0], factor), start=start, size=size, step=step)


def _times(a: str, b: str) -> str:
    return b if a == "1" else (a if b == "1" else f"{a} * {b}")


def _plus(a: str, b: str) -> str:
    if a.isdigit() and b.isdigit():
        return str(int(a) + int(b))
    return b if a == "0" else (a if b == "0" else f"({a} + {b})")


slice_: Primitive = linear_view(
    "slice", _slice_numpy, _slice_shape, lambda ct, kind, start, size, step: _back(ct, kind.shape, start, size, step),
    lambda x, n, start, size, step: slice_(x, start=(0, *start), size=(n, *size), step=(1, *step)),
    lambda out, shapes, out_shape, start, size, step: [(None, 0, [_plus(_times(o, d), a) for o, a, d in zip(out, start, step, strict=True)])],
    lambda: [([_data(5)], {"start": (1,), "size": (2,), "step": (2,)}), ([_data(4, 5)], {"start": (0, 2), "size": (4, 3), "step": (1, 1)}),
             ([_data(4)], {"start": (2,), "size": (0,), "step": (1,)})],
    inward=_slice_inward,
)  # fmt: skip


def _pad_numpy(x: Array, low: Shape, high: Shape, inner: Shape) -> Array:
    shape = _pad_shape(np.shape(x), low, high, inner)
    out = np.zeros(shape, np.asarray(x).dtype)
    out[tuple(slice(a, a + (n - 1) * (d + 1) + 1 if n else a, d + 1) for a, n, d in zip(low, np.shape(x), inner, strict=True))] = x
    return out


def _pad_shape(s: Shape, low: Shape, high: Shape, inner: Shape) -> Shape:
    return tuple(a + n + max(n - 1, 0) * d + b for n, a, b, d in zip(s, low, high, inner, strict=True))


def _inside(p: Value, shape: Shape, low: Shape, inner: Shape) -> Value:
    """What of p lies where the padded array is."""
    if isinstance(p, Literal):
        return spread_literal(p, shape)
    return slice_(p, start=low, size=shape, step=tuple(d + 1 for d in inner))


def _pad_index(
    out: Sequence[str], shapes: Sequence[Sequence[str]], out_shape: Sequence[str], low: Sequence[str], high: Sequence[str], inner: Sequence[str]
) -> Pieces:
    conditions, texts = [], []
    for o, n, a, b, d in zip(out, shapes[0], low, high, inner, strict=True):
        if a == "0" and b == "0" and d == "0":
            texts.append(o)
            continue
        moved = o if a == "0" else f"({o} - {a})"
        if a != "0":
            conditions.append(f"({o} >= {a})")
        if d == "0":
            if b != "0":
                conditions.append(f"({moved} < {n})")
            texts.append(moved)
        else:
            conditions.append(f"({moved} % ({d} + 1) == 0) & ({moved} // ({d} + 1) < {n})")
            texts.append(f"({moved} // ({d} + 1))")
    return [(" & ".join(conditions) or None, 0, texts), (None, None, [])]


pad: Primitive = linear_view(
    "pad", _pad_numpy, _pad_shape, lambda ct, kind, low, high, inner: _inside(ct, kind.shape, low, inner),
    lambda x, n, low, high, inner: pad(x, low=(0, *low), high=(0, *high), inner=(0, *inner)), _pad_index,
    lambda: [([_data(3)], {"low": (1,), "high": (2,), "inner": (0,)}), ([_data(2, 3)], {"low": (0, 1), "high": (1, 0), "inner": (1, 2)}),
             ([_data(0)], {"low": (1,), "high": (1,), "inner": (0,)})],
    structural=lambda equation, known: equation.outputs[0].type.size != equation.inputs[0].type.size or equation.inputs[0] in known,
    inward=lambda times, inputs, p, low, high, inner: pad(
        times(inputs[0], _inside(p, inputs[0].type.shape, low, inner)), low=low, high=high, inner=inner),
    note="with zeros; `inner` zeros between neighbours",
)  # fmt: skip


def _interval(equation: Equation, known: Known) -> tuple[int, int, int, int] | None:
    """(axis, begin, end, length) of what a one-axis pad leaves alive, where that has no structural zeros of its own."""
    if equation.op is not pad or equation.inputs[0] in known:
        return None
    low, high, inner = (equation.params[k] for k in ("low", "high", "inner"))
    touched = [i for i in range(len(low)) if low[i] or high[i] or inner[i]]
    if len(touched) != 1 or inner[touched[0]]:
        return None
    axis = touched[0]
    length = equation.outputs[0].type.shape[axis]
    return axis, low[axis], length - high[axis], length


def meet(first: Equation, second: Equation, known: Known) -> bool:
    """Whether two paddings of one axis leave alive what covers it."""
    a, b = _interval(first, known), _interval(second, known)
    if a is None or b is None or a[0] != b[0]:
        return False
    left, right = sorted((a, b), key=lambda i: i[1])
    return left[1] == 0 and left[2] >= right[1] and max(left[2], right[2]) == a[3]


# ---- concatenate


def _concatenate_infer(*types: ArrayType, axis: int) -> tuple[ArrayType, ...]:
    first = types[0].shape
    before, behind, total = first[:axis], first[axis + 1 :], 0
    for t in types:  # a gradient of a thousand elements joins a thousand parts
        s = t.shape
        if s[:axis] != before or s[axis + 1 :] != behind:
            raise ShapeMismatchError(f"cannot join arrays of shapes {', '.join(str(t.shape) for t in types)} along axis {axis}")
        total += s[axis]
    return (array_type((*before, total, *behind), types[0].dtype),)


def _concatenate_jvp(transform: Transform, xs: Values, ts: Tangents, axis: int) -> Pushed:
    out = concatenate(*xs, axis=axis)
    return [out], [concatenate(*[zeros_of(x.type) if t is None else t for x, t in zip(xs, ts, strict=True)], axis=axis)]


def _offsets(types: Sequence[ArrayType], axis: int) -> list[int]:
    return [0, *itertools.accumulate(t.shape[axis] for t in types)]


def part(x: Value, axis: int, begin: int, end: int) -> Value:
    """x[..., begin:end, ...] along an axis."""
    shape = x.type.shape
    size = (*shape[:axis], end - begin, *shape[axis + 1 :])
    if isinstance(x, Literal):
        return spread_literal(x, size)
    start = tuple(begin if i == axis else 0 for i in range(len(shape)))
    return slice_(x, start=start, size=size, step=(1,) * len(shape))


def _concatenate_transpose(transform: Transform, cts: Values, xs: Tangents, types: Types, axis: int) -> Pulled:
    offsets = _offsets(types, axis)
    return [part(cts[0], axis, offsets[i], offsets[i + 1]) if x is None else None for i, x in enumerate(xs)]


def _concatenate_batch(transform: Transform, xs: Values, mapped: Flags, size: int, axis: int) -> Batched:
    return [concatenate(*aligned(xs, mapped, size), axis=axis + 1)], [True]


def _concatenate_index(out: Sequence[str], shapes: Sequence[Sequence[str]], out_shape: Sequence[str], axis: str) -> Pieces:
    place, begin = int(axis), "0"
    pieces: Pieces = []
    for i, s in enumerate(shapes):
        end = _plus(begin, s[place])
        texts = [f"({o} - {begin})" if k == place and begin != "0" else o for k, o in enumerate(out)]
        pieces.append((f"({out[place]} < {end})" if i < len(shapes) - 1 else None, i, texts))
        begin = end
    return pieces


def _has_zero_part(equation: Equation, known: Known) -> bool:
    return any(a in known or (isinstance(a, Literal) and a.is_zero()) for a in equation.inputs)


def _concatenate_inward(times: Rule, inputs: Values, p: Value, axis: int) -> Value:
    offsets = _offsets([x.type for x in inputs], axis)
    return concatenate(*[times(x, part(p, axis, offsets[i], offsets[i + 1])) for i, x in enumerate(inputs)], axis=axis)


concatenate: Primitive = Primitive(
    name="concatenate",
    numpy=lambda *xs, axis: np.concatenate(xs, axis),
    infer=_concatenate_infer,
    jvp=_concatenate_jvp,
    transpose=_concatenate_transpose,
    batch=_concatenate_batch,
    kernel=View(_concatenate_index, joins=True),
    kind="join",
    examples=lambda: [
        ([_data(2, 3), -_data(1, 3)], {"axis": 0}),
        ([_data(2, 1), _data(2, 2), _data(2, 1)], {"axis": 1}),
        ([_data(0), _data(2)], {"axis": 0}),
    ],
    structural=_has_zero_part,
    inward=_concatenate_inward,
    note="joins along `axis`",
)
concatenate.alive = concatenate
