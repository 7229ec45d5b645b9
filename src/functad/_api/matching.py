"""Tangents and cotangents as users give them: checked against what they belong to."""

from collections.abc import Sequence

import numpy as np

from functad import tree
from functad._api.call import leaf_type
from functad._core.tracer import Tracer
from functad._core.types import ArrayType
from functad.errors import ShapeMismatchError, TreeMismatchError
from functad.tree import Leaf, Tree

__all__ = ["matching", "matching_tangents"]


def matching(given: Leaf, structure: Tree, types: Sequence[ArrayType], what: str, of: str) -> list[Tree]:
    """Leaves of `given`, checked against the structure and types that they must have."""
    leaves, found = tree.flatten(given)
    if structure is None:
        if not found.is_leaf():
            raise TreeMismatchError(f"the {what} must be one number or array, as the {of} is, got {found}")
    elif found != structure:
        raise TreeMismatchError(f"the {what} has the structure {found}, the {of} has {structure}")
    out = []
    for i, (x, kind) in enumerate(zip(leaves, types, strict=True)):
        value, got = leaf_type(x)
        where = what if len(types) == 1 else f"{what} leaf {i}"
        if got is None:
            raise TreeMismatchError(f"the {where} is a {type(x).__name__}, not a number or array")
        if got.shape != kind.shape:
            raise ShapeMismatchError(f"the {where} has shape {got.shape}, the {of} has shape {kind.shape}: they must be equal")
        if got.dtype != kind.dtype and not got.weak and not np.can_cast(got.dtype, kind.dtype, "same_kind"):
            raise ShapeMismatchError(f"the {where} has dtype {got.dtype}, which does not fit the {of}'s {kind.dtype}")
        out.append(_as_type(value, got, kind))
    return out


def _as_type(value: Leaf, got: ArrayType, kind: ArrayType) -> Tree:
    if got.dtype == kind.dtype:
        return value
    if type(value) is Tracer:
        return value.astype(kind.dtype)  # type: ignore[attr-defined]  # installed by _numpy
    return np.asarray(value, kind.dtype)[()] if kind.shape == () else np.asarray(value, kind.dtype)


def matching_tangents(tangents: Sequence[Tree], structures: Sequence[Tree], types: Sequence[Tree]) -> list[Tree]:
    if len(tangents) != len(structures):
        raise TreeMismatchError(f"got {len(tangents)} tangents for {len(structures)} primals")
    out: list[Leaf] = []
    for i, (t, structure) in enumerate(zip(tangents, structures, strict=True)):
        count = 1 if structure is None else structure.num_leaves
        name = "tangent" if len(structures) == 1 else f"tangent {i}"
        out += matching(t, structure, types[len(out) : len(out) + count], name, "primal")
    return out
