"""From a user's call to a program, and from a program to results.

A call's arguments are flattened to leaves; numbers and arrays are traced, everything else (strings, functions, objects) is handed to the user's
function as it is.  `trace_call` runs the function on tracers; `run_program` evaluates a program made from the trace, or records it as one
step when the call itself is being traced.
"""

import itertools
from collections.abc import Container, Hashable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from functad import tree
from functad._api.presenting import presentable
from functad._core.program import Program
from functad._core.recorder import CURRENT, Door, inline, record, trace
from functad._core.tracer import Tracer
from functad._core.types import DTYPE_CODES, SCALAR_TYPES, ArrayType, array_type
from functad._core.values import Cell, known, unknown
from functad._numpy.objects import stack_objects
from functad.errors import FunctadError, UnsupportedArgumentError
from functad.tree import Function, Leaf, Tree, TreeDef

if TYPE_CHECKING:
    from functad._compile.pipeline import Executable

__all__ = [
    "Structure", "Traced", "argument_structures", "as_scalar_or_array", "build", "differentiated", "executable",
    "flatten_call", "leaf_count", "leaf_type", "paired_structure", "run_program", "trace_call", "unflatten_call", "unflatten_output",
]  # fmt: skip

Structure = Hashable  # the number of leaves of a plain positional call, or a TreeDef


def flatten_call(args: tuple[Tree, ...], kwargs: dict[str, Tree]) -> tuple[Sequence[Tree], Structure]:
    """Leaves of the arguments, and what rebuilds them."""
    if not kwargs:
        for x in args:
            kind = type(x)
            if kind is not np.ndarray and kind is not Tracer and kind not in SCALAR_TYPES:
                break
        else:
            return args, len(args)
    return tree.flatten((args, kwargs))


def unflatten_call(structure: Structure, leaves: Sequence[Leaf]) -> tuple[tuple[Tree, ...], dict[str, Tree]]:
    """(args, kwargs) with these leaves."""
    if type(structure) is int:
        return tuple(leaves), {}
    return tree.unflatten(structure, leaves)  # type: ignore[no-any-return, arg-type]  # a TreeDef of (tuple, dict)


MOST_SEEN = 10_000
_SEEN: dict[tuple[tuple[int, ...], Leaf], ArrayType] = {}  # shape and dtype of arrays that were found traceable, bounded


def leaf_type(x: Leaf) -> tuple[Tree, ArrayType | None]:
    """(the value to use, its type), type None for what is not traced."""
    kind = SCALAR_TYPES.get(type(x))
    if kind is not None:
        return x, kind
    if type(x) is Tracer:
        return x, x.atom.type
    if isinstance(x, np.ndarray):
        return _array_leaf(x)
    if hasattr(x, "__array__") and not isinstance(x, type):
        return _array_leaf(np.asarray(x))
    return x, None


def _array_leaf(x: np.ndarray[Leaf, Leaf]) -> tuple[Tree, ArrayType | None]:
    if type(x) is not np.ndarray and isinstance(x, (np.ma.MaskedArray, np.matrix)):
        raise UnsupportedArgumentError(f"{type(x).__name__} cannot be traced: pass a plain array (np.asarray(x), and the mask by itself)")
    if x.dtype.char in DTYPE_CODES:
        kind = array_type(x.shape, x.dtype)
        if not x.dtype.isnative:
            return x.astype(kind.dtype), kind
        if len(_SEEN) < MOST_SEEN:
            _SEEN[x.shape, x.dtype] = kind
        return x, kind
    if x.dtype.kind == "O" and any(type(v) is Tracer for v in x.flat):
        stacked = stack_objects(x)
        return stacked, stacked.type
    raise UnsupportedArgumentError(
        f"an array of dtype {x.dtype} cannot be traced: traced values have bool, integer, float32/float64 or complex64/complex128 dtypes; "
        "convert it first (x.astype(float))"
    )


class Traced:
    """One traced call: the program, the values of its inputs, and how to rebuild the output."""

    __slots__ = ("captured", "operands", "out_static", "out_structure", "positions", "program")

    program: Program
    captured: list[Leaf]  # values of the leading inputs
    operands: Sequence[Leaf]  # values of the others, one for each traced leaf
    positions: Sequence[int]  # which leaves were traced
    out_structure: TreeDef | None  # None: one traced value
    out_static: dict[int, Leaf] | None  # by place among the leaves, what is neither number nor array

    def inputs(self) -> list[Tree]:
        """Values of all inputs."""
        return [*self.captured, *self.operands]

    def active(self, wanted: Sequence[bool]) -> tuple[bool, ...]:
        """Mask of the program's inputs from a mask of the leaves."""
        return (*[False] * len(self.captured), *[wanted[i] for i in self.positions])


def trace_call(
    function: Function, leaves: Sequence[Leaf], structure: Structure, reason: str | None = None, types: Sequence[Tree] | None = None,
    valued: Container[int] = (),
) -> Traced:  # fmt: skip
    """Run the function on tracers of its leaves.

    `reason` says why the leaves have no value (else questions about them are answered), those at the places `valued` excepted; `types` replaces the
    types of the leaves.
    """
    operands: list[Leaf] = []
    kinds: list[ArrayType] = []
    positions: list[int] = []
    cells: list[Cell] = []
    for i, x in enumerate(leaves):
        kind = _SEEN.get((x.shape, x.dtype)) if type(x) is np.ndarray else None
        if kind is not None:
            value = x
        else:
            value, kind = leaf_type(x)
        if kind is None:
            continue
        operands.append(value)
        kinds.append(kind if types is None or types[i] is None else types[i])
        positions.append(i)
        if reason is not None and i not in valued:
            cells.append(unknown(reason))
        else:
            cells.append(value.cell if type(value) is Tracer and value.cell is not None else known(value))
    traced = Traced()

    def run(*tracers: Tracer) -> Sequence[Tree]:
        if len(tracers) == len(leaves):
            given: Sequence[Leaf] = tracers
        else:
            given = list(leaves)
            for i, t in zip(positions, tracers, strict=True):
                given[i] = t
        try:
            if type(structure) is int:
                return _flatten_output(traced, function(*given))
            args, kwargs = unflatten_call(structure, given)
            return _flatten_output(traced, function(*args, **kwargs))
        except (FunctadError, AttributeError, IndexError, RuntimeError, SystemError, TypeError, ValueError) as error:
            instead = presentable(error, reason)
            if instead is error and not isinstance(error, FunctadError):
                raise  # the user's own, with its cause
            raise instead from None

    traced.program, traced.captured, _ = trace(run, kinds, cells)
    traced.operands, traced.positions = operands, positions
    return traced


def _flatten_output(traced: Traced, out: Tree) -> Sequence[Tree]:
    """Leaves of the output that are numbers or arrays; the rest is kept beside them."""
    traced.out_static = None
    if type(out) is Tracer:
        traced.out_structure = None
        return (out,)
    leaves, traced.out_structure = tree.flatten(out)
    found = []
    for i, x in enumerate(leaves):
        value, kind = leaf_type(x)
        if kind is None:
            if traced.out_static is None:
                traced.out_static = {}
            traced.out_static[i] = x
        else:
            found.append(value)
    return found


def build(structure: TreeDef | None, leaves: Sequence[Leaf]) -> Tree:
    """The tree with these leaves; None is the structure of one leaf alone."""
    return leaves[0] if structure is None else tree.unflatten(structure, leaves)


def leaf_count(structure: TreeDef | None) -> int:
    """How many leaves it has."""
    return 1 if structure is None else structure.num_leaves


def argument_structures(structure: Structure) -> list[TreeDef | None]:
    """The structure of each positional argument of a call, None where it is one leaf."""
    if not isinstance(structure, TreeDef):
        return list(itertools.repeat(None, structure))  # type: ignore[call-overload]  # a number of leaves
    positional, _ = structure.children()
    return [None if part.is_leaf() else part for part in positional.children()]


def unflatten_output(traced: Traced, values: Sequence[Leaf]) -> Tree:
    """The output with these leaves in the places of its numbers and arrays."""
    if traced.out_structure is not None and traced.out_static:
        given = iter(values)
        values = [traced.out_static[i] if i in traced.out_static else next(given) for i in range(traced.out_structure.num_leaves)]
    return build(traced.out_structure, values)


def paired_structure(traced: Traced, name: str) -> TreeDef:
    """Structure of the first of the pair that a function returns under has_aux."""
    structure = traced.out_structure
    if structure is None or structure.type is not tuple or structure.num_children != 2:
        found = "one array or number" if structure is None else structure
        raise UnsupportedArgumentError(f"{name} with has_aux=True needs a function that returns a pair (output, aux), got {found}")
    return structure.children()[0]


def differentiated(traced: Traced, name: str, has_aux: bool) -> tuple[int, TreeDef | None]:
    """How many leaves of the output are differentiated, and their structure; all of them must be numbers."""
    structure = traced.out_structure
    if has_aux:
        structure = paired_structure(traced, name)
        structure = None if structure.is_leaf() else structure
    count = leaf_count(structure)
    for i, x in (traced.out_static or {}).items():
        if i < count:
            raise UnsupportedArgumentError(f"{name} of a function that returns {x!r}: outputs must be numbers and arrays (use has_aux for others)")
    return count, structure


_CALL = Door("call", lambda *_: None)


def executable(program: Program) -> "Executable":
    """The program's evaluator, made once."""
    found = program.memo.get("executable")
    if found is None:
        from functad._compile.pipeline import Executable  # a quarter of the time to import functad, and not needed before the first call

        found = program.memo.setdefault("executable", Executable(program))
    return found  # type: ignore[no-any-return]  # memo is untyped


def run_program(program: Program, operands: Sequence[Leaf]) -> Sequence[Tree]:
    """Outputs of the program; inside a trace it becomes one step of it."""
    if CURRENT.get() is not None and any(type(x) is Tracer for x in operands):
        return record(_CALL, program, operands, lambda given: inline(program, given))  # type: ignore[no-any-return]  # a list
    return executable(program)(*operands)


def as_scalar_or_array(value: Leaf, like: Leaf) -> Tree:
    """A 0-d result as an array where the argument was one."""
    if isinstance(like, np.ndarray) and not isinstance(value, (np.ndarray, Tracer)):
        return np.asarray(value)
    return value
