"""np.einsum: any subscripts, spelt in products of two operands at a time.

The two forms of the call (`"ij,jk->ik"` and `x, [0, 1], y, [1, 2], [0, 2]`) become lists of labels: a letter or a number, and `("...", k)` for the
k-th axis from the right among those that an ellipsis stands for.  Each step takes two operands: repeated labels become diagonals, labels that nobody
else needs are summed at once, labels of both are summed against each other by `dot`; a step without such a sum is an elementwise product.
`np.einsum_path` chooses the order for three operands or more.
"""

from collections.abc import Hashable, Sequence

import numpy as np

from functad._numpy.algebra import strong, sum_of, times
from functad._numpy.arguments import DTypeLike, Operand, Result
from functad._numpy.dispatch import implements, refuse
from functad._numpy.promote import operand, with_shape
from functad._primitives import linalg
from functad._primitives.dot import dot, reordered
from functad._primitives.shape import broadcast
from functad.errors import ShapeMismatchError

__all__: list[str] = []

Labels = tuple[Hashable, ...]


@implements(np.einsum)
def _einsum(
    *operands: Operand, out: object = None, optimize: Operand = False, dtype: DTypeLike = None, order: str = "K", casting: str = "safe"
) -> Result:
    if casting not in ("safe", "same_kind"):
        refuse("einsum", "casting", casting)
    if order not in ("K", "C", "A", "F"):
        refuse("einsum", "order", order)
    terms, output, arrays = _parsed(operands)
    xs = strong(*arrays, dtype=dtype)
    for x, wide in zip(arrays, xs, strict=True):
        if not np.can_cast(operand(x).type.dtype, wide.type.dtype, casting):  # type: ignore[arg-type]  # a string of the user's
            raise TypeError(f"np.einsum: cannot cast from {operand(x).type.dtype} to {wide.type.dtype} according to the rule {casting!r}")
    sizes = _sizes(terms, xs)
    steps = _path(terms, output, xs, sizes, optimize)
    held = list(zip(xs, terms, strict=True))
    for chosen in steps:
        taken = [held.pop(i) for i in sorted(chosen, reverse=True)][::-1]
        while len(taken) > 1:
            needed = {*output, *[label for _, term in (*held, *taken[2:]) for label in term]}
            taken[:2] = [_pair(*taken[0], *taken[1], needed, sizes)]
        held.append(taken[0])
    (x, term), *_ = held
    x, term = _reduced(x, term, set(output), sizes)
    return reordered(x, [term.index(label) for label in output])


# ---- subscripts


def _parsed(operands: Sequence[Operand]) -> tuple[list[Labels], Labels, list[Result]]:
    """(labels of each operand, labels of the output, operands)."""
    if isinstance(operands[0], str):
        text, *arrays = operands
        left, arrow, right = text.replace(" ", "").partition("->")
        written = [_letters(term) for term in left.split(",")]
        target = _letters(right) if arrow else None
    else:
        count = len(operands) // 2
        arrays = [operands[2 * i] for i in range(count)]
        written = [list(operands[2 * i + 1]) for i in range(count)]
        target = list(operands[-1]) if len(operands) % 2 else None
    if len(written) != len(arrays):
        raise ShapeMismatchError(f"np.einsum: the subscripts are for {len(written)} operands, and {len(arrays)} were given")
    terms = [_expanded(term, operand(x).type.ndim) for term, x in zip(written, arrays, strict=True)]
    width = max((sum(isinstance(label, tuple) for label in term) for term in terms), default=0)
    dots = [("...", k) for k in range(width, 0, -1)]
    counts: dict[Hashable, int] = {}
    for term in terms:
        for label in term:
            counts[label] = counts.get(label, 0) + 1
    if target is None:
        once: list[Result] = [label for label, n in counts.items() if n == 1 and not isinstance(label, tuple)]
        return terms, (*dots, *sorted(once)), arrays
    output = [part for label in target for part in (dots if label is Ellipsis else [label])]
    if dots and Ellipsis not in target:
        raise ShapeMismatchError("np.einsum: the output subscripts must hold the ellipsis that the operands have")
    for label in output:
        if label not in counts or output.count(label) > 1:
            raise ShapeMismatchError(f"np.einsum: the output subscript {label!r} must occur once in the output, and in an operand")
    return terms, tuple(output), arrays


def _letters(term: str) -> list[Result]:
    """Letters and Ellipsis."""
    before, dots, after = term.partition("...")
    if not (before + after).isalpha() and before + after:
        raise ShapeMismatchError(f"np.einsum: {term!r} is no list of subscripts: letters, and at most one '...'")
    return [*before, *([Ellipsis] if dots else []), *after]


def _expanded(term: Sequence[Operand], ndim: int) -> Labels:
    """The labels with the ellipsis spelt out."""
    named = [label for label in term if label is not Ellipsis]
    if (len(named) == len(term) and ndim != len(term)) or len(named) > ndim:
        raise ShapeMismatchError(f"np.einsum: {len(named)} subscripts for an operand of {ndim} dimensions")
    dots = [("...", k) for k in range(ndim - len(named), 0, -1)]
    return tuple(part for label in term for part in (dots if label is Ellipsis else [label]))


def _sizes(terms: Sequence[Labels], xs: Sequence[Operand]) -> dict[Hashable, int]:
    """The length of each label; a length of 1 broadcasts."""
    sizes: dict[Hashable, int] = {}
    for term, x in zip(terms, xs, strict=True):
        within: dict[Hashable, int] = {}
        for label, n in zip(term, x.type.shape, strict=True):
            if within.setdefault(label, n) != n or (n != 1 and sizes.get(label, 1) not in (1, n)):
                raise ShapeMismatchError(f"np.einsum: the subscript {label!r} has lengths {within[label]}, {sizes.get(label, n)} and {n}")
            if n != 1:
                sizes[label] = n
            else:
                sizes.setdefault(label, 1)
    return sizes


def _path(terms: Sequence[Labels], output: Labels, xs: Sequence[Operand], sizes: dict[Hashable, int], optimize: Operand) -> list[Sequence[int]]:
    """Which operands to take at each step."""
    if len(xs) < 3:
        return [tuple(range(len(xs)))]
    names = {label: i for i, label in enumerate(sizes)}
    if len(names) > 52:  # NumPy's limit
        raise ShapeMismatchError("np.einsum takes at most 52 different subscripts")
    given: list[Result] = []
    for term, x in zip(terms, xs, strict=True):
        given += [np.broadcast_to(np.zeros(()), x.type.shape), [names[label] for label in term]]
    chosen = "greedy" if isinstance(optimize, bool) else optimize
    path, _ = np.einsum_path(*given, [names[label] for label in output], optimize=chosen)
    return list(path[1:])


# ---- steps


def _reduced(x: Operand, term: Labels, needed: set[Hashable], sizes: dict[Hashable, int]) -> tuple[Result, Labels]:
    """Without repeated labels, labels of length 1 that are longer elsewhere, and labels that nobody needs."""
    for label in dict.fromkeys(term):
        while term.count(label) > 1:
            first = term.index(label)
            second = term.index(label, first + 1)
            rest = [i for i in range(len(term)) if i not in (first, second)]
            x = linalg.diagonal(reordered(x, [*rest, first, second]))
            term = (*[term[i] for i in rest], label)
    thin = [i for i, label in enumerate(term) if x.type.shape[i] == 1 and sizes[label] != 1]
    x = with_shape(x, [n for i, n in enumerate(x.type.shape) if i not in thin])
    term = tuple(label for i, label in enumerate(term) if i not in thin)
    alone = [i for i, label in enumerate(term) if label not in needed]
    return (sum_of(x, alone) if alone else x), tuple(label for label in term if label in needed)


def _pair(x: Operand, term_x: Labels, y: Operand, term_y: Labels, needed: set[Hashable], sizes: dict[Hashable, int]) -> tuple[Result, Labels]:
    """The product of two operands, summed over what they share and nobody else needs."""
    x, term_x = _reduced(x, term_x, needed | set(term_y), sizes)
    y, term_y = _reduced(y, term_y, needed | set(term_x), sizes)
    x, term_x = _reduced(x, term_x, needed | set(term_y), sizes)  # y may just have lost an axis of length 1
    shared = [label for label in term_x if label in term_y]
    summed = [label for label in shared if label not in needed]
    together = [label for label in shared if label in needed]
    free_x, free_y = [label for label in term_x if label not in shared], [label for label in term_y if label not in shared]
    if summed and (not together or free_x or free_y):
        places = [tuple(tuple(term.index(label) for label in labels) for term in (term_x, term_y)) for labels in (summed, together)]
        return dot(x, y, contract=places[0], batch=places[1]), (*together, *free_x, *free_y)
    labels = (*term_x, *free_y)
    shape = tuple(sizes[label] for label in labels)
    out = times(_spread(x, term_x, labels, shape), _spread(y, term_y, labels, shape))
    if summed:  # one number for each batch: NumPy's matmul would be slow at it
        out = sum_of(out, [labels.index(label) for label in summed])
    return out, tuple(label for label in labels if label not in summed)


def _spread(x: Operand, term: Labels, labels: Labels, shape: tuple[int, ...]) -> Result:
    """x with an axis for each of `labels`."""
    if term == labels:
        return x
    order = sorted(range(len(term)), key=lambda i: labels.index(term[i]))
    return broadcast(reordered(x, order), shape=shape, axes=tuple(labels.index(term[i]) for i in order))
