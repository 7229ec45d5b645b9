"""Settings that users may choose."""

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["evaluator"]


@contextmanager
def evaluator(name: str | None) -> Iterator[None]:
    """Pin what evaluates programs inside a `with` block.

    Parameters
    ----------
    name : {"numpy", "kernel"} or None
        "numpy": straight-line NumPy, nothing is compiled; "kernel": compiled at the first call; None: the rule, by which a program is
        compiled once its estimated cost has paid for it.

    Yields
    ------
    None

    Raises
    ------
    ValueError
        For another name.

    Notes
    -----
    Results are equal bit for bit as long as the evaluator is the same; NumPy and a kernel may differ in the last bits of sums and of
    transcendental functions.  A function under `jit` keeps the evaluator that was pinned when its signature was first met.

    Examples
    --------
    >>> import functad as fd
    >>> with fd.evaluator("numpy"):
    ...     fd.grad(lambda x: x**3)(2.0)
    np.float64(12.0)
    """
    from functad._compile import pipeline  # not needed to import functad

    with pipeline.evaluator(name):
        yield
