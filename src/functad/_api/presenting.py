"""Errors as the user meets them: NumPy's complaints about traced values translated, internal frames taken out of the traceback."""

import os
from types import TracebackType

import numpy as np

from functad._api.scipys import entered, is_pandas_or_scipy, refused, was_given_traced
from functad.errors import HOME, FunctadError, MutationError, NoValueError, UnsupportedFunctionError

__all__ = ["presentable"]

_NUMPY = os.path.dirname(os.path.abspath(np.__file__)) + os.sep
_INTERNAL = (HOME, _NUMPY, "<")  # what the names of files begin with that are neither the user's nor another library's


def presentable(error: Exception) -> Exception:
    """The error to raise instead: ours, and ending at the user's own line."""
    translated = error if isinstance(error, FunctadError) else _translated(error)
    within = entered(error.__traceback__, _INTERNAL)
    if within and (translated is not None or was_given_traced(within)):
        translated = refused(within, _last_line(error.__traceback__))
    if translated is None:
        return error
    return translated.with_traceback(_without_internal(error.__traceback__))


def _translated(error: Exception) -> FunctadError | None:
    """NumPy cannot know what a traced value is; what it says of one is said better."""
    text = str(error)
    location = _last_line(error.__traceback__)
    if "setting an array element with a sequence" in text:
        cure = "collect the parts in a list and join them with np.stack or np.concatenate, or choose elements with np.where"
        return MutationError(f"a traced value was written into a plain NumPy array, which cannot hold it: {cure}", location)
    if "loop of ufunc does not support argument" in text or (
        "ufunc" in text and ("not supported for the input types" in text or "from dtype('O')" in text)
    ):
        cure = "NumPy saw an array of Python objects there: build the array with np.stack, or use functad.numpy"
        return UnsupportedFunctionError(f"a function that has no rule for traced values was given some ({text}); {cure}", location)
    if "expected a sequence of integers or a single integer, got 'Tracer" in text:
        cure = "under jit make it a static argument (static_argnums), elsewhere leave it out of what is mapped or differentiated"
        return NoValueError(f"a traced value was given as a size or shape, which must be known while tracing: {cure}", location)
    if "object arrays are not supported" in text or "unsupported data types in input" in text:
        cure = "compute it outside of the traced function, or spell it in NumPy"
        return UnsupportedFunctionError(f"a function of another library was given traced values, which it does not know ({text}); {cure}", location)
    return None


def _last_line(traceback: TracebackType | None) -> str | None:
    found = None
    while traceback is not None:
        filename = traceback.tb_frame.f_code.co_filename
        if not filename.startswith(_INTERNAL) and not is_pandas_or_scipy(filename):
            found = f"{filename}:{traceback.tb_lineno}"
        traceback = traceback.tb_next
    return found


def _without_internal(traceback: TracebackType | None) -> TracebackType | None:
    """The same chain without functad's own frames, so that the last line shown is the user's."""
    kept = []
    while traceback is not None:
        if not traceback.tb_frame.f_code.co_filename.startswith(HOME):
            kept.append(traceback)
        traceback = traceback.tb_next
    chain: TracebackType | None = None
    for t in reversed(kept):
        chain = TracebackType(chain, t.tb_frame, t.tb_lasti, t.tb_lineno)
    return chain
