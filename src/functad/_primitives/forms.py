"""Values spelt by hand whose derivatives must not be: identities that carry a better derivative.

Each takes the value as the user's own operations computed it (its first input, kept to the last bit) and the quantities that the form depends on;
its derivative is that of the function the user meant, so that nothing meets `0 * inf` where the spelling saturates.  They are put into
programs by `_transforms.forms`, and `simplify` drops them again.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from functad._core.primitive import Expression, Missing, Primitive
from functad._core.types import ArrayType, array_type
from functad._primitives.elementwise import add, div, exp, neg, power_static, reciprocal, sub, tanh
from functad._primitives.kinds import constant, elementwise, ones_like
from functad._primitives.linear import mask, over, scale
from functad._primitives.logic import equal, not_equal, select, stop_gradient
from functad._primitives.reduce import reduce_max, reduce_sum
from functad._primitives.shape import broadcast

__all__ = [
    "even_power_of_root", "inverse_cosh", "log_of_offset_exponential", "log_sum_exp", "offset_exponential_quotient", "root_by_power",
]  # fmt: skip


def _identity(name: str, tangents: Sequence[Callable[..., Any] | None], note: str) -> Primitive:
    count = len(tangents)
    op = elementwise(
        name, lambda out, *xs, **params: np.array(out)[()], tangents, "{0}", dtype=lambda out, *xs, **params: out,
        domain=[(0.5, 2)] * count, kinds="",
        note=note,
    )  # fmt: skip
    op.identity = True
    op.examples = list
    return op


def _share_of_exponential(offset: Any, u: Any) -> Any:
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
        lambda t, y, out, c, d, u: neg(scale(t, _times(out, _share_of_exponential(d, u)))),
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
        lambda t, y, out, c, u, exponent: neg(scale(t, _times(constant(exponent[0], u), _times(y, tanh(u))))),
    ],
    "c / cosh(u)**exponent",
)


def _cosh_power(u: Any, exponent: tuple[Any, type]) -> Any:
    from functad._primitives.elementwise import cosh

    return cosh(u) if exponent[0] == 1 else power_static(cosh(u), exponent=exponent)


def _times(x: Any, y: Any) -> Any:
    from functad._primitives.elementwise import mul

    return mul(x, y)


def _half_power_tangent(t: Any, y: Any, out: Any, s: Any, exponent: tuple[Any, type]) -> Any:
    half = exponent[0] // 2
    if half == 1:
        return t
    return scale(t, _times(constant(half, s), power_static(s, exponent=(half - 1, exponent[1]))))


even_power_of_root: Primitive = _identity(
    "even_power_of_root",
    [None, _half_power_tangent],
    "sqrt(s)**exponent for an even whole exponent: the derivative of s**(exponent/2), smooth at 0",
)


root_by_power: Primitive = _identity(
    "root_by_power",
    [None, lambda t, y, out, s: mask(not_equal(y, constant(0, y)), over(_times(t, constant(0.5, t)), y))],
    "s**0.5 of a sum of squares: its derivative at 0 is the subgradient 0",
)


# ---- log(sum(exp(u))): the input has more axes than the value


def _kept(x: Any, u: Any, axes: tuple[int, ...]) -> Any:
    """x broadcast along the summed axes again."""
    return broadcast(x, shape=u.type.shape, axes=tuple(i for i in range(u.type.ndim) if i not in axes))


def _log_sum_exp_infer(out: ArrayType, u: ArrayType, axes: tuple[int, ...]) -> tuple[ArrayType, ...]:
    return (array_type(out.shape, out.dtype),)


def _log_sum_exp_jvp(transform: Any, xs: Any, ts: Any, axes: tuple[int, ...]) -> Any:
    out, u = xs
    y = log_sum_exp(out, u, axes=axes)
    if ts[1] is None:
        return [y], [None]
    shifted = exp(sub(u, _kept(stop_gradient(reduce_max(u, axes=axes)), u, axes)))
    share = div(shifted, _kept(reduce_sum(shifted, axes=axes), u, axes))
    return [y], [reduce_sum(scale(ts[1], share), axes=axes)]


def _log_sum_exp_batch(transform: Any, xs: Any, mapped: Any, size: int, axes: tuple[int, ...]) -> Any:
    from functad._primitives.kinds import spread

    both = [x if m else spread(x, size) for x, m in zip(xs, mapped, strict=True)]
    return [log_sum_exp(*both, axes=tuple(a + 1 for a in axes))], [True]


log_sum_exp: Primitive = Primitive(
    name="log_sum_exp",
    numpy=lambda out, u, axes: np.array(out)[()],
    infer=_log_sum_exp_infer,
    jvp=_log_sum_exp_jvp,
    transpose=Missing("not linear"),
    batch=_log_sum_exp_batch,
    kernel=Expression(lambda codes, out, x, *rest, **params: x, 0.0),
    kind="form",
    examples=list,
    identity=True,
    note="log(sum(exp(u))) over `axes`: its derivative is the softmax",
)
