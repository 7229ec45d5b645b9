"""numpy.linalg, whose functions take lists of traced values as well."""

import numpy as np

from functad.numpy._lists import replacements

__all__ = list(np.linalg.__all__)

globals().update(replacements(np.linalg))


def __getattr__(name: str) -> object:
    try:
        return getattr(np.linalg, name)
    except AttributeError:
        raise AttributeError(f"neither functad.numpy.linalg nor numpy.linalg has the attribute {name!r}") from None


def __dir__() -> list[str]:
    return sorted(dir(np.linalg))
