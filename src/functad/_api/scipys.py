"""What of SciPy's functions `functad.scipy` replaces, and errors from within the others."""

import os
from types import FrameType, TracebackType

from functad._core.tracer import Tracer
from functad._numpy.objects import holds_traced
from functad.errors import UnsupportedFunctionError, is_users

__all__ = ["OWN", "entered", "refused", "was_given_traced"]

# Module of `functad.scipy` -> the functions that it has of its own: the modules take their lists from here.
OWN = {
    "integrate": ["cumulative_trapezoid", "simpson", "trapezoid"],
    "linalg": ["block_diag", "cho_factor", "cho_solve", "cholesky", "det", "eigh", "expm", "inv", "solve", "solve_triangular", "toeplitz"],
    "ndimage": ["map_coordinates"],
    "signal": ["convolve"],
    "special": ["lambertw", "log_softmax", "logsumexp", "multigammaln", "polygamma", "softmax", "spherical_jn"],
    "stats": [
        "bernoulli", "beta", "binom", "cauchy", "dirichlet", "expon", "gamma", "geom", "laplace", "logistic", "lognorm", "multivariate_normal",
        "nbinom", "norm", "poisson", "t", "uniform",
    ],
}  # fmt: skip

_SCIPY = f"{os.sep}site-packages{os.sep}scipy{os.sep}"


def entered(traceback: TracebackType | None) -> list[FrameType]:
    """The frames of SciPy's behind the user's last line, outermost first."""
    found: list[FrameType] = []
    while traceback is not None:
        frame, traceback = traceback.tb_frame, traceback.tb_next
        filename = frame.f_code.co_filename
        if _SCIPY in filename:
            found.append(frame)
        elif is_users(filename):
            found = []
    return found


def was_given_traced(frames: list[FrameType]) -> bool:
    """Whether a traced value is among the variables of these frames."""
    return any(holds_traced(list(_plain(frame))) for frame in frames)


def _plain(frame: FrameType) -> list[object]:
    """The variables of a frame, and what stands in their dictionaries."""
    values = list(frame.f_locals.values())
    return values + [v for d in values if type(d) is dict for v in d.values()]


def refused(frames: list[FrameType], location: str | None) -> UnsupportedFunctionError:
    """The error that says which function of SciPy's was given traced values, and what to use."""
    frame = next((f for f in frames if f"{os.sep}_lib{os.sep}" not in f.f_code.co_filename), frames[0])
    module = frame.f_code.co_filename.partition(_SCIPY)[2].split(os.sep)[0].removesuffix(".py")
    owner = frame.f_locals.get("self")
    owner = None if owner is None or isinstance(owner, Tracer) else getattr(owner, "dist", owner)
    first = _name(owner) if owner is not None else frame.f_code.co_name
    parts = [first] if owner is None or frame.f_code.co_name.startswith("_") else [first, frame.f_code.co_name]
    name = ".".join(["scipy", module, *parts])
    if first in OWN.get(module, ()):
        cure = f"use functad.{name}"
    elif module in ("optimize", "integrate"):
        cure = (
            "call it outside of the traced function, and hand it functad's derivatives, as in jac=functad.grad(f); functad.scipy has what of SciPy "
            "takes traced values"
        )
    else:
        cure = "functad.scipy has what of SciPy does; else compute it outside of the traced function, or spell it in NumPy"
    return UnsupportedFunctionError(f"{name} was given traced values, which it cannot compute with: {cure}", location)


def _name(owner: object) -> str:
    """What SciPy calls the object that a method belongs to."""
    name = getattr(owner, "name", None)
    return name if isinstance(name, str) else type(owner).__name__.removesuffix("_frozen").removesuffix("_gen")
