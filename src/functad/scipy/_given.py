"""What the functions of this door are given: whether it is traced, and as which array it is computed with."""

import numpy as np

from functad._core.tracer import Tracer
from functad._numpy.arguments import Operand, Result
from functad._numpy.objects import holds_traced
from functad.errors import UnsupportedArgumentError
from functad.numpy import asarray

__all__ = ["any_traced", "floating", "refuse_given"]


def any_traced(*arguments: Operand) -> bool:
    """Whether one of the arguments is a traced value, or holds one."""
    return any(map(holds_traced, arguments))


def floating(x: Operand) -> Result:
    """x as an array, or a traced value, of real numbers in a floating-point dtype; Python's numbers promote nothing."""
    if type(x) in (int, float):
        return float(x)
    out: Result = x if type(x) is Tracer else asarray(x)
    if out.dtype.kind == "c":
        raise UnsupportedArgumentError(
            "functad.scipy computes with real numbers, and an argument is complex: take its real part, or its absolute value"
        )
    return out if out.dtype.kind == "f" else out.astype(np.float64)


def refuse_given(function: str, **arguments: Operand) -> None:
    """Refuse arguments that cannot be honoured where one is given."""
    for name, found in arguments.items():
        if found is not None:
            raise UnsupportedArgumentError(
                f"functad.scipy.{function}: the argument {name}={found!r} cannot be honoured for traced values: leave it out"
            )
