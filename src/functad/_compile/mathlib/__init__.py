"""The functions that a kernel's source may call beyond Python's operators.

In comes the name of a helper, out goes what it means to each of the compilers of `building`: right values (a few units in the
last place, checked against mpmath) for zeros, subnormals, infinities, NaN and huge arguments.  No helper inherits a fast-math
flag or an error model from the kernel that calls it.  A formula is a function in the file that is named after its kind, and a
row in `table`.  numba and llvmlite may be imported, since nothing here runs before the first compile.

* `values`: LLVM values that compute with Python's operators
* `exponential`: exp and what is made of it
* `logarithm`: log and what is made of it, powers too
* `trigonometric`: sin, cos, tan
* `inverse`: the inverses of trigonometric and hyperbolic functions
* `special`: erf, erfc, cbrt
* `portable`: formulas for processors without a fused multiply-add
* `arithmetic`: extremes, rounding, signs, remainders
* `complex_numbers`: complex arithmetic on pairs of floats
* `table`: the one table of helpers
* `functions`: helpers as LLVM functions, and Note [doubt]
* `intrinsics`: helpers as numba sees them
* `blas`: matrix products
* `names`: what a name means in a kernel's source
"""
