"""Source -> machine code that can be called.

In comes the source of one kernel, with the kinds of its arguments and the equation behind each line, out goes a `Kernel`.  The
plain part of Python that kernels are written in is known to `direct`; a source with anything else goes through numba, all that
is known of which is in `lowering`.

* `locks`: the one lock of all compiling, and forks
* `source`: the names that a source reads, and where an error is
* `machine_code`: LLVM: optimise, make object code, load it
* `direct`: a source straight to an LLVM module
* `lowering`: a source to an LLVM module by way of numba
* `kernel`: the compiled kernel, made once for equal sources
"""
