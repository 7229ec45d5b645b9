"""Helpers against mpmath (accuracy) and against NumPy (special values, integers, complex quotients, matrix products)."""

import functools
import itertools
import math

import mpmath
import numpy as np
import pytest

from functad._compile.building.kernel import KernelError, compile_kernel
from functad._compile.mathlib import names

KINDS = {"f8": np.float64, "f4": np.float32}


@functools.cache
def kernel_of(name, kind, count, result, argument=None, remark=""):
    """A loop over one helper; kept for the whole run."""
    parameters = ", ".join(f"x{k}" for k in range(count))
    elements = ", ".join(f"x{k}[i]" for k in range(count))
    loop = f"    for i in range(n):\n        out[i] = {name}_{kind}({elements})\n"
    source = f"def kernel({parameters}, n, out):  # {remark}\n{loop}    return 0\n"
    stored = "u1" if result == "b1" else result
    return compile_kernel(source, "kernel", [f"{argument or kind}*"] * count + ["i8", f"{stored}*"])


def evaluate(name, kind, *arrays, result=None, argument=None, remark=""):
    kernel = kernel_of(name, kind, len(arrays), result or kind, argument, remark)
    arrays = [np.ascontiguousarray(a) for a in arrays]
    out = np.empty(arrays[0].shape, bool if result == "b1" else result or kind)
    assert kernel.run([*(a.ctypes.data for a in arrays), out.size, out.ctypes.data]) == 0
    return out


def units_off(got, exact):
    """Distance from the exact value in units of the last place of its rounded value."""
    rounded = type(got)(exact)
    if not np.isfinite(rounded) or not np.isfinite(got):
        return 0.0 if got == rounded else np.inf
    return float(abs(mpmath.mpf(float(got)) - exact) / mpmath.mpf(float(np.spacing(abs(rounded)))))


def spread(rng, dtype, largest):
    """Numbers of ordinary and of all sizes up to `largest`, both signs."""
    n = 60
    parts = [rng.uniform(-2, 2, n), rng.uniform(-30, 30, n), rng.normal(size=n) * 10.0 ** rng.uniform(-12, 1, n)]
    return np.concatenate([*parts, rng.uniform(-largest, largest, n)]).astype(dtype)


def sigmoid(x):
    return 1 / (1 + mpmath.exp(-x))


EXACT = {
    "exp": (mpmath.exp, None),
    "exp2": (lambda x: mpmath.power(2, x), None),
    "expm1": (mpmath.expm1, None),
    "sinh": (mpmath.sinh, None),
    "cosh": (mpmath.cosh, None),
    "tanh": (mpmath.tanh, None),
    "sigmoid": (sigmoid, None),
    "erf": (mpmath.erf, None),
    "erfc": (mpmath.erfc, None),
    "sin": (mpmath.sin, None),
    "cos": (mpmath.cos, None),
    "tan": (mpmath.tan, None),
    "log": (mpmath.log, lambda x: x > 0),
    "log2": (lambda x: mpmath.log(x) / mpmath.log(2), lambda x: x > 0),
    "log10": (mpmath.log10, lambda x: x > 0),
    "log1p": (mpmath.log1p, lambda x: x > -1),
    "arcsin": (mpmath.asin, lambda x: abs(x) <= 1),
    "arccos": (mpmath.acos, lambda x: abs(x) <= 1),
    "arctan": (mpmath.atan, None),
    "arcsinh": (mpmath.asinh, None),
    "arccosh": (mpmath.acosh, lambda x: x >= 1),
    "arctanh": (mpmath.atanh, lambda x: abs(x) < 1),
    "cbrt": (lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)), None),
}
# libm's own, which NumPy has too, may be a little further off.
LIMITS = {"erfc": 3.0}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", EXACT)
def test_two_units_in_the_last_place(name, kind):
    exact, domain = EXACT[name]
    rng = np.random.default_rng([len(name), *name.encode()])
    x = spread(rng, KINDS[kind], 745.0 if kind == "f8" else 100.0)
    if domain is not None:
        x = np.concatenate([x, np.abs(x), 1 + x / 100])
        x = x[domain(x)]
    with mpmath.workprec(140), np.errstate(all="ignore"):
        worst = max((units_off(got, exact(mpmath.mpf(float(v)))), v) for v, got in zip(x, evaluate(name, kind, x), strict=True))
    assert worst[0] <= LIMITS.get(name, 2.0), worst


@pytest.mark.parametrize("kind", KINDS)
def test_power_to_two_units(kind):
    rng = np.random.default_rng(5)
    n = 150
    x = np.abs(spread(rng, KINDS[kind], 50.0))
    x = np.concatenate([x, 1 + rng.normal(size=n) * 1e-3, 10.0 ** rng.uniform(-30, 30, n)]).astype(kind)
    y = rng.choice([0.5, 2.0, -1.0, 3.0, 1 / 3, -7.25, 40.0, 1000.0], x.size).astype(kind)
    with mpmath.workprec(140), np.errstate(all="ignore"):
        values = zip(x, y, evaluate("pow", kind, x, y), strict=True)
        worst = max((units_off(got, mpmath.power(mpmath.mpf(float(a)), mpmath.mpf(float(b)))), a, b) for a, b, got in values)
    assert worst[0] <= 2.0, worst


@pytest.mark.parametrize("kind", KINDS)
def test_logarithms_of_powers_are_exact(kind):
    k = np.arange(-100, 100)
    assert np.array_equal(evaluate("log2", kind, np.ldexp(KINDS[kind](1), k)), k)
    tens = np.arange(0, 10)
    assert np.array_equal(evaluate("log10", kind, (10.0**tens).astype(kind)), tens)
    assert np.array_equal(evaluate("exp2", kind, k.astype(kind)), np.ldexp(KINDS[kind](1), k))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_trigonometry_of_huge_arguments(name, kind):
    rng = np.random.default_rng(2)
    sizes = 10.0 ** rng.uniform(0, 300 if kind == "f8" else 37, 60)
    x = np.concatenate([sizes, -sizes, [5e14, 6e14, 1e22, 1e30]]).astype(kind)
    exact = getattr(mpmath, name)
    with mpmath.workprec(1300):
        worst = max((units_off(got, exact(mpmath.mpf(float(v)))), v) for v, got in zip(x, evaluate(name, kind, x), strict=True))
    assert worst[0] <= 2.0, worst
    assert not np.isnan(evaluate(name, kind, x)).any()


def test_doubt_in_one_helper_reaches_every_return():
    source = """
def kernel(x, out):
    out[0] = sin_f8(x[0])
    if x[0] > 1.0:
        return 7
    out[0] = cos_f8(x[0])
    return 0
"""
    kernel = compile_kernel(source, "kernel", ["f8*", "f8*"])
    x, out = np.array([1e200]), np.empty(1)
    assert kernel.run([x.ctypes.data, out.ctypes.data]) == 7
    assert out[0] == np.sin(1e200)
    x[0] = -1e200
    assert kernel.run([x.ctypes.data, out.ctypes.data]) == 0
    assert out[0] == np.cos(-1e200)


def special_values(dtype):
    info = np.finfo(dtype)
    tiny = info.smallest_subnormal
    positive = [0.0, tiny, 3 * tiny, info.smallest_normal, info.eps / 2, 0.5, 1.0, 1 + info.eps, 2.0, 3.0, 20.0, 1e9, info.max, np.inf]
    return np.array([*positive, *(-v for v in positive), np.nan], dtype)


def assert_same(got, expected, what, units=4):
    """The same NaN, infinities and signed zeros; elsewhere to a few units in the last place."""
    assert np.array_equal(np.isnan(got), np.isnan(expected)), (what, got, expected)
    real = ~np.isnan(expected)
    got, expected, what = got[real], expected[real], [w[real] for w in what]
    edge = np.isinf(got) | np.isinf(expected) | (expected == 0)
    wrong = edge & ((got != expected) | (np.signbit(got) != np.signbit(expected)))
    assert not wrong.any(), ([w[wrong] for w in what], got[wrong], expected[wrong])
    got, expected, what = got[~edge], expected[~edge], [w[~edge] for w in what]
    with np.errstate(all="ignore"):
        wrong = ~(np.abs(got - expected) <= units * np.spacing(np.abs(expected)))
    assert not wrong.any(), ([w[wrong] for w in what], got[wrong], expected[wrong])


NUMPY_UNARY = [
    *("exp", "exp2", "expm1", "sinh", "cosh", "tanh", "log", "log2", "log10", "log1p", "sin", "cos", "tan"),
    *("arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh", "cbrt"),
    *("sqrt", "floor", "ceil", "trunc", "rint", "sign", "abs"),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", NUMPY_UNARY)
def test_special_values_as_numpy(name, kind):
    x = special_values(KINDS[kind])
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(x)
        assert_same(evaluate(name, kind, x), expected, [x])


@pytest.mark.parametrize("kind", KINDS)
def test_special_values_of_erf_and_sigmoid(kind):
    x = special_values(KINDS[kind])
    with np.errstate(all="ignore"):
        assert_same(evaluate("sigmoid", kind, x), (1 / (1 + np.exp(-x.astype(np.longdouble)))).astype(kind), [x])
        expected = np.array([math.erf(v) for v in x]).astype(kind)
    assert_same(evaluate("erf", kind, x), np.where(x == 0, x, expected), [x])
    with np.errstate(all="ignore"):
        expected = np.array([math.erfc(v) for v in x]).astype(kind)
    assert_same(evaluate("erfc", kind, x), expected, [x])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["isnan", "isinf", "isfinite", "signbit"])
def test_questions_as_numpy(name, kind):
    x = special_values(KINDS[kind])
    assert np.array_equal(evaluate(name, kind, x, result="b1"), getattr(np, name)(x))


NUMPY_BINARY = {
    "pow": np.power,
    "hypot": np.hypot,
    "logaddexp": np.logaddexp,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "copysign": np.copysign,
    "fmod": np.fmod,
    "remainder": np.remainder,
    "floor_divide": np.floor_divide,
    "atan2": np.arctan2,
    "nextafter": np.nextafter,
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", NUMPY_BINARY)
def test_special_pairs_as_numpy(name, kind):
    values = np.concatenate([special_values(KINDS[kind]), np.array([1.5, -2.5, 4.0, 1e5 + 1, -7.0, 1 / 3], kind)])
    x, y = (np.ascontiguousarray(a.ravel()) for a in np.meshgrid(values, values))
    with np.errstate(all="ignore"):
        expected = NUMPY_BINARY[name](x, y)
        got = evaluate(name, kind, x, y)
    if name in ("maximum", "minimum"):  # NumPy returns either zero for two zeros of opposite sign
        got, expected = got + 0.0, expected + 0.0
    assert_same(got, expected, [x, y])


INTEGERS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]


@pytest.mark.parametrize("kind", INTEGERS)
@pytest.mark.parametrize("name", ["floor_divide", "remainder", "fmod", "maximum", "minimum"])
def test_integer_pairs_as_numpy(name, kind):
    info = np.iinfo(kind)
    numbers = [0, 1, 2, 3, 7, 100, info.max, info.max - 1, info.min, info.min + 1, *([-1, -2, -3, -7] if info.min else [])]
    values = np.array(numbers, kind)
    x, y = (np.ascontiguousarray(a.ravel()) for a in np.meshgrid(values, values))
    with np.errstate(all="ignore"):
        assert np.array_equal(evaluate(name, kind, x, y), getattr(np, name)(x, y))


@pytest.mark.parametrize("kind", INTEGERS)
def test_integer_powers_wrap_as_numpy(kind):
    info = np.iinfo(kind)
    bases = np.array([0, 1, 2, 3, 7, info.max, info.min], kind)
    x, y = (np.ascontiguousarray(a.ravel()) for a in np.meshgrid(bases, np.array([0, 1, 2, 3, 5, 31, 63, 100], kind)))
    assert np.array_equal(evaluate("power", kind, x, y), np.power(x, y))


@pytest.mark.parametrize("kind", ["i1", "i8", "u1"])
@pytest.mark.parametrize("name", ["sign", "abs"])
def test_integer_signs_as_numpy(name, kind):
    info = np.iinfo(kind)
    x = np.array([0, 1, 5, info.max, info.min, info.min + 1], kind)
    assert np.array_equal(evaluate(name, kind, x), getattr(np, name)(x))


def complex_specials(kind):
    parts = np.array([0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan, 1e-3], "f4" if kind == "c8" else "f8")
    z = np.empty(parts.size**2, kind)
    z.real, z.imag = (np.ravel(a) for a in np.meshgrid(parts, parts))
    return z


def assert_same_parts(got, expected, what):
    """The same NaN and infinities in each part; elsewhere to a few units of the larger part."""
    with np.errstate(all="ignore"):
        tolerance, whole = 1e-5 if got.dtype == "c8" else 1e-13, np.abs(expected)
    for part in ("real", "imag"):
        g, e = getattr(got, part), getattr(expected, part)
        both = np.isnan(g) & np.isnan(e)
        with np.errstate(all="ignore"):
            equal = (
                both | (g == e) | (np.isfinite(g) & np.isfinite(e) & (np.abs(g - e) <= tolerance * np.where(np.isfinite(whole), whole, np.abs(e))))
            )
        assert equal.all(), [(w[~equal][:3], got[~equal][:3], expected[~equal][:3]) for w in what]


@pytest.mark.parametrize("kind", ["c16", "c8"])
@pytest.mark.parametrize("name", ["divide", "multiply"])
def test_complex_products_and_quotients_as_numpy(name, kind):
    values = complex_specials(kind)
    z, w = (np.ascontiguousarray(a.ravel()) for a in np.meshgrid(values, values))
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(z, w)
    assert_same_parts(evaluate(name, kind, z, w), expected, [z, w])


COMPLEX = {
    "exp": mpmath.exp,
    "log": mpmath.log,
    "sqrt": mpmath.sqrt,
    "sin": mpmath.sin,
    "cos": mpmath.cos,
    "tan": mpmath.tan,
    "sinh": mpmath.sinh,
    "cosh": mpmath.cosh,
    "tanh": mpmath.tanh,
}


@pytest.mark.parametrize("kind", ["c16", "c8"])
@pytest.mark.parametrize("name", COMPLEX)
def test_complex_functions(name, kind):
    rng = np.random.default_rng(8)
    scale = 10.0 ** rng.uniform(-3, 1.5, 200)
    z = (scale * (rng.normal(size=200) + 1j * rng.normal(size=200))).astype(kind)
    with mpmath.workprec(120):
        expected = [COMPLEX[name](mpmath.mpc(complex(v))) for v in z]
        errors = [abs(mpmath.mpc(complex(g)) - e) / abs(e) for g, e in zip(evaluate(name, kind, z), expected, strict=True)]
    assert max(errors) < 8 * np.finfo(kind).eps


@pytest.mark.parametrize("name", ["exp", "log", "sqrt", "sinh", "cosh", "tanh", "sin", "cos", "tan"])
def test_complex_special_values_as_numpy(name):
    z = complex_specials("c16")
    z = z[~np.isnan(z.real) & ~np.isnan(z.imag)]
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(z)
    got = evaluate(name, "c16", z)
    assert_same_parts(without_free_signs(got), without_free_signs(expected), [z])


def without_free_signs(z):
    """C17 leaves the sign of a part open where the other part is NaN."""
    z = z.copy()
    for part, other in (("real", "imag"), ("imag", "real")):
        free = np.isnan(getattr(z, other))
        setattr(z, part, np.where(free, np.abs(getattr(z, part)), getattr(z, part)))
    return z


def test_complex_parts():
    z = complex_specials("c16")
    z = z[~np.isnan(z)]
    assert np.array_equal(evaluate("real", "c16", z, result="f8"), z.real)
    assert np.array_equal(evaluate("imag", "c16", z, result="f8"), z.imag)
    assert np.allclose(evaluate("angle", "c16", z, result="f8"), np.angle(z), rtol=1e-15)
    assert np.allclose(evaluate("abs", "c16", z, result="f8"), np.abs(z), rtol=1e-15)
    assert np.array_equal(evaluate("conjugate", "c16", z), np.conj(z))
    assert np.array_equal(evaluate("complex", "c16", z.real, z.imag, argument="f8"), z)


def test_complex_exponential_of_a_huge_imaginary_part():
    z = np.array([1 + 1e200j, 2 - 1e15j])
    assert_same_parts(evaluate("exp", "c16", z), np.exp(z), [z])


def test_without_fused_multiply_add_libm_serves(monkeypatch):
    from functad._compile.mathlib import functions

    monkeypatch.setattr(functions, "has_fused_multiply_add", lambda: False)
    x = np.concatenate([np.linspace(-5, 5, 101), special_values(np.float64)])
    with np.errstate(all="ignore"):
        for name in NUMPY_UNARY[:20]:
            assert not functions.may_doubt(f"{name}_f8")
            assert_same(evaluate(name, "f8", x, remark="libm"), getattr(np, name)(x), [x])
        assert_same(evaluate("sigmoid", "f8", x, remark="libm"), evaluate("sigmoid", "f8", x), [x])
        assert_same(evaluate("logaddexp", "f8", x, x[::-1], remark="libm"), np.logaddexp(x, x[::-1]), [x])


GEMM = {"f8": 1e-13, "f4": 1e-5, "c16": 1e-13, "c8": 1e-5}


@pytest.mark.parametrize("kind", GEMM)
@pytest.mark.parametrize(("transa", "transb"), list(itertools.product([0, 1, 2], repeat=2)))
def test_matrix_products(kind, transa, transb):
    source = (
        "def kernel(a, b, c, m, n, k, lda, ldb):\n"
        f"    gemm_{kind}({transa}, {transb}, m, n, k, {kind}(2.0), offset(a, 3), lda, b, ldb, {kind}(0.5), c, n)\n"
        "    return 0\n"
    )
    kernel = compile_kernel(source, "kernel", [f"{kind}*"] * 3 + ["i8"] * 5)
    rng = np.random.default_rng(0)
    turn = [lambda x: x, lambda x: x.T, lambda x: x.conj().T]
    for m, n, k in ((3, 4, 5), (1, 1, 1), (2, 3, 0), (0, 2, 3)):
        a = rng.normal(size=(m, k) if transa == 0 else (k, m)).astype(kind)
        b = rng.normal(size=(k, n) if transb == 0 else (n, k)).astype(kind)
        if kind[0] == "c":
            a, b = a + 1j * a[::-1] ** 2, b - 1j * b[::-1]
        c = rng.normal(size=(m, n)).astype(kind)
        expected = 2 * turn[transa](a) @ turn[transb](b) + c / 2
        behind = np.concatenate([np.zeros(3, kind), a.ravel()])
        words = [behind.ctypes.data, b.ctypes.data, c.ctypes.data, m, n, k, a.shape[1], b.shape[1]]
        assert kernel.run(words) == 0
        assert np.allclose(c, expected, rtol=GEMM[kind], atol=GEMM[kind])


def test_sums_may_be_reordered_only_on_the_accumulator():
    source = (
        "def kernel(x, n, out):\n    total = f4(0.0)\n    most = f4(-inf)\n    for i in range(n):\n"
        "        total = add_reassoc_f4(total, x[i])\n        most = maximum_f4(most, x[i])\n"
        "    out[0] = total\n    out[1] = most\n    return 0\n"
    )
    kernel = compile_kernel(source, "kernel", ["f4*", "i8", "f4*"])
    x, out = np.arange(1000, dtype="f4"), np.empty(2, "f4")
    assert kernel.run([x.ctypes.data, x.size, out.ctypes.data]) == 0
    assert out.tolist() == [499500.0, 999.0]
    x[77] = np.nan
    assert kernel.run([x.ctypes.data, x.size, out.ctypes.data]) == 0
    assert np.isnan(out).all()


def test_select_keeps_the_dtype():
    source = "def kernel(x, n, out):\n    for i in range(n):\n        out[i] = select(x[i] > f4(0.0), x[i], f4(0.5))\n    return 0\n"
    kernel = compile_kernel(source, "kernel", ["f4*", "i8", "f4*"])
    x, out = np.array([-1, 2, np.nan], "f4"), np.empty(3, "f4")
    assert kernel.run([x.ctypes.data, 3, out.ctypes.data]) == 0
    assert out.tolist() == [0.5, 2.0, 0.5]
    with pytest.raises(KernelError, match="select"):
        compile_kernel(source.replace("f4(0.5)", "0.5"), "kernel", ["f4*", "i8", "f4*"])


def test_lookup_knows_what_has_helper_says():
    for name in ("exp_f8", "power_i4", "gemm_c8", "select", "offset", "f8", "b1", "inf", "divide_c16"):
        assert names.has_helper(name)
        names.lookup(name)
    for name in ("exp_i8", "pow_c16", "frobnicate_f8", "gemm_i8"):
        assert not names.has_helper(name)
        with pytest.raises(KeyError):
            names.lookup(name)
