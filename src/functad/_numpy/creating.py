"""Arrays like others, ranges with traced ends, choices between arrays, casts, and the parts of complex numbers."""

import numpy as np

from functad._core.program import Literal
from functad._core.types import array_type
from functad._numpy.arguments import NO_VALUE, DTypeLike, Operand, Result, axis_of, given
from functad._numpy.dispatch import DOORS, implements, refuse
from functad._numpy.promote import as_array, as_bool, broadcast_shapes, broadcast_to, cast, known_dtype, operand, promote, result_dtype
from functad._numpy.shaping import transposed
from functad._numpy.ufuncs import apply_ufunc
from functad._primitives import elementwise as e
from functad._primitives import logic
from functad._primitives.index import iota

__all__ = ["as_type"]

# ---- like others


def _like(x: Operand, dtype: DTypeLike, shape: Operand) -> Result:
    kind = operand(x).type
    wanted = kind.shape if shape is None else tuple(shape) if isinstance(shape, (tuple, list)) else (int(shape),)
    return array_type(tuple(int(n) for n in wanted), kind.dtype if dtype is None else known_dtype(dtype))


def _laid_out(function: str, order: Operand, ndim: int, device: object = None) -> None:
    """Refuse the layouts and devices that results do not have."""
    if order not in ("C", "F", "A", "K"):
        raise ValueError(f"order must be one of 'C', 'F', 'A', or 'K' (got {order!r})")
    if order == "F" and ndim > 1:
        refuse(function, "order", order, "results lie in memory as 'C' says")
    if device not in (None, "cpu"):
        refuse(function, "device", device, "there is but the CPU")


def _filled_like(function: Operand, value: Operand) -> None:
    def implementation(
        a: Operand, dtype: DTypeLike = None, order: str = "K", subok: bool = True, shape: Operand = None, *, device: object = None
    ) -> Result:
        kind = _like(a, dtype, shape)
        _laid_out(function.__name__, order, kind.ndim, device)
        return Literal(value, kind)

    implements(function, numeric=("a",), structural=("shape",))(implementation)


_filled_like(np.zeros_like, 0)
_filled_like(np.ones_like, 1)
_filled_like(np.empty_like, 0)  # uninitialised in NumPy: zero is one of the values it may have


@implements(np.full_like, numeric=("a", "fill_value"), structural=("shape",))
def full_like(
    a: Operand, fill_value: Operand, dtype: DTypeLike = None, order: str = "K", subok: bool = True, shape: Operand = None, *, device: object = None
) -> Result:
    kind = _like(a, dtype, shape)
    _laid_out("full_like", order, kind.ndim, device)
    return broadcast_to(cast(fill_value, kind.dtype), kind.shape)


@implements(np.copy, numeric=("a",))
def copy(a: Operand, order: str = "K", subok: bool = False) -> Result:
    _laid_out("copy", order, operand(a).type.ndim)
    return operand(a)


# ---- ranges


def _between(start: Operand, stop: Operand, num: int, endpoint: bool, dtype: DTypeLike, axis: int) -> tuple[Result, Result]:
    """(samples, step), as NumPy computes them: count * step + start, and the end itself last."""
    if num < 0:
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
    begin, end = operand(start), operand(stop)
    wide = result_dtype(begin, end, float(num))
    begin, end = promote(begin, end, dtype=wide)
    lead = begin.type.shape
    divisions = num - 1 if endpoint else num
    width = apply_ufunc(np.subtract, end, begin)
    step = apply_ufunc(np.true_divide, width, divisions) if divisions > 0 else Literal(np.nan, width.type)
    shape = (num, *lead)
    counts = cast(iota(shape=shape, axis=0, dtype=np.dtype(np.int64)), wide)
    grown = broadcast_to(step if divisions > 0 else width, shape)
    out = e.add(e.mul(counts, grown), broadcast_to(begin, shape))
    if endpoint and num > 1:
        last = apply_ufunc(np.equal, iota(shape=shape, axis=0, dtype=np.dtype(np.int64)), num - 1)
        out = logic.select(last, broadcast_to(end, shape), out)
    if dtype is not None:
        if np.issubdtype(dtype, np.integer):
            out = apply_ufunc(np.floor, out)
        out = cast(out, dtype)
    axis = axis_of(axis, len(shape))
    if axis:
        out = transposed(out, [*range(1, axis + 1), 0, *range(axis + 1, len(shape))])
    return out, step


@implements(np.linspace, numeric=("start", "stop"), structural=("num", "axis"))
def linspace(
    start: Operand, stop: Operand, num: int = 50, endpoint: bool = True, retstep: bool = False, dtype: DTypeLike = None, axis: int = 0, *,
    device: object = None,
) -> Result:  # fmt: skip
    _laid_out("linspace", "C", 0, device)
    out, step = _between(start, stop, num, endpoint, dtype, axis)
    return (out, step) if retstep else out


@implements(np.logspace, numeric=("start", "stop", "base"), structural=("num", "axis"))
def logspace(
    start: Operand, stop: Operand, num: int = 50, endpoint: bool = True, base: Operand = 10.0, dtype: DTypeLike = None, axis: int = 0
) -> Result:
    if operand(base).type.ndim:
        refuse("logspace", "base", base, "give one number")
    out = apply_ufunc(np.power, base, _between(start, stop, num, endpoint, None, axis)[0])
    return out if dtype is None else cast(out, dtype)


# ---- choices


@implements(np.where, numeric=("condition", "x", "y"))
def _where(condition: Operand, x: Operand, y: Operand) -> Result:
    condition = as_bool(condition)
    x, y = promote(x, y)
    shape = broadcast_shapes(condition.type.shape, x.type.shape)
    return logic.select(broadcast_to(condition, shape), broadcast_to(x, shape), broadcast_to(y, shape))


def _where_or_nonzero(condition: Operand, *branches: Operand, **kwargs: Operand) -> Result:
    if not branches and not kwargs:
        return DOORS[np.nonzero](condition)
    if len(branches) + len(kwargs) != 2:
        raise ValueError("either both or neither of x and y should be given")
    return _where(condition, *branches, **kwargs)


DOORS[np.where] = _where_or_nonzero


@implements(np.select, numeric=("condlist", "choicelist", "default"))
def select(condlist: Operand, choicelist: Operand, default: Operand = 0) -> Result:
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    choices = promote(*choicelist, default)
    conditions = [operand(c) for c in condlist]
    if any(c.type.dtype.kind != "b" for c in conditions):
        raise TypeError("invalid entry in condlist: should be boolean ndarray")
    shape = broadcast_shapes(choices[0].type.shape, *[c.type.shape for c in conditions])
    out = broadcast_to(choices[-1], shape)
    for condition, choice in zip(conditions[::-1], choices[-2::-1], strict=True):
        out = logic.select(broadcast_to(condition, shape), broadcast_to(choice, shape), out)
    return out


def _piecewise(x: Operand, condlist: Operand, funclist: Operand, *args: Operand, **kw: Operand) -> Result:
    """Each function sees the whole of x; where decides, so that what is not taken leaves no trace in a derivative."""
    conditions = list(condlist) if isinstance(condlist, (list, tuple)) else [condlist]
    if len(funclist) not in (len(conditions), len(conditions) + 1):
        raise ValueError(f"with {len(conditions)} condition(s), either {len(conditions)} or {len(conditions) + 1} functions are expected")
    values = [f(x, *args, **kw) if callable(f) else f for f in funclist]
    out: Result = values.pop() if len(values) > len(conditions) else 0
    out = np.zeros_like(x) + out
    for condition, value in zip(conditions, values, strict=True):  # the last condition that holds decides
        out = np.where(condition, value, out)
    return out.astype(x.dtype)


DOORS[np.piecewise] = _piecewise


@implements(np.clip, numeric=("a", "a_min", "a_max", "min", "max"))
def clip(
    a: Operand, a_min: Operand = NO_VALUE, a_max: Operand = NO_VALUE, out: object = None, *, min: Operand = NO_VALUE, max: Operand = NO_VALUE,
    **kwargs: object,
) -> Result:  # fmt: skip
    for name, value in kwargs.items():
        refuse("clip", name, value)
    if (a_min is NO_VALUE) != (a_max is NO_VALUE):
        raise TypeError(f"clip() missing 1 required positional argument: '{'a_min' if a_min is NO_VALUE else 'a_max'}'")
    if a_min is not NO_VALUE and (min is not NO_VALUE or max is not NO_VALUE):
        raise ValueError("Passing `min` or `max` keyword argument when `a_min` and `a_max` are provided is forbidden.")
    low, high = a_min if given(a_min) else min, a_max if given(a_max) else max
    bounds = [b for b in (low, high) if given(b)]
    x, *limits = promote(a, *bounds)
    if given(low):
        x = apply_ufunc(np.maximum, x, limits[0])
    return apply_ufunc(np.minimum, x, limits[-1]) if given(high) else x


@implements(np.nan_to_num, numeric=("x", "nan", "posinf", "neginf"))
def nan_to_num(x: Operand, copy: bool = True, nan: Operand = 0.0, posinf: Operand = None, neginf: Operand = None) -> Result:
    if copy is False:
        refuse("nan_to_num", "copy", copy)
    return _replaced(operand(x), nan, posinf, neginf)


def _replaced(x: Operand, nan: Operand, posinf: Operand, neginf: Operand) -> Result:
    kind = x.type.dtype.kind
    if kind not in "fc":
        return x
    if kind == "c":
        return logic.make_complex(*[_replaced(p(x), nan, posinf, neginf) for p in (logic.real, logic.imag)])
    limits = np.finfo(x.type.dtype)
    high, low = (limits.max if posinf is None else posinf), (limits.min if neginf is None else neginf)
    infinite = Literal(np.inf, x.type)
    out = logic.select(logic.isnan(x), broadcast_to(cast(nan, x.type.dtype), x.type.shape), x)
    out = logic.select(logic.equal(x, infinite), broadcast_to(cast(high, x.type.dtype), x.type.shape), out)
    return logic.select(logic.equal(x, Literal(-np.inf, x.type)), broadcast_to(cast(low, x.type.dtype), x.type.shape), out)


# ---- rounding and casts


@implements(np.round, np.around, numeric=("a",), structural=("decimals",), method="round")
def round_(a: Operand, decimals: int = 0, out: object = None) -> Result:
    return _rounded(operand(a), decimals)


def _rounded(x: Operand, decimals: int) -> Result:
    kind = x.type.dtype.kind
    if kind == "c":
        return logic.make_complex(*[_rounded(p(x), decimals) for p in (logic.real, logic.imag)])
    if kind != "f":
        if decimals < 0 or kind == "b":
            refuse("round", "decimals", decimals, f"for {x.type.dtype}")
        return x
    factor = Literal(10.0 ** abs(decimals), x.type)
    if decimals == 0:
        return e.rint(x)
    return e.div(e.rint(e.mul(x, factor)), factor) if decimals > 0 else e.mul(e.rint(e.div(x, factor)), factor)


def as_type(x: Operand, dtype: DTypeLike, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True) -> Result:
    """ndarray.astype."""
    x, dtype = operand(x), known_dtype(dtype)
    _laid_out("astype", order, x.type.ndim)
    if not np.can_cast(x.type.dtype, dtype, casting):  # type: ignore[arg-type]  # a string of the user's
        raise TypeError(f"Cannot cast array data from {x.type.dtype!r} to {dtype!r} according to the rule {casting!r}")
    return as_array(cast(x, dtype))


if hasattr(np, "astype"):

    @implements(np.astype, numeric=("x",))
    def astype(x: Operand, dtype: DTypeLike, /, *, copy: bool = True, device: object = None) -> Result:
        _laid_out("astype", "K", 0, device)
        return as_type(x, dtype)


# ---- parts of complex numbers


@implements(np.real, numeric=("val",), view=True)
def real(val: Operand) -> Result:
    x = operand(val)
    return logic.real(x) if x.type.dtype.kind == "c" else x


@implements(np.imag, numeric=("val",), view=True)
def imag(val: Operand) -> Result:
    x = operand(val)
    return logic.imag(x) if x.type.dtype.kind == "c" else Literal(0, x.type)


@implements(np.angle, numeric=("z",))
def angle(z: Operand, deg: bool = False) -> Result:
    x = operand(z)
    if x.type.dtype.kind == "c":
        out = e.arctan2(logic.imag(x), logic.real(x))
    else:
        out = apply_ufunc(np.arctan2, Literal(0, x.type), x)
    return e.mul(out, Literal(180 / np.pi, out.type)) if deg else out


@implements(np.real_if_close, numeric=("a",))
def real_if_close(a: Operand, tol: float = 100) -> Result:
    x = operand(a)
    if x.type.dtype.kind == "c":
        refuse("real_if_close", "a", x.type, "whether it becomes real depends on values: use np.real")
    return x
