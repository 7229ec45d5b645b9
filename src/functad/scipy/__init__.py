"""SciPy's functions where NumPy's protocols do not reach: `functad.scipy.special`, `linalg`, `stats`, `integrate`, `signal`, `ndimage`.

SciPy's ufuncs take traced values as they are.  Its other functions want arrays of numbers; the functions here have the same names and parameters,
are spelt in NumPy where an argument is traced, and are SciPy's own otherwise.  In `special` and `linalg` every other name is SciPy's.
"""

from functad.scipy import integrate, linalg, ndimage, signal, special, stats

__all__ = ["integrate", "linalg", "ndimage", "signal", "special", "stats"]
