"""vjp, jvp, linearize, linear_transpose, hvp, stop_gradient: products with Jacobians."""

from collections.abc import Iterable, Sequence
from functools import partial

import numpy as np

from functad import tree
from functad._api.call import (
    Traced,
    argument_structures,
    build,
    differentiated,
    flatten_call,
    leaf_count,
    leaf_type,
    run_program,
    trace_call,
    unflatten_output,
)
from functad._api.derivatives import Grad, float_leaf
from functad._api.matching import matching, matching_tangents
from functad._api.pullbacks import Point, Pullback, TapedPullback, like_primals, outputs_alone
from functad._api.tape import is_long, rented
from functad._core.program import Program, without_dead
from functad._core.recorder import Door, unary
from functad._core.tracer import Tracer
from functad._core.types import ArrayType
from functad._primitives.inner_programs import memoised
from functad._primitives.logic import stop_gradient as stop
from functad._transforms import derivative
from functad._transforms.jvp import jvp as jvp_program
from functad._transforms.linearize import linearize as linearize_program
from functad.errors import MissingRuleError, TreeMismatchError, UnsupportedArgumentError
from functad.tree import Function, Leaf, Tree

__all__ = ["hvp", "jvp", "linear_transpose", "linearize", "stop_gradient", "vjp"]


_ARRAY = np.empty(0)


class _Primals:
    """Where to differentiate, taken apart: leaves that have derivatives, and the trees that they stand in."""

    __slots__ = ("leaves", "structure", "structures")

    def __init__(self, primals: Sequence[Tree], name: str) -> None:
        leaves, self.structure = flatten_call(tuple(primals), {})
        self.structures = argument_structures(self.structure)
        self.leaves = [
            x if type(x) is np.ndarray and x.dtype.kind in "fc" else float_leaf(x, name, partial(self._name, i)) for i, x in enumerate(leaves)
        ]

    def _name(self, i: int) -> str:
        owners = [k for k, structure in enumerate(self.structures) for _ in range(leaf_count(structure))]
        return f"argument {owners[i]}"

    def trace(self, function: Function, name: str, reason: str | None = None) -> Traced:
        """One run of the function here; `name` is that of the transform."""
        if not callable(function):
            raise UnsupportedArgumentError(f"{name} takes a function first, got {function!r}")
        return trace_call(function, self.leaves, self.structure, reason)

    def kinds(self) -> list[Leaf]:
        """Of each leaf only whether it was an array, never its value."""
        return [_ARRAY if isinstance(x, np.ndarray) else None for x in self.leaves]

    def active(self, traced: Traced) -> tuple[bool, ...]:
        """Mask of the program's inputs: all but what was captured."""
        return traced.active([True] * len(self.leaves))

    def tangents(self, given: Sequence[Leaf]) -> list[Leaf]:
        """Leaves of tangents, checked against the primals."""
        return matching_tangents(given, self.structures, [leaf_type(x)[1] for x in self.leaves])


def _linearized(traced: Traced, at: _Primals, name: str, has_aux: bool) -> tuple[Point, Tree, Tree]:
    """(the point, the function's output there, aux)."""
    n, structure = differentiated(traced, name, has_aux)
    program, inputs = traced.program, traced.inputs()
    main, aux = outputs_alone(program, n), None
    halves = linearize_program(main, at.active(traced))
    outs = run_program(halves.forward, inputs)
    if has_aux:
        rest = memoised(program, ("aux", n), lambda: without_dead(Program(program.inputs, program.equations, program.outputs[n:])))
        aux = unflatten_output(traced, [*[None] * n, *run_program(rest, inputs)])[1]
    return Point(halves, tuple(outs[n:]), structure, main.output_types), build(structure, outs[:n]), aux


def _taped(traced: Traced, at: _Primals, has_aux: bool) -> tuple[Tree, TapedPullback, Tree] | None:
    """(output, pullback, aux) along a tape, or None where the program serves."""
    n, structure = differentiated(traced, "vjp", has_aux)
    assert is_long(traced.program)
    tape = rented(traced.program, at.active(traced), n, traced.inputs())
    if tape is None:
        return None
    pullback = TapedPullback(tape, traced, at.active(traced), n, structure, at.structure, at.kinds())
    outputs = pullback.outputs
    aux = unflatten_output(traced, [*[None] * n, *outputs[n:]])[1] if has_aux else None
    return build(structure, outputs[:n]), pullback, aux


def vjp(fun: Function, *primals: Tree, has_aux: bool = False) -> Tree:
    """Value of a function, and the pullback of cotangents through it.

    Parameters
    ----------
    fun : callable
        Function of arrays or pytrees.
    *primals : array, number or pytree
        Where to differentiate; floating-point leaves.
    has_aux : bool, optional
        Whether `fun` returns `(output, aux)`.

    Returns
    -------
    output : pytree
        `fun(*primals)`.
    pullback : callable
        Takes a cotangent with the tree and shapes of the output, returns a tuple with one cotangent for each primal.  It holds copies of what
        it needs: it may be called again, from any thread, and later changes to the arguments do not matter.
    aux : any
        Only with `has_aux`.

    Raises
    ------
    IntegerInputError
        If a primal is an integer or boolean array.
    TreeMismatchError, ShapeMismatchError
        From the pullback, where the cotangent does not fit the output.

    Examples
    --------
    >>> import numpy as np
    >>> from functad import vjp
    >>> out, pullback = vjp(np.sin, np.array([0.0, np.pi]))
    >>> pullback(np.array([1.0, 2.0]))
    (array([ 1., -2.]),)
    """
    at = _Primals(primals, "vjp")
    traced = at.trace(fun, "vjp")
    taped = _taped(traced, at, has_aux) if is_long(traced.program) else None
    if taped is not None:
        return taped if has_aux else taped[:2]
    point, out, aux = _linearized(traced, at, "vjp", has_aux)
    pullback = Pullback(point, at.structure, at.kinds())
    return (out, pullback, aux) if has_aux else (out, pullback)


def linearize(fun: Function, *primals: Tree, has_aux: bool = False) -> Tree:
    """Value of a function, and its linear approximation there.

    Parameters
    ----------
    fun : callable
        Function of arrays or pytrees.
    *primals : array, number or pytree
        Where to linearise.
    has_aux : bool, optional
        Whether `fun` returns `(output, aux)`.

    Returns
    -------
    output : pytree
        `fun(*primals)`.
    pushforward : callable
        Takes tangents like the primals, returns the tangent of the output; evaluates only the linear part.
    aux : any
        Only with `has_aux`.

    Raises
    ------
    IntegerInputError
        If a primal is an integer or boolean array.

    Examples
    --------
    >>> import numpy as np
    >>> from functad import linearize
    >>> out, push = linearize(lambda x: x**2, 3.0)
    >>> out, push(1.0), push(2.0)
    (np.float64(9.0), np.float64(6.0), np.float64(12.0))
    """
    at = _Primals(primals, "linearize")
    point, out, aux = _linearized(at.trace(fun, "linearize"), at, "linearize", has_aux)

    def pushforward(*tangents: Tree) -> Tree:
        """The tangent of the output."""
        found = run_program(point.halves.linear, [*point.residuals, *at.tangents(tangents)])
        return build(point.structure, _with_zeros(found, point.halves.out_active, point.types))

    return (out, pushforward, aux) if has_aux else (out, pushforward)


def _with_zeros(found: Iterable[Leaf], on: Sequence[bool], types: Sequence[ArrayType]) -> list[Leaf]:
    """Tangents of all outputs: zero where one does not depend on the arguments."""
    given = iter(found)
    return [next(given) if o else np.zeros(k.shape, k.dtype if k.is_inexact else np.float64)[()] for o, k in zip(on, types, strict=True)]


def jvp(fun: Function, primals: Sequence[Tree], tangents: Sequence[Tree], has_aux: bool = False) -> Tree:
    """Value of a function and its directional derivative, in one forward pass.

    Parameters
    ----------
    fun : callable
        Function of arrays or pytrees.
    primals : sequence
        Arguments of `fun`.
    tangents : sequence
        A direction for each, with the same trees and shapes.
    has_aux : bool, optional
        Whether `fun` returns `(output, aux)`.

    Returns
    -------
    output, tangent : pytree
        `fun(*primals)`, and its derivative along the tangents.
    aux : any
        Only with `has_aux`.

    Raises
    ------
    IntegerInputError
        If a primal is an integer or boolean array.
    TreeMismatchError, ShapeMismatchError
        Where tangents do not fit the primals.

    Examples
    --------
    >>> import numpy as np
    >>> from functad import jvp
    >>> jvp(np.sin, (0.0,), (2.0,))
    (np.float64(0.0), np.float64(2.0))
    """
    return _pushed(fun, primals, tangents, has_aux, "jvp")


def _pushed(fun: Function, primals: Sequence[Tree], tangents: Sequence[Tree], has_aux: bool, name: str) -> Tree:
    """jvp, under the name that its errors give."""
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        raise TreeMismatchError(f"{name} takes its primals and tangents as tuples or lists: {name}(f, (x,), (t,))")
    at = _Primals(primals, name)
    traced = at.trace(fun, name)
    ts = at.tangents(tangents)
    count, structure = differentiated(traced, name, has_aux)
    pushed, on = jvp_program(traced.program, at.active(traced), ())
    outs = run_program(pushed, [*traced.inputs(), *ts])
    m = len(traced.program.outputs)
    tangent = build(structure, _with_zeros(outs[m:], on, traced.program.output_types)[:count])
    value = unflatten_output(traced, outs[:m])
    return (value[0], tangent, value[1]) if has_aux else (value, tangent)


def linear_transpose(fun: Function, *primals: Tree) -> Function:
    """The transpose of a linear function.

    Parameters
    ----------
    fun : callable
        A function that is linear in all its arguments.  One whose derivative depends on them is refused; an offset, as in `x + 1`, is not
        looked for and has no influence.
    *primals : array, number or pytree
        Examples of the arguments; only shapes and dtypes matter.

    Returns
    -------
    callable
        Takes a cotangent like the output, returns a tuple of cotangents like the primals.

    Raises
    ------
    MissingRuleError
        If the derivative of `fun` depends on its arguments.

    Examples
    --------
    >>> import numpy as np
    >>> from functad import linear_transpose
    >>> linear_transpose(lambda x: 3.0 * x[1:], np.zeros(3))(np.array([1.0, 2.0]))
    (array([0., 3., 6.]),)
    """
    at = _Primals(primals, "linear_transpose")
    traced = at.trace(fun, "linear_transpose", "an argument of a function to be transposed")
    _, structure = differentiated(traced, "linear_transpose", False)
    program = derivative.transposed(traced.program, at.active(traced))
    if program is None:
        raise MissingRuleError(
            "linear_transpose needs a function that is linear in all its arguments, but the derivative of this one depends on them: hold what "
            "it is not linear in as a captured value, or transpose its derivative with vjp"
        )

    def transposed(cotangent: Tree) -> tuple[Tree, ...]:
        """Cotangents of the arguments."""
        cts = matching(cotangent, structure, traced.program.output_types, "cotangent", "output")
        return like_primals(at.structure, at.leaves, run_program(program, [*traced.captured, *cts]))

    return transposed


def hvp(fun: Function, primals: Sequence[Tree], tangents: Sequence[Tree]) -> Tree:
    """Product of the Hessian with a vector, forward over reverse: about twice the cost of a gradient.

    Parameters
    ----------
    fun : callable
        Function with one real output.
    primals : sequence
        Arguments of `fun`.
    tangents : sequence
        The vector, one part for each argument.

    Returns
    -------
    pytree
        Like the argument for one primal, else a tuple with one part for each.

    Raises
    ------
    NonScalarOutputError
        If the output is not one real number.

    Examples
    --------
    >>> import numpy as np
    >>> from functad import hvp
    >>> hvp(lambda x: np.sum(x**3), (np.array([1.0, 2.0]),), (np.array([1.0, 0.0]),))
    array([6., 0.])
    """
    argnums = 0 if len(primals) == 1 else tuple(range(len(primals)))
    gradient = Grad(fun, argnums)
    gradient.name = "hvp"
    return _pushed(gradient, primals, tangents, False, "hvp")[1]


_STOP = Door("stop_gradient", lambda x: stop(x) if isinstance(x, Tracer) and x.type.is_inexact else x)


def stop_gradient(x: Leaf) -> Tree:
    """The same value, constant for every derivative.

    Parameters
    ----------
    x : pytree
        Numbers and arrays.

    Returns
    -------
    pytree
        The same values.

    Raises
    ------
    EscapedTracerError
        If a traced leaf is used outside of its trace.

    Examples
    --------
    >>> from functad import grad, stop_gradient
    >>> grad(lambda x: x * stop_gradient(x))(3.0)
    np.float64(3.0)
    """
    if type(x) is Tracer:
        return unary(_STOP, x)
    return tree.map(lambda leaf: unary(_STOP, leaf) if type(leaf) is Tracer else leaf, x)
