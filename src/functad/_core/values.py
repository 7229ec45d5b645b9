"""Values while tracing: cells that compute what a question depends on, once.

A tracer owns a cell.  Unforced, a cell holds the recorded step and the cells of its inputs; forced, it holds just its value and no memory
of where it came from, so nothing but living tracers keeps values.  Forcing is iterative: a `while` loop makes chains far deeper than
Python's stack.
"""

from typing import Any

from functad.errors import NoValueError

__all__ = ["COMPUTED", "Cell", "force", "known", "unknown"]


COMPUTED = (None,)


class Cell:
    """`step` says how the value comes about: None (it is here), an object with `evaluate`, an int (that output of one input), a str (never: why).

    `inputs` are `COMPUTED` for a value that was computed, () for one that was given.
    """

    __slots__ = ("inputs", "step", "value")

    step: Any
    inputs: tuple[Any, ...]  # cells, or plain values
    value: Any


def known(value: Any) -> Cell:
    """A cell that has its value."""
    cell = Cell()
    cell.step, cell.inputs, cell.value = None, (), value
    return cell


def unknown(reason: str) -> Cell:
    """A cell that never has a value; the reason goes into the user's error."""
    cell = Cell()
    cell.step, cell.inputs, cell.value = reason, (), None
    return cell


def computed(step: Any, inputs: tuple[Any, ...]) -> Cell:
    """A cell that computes its value when asked."""
    cell = Cell()
    cell.step, cell.inputs = step, inputs
    return cell


def force(cell: Cell) -> Any:
    """The cell's value, computed now if need be.

    Raises
    ------
    NoValueError
        Where it depends on something that has no single value.
    """
    stack = [cell]
    while stack:
        top = stack[-1]
        step = top.step
        if step is None:
            stack.pop()
            continue
        if isinstance(step, str):
            raise NoValueError(
                f"the value of a traced array was asked for (by `if`, `while`, `int()`, `bool()` or an index), but it depends on {step}, which "
                "has no single value while tracing: use np.where to choose between values, or functad.cond to choose between computations; what "
                "sets a size or a switch under jit is a static argument (static_argnums)"
            )
        missing = [i for i in top.inputs if type(i) is Cell and i.step is not None]
        if missing:
            stack += missing
            continue
        values = [i.value if type(i) is Cell else i for i in top.inputs]
        top.value = values[0][step] if type(step) is int else step.evaluate(values)
        top.step, top.inputs = None, COMPUTED  # from here on the inputs live only if somebody else holds them
        stack.pop()
    return cell.value
