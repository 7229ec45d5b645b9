"""Plan to source: readable Python that `building` compiles.

In comes a program with its sizes; out goes `KernelText`. Each file knows how one kind of step is written.

* `spelling`: one operation on given texts: casts, literals of reductions, messages
* `accesses`: local variables and buffers, reads and writes; blocks of lines; fresh names
* `frame`: where the variables of a program are, inner programs too; filling and copying buffers
* `nest`: a nest of loops, and values pulled inside it: elementwise operations, views, computed places
* `folds`: reductions inside a nest
* `loops`: a whole step of stores and reductions
* `along`: running sums, the recurrence, places of extremes, adding at computed places
* `dots`: products of arrays, as loops or through BLAS
* `nested`: scan, while loop and cond
* `emit`: the whole kernel
"""
