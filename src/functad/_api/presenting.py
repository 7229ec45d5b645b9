"""Errors as the user meets them: NumPy's complaints about traced values translated, internal frames taken out of the traceback."""

import os
from types import TracebackType

import numpy as np

from functad._api.scipys import entered, refused, was_given_traced
from functad.errors import HOME, FunctadError, MutationError, NoValueError, TracedIndexError, UnsupportedFunctionError, is_users

__all__ = ["presentable"]

_NUMPY = os.path.dirname(os.path.abspath(np.__file__)) + os.sep


def presentable(error: Exception, reason: str | None = None) -> Exception:
    """The error to raise instead: ours, and ending at the user's own line."""
    translated = error if isinstance(error, FunctadError) else _translated(error, reason)
    within = entered(error.__traceback__)
    if within and (translated is not None or was_given_traced(within)):
        translated = refused(within, _last_line(error.__traceback__))
    if translated is None:
        return error
    return translated.with_traceback(_without_internal(error.__traceback__))


DROP_IN = "write `import functad.numpy as np`, whose functions take traced values in lists"


def _translated(error: Exception, reason: str | None) -> FunctadError | None:
    """NumPy cannot know what a traced value is; what it says of one is said better."""
    text = str(error)
    location = _last_line(error.__traceback__)
    inside = _functions_of_numpy(error.__traceback__)
    if "setting an array element with a sequence" in text:
        if "_vectorize_call" in inside:
            cure = f"leave out the otypes of np.vectorize, or {DROP_IN}"
        elif inside:
            cure = f"NumPy made an array of numbers of a list that holds traced values: {DROP_IN}, or join the parts with np.stack"
        else:
            cure = (
                "collect the parts in a list and join them with np.stack or np.concatenate, or choose elements with np.where; "
                f"where NumPy was to make the array, {DROP_IN}"
            )
        return MutationError(f"a traced value was written into a plain NumPy array, which cannot hold it: {cure}", location)
    if _met_objects(error, text, bool(inside)):
        cure = f"NumPy saw an array of Python objects there: build the array with np.stack, or {DROP_IN}, and lists for its np.array"
        return UnsupportedFunctionError(f"a function that has no rule for traced values was given some ({text}); {cure}", location)
    if "expected a sequence of integers or a single integer, got 'Tracer" in text:
        cure = "under jit make it a static argument (static_argnums), elsewhere leave it out of what is mapped or differentiated"
        return NoValueError(f"a traced value was given as a size or shape, which must be known while tracing: {cure}", location)
    if "can't convert type 'Tracer'" in text:
        cure = "use NumPy's (np.mean, np.std, np.median)"
        return UnsupportedFunctionError(f"a function of the statistics module was given traced values, which it does not know; {cure}", location)
    if "object arrays are not supported" in text or "unsupported data types in input" in text:
        cure = "compute it outside of the traced function, or spell it in NumPy"
        return UnsupportedFunctionError(f"a function of another library was given traced values, which it does not know ({text}); {cure}", location)
    if isinstance(error, IndexError) and reason is not None and "only integers, slices" in text:
        cure = "functad.numpy.take(y, i) looks it up while the program runs"
        return TracedIndexError(
            f"{text}.  If a traced value indexed a plain array: it depends on {reason}, which has no single value; {cure}", location
        )
    return None


def _met_objects(error: Exception, text: str, inside: bool) -> bool:
    """Whether NumPy says that its function does not know arrays of objects."""
    if isinstance(error, AttributeError):  # an element of such an array lacks what an array has
        return inside and ("'float' object" in text or "'int' object" in text or "'bool' object" in text)
    if "loop of ufunc does not support argument" in text or "array data from dtype('O')" in text:
        return True
    return "ufunc" in text and ("not supported for the input types" in text or "from dtype('O')" in text)


def _functions_of_numpy(traceback: TracebackType | None) -> list[str]:
    """The names of NumPy's functions below the user's last line."""
    names: list[str] = []
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if code.co_filename.startswith(_NUMPY):
            names.append(code.co_name)
        elif not code.co_filename.startswith((HOME, "<")):
            names = []
        traceback = traceback.tb_next
    return names


def _last_line(traceback: TracebackType | None) -> str | None:
    found = None
    while traceback is not None:
        filename = traceback.tb_frame.f_code.co_filename
        if is_users(filename):
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
