"""erf for float64 and float32, without branches: all three ranges are computed and one is chosen; erfc over libm; cbrt.

Coefficients: Sun's fdlibm s_erf.c near 0; Cephes ndtr.c (Moshier) for 0.84 <= |x| < 1 and beyond.  exp(-x**2) gets
the rounding error of x**2 as well, without which the result would be 2.3 units off.
"""

from functad._compile.mathlib.exponential import exp, exp_of_sum
from functad._compile.mathlib.logarithm import log
from functad._compile.mathlib.values import Value, absolute, copysign, external, fma, polynomial, select

_NEAR_ABOVE = (
    1.28379167095512558561e-01, -3.25042107247001499370e-01, -2.84817495755985104766e-02, -5.77027029648944159157e-03,
    -2.37630166566501626084e-05,
)  # fmt: skip
_NEAR_BELOW = (
    1.0, 3.97917223959155352819e-01, 6.50222499887672944485e-02, 5.08130628187576562776e-03,
    1.32494738004321644526e-04, -3.96022827877536812320e-06,
)  # fmt: skip
_MIDDLE_ABOVE = (5.55923013010394962768e4, 7.00332514112805075473e3, 2.23200534594684319226e3, 9.00260197203842689217e1, 9.60497373987051638749e0)
_MIDDLE_BELOW = (
    4.92673942608635921086e4, 2.26290000613890934246e4, 4.59432382970980127987e3, 5.21357949780152679795e2,
    3.35617141647503099647e1, 1.0,
)  # fmt: skip
_FAR_ABOVE = (
    5.57535335369399327526e2, 1.02755188689515710272e3, 9.34528527171957607540e2, 5.26445194995477358631e2,
    1.96520832956077098242e2, 4.86371970985681366614e1, 7.46321056442269912687e0, 5.64189564831068821977e-1,
    2.46196981473530512524e-10,
)  # fmt: skip
_FAR_BELOW = (
    5.57535340817727675546e2, 1.65666309194161350182e3, 2.24633760818710981792e3, 1.82390916687909716289e3,
    9.75708501743205489753e2, 3.54937778887819891062e2, 8.67072140885989742329e1, 1.32281951154744992508e1,
    1.0,
)  # fmt: skip


def erf(x: Value) -> Value:
    if x.kind == "f4":
        return erf(x.to("f8")).to("f4")
    size = absolute(x)
    near, middle = size < 0.84375, size < 1.0
    z = x * x
    limited = select(size > 6.0, 6.0, size)  # erf(6) is 1
    square = limited * limited
    square_dropped = fma(limited, limited, -square)
    above = select(near, polynomial(z, _NEAR_ABOVE), select(middle, polynomial(z, _MIDDLE_ABOVE), polynomial(limited, _FAR_ABOVE)))
    below = select(near, polynomial(z, _NEAR_BELOW), select(middle, polynomial(z, _MIDDLE_BELOW), polynomial(limited, _FAR_BELOW)))
    ratio = above / below
    far = copysign(1.0 - exp_of_sum(-square, -square_dropped) * ratio, x)
    value = select(near, fma(x, ratio, x), select(middle, x * ratio, far))
    return select(x != x, x, value)


def erfc(x: Value) -> Value:
    """libm's, which is scalar; float32 by way of float64, since erfcf is 2.04 units off."""
    return external("erfc", x.to("f8")).to(x.kind)


def cbrt(x: Value) -> Value:
    """exp(log|x|/3), which is 200 units off where log|x| is large, and for float64 one step of Newton's."""
    size = absolute(x.to("f8"))
    if x.kind == "f4":
        root = exp(log(size) * (1 / 3))
    else:
        tiny = size < 1e-290  # the step needs the difference of root**3 and x
        a = select(tiny, size * 2.0**162, size)
        guess = exp(log(a) * (1 / 3))
        square = guess * guess
        excess = fma(square, guess, -a) + fma(guess, guess, -square) * guess
        root = guess - excess / (3.0 * square)
        root = select(tiny, root * 2.0**-54, root)
    return select((absolute(x) < float("inf")) & (x != 0.0), copysign(root.to(x.kind), x), x)
