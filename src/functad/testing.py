"""Checking derivatives against the function itself.

The oracle is the function: central differences in random directions, extrapolated (Richardson), and the adjoint identity that joins the two
modes.  Only public transforms are used, so what is checked is what a user gets.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from functad import tree
from functad._api.derivatives import float_leaf
from functad._api.products import jvp, vjp
from functad.errors import UnsupportedArgumentError
from functad.tree import Function, Leaf, Tree

__all__ = ["check_grads"]

SEED = 20_231  # directions are the same at each call, so that a failure can be repeated
# Character of the lowest precision -> (step, tolerance).  The step balances the rounding of f, about u / step, against step**6.
_SETTINGS = {"d": (2e-3, 1e-7), "f": (5e-2, 2e-3)}


def check_grads(
    f: Function,
    args: Sequence[Tree],
    order: int = 1,
    modes: str | Sequence[str] = ("fwd", "rev"),
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
) -> None:
    """Check the derivatives of a function against differences of its values.

    Parameters
    ----------
    f : callable
        Function of arrays or pytrees, returning an array or pytree; smooth within a few `eps` of `args`.
    args : sequence
        Where to check: one entry for each positional argument, floating-point leaves.
    order : int, optional
        How often to differentiate; all mixtures of the modes are checked.
    modes : {"fwd", "rev"} or sequence of them, optional
        Forward mode (`jvp`), reverse mode (`vjp`).
    atol, rtol : float, optional
        Absolute and relative tolerance.  The defaults follow the lowest precision among the arguments: 1e-7 for float64, 2e-3 for float32.
    eps : float, optional
        Largest step of the differences; 2e-3 for float64, 5e-2 for float32.

    Returns
    -------
    None
        If all derivatives agree.

    Raises
    ------
    AssertionError
        If they do not: says the mode, the order, the output and by how much.
    IntegerInputError
        If an argument is an integer or boolean array.
    UnsupportedArgumentError
        If `modes`, `order` or `args` are not as above.

    Notes
    -----
    Along a random direction `t`, differences with steps `eps`, `eps/2` and `eps/4` are extrapolated to an error of order `eps**6`
    (Richardson, 1911) and compared with `J t`.  In reverse mode the sum of `ct * (J t)` is compared with that of `(J^T ct) * t`, once with the
    differences and, where both modes are asked for, once with the forward mode's `J t`, which must agree up to rounding unless a tolerance
    is given.

    Examples
    --------
    >>> import numpy as np
    >>> from functad.testing import check_grads
    >>> check_grads(lambda x, p: np.sin(x) * p["a"], (np.array([0.5, 2.0]), {"a": 3.0}), order=2)
    >>> check_grads(lambda x: np.floor(x) * x, (1.0,), modes="fwd")
    Traceback (most recent call last):
        ...
    AssertionError: order 1, fwd: jvp of <lambda> differs from differences of its values at the output...
    """
    modes = (modes,) if isinstance(modes, str) else tuple(modes)
    if not modes or not set(modes) <= {"fwd", "rev"}:
        raise UnsupportedArgumentError(f"modes are 'fwd' and 'rev', got {modes!r}")
    if not isinstance(args, (tuple, list)):
        raise UnsupportedArgumentError(f"check_grads takes its arguments as a tuple or list: check_grads(f, (x,)), got {type(args).__name__}")
    if not isinstance(order, int) or order < 1:
        raise UnsupportedArgumentError(f"order is a whole number from 1 on, got {order!r}")
    args = tuple(tree.map(_array, a) for a in args)
    precision = _lowest(args)
    step, tolerance = _SETTINGS[precision]
    check = _Check(
        tolerance if atol is None else atol,
        tolerance if rtol is None else rtol,
        step if eps is None else eps,
        1e3 * float(np.finfo(precision).eps) if atol is None and rtol is None else None,
        modes,
        order,
        np.random.default_rng(SEED),
    )
    check.level(1, f, args, getattr(f, "__name__", repr(f)))


def _array(x: Leaf) -> Leaf:
    """A leaf as an inexact array or NumPy scalar."""
    return np.asarray(float_leaf(x, "check_grads", lambda: "an argument"))[()]


def _lowest(trees: Tree) -> str:
    """The character of the lowest precision among the leaves."""
    return "f" if any(x.dtype.char in "fF" for x in tree.flatten(trees)[0]) else "d"


class _Check(NamedTuple):
    """What `check_grads` was asked for, and one level of it."""

    atol: float
    rtol: float
    step: float
    rounding: float | None  # how far the two modes may differ; None where the user gave a tolerance
    modes: Sequence[str]
    order: int
    random: np.random.Generator

    def level(self, level: int, f: Function, args: Tree, name: str) -> None:
        """Check the modes of f along one direction, and then their own derivatives."""
        where = f"order {level}, "
        tangents = tree.map(self.direction, args)
        numeric = _differences(f, args, tangents, self.step)
        cotangents = tree.map(self.direction, tree.map(np.asarray, f(*args)))
        pushed = None
        if "fwd" in self.modes:
            pushed = jvp(f, args, tangents)[1]
            self.compare(pushed, numeric, f"{where}fwd: jvp of {name} differs from differences of its values")
            if level < self.order:
                self.level(level + 1, lambda *xs: jvp(f, xs, tangents)[1], args, f"jvp({name})")
        if "rev" in self.modes:
            pulled = vjp(f, *args)[1](cotangents)
            self.compare_pairings(f"{where}rev: vjp of {name}", pulled, tangents, cotangents, numeric, pushed)
            if level < self.order:
                self.level(level + 1, lambda *xs: vjp(f, *xs)[1](cotangents), args, f"vjp({name})")

    def direction(self, x: Leaf) -> Leaf:
        """Random numbers like x, between 0.5 and 1.5 in size; zeros where x has no derivative."""
        x = np.asarray(x)
        if x.dtype.kind not in "fc":
            return np.zeros(x.shape, x.dtype)[()]
        t = self.random.uniform(0.5, 1.5, x.shape) * self.random.choice([-1.0, 1.0], x.shape)
        if x.dtype.kind == "c":
            t = t + 1j * self.random.uniform(0.5, 1.5, x.shape)
        return np.asarray(t, x.dtype)[()]

    def compare_pairings(self, what: str, pulled: Tree, tangents: Tree, cotangents: Tree, numeric: Tree, pushed: Tree | None) -> None:
        """<J^T ct, t> against <ct, J t>, from differences and, where there is one, from the forward mode."""
        given, size = _pairing(pulled, tangents), _size(cotangents, numeric)
        rivals = [("differences of its values", numeric, self.atol + self.rtol * size)]
        if pushed is not None:
            size = max(size, _size(pulled, tangents))
            rivals.append(("its jvp", pushed, self.atol + self.rtol * size if self.rounding is None else self.rounding * (1 + size)))
        for rival, found, allowed in rivals:
            expected = _pairing(cotangents, found)
            if not abs(given - expected) <= allowed:
                raise AssertionError(f"{what} differs from {rival}: <J^T ct, t> is {given!r}, <ct, J t> is {expected!r}")

    def compare(self, found: Tree, expected: Tree, message: str) -> None:
        """Leaf by leaf, element by element."""
        for name, a, b in zip(tree.leaf_names(expected), tree.flatten(found)[0], tree.flatten(expected)[0], strict=True):
            a, b = np.asarray(a), np.asarray(b)
            if a.shape != b.shape:
                raise AssertionError(f"{message}: the output{name} has shape {b.shape}, its derivative {a.shape}")
            wrong = ~(np.abs(a - b) <= self.atol + self.rtol * np.maximum(np.abs(a), np.abs(b)))  # NaN is wrong
            if wrong.any():
                i = tuple(int(k) for k in np.argwhere(wrong)[0])
                place = f"[{', '.join(map(str, i))}]" if i else ""
                raise AssertionError(
                    f"{message} at the output{name}{place}: {a[i].item()!r} against {b[i].item()!r} "
                    f"(allowed: {self.atol:g} + {self.rtol:g} * size); {int(wrong.sum())} of {wrong.size} elements differ"
                )


def _differences(f: Function, args: Tree, tangents: Tree, step: float) -> Tree:
    """Directional derivative of f by three central differences, extrapolated."""

    def at(s: float) -> list[Leaf]:
        return tree.flatten(f(*tree.map(lambda x, t: x + x.dtype.type(s) * t, args, tangents)))[0]

    def along(h: float) -> list[Leaf]:
        return [_quotient(a, b, h) for a, b in zip(at(h), at(-h), strict=True)]

    rows = [along(step / 2**i) for i in range(3)]
    found = []
    for d0, d1, d2 in zip(*rows, strict=True):
        e0, e1 = d1 + (d1 - d0) / 3, d2 + (d2 - d1) / 3
        found.append(e1 + (e1 - e0) / 15)
    return tree.unflatten(tree.structure(f(*args)), found)


def _quotient(above: Leaf, below: Leaf, h: float) -> Leaf:
    above, below = np.asarray(above), np.asarray(below)
    if above.dtype.kind not in "fc":
        return np.zeros(above.shape)
    wide = np.complex128 if above.dtype.kind == "c" else np.float64
    return (above.astype(wide) - below.astype(wide)) / (2 * h)


def _products(a: Tree, b: Tree) -> list[Leaf]:
    return [np.multiply(x, y, dtype=np.complex128) for x, y in zip(tree.flatten(a)[0], tree.flatten(b)[0], strict=True)]


def _pairing(a: Tree, b: Tree) -> float:
    """Sum of the real parts of the products: the pairing that the transpose preserves."""
    return float(sum(np.sum(np.real(p)) for p in _products(a, b)))


def _size(a: Tree, b: Tree) -> float:
    return float(sum(np.sum(np.abs(p)) for p in _products(a, b)))
