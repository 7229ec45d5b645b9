"""NumPy's vocabulary, spelt in primitives.

Importing this package gives tracers their NumPy face: operators, methods, and the doors behind `np.*` calls.
"""

from functad._numpy import algebra as algebra
from functad._numpy import comparing as comparing
from functad._numpy import creating as creating
from functad._numpy import einsum as einsum
from functad._numpy import indexing as indexing
from functad._numpy import interpolate as interpolate
from functad._numpy import linear_algebra as linear_algebra
from functad._numpy import methods as methods
from functad._numpy import norms as norms
from functad._numpy import objects as objects
from functad._numpy import reading as reading
from functad._numpy import rearranging as rearranging
from functad._numpy import reducing as reducing
from functad._numpy import shaping as shaping
from functad._numpy import skipping as skipping
from functad._numpy import sorting as sorting
from functad._numpy import ufunc_methods as ufunc_methods
from functad._numpy import ufuncs as ufuncs
