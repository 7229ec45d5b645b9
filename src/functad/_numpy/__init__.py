"""NumPy's vocabulary, spelt in primitives.

Importing this package gives tracers their NumPy face: operators, methods, and the doors behind `np.*` calls.
"""

from functad._numpy import ufuncs as ufuncs
from functad._numpy import algebra as algebra
from functad._numpy import einsum as einsum
from functad._numpy import norms as norms
from functad._numpy import linear_algebra as linear_algebra
