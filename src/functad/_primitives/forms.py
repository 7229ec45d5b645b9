"""Values spelt by hand whose derivatives must not be: identities that carry a better derivative.

Each takes the value as the user's own operations computed it (its first input, kept to the last bit) and the quantities that the form depends on;
its derivative is that of the function the user meant, so that nothing meets `0 * inf` where the spelling saturates.  They are put into
programs by `_transforms.forms`, and `simplify` drops them again.
"""

from collections.abc import Sequence

import numpy as np

from functad._core.primitive import Expression, Primitive
from functad._core.types import ArrayType, array_type
from functad._primitives.arithmetic import add, div, elementwise, mask, mul, neg, over, reciprocal, scale, sub
from functad._primitives.elementwise import cosh, exp, power_static, tanh
from functad._primitives.logic import equal, not_equal, select, stop_gradient
from functad._primitives.operands import Shape, Value, constant, ones_like
from functad._primitives.reduce import reduce_max, reduce_sum, widened
from functad._primitives.rules import NOT_LINEAR, Batched, Flags, Inferred, Pushed, Rule, Tangents, Transform, Values
from functad._primitives.shape import aligned

__all__ = [
    "even_power_of_root", "inverse_cosh", "log_of_offset_exponential", "log_sum_exp", "offset_exponential_quotient", "root_by_power",
]  # fmt: skip


def _identity(name: str, tangents: Sequence[Rule | None], note: str) -> Primitive:
    return elementwise(
        name, lambda out, *xs, **params: np.array(out)[()], tangents, "{0}", dtype=lambda out, *xs, **params: out, examples=list, identity=True,
        note=note,
    )  # fmt: skip


def _share_of_exponential(offset: Value, u: Value) -> Value:
    """exp(u) / (offset + exp(u)) for any u: (1/offset) / (1/offset + exp(-u)), itself of this form; 1 where the offset is 0."""
    zero = equal(offset, constant(0, offset))
    ratio = reciprocal(select(zero, ones_like(offset), offset))
    share = div(ratio, add(ratio, exp(neg(u))))
    return select(zero, ones_like(offset), offset_exponential_quotient(share, ratio, ratio, neg(u)))


offset_exponential_quotient: Primitive = _identity(
    "offset_exponential_quotient",
    [
        None,
        lambda t, y, out, c, d, u: over(t, add(d, exp(u))),
        lambda t, y, out, c, d, u: neg(scale(over(t, add(d, exp(u))), out)),
        lambda t, y, out, c, d, u: neg(scale(t, mul(out, _share_of_exponential(d, u)))),
    ],
    "c / (d + exp(u)), the sigmoid at c = d = 1 and u = -x",
)
log_of_offset_exponential: Primitive = _identity(
    "log_of_offset_exponential",
    [
        None,
        lambda t, y, out, d, u: over(t, add(d, exp(u))),
        lambda t, y, out, d, u: scale(t, _share_of_exponential(d, u)),
    ],
    "log(d + exp(u)), the softplus at d = 1",
)
inverse_cosh: Primitive = _identity(
    "inverse_cosh",
    [
        None,
        lambda t, y, out, c, u, exponent: over(t, _cosh_power(u, exponent)),
        lambda t, y, out, c, u, exponent: neg(scale(t, mul(constant(exponent[0], u), mul(y, tanh(u))))),
    ],
    "c / cosh(u)**exponent",
)


def _cosh_power(u: Value, exponent: tuple[complex, type]) -> Value:
    return cosh(u) if exponent[0] == 1 else power_static(cosh(u), exponent=exponent)


def _half_power_tangent(t: Value, y: Value, out: Value, s: Value, exponent: tuple[int, type]) -> Value:
    half = exponent[0] // 2
    if half == 1:
        return t
    return scale(t, mul(constant(half, s), power_static(s, exponent=(half - 1, exponent[1]))))


even_power_of_root: Primitive = _identity(
    "even_power_of_root",
    [None, _half_power_tangent],
    "sqrt(s)**exponent for an even whole exponent: the derivative of s**(exponent/2), smooth at 0",
)


root_by_power: Primitive = _identity(
    "root_by_power",
    [None, lambda t, y, out, s: mask(not_equal(y, constant(0, y)), over(mul(t, constant(0.5, t)), y))],
    "s**0.5 of a sum of squares: its derivative at 0 is the subgradient 0",
)


# ---- log(sum(exp(u))): the input has more axes than the value


def _log_sum_exp_infer(out: ArrayType, u: ArrayType, axes: Shape) -> Inferred:
    return (array_type(out.shape, out.dtype),)


def _log_sum_exp_jvp(transform: Transform, xs: Values, ts: Tangents, axes: Shape) -> Pushed:
    out, u = xs
    assert ts[1] is not None  # what depends on an active input does so through u
    y = log_sum_exp(out, u, axes=axes)
    shifted = exp(sub(u, widened(stop_gradient(reduce_max(u, axes=axes)), u.type.shape, axes)))
    share = div(shifted, widened(reduce_sum(shifted, axes=axes), u.type.shape, axes))
    return [y], [reduce_sum(scale(ts[1], share), axes=axes)]


def _log_sum_exp_batch(transform: Transform, xs: Values, mapped: Flags, size: int, axes: Shape) -> Batched:
    return [log_sum_exp(*aligned(xs, mapped, size), axes=tuple(a + 1 for a in axes))], [True]


log_sum_exp: Primitive = Primitive(
    name="log_sum_exp",
    numpy=lambda out, u, axes: np.array(out)[()],
    infer=_log_sum_exp_infer,
    jvp=_log_sum_exp_jvp,
    transpose=NOT_LINEAR,
    batch=_log_sum_exp_batch,
    kernel=Expression(lambda codes, out, x, *rest, **params: x, 0.0),
    kind="form",
    examples=list,
    identity=True,
    note="log(sum(exp(u))) over `axes`: its derivative is the softmax",
)
