"""What may be asked of a kernel's source before it is compiled: the names it reads, and where an error in it is."""

import ast
import linecache
from collections.abc import Mapping

from functad.errors import KernelError

__all__ = ["Place", "global_names"]


class Place:
    """Where in which generated source an error is, for its message."""

    def __init__(self, name: str, filename: str, equations: Mapping[int, str]) -> None:
        self.name, self.filename, self.equations = name, filename, equations

    def error(self, line: int, message: str) -> KernelError:
        """The error to raise, with the line and its equation."""
        equation = self.equations.get(line, "no equation")
        text = linecache.getline(self.filename, line).strip()
        return KernelError(f"kernel {self.name} does not compile: {message}\n  {equation}, generated line {line}: {text}")


def global_names(tree: ast.Module) -> dict[str, int]:
    """Names that the source reads and never binds, with the line that first reads them."""
    bound: set[str] = set()
    read: dict[str, int] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, ast.FunctionDef):
            bound.add(node.name)
        elif isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Load):
                read[node.id] = min(node.lineno, read.get(node.id, node.lineno))
            else:
                bound.add(node.id)
    return {name: line for name, line in read.items() if name not in bound}
