"""Pytrees: nested containers whose leaves are arrays and scalars (optree behind it).

Containers are dict, list, tuple, named tuple, `None` (without leaves), dataclasses (taken apart by their fields), and whatever is registered
with optree in the namespace "functad".
"""

import dataclasses
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import optree

from functad.errors import TreeMismatchError

__all__ = ["TreeDef", "flatten", "leaf_names", "map", "structure", "unflatten"]

TreeDef = optree.PyTreeSpec
Function = Callable[..., Any]  # a user's: whatever it takes and gives
Tree = Any  # a pytree: what users pass and get back, which may be anything
Leaf = Any  # a number, an array, a traced value, or an object that is handed on as it is
_NAMESPACE = "functad"
_LOCK = threading.Lock()
_SEEN: dict[type, bool] = {}  # classes of leaves looked at: whether they were dataclasses, registered when first met


def _register(kind: type) -> bool:
    with _LOCK:
        return _registered(kind)


def _registered(kind: type) -> bool:
    found = _SEEN.get(kind)
    if found is None:
        found = dataclasses.is_dataclass(kind)
        if found:
            fields = [f.name for f in dataclasses.fields(kind) if f.init]

            def children(value: Tree) -> tuple[list[Tree], None, list[str]]:
                return [getattr(value, name) for name in fields], None, fields

            def rebuild(_: object, parts: Iterable[Tree]) -> Tree:
                return kind(**dict(zip(fields, parts, strict=True)))

            optree.register_pytree_node(kind, children, rebuild, namespace=_NAMESPACE)
        _SEEN[kind] = found
    return found


def flatten(tree: Tree) -> tuple[list[Leaf], TreeDef]:
    """Leaves of a pytree, and its structure.

    Parameters
    ----------
    tree : pytree
        Keys of dicts are taken in sorted order.

    Returns
    -------
    leaves : list
    structure : TreeDef
        Hashable; equal structures compare equal.

    Examples
    --------
    >>> flatten({"b": 1, "a": (2, None)})[0]
    [2, 1]
    """
    while True:
        leaves, treedef = optree.tree_flatten(tree, none_is_leaf=False, namespace=_NAMESPACE)
        registered = [_register(type(x)) for x in leaves if type(x) not in _SEEN or _SEEN[type(x)]]
        if not any(registered):
            return leaves, treedef


def unflatten(structure: TreeDef, leaves: Sequence[Leaf]) -> Tree:
    """The pytree with this structure and these leaves.

    Parameters
    ----------
    structure : TreeDef
        From `flatten` or `structure`.
    leaves : sequence
        As many as the structure has.

    Returns
    -------
    pytree

    Raises
    ------
    ValueError
        If the number of leaves is another.

    Examples
    --------
    >>> leaves, treedef = flatten([1, (2, 3)])
    >>> unflatten(treedef, [x * 10 for x in leaves])
    [10, (20, 30)]
    """
    return optree.tree_unflatten(structure, leaves)


def children(tree: Tree) -> list[Leaf]:
    """What stands one level below the root."""
    flatten(tree)  # registers dataclasses
    return list(optree.tree_leaves(tree, is_leaf=lambda x: x is not tree, none_is_leaf=True, namespace=_NAMESPACE))


def structure(tree: Tree) -> TreeDef:
    """The structure of a pytree.

    Parameters
    ----------
    tree : pytree

    Returns
    -------
    TreeDef
        Hashable; equal structures compare equal.

    Examples
    --------
    >>> structure([1, 2]) == structure([3, 4])
    True
    """
    return flatten(tree)[1]


def leaf_names(tree: Tree) -> list[str]:
    """How each leaf is reached from the root, as Python would write it.

    Parameters
    ----------
    tree : pytree

    Returns
    -------
    list of str
        In the order of the leaves.

    Examples
    --------
    >>> leaf_names({"w": [1, 2]})
    ["['w'][0]", "['w'][1]"]
    """
    flatten(tree)  # registers dataclasses
    accessors = optree.tree_accessors(tree, none_is_leaf=False, namespace=_NAMESPACE)
    return [a.codify("") for a in accessors]


def map(function: Function, tree: Tree, *rest: Tree) -> Tree:
    """Apply a function to corresponding leaves.

    Parameters
    ----------
    function : callable
        Takes one leaf of each tree.
    tree, *rest : pytree
        Trees of one structure.

    Returns
    -------
    pytree
        The results, in that structure.

    Raises
    ------
    TreeMismatchError
        Where the trees differ in structure.

    Examples
    --------
    >>> map(lambda x, y: x + y, (1, 2), (10, 20))
    (11, 22)
    """
    leaves, treedef = flatten(tree)
    columns = [leaves]
    for other in rest:
        other_leaves, other_treedef = flatten(other)
        if other_treedef != treedef:
            raise TreeMismatchError(f"trees differ in structure: {treedef} and {other_treedef}")
        columns.append(other_leaves)
    return unflatten(treedef, [function(*xs) for xs in zip(*columns, strict=True)])
