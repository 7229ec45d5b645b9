"""From a program to machine code.

In comes a program that passes `verify`, out goes something that runs.  The room goes by the kernel forms that primitives declare
and by their names in `rewriting` only.  Importing it imports neither numba nor llvmlite nor SciPy; those are met at the first
compile.  Sub-rooms and files in the order in which data passes them; each knows those above it:

* `codes`: the dtypes that kernels know
* `rewriting`: program -> a smaller program with the same values
* `scheduling`: program -> plan: what gets memory, which loops compute what, and the key of the kernel
* `emitting`: plan -> source, readable Python
* `mathlib`: the functions that a source may call
* `building`: source -> machine code
* `entering`: machine code -> a callable that checks its arguments
* `costs`: what evaluating and compiling are estimated to cost
* `segments`: where NumPy must step in, and the way through kernels and host operations
* `pipeline`: leads through all of it
"""
