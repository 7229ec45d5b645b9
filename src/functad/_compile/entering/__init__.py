"""The way from Python into a kernel.

In comes a `Kernel` with its inputs and outputs (`Slot`); out goes a callable that checks its arguments, allocates and calls.

* `layout`: where CPython and NumPy keep what is read
* `front_code`: the machine code of the way in, one C function for all kernels
* `front`: the table that tells it what to check, and the slow way where the layout is not known
"""
