"""SciPy's ufuncs on traced values: `meet_scipy` gives them their doors.

It imports SciPy, so it runs when a ufunc without a door is met while scipy.special is loaded, and when `functad.scipy` is imported:
docs/decisions/scipy-is-met-late.md.
"""

import functools

import numpy as np

from functad._core.primitive import REGISTRY, Primitive, Spelling
from functad._numpy.arguments import Implementation
from functad._numpy.dispatch import LATE
from functad._numpy.ufuncs import declare, spell
from functad._primitives import elementwise as e

__all__ = ["meet_scipy"]


@functools.cache
def meet_scipy() -> None:
    """Give SciPy's ufuncs their doors, once."""
    from scipy import special

    from functad._primitives import bessel

    for op in list(REGISTRY.values()):
        if op.home and op.spelling is not None:
            spell(op)
    # what SciPy has a ufunc of its own for, and those with two results
    composed: dict[np.ufunc, Primitive | Implementation] = {
        special.log1p: e.log1p, special.expm1: e.expm1, special.exp2: e.exp2, special.cbrt: e.cbrt,
        special.sici: lambda x: (bessel.sine_integral(x), bessel.cosine_integral(x)),
        special.fresnel: lambda x: (bessel.fresnel_sine(x), bessel.fresnel_cosine(x)),
    }  # fmt: skip
    for ufunc, function in composed.items():
        declare(ufunc, function, Spelling())


LATE["scipy.special"] = meet_scipy
