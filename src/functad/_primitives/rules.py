"""The types of the rules of a primitive, and of what they get and give."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from functad._core.primitive import Missing
from functad._core.program import Equation, Var
from functad._core.types import ArrayType
from functad._primitives.operands import Tangent, Value

__all__ = ["NOT_LINEAR", "Batched", "Flags", "Inferred", "Known", "Pulled", "Pushed", "Rule", "Tangents", "Transform", "Types", "Values"]

Rule = Callable[..., Any]  # the params of a primitive differ from one to the next
Transform = Callable[..., Any]  # the running transform itself

Values = Sequence[Value]
Tangents = Sequence[Tangent]
Types = Sequence[ArrayType]
Flags = Sequence[bool]

Inferred = tuple[ArrayType, ...]  # of a type rule
Pushed = tuple[Sequence[Value], Sequence[Tangent]]  # of a jvp rule: outputs, and their tangents
Pulled = Sequence[Tangent]  # of a transpose rule: a cotangent for each input
Batched = tuple[Sequence[Value], Sequence[bool]]  # of a batch rule: outputs, and which of them are mapped

Known = Mapping[Var, Equation]  # variables that have structural zeros, and what made them

NOT_LINEAR = Missing("not linear")
