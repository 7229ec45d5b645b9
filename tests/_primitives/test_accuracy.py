"""Errors of values and derivatives in units in the last place, over ranges that reach from the smallest numbers to the largest.

The oracle is mpmath: its values, and its differences at so many digits that their error does not count.  NumPy's own values are not on trial, so the
"""

import mpmath
import numpy as np
import pytest

import functad as fd

DIGITS = 700


def magnitudes(low, high, count=24):
    """Log-spaced numbers, which are no round ones."""
    return np.logspace(np.log10(low), np.log10(high), count) * np.linspace(1.0, 1.01, count)


def near(point, low=1e-14, high=0.5, sign=-1):
    """Numbers beside a point, ever closer to it."""
    return point + sign * magnitudes(low, high)


def precise(f, xs):
    """Value and partial derivatives as mpmath numbers; each argument is varied in proportion to itself."""
    with mpmath.workdps(DIGITS):
        at = [mpmath.mpf(float(x)) for x in xs]
        partials = []
        for i, x in enumerate(at):
            unit = x if x else mpmath.mpf(1)
            step = mpmath.mpf(10) ** -40
            rest = lambda s, i=i, unit=unit: f(*[a + s * unit if j == i else a for j, a in enumerate(at)])
            # central differences of two steps, extrapolated: error step**4
            one, two = [(rest(step * k) - rest(-step * k)) / (2 * k * step) for k in (1, 2)]
            partials.append((4 * one - two) / 3 / unit)
        return f(*at), partials


def span(low, high):
    """Of one sign, wide and dense where most functions bend."""
    return np.concatenate([magnitudes(low, high, 20), magnitudes(max(low, 0.01), min(high, 40.0), 20)])


def spans(low, high):
    return np.concatenate([-span(low, high), span(low, high)])


def sigmoid(x):
    return 1 / (1 + mpmath.exp(-x))


def log_add_exp(x, y):
    return mpmath.log(mpmath.exp(x) + mpmath.exp(y))


P, W = span(1e-300, 1e300), spans(1e-300, 1e300)
SUMMANDS = [spans(1e-300, 1e3), 0.7 * spans(1e-300, 1e3) + 0.3]
PAIRS = {
    "alike": [W, 3 * W],
    "apart": [W, 1.1 * W[::-1]],
    "at 1e200": [np.array([1e200, 1e200, -1e200, 1e-200, 1e307]), np.array([1e200, 1e-200, 1e200, 1e-200, 1e307])],
}


def quotient(x):
    return 1 / np.cosh(x)


# name: (function, in mpmath, arguments, worst error of the value, of a derivative), errors in units in the last place
TABLE = {
    "sqrt": (np.sqrt, mpmath.sqrt, [P], 0.5, 1.5),
    "cbrt": (np.cbrt, mpmath.cbrt, [P], 1, 3),
    "square": (np.square, lambda x: x * x, [spans(1e-150, 1e150)], 0.5, 0.5),
    "reciprocal": (np.reciprocal, lambda x: 1 / x, [spans(1e-150, 1e150)], 0.5, 2),
    "exp": (np.exp, mpmath.exp, [spans(1e-300, 700)], 1, 1),
    "exp2": (np.exp2, lambda x: mpmath.mpf(2) ** x, [spans(1e-300, 1000)], 1, 2),
    "expm1": (np.expm1, mpmath.expm1, [spans(1e-300, 700)], 1, 1),
    "log": (np.log, mpmath.log, [P], 1, 0.5),
    "log near 1": (np.log, mpmath.log, [near(1)], 1, 0.5),
    "log1p": (np.log1p, mpmath.log1p, [P], 1, 1.5),
    "log1p near -1": (np.log1p, mpmath.log1p, [near(-1, sign=1)], 1, 1),
    "log1p below 0": (np.log1p, mpmath.log1p, [-magnitudes(1e-300, 0.9)], 1, 1),
    "log2": (np.log2, lambda x: mpmath.log(x, 2), [P], 1, 2),
    "log10": (np.log10, mpmath.log10, [P], 1, 2),
    "sin": (np.sin, mpmath.sin, [spans(1e-300, 1e15)], 1, 1),
    "cos": (np.cos, mpmath.cos, [spans(1e-300, 1e15)], 1, 1),
    "tan": (np.tan, mpmath.tan, [spans(1e-300, 1e15)], 1, 3),
    "tan near pi/2": (np.tan, mpmath.tan, [near(np.pi / 2)], 1, 3),
    "sinh": (np.sinh, mpmath.sinh, [spans(1e-300, 700)], 2, 2),
    "cosh": (np.cosh, mpmath.cosh, [spans(1e-300, 700)], 2, 2),
    "tanh": (np.tanh, mpmath.tanh, [spans(1e-300, 370)], 1, 4),
    "arcsin": (np.arcsin, mpmath.asin, [spans(1e-300, 0.9)], 1, 2),
    "arcsin near 1": (np.arcsin, mpmath.asin, [near(1)], 1, 2),
    "arccos": (np.arccos, mpmath.acos, [spans(1e-300, 0.9)], 1, 2),
    "arccos near 1": (np.arccos, mpmath.acos, [near(1)], 1, 2),
    "arccos near -1": (np.arccos, mpmath.acos, [near(-1, sign=1)], 1, 2),
    "arctan": (np.arctan, mpmath.atan, [W], 1, 2),
    "arcsinh": (np.arcsinh, mpmath.asinh, [W], 1, 2),
    "arccosh": (np.arccosh, mpmath.acosh, [span(1.1, 1e300)], 1, 3),
    "arccosh near 1": (np.arccosh, mpmath.acosh, [near(1, sign=1)], 1, 3),
    "arctanh": (np.arctanh, mpmath.atanh, [spans(1e-300, 0.9)], 1, 2),
    "arctanh near 1": (np.arctanh, mpmath.atanh, [near(1)], 1, 2),
    "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), sigmoid, [spans(1e-300, 700)], 2, 3),
    "softplus": (lambda x: np.log1p(np.exp(x)), lambda x: mpmath.log1p(mpmath.exp(x)), [spans(1e-300, 700)], 2, 3),
    "1/cosh": (quotient, mpmath.sech, [spans(1e-300, 700)], 2, 4),
    "derivative of tanh": (fd.grad(lambda x: np.sum(np.tanh(x))), lambda x: mpmath.sech(x) ** 2, [spans(1e-300, 350)], 4, 6),
    "to the 2.5": (lambda x: x**2.5, lambda x: x ** mpmath.mpf(2.5), [span(1e-120, 1e120)], 1, 1.5),
    "to the -3": (lambda x: x**-3, lambda x: x**-3, [spans(1e-75, 1e75)], 2, 2),
    "power": (np.power, lambda x, y: x**y, [magnitudes(1e-300, 1e300), np.linspace(1.01, -0.99, 24)], 1, 2),
    "power, large exponent": (np.power, lambda x, y: x**y, [magnitudes(0.5, 2), np.linspace(700, -600, 24)], 1, 2),
    "quotient": (np.divide, lambda x, y: x / y, [spans(1e-150, 1e150), spans(1e-150, 1e150)[::-1]], 0.5, 1.5),
    **{f"hypot {k}": (np.hypot, mpmath.hypot, xs, 1.5, 2) for k, xs in PAIRS.items()},
    **{f"arctan2 {k}": (np.arctan2, mpmath.atan2, xs, 1, 3) for k, xs in PAIRS.items()},
    "logaddexp": (np.logaddexp, log_add_exp, SUMMANDS, 2, 3),
    "log of a sum of exponentials": (
        lambda x, y: np.log(np.sum(np.exp(np.stack([x, y])), axis=0)),
        log_add_exp,
        [np.clip(s, -600, 600) for s in SUMMANDS],
        4,
        4,
    ),
}


def units(found, exact):
    """The largest error in units in the last place, and where; one that is not finite where the truth is counts as infinite."""
    with mpmath.workdps(DIGITS):
        errors = [
            float(abs(mpmath.mpf(float(a)) - b) / np.spacing(abs(float(b)))) if np.isfinite(a) and np.isfinite(float(b)) else np.inf * (a != float(b))
            for a, b in zip(found, exact, strict=True)
        ]
    return float(np.max(errors)), int(np.argmax(errors))


@pytest.mark.parametrize("evaluator", ["numpy", "kernel"])
@pytest.mark.parametrize("name", TABLE)
def test_errors_in_units_in_the_last_place(name, evaluator):
    f, truth, xs, of_value, of_derivative = TABLE[name]
    exact = [precise(truth, x) for x in zip(*xs, strict=True)]
    if evaluator == "kernel":
        error, place = units(fd.jit(f)(*xs), [e[0] for e in exact])
        assert error <= of_value, f"value at {[x[place] for x in xs]}"
    for i in range(len(xs)):
        with fd.evaluator(evaluator):
            found = fd.grad(lambda *xs: np.sum(f(*xs)), i)(*xs)
        error, place = units(found, [e[1][i] for e in exact])
        assert error <= of_derivative, f"derivative {i} at {[x[place] for x in xs]}"
