"""Program -> a smaller program with the same values: the only part of the room that goes by the names of primitives.

In comes a program that passes `verify`, out goes one with the same inputs and outputs.  A rewrite is a rule in `views` or
`algebra`: one function, and its line in the table at the end of that file.

* `simplifier`: one pass over the equations, and what a rule may ask and record
* `views`: rules for operations that move elements
* `algebra`: rules for elementwise operations and reductions
* `simplify`: the pass with all rules
"""
