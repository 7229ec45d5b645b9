"""What a program is and how one is recorded; knows of no operation by name.

A file knows those above it:

* `types`: shape, dtype and weakness of a value, interned
* `values`: cells that compute what a question depends on, once
* `held`: captured arrays, and how a write to one is noticed
* `primitive`: what an operation declares, the registry, and the builder that calls of primitives go to
* `program`: variables, literals, equations, programs, and their text
* `interpret`: a program as straight-line Python over NumPy
* `template`: the equations of one user-level operation, kept once for each combination of types
* `trie`: the nodes and roots of everything recorded, and the programs of paths
* `tracer`: the traced value
* `recorder`: builders, doors, staging, and the walk along the trie
* `verify`: the invariants of a program
"""
