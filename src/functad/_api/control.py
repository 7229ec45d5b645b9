"""cond, scan, while_loop: control flow that is recorded as one step, whatever its condition or number of rounds.

Each traces its functions on arguments that have no single value, turns what they capture into constants, and records
one primitive; if nothing that goes in is traced, the primitive just runs.  Leaves of a carry keep shape and dtype; a
Python scalar takes the dtype that the body gives it.
"""

import operator
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from functad import tree
from functad._api.call import executable, leaf_type
from functad._api.presenting import presentable
from functad._core.program import Program, without_dead
from functad._core.recorder import Door, record, stage, trace, unary
from functad._core.tracer import Tracer
from functad._core.types import ArrayType, array_type
from functad._core.values import unknown
from functad._numpy.arguments import DType
from functad._numpy.promote import as_bool, cast
from functad._primitives.cond import Branches, united
from functad._primitives.cond import cond as cond_primitive
from functad._primitives.inner_programs import memoised, parts
from functad._primitives.scan import hoisted_scan
from functad._primitives.while_loop import while_loop as while_primitive
from functad.errors import FunctadError, ShapeMismatchError, TreeMismatchError, UnsupportedArgumentError
from functad.tree import Function, Leaf, Tree

__all__ = ["cond", "scan", "while_loop"]

_RANK = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}  # of dtype kinds: a weak scalar takes any dtype of its rank or above

# ---- leaves


class _Leaves(NamedTuple):
    """A pytree of numbers and arrays, taken apart; `what` is what errors call it."""

    values: list[Leaf]
    kinds: list[ArrayType]
    structure: Leaf
    what: str

    @property
    def names(self) -> list[str]:
        """How each leaf is reached; for errors only, it is slow."""
        return [self.what + name for name in tree.leaf_names(tree.unflatten(self.structure, self.values))]

    def check_scalar(self, where: str, cure: str = "") -> None:
        """Raise unless this is one number."""
        if [kind.shape for kind in self.kinds] != [()]:
            found = f"an array of shape {self.kinds[0].shape}" if len(self.kinds) == 1 else str(self.structure)
            raise ShapeMismatchError(f"{where}: {self.what} must be one number, got {found}: use np.all or np.any{cure}")


def _leaves(value: Leaf, what: str) -> _Leaves:
    found, structure = tree.flatten(value)
    pairs = [leaf_type(x) for x in found]
    for i, (x, kind) in enumerate(pairs):
        if kind is None:
            name = what + tree.leaf_names(value)[i]
            raise UnsupportedArgumentError(f"{name} is {x!r} of type {type(x).__name__}; here every leaf must be a number or an array")
    return _Leaves([x for x, _ in pairs], [kind for _, kind in pairs if kind is not None], structure, what)


_CAST = Door("cast", cast)


def _with_dtype(x: Leaf, kind: ArrayType, dtype: DType) -> Tree:
    if kind.dtype == dtype:
        return x
    return unary(_CAST, x, dtype) if type(x) is Tracer else np.asarray(x).astype(dtype)[()]


def _same_structure(what: str, before: _Leaves, after: _Leaves, names: tuple[str, str]) -> None:
    if before.structure == after.structure:
        return
    alone = [[n for n in a.names if n not in b.names] for a, b in ((before, after), (after, before))]
    only = [f"only {name} has {', '.join(leaves)}" for name, leaves in zip(names, alone, strict=True) if leaves]
    raise TreeMismatchError(
        f"{what}: {names[0]} is {before.structure}, {names[1]} is {after.structure}: both must be the same tree"
        + "".join(f"; {text}" for text in only)
    )


class _Traced(NamedTuple):
    """A function traced once: its program, the values of the leading inputs, and its output."""

    program: Program
    captured: list[Leaf]
    out: Leaf


def _trace(function: Callable[..., tuple[Sequence[Tree], Tree]], kinds: Sequence[ArrayType], reason: str) -> _Traced:
    """`function` gives the leaves, and anything that the caller wants to know of the output."""
    out: list[Leaf] = []

    def run(*tracers: Tracer) -> Sequence[Tree]:
        try:
            leaves, more = function(*tracers)
        except (FunctadError, IndexError, TypeError, ValueError) as error:
            raise presentable(error, reason) from None
        out.append(more)
        return leaves

    program, captured, _ = trace(run, kinds, [unknown(reason) for _ in kinds])
    return _Traced(program, captured, out[0])


def _run(door: Door, key: Tree, operands: Sequence[Leaf]) -> Sequence[Tree]:
    """Record one step, or compute where nothing is traced; `key` is what `door` takes behind the operands, a program first."""
    if any(type(x) is Tracer for x in operands):
        return record(door, key, operands, lambda given: tuple(door.implementation(given, *key)))  # type: ignore[no-any-return]
    kinds = tuple(leaf_type(x)[1] for x in operands)
    memo_key = ("called", door, key, kinds)
    whole = memoised(key[0], memo_key, lambda: stage(lambda *given: door.implementation(given, *key), kinds))  # type: ignore[arg-type]
    return executable(whole)(*operands)


# ---- carries


def _promotes(weak: ArrayType, other: ArrayType) -> bool:
    """Whether what a Python scalar gave takes the other's dtype."""
    return weak.weak and _RANK[weak.dtype.kind] <= _RANK[other.dtype.kind]


def _returned(what: str, start: _Leaves, kinds: Sequence[ArrayType], carry: Tree) -> list[Tree]:
    """Leaves of the carry after a step."""
    after = _leaves(carry, "carry")
    _same_structure(what, start, after, ("the carry at the start", "the carry after a step"))
    return [
        _with_dtype(x, kind, before.dtype) if _promotes(kind, before) and not before.weak else x
        for x, kind, before in zip(after.values, after.kinds, kinds, strict=True)
    ]


def _settled(what: str, start: _Leaves, i: int, before: ArrayType, after: ArrayType) -> ArrayType:
    """The type with which leaf i of the carry must start, or the user's error."""
    if before.shape != after.shape:
        raise ShapeMismatchError(
            f"{what}: {start.names[i]} has shape {before.shape} at the start and {after.shape} after a step; a carry keeps its "
            f"shape: start from an array of shape {after.shape} (np.zeros, np.broadcast_to), or reduce the new value"
        )
    if before.dtype == after.dtype:
        return before
    if _promotes(before, after):
        return array_type(after.shape, after.dtype)
    raise ShapeMismatchError(
        f"{what}: {start.names[i]} is {before.dtype} at the start and {after.dtype} after a step; a carry keeps its dtype: start "
        f"from .astype(np.{after.dtype}), or end the step with .astype(np.{before.dtype})"
    )


def _fixed_point(what: str, start: _Leaves, step: Callable[[Sequence[ArrayType]], _Traced]) -> tuple[list[ArrayType], _Traced]:
    """Types of the carry that a step keeps, and the step traced with them.  It ends: a Python scalar changes once."""
    kinds = start.kinds
    while True:
        traced = step(kinds)
        settled = [_settled(what, start, i, kind, traced.program.outputs[i].type) for i, kind in enumerate(kinds)]
        if all(a is b for a, b in zip(settled, kinds, strict=True)):
            return kinds, traced
        kinds = settled


def _tidy(program: Program) -> Program:
    return memoised(program, "pruned", lambda: without_dead(program))


# ---- scan

Step = Callable[[Tree, Tree], tuple[Tree, Tree]]


def _scan_steps(given: Sequence[Leaf], body: Program, constants: int, carry: int, length: int, reverse: bool) -> Tree:
    tidy = _tidy(body)
    fixed, state, rows = parts(given, constants, carry)
    state = [cast(x, v.type.dtype) for x, v in zip(state, tidy.inputs[constants:], strict=False)]
    return hoisted_scan(*fixed, *state, *rows, body=tidy, constants=constants, carry=carry, length=length, reverse=reverse)


_SCAN = Door("scan", _scan_steps)


def _scan_length(xs: _Leaves, length: int | None) -> int:
    found, source = (None, -1) if length is None else (operator.index(length), -1)
    for i, kind in enumerate(xs.kinds):
        if kind.ndim == 0:
            raise ShapeMismatchError(f"scan: {xs.names[i]} is a single number; scan goes along the leading axis of each leaf of xs")
        if found is None:
            found, source = kind.shape[0], i
        if kind.shape[0] != found:
            other = "length" if source < 0 else xs.names[source]
            raise ShapeMismatchError(f"scan: {xs.names[i]} of shape {kind.shape} has {kind.shape[0]} steps, {other} has {found}")
    if found is None or found < 0:
        raise UnsupportedArgumentError(f"scan: length={found}: without xs give the number of steps, scan(f, init, length=n)")
    return found


def scan(
    f: Callable[[Tree, Tree], tuple[Tree, Tree]], init: Tree, xs: Tree = None, length: int | None = None, reverse: bool = False
) -> tuple[Tree, Tree]:
    """Carry a value through a loop of fixed length, along the leading axis of arrays.

    Means what this does, with `np.stack` applied to each leaf of `ys`::

        carry, ys = init, []
        for x in xs:
            carry, y = f(carry, x)
            ys.append(y)

    but is recorded as one step, so that neither tracing nor compiling depends on the number of rounds.  Has derivatives in
    both modes.

    Parameters
    ----------
    f : callable
        `f(carry, x) -> (carry, y)`.  Traced, on arguments without a single value: choose with `np.where` or `cond`, not `if`.
        Arrays that it captures are constants of the loop, and have derivatives.
    init : pytree of arrays and numbers
        The carry at the start.  Its tree, shapes and dtypes stay; a Python scalar takes the dtype that `f` gives it.
    xs : pytree of arrays, shape (length, ...), optional
        `f` gets one slice of each.  None: `f` gets None.
    length : int, optional
        Number of steps; needed if `xs` has no leaves.
    reverse : bool, optional
        Go from the last slice to the first; `ys` stay in the order of `xs`.

    Returns
    -------
    carry : pytree
        The carry after the last step, like `init`.
    ys : pytree of arrays, shape (length, ...)
        The second outputs of `f`, stacked.

    Raises
    ------
    TreeMismatchError
        If the carry changes its tree, or `f` does not return a pair.
    ShapeMismatchError
        If a leaf of the carry changes its shape or dtype, or the leading axes of `xs` differ.
    NoValueError
        If `f` asks for a value.

    Examples
    --------
    >>> import numpy as np
    >>> from functad import grad, scan
    >>> carry, ys = scan(lambda total, x: (total + x, total * x), 0.0, np.array([1.0, 2.0, 3.0]))
    >>> carry, ys
    (np.float64(6.0), array([0., 2., 9.]))
    >>> grad(lambda a: scan(lambda z, _: (a * z, None), 1.0, length=3)[0])(2.0)
    np.float64(12.0)
    """
    start, rows = _leaves(init, "carry"), _leaves(xs, "xs")
    n, steps = len(start.values), _scan_length(rows, length)
    slices = [array_type(kind.shape[1:], kind.dtype) for kind in rows.kinds]

    def step(kinds: Sequence[ArrayType]) -> _Traced:
        def body(*tracers: Tracer) -> tuple[Sequence[Tree], Tree]:
            state, row = parts(tracers, n)
            out = f(tree.unflatten(start.structure, state), tree.unflatten(rows.structure, row))
            if not isinstance(out, (tuple, list)) or len(out) != 2:
                raise TreeMismatchError(f"scan: the body must return a pair (carry, y), got {tree.structure(out)}")
            ys = _leaves(out[1], "y")
            return [*_returned("scan", start, kinds, out[0]), *ys.values], ys.structure

        return _trace(body, [*kinds, *slices], "the body of scan")

    _, traced = _fixed_point("scan", start, step)
    key = (traced.program, len(traced.captured), n, steps, bool(reverse))
    state, ys = parts(_run(_SCAN, key, [*traced.captured, *start.values, *rows.values]), n)
    return tree.unflatten(start.structure, state), tree.unflatten(traced.out, ys)


# ---- cond


def _cond_steps(given: Sequence[Leaf], when_true: Program, when_false: Program) -> Tree:
    predicate, *operands = given
    branches = Branches(_tidy(when_true), _tidy(when_false))
    return cond_primitive(as_bool(predicate), *operands, branches=branches)


_COND = Door("cond", _cond_steps)


def _common(first: _Leaves, i: int, a: ArrayType, b: ArrayType) -> DType:
    """The dtype of output leaf i of cond, or the user's error."""
    if a.shape != b.shape:
        raise ShapeMismatchError(f"cond: {first.names[i]} has shape {a.shape} from true_fun and {b.shape} from false_fun; shapes must be the same")
    if a.dtype == b.dtype or _promotes(b, a):
        return a.dtype
    if _promotes(a, b):
        return b.dtype
    raise ShapeMismatchError(
        f"cond: {first.names[i]} is {a.dtype} from true_fun and {b.dtype} from false_fun; dtypes must be the same: "
        f"convert one with .astype(np.{np.promote_types(a.dtype, b.dtype)})"
    )


def cond(pred: Leaf, true_fun: Function, false_fun: Function, *operands: Tree) -> Tree:
    """One of two computations, chosen by a traced condition.

    Means `true_fun(*operands) if pred else false_fun(*operands)`, recorded as one step: only the chosen branch is computed.
    Under `vmap` with a mapped condition both are, and each lane keeps its own, derivatives included.

    Parameters
    ----------
    pred : bool scalar
        The condition; a number counts as true unless it is zero.
    true_fun, false_fun : callable
        Functions of the operands; both are traced, and must return the same tree with the same shapes and dtypes.  Arrays
        that they capture are operands too, and have derivatives.
    *operands : pytree of arrays and numbers
        What the chosen function gets.

    Returns
    -------
    pytree
        What the chosen function returns.

    Raises
    ------
    TreeMismatchError
        If the branches return different trees.
    ShapeMismatchError
        If they return different shapes or dtypes, or `pred` is not a scalar.
    NoValueError
        If a branch asks for a value.

    Examples
    --------
    >>> import numpy as np
    >>> from functad import cond, grad
    >>> f = lambda x: cond(x > 0, np.sqrt, lambda x: 0.0 * x, x)
    >>> f(4.0), grad(f)(4.0), grad(f)(-1.0)
    (np.float64(2.0), np.float64(0.25), np.float64(0.0))
    """
    chosen = _leaves(pred, "pred")
    chosen.check_scalar("cond", ", or np.where to choose for each element")
    given = _leaves(operands, "operands")

    def branch(function: Function, dtypes: Sequence[Tree] | None = None) -> _Traced:
        def run(*tracers: Tracer) -> tuple[Sequence[Tree], Tree]:
            out = _leaves(function(*tree.unflatten(given.structure, tracers)), "output")
            values = out.values if dtypes is None else list(map(_with_dtype, out.values, out.kinds, dtypes))
            return values, out

        return _trace(run, given.kinds, "a branch of cond")

    traced = [branch(true_fun), branch(false_fun)]
    first, second = (t.out for t in traced)
    _same_structure("cond", first, second, ("the output of true_fun", "the output of false_fun"))
    dtypes = [_common(first, i, a, b) for i, (a, b) in enumerate(zip(first.kinds, second.kinds, strict=True))]
    traced = [
        branch(function, dtypes) if [kind.dtype for kind in t.out.kinds] != dtypes else t
        for function, t in zip((true_fun, false_fun), traced, strict=True)
    ]
    # an outer traced value that both branches capture is one operand
    keys = [[(x.builder, x.atom) if type(x) is Tracer else object() for x in t.captured] for t in traced]
    branches, picked = united(Branches(*[t.program for t in traced]), keys)
    outs = _run(_COND, tuple(branches), [*chosen.values, *[traced[k].captured[i] for k, i in picked], *given.values])
    return tree.unflatten(first.structure, list(outs))


# ---- while_loop


def _while_steps(given: Sequence[Leaf], body: Program, condition: Program, asked: int, fixed: int) -> Tree:
    step, asking = _tidy(body), _tidy(condition)
    constants, state = parts(given, asked + fixed)
    state = [cast(x, v.type.dtype) for x, v in zip(state, step.inputs[fixed:], strict=True)]
    return while_primitive(*constants, *state, condition=asking, body=step, condition_constants=asked, body_constants=fixed)


_WHILE = Door("while_loop", _while_steps)


def while_loop(cond_fun: Callable[[Tree], Tree], body_fun: Callable[[Tree], Tree], init_val: Tree) -> Tree:
    """Repeat a step while a condition holds.

    Means what this does, recorded as one step::

        value = init_val
        while cond_fun(value):
            value = body_fun(value)

    Forward mode, `vmap` and `jit` work; reverse mode would need memory for an unknown number of steps.

    Parameters
    ----------
    cond_fun : callable
        Function of the carry that gives one boolean.
    body_fun : callable
        Function of the carry that gives the next one.  Both are traced, on arguments without a single value.
    init_val : pytree of arrays and numbers
        The carry at the start.  Its tree, shapes and dtypes stay; a Python scalar takes the dtype that `body_fun` gives it.

    Returns
    -------
    pytree
        The first carry for which the condition fails.

    Raises
    ------
    TreeMismatchError, ShapeMismatchError
        If the carry changes its tree, shapes or dtypes, or the condition is not a scalar.
    MissingRuleError
        In reverse mode: use `scan` with a fixed length, or a Python `while` without `jit`.
    NoValueError
        If a function asks for a value.

    Examples
    --------
    >>> from functad import jvp, while_loop
    >>> newton = lambda a: while_loop(lambda x: abs(x * x - a) > 1e-12, lambda x: 0.5 * (x + a / x), a)
    >>> print(f"{newton(4.0):.6f} {jvp(newton, (4.0,), (1.0,))[1]:.6f}")
    2.000000 0.250000
    """
    start = _leaves(init_val, "carry")

    def step(kinds: Sequence[ArrayType]) -> _Traced:
        def run(*tracers: Tracer) -> tuple[Sequence[Tree], Tree]:
            return _returned("while_loop", start, kinds, body_fun(tree.unflatten(start.structure, tracers))), None

        return _trace(run, kinds, "the body of while_loop")

    kinds, body = _fixed_point("while_loop", start, step)

    def asks(*tracers: Tracer) -> tuple[Sequence[Tree], Tree]:
        out = _leaves(cond_fun(tree.unflatten(start.structure, tracers)), "the output of cond_fun")
        out.check_scalar("while_loop")
        return [_with_dtype(out.values[0], out.kinds[0], np.dtype(np.bool_))], None

    condition = _trace(asks, kinds, "the condition of while_loop")
    key = (body.program, condition.program, len(condition.captured), len(body.captured))
    outs = _run(_WHILE, key, [*condition.captured, *body.captured, *start.values])
    return tree.unflatten(start.structure, list(outs))
