"""Comparison, logic, choice, casts, and the parts of complex numbers."""

from typing import Any

import numpy as np

from functad._core.primitive import Primitive
from functad._core.program import Literal
from functad._primitives.kinds import constant, elementwise, zeros_like
from functad._primitives.linear import apply, passes_on

__all__ = [
    "bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor", "conj", "convert", "equal", "greater", "greater_equal", "imag", "isfinite", "isinf",
    "isnan", "less", "less_equal", "logical_and", "logical_not", "logical_or", "logical_xor", "make_complex", "not_equal", "real", "select",
    "stop_gradient",
]  # fmt: skip

_PAIR = [(-3, 3), (-3, 3)]


def _comparison(name: str, numpy: np.ufunc, sign: str) -> Any:
    def emit(codes: Any, out: str, x: str, y: str) -> str | None:
        return f"({x} {sign} {y})" if codes[0][0] != "c" or sign in ("==", "!=") else None

    return elementwise(name, numpy, [None, None], emit, domain=_PAIR, kinds="fi")


equal: Primitive = _comparison("equal", np.equal, "==")
not_equal: Primitive = _comparison("not_equal", np.not_equal, "!=")
less: Primitive = _comparison("less", np.less, "<")
less_equal: Primitive = _comparison("less_equal", np.less_equal, "<=")
greater: Primitive = _comparison("greater", np.greater, ">")
greater_equal: Primitive = _comparison("greater_equal", np.greater_equal, ">=")


def _boolean(name: str, numpy: np.ufunc, text: str) -> Any:
    """A logical function; the doors convert operands to bool first, so that kernels see booleans only."""
    count = numpy.nin
    return elementwise(name, numpy, [None] * count, text, domain=_PAIR[:count], kinds="b")


logical_and: Primitive = _boolean("logical_and", np.logical_and, "({0} & {1})")
logical_or: Primitive = _boolean("logical_or", np.logical_or, "({0} | {1})")
logical_xor: Primitive = _boolean("logical_xor", np.logical_xor, "({0} ^ {1})")
logical_not: Primitive = _boolean("logical_not", np.logical_not, "({0} == False)")
bitwise_and: Primitive = elementwise("bitwise_and", np.bitwise_and, [None, None], "({0} & {1})", domain=_PAIR, kinds="i")
bitwise_or: Primitive = elementwise("bitwise_or", np.bitwise_or, [None, None], "({0} | {1})", domain=_PAIR, kinds="i")
bitwise_xor: Primitive = elementwise("bitwise_xor", np.bitwise_xor, [None, None], "({0} ^ {1})", domain=_PAIR, kinds="i")
bitwise_not: Primitive = elementwise("bitwise_not", np.invert, [None], "(~{0})", domain=_PAIR[:1], kinds="i")
isnan: Primitive = elementwise("isnan", np.isnan, [None], "isnan_{d}({0})", domain=_PAIR[:1], kinds="f")
isinf: Primitive = elementwise("isinf", np.isinf, [None], "isinf_{d}({0})", domain=_PAIR[:1], kinds="f")
isfinite: Primitive = elementwise("isfinite", np.isfinite, [None], "isfinite_{d}({0})", domain=_PAIR[:1], kinds="f")


# ---- choice


def _select_transpose(ct: Any, condition: Any, x: Any, y: Any) -> list[Any]:
    zero = zeros_like(ct)
    return [None, select(condition, ct, zero) if x is None else None, select(condition, zero, ct) if y is None else None]


def _has_zero_branch(equation: Any, known: Any) -> bool:
    """A literal zero in a tangent's select is structural; so is a zero inside a branch when the other has some as well."""
    zeros = [isinstance(a, Literal) and a.is_zero() for a in equation.inputs[1:]]
    return any(zeros) or all(a in known for a in equation.inputs[1:])


def _select_tangent_x(t: Any, out: Any, condition: Any, x: Any, y: Any) -> Any:
    return select(condition, t, zeros_like(t))


def _select_tangent_y(t: Any, out: Any, condition: Any, x: Any, y: Any) -> Any:
    return select(condition, zeros_like(t), t)


select: Primitive = elementwise(
    "select", lambda c, x, y: np.asarray(np.where(c, x, y))[()], [None, _select_tangent_x, _select_tangent_y], "select({0}, {1}, {2})",
    dtype=lambda c, x, y: x, transpose=_select_transpose, structural=_has_zero_branch,
    inward=lambda op, inputs, p: select(inputs[0], *[apply(op, x, p) for x in inputs[1:]]), kinds="",
)  # fmt: skip


def _select_examples() -> Any:
    condition = np.array([[True, False, True], [False, False, True]])
    x, y = np.arange(6.0).reshape(2, 3), -np.arange(6.0).reshape(2, 3)
    return [([condition, x, y], {}), ([condition, x + 1j, y - 2j], {}), ([condition, x.astype(int), y.astype(int)], {})]


select.examples, select.spreads = _select_examples, True

# ---- casts


def _convert_numpy(x: Any, dtype: Any) -> Any:
    x = np.asarray(x)
    if x.dtype.kind == "c" and dtype.kind not in "cb":
        x = x.real
    return x.astype(dtype)[()]


def _convert_emit(codes: Any, out: str, x: str, dtype: Any) -> str:
    if out == "b1":
        return f"({x} != {codes[0]}(0))" if codes[0] != "b1" else x
    if codes[0][0] == "c" and out[0] != "c":
        x = f"{x}.real"
    return f"{out}({x})"


def _convert_tangent(t: Any, out: Any, x: Any, dtype: Any) -> Any:
    return convert(t, dtype=dtype) if dtype.kind in "fc" else None


def _convert_transpose(ct: Any, x: Any, dtype: Any) -> Any:
    raise AssertionError("replaced below: needs the input's type")


convert: Primitive = elementwise(
    "convert", _convert_numpy, [_convert_tangent], _convert_emit, dtype=lambda x, dtype: dtype, transpose=_convert_transpose, structural=passes_on,
    inward=lambda op, inputs, p, dtype: _convert_inward(op, inputs[0], p, dtype), kinds="",
)  # fmt: skip


def _convert_inward(op: Any, t: Any, p: Any, dtype: Any) -> Any:
    """Cast and multiply where the elements of t are numbers."""
    return apply(lambda u, q: op(u if u.type.dtype == dtype else convert(u, dtype=dtype), q), t, p)


convert.transpose = lambda transform, cts, xs, types, dtype: [convert(cts[0], dtype=types[0].dtype)]
convert.examples = lambda: (
    [([np.array([1.5, -2.5, 0.0])], {"dtype": np.dtype(d)}) for d in (np.float32, np.float64, np.int64, np.bool_, np.complex128)]
    + [([np.array([1, -2, 0])], {"dtype": np.dtype(d)}) for d in (np.float64, np.float32, np.int32, np.bool_)]
)

# ---- complex parts.  Transposes are linear without conjugation, so that `grad` follows JAX's convention.

_REAL_OF: dict[str, np.dtype[Any]] = {"F": np.dtype(np.float32), "D": np.dtype(np.float64)}
_COMPLEX_OF: dict[str, np.dtype[Any]] = {"f": np.dtype(np.complex64), "d": np.dtype(np.complex128)}


def _zero(x: Any) -> Literal:
    return constant(0, x)


real: Primitive = elementwise(
    "real", lambda x: np.array(np.real(x))[()], [lambda t, out, x: real(t)], "{0}.real", dtype=lambda x: _REAL_OF[x.char],
    transpose=lambda ct, x: [make_complex(ct, _zero(ct))], domain=[(-3, 3)], kinds="c",
)  # fmt: skip
imag: Primitive = elementwise(
    "imag", lambda x: np.array(np.imag(x))[()], [lambda t, out, x: imag(t)], "{0}.imag", dtype=lambda x: _REAL_OF[x.char],
    transpose=lambda ct, x: [make_complex(_zero(ct), _negative(ct))], domain=[(-3, 3)], kinds="c",
)  # fmt: skip
conj: Primitive = elementwise(
    "conj", np.conjugate, [lambda t, out, x: conj(t)], "conjugate_{d}({0})", transpose=lambda ct, x: [conj(ct)], domain=[(-3, 3)], kinds="c",
)  # fmt: skip


def _negative(x: Any) -> Any:
    from functad._primitives.elementwise import neg

    return neg(x)


def _make_complex_numpy(x: Any, y: Any) -> Any:
    out = np.empty(np.broadcast_shapes(np.shape(x), np.shape(y)), _COMPLEX_OF[np.asarray(x).dtype.char])
    out.real, out.imag = x, y
    return out[()]


make_complex: Primitive = elementwise(
    "make_complex", _make_complex_numpy,
    [lambda t, out, x, y: make_complex(t, zeros_like(t)), lambda t, out, x, y: make_complex(zeros_like(t), t)], "complex_{o}({0}, {1})",
    dtype=lambda x, y: _COMPLEX_OF[x.char],
    transpose=lambda ct, x, y: [real(ct) if x is None else None, _negative(imag(ct)) if y is None else None], domain=_PAIR, kinds="f",
)  # fmt: skip

stop_gradient: Primitive = elementwise(
    "stop_gradient", lambda x: np.array(x)[()], [None], "{0}", dtype=lambda x: x, domain=[(-3, 3)], kinds="f",
    note="the identity, constant for every derivative",
)  # fmt: skip
stop_gradient.identity = True
