"""From a program to something that runs.

In comes a `Program` that passes `verify`; out goes a callable. Of primitives this room sees kernel forms: it handles kinds, and
names only in `rewriting`. The rooms stand in the order in which one may know of another; `pipeline` leads through all.

* `costs`: estimated times: when compiling pays
* `rewriting`: program to a smaller program: algebra and views
* `scheduling`: program to plan: sizes, storage, fusion of loops
* `emitting`: plan to source: how each step is spelt
* `mathlib`: the functions that a source may call: vector mathematics, complex numbers, BLAS
* `building`: source to machine code
* `entering`: checks, allocation and the call
* `segments`: where NumPy must step in between kernels
* `pipeline`: `Executable`: NumPy until a kernel has paid for itself, then the kernel

What it promises: importing it imports neither numba nor llvmlite nor SciPy; those are met at the first compile.
"""
