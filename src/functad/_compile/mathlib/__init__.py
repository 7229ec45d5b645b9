"""The functions that a kernel's source may call beyond Python's operators.

In come names, out go functions: as LLVM instructions for `building.direct`, as intrinsics for numba. Names carry the kind of
number: `sin_f8(x)`, `pow_f4(x, y)`, `floor_divide_i8(x, y)`. Beside them: `select(condition, yes, no)`, `offset(pointer, count)`,
constructors `f8, f4, i8, ... c16`, `inf`, `nan`, and `gemm_f8` and its kin.

* `names`: constructors, limits and the status that means doubt
* `values`: LLVM values that compute with Python's operators; what every formula is written in
* `arithmetic`: extremes, rounding, signs, remainders, powers of integers, accumulation
* `exponential`: exp, exp2, expm1, sinh, cosh, tanh, sigmoid, and the formats of floats
* `logarithm`: log, log1p, log2, log10, pow, logaddexp
* `trigonometric`: sin, cos, tan
* `inverse`: the inverse trigonometric and hyperbolic functions
* `special`: erf, erfc, cbrt
* `complex_numbers`: the same for pairs of floats
* `portable`: formulas for processors without a fused multiply-add
* `table`: one row for each function: open it to add one
* `functions`: a row as a function in an LLVM module; Note [doubt]
* `intrinsics`: a row as numba sees it
* `blas`: matrix products through SciPy's BLAS
* `vocabulary`: `lookup` and `has_helper`, from a name to one of these

What it may assume: numba and llvmlite may be imported, since nothing here runs before the first compile; `names` and
`vocabulary` import neither.
What it promises: right values (a few units in the last place, checked against mpmath) for zeros, subnormals, infinities, NaN
and huge arguments; no helper inherits a fast-math flag or an error model from the kernel that calls it.
"""
