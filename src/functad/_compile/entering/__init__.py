"""The way from Python into a kernel: check the arguments, allocate the results, call.

In comes a `Kernel` with what each of its words stands for, out goes a callable.  What is checked in Python, and what a status
means, is in `front`; what is checked in machine code, in `front_code`; where CPython and NumPy keep things, in `layout`.

* `layout`: where objects keep what the front reads, and whether they do so here
* `front_code`: the one C function that serves all kernels
* `front`: callables of kernels, fast and slow
"""
