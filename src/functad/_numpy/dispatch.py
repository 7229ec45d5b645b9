"""How a NumPy call on traced values finds its implementation.

`implements(np.name)` declares a door: the signature is NumPy's, the body is spelt in primitives.  `numeric` names the parameters whose Python
scalars are data (inputs of the program, keyed by type); every other scalar is structural (part of the key, by value).  Arrays are data in
both, except where the parameter is in `structural`: there an array is read as a value (axes, repeats).  `method` also makes the door a method of
traced values, `view` marks results that share memory with their argument in NumPy.

Hot path: one traced positional argument and nothing else is one dictionary lookup.
"""

import builtins
import inspect
import operator
import sys
from collections.abc import Callable, Container, Iterator, Sequence
from typing import NoReturn

import numpy as np

from functad._core.recorder import Door, binary, record, unary
from functad._core.tracer import Tracer, install
from functad._core.types import SCALAR_TYPES
from functad._numpy.arguments import Implementation, Operand, Result, given
from functad.errors import MutationError, UnsupportedArgumentError, UnsupportedFunctionError

__all__ = ["DOORS", "door", "implements", "refuse"]

DOORS: dict[Result, Implementation] = {}  # NumPy function or ufunc -> caller


def implements(
    *functions: Operand, numeric: Sequence[str] = (), structural: Sequence[str] = (), method: str | None = None, view: bool = False
) -> Callable[[Implementation], Implementation]:
    """Declare the implementation of NumPy functions (aliases together)."""

    def declare(implementation: Implementation) -> Implementation:
        code = implementation.__code__  # inspect.signature costs 60 us a function at import
        names = code.co_varnames[: code.co_argcount]
        if code.co_flags & inspect.CO_VARARGS:
            names = (*names, code.co_varnames[code.co_argcount + code.co_kwonlyargcount])
        takes_out = "out" in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        inner = _refusing_out(functions[0], implementation, names) if takes_out else implementation
        door = Door(getattr(functions[0], "__name__", str(functions[0])), inner, view)
        data, values = frozenset(numeric), frozenset(structural)

        def call(*args: Operand, **kwargs: Operand) -> Result:
            if len(args) == 1 and not kwargs and type(args[0]) is Tracer:
                return unary(door, args[0])
            return record_call(door, names, data, values, args, kwargs)

        call.__name__ = door.name
        call.__doc__ = implementation.__doc__
        call.implementation = implementation  # type: ignore[attr-defined]
        call.view = view  # type: ignore[attr-defined]
        for function in functions:
            DOORS[function] = call
        if method is not None:
            install(method, call)
        return call

    return declare


def no_out(function: Operand, out: object) -> None:
    """Refuse `out=`: the array given would have to be written."""
    if given(out):
        name = _spelt(function)
        raise MutationError(f"{name}(..., out=...) would write traced values into a plain NumPy array: use the result, `z = {name}(...)`")


def _refusing_out(function: Operand, implementation: Implementation, names: Sequence[str]) -> Implementation:
    """The implementation behind a look at `out`, which may stand among the positional parameters `names`."""

    def checked(*args: Operand, **kwargs: Operand) -> Result:
        no_out(function, {**dict(zip(names, args, strict=False)), **kwargs}.get("out"))
        return implementation(*args, **kwargs)

    return checked


class _Slot:
    """Marks an operand's place in the frozen arguments."""

    __slots__ = ()


_SLOT = _Slot()


def _all_numbers(x: Operand) -> bool:
    """Whether a list, however nested, holds Python's and NumPy's scalars only."""
    return all(type(v) in SCALAR_TYPES or (type(v) is list and _all_numbers(v)) for v in x)


def _freeze(x: Operand, data: bool, as_value: bool, operands: list[Operand]) -> Result:
    """What stands for an argument in the key: itself, or a slot and one more operand."""
    kind = type(x)
    if kind is Tracer:
        if as_value:
            return (int, operator.index(x))
        operands.append(x)
        return _SLOT
    if kind in SCALAR_TYPES:
        if data:
            operands.append(x)
            return _SLOT
        return (kind, x)
    if x is None or kind is str or kind is builtins.slice or kind is type(Ellipsis):
        return x if kind is not builtins.slice else (kind, *[_freeze(v, False, True, operands) for v in (x.start, x.stop, x.step)])
    if kind is list and data and x and _all_numbers(x):
        operands.append(np.asarray(x))  # one operand, not one for each number
        return _SLOT
    if isinstance(x, (tuple, list)):
        return (kind, *[_freeze(v, data, as_value, operands) for v in x])
    if kind is dict:
        return (kind, *[(k, _freeze(v, data, as_value, operands)) for k, v in x.items()])
    if isinstance(x, np.ndarray):
        if as_value:
            return (np.ndarray, x.shape, x.dtype.str, x.tobytes())
        operands.append(x)
        return _SLOT
    if data and hasattr(x, "__array__"):
        operands.append(np.asarray(x))
        return _SLOT
    return x


def _thaw(frozen: Operand, original: Operand, given: Iterator[Operand]) -> Result:
    """The argument again, with tracers of the open builder in the slots."""
    if frozen is _SLOT:
        return next(given)
    if isinstance(original, (tuple, list)):
        parts = [_thaw(f, o, given) for f, o in zip(frozen[1:], original, strict=True)]
        return parts if isinstance(original, list) else tuple(parts)
    if type(original) is dict:
        return {k: _thaw(f[1], v, given) for f, (k, v) in zip(frozen[1:], original.items(), strict=True)}
    return frozen[1] if type(original) is Tracer else original


def _known(door: Door, name: str, x: Operand) -> None:
    """Refuse a traced float where the value decides what is recorded."""
    if type(x) is Tracer and x.dtype.kind in "fc":
        refuse(door.name, name, x, "it must be a plain number")


def record_call(
    door: Door, names: Sequence[str], numeric: Container[str], structural: Container[str], args: Sequence[Operand], kwargs: dict[str, Operand]
) -> Result:
    """Split the arguments into operands and hashable structure, and record."""
    operands: list[Result] = []
    frozen: list[Result] = []
    last = len(names) - 1
    for i, x in enumerate(args):
        name = names[i] if i < last else names[last]
        if type(x) is Tracer and name not in structural:  # the hot path
            operands.append(x)
            frozen.append(_SLOT)
        else:
            _known(door, name, x)
            frozen.append(_freeze(x, name in numeric, name in structural, operands))
    ordered = sorted(kwargs) if len(kwargs) > 1 else list(kwargs)
    for k in ordered:
        if k in structural:
            _known(door, k, kwargs[k])
    named = [_freeze(kwargs[k], k in numeric, k in structural, operands) for k in ordered]

    key = (len(frozen), *frozen, *ordered, *named)

    def rebuild(tracers: Sequence[Operand]) -> Result:
        given = iter(tracers)
        positional = [_thaw(f, o, given) for f, o in zip(frozen, args, strict=True)]
        return door.implementation(*positional, **{k: _thaw(f, kwargs[k], given) for k, f in zip(ordered, named, strict=True)})

    try:
        if len(operands) == 1 and type(operands[0]) is Tracer:
            return unary(door, operands[0], key, rebuild)
        return record(door, key, operands, rebuild)
    except TypeError as error:
        if "unhashable" in str(error):
            raise UnsupportedArgumentError(f"np.{door.name} got an argument that cannot be part of a program: {error}") from None
        raise


def door(name: str, implementation: Implementation, numeric: Sequence[str], structural: Sequence[str] = ()) -> Implementation:
    """A caller of the implementation as one recorded operation, all arguments by keyword: for functions that NumPy does not hand over."""
    one = Door(name, implementation)
    data, values = frozenset(numeric), frozenset(structural)

    def call(**arguments: Operand) -> Result:
        return record_call(one, [], data, values, (), arguments)

    return call


# ---- what NumPy calls


def _array_function(self: Tracer, function: Operand, types: Operand, args: Operand, kwargs: Operand) -> Result:
    found = DOORS.get(function)
    if found is None:
        if function in _TAKE_LIKE:  # NumPy asks about these for `like=` only, and takes it out
            refuse(function.__name__, "like", self, "leave it out")
        raise unsupported(function)
    return found(*args, **kwargs)


_TAKE_LIKE = {
    np.array, np.asarray, np.asanyarray, np.ascontiguousarray, np.asfortranarray, np.require, np.empty, np.ones, np.zeros, np.full, np.arange,
    np.eye, np.identity, np.tri, np.fromiter, np.frombuffer, np.fromfunction,
}  # fmt: skip


PYTHON_UFUNCS: list[Implementation] = []  # calls an np.frompyfunc element by element; `applying` puts it here
LATE: dict[str, Callable[[], None]] = {}  # package -> what gives its ufuncs their doors: called when one is met, which is not before it is imported
PLAIN_CALLS: dict[np.ufunc, Door] = {}  # ufuncs whose calls without keywords are recorded as they are


def _array_ufunc(self: Tracer, ufunc: np.ufunc, method: str, *inputs: Operand, **kwargs: Operand) -> Result:
    if method == "__call__" and not kwargs:  # the usual call: a third of the time of the general one
        door = PLAIN_CALLS.get(ufunc)
        if door is not None:
            return unary(door, inputs[0]) if len(inputs) == 1 else binary(door, *inputs)
    if method == "at":
        raise _written_at(ufunc)
    if ufunc not in DOORS:
        for package, meet in LATE.items():
            if package in sys.modules:
                meet()
    found = DOORS.get(ufunc)
    if found is None and method == "__call__" and set("".join(ufunc.types)) == {"O", "-", ">"}:
        return PYTHON_UFUNCS[0](ufunc, *inputs, **kwargs)
    if found is None or (method != "__call__" and (ufunc, method) not in DOORS):
        raise unsupported(ufunc, method)
    if kwargs.get("out") is not None:
        raise MutationError(
            f"np.{ufunc.__name__}(..., out=...) (or an in-place operator) would write traced values into a plain NumPy array: write "
            "`z = z + x` instead of `z += x`"
        )
    if method != "__call__":
        found = DOORS[ufunc, method]
    return found(*inputs, **kwargs)


def _written_at(ufunc: np.ufunc) -> MutationError:
    """The error for `np.add.at` and its like, which write into their first argument."""
    name = _spelt(ufunc)
    signs = {np.add: "+", np.subtract: "-"}
    if ufunc in signs:
        cure = f"`x = x {signs[ufunc]} np.bincount(i, weights=v, minlength=x.size)` adds up by place"
    else:
        cure = f"`x = np.where(mask, {name}(x{', v' * (ufunc.nin - 1)}), x)`, where the mask holds at these places"
    return MutationError(f"{name}.at writes into its first argument, and neither can traced arrays be written to, nor plain ones hold them: {cure}")


install("__array_function__", _array_function)
install("__array_ufunc__", _array_ufunc)


def _spelt(function: Operand) -> str:
    """A NumPy function's name with its module, as a user writes it."""
    name = getattr(function, "__name__", str(function))
    if isinstance(function, np.ufunc) and getattr(np, name, None) is not function:  # a ufunc does not know its module
        special = sys.modules.get("scipy.special")
        return f"scipy.special.{name}" if getattr(special, name, None) is function else name
    module = getattr(function, "__module__", "numpy") or "numpy"
    return f"{module.replace('numpy', 'np', 1)}.{name}" if module.startswith("numpy") else name


# What people write for functions that have no door, by meaning: names that look alike seldom mean the same.
_INSTEAD = {
    "fix": "np.trunc",
    "bitwise_count": "a sum of x // 2**np.arange(64) % 2",
    "packbits": "a sum of 2**np.arange(8)[::-1] where the bits are set", "unpackbits": "x // 2**np.arange(8)[::-1] % 2",
    "ravel_multi_index": "i * columns + j", "unravel_index": "i // columns and i % columns",
    "min_scalar_type": "x.dtype", "einsum_path": "np.einsum_path of plain arrays of these shapes",
    "save": "np.save of the result, outside of the traced function", "savez": "np.savez of the result, outside of the traced function",
    "savetxt": "np.savetxt of the result, outside of the traced function",
    "savez_compressed": "np.savez_compressed of the result, outside of the traced function",
}  # fmt: skip


def _nearest(function: Operand, method: str) -> str:
    """What to write instead, or the functions whose names are nearly the same."""
    import difflib

    name = getattr(function, "__name__", str(function))
    if method != "__call__":
        has = sorted(key[1] for key in DOORS if isinstance(key, tuple) and key[0] is function)
        known = sorted(key[0].__name__ for key in DOORS if isinstance(key, tuple) and key[1] == method)
        if has:
            return f"; np.{name} itself has {', '.join(has)}" + (f", and {method} have {', '.join('np.' + n for n in known)}" if known else "")
    if name in _INSTEAD:
        return f"; spell it with {_INSTEAD[name]}"
    spelt = {f.__name__: _spelt(f) for f in reversed(list(DOORS)) if not isinstance(f, tuple)}  # name -> as a user writes it
    near = difflib.get_close_matches(name, sorted(spelt), 3, 0.8)
    return f"; the nearest that do: {', '.join(spelt[n] for n in near)}" if near else ""


def unsupported(function: Operand, method: str = "__call__") -> UnsupportedFunctionError:
    """The error for a NumPy function without a door; names what does the same."""
    full = _spelt(function)
    if method != "__call__":
        full += f".{method}"
    return UnsupportedFunctionError(
        f"{full} has no rule for traced values yet{_nearest(function, method)}.  Compute it outside of the traced function, or spell it in "
        "supported functions"
    )


def refuse(function: str, name: str, found: object, why: str = "") -> NoReturn:
    """The error for an argument that cannot be honoured."""
    raise UnsupportedArgumentError(f"np.{function}: the argument {name}={found!r} cannot be honoured for traced values{': ' + why if why else ''}")
