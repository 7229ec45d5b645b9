"""The one table of helpers: for each name its formula, its libm counterpart, and the kinds it exists for.

The names that emitted source may use are generated from it: `sin` for "f8" and "f4" is `sin_f8` and `sin_f4`.  A
row's formula is used where the processor has a fused multiply-add, else libm's function, or a plain formula over
other rows (measured: without it, the formulas lose both speed and accuracy).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import functad._compile.mathlib.arithmetic as arithmetic
import functad._compile.mathlib.complex_numbers as complex_numbers
import functad._compile.mathlib.exponential as exponential
import functad._compile.mathlib.inverse as inverse
import functad._compile.mathlib.logarithm as logarithm
import functad._compile.mathlib.portable as portable
import functad._compile.mathlib.special as special
import functad._compile.mathlib.trigonometric as trigonometric
from functad._compile.mathlib.values import copysign, libm, llvm_intrinsic

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
    kinds: tuple[str, ...], name: str, count: int, body: Body, portable: Body | None = None, result: str | None = None, doubtful: bool = False
) -> Row:
    return kinds, Helper(name, "", count, body, portable, result, doubtful=doubtful)


def _rows() -> Iterator[Row]:
    """(kinds, the helper without its kind)."""
    yield from _vector_rows()
    yield from _arithmetic_rows()
    yield from _complex_rows()


def _vector_rows() -> Iterator[Row]:
    """Formulas of our own, with the library's function where there is no fused multiply-add."""
    for body in (
        exponential.exp, exponential.exp2, exponential.expm1, exponential.sinh, exponential.cosh, exponential.tanh,
        logarithm.log, logarithm.log1p, logarithm.log2, logarithm.log10, special.erf, special.cbrt,
    ):  # fmt: skip
        yield _row(FLOATS, body.__name__, 1, body, partial(libm, body.__name__))
    for doubtful in (trigonometric.sin, trigonometric.cos, trigonometric.tan):
        yield _row(FLOATS, doubtful.__name__, 1, doubtful, partial(libm, doubtful.__name__), doubtful=True)
    for name, inverted in (
        ("sin", inverse.arcsin), ("cos", inverse.arccos), ("tan", inverse.arctan),
        ("sinh", inverse.arcsinh), ("cosh", inverse.arccosh), ("tanh", inverse.arctanh),
    ):  # fmt: skip
        yield _row(FLOATS, "arc" + name, 1, inverted, partial(libm, "a" + name))
    yield _row(FLOATS, "sigmoid", 1, exponential.sigmoid, portable.sigmoid)
    yield _row(FLOATS, "pow", 2, logarithm.power, partial(libm, "pow"))
    yield _row(FLOATS, "logaddexp", 2, logarithm.logaddexp, portable.logaddexp)
    yield _row(FLOATS, "erfc", 1, special.erfc)
    yield _row(FLOATS, "hypot", 2, arithmetic.hypot, partial(libm, "hypot"))
    yield _row(FLOATS, "atan2", 2, inverse.atan2, partial(libm, "atan2"))
    yield _row(FLOATS, "nextafter", 2, partial(libm, "nextafter"))


def _arithmetic_rows() -> Iterator[Row]:
    """A few instructions each."""
    for name in ("floor", "ceil", "trunc", "rint", "sqrt"):
        yield _row(FLOATS, name, 1, partial(llvm_intrinsic, name))
    for body in (arithmetic.add_reassoc, copysign, arithmetic.fmod, arithmetic.floor_divide, arithmetic.remainder):
        yield _row(FLOATS, body.__name__, 2, body)
    for test in (arithmetic.isnan, arithmetic.isinf, arithmetic.isfinite, arithmetic.signbit):
        yield _row(FLOATS, test.__name__, 1, test, result="b1")
    for choice in (arithmetic.maximum, arithmetic.minimum):
        yield _row((*FLOATS, *INTEGERS), choice.__name__, 2, choice)
    yield _row((*FLOATS, *INTEGERS), "sign", 1, arithmetic.sign)
    yield _row((*FLOATS, *INTEGERS), "abs", 1, arithmetic.absolute_value)
    for name, of_integers in (
        ("floor_divide", arithmetic.integer_floor_divide), ("remainder", arithmetic.integer_remainder),
        ("fmod", arithmetic.integer_fmod), ("power", arithmetic.integer_power),
    ):  # fmt: skip
        yield _row(INTEGERS, name, 2, of_integers)


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
