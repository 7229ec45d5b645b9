"""The one table of helpers: for each name its formula, its libm counterpart, and the kinds it exists for.

The names that emitted source may use are generated from it: `sin` for "f8" and "f4" is `sin_f8` and `sin_f4`.  A
row's formula is used where the processor has a fused multiply-add, else libm's function, or a plain formula over
other rows (measured: without it, the formulas lose both speed and accuracy).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from . import arithmetic, complex_numbers, exponential, inverse, logarithm, portable, special, trigonometric

FLOATS = ("f8", "f4")
SIGNED = ("i8", "i4", "i2", "i1")
INTEGERS = (*SIGNED, "u8", "u4", "u2", "u1")
COMPLEX = ("c16", "c8")

Body = Callable[..., Any]  # to a Value, or to a Value and a doubt


@dataclass(frozen=True)
class Helper:
    """One function that emitted source may call, for one kind of number."""

    name: str
    kind: str
    argument_count: int
    body: Body
    portable: Body | None = None  # without a fused multiply-add; None: the body does not use it
    result: str | None = None  # the result's kind where it differs from the arguments'
    arguments: str | None = None  # the arguments' kind where it differs from the name's
    doubtful: bool = False  # `body` also says where it has no answer: Note [doubt] in `functions`

    @property
    def full_name(self) -> str:
        return f"{self.name}_{self.kind}"

    @property
    def result_kind(self) -> str:
        return self.result or self.kind

    @property
    def argument_kind(self) -> str:
        return self.arguments or self.kind


Row = tuple[tuple[str, ...], Helper]


def _row(
    kinds: tuple[str, ...],
    name: str,
    count: int,
    body: Body,
    portable: Body | None = None,
    result: str | None = None,
    doubtful: bool = False,
) -> Row:
    return kinds, Helper(name, "", count, body, portable, result, doubtful=doubtful)


def _rows() -> Iterator[Row]:
    """(kinds, the helper without its kind)."""
    yield from _vector_rows()
    yield from _arithmetic_rows()
    yield from _complex_rows()


def _vector_rows() -> Iterator[Row]:
    """Formulas of our own, with the library's function where there is no fused multiply-add."""
    libm = arithmetic.libm
    body: Body
    for name, body in (
        ("exp", exponential.exp),
        ("exp2", exponential.exp2),
        ("expm1", exponential.expm1),
        ("sinh", exponential.sinh),
        ("cosh", exponential.cosh),
        ("tanh", exponential.tanh),
        ("log", logarithm.log),
        ("log1p", logarithm.log1p),
        ("log2", logarithm.log2),
        ("log10", logarithm.log10),
        ("erf", special.erf),
    ):
        yield _row(FLOATS, name, 1, body, libm(name))
    for name, formula in (("sin", trigonometric.sin), ("cos", trigonometric.cos), ("tan", trigonometric.tan)):
        yield _row(FLOATS, name, 1, formula, libm(name), doubtful=True)
    yield _row(FLOATS, "sigmoid", 1, exponential.sigmoid, portable.sigmoid)
    yield _row(FLOATS, "pow", 2, logarithm.power, libm("pow"))
    yield _row(FLOATS, "logaddexp", 2, logarithm.logaddexp, portable.logaddexp)
    yield _row(FLOATS, "cbrt", 1, special.cbrt, libm("cbrt"))
    yield _row(FLOATS, "erfc", 1, special.erfc)
    yield _row(FLOATS, "hypot", 2, arithmetic.hypot, libm("hypot"))
    for name, body, symbol in (
        ("arcsin", inverse.arcsin, "asin"),
        ("arccos", inverse.arccos, "acos"),
        ("arctan", inverse.arctan, "atan"),
        ("arcsinh", inverse.arcsinh, "asinh"),
        ("arccosh", inverse.arccosh, "acosh"),
        ("arctanh", inverse.arctanh, "atanh"),
    ):
        yield _row(FLOATS, name, 1, body, libm(symbol))
    yield _row(FLOATS, "atan2", 2, inverse.atan2, libm("atan2"))
    yield _row(FLOATS, "nextafter", 2, libm("nextafter"))


def _arithmetic_rows() -> Iterator[Row]:
    """A few instructions each."""
    body: Body
    for name, body, count in (
        ("add_reassoc", arithmetic.add_reassoc, 2),
        ("mul_reassoc", arithmetic.mul_reassoc, 2),
        ("fma", arithmetic.fused_multiply_add, 3),
        ("copysign", arithmetic.copysign_value, 2),
        ("floor", arithmetic.floor, 1),
        ("ceil", arithmetic.ceil, 1),
        ("trunc", arithmetic.trunc, 1),
        ("rint", arithmetic.rint, 1),
        ("sqrt", arithmetic.sqrt, 1),
        ("fmod", arithmetic.fmod, 2),
        ("floor_divide", arithmetic.floor_divide, 2),
        ("remainder", arithmetic.remainder, 2),
    ):
        yield _row(FLOATS, name, count, body)
    for name, body in (
        ("isnan", arithmetic.isnan),
        ("isinf", arithmetic.isinf),
        ("isfinite", arithmetic.isfinite),
        ("signbit", arithmetic.signbit),
    ):
        yield _row(FLOATS, name, 1, body, result="b1")
    for name, body, count in (
        ("maximum", arithmetic.maximum, 2),
        ("minimum", arithmetic.minimum, 2),
        ("sign", arithmetic.sign, 1),
        ("abs", arithmetic.absolute_value, 1),
    ):
        yield _row((*FLOATS, *INTEGERS), name, count, body)
    for name, body in (
        ("floor_divide", arithmetic.integer_floor_divide),
        ("remainder", arithmetic.integer_remainder),
        ("fmod", arithmetic.integer_fmod),
        ("power", arithmetic.integer_power),
    ):
        yield _row(INTEGERS, name, 2, body)


def _complex_rows() -> Iterator[Row]:
    reals, careful = complex_numbers.FORMULAS, complex_numbers.LIBM
    for name, body, count in complex_numbers.PLAIN:
        yield COMPLEX, Helper(name, "", count, body)
    for name, body in complex_numbers.OF_REALS:
        yield COMPLEX, Helper(name, "", 1, partial(body, reals), partial(body, careful))
    for name, doubtful in complex_numbers.DOUBTFUL:
        yield COMPLEX, Helper(name, "", 1, partial(doubtful, reals), partial(doubtful, careful), doubtful=True)
    for kind, part in (("c16", "f8"), ("c8", "f4")):
        for name, of_reals in (("abs", complex_numbers.modulus), ("angle", complex_numbers.angle)):
            yield (kind,), Helper(name, "", 1, partial(of_reals, reals), partial(of_reals, careful), result=part)
        yield (kind,), Helper("complex", "", 2, complex_numbers.join, arguments=part)
        for name, body in complex_numbers.REAL_VALUED:
            yield (kind,), Helper(name, "", 1, body, result=part)


HELPERS: dict[str, Helper] = {helper.full_name: helper for kinds, row in _rows() for kind in kinds for helper in (replace(row, kind=kind),)}
