"""jit, make_program, show_source.

`jit` promises that its function is pure: for a known signature (tree, shapes, dtypes, static values) the function is not run again.  The call path
of the latest signature is a generated wrapper around a C-level caller that checks its arguments itself; whatever it does not
recognise goes to `_slow`, which looks the signature up or traces anew.
"""

import inspect
import threading
from collections.abc import Callable, Hashable, Sequence

import numpy as np

from functad import tree
from functad._api.call import Structure, Traced, executable, flatten_call, leaf_type, run_program, trace_call, unflatten_output
from functad._api.transformed import Transformed
from functad._core.interpret import compile_source
from functad._core.program import Program
from functad._core.recorder import answer
from functad._core.tracer import Tracer
from functad.errors import UnsupportedArgumentError
from functad.tree import Function, Leaf, Tree

__all__ = ["jit", "make_program", "show_source"]

MAX_SIGNATURES = 1_000  # kept for one function; the oldest goes first


class _Mismatch(Exception):
    """Raised by a caller's fallback: these arguments are not of its signature."""


def _mismatch(*_: Tree, **__: Tree) -> Tree:
    raise _Mismatch


class _Entry:
    """One signature: the trace, and the quick way to call it."""

    __slots__ = ("bound", "call", "captured", "flat", "program", "traced")

    def __init__(self, traced: Traced) -> None:
        self.traced = traced
        self.program = traced.program
        self.bound = {i: np.array(x, t.dtype, order="C") for i, (x, t) in enumerate(zip(traced.captured, self.program.input_types, strict=False))}
        # the copies that the kernel reads serve inside of other traces too: one answer, whatever is written to the originals later
        self.captured = [self.bound[i] if type(x) is not Tracer and isinstance(x, np.ndarray) else x for i, x in enumerate(traced.captured)]
        traced.captured, traced.operands = [], [None] * len(traced.operands)  # only their number is needed from here on
        self.flat: Function = executable(self.program).caller(self.bound)
        self.call: Function | None = None

    def result(self, outs: Tree) -> Tree:
        if self.traced.out_structure is None:
            return outs
        values = (outs,) if len(self.program.outputs) == 1 else outs
        return unflatten_output(self.traced, values)


class Jit(Transformed):
    """A function compiled for each signature it meets."""

    def __init__(self, function: Function, static_argnums: Sequence[int] = (), static_argnames: Sequence[str] = ()) -> None:
        super().__init__(function, static_argnums=static_argnums, static_argnames=static_argnames)
        self.static_argnums, self.static_argnames = tuple(static_argnums), tuple(static_argnames)
        self._names = _positional_names(function) if self.static_argnums or self.static_argnames else ()
        self._entries: dict[Hashable, _Entry] = {}
        self._lock = threading.RLock()
        self._quick: Function = self._slow

    def __call__(self, *args: Tree, **kwargs: Tree) -> Tree:
        """The function's result, computed by its kernel."""
        return self._quick(*args, **kwargs)

    def signature(self, args: tuple[Tree, ...], kwargs: dict[str, Tree]) -> tuple[Tree, Function, Sequence[Tree], Structure]:
        """(key, function of the traced arguments, leaves, structure)."""
        function, statics = self.function, ()
        if self.static_argnums or self.static_argnames:
            function, args, kwargs, statics = self._without_static(args, kwargs)
        leaves, structure = flatten_call(args, kwargs)
        types: list[Leaf] = []
        for i, x in enumerate(leaves):
            value, kind = leaf_type(x)
            if kind is not None:
                types.append(kind)
                if value is not x:
                    leaves = [*leaves[:i], value, *leaves[i + 1 :]]
                continue
            try:
                hash(x)
            except TypeError:
                raise UnsupportedArgumentError(f"jit got {x!r} of type {type(x).__name__}: neither a number, an array nor hashable") from None
            types.append((type(x), x))
        return (structure, statics, *types), function, leaves, structure

    def _without_static(self, args: tuple[Tree, ...], kwargs: dict[str, Tree]) -> Tree:
        places = {a % len(args) for a in self.static_argnums if -len(args) <= a < len(args)}
        fixed = {i: args[i] for i in places}
        named = {k: v for k, v in kwargs.items() if k in self.static_argnames}
        names = self._names
        for i, name in enumerate(names[: len(args)]):  # a static name may be given by position, and a static position by name
            if name in self.static_argnames:
                fixed[i] = args[i]
        for a in self.static_argnums:
            if -len(names) <= a < len(names) and names[a] in kwargs:
                named[names[a]] = kwargs[names[a]]
        fixed = {i: _plain_whole(v) for i, v in fixed.items()}
        named = {k: _plain_whole(v) for k, v in named.items()}
        statics = (tuple(sorted(fixed.items())), tuple(sorted(named.items())))
        values = (*fixed.values(), *named.values())
        if _holds_tracer(values):
            cure = "bind what is static within the other transform, grad(lambda x: f(x, 0.5))"
            raise UnsupportedArgumentError(f"static arguments of jit must be plain and hashable, got {list(values)!r}: {cure}")
        try:
            hash(statics)
        except TypeError:
            raise UnsupportedArgumentError(f"static arguments of jit must be hashable, got {list(values)!r}") from None
        original, count = self.function, len(args)

        def function(*rest: Tree, **keywords: Tree) -> Tree:
            given = iter(rest)
            return original(*[fixed[i] if i in fixed else next(given) for i in range(count)], **named, **keywords)

        rest = tuple(x for i, x in enumerate(args) if i not in fixed)
        return function, rest, {k: v for k, v in kwargs.items() if k not in named}, _typed(statics)

    def _slow(self, *args: Tree, **kwargs: Tree) -> Tree:
        key, function, leaves, structure = self.signature(args, kwargs)
        entry = self._entries.get(key)
        if entry is None:
            traced = trace_call(function, leaves, structure, "an argument of a function under jit")
            if any(type(x) is Tracer for x in traced.captured):
                return self._record(traced)  # closes over an outer trace: the program is memoised, the captured values are not
            with self._lock:
                entry = self._entries.get(key)
                if entry is None:
                    if len(self._entries) >= MAX_SIGNATURES:
                        self._entries.pop(next(iter(self._entries)))
                    entry = self._entries[key] = _Entry(traced)
        operands = [x for x in leaves if leaf_type(x)[1] is not None]
        if any(type(x) is Tracer for x in operands):
            outs = run_program(entry.program, [*entry.captured, *operands])
            return unflatten_output(entry.traced, outs)
        if entry.call is None:
            entry.call = _wrapper(self, entry, args, kwargs, structure)
        if entry.call is not self._slow:
            self._quick = entry.call
        return entry.result(entry.flat(*operands))

    def _record(self, traced: Traced) -> Tree:
        return unflatten_output(traced, run_program(traced.program, traced.inputs()))


def _positional_names(function: Function) -> tuple[str, ...]:
    """Names of the parameters that may be given by position; of a method without its `self`, of a transformed function those of the original."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # written in C
        return ()
    return tuple(p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD))


def _plain_whole(x: Leaf) -> Tree:
    """The value of a traced whole number or boolean (another transform's argument), which has no derivative to lose."""
    if type(x) is not Tracer or x.ndim or x.dtype.kind not in "biu":
        return x
    kind = bool if x.dtype.kind == "b" else int
    return answer(x, kind) if x.type.weak or kind is bool else x.dtype.type(answer(x, kind))


def _holds_tracer(value: Leaf) -> bool:
    """Whether a traced value is in a static one."""
    return type(value) is Tracer or (isinstance(value, (tuple, frozenset)) and any(map(_holds_tracer, value)))


def _typed(value: Leaf) -> Tree:
    """A static value with its type, at any depth of tuples, since 1, 1.0 and True are equal, as are 0.0 and -0.0, and NaN is not NaN."""
    if isinstance(value, tuple):
        return type(value), tuple(map(_typed, value))
    return type(value), repr(value) if isinstance(value, (float, complex, np.inexact)) else value


def _wrapper(jitted: Jit, entry: _Entry, args: tuple[Tree, ...], kwargs: dict[str, Tree], structure: Structure) -> Function:
    """Generated source of the quick path for this argument tree; `_slow` itself where there is none."""
    slow = jitted._slow
    if kwargs or jitted.static_argnums or jitted.static_argnames or len(entry.traced.operands) != len(flatten_call(args, kwargs)[0]):
        return slow
    names = [f"a{i}" for i in range(len(args))]
    checks: list[str] = []
    namespace: dict[str, Leaf] = {"slow": slow, "Mismatch": _Mismatch, "result": entry.result}
    if type(structure) is int:
        if entry.traced.out_structure is None:
            return executable(entry.program).caller(entry.bound, fallback=slow)
        leaves = names
    else:
        leaves = []
        for name, value in zip(names, args, strict=True):
            if not _unpack(name, value, leaves, checks):
                return slow
    namespace["front"] = executable(entry.program).caller(entry.bound, fallback=_mismatch)
    built = _built(entry, namespace)
    call = f"front({', '.join(leaves)})"
    condition = " and ".join(checks) or "True"
    source = (
        f"def call(*args, **kwargs):\n    if len(args) != {len(args)} or kwargs:\n        return slow(*args, **kwargs)\n"
        f"    {', '.join(names)}{',' if names else 'pass'} {'= args' if names else ''}\n"
        f"    if {condition}:\n        try:\n            out = {call}\n        except (Mismatch, KeyError):\n            return slow(*args)\n"
        f"        return {built}\n    return slow(*args)\n"
    )
    return compile_source(source, "call", namespace)


def _unpack(text: str, value: Leaf, leaves: list[str], checks: list[str]) -> bool:
    """Text of each leaf of an argument, and of the checks of its containers; False for containers that have no quick path."""
    if type(value) is dict and all(type(k) is str for k in value):
        checks.append(f"type({text}) is dict and len({text}) == {len(value)}")
        return all(_unpack(f"{text}[{k!r}]", value[k], leaves, checks) for k in sorted(value))
    if type(value) in (list, tuple):
        checks.append(f"type({text}) is {type(value).__name__} and len({text}) == {len(value)}")
        return all(_unpack(f"{text}[{i}]", v, leaves, checks) for i, v in enumerate(value))
    if leaf_type(value)[1] is None:
        return False
    leaves.append(text)
    return True


def _built(entry: _Entry, namespace: dict[str, Tree]) -> str:
    """Text of the expression that makes the output tree from `out`."""
    structure = entry.traced.out_structure
    count = len(entry.program.outputs)
    if structure is None:
        return "out"
    if entry.traced.out_static:
        return "result(out)"
    texts = [f"out[{i}]" for i in range(count)] if count != 1 else ["out"]

    def build(node: Tree) -> str | None:
        kind = type(node)
        if kind is str:
            return node  # type: ignore[no-any-return]  # a leaf
        if kind not in (tuple, list, dict) or not node or (kind is dict and not all(type(k) in (str, int) for k in node)):
            return None
        parts = [build(child) for child in (node.values() if kind is dict else node)]
        if any(p is None for p in parts):
            return None
        if kind is dict:
            return "{" + ", ".join(f"{k!r}: {p}" for k, p in zip(node, parts, strict=True)) + "}"
        inner = ", ".join(parts)  # type: ignore[arg-type]  # none is None
        return f"[{inner}]" if kind is list else f"({inner},)"

    text = build(tree.unflatten(structure, texts))  # the containers themselves: a structure has the keys of a dict sorted
    return text if text is not None else "result(out)"


def jit(fun: Function | None = None, *, static_argnums: int | Sequence[int] = (), static_argnames: str | Sequence[str] = ()) -> Tree:
    """Compile a function to a kernel at its first call.

    Parameters
    ----------
    fun : callable
        A pure function: for arguments of known tree, shapes and dtypes it is not run again.  Without it, a decorator is returned.
    static_argnums : int or sequence of int, optional
        Positional arguments that are part of the signature by value (hashable), not traced.
    static_argnames : str or sequence of str, optional
        The same by name.

    Returns
    -------
    callable
        Same arguments and result as `fun`; results of shape () are NumPy scalars.

    Raises
    ------
    NoValueError
        If the function asks for the value of a traced argument.
    KernelError
        If the kernel cannot be compiled.

    Examples
    --------
    >>> import numpy as np
    >>> from functad import grad, jit
    >>> step = jit(grad(lambda x: np.sum(x**2)))
    >>> step(np.array([1.0, 2.0]))
    array([2., 4.])
    """
    nums = (static_argnums,) if isinstance(static_argnums, int) else tuple(static_argnums)
    names = (static_argnames,) if isinstance(static_argnames, str) else tuple(static_argnames)
    if fun is None:
        return lambda function: Jit(function, nums, names)
    return Jit(fun, nums, names)


def make_program(fun: Function) -> Callable[..., Program]:
    """Show the program that a function is traced to.

    Parameters
    ----------
    fun : callable
        The function, transformed or not.

    Returns
    -------
    callable
        Takes the arguments of `fun`, returns the `Program`; it prints as text.  Captured values are its leading inputs.

    Raises
    ------
    NoValueError
        If the function asks for the value of an argument.

    Examples
    --------
    >>> import numpy as np
    >>> from functad import make_program
    >>> make_program(lambda x: np.sin(x) * x)(np.ones(3))
    program(a: f8[3])
      b: f8[3] = sin a
      c: f8[3] = mul b a
      return c
    """

    def made(*args: Tree, **kwargs: Tree) -> Program:
        if isinstance(fun, Jit):
            _, function, leaves, structure = fun.signature(args, kwargs)  # without its static arguments
        else:
            function, (leaves, structure) = fun, flatten_call(args, kwargs)
        return trace_call(function, leaves, structure, "an argument of make_program").program

    return made


def show_source(fun: Function) -> Callable[..., None]:
    """Print the generated source of a function's kernels.

    Parameters
    ----------
    fun : callable
        A function, usually under `jit`.

    Returns
    -------
    callable
        Takes the arguments of `fun` and prints the source of its kernels, with types as comments.

    Raises
    ------
    NoValueError
        If the function asks for the value of an argument.

    Examples
    --------
    >>> import numpy as np
    >>> from functad import jit, show_source
    >>> show_source(jit(lambda x: np.exp(x) * 2.0))(np.ones(3))  # doctest: +ELLIPSIS
    def ...
    """

    def shown(*args: Tree, **kwargs: Tree) -> None:
        jitted = fun if isinstance(fun, Jit) else Jit(fun)
        _, function, leaves, structure = jitted.signature(args, kwargs)
        traced = trace_call(function, leaves, structure, "an argument of a function under jit")
        print(executable(traced.program).source())

    return shown
