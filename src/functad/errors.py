"""One class for each mistake a user can make; every message says what was asked, what was found and what to do.

All inherit `FunctadError` and the builtin exception that a NumPy user would expect.  The user's own file and line are added when the
error is made, so that an error raised deep inside names the line that asked for it.  This module knows of no other.
"""

import os
import sys

__all__ = [
    "ConversionError", "EscapedTracerError", "FunctadError", "IntegerInputError", "KernelError", "MissingRuleError", "MutationError",
    "NoValueError", "NonScalarOutputError", "ShapeMismatchError", "TracedIndexError", "TreeMismatchError", "UnsupportedArgumentError",
    "UnsupportedFunctionError", "VerificationError",
]  # fmt: skip

HOME = os.path.dirname(os.path.abspath(__file__)) + os.sep
_STANDARD = os.path.dirname(os.__file__) + os.sep
_PACKAGES = f"-packages{os.sep}"  # site-packages or dist-packages
_LIBRARIES = tuple(_PACKAGES + name + os.sep for name in ("numpy", "scipy", "pandas"))


def is_users(filename: str) -> bool:
    """Whether a file is the user's: not functad's, generated, the standard library's, or one of a library that calls back.

    Examples
    --------
    >>> is_users("model.py"), is_users("<string>"), is_users(__file__)
    (True, False, False)
    """
    if filename.startswith((HOME, "<")) or filename.endswith((".pyx", ".pxd")) or any(library in filename for library in _LIBRARIES):
        return False
    return not filename.startswith(_STANDARD) or _PACKAGES in filename


def user_line() -> str | None:
    """`file:line` of the innermost frame that does not belong to functad, or None.

    Returns
    -------
    str or None
        Where the user's code stands now.

    Examples
    --------
    >>> user_line() is not None
    True
    """
    frame = sys._getframe(1)
    while frame is not None:
        filename = frame.f_code.co_filename
        if is_users(filename):
            return f"{filename}:{frame.f_lineno}"
        frame = frame.f_back  # type: ignore[assignment]  # the last frame's f_back is None
    return None


class FunctadError(Exception):
    """Base class of all errors that functad raises on purpose.

    Parameters
    ----------
    message : str
        Cause, what was found, and the cure.
    location : str, optional
        `file:line` of the user's code; found from the running frames by default.

    Attributes
    ----------
    location : str or None
        `file:line` of the user's code that led here.

    Examples
    --------
    >>> issubclass(NonScalarOutputError, FunctadError)
    True
    """

    def __init__(self, message: str, location: str | None = None) -> None:
        self.location = location or user_line()
        super().__init__(f"{message}\n  at {self.location}" if self.location else message)


class NonScalarOutputError(FunctadError, TypeError):
    """`grad` or `value_and_grad` of a function whose output is not one real number.

    Examples
    --------
    >>> import functad as fd, numpy as np
    >>> try:
    ...     fd.grad(np.sin)(np.ones(3))
    ... except NonScalarOutputError as error:
    ...     print("vjp" in str(error))
    True
    """


class IntegerInputError(FunctadError, TypeError):
    """A derivative with respect to integers or booleans was asked for.

    Examples
    --------
    >>> issubclass(IntegerInputError, TypeError)
    True
    """


class ConversionError(FunctadError, TypeError):
    """`float(x)`, `math.sin(x)`, `np.array(x, dtype=float)`: would cut the derivative in silence.

    Examples
    --------
    >>> issubclass(ConversionError, TypeError)
    True
    """


class NoValueError(FunctadError, TypeError):
    """A value was asked for (`if x > 0`, `int(x)`) where there is no single value: under `jit`, `vmap`, in a loop body, of a tangent.

    Examples
    --------
    >>> issubclass(NoValueError, TypeError)
    True
    """


class TracedIndexError(FunctadError, IndexError):
    """A plain array was indexed with a traced value that has no single value: under `jit`, `vmap`, in a loop body.

    Examples
    --------
    >>> issubclass(TracedIndexError, IndexError)
    True
    """


class EscapedTracerError(FunctadError, RuntimeError):
    """A traced value was kept and used after its trace had ended, or in a trace that does not enclose it.

    Examples
    --------
    >>> issubclass(EscapedTracerError, RuntimeError)
    True
    """


class UnsupportedFunctionError(FunctadError, TypeError):
    """A NumPy function that has no rule for traced values yet.

    Examples
    --------
    >>> issubclass(UnsupportedFunctionError, TypeError)
    True
    """


class UnsupportedArgumentError(FunctadError, TypeError):
    """An argument of a supported function that cannot be honoured for traced values.

    Examples
    --------
    >>> issubclass(UnsupportedArgumentError, TypeError)
    True
    """


class MutationError(FunctadError, TypeError):
    """Writing into something that cannot be written while tracing, or a captured array that changed during the call.

    Examples
    --------
    >>> issubclass(MutationError, TypeError)
    True
    """


class MissingRuleError(FunctadError, NotImplementedError):
    """A primitive lacks the rule that a transform needs; the reason stands in the docs' table of rules.

    Examples
    --------
    >>> issubclass(MissingRuleError, NotImplementedError)
    True
    """


class TreeMismatchError(FunctadError, ValueError):
    """Two pytrees that must have the same structure do not.

    Examples
    --------
    >>> issubclass(TreeMismatchError, ValueError)
    True
    """


class ShapeMismatchError(FunctadError, ValueError):
    """Arrays whose shapes or dtypes must agree do not.

    Examples
    --------
    >>> issubclass(ShapeMismatchError, ValueError)
    True
    """


class KernelError(FunctadError, RuntimeError):
    """A kernel could not be compiled, or reported a failure while running.

    Examples
    --------
    >>> issubclass(KernelError, RuntimeError)
    True
    """


class VerificationError(FunctadError, AssertionError):
    """A program breaks an invariant: a fault of functad itself, never of the user.

    Examples
    --------
    >>> issubclass(VerificationError, AssertionError)
    True
    """
