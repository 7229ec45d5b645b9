"""What every transformed function is: a callable that keeps its function's name and documentation, binds as a method, and pickles."""

import functools
import types

from functad.errors import UnsupportedArgumentError
from functad.tree import Function, Tree

__all__ = ["Transformed", "argument_mask"]


class Transformed:
    """A function under a transform."""

    def __init__(self, function: Function, **options: Tree) -> None:
        if not callable(function):
            raise UnsupportedArgumentError(f"{type(self).__name__.lower()} takes a function, got {function!r}")
        functools.update_wrapper(self, function)  # type: ignore[arg-type]  # subclasses define __call__
        self.function = function
        self.options = options

    def __get__(self, instance: Tree, owner: type | None = None) -> Tree:
        return self if instance is None else types.MethodType(self, instance)  # type: ignore[arg-type]  # subclasses define __call__

    def __reduce__(self) -> tuple[Tree, ...]:
        return _rebuild, (type(self), self.function, self.options)

    def __repr__(self) -> str:
        return f"{type(self).__name__.lower()}({getattr(self.function, '__qualname__', self.function)!s})"


def _rebuild(kind: type[Transformed], function: Function, options: dict[str, Tree]) -> Transformed:
    return kind(function, **options)


def argument_mask(argnums: tuple[int, ...], count: int, name: str) -> tuple[int, ...]:
    """Argnums as non-negative positions.

    Raises
    ------
    UnsupportedArgumentError
        Where there is no such positional argument.
    """
    found = []
    for a in argnums:
        position = a + count if a < 0 else a
        if not 0 <= position < count:
            raise UnsupportedArgumentError(
                f"{name} with argnums={a} needs at least {a + 1 if a >= 0 else -a} positional arguments, got {count}; "
                "derivatives are with respect to positional arguments"
            )
        found.append(position)
    return tuple(found)
