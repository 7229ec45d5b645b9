"""The one table of helpers: for each name its formula, its libm counterpart, and the kinds it exists for.

The names that emitted source may use are generated from it: `sin` for "f8" and "f4" is `sin_f8` and `sin_f4`.  A
row's formula is used where the processor has a fused multiply-add, else libm's function, or a plain formula over
other rows (measured: without it, the formulas lose both speed and accuracy).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import functad._compile.mathlib.arithmetic as arithmetic
import functad._compile.mathlib.complex_numbers as complex_numbers
import functad._compile.mathlib.exponential as exponential
import functad._compile.mathlib.inverse as inverse
import functad._compile.mathlib.logarithm as logarithm
import functad._compile.mathlib.portable as portable
import functad._compile.mathlib.special as special
import functad._compile.mathlib.trigonometric as trigonometric
from functad._compile.mathlib.values import Value, copysign, libm

FLOATS = ("f8", "f4")
SIGNED = ("i8", "i4", "i2", "i1")
INTEGERS = (*SIGNED, "u8", "u4", "u2", "u1")
COMPLEX = ("c16", "c8")

Body = Callable[..., Value | tuple[Value, Value]]  # a tuple: the value, and where it is in doubt


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


def _libm(name: str) -> Body:
    return partial(libm, name)


def _named(kinds: tuple[str, ...], count: int, *bodies: Body, result: str | None = None) -> Iterator[tuple[tuple[str, ...], Helper]]:
    """Rows that are called as their functions are."""
    return ((kinds, Helper(body.__name__, "", count, body, result=result)) for body in bodies)


def _rows() -> Iterator[tuple[tuple[str, ...], Helper]]:
    """(kinds, the helper without its kind)."""
    yield from _vector_rows()
    yield from _arithmetic_rows()
    yield from _complex_rows()


def _vector_rows() -> Iterator[tuple[tuple[str, ...], Helper]]:
    """Formulas of our own, with the library's function where there is no fused multiply-add."""
    for formula in (
        exponential.exp, exponential.exp2, exponential.expm1, exponential.sinh, exponential.cosh, exponential.tanh,
        logarithm.log, logarithm.log1p, logarithm.log2, logarithm.log10, special.cbrt, special.erf,
    ):  # fmt: skip
        yield FLOATS, Helper(formula.__name__, "", 1, formula, _libm(formula.__name__))
    for doubtful in (trigonometric.sin, trigonometric.cos, trigonometric.tan):
        yield FLOATS, Helper(doubtful.__name__, "", 1, doubtful, _libm(doubtful.__name__), doubtful=True)
    for inverted in (inverse.arcsin, inverse.arccos, inverse.arctan, inverse.arcsinh, inverse.arccosh, inverse.arctanh):
        yield FLOATS, Helper(inverted.__name__, "", 1, inverted, _libm(inverted.__name__.replace("arc", "a")))
    yield FLOATS, Helper("sigmoid", "", 1, exponential.sigmoid, portable.sigmoid)
    yield FLOATS, Helper("erfc", "", 1, special.erfc)
    yield FLOATS, Helper("pow", "", 2, logarithm.power, _libm("pow"))
    yield FLOATS, Helper("logaddexp", "", 2, logarithm.logaddexp, portable.logaddexp)
    yield FLOATS, Helper("hypot", "", 2, arithmetic.hypot, _libm("hypot"))
    yield FLOATS, Helper("atan2", "", 2, inverse.atan2, _libm("atan2"))
    yield FLOATS, Helper("nextafter", "", 2, _libm("nextafter"))


def _arithmetic_rows() -> Iterator[tuple[tuple[str, ...], Helper]]:
    """A few instructions each."""
    yield from _named(FLOATS, 1, arithmetic.floor, arithmetic.ceil, arithmetic.trunc, arithmetic.rint, arithmetic.sqrt)
    yield from _named(FLOATS, 1, arithmetic.isnan, arithmetic.isinf, arithmetic.isfinite, arithmetic.signbit, result="b1")
    yield from _named(FLOATS, 2, arithmetic.add_reassoc, copysign, arithmetic.fmod, arithmetic.floor_divide, arithmetic.remainder)
    yield from _named((*FLOATS, *INTEGERS), 1, arithmetic.sign)
    yield from _named((*FLOATS, *INTEGERS), 2, arithmetic.maximum, arithmetic.minimum)
    yield (*FLOATS, *INTEGERS), Helper("abs", "", 1, arithmetic.absolute_value)
    for body in (arithmetic.integer_floor_divide, arithmetic.integer_remainder, arithmetic.integer_fmod, arithmetic.integer_power):
        yield INTEGERS, Helper(body.__name__.removeprefix("integer_"), "", 2, body)


def _complex_rows() -> Iterator[tuple[tuple[str, ...], Helper]]:
    reals, careful = complex_numbers.FORMULAS, complex_numbers.LIBM
    yield from _named(COMPLEX, 2, complex_numbers.multiply, complex_numbers.divide)
    yield from _named(COMPLEX, 1, complex_numbers.conjugate)
    for body in (complex_numbers.log, complex_numbers.sqrt):
        yield COMPLEX, Helper(body.__name__, "", 1, partial(body, reals), partial(body, careful))
    for doubtful in (
        complex_numbers.exp, complex_numbers.sinh, complex_numbers.cosh, complex_numbers.tanh,
        complex_numbers.sin, complex_numbers.cos, complex_numbers.tan,
    ):  # fmt: skip
        yield COMPLEX, Helper(doubtful.__name__, "", 1, partial(doubtful, reals), partial(doubtful, careful), doubtful=True)
    for kind, part in (("c16", "f8"), ("c8", "f4")):
        for name, of_reals in (("abs", complex_numbers.modulus), ("angle", complex_numbers.angle)):
            yield (kind,), Helper(name, "", 1, partial(of_reals, reals), partial(of_reals, careful), result=part)
        yield (kind,), Helper("complex", "", 2, complex_numbers.join, arguments=part)
        yield from _named((kind,), 1, complex_numbers.real, complex_numbers.imag, result=part)


HELPERS: dict[str, Helper] = {helper.full_name: helper for kinds, row in _rows() for kind in kinds for helper in (replace(row, kind=kind),)}
