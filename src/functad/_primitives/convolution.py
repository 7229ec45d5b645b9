"""Sums of products of one array with another that moves along it: convolution and correlation along the last axis.

`correlate(x, y)` is out[k] = sum of x[k + j - low] y[j], over what there is of x.  It is linear in both; its transposes are correlations again:
in x of the cotangent with y reversed, in y of x with the cotangent.
"""

from typing import Literal

import numpy as np

from functad._core.primitive import Host, Primitive
from functad._core.types import ArrayType, array_type
from functad._primitives.arithmetic import total
from functad._primitives.operands import Array, Example, Value
from functad._primitives.rules import Batched, Flags, Inferred, Pulled, Pushed, Tangents, Transform, Types, Values
from functad._primitives.shape import aligned, flip
from functad.errors import ShapeMismatchError

__all__ = ["correlate"]


def _correlate_numpy(x: Array, y: Array, low: int, high: int) -> Array:
    n, m = x.shape[-1], y.shape[-1]
    size = n + low + high - m + 1
    mode: Literal["valid", "full"] = "valid" if low == high == 0 and n >= m else "full"
    begin = 0 if mode == "valid" else m - 1 - low
    y = np.conj(y) if y.dtype.kind == "c" else y  # NumPy conjugates it back
    out = np.empty((*x.shape[:-1], size), x.dtype)
    for lane in np.ndindex(x.shape[:-1]):
        out[lane] = np.correlate(x[lane], y[lane], mode)[begin : begin + size]
    return out


def _correlate_infer(x: ArrayType, y: ArrayType, low: int, high: int) -> Inferred:
    if x.ndim == 0 or x.shape[:-1] != y.shape[:-1] or x.dtype != y.dtype:
        raise ShapeMismatchError(f"correlate got operands of types {x}, {y}")
    n, m = x.shape[-1], y.shape[-1]
    if n == 0 or m == 0 or not (0 <= low < m and 0 <= high < m) or m > n + min(low, high):  # each sum has a term, and so have the transposes'
        raise ShapeMismatchError(f"correlate of {n} numbers with {m}, {low} in front of them and {high} behind: there is no sum")
    return (array_type((*x.shape[:-1], n + low + high - m + 1), x.dtype),)


def _correlate_jvp(transform: Transform, xs: Values, ts: Tangents, low: int, high: int) -> Pushed:
    x, y = xs
    parts = [
        None if ts[0] is None else correlate(ts[0], y, low=low, high=high),
        None if ts[1] is None else correlate(x, ts[1], low=low, high=high),
    ]
    return [correlate(x, y, low=low, high=high)], [total(parts)]


def _correlate_transpose(transform: Transform, cts: Values, xs: Tangents, types: Types, low: int, high: int) -> Pulled:
    (ct,), (x, y) = cts, xs
    if x is None:
        assert y is not None
        return [correlate(ct, _reversed(y), low=y.type.shape[-1] - 1 - low, high=y.type.shape[-1] - 1 - high), None]
    return [None, correlate(x, ct, low=low, high=high)]


def _reversed(y: Value) -> Value:
    return flip(y, axes=(y.type.ndim - 1,))


def _correlate_batch(transform: Transform, xs: Values, mapped: Flags, size: int, low: int, high: int) -> Batched:
    return [correlate(*aligned(xs, mapped, size), low=low, high=high)], [True]


def _examples() -> list[Example]:
    x, y = np.array([[0.5, -1.5, 2.0, 0.75], [3.0, 0.25, 1.0, -2.0]]), np.array([[1.0, -2.0, 0.5], [0.25, 1.5, -1.0]])
    pairs = [(x, y), (x[0], y[1]), (y[0], x[1])]
    return [([a, b], {"low": low, "high": high}) for a, b in pairs for low, high in ((2, 2), (1, 2))] + [([x, y], {"low": 0, "high": 0})]


correlate: Primitive = Primitive(
    name="correlate", numpy=_correlate_numpy, infer=_correlate_infer, jvp=_correlate_jvp, transpose=_correlate_transpose, batch=_correlate_batch,
    kernel=Host("a library routine in NumPy"), kind="dot", examples=_examples,
    note="out[k] = sum of x[k + j - low] y[j], along the last axis",
)  # fmt: skip
