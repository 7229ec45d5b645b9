"""NumPy's ufuncs and Python's operators on traced values.

Which primitive a ufunc means, and how its operands are treated, is read from the primitives' declarations (`Spelling`); what is written here are
ufuncs made of other primitives.  The loop dtypes come from NumPy itself (`ufunc.resolve_dtypes`), with weak scalars as Python types.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from functad._core.primitive import REGISTRY, Primitive, Spelling
from functad._core.program import Literal
from functad._core.recorder import Door, binary, record, unary
from functad._core.tracer import Tracer, install
from functad._core.types import DTYPE_CODES, SCALAR_TYPES, array_type
from functad._numpy.dispatch import DOORS, PLAIN_CALLS, record_call, refuse
from functad._numpy.promote import as_bool, broadcast_shapes, broadcast_to, cast, operand, weak_kind
from functad._primitives import elementwise as e
from functad._primitives import logic, parts
from functad.errors import UnsupportedArgumentError

__all__ = ["UFUNCS", "apply_ufunc", "declare", "spell"]


def _times(factor: float) -> Callable[..., Any]:
    return lambda x: e.mul(x, Literal(factor, x.type))


_WEAK = Spelling(keeps_weak=True)
_COMPOSED: dict[np.ufunc, tuple[Callable[..., Any], Spelling]] = {
    np.positive: (lambda x: x, _WEAK), np.square: (e.square, Spelling()),
    np.conjugate: (lambda x: logic.conj(x) if x.type.dtype.kind == "c" else x, Spelling()),
    np.deg2rad: (_times(np.pi / 180), Spelling()), np.radians: (_times(np.pi / 180), Spelling()),
    np.rad2deg: (_times(180 / np.pi), Spelling()), np.degrees: (_times(180 / np.pi), Spelling()),
    np.divmod: (lambda x, y: (e.floor_divide(x, y), e.remainder(x, y)), Spelling()),
    np.modf: (lambda x: (parts.fraction(x), e.trunc(x)), Spelling()), np.frexp: (lambda x: (parts.mantissa(x), parts.exponent(x)), Spelling()),
}  # fmt: skip

UFUNCS: dict[np.ufunc, Primitive | Callable[..., Any]] = {}
_SPELLINGS: dict[np.ufunc, Spelling] = {}
_ON_BOOLEANS: dict[np.ufunc, Primitive] = {}


def apply_ufunc(ufunc: np.ufunc, *xs: Any, dtype: Any = None) -> Any:
    """The ufunc on operands of an implementation, with NumPy's promotion and broadcasting."""
    given = [operand(x) for x in xs]
    shape = broadcast_shapes(*[x.type.shape for x in given])
    op, spelling = UFUNCS[ufunc], _SPELLINGS[ufunc]
    if spelling.as_booleans:
        return op(*[broadcast_to(as_bool(x), shape) for x in given])
    if spelling.of_integers is not None and given[0].type.dtype.kind in "iub":
        return Literal(spelling.of_integers, array_type(shape, np.bool_))
    if spelling.compares and {x.type.dtype.kind for x in given} <= set("iu") and sum(x.type.weak for x in given) == 1:
        x, y = [broadcast_to(x, shape) for x in given]
        return _compared(ufunc, x, y, 1 if given[1].type.weak else 0)
    try:
        dtypes = _loop_dtypes(ufunc, given, dtype)
    except TypeError as error:
        raise UnsupportedArgumentError(f"np.{ufunc.__name__} of {', '.join(repr(x.type) for x in given)}: {error}") from None
    if dtypes[-1] == np.bool_:  # half precision, in which NumPy tests small integers, would not show
        dtypes = tuple(np.dtype(np.float32) if d == np.float16 else d for d in dtypes)
    if dtypes[0] == np.bool_ and ufunc in _ON_BOOLEANS:
        op = _ON_BOOLEANS[ufunc]
    if any(d.char not in DTYPE_CODES for d in dtypes):
        d = next(d for d in dtypes if d.char not in DTYPE_CODES)
        raise UnsupportedArgumentError(f"np.{ufunc.__name__} would compute in {d}: traced values have bool, integer, float32/64 or complex dtypes")
    out = op(*[broadcast_to(cast(x, d), shape) for x, d in zip(given, dtypes, strict=False)])
    if spelling.keeps_weak and all(x.type.weak for x in given) and isinstance(out, Tracer):
        out = _weakened(out)
    return out


def _compared(ufunc: np.ufunc, x: Any, y: Any, weak: int) -> Any:
    """An integer array compared with a Python integer, which need not fit its dtype (NumPy, since 2.0)."""
    op: Any = UFUNCS[ufunc]
    number, dtype = (y, x.type.dtype) if weak else (x, y.type.dtype)
    if dtype != np.uint64:
        return op(cast(x, np.int64), cast(y, np.int64))
    below = logic.less(number, Literal(0, number.type))
    beyond = Literal(bool(ufunc(1, -1) if weak else ufunc(-1, 1)), below.type)
    return logic.select(below, beyond, op(*[v if v.type.dtype == dtype else logic.convert(v, dtype=dtype) for v in (x, y)]))


def _loop_dtypes(ufunc: np.ufunc, given: list[Any], dtype: Any) -> tuple[np.dtype[Any], ...]:
    kinds = [weak_kind(x.type) for x in given]
    kinds = [np.dtype(bool) if k is bool else k for k in kinds]
    if len(kinds) == 1 and isinstance(kinds[0], type):
        kinds = [given[0].type.dtype]
    if all(isinstance(k, type) for k in kinds):
        kinds = [x.type.dtype for x in given]
    asked: dict[str, Any] = {} if dtype is None else {"signature": (*[None] * ufunc.nin, np.dtype(dtype))}
    return ufunc.resolve_dtypes((*kinds, *[None] * ufunc.nout), **asked)


def _weakened(out: Tracer) -> Tracer:
    """The result of Python scalars alone: its variable, just bound, is marked weak."""
    if not isinstance(out.atom, Literal) and out.type.shape == ():
        out.atom.type = array_type((), out.type.dtype, out.type.dtype.kind in "fci")
    return out


_DOORS: dict[np.ufunc, Door] = {}
_OPERANDS = "xyzu"  # what the operands of a ufunc are called


def declare(ufunc: np.ufunc, op: Primitive | Callable[..., Any], spelling: Spelling) -> None:
    """Give a ufunc its door."""
    UFUNCS[ufunc], _SPELLINGS[ufunc] = op, spelling
    door = _DOORS[ufunc] = Door(ufunc.__name__, lambda *xs: apply_ufunc(ufunc, *xs))

    def with_keywords(*xs: Any, where: Any = True, dtype: Any = None) -> Any:
        out = apply_ufunc(ufunc, *xs, dtype=dtype)
        if where is not True:
            if ufunc.nout > 1:
                refuse(ufunc.__name__, "where", where)
            # NumPy leaves the other elements uninitialised; zero is one of the values they may have
            condition = broadcast_to(as_bool(where), out.type.shape)
            out = logic.select(condition, out, Literal(0, out.type))
        return out

    keyword_door = Door(ufunc.__name__, with_keywords)
    names = [*_OPERANDS[: ufunc.nin], "where", "dtype"]
    data = frozenset([*_OPERANDS[: ufunc.nin], "where"])

    def call(*xs: Any, **kwargs: Any) -> Any:
        if not kwargs:
            if len(xs) == 2 and ufunc.nin == 2:
                if ufunc.nout > 1:
                    return record(door, None, xs, None)
                return power(*xs) if ufunc is np.power else binary(door, *xs)
            if len(xs) == 1 and ufunc.nin == 1:
                return unary(door, xs[0]) if type(xs[0]) is Tracer else record(door, None, xs, None)
        kwargs = {k: v for k, v in kwargs.items() if k != "out" and not (k in ("order", "subok", "casting") and v in ("K", True, "same_kind"))}
        for k, v in kwargs.items():
            if k not in ("where", "dtype"):
                refuse(ufunc.__name__, k, v)
        if len(xs) != ufunc.nin:
            raise TypeError(f"{ufunc.__name__}() takes {ufunc.nin} positional arguments but {len(xs)} were given")
        if kwargs.get("dtype") is not None:
            kwargs["dtype"] = np.dtype(kwargs["dtype"])
        return record_call(keyword_door, names, data, frozenset(), xs, kwargs)

    call.__name__ = ufunc.__name__
    DOORS[ufunc] = call
    if ufunc is not np.power and ufunc.nin <= 2 and ufunc.nout == 1:  # the exponent of a power decides what is recorded
        PLAIN_CALLS[ufunc] = door


def spell(op: Primitive) -> None:
    """Give an elementwise primitive the ufuncs that its declaration names."""
    assert op.spelling is not None, op
    for i, ufunc in enumerate(op.spelling.ufuncs):
        declare(ufunc, op, op.spelling if i == 0 else replace(op.spelling, keeps_weak=False))
    _ON_BOOLEANS.update(dict.fromkeys(op.spelling.on_booleans, op))


for _op in REGISTRY.values():
    if _op.kind == "elementwise" and _op.spelling is not None:
        spell(_op)
for _ufunc, (_function, _spelling) in _COMPOSED.items():
    declare(_ufunc, _function, _spelling)

# ---- powers: a scalar exponent that is a number in the source is a parameter of the program


def _power_static(x: Any, exponent: tuple[Any, type]) -> Any:
    value, kind = exponent
    x = operand(x)
    weak = x.type.weak and kind in (int, float)
    dtype = _loop_dtypes(np.power, [x, Literal(value, SCALAR_TYPES[kind])], None)[0]
    if dtype.kind in "iu" and value < 0:
        raise UnsupportedArgumentError("integers to negative integer powers are not allowed: use a float exponent or base")
    if not isinstance(value, complex) and not np.isfinite(value):
        return apply_ufunc(np.power, x, value)
    if isinstance(value, complex) or dtype.kind == "b":
        return apply_ufunc(np.power, x, value)
    base = cast(x, dtype)
    if isinstance(base, Literal):
        return apply_ufunc(np.power, x, value)
    out = e.power_static(base, exponent=(int(value) if kind is bool else value, int if kind is bool else kind))
    return _weakened(out) if weak else out


_POWER_STATIC = Door("power", _power_static)
_PLAIN_EXPONENTS = {int, float, bool}


def power(x: Any, y: Any) -> Any:
    """x ** y."""
    kind = type(y)
    if type(x) is Tracer:
        if kind in _PLAIN_EXPONENTS:
            return unary(_POWER_STATIC, x, (y, kind)) if y == y else binary(_DOORS[np.power], x, y)
        if kind is np.float64 or kind is np.int64:
            if x.type.weak or x.type.dtype not in (np.float64, np.complex128):
                return binary(_DOORS[np.power], x, y)
            return unary(_POWER_STATIC, x, (y.item(), type(y.item())))
    return binary(_DOORS[np.power], x, y)


# ---- operators


def _operator(name: str, ufunc: np.ufunc) -> None:
    door = _DOORS[ufunc]
    install(f"__{name}__", lambda self, other: binary(door, self, other))
    install(f"__r{name}__", lambda self, other: binary(door, other, self))


for _name, _ufunc in dict(
    add=np.add, sub=np.subtract, mul=np.multiply, truediv=np.true_divide, floordiv=np.floor_divide, mod=np.remainder, xor=np.bitwise_xor
).items():
    _operator(_name, _ufunc)
_operator("lshift", np.left_shift)
_operator("rshift", np.right_shift)
_operator("and", np.bitwise_and)
_operator("or", np.bitwise_or)
for _name, _ufunc in dict(lt=np.less, le=np.less_equal, gt=np.greater, ge=np.greater_equal, eq=np.equal, ne=np.not_equal).items():
    install(f"__{_name}__", lambda self, other, door=_DOORS[_ufunc]: binary(door, self, other))
for _name, _ufunc in dict(neg=np.negative, abs=np.absolute, invert=np.invert).items():
    install(f"__{_name}__", lambda self, door=_DOORS[_ufunc]: unary(door, self))
install("__pos__", lambda self, door=_DOORS[np.positive]: unary(door, self))
install("__pow__", power)
install("__rpow__", lambda self, other: binary(_DOORS[np.power], other, self))
install("__divmod__", lambda self, other: (self // other, self % other))
install("__rdivmod__", lambda self, other: (other // self, other % self))

# Methods named after the ufuncs: NumPy calls them on the elements of an object array, `np.sin(np.array([x, y]))`.
for _ufunc in UFUNCS:
    if _ufunc.nin == 1 and _ufunc.__name__ not in ("positive", "negative", "absolute"):
        install(_ufunc.__name__, lambda self, door=_DOORS[_ufunc]: unary(door, self))
for _name, _ufunc in dict(arctan2=np.arctan2, hypot=np.hypot, logaddexp=np.logaddexp, fmod=np.fmod).items():
    install(_name, lambda self, other, door=_DOORS[_ufunc]: binary(door, self, other))
