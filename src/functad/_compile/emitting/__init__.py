"""Plan -> the source of one kernel, readable Python.

In comes a program with its sizes, out goes a `KernelText`: one function over pointers and whole numbers, the kinds of its
arguments, and for each line the equation that it was made from.  How an elementwise operation or a step of a reduction is spelt
is in `spellings`; an operation with loops of its own is a function in `along`, `dots` or `nested`, and a line in its table.

* `accesses`: local variables, buffers, and blocks of lines
* `spellings`: one operation on the texts of its operands
* `frames`: where the variables of a program are
* `loops`: a nest of loops, in which values are computed where they are asked for
* `folds`: reductions, and the whole of a nest
* `along`: loops along one axis in order, and adding at computed places
* `dots`: products summed over axes, as loops or a call of BLAS
* `nested`: loops and branches with programs inside
* `emit`: the steps of a plan, and the kernel around them
"""
