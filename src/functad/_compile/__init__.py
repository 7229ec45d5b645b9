"""From a program to machine code.

What lives here: the passes that turn a `Program` into a kernel's source (`pipeline`, `simplify`, `schedule`, `emit`),
the compiler of that source (`kernel`, `direct`, `lowering`, `mathlib`) and the way from Python into a kernel (`front`,
`front_code`, `layout`).
What it may assume: programs that pass `verify`, and of primitives their kernel forms: this room handles kinds, and
names only in the algebra of `simplify`.
What it promises: importing it imports neither numba nor llvmlite nor SciPy; those are met at the first compile.
"""
