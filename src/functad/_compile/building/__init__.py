"""Source to machine code that can be called.

In comes the source of one function over pointers and int64 numbers; out goes a `Kernel`.

* `machine_code`: LLVM: optimise, make object code, load
* `direct`: source to an LLVM module, for the plain part of Python that kernels are written in
* `lowering`: the same through numba, for every other source; all that is known of numba's internals
* `kernel`: the lock, the table of kernels that live, errors with their line; leads through the others
"""
