"""functad: derivatives of plain NumPy functions, and kernels for them.

The names and signatures are JAX's, the vocabulary is NumPy's.  Importing functad imports neither numba nor llvmlite nor scipy.
"""

from functad import _numpy as _numpy  # gives tracers their NumPy face
from functad import errors, tree
from functad._api.control import cond, scan, while_loop
from functad._api.derivatives import grad, value_and_grad
from functad._api.jacobians import hessian, jacfwd, jacobian, jacrev
from functad._api.jit import jit, make_program, show_source
from functad._api.mapping import vmap
from functad._api.products import hvp, jvp, linear_transpose, linearize, stop_gradient, vjp
from functad._api.settings import evaluator
from functad._core.program import Program
from functad._core.tracer import Tracer

__version__ = "0.1.0"

__all__ = [
    "Program", "Tracer", "__version__", "cond", "errors", "evaluator", "grad", "hessian", "hvp", "jacfwd", "jacobian", "jacrev", "jit", "jvp",
    "linear_transpose", "linearize", "make_program", "scan", "show_source", "stop_gradient", "tree", "value_and_grad", "vjp", "vmap",
    "while_loop",
]  # fmt: skip

_ON_DEMAND = frozenset({"flatten_util", "numpy", "scipy", "testing"})  # modules that are imported when they are first asked for


def __getattr__(name: str) -> object:
    if name in _ON_DEMAND:
        from importlib import import_module

        return import_module(f"functad.{name}")
    raise AttributeError(f"module 'functad' has no attribute {name!r}")
