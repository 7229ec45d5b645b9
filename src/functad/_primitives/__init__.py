"""Every operation, declared once.  Importing this package fills the registry, save with the functions of SciPy's, which need SciPy.

The files, each knowing only those above it:

* `operands`: what rules compute with: the types of values and examples, and literals
* `rules`: the types of rules
* `alive`: structural zeros of tangents and cotangents, and which elements are none
* `shape`: the kind of views, and operations that move elements
* `arithmetic`: the elementwise kind, sums, products and choice, and how tangents are multiplied
* `logic`: comparison, logic, casts, the parts of complex numbers
* `elementwise`: powers and the elementary functions, one row each
* `parts`: signs, exponents and fractions of numbers, their neighbours, functions of whole numbers
* `entire`: entire functions with all of their derivatives
* `cumulative`: running sums and products, and the linear recurrence
* `reduce`: reductions over axes, and the place of an extreme
* `index`: reading and adding at computed places, and counting
* `sort`: order
* `convolution`: one array that moves along another
* `fourier`: discrete Fourier transforms along one axis
* `dot`: the product of two arrays summed over pairs of axes
* `linalg`: linear systems, inverses, determinants, the Cholesky factor
* `decompositions`: matrices into factors
* `forms`: identities that carry a better derivative
* `inner_values`: values on their way into inner programs and out of them
* `inner_programs`: cutting, hoisting and narrowing inner programs
* `cond`: one of two computations
* `scan`: a loop with a fixed number of steps
* `while_loop`: a loop while a condition holds
* `special`: functions of scipy.special: gamma, error functions, distributions, entropies.  Not imported before SciPy is met
* `bessel`: more of them: Bessel functions, integrals, hypergeometric and elliptic functions.  Not imported before SciPy is met
"""

from functad._primitives import cond as cond
from functad._primitives import convolution as convolution
from functad._primitives import decompositions as decompositions
from functad._primitives import entire as entire
from functad._primitives import forms as forms
from functad._primitives import fourier as fourier
from functad._primitives import parts as parts
from functad._primitives import scan as scan
from functad._primitives import sort as sort
from functad._primitives import while_loop as while_loop
