"""Comparison, logic, casts, and the parts of complex numbers."""

from collections.abc import Sequence

import numpy as np

from functad._core.primitive import Primitive, Spelling
from functad._primitives.alive import passes_on
from functad._primitives.arithmetic import add, elementwise, neg, select
from functad._primitives.operands import Array, Value, zeros_like
from functad._primitives.rules import Rule, Values

__all__ = [
    "COMPLEX_OF", "REAL_OF", "bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor", "conj", "convert", "counted", "equal", "greater",
    "greater_equal", "imag", "imaginary", "isfinite", "isinf", "isnan", "less", "less_equal", "logical_and", "logical_not", "logical_or",
    "logical_xor", "make_complex", "not_equal", "real", "select", "stop_gradient",
]  # fmt: skip

_PAIR = [(-3, 3), (-3, 3)]


def _comparison(name: str, numpy: np.ufunc, sign: str) -> Primitive:
    def emit(codes: Sequence[str], out: str, x: str, y: str) -> str | None:
        return f"({x} {sign} {y})" if codes[0][0] != "c" or sign in ("==", "!=") else None

    return elementwise(name, numpy, [None, None], emit, domain=_PAIR, kinds="fi", spelling=Spelling((numpy,), compares=True))


equal: Primitive = _comparison("equal", np.equal, "==")
not_equal: Primitive = _comparison("not_equal", np.not_equal, "!=")
less: Primitive = _comparison("less", np.less, "<")
less_equal: Primitive = _comparison("less_equal", np.less_equal, "<=")
greater: Primitive = _comparison("greater", np.greater, ">")
greater_equal: Primitive = _comparison("greater_equal", np.greater_equal, ">=")


def _boolean(name: str, numpy: np.ufunc, text: str, on_booleans: tuple[np.ufunc, ...]) -> Primitive:
    """A logical function; the doors convert operands to bool first, so that kernels see booleans only."""
    spelling = Spelling((numpy,), on_booleans, as_booleans=True)
    return elementwise(name, numpy, [None] * numpy.nin, text, domain=_PAIR[: numpy.nin], kinds="b", spelling=spelling)


logical_and: Primitive = _boolean("logical_and", np.logical_and, "({0} & {1})", (np.multiply, np.minimum, np.fmin, np.bitwise_and))
logical_or: Primitive = _boolean("logical_or", np.logical_or, "({0} | {1})", (np.add, np.maximum, np.fmax, np.bitwise_or))
logical_xor: Primitive = _boolean("logical_xor", np.logical_xor, "({0} ^ {1})", (np.bitwise_xor,))
logical_not: Primitive = _boolean("logical_not", np.logical_not, "({0} == False)", (np.invert,))
add.alive = logical_or


def _bitwise(name: str, numpy: np.ufunc, text: str) -> Primitive:
    return elementwise(name, numpy, [None] * numpy.nin, text, domain=_PAIR[: numpy.nin], kinds="i")


bitwise_and: Primitive = _bitwise("bitwise_and", np.bitwise_and, "({0} & {1})")
bitwise_or: Primitive = _bitwise("bitwise_or", np.bitwise_or, "({0} | {1})")
bitwise_xor: Primitive = _bitwise("bitwise_xor", np.bitwise_xor, "({0} ^ {1})")
bitwise_not: Primitive = _bitwise("bitwise_not", np.invert, "(~{0})")


def _test(name: str, numpy: np.ufunc, of_integers: bool) -> Primitive:
    return elementwise(name, numpy, [None], name + "_{d}({0})", domain=_PAIR[:1], spelling=Spelling((numpy,), of_integers=of_integers))


isnan: Primitive = _test("isnan", np.isnan, False)
isinf: Primitive = _test("isinf", np.isinf, False)
isfinite: Primitive = _test("isfinite", np.isfinite, True)

# ---- casts


def _convert_numpy(x: Array, dtype: np.dtype[Array]) -> Array:
    x = np.asarray(x)
    if x.dtype.kind == "c" and dtype.kind not in "cb":
        x = x.real
    return x.astype(dtype)[()]


def _convert_emit(codes: Sequence[str], out: str, x: str, dtype: str) -> str:
    if out == "b1":
        return f"({x} != {codes[0]}(0))" if codes[0] != "b1" else x
    if codes[0][0] == "c" and out[0] != "c":
        x = f"{x}.real"
    return f"{out}({x})"


def _convert_inward(times: Rule, inputs: Values, p: Value, dtype: np.dtype[Array]) -> Value:
    """Cast and multiply where the elements of t are numbers."""
    return times(inputs[0], p, lambda u: u if u.type.dtype == dtype else convert(u, dtype=dtype))


convert: Primitive = elementwise(
    "convert", _convert_numpy, [lambda t, out, x, dtype: convert(t, dtype=dtype) if dtype.kind in "fc" else None], _convert_emit,
    dtype=lambda x, dtype: dtype, structural=passes_on, inward=_convert_inward,
    examples=lambda: [([np.array([1.5, -2.5, 0.0])], {"dtype": np.dtype(d)}) for d in (np.float32, np.float64, np.int64, np.bool_, np.complex128)]
    + [([np.array([1, -2, 0])], {"dtype": np.dtype(d)}) for d in (np.float64, np.float32, np.int32, np.bool_)],
)  # fmt: skip
convert.transpose = lambda transform, cts, xs, types, dtype: [convert(cts[0], dtype=types[0].dtype)]  # needs the input's type


def counted(op: Rule, booleans: Value, *others: Value, **params: object) -> Value:
    """Where a linear operation gives more than zero: `alive` hook of those that add elements up."""
    counts = op(convert(booleans, dtype=np.dtype(np.int64)), *others, **params)
    return not_equal(counts, zeros_like(counts))


# ---- complex parts.  Transposes are linear without conjugation, so that `grad` follows JAX's convention.

REAL_OF: dict[str, np.dtype[Array]] = {"f": np.dtype(np.float32), "d": np.dtype(np.float64), "F": np.dtype(np.float32), "D": np.dtype(np.float64)}
COMPLEX_OF: dict[str, np.dtype[Array]] = {"f": np.dtype(np.complex64), "d": np.dtype(np.complex128)}


def imaginary(x: Value) -> Value:
    """The real number x times i."""
    return make_complex(zeros_like(x), x)


real: Primitive = elementwise(
    "real", lambda x: np.array(np.real(x))[()], [lambda t, out, x: real(t)], "{0}.real", dtype=lambda x: REAL_OF[x.char],
    transpose=lambda ct, x: [make_complex(ct, zeros_like(ct))], domain=[(-3, 3)], kinds="c",
)  # fmt: skip
imag: Primitive = elementwise(
    "imag", lambda x: np.array(np.imag(x))[()], [lambda t, out, x: imag(t)], "{0}.imag", dtype=lambda x: REAL_OF[x.char],
    transpose=lambda ct, x: [imaginary(neg(ct))], domain=[(-3, 3)], kinds="c",
)  # fmt: skip
conj: Primitive = elementwise(
    "conj", np.conjugate, [lambda t, out, x: conj(t)], "conjugate_{d}({0})", transpose=lambda ct, x: [conj(ct)], domain=[(-3, 3)], kinds="c",
)  # fmt: skip


def _make_complex_numpy(x: Array, y: Array) -> Array:
    out = np.empty(np.broadcast_shapes(np.shape(x), np.shape(y)), COMPLEX_OF[np.asarray(x).dtype.char])
    out.real, out.imag = x, y
    return out[()]


make_complex: Primitive = elementwise(
    "make_complex", _make_complex_numpy,
    [lambda t, out, x, y: make_complex(t, zeros_like(t)), lambda t, out, x, y: imaginary(t)], "complex_{o}({0}, {1})",
    dtype=lambda x, y: COMPLEX_OF[x.char],
    transpose=lambda ct, x, y: [real(ct) if x is None else None, neg(imag(ct)) if y is None else None], domain=_PAIR, kinds="f",
)  # fmt: skip

stop_gradient: Primitive = elementwise(
    "stop_gradient", lambda x: np.array(x)[()], [None], "{0}", dtype=lambda x: x, domain=[(-3, 3)], kinds="f",
    identity=True, note="the identity, constant for every derivative",
)  # fmt: skip
