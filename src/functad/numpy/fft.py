"""numpy.fft, whose functions take lists of traced values as well."""

import numpy as np

from functad.numpy._lists import replacements

__all__ = list(np.fft.__all__)

globals().update(replacements(np.fft))


def __getattr__(name: str) -> object:
    try:
        return getattr(np.fft, name)
    except AttributeError:
        raise AttributeError(f"neither functad.numpy.fft nor numpy.fft has the attribute {name!r}") from None


def __dir__() -> list[str]:
    return sorted(dir(np.fft))
