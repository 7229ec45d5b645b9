"""grad and value_and_grad, and what all derivatives with argnums share."""

import itertools
import operator
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from functad import tree
from functad._api.call import (
    Structure,
    Traced,
    argument_structures,
    as_scalar_or_array,
    build,
    flatten_call,
    leaf_count,
    paired_structure,
    run_program,
    trace_call,
    unflatten_output,
)
from functad._api.tape import gradient_tape
from functad._api.transformed import Transformed, argument_mask
from functad._core.program import Deferred, Program, without_dead
from functad._core.tracer import Tracer
from functad._transforms import derivative
from functad.errors import IntegerInputError, NonScalarOutputError, UnsupportedArgumentError
from functad.tree import Function, Leaf, Tree, TreeDef

__all__ = ["Argnums", "Derivative", "Grad", "float_leaf", "grad", "normal_argnums", "value_and_grad"]

Argnums = int | Sequence[int]


def normal_argnums(argnums: Argnums) -> int | tuple[int, ...]:
    """Argnums as a whole number or a tuple of them."""
    try:
        if isinstance(argnums, (tuple, list)):
            return tuple(operator.index(a) for a in argnums)
        return operator.index(argnums)  # type: ignore[arg-type]  # not a sequence here
    except TypeError:
        raise UnsupportedArgumentError(
            f"argnums must be a whole number or a tuple of them, got {argnums!r}; the function's arguments go to what is returned: grad(f)(x)"
        ) from None


def float_leaf(x: Leaf, name: str, where: Callable[[], str]) -> Tree:
    """The leaf as something that has derivatives: a single whole number counts as float, traced ones too; `where` names it in an error."""
    if type(x) is int:
        return float(x)
    if type(x) is Tracer:
        if x.type.shape == () and x.type.weak and x.type.dtype.kind == "i":
            return x * 1.0  # type: ignore[operator]  # installed by _numpy
    elif isinstance(x, np.integer):
        return np.float64(x)
    dtype = getattr(x, "dtype", None)
    if isinstance(x, (float, complex)) or (dtype is not None and (dtype.kind in "fc" or dtype.kind == "O")):
        return x
    if dtype is None and hasattr(x, "__array__"):
        return float_leaf(np.asarray(x), name, where)
    found = f"dtype {dtype}" if dtype is not None else f"type {type(x).__name__}"
    raise IntegerInputError(
        f"{name} differentiates with respect to floating-point numbers, but {where()} has {found}: pass x.astype(float) (or 1.0 instead of 1), "
        "or leave it out with argnums"
    )


class _Argument:
    """Which leaves of a call are differentiated, worked out once per call structure."""

    __slots__ = ("mask", "single", "spans", "structures")

    def __init__(self, argnums: int | tuple[int, ...], structure: Structure, args: tuple[Tree, ...], name: str) -> None:
        self.single = isinstance(argnums, int)
        chosen = argument_mask((argnums,) if isinstance(argnums, int) else argnums, len(args), name)
        defs = argument_structures(structure)
        starts = [0, *itertools.accumulate(map(leaf_count, defs))]
        total = structure.num_leaves if isinstance(structure, TreeDef) else starts[-1]  # those of keyword arguments come last
        self.spans = [(starts[a], starts[a + 1]) for a in chosen]
        self.structures = [defs[a] for a in chosen]
        inside = {i for begin, end in self.spans for i in range(begin, end)}
        self.mask = tuple(i in inside for i in range(total))

    def rebuild(self, values: Sequence[Leaf], leaves: Sequence[Leaf]) -> Tree:
        """Results, one for each differentiated leaf in order, in the trees of the arguments."""
        order = [i for i, m in enumerate(self.mask) if m]
        at = {i: as_scalar_or_array(v, leaves[i]) for i, v in zip(order, values, strict=True)}
        trees = [build(structure, [at[i] for i in range(begin, end)]) for (begin, end), structure in zip(self.spans, self.structures, strict=True)]
        return trees[0] if self.single else tuple(trees)


class Derivative(Transformed):
    """Shared by the derivatives with argnums."""

    name = "grad"

    def __init__(self, function: Function, argnums: int | tuple[int, ...] = 0, **options: Tree) -> None:
        super().__init__(function, argnums=argnums, **options)
        self.argnums = argnums
        self._arguments: dict[Structure, _Argument] = {}

    def _traced(self, args: tuple[Tree, ...], kwargs: dict[str, Tree]) -> tuple[Traced, _Argument, Sequence[Tree]]:
        leaves, structure = flatten_call(args, kwargs)
        argument = self._arguments.get(structure)
        if argument is None:
            argument = self._arguments[structure] = _Argument(self.argnums, structure, args, self.name)
        for i, m in enumerate(argument.mask):
            if m:
                x = leaves[i]
                kind = type(x)
                if kind is float or kind is np.float64 or (kind is np.ndarray and x.dtype.kind in "fc"):
                    continue
                if kind is Tracer and x.type.is_inexact:
                    continue
                leaves = list(leaves)
                leaves[i] = float_leaf(x, self.name, partial(self._leaf_name, i, args, kwargs))
        return trace_call(self.function, leaves, structure), argument, leaves

    def _leaf_name(self, i: int, args: tuple[Tree, ...], kwargs: dict[str, Tree]) -> str:
        """How an error names a leaf: argument 0['w'][1]."""
        if len(args) == 1 and not kwargs and tree.structure(args[0]).is_leaf():
            return "its argument"
        name = tree.leaf_names((args, kwargs))[i]
        return "argument " + name.removeprefix("[0]").replace("[", "", 1).replace("]", "", 1)


def gradient_program(program: Program, active: tuple[bool, ...], first: int) -> Program:
    """Outputs from `first` on, and the gradient of output 0; of a long path step by step until the program has paid for itself."""

    def make() -> Program:
        whole = derivative.gradient(program, active)
        return without_dead(Program(whole.inputs, whole.equations, whole.outputs[first:]))

    tape = gradient_tape(program, active, first)
    return make() if tape is None else Deferred(program.inputs, make, tape)


class Grad(Derivative):
    """grad and value_and_grad."""

    def __init__(
        self, function: Function, argnums: int | tuple[int, ...] = 0, has_aux: bool = False, with_value: bool = False, holomorphic: bool = False
    ) -> None:
        super().__init__(function, argnums, has_aux=has_aux, with_value=with_value, holomorphic=holomorphic)
        self.has_aux, self.with_value, self.holomorphic = has_aux, with_value, holomorphic
        self.name = "value_and_grad" if with_value else "grad"
        self._key = f"{self.name} has_aux={has_aux} holomorphic={holomorphic}"  # of plans in a program's memo: a string's hash is kept

    def __call__(self, *args: Tree, **kwargs: Tree) -> Tree:
        """The gradient, in the tree, shapes and dtypes of the chosen arguments."""
        traced, argument, leaves = self._traced(args, kwargs)
        program = traced.program
        active = traced.active(argument.mask)
        key = (self._key, active)
        plan = program.memo.get(key)
        if plan is None:
            plan = program.memo[key] = self._plan(traced, active)
        if traced.out_structure is not None:
            self._check_output(traced)
        outs = run_program(plan, traced.inputs())
        kept = len(outs) - sum(active)
        if argument.single and argument.structures[0] is None:
            gradient = as_scalar_or_array(outs[kept], leaves[argument.spans[0][0]])
        else:
            gradient = argument.rebuild(outs[kept:], leaves)
        if not self.has_aux:
            return (outs[0], gradient) if self.with_value else gradient
        if self.with_value:
            return unflatten_output(traced, outs[:kept]), gradient
        return gradient, unflatten_output(traced, [None, *outs[:kept]])[1]

    def _check_output(self, traced: Traced) -> None:
        structure = paired_structure(traced, self.name) if self.has_aux else traced.out_structure
        if structure is not None and not structure.is_leaf():
            raise NonScalarOutputError(self._refusal(f"a {structure}" if structure.num_leaves else "None"))

    def _refusal(self, found: str) -> str:
        return (
            f"{self.name} differentiates functions whose output is one real number, but this one returned {found}: reduce it to a number (np.sum), "
            "choose a cotangent with vjp, or ask for all derivatives with jacobian"
        )

    def _plan(self, traced: Traced, active: tuple[bool, ...]) -> Program:
        if traced.out_structure is not None or self.has_aux:
            self._check_output(traced)
        if not traced.program.outputs or (traced.out_static and 0 in traced.out_static):
            raise NonScalarOutputError(self._refusal("no number"))
        out = traced.program.output_types[0]
        if out.shape != ():
            raise NonScalarOutputError(self._refusal(f"an array of shape {out.shape}"))
        if out.dtype.kind not in "fc":
            raise NonScalarOutputError(self._refusal(f"a number of dtype {out.dtype}, whose derivative is zero everywhere"))
        if self.holomorphic and out.dtype.kind != "c":
            raise UnsupportedArgumentError(f"{self.name} with holomorphic=True needs a complex output, got {out.dtype}")
        if self.holomorphic:
            for v, on in zip(traced.program.inputs, active, strict=True):
                if on and v.type.dtype.kind != "c":
                    raise UnsupportedArgumentError(f"{self.name} with holomorphic=True needs complex arguments, got {v.type.dtype}")
        elif out.dtype.kind == "c":
            cure = "; take its real or absolute value, or say holomorphic=True for a complex-differentiable function"
            raise NonScalarOutputError(self._refusal(f"a complex number ({out.dtype})") + cure)
        return gradient_program(traced.program, active, 0 if self.with_value else 1)


def grad(fun: Function, argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False) -> Function:
    """Gradient of a function whose output is one real number.

    Parameters
    ----------
    fun : callable
        Plain NumPy function of numbers, arrays and pytrees of them, returning a scalar (or `(scalar, aux)` with `has_aux`).
    argnums : int or sequence of int, optional
        Positional arguments to differentiate with respect to.
    has_aux : bool, optional
        Whether `fun` returns a pair of which only the first is differentiated.
    holomorphic : bool, optional
        Whether `fun` is complex-differentiable: arguments and output are complex, the result is the complex derivative.

    Returns
    -------
    callable
        Same arguments as `fun`; returns the gradient in the tree, shapes and dtypes of the chosen argument (a tuple for a sequence of
        argnums), and with `has_aux` the pair (gradient, aux).  The function runs at each call, so changed closures and globals are seen.

    Raises
    ------
    NonScalarOutputError
        If the output is not one real number.
    IntegerInputError
        If a chosen argument is an integer or boolean array.

    Notes
    -----
    Reverse mode: linearisation, then transposition of the linear part (Radul et al., "You Only Linearize Once", 2022).  For complex arguments
    the result follows JAX's convention, the conjugate of PyTorch's.

    Examples
    --------
    >>> import numpy as np
    >>> from functad import grad
    >>> grad(lambda x: np.sum(x**2))(np.array([1.0, 2.0]))
    array([2., 4.])
    >>> grad(np.sin)(0.0)
    np.float64(1.0)
    """
    return Grad(fun, normal_argnums(argnums), bool(has_aux), False, bool(holomorphic))


def value_and_grad(fun: Function, argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False) -> Function:
    """Value and gradient of a scalar function, in one evaluation.

    Parameters
    ----------
    fun : callable
        As for `grad`.
    argnums : int or sequence of int, optional
        Positional arguments to differentiate with respect to.
    has_aux : bool, optional
        Whether `fun` returns `(scalar, aux)`.
    holomorphic : bool, optional
        As for `grad`.

    Returns
    -------
    callable
        Returns `(value, gradient)`, or `((value, aux), gradient)` with `has_aux`.

    Raises
    ------
    NonScalarOutputError, IntegerInputError
        As for `grad`.

    Examples
    --------
    >>> import numpy as np
    >>> from functad import value_and_grad
    >>> value_and_grad(lambda x: np.sum(x**3))(np.array([1.0, 2.0]))
    (np.float64(9.0), array([ 3., 12.]))
    """
    return Grad(fun, normal_argnums(argnums), bool(has_aux), True, bool(holomorphic))
