"""Operations that move elements: broadcast, reshape, transpose, slice, flip, pad, concatenate.

Kernel forms get every size and every whole number among the params as text (a literal 0 or 1, or the name of a kernel argument), so that one kernel
serves all sizes.
"""

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from functad._core.primitive import Primitive, View
from functad._core.program import Literal
from functad._core.types import ArrayType, array_type
from functad._primitives.kinds import linear_view, spread, zeros_of
from functad._primitives.linear import apply, passes_on
from functad.errors import ShapeMismatchError

__all__ = ["broadcast", "concatenate", "flip", "pad", "reshape", "slice_", "transpose"]


def _data(*shape: int) -> np.ndarray[Any, Any]:
    return np.arange(1.0, 1.0 + math.prod(shape)).reshape(shape)


def _shifted(axes: Sequence[int]) -> tuple[int, ...]:
    return tuple(a + 1 for a in axes)


# ---- broadcast: input axis i is output axis axes[i]; a length-1 axis may grow, other output axes are new


def _broadcast_numpy(x: Any, shape: tuple[int, ...], axes: tuple[int, ...]) -> Any:
    if any(a > b for a, b in itertools.pairwise(axes)):  # simplification makes these of a broadcast that is transposed
        order = sorted(range(len(axes)), key=axes.__getitem__)
        x, axes = np.transpose(x, order), tuple(sorted(axes))
    source = [1] * len(shape)
    for n, a in zip(np.shape(x), axes, strict=True):
        source[a] = n
    return np.broadcast_to(np.reshape(x, source), shape)


def _broadcast_shape(s: tuple[int, ...], shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    if len(s) != len(axes) or any(n != shape[a] and n != 1 for n, a in zip(s, axes, strict=True)):
        raise ShapeMismatchError(f"an array of shape {s} cannot be broadcast to {shape}")
    return shape


def _broadcast_transpose(ct: Any, kind: ArrayType, shape: tuple[int, ...], axes: tuple[int, ...]) -> Any:
    from functad._primitives.reduce import reduce_sum

    kept = [a for n, a in zip(kind.shape, axes, strict=True) if n == shape[a]]
    summed = tuple(a for a in range(len(shape)) if a not in kept)
    if summed:
        ct = reduce_sum(ct, axes=summed)
    if kept != sorted(kept):
        ct = transpose(ct, order=tuple(sorted(kept).index(a) for a in kept))
    return ct if ct.type.shape == kind.shape else reshape(ct, shape=kind.shape)


def _broadcast_index(out: Sequence[str], shapes: Any, out_shape: Any, shape: Any, axes: tuple[int, ...]) -> Any:
    return [(None, 0, ["0" if n == "1" else out[int(a)] for n, a in zip(shapes[0], axes, strict=True)])]


broadcast: Primitive = linear_view(
    "broadcast", _broadcast_numpy, _broadcast_shape, _broadcast_transpose,
    lambda x, size, shape, axes: broadcast(x, shape=(size, *shape), axes=(0, *_shifted(axes))), _broadcast_index,
    lambda: [([_data(3)], {"shape": (2, 3), "axes": (1,)}), ([_data(3)], {"shape": (3, 2), "axes": (0,)}),
             ([_data(1, 3)], {"shape": (4, 3), "axes": (0, 1)}),
             ([_data()], {"shape": (2, 2), "axes": ()}), ([_data(2, 3)], {"shape": (3, 4, 2), "axes": (2, 0)})],
    note="input axis i becomes output axis axes[i]",
)  # fmt: skip


# ---- reshape, transpose, flip


def _reshape_shape(s: tuple[int, ...], shape: tuple[int, ...]) -> tuple[int, ...]:
    if math.prod(s) != math.prod(shape):
        raise ShapeMismatchError(f"cannot reshape an array of shape {s} into shape {shape}")
    return shape


def _reshape_index(out: Sequence[str], shapes: Any, out_shape: Any, shape: Any) -> Any:
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
    structural=passes_on,
    inward=lambda op, inputs, p, shape: reshape(apply(op, inputs[0], _reshaped(p, inputs[0].type.shape)), shape=shape),
)  # fmt: skip
reshape.kernel = View(_reshape_index, keeps_order=True)


def _reshaped(p: Any, shape: tuple[int, ...]) -> Any:
    return Literal(p.value, array_type(shape, p.type.dtype)) if isinstance(p, Literal) else reshape(p, shape=shape)


def _inverse(order: Sequence[int]) -> tuple[int, ...]:
    return tuple(int(i) for i in np.argsort(order))


transpose: Primitive = linear_view(
    "transpose", lambda x, order: np.transpose(x, order), lambda s, order: tuple(s[i] for i in order),
    lambda ct, kind, order: transpose(ct, order=_inverse(order)), lambda x, size, order: transpose(x, order=(0, *_shifted(order))),
    lambda out, shapes, out_shape, order: [(None, 0, [out[_inverse([int(o) for o in order])[i]] for i in range(len(order))])],
    lambda: [([_data(2, 3)], {"order": (1, 0)}), ([_data(2, 3, 4)], {"order": (2, 0, 1)}), ([_data(2, 3, 4)], {"order": (0, 2, 1)})],
    structural=passes_on,
    inward=lambda op, inputs, p, order: transpose(apply(op, inputs[0], _untransposed(p, inputs[0], order)), order=order),
)  # fmt: skip


def _untransposed(p: Any, x: Any, order: tuple[int, ...]) -> Any:
    return Literal(p.value, array_type(x.type.shape, p.type.dtype)) if isinstance(p, Literal) else transpose(p, order=_inverse(order))


def _flipped(out: Sequence[str], shape: Sequence[str], axes: Sequence[Any]) -> list[str]:
    turned = [int(a) for a in axes]
    return [f"({shape[i]} - 1 - {o})" if i in turned else o for i, o in enumerate(out)]


flip: Primitive = linear_view(
    "flip", lambda x, axes: np.flip(x, axes), lambda s, axes: s, lambda ct, kind, axes: flip(ct, axes=axes),
    lambda x, size, axes: flip(x, axes=_shifted(axes)),
    lambda out, shapes, out_shape, axes: [(None, 0, _flipped(out, out_shape, axes))],
    lambda: [([_data(2, 3)], {"axes": (0,)}), ([_data(2, 3)], {"axes": (0, 1)})],
    structural=passes_on,
    inward=lambda op, inputs, p, axes: flip(apply(op, inputs[0], p if isinstance(p, Literal) else flip(p, axes=axes)), axes=axes),
)  # fmt: skip


# ---- slice and pad, transposes of each other.  Strides are positive: a negative step is a slice of a flip


def _slice_numpy(x: Any, start: tuple[int, ...], size: tuple[int, ...], step: tuple[int, ...]) -> Any:
    return x[tuple(slice(a, a + (n - 1) * s + 1 if n else a, s) for a, n, s in zip(start, size, step, strict=True))]


def _slice_shape(s: tuple[int, ...], start: tuple[int, ...], size: tuple[int, ...], step: tuple[int, ...]) -> tuple[int, ...]:
    for n, a, m, d in zip(s, start, size, step, strict=True):
        if m and not (a >= 0 and a + (m - 1) * d < n):
            raise ShapeMismatchError(f"a slice reaches beyond an axis of length {n}")
    return size


def _slice_transpose(ct: Any, kind: ArrayType, start: Any, size: Any, step: Any) -> Any:
    ends = [a + (n - 1) * d + 1 if n else a for a, n, d in zip(start, size, step, strict=True)]
    return pad(ct, low=tuple(start), high=tuple(n - e for n, e in zip(kind.shape, ends, strict=True)), inner=tuple(d - 1 for d in step))


def _times(a: str, b: str) -> str:
    return b if a == "1" else (a if b == "1" else f"{a} * {b}")


def _plus(a: str, b: str) -> str:
    if a.isdigit() and b.isdigit():
        return str(int(a) + int(b))
    return b if a == "0" else (a if b == "0" else f"({a} + {b})")


slice_: Primitive = linear_view(
    "slice", _slice_numpy, _slice_shape, _slice_transpose,
    lambda x, n, start, size, step: slice_(x, start=(0, *start), size=(n, *size), step=(1, *step)),
    lambda out, shapes, out_shape, start, size, step: [(None, 0, [_plus(_times(o, d), a) for o, a, d in zip(out, start, step, strict=True)])],
    lambda: [([_data(5)], {"start": (1,), "size": (2,), "step": (2,)}), ([_data(4, 5)], {"start": (0, 2), "size": (4, 3), "step": (1, 1)}),
             ([_data(4)], {"start": (2,), "size": (0,), "step": (1,)})],
)  # fmt: skip


def _pad_numpy(x: Any, low: tuple[int, ...], high: tuple[int, ...], inner: tuple[int, ...]) -> Any:
    shape = _pad_shape(np.shape(x), low, high, inner)
    out = np.zeros(shape, np.asarray(x).dtype)
    out[tuple(slice(a, a + (n - 1) * (d + 1) + 1 if n else a, d + 1) for a, n, d in zip(low, np.shape(x), inner, strict=True))] = x
    return out


def _pad_shape(s: tuple[int, ...], low: tuple[int, ...], high: tuple[int, ...], inner: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(a + n + max(n - 1, 0) * d + b for n, a, b, d in zip(s, low, high, inner, strict=True))


def _inside(p: Any, shape: tuple[int, ...], low: Any, inner: Any) -> Any:
    """What of p lies where the padded array is."""
    if isinstance(p, Literal):
        return Literal(p.value, array_type(shape, p.type.dtype))
    return slice_(p, start=tuple(low), size=tuple(shape), step=tuple(d + 1 for d in inner))


def _pad_index(out: Sequence[str], shapes: Any, out_shape: Any, low: Any, high: Any, inner: Any) -> Any:
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
    inward=lambda op, inputs, p, low, high, inner: pad(
        apply(op, inputs[0], _inside(p, inputs[0].type.shape, low, inner)), low=low, high=high, inner=inner),
    note="with zeros; `inner` zeros between neighbours",
)  # fmt: skip
slice_.structural = passes_on
slice_.inward = lambda op, inputs, p, start, size, step: slice_(
    _sliced_inward(op, inputs[0], p, start, size, step), start=start, size=size, step=step
)


def _sliced_inward(op: Any, t: Any, p: Any, start: Any, size: Any, step: Any) -> Any:
    """Multiply before the slice: the factor is padded with zeros, which meet only what the slice drops."""
    if isinstance(p, Literal):
        return apply(op, t, Literal(p.value, array_type(t.type.shape, p.type.dtype)))
    ends = [a + (n - 1) * d + 1 if n else a for a, n, d in zip(start, size, step, strict=True)]
    high = tuple(n - e for n, e in zip(t.type.shape, ends, strict=True))
    return apply(op, t, pad(p, low=tuple(start), high=high, inner=tuple(d - 1 for d in step)))


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


def _concatenate_jvp(transform: Any, xs: Any, ts: Any, axis: int) -> Any:
    out = concatenate(*xs, axis=axis)
    if all(t is None for t in ts):
        return [out], [None]
    return [out], [concatenate(*[zeros_of(x.type) if t is None else t for x, t in zip(xs, ts, strict=True)], axis=axis)]


def _offsets(types: Sequence[ArrayType], axis: int) -> list[int]:
    return [0, *itertools.accumulate(t.shape[axis] for t in types)]


def _part(x: Any, begin: int, end: int, axis: int) -> Any:
    shape = x.type.shape
    start = tuple(begin if i == axis else 0 for i in range(len(shape)))
    size = tuple(end - begin if i == axis else n for i, n in enumerate(shape))
    if isinstance(x, Literal):
        return Literal(x.value, array_type(size, x.type.dtype))
    return slice_(x, start=start, size=size, step=(1,) * len(shape))


def _concatenate_transpose(transform: Any, cts: Any, xs: Any, types: Any, axis: int) -> Any:
    offsets = _offsets(types, axis)
    return [_part(cts[0], offsets[i], offsets[i + 1], axis) if x is None else None for i, x in enumerate(xs)]


def _concatenate_batch(transform: Any, xs: Any, mapped: Any, size: int, axis: int) -> Any:
    return [concatenate(*[x if m else spread(x, size) for x, m in zip(xs, mapped, strict=True)], axis=axis + 1)], [True]


def _concatenate_index(out: Sequence[str], shapes: Any, out_shape: Any, axis: Any) -> Any:
    axis, begin, pieces = int(axis), "0", []
    for i, s in enumerate(shapes):
        end = _plus(begin, s[axis])
        texts = [f"({o} - {begin})" if k == axis and begin != "0" else o for k, o in enumerate(out)]
        pieces.append((f"({out[axis]} < {end})" if i < len(shapes) - 1 else None, i, texts))
        begin = end
    return pieces


def _has_zero_part(equation: Any, known: Any) -> bool:
    return any(a in known or (isinstance(a, Literal) and a.is_zero()) for a in equation.inputs)


def _concatenate_inward(op: Any, inputs: Any, p: Any, axis: int) -> Any:
    offsets = _offsets([x.type for x in inputs], axis)
    return concatenate(*[apply(op, x, _part(p, offsets[i], offsets[i + 1], axis)) for i, x in enumerate(inputs)], axis=axis)


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
