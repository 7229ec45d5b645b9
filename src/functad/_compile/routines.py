"""The routines of equations that have loops of their own; importing this module fills the tables."""

from functad._compile import along, dots, lookups, nested  # noqa: F401
