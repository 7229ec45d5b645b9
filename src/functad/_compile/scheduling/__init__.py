"""Program -> plan: which variables get memory, which loops compute what, and the key of the kernel.

In comes a simplified program whose equations all have kernel forms, out goes a `Plan`: steps in order.  Whether a value is
stored or computed again, and which values share a loop (fusion), is decided in `schedule`; which numbers are part of a kernel's
key, in `sizes`; which products call BLAS, in `products`.

* `products`: the axes of products, and which of them call BLAS
* `sizes`: whole numbers leave the program for symbols; what remains is the kernel's key
* `plan`: what a plan is made of, and what may be asked of an equation
* `schedule`: from a program to the plan
* `rows`: loops over the same rows run block by block; how long a variable's memory is needed
"""
