"""From program to program; each transform is kept in the memo of the program that it was made of.

A file knows those above it:

* `forms`: what people spell by hand, recognised before a derivative is taken
* `marking`: the same across the steps of a path that is never made a program
* `jvp`: outputs and their tangents
* `linearize`: what is known, and what is linear in the tangents
* `transpose`: from a linear program to the one that carries cotangents back
* `vmap`: a program over a leading axis
* `derivative`: value and gradient, and Jacobians, as one program
"""
