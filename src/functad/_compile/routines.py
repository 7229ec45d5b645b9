"""The routines of equations that have loops of their own; importing this module fills the table."""

from functad._compile import lookups  # noqa: F401
