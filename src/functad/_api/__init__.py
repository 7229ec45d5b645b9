"""The transforms as users meet them.  The files, each of which knows only those above it:

* `scipys`: what of SciPy's functions `functad.scipy` replaces, and errors from within the others
* `presenting`: errors as the user meets them
* `settings`: what users may choose
* `transformed`: what every transformed function is
* `call`: from a user's call to a program, and from a program to results
* `tape_steps`: the steps that tapes are made of
* `tape`: a gradient step by step, for a path that may never come again
* `control`: `cond`, `scan`, `while_loop`
* `derivatives`: `grad`, `value_and_grad`, and what derivatives with argnums share
* `jit`: `jit`, `make_program`, `show_source`
* `mapping`: `vmap`
* `matching`: tangents and cotangents checked against what they belong to
* `pullbacks`: what `vjp` returns beside the value
* `jacobians`: `jacobian`, `jacrev`, `jacfwd`, `hessian`
* `products`: `vjp`, `jvp`, `linearize`, `linear_transpose`, `hvp`, `stop_gradient`
"""
