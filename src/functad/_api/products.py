"""vjp, jvp, linearize, linear_transpose, hvp, stop_gradient: products with Jacobians."""

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from functad import tree
from functad._api.call import (
    Traced,
    as_scalar_or_array,
    executable,
    leaf_type,
    paired_structure,
    run_program,
    trace_call,
    unflatten_output,
)
from functad._api.derivatives import Grad, float_leaf
from functad._api.matching import matching, matching_tangents
from functad._core.program import Program, without_dead
from functad._core.recorder import Door, unary
from functad._core.tracer import Tracer
from functad._core.types import ArrayType
from functad._primitives.logic import stop_gradient as stop
from functad._transforms import derivative
from functad._transforms.jvp import jvp as jvp_program
from functad._transforms.linearize import Linearized
from functad._transforms.linearize import linearize as linearize_program
from functad.errors import MissingRuleError, TreeMismatchError, UnsupportedArgumentError

__all__ = ["hvp", "jvp", "linear_transpose", "linearize", "stop_gradient", "vjp"]


def _trees(primals: Sequence[Any], name: str) -> tuple[list[Any], list[Any], list[int]]:
    """(leaves, structures, leaf counts) of each primal; leaves must be differentiable or are left constant."""
    leaves: list[Any] = []
    structures: list[Any] = []
    counts: list[int] = []
    for p in primals:
        if type(p) is np.ndarray or type(p) is Tracer or type(p) is float:
            part, structure = [p], None
        else:
            part, structure = tree.flatten(p)
            structure = None if structure.is_leaf() else structure
        leaves += [float_leaf(x, name, lambda: f"argument {len(counts)}") for x in part]
        structures.append(structure)
        counts.append(len(part))
    return leaves, structures, counts


def _call_with(function: Callable[..., Any], structures: Sequence[Any], counts: Sequence[int]) -> Callable[..., Any]:
    """The function on flat leaves."""

    def flat(*leaves: Any) -> Any:
        args, position = [], 0
        for structure, count in zip(structures, counts, strict=True):
            part = leaves[position : position + count]
            args.append(part[0] if structure is None else tree.unflatten(structure, part))
            position += count
        return function(*args)

    return flat if any(s is not None for s in structures) else function


def _rebuild(structures: Sequence[Any], counts: Sequence[int], values: Sequence[Any], leaves: Sequence[Any]) -> tuple[Any, ...]:
    out, position = [], 0
    values = [as_scalar_or_array(v, x) for v, x in zip(values, leaves, strict=True)]
    for structure, count in zip(structures, counts, strict=True):
        part = values[position : position + count]
        out.append(part[0] if structure is None else tree.unflatten(structure, part))
        position += count
    return tuple(out)


def _check_numbers(traced: Traced, name: str) -> None:
    if traced.out_static:
        found = next(iter(traced.out_static.values()))
        raise UnsupportedArgumentError(f"{name} of a function that returns {found!r}: outputs must be numbers and arrays (use has_aux for others)")


_SETTLING = threading.Lock()


class Pullback:
    """The linear map from cotangents of the output to cotangents of the arguments; may be called any number of times."""

    __slots__ = ("_counts", "_evaluate", "_halves", "_leaves", "_residuals", "_structure", "_structures", "_types")

    def __init__(self, halves: Linearized, traced: Traced, residuals: Sequence[Any], structures: Any, counts: Any, leaves: Any, types: Any) -> None:
        self._halves, self._residuals = halves, tuple(residuals)
        self._structure, self._types = traced.out_structure, types
        self._structures, self._counts = structures, counts
        self._evaluate: Callable[..., Any] | None = None
        # only whether a leaf was an array is needed, never its value
        self._leaves = [np.empty(0) if isinstance(x, np.ndarray) else None for x in leaves]

    def _settle(self, program: Program) -> Callable[..., Any]:
        """One evaluator for life: the same cotangent gives the same bits, from any thread."""
        with _SETTLING:
            if self._evaluate is None:
                self._evaluate = executable(program).settled()
            return self._evaluate

    def __call__(self, cotangent: Any) -> tuple[Any, ...]:
        """Cotangents of the arguments, a tuple with one entry for each."""
        cts = matching(cotangent, self._structure, self._types, "cotangent", "output")
        active = [ct for ct, on in zip(cts, self._halves.out_active, strict=True) if on]
        program, operands = derivative.pullback(self._halves), [*self._residuals, *active]
        if any(type(x) is Tracer for x in operands):
            outs = run_program(program, operands)
        else:
            outs = (self._evaluate or self._settle(program))(*operands)
        return _rebuild(self._structures, self._counts, outs, self._leaves)


def _forward(fun: Callable[..., Any], primals: Sequence[Any], name: str, has_aux: bool = False) -> Any:
    """(traced, halves, values of the outputs, residuals, structures, counts, leaves, aux)."""
    if not callable(fun):
        raise UnsupportedArgumentError(f"{name} takes a function first, got {fun!r}")
    leaves, structures, counts = _trees(primals, name)
    traced = trace_call(_call_with(fun, structures, counts), leaves, len(leaves))
    aux_at = None
    program = traced.program
    if has_aux:
        inner = paired_structure(traced, name)
        aux_at = inner.num_leaves
        key = ("outputs", aux_at)
        if key not in program.memo:
            program.memo[key] = Program(program.inputs, program.equations, program.outputs[:aux_at])
    else:
        _check_numbers(traced, name)
    active = traced.active([True] * len(leaves))
    main = program if aux_at is None else program.memo["outputs", aux_at]
    halves = linearize_program(main, active)
    outs = run_program(halves.forward, traced.inputs())
    n = len(main.outputs)
    aux = None
    if has_aux:
        key = ("aux", aux_at)
        if key not in program.memo:
            program.memo[key] = without_dead(Program(program.inputs, program.equations, program.outputs[aux_at:]))
        values = run_program(program.memo[key], traced.inputs())
        aux = unflatten_output(traced, [None] * n + list(values))[1]
        traced.out_structure = None if inner.is_leaf() else inner
    return traced, halves, outs[:n], outs[n:], structures, counts, leaves, aux, main.output_types


def vjp(fun: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
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
    traced, halves, outs, residuals, structures, counts, leaves, aux, types = _forward(fun, primals, "vjp", has_aux)
    pullback = Pullback(halves, traced, residuals, structures, counts, leaves, types)
    out = _output(traced, outs)
    return (out, pullback, aux) if has_aux else (out, pullback)


def _output(traced: Traced, values: Sequence[Any]) -> Any:
    return values[0] if traced.out_structure is None else tree.unflatten(traced.out_structure, values)


def linearize(fun: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
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
    traced, halves, outs, residuals, structures, _, leaves, aux, types = _forward(fun, primals, "linearize", has_aux)
    wanted = [leaf_type(x)[1] for x in leaves]

    def pushforward(*tangents: Any) -> Any:
        """The tangent of the output."""
        ts = matching_tangents(tangents, structures, wanted)
        found = iter(run_program(halves.linear, [*residuals, *ts]))
        full = [next(found) if on else _zeros(kind) for on, kind in zip(halves.out_active, types, strict=True)]
        return _output(traced, full)

    out = _output(traced, outs)
    return (out, pushforward, aux) if has_aux else (out, pushforward)


def _zeros(kind: ArrayType) -> Any:
    """The zero tangent of an output that does not depend on the arguments."""
    dtype = kind.dtype if kind.is_inexact else np.dtype(np.float64)
    return np.zeros(kind.shape, dtype)[()]


def jvp(fun: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False) -> Any:
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


def _pushed(fun: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool, name: str) -> Any:
    """jvp, under the name that its errors give."""
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        raise TreeMismatchError(f"{name} takes its primals and tangents as tuples or lists: {name}(f, (x,), (t,))")
    leaves, structures, counts = _trees(primals, name)
    traced = trace_call(_call_with(fun, structures, counts), leaves, len(leaves))
    ts = matching_tangents(tangents, structures, [leaf_type(x)[1] for x in leaves])
    count = len(traced.program.outputs)
    if has_aux:
        count = paired_structure(traced, name).num_leaves
    else:
        _check_numbers(traced, name)
    pushed, on = jvp_program(traced.program, traced.active([True] * len(leaves)), ())
    outs = run_program(pushed, [*traced.inputs(), *ts])
    m = len(traced.program.outputs)
    given = iter(outs[m:])
    all_tangents = [next(given) if o else _zeros(k) for o, k in zip(on, traced.program.output_types, strict=True)]
    value = unflatten_output(traced, outs[:m])
    if not has_aux:
        return value, unflatten_output(traced, all_tangents)
    tangent = unflatten_output(traced, [*all_tangents[:count], *[None] * (m - count)])[0]
    return value[0], tangent, value[1]


def linear_transpose(fun: Callable[..., Any], *primals: Any) -> Callable[..., Any]:
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
    leaves, structures, counts = _trees(primals, "linear_transpose")
    traced = trace_call(_call_with(fun, structures, counts), leaves, len(leaves), "an argument of a function to be transposed")
    _check_numbers(traced, "linear_transpose")
    program = derivative.transposed(traced.program, traced.active([True] * len(leaves)))
    if program is None:
        raise MissingRuleError(
            "linear_transpose needs a function that is linear in all its arguments, but the derivative of this one depends on them: hold what "
            "it is not linear in as a captured value, or transpose its derivative with vjp"
        )

    def transposed(cotangent: Any) -> tuple[Any, ...]:
        """Cotangents of the arguments."""
        cts = matching(cotangent, traced.out_structure, traced.program.output_types, "cotangent", "output")
        return _rebuild(structures, counts, run_program(program, [*traced.captured, *cts]), leaves)

    return transposed


def hvp(fun: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
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


def stop_gradient(x: Any) -> Any:
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
