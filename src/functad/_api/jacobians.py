"""jacobian, jacrev, jacfwd, hessian."""

from functad._api.call import Traced, build, differentiated, run_program, unflatten_output
from functad._api.derivatives import Argnums, Derivative, normal_argnums
from functad._core.program import Program, without_dead
from functad._transforms import derivative
from functad.errors import UnsupportedArgumentError
from functad.tree import Function, Tree

__all__ = ["hessian", "jacfwd", "jacobian", "jacrev"]


class Jacobian(Derivative):
    """jacobian, jacrev, jacfwd."""

    def __init__(
        self, function: Function, argnums: int | tuple[int, ...] = 0, mode: str = "auto", has_aux: bool = False, holomorphic: bool = False
    ) -> None:
        super().__init__(function, argnums, mode=mode, has_aux=has_aux, holomorphic=holomorphic)
        self.mode, self.has_aux, self.holomorphic = mode, has_aux, holomorphic
        self.name = {"auto": "jacobian", "forward": "jacfwd", "reverse": "jacrev"}[mode]

    def __call__(self, *args: Tree, **kwargs: Tree) -> Tree:
        """The Jacobian: for each output leaf the tree of the arguments, with shape output shape + argument shape."""
        traced, argument, leaves = self._traced(args, kwargs)
        program, active = traced.program, traced.active(argument.mask)
        n, structure = differentiated(traced, self.name, self.has_aux)
        if not n:
            raise UnsupportedArgumentError(f"{self.name} of a function that returns nothing to differentiate")
        key = ("jacobian plan", active, self.mode, n, self.has_aux, self.holomorphic)
        plan = program.memo.get(key)
        if plan is None:
            self._check_complex(traced, active, n)
            whole = derivative.jacobian(program, active, self._forward(traced, active, n), n)
            first = n if self.has_aux else len(program.outputs)
            plan = program.memo[key] = without_dead(Program(whole.inputs, whole.equations, whole.outputs[first:]))
        outs = run_program(plan, traced.inputs())
        count = sum(active)
        aux = outs[: len(outs) - count * n]
        blocks = outs[len(aux) :]
        rows = [argument.rebuild(blocks[i * count : (i + 1) * count], leaves) for i in range(n)]
        result = build(structure, rows)
        return (result, unflatten_output(traced, [None] * n + list(aux))[1]) if self.has_aux else result

    def _check_complex(self, traced: Traced, active: tuple[bool, ...], outputs: int) -> None:
        """Refuse what a mode would answer with half of the derivative."""
        given = {v.type.dtype.kind for v, a in zip(traced.program.inputs, active, strict=True) if a}
        found = {t.dtype.kind for t in traced.program.output_types[:outputs]}
        if self.holomorphic:
            if given != {"c"} or found != {"c"}:
                raise UnsupportedArgumentError(f"{self.name} with holomorphic=True needs complex arguments and a complex output")
        elif "c" in given and "c" in found:
            raise UnsupportedArgumentError(
                f"{self.name} of a complex function of complex arguments: say holomorphic=True if it is complex-differentiable, else "
                "differentiate its real and imaginary parts with respect to those of the argument"
            )
        elif "c" in found and self.mode == "reverse":
            raise UnsupportedArgumentError(
                f"{self.name} of a complex function of real arguments would lose the imaginary part: use jacfwd or jacobian"
            )
        elif "c" in given and self.mode == "forward":
            raise UnsupportedArgumentError(f"{self.name} with complex arguments would follow the real axis only: use jacrev, jacobian or grad")

    def _forward(self, traced: Traced, active: tuple[bool, ...], outputs: int) -> bool:
        if self.mode != "auto":
            return self.mode == "forward"
        if not self.holomorphic:
            if any(t.dtype.kind == "c" for t in traced.program.output_types[:outputs]):
                return True
            if any(v.type.dtype.kind == "c" for v, a in zip(traced.program.inputs, active, strict=True) if a):
                return False
        size_in = sum(v.type.size for v, a in zip(traced.program.inputs, active, strict=True) if a)
        size_out = sum(t.size for t in traced.program.output_types[:outputs])
        # reverse mode needs a rule that forward mode does not (while_loop has none), so it must win clearly
        return size_out >= size_in or any(e.op.name == "while_loop" for e in traced.program.equations)


def jacobian(fun: Function, argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False) -> Function:
    """Jacobian, in forward or reverse mode by the number of inputs and outputs.

    Parameters
    ----------
    fun : callable
        Function of arrays or pytrees, returning an array or pytree.
    argnums : int or sequence of int, optional
        Positional arguments to differentiate with respect to.
    has_aux : bool, optional
        Whether `fun` returns `(output, aux)`.
    holomorphic : bool, optional
        Whether `fun` is complex-differentiable: needed where arguments and outputs are complex.

    Returns
    -------
    callable
        Returns for each output leaf the tree of the arguments; each leaf has shape `output.shape + argument.shape`.

    Raises
    ------
    IntegerInputError
        If a chosen argument is an integer or boolean array.
    UnsupportedArgumentError
        Where complex numbers leave half of the derivative out.

    Examples
    --------
    >>> import numpy as np
    >>> from functad import jacobian
    >>> jacobian(lambda x: x**2)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    """
    return Jacobian(fun, normal_argnums(argnums), "auto", bool(has_aux), bool(holomorphic))


def jacrev(fun: Function, argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False) -> Function:
    """Jacobian by reverse mode: one pullback for each output element.

    Parameters
    ----------
    fun, argnums, has_aux, holomorphic
        As for `jacobian`.

    Returns
    -------
    callable
        As for `jacobian`.

    Raises
    ------
    IntegerInputError
        If a chosen argument is an integer or boolean array.
    UnsupportedArgumentError
        Where complex numbers leave half of the derivative out.

    Examples
    --------
    >>> import numpy as np
    >>> from functad import jacrev
    >>> jacrev(lambda x: np.sum(x**2))(np.array([1.0, 2.0]))
    array([2., 4.])
    """
    return Jacobian(fun, normal_argnums(argnums), "reverse", bool(has_aux), bool(holomorphic))


def jacfwd(fun: Function, argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False) -> Function:
    """Jacobian by forward mode: one tangent for each input element.

    Parameters
    ----------
    fun, argnums, has_aux, holomorphic
        As for `jacobian`.

    Returns
    -------
    callable
        As for `jacobian`.

    Raises
    ------
    IntegerInputError
        If a chosen argument is an integer or boolean array.
    UnsupportedArgumentError
        Where complex numbers leave half of the derivative out.

    Examples
    --------
    >>> import numpy as np
    >>> from functad import jacfwd
    >>> jacfwd(lambda x: np.array([1.0, 3.0]) * x)(2.0)
    array([1., 3.])
    """
    return Jacobian(fun, normal_argnums(argnums), "forward", bool(has_aux), bool(holomorphic))


def hessian(fun: Function, argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False) -> Function:
    """Hessian: forward mode over reverse mode.

    Parameters
    ----------
    fun : callable
        Function with one real output (or a pytree of arrays, whose second derivatives are stacked).
    argnums : int or sequence of int, optional
        Positional arguments to differentiate with respect to.
    has_aux : bool, optional
        Whether `fun` returns `(output, aux)`.
    holomorphic : bool, optional
        Whether `fun` is complex-differentiable: needed where arguments and outputs are complex.

    Returns
    -------
    callable
        Returns trees of the arguments within trees of the arguments; leaves have shape `output.shape + argument.shape + argument.shape`.

    Raises
    ------
    IntegerInputError
        If a chosen argument is an integer or boolean array.
    UnsupportedArgumentError
        Where complex numbers leave half of the derivative out.

    Examples
    --------
    >>> import numpy as np
    >>> from functad import hessian
    >>> hessian(lambda x: x[0] ** 2 * x[1])(np.array([1.0, 2.0]))
    array([[4., 2.],
           [2., 0.]])
    """
    return jacfwd(jacrev(fun, argnums, has_aux, holomorphic), argnums, has_aux, holomorphic)
