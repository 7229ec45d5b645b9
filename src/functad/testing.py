"""Checking derivatives against the function itself.

The oracle is the function: central differences in random directions, extrapolated (Richardson), and the adjoint identity that joins the two
modes.  Only public transforms are used, so what is checked is what a user gets.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from functad import tree
from functad._api.derivatives import float_leaf
from functad._api.products import jvp, vjp
from functad.errors import UnsupportedArgumentError

__all__ = ["check_grads"]

SEED = 20_231  # directions are the same at each call, so that a failure can be repeated
# Unit roundoff of the argument's precision -> (step, tolerance).  The step balances the rounding of f, about u / step, against step**6.
_SETTINGS: dict["type[np.floating[Any]]", tuple[float, float]] = {np.float64: (2e-3, 1e-7), np.float32: (5e-2, 2e-3)}


def check_grads(
    f: Callable[..., Any],
    args: Sequence[Any],
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
    step, tolerance = _SETTINGS[_lowest(args)]
    rounding = 1e3 * float(np.finfo(_lowest(args)).eps) if atol is None and rtol is None else None
    atol, rtol = (tolerance if given is None else given for given in (atol, rtol))
    settings = atol, rtol, step if eps is None else eps, rounding
    _check(f, args, 1, order, modes, settings, np.random.default_rng(SEED), getattr(f, "__name__", repr(f)))


def _array(x: Any) -> Any:
    """A leaf as an inexact array or NumPy scalar."""
    return np.asarray(float_leaf(x, "check_grads", lambda: "an argument"))[()]


def _lowest(trees: Any) -> "type[np.floating[Any]]":
    kinds = [np.dtype(x.dtype.char.lower()) for x in tree.flatten(trees)[0]]
    return np.float32 if any(k == np.float32 for k in kinds) else np.float64


def _check(f: Any, args: Any, level: int, order: int, modes: Sequence[str], settings: Any, random: np.random.Generator, name: str) -> None:
    atol, rtol, step, rounding = settings
    tangents = tree.map(lambda x: _direction(x, random), args)
    numeric = _differences(f, args, tangents, step)
    out = tree.map(np.asarray, f(*args))
    cotangents = tree.map(lambda y: _direction(y, random), out)
    where = f"order {level}, "
    pushed = None
    if "fwd" in modes:
        pushed = jvp(f, args, tangents)[1]
        _compare_trees(pushed, numeric, atol, rtol, f"{where}fwd: jvp of {name} differs from differences of its values")
        if level < order:
            _check(lambda *xs: jvp(f, xs, tangents)[1], args, level + 1, order, modes, settings, random, f"jvp({name})")
    if "rev" in modes:
        pulled = vjp(f, *args)[1](cotangents)
        given = _pairing(pulled, tangents)
        text = "rev: vjp of {} differs from {}: <J^T ct, t> is {!r}, <ct, J t> is {!r}"
        expected = _pairing(cotangents, numeric)
        size = _size(cotangents, numeric)
        if not abs(given - expected) <= atol + rtol * size:
            raise AssertionError(where + text.format(name, "differences of its values", given, expected))
        if pushed is not None:
            expected = _pairing(cotangents, pushed)
            size = max(size, _size(pulled, tangents))
            if not abs(given - expected) <= (atol + rtol * size if rounding is None else rounding * (1 + size)):
                raise AssertionError(where + text.format(name, "its jvp", given, expected))
        if level < order:
            _check(lambda *xs: vjp(f, *xs)[1](cotangents), args, level + 1, order, modes, settings, random, f"vjp({name})")


def _direction(x: Any, random: np.random.Generator) -> Any:
    """Random numbers like x, between 0.5 and 1.5 in size; zeros where x has no derivative."""
    x = np.asarray(x)
    if x.dtype.kind not in "fc":
        return np.zeros(x.shape, x.dtype)[()]
    t = random.uniform(0.5, 1.5, x.shape) * random.choice([-1.0, 1.0], x.shape)
    if x.dtype.kind == "c":
        t = t + 1j * random.uniform(0.5, 1.5, x.shape)
    return np.asarray(t, x.dtype)[()]


def _differences(f: Any, args: Any, tangents: Any, step: float) -> Any:
    """Directional derivative of f by three central differences, extrapolated."""

    def at(s: float) -> list[Any]:
        return tree.flatten(f(*tree.map(lambda x, t: x + x.dtype.type(s) * t, args, tangents)))[0]

    def along(h: float) -> list[Any]:
        return [_quotient(a, b, h) for a, b in zip(at(h), at(-h), strict=True)]

    rows = [along(step / 2**i) for i in range(3)]
    found = []
    for d0, d1, d2 in zip(*rows, strict=True):
        e0, e1 = d1 + (d1 - d0) / 3, d2 + (d2 - d1) / 3
        found.append(e1 + (e1 - e0) / 15)
    return tree.unflatten(tree.structure(f(*args)), found)


def _quotient(above: Any, below: Any, h: float) -> Any:
    above, below = np.asarray(above), np.asarray(below)
    if above.dtype.kind not in "fc":
        return np.zeros(above.shape)
    wide = np.complex128 if above.dtype.kind == "c" else np.float64
    return (above.astype(wide) - below.astype(wide)) / (2 * h)


def _compare_trees(found: Any, expected: Any, atol: float, rtol: float, message: str) -> None:
    names = tree.leaf_names(expected)
    for name, a, b in zip(names, tree.flatten(found)[0], tree.flatten(expected)[0], strict=True):
        a, b = np.asarray(a), np.asarray(b)
        if a.shape != b.shape:
            raise AssertionError(f"{message}: the output{name} has shape {b.shape}, its derivative {a.shape}")
        wrong = ~(np.abs(a - b) <= atol + rtol * np.maximum(np.abs(a), np.abs(b)))  # NaN is wrong
        if wrong.any():
            i = tuple(int(k) for k in np.argwhere(wrong)[0])
            place = f"[{', '.join(map(str, i))}]" if i else ""
            raise AssertionError(
                f"{message} at the output{name}{place}: {a[i].item()!r} against {b[i].item()!r} (allowed: {atol:g} + {rtol:g} * size); "
                f"{int(wrong.sum())} of {wrong.size} elements differ"
            )


def _pairing(a: Any, b: Any) -> float:
    """Sum of the real parts of the products: the pairing that the transpose preserves."""
    return float(sum(np.sum(np.real(np.multiply(x, y, dtype=np.complex128))) for x, y in zip(tree.flatten(a)[0], tree.flatten(b)[0], strict=True)))


def _size(a: Any, b: Any) -> float:
    return float(sum(np.sum(np.abs(np.multiply(x, y, dtype=np.complex128))) for x, y in zip(tree.flatten(a)[0], tree.flatten(b)[0], strict=True)))
