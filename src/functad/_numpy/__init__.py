"""NumPy's vocabulary, spelt in primitives.

Importing this package gives tracers their NumPy face: operators, methods, and the doors behind `np.*` calls.
Its files, each of which knows only those above it:

* `arguments`: what NumPy's functions take and give, as types, and the arguments that many of them share
* `dispatch`: how a NumPy call on traced values finds its implementation
* `promote`: promotion, casts and broadcasting made explicit
* `shaping`: reshaping, reordering, joining, splitting, broadcasting
* `ufuncs`: ufuncs and Python's operators
* `creating`: arrays like others, ranges, choices, rounding, casts, parts of complex numbers
* `indexing`: `x[...]` in all of its forms
* `objects`: lists and object arrays that hold traced values
* `rearranging`: elements moved to places that are known beforehand
* `reducing`: sums, means, spreads, extremes, truth, running sums
* `algebra`: products of arrays, traces
* `comparing`: comparison of whole arrays, tests of their elements
* `reading`: places that an index, a mask or a value decides
* `skipping`: reductions that skip NaN
* `sorting`: sorting, ranking, and what is read off a sorted array
* `ufunc_methods`: `np.add.reduce`, `np.multiply.outer` and their like
* `convolving`: convolution and correlation
* `fourier`: np.fft
* `einsum`: any subscripts, in products of two operands
* `waves`: np.sinc, np.i0 and np.unwrap
* `interpolate`: interpolation, sums and slopes over sample points
* `methods`: the rest of ndarray's face: attributes, methods, conversions, writing
* `norms`: norms of vectors and matrices
* `linear_algebra`: systems, inverses, decompositions
* `polynomials`: coefficients, roots, fits, and samples between two ends
* `statistics`: covariances, correlations, histograms
* `applying`: a user's function along axes
* `sets`: arrays as sets
* `special`: SciPy's ufuncs, when one is met
"""

from functad._numpy import algebra as algebra
from functad._numpy import applying as applying
from functad._numpy import arguments as arguments
from functad._numpy import comparing as comparing
from functad._numpy import convolving as convolving
from functad._numpy import creating as creating
from functad._numpy import dispatch as dispatch
from functad._numpy import einsum as einsum
from functad._numpy import fourier as fourier
from functad._numpy import indexing as indexing
from functad._numpy import interpolate as interpolate
from functad._numpy import linear_algebra as linear_algebra
from functad._numpy import methods as methods
from functad._numpy import norms as norms
from functad._numpy import objects as objects
from functad._numpy import polynomials as polynomials
from functad._numpy import promote as promote
from functad._numpy import reading as reading
from functad._numpy import rearranging as rearranging
from functad._numpy import reducing as reducing
from functad._numpy import sets as sets
from functad._numpy import shaping as shaping
from functad._numpy import skipping as skipping
from functad._numpy import sorting as sorting
from functad._numpy import special as special
from functad._numpy import statistics as statistics
from functad._numpy import ufunc_methods as ufunc_methods
from functad._numpy import ufuncs as ufuncs
from functad._numpy import waves as waves
