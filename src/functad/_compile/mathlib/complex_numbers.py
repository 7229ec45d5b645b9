"""Complex arithmetic as NumPy does it, on pairs of floats."""

from __future__ import annotations

from collections.abc import Callable

from .values import Value

BODIES: list[tuple[str, Callable[..., Value], int]] = []
REAL_VALUED: list[tuple[str, Callable[..., Value]]] = []
