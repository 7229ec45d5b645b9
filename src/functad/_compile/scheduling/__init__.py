"""Program to plan: which variables get memory, which loops compute what, and in what order.

In comes a simplified program whose equations all have kernel forms; out goes its key (`sizes.read`) and a list of steps
(`schedule.schedule`, `rows.in_rows`), which say what is computed where and nothing of how it is spelt.

* `products`: the axes of a product of arrays, and whether it calls BLAS
* `sizes`: sizes become symbols; what remains is the key of the kernel
* `plan`: what a schedule is made of, and what an equation costs
* `schedule`: storage and fusion: open it to change what shares a loop
* `rows`: nests that run block by block over the same rows; how long memory is needed
"""
