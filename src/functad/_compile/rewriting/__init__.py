"""Program to a smaller program with the same values.

In comes a program that passes `verify`, out goes one with the same inputs and outputs. The rules are the only part of kernel
making that goes by the names of primitives.

* `simplifier`: the pass: dead code, common subexpressions, constant folding, inner programs
* `views`: rules for operations that move elements
* `algebra`: rules for elementwise operations and reductions: open it to add one
* `simplify`: the pass with its rules
"""
