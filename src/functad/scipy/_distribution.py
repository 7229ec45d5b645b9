"""What the distributions of `functad.scipy.stats` have in common: location and scale, supports, the functions that follow from others, freezing."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from scipy import stats as _stats

from functad._numpy.arguments import Operand, Result
from functad.errors import UnsupportedFunctionError
from functad.scipy._given import any_traced, floating

__all__ = ["Continuous", "Discrete", "Distribution", "Frozen"]

Formula = Callable[..., Result]  # of the standard variable and the shape parameters


def _double(x: Result) -> Result:
    """In double precision, which is what SciPy's distributions compute in."""
    return x.astype(np.float64) if getattr(x, "dtype", None) == np.float32 else x


class Distribution:
    """A distribution with SciPy's name and parameters, whose functions take traced values.

    Parameters
    ----------
    name : str
        In `scipy.stats`.
    shapes : sequence of str
        Shape parameters, in order.
    formulas : mapping of str to callable
        What is known of the standard distribution, by the name of the function.
    support : callable
        Whether a value can occur, from it and the shape parameters.
    source : str
        Where the formulas are from.
    """

    density = ""  # the name of the function that the others of its kind follow from

    def __init__(self, name: str, shapes: Sequence[str], formulas: Mapping[str, Formula], support: Formula | None, source: str) -> None:
        self.name, self.shapes, self.formulas, self.support = name, tuple(shapes), dict(formulas), support
        self.__doc__ = self._documented(source)

    def __call__(self, *args: Operand, **keywords: Operand) -> "Frozen":
        """The distribution with these parameters."""
        return Frozen(self, args, keywords)

    def __repr__(self) -> str:
        return f"functad.scipy.stats.{self.name}"

    def names(self) -> tuple[str, ...]:
        """Its parameters in order."""
        return (*self.shapes, "loc", "scale") if isinstance(self, Continuous) else (*self.shapes, "loc")

    def functions(self) -> list[str]:
        """The functions that take traced values."""
        kind = ["logpdf", "pdf"] if isinstance(self, Continuous) else ["logpmf", "pmf"]
        known = set(self.formulas)
        return kind + [n for n, needs in _FOLLOWS.items() if n in known or needs & known]

    def evaluate(self, function: str, x: Operand, args: Sequence[Operand], keywords: Mapping[str, Operand]) -> Result:
        """One of the functions at x: SciPy's own where nothing is traced."""
        if not any_traced(x, *args, *keywords.values()):
            return getattr(getattr(_stats, self.name), function)(x, *args, **keywords)
        if function not in self.functions():
            raise UnsupportedFunctionError(f"functad.scipy.stats.{self.name}.{function} has no rule for traced values; those that do: "
                                           f"{', '.join(self.functions())}")  # fmt: skip
        names = self.names()
        if len(args) > len(names):
            raise TypeError(f"{self.name}.{function} takes the parameters {', '.join(names)}")
        given = {**dict(zip(names, args, strict=False)), **keywords}
        if set(given) - set(names) or set(self.shapes) - set(given) or len(given) < len(args) + len(keywords):
            raise TypeError(f"{self.name}.{function} takes the parameters {', '.join(names)}, and was given {', '.join(given) or 'none'}")
        shapes = [floating(given[n]) for n in self.shapes]
        return self.at(function, _double(floating(x)), shapes, floating(given.get("loc", 0.0)), floating(given.get("scale", 1.0)))

    def at(self, function: str, x: Result, shapes: Sequence[Result], loc: Result, scale: Result) -> Result:
        """The function on traced values."""
        z = (x - loc) / scale
        if function in ("pdf", "pmf"):
            return np.exp(self.at("log" + function, x, shapes, loc, scale))
        if function == self.density:
            value = self.formulas[self.density](z, *shapes)
            value = value - np.log(scale) if isinstance(self, Continuous) else value
            return value if self.support is None else np.where(self.support(z, *shapes), value, -np.inf)
        return self._cumulative(function, z, shapes)

    def _cumulative(self, function: str, z: Result, shapes: Sequence[Result]) -> Result:
        """cdf, sf and their logarithms, by the nearest formula that is there."""
        given = self.formulas.get(function)
        if given is not None:
            return given(z, *shapes)
        if function.startswith("log"):
            value = self._cumulative(function[3:], z, shapes)
            other = self._cumulative("sf" if function == "logcdf" else "cdf", z, shapes)
            return np.where(value > 0.5, np.log1p(-other), np.log(value))  # near 1 the digits are those of the other tail
        return 1.0 - self._cumulative("sf" if function == "cdf" else "cdf", z, shapes)

    def _documented(self, source: str) -> str:
        kind = "logpdf" if isinstance(self, Continuous) else "logpmf"
        shapes = ", ".join(self.shapes)
        parameters = f"{shapes} : array_like\n    As SciPy's.\n" if shapes else ""
        scale = "loc, scale" if isinstance(self, Continuous) else "loc"
        numbers = ", ".join(["0.5"] * len(self.shapes))
        call = f"{self.name}.{kind}(x{', ' + numbers if numbers else ''})"
        return (
            f"The distribution `scipy.stats.{self.name}`: {', '.join(self.functions())}.\n\n"
            "Each is called as SciPy's, with the value first and then the parameters, which broadcast; "
            "called itself, it gives the distribution with its parameters fixed.\n\n"
            f"Parameters\n----------\n{parameters}{scale} : array_like, optional\n    Location{' and scale' if scale != 'loc' else ''}.\n\n"
            "Raises\n------\nUnsupportedFunctionError\n    With traced values, for SciPy's other functions.\n"
            "UnsupportedArgumentError\n    For complex values.\n\n"
            f"Notes\n-----\n{source}\n\n"
            f"Examples\n--------\n>>> import numpy as np, functad as fd\n>>> from functad.scipy.stats import {self.name}\n"
            f">>> np.isfinite(fd.grad(lambda x: {call})({'1.0' if kind == 'logpmf' else '0.25'}))\nnp.True_\n"
        )


_FOLLOWS = {"cdf": {"cdf", "sf"}, "logcdf": {"cdf", "sf", "logcdf"}, "sf": {"cdf", "sf"}, "logsf": {"cdf", "sf", "logsf"}, "ppf": {"ppf"}}


def _method(function: str) -> Callable[..., Result]:
    def call(self: Distribution, x: Operand, *args: Operand, **keywords: Operand) -> Result:
        return self.evaluate(function, x, args, keywords)

    call.__name__ = call.__qualname__ = function
    call.__doc__ = f"`{function}` at x, with SciPy's parameters."
    return call


class Continuous(Distribution):
    """A distribution with a density."""

    density = "logpdf"
    logpdf, pdf, cdf, logcdf, sf, logsf = map(_method, ("logpdf", "pdf", "cdf", "logcdf", "sf", "logsf"))

    def ppf(self, q: Operand, *args: Operand, **keywords: Operand) -> Result:
        """`ppf` at q, with SciPy's parameters."""
        return self.evaluate("ppf", q, args, keywords)

    def at(self, function: str, x: Result, shapes: Sequence[Result], loc: Result, scale: Result) -> Result:
        """The function on traced values."""
        if function == "ppf":
            return loc + scale * self.formulas["ppf"](x, *shapes)
        return super().at(function, x, shapes, loc, scale)


class Discrete(Distribution):
    """A distribution of whole numbers."""

    density = "logpmf"
    logpmf, pmf, cdf, logcdf, sf, logsf = map(_method, ("logpmf", "pmf", "cdf", "logcdf", "sf", "logsf"))


class Frozen:
    """A distribution with its parameters fixed."""

    def __init__(self, distribution: Distribution, args: tuple[Operand, ...], keywords: Mapping[str, Operand]) -> None:
        self.dist, self.args, self.kwds = distribution, args, dict(keywords)

    def __getattr__(self, name: str) -> Callable[[Operand], Result]:
        if name.startswith("_") or not hasattr(type(self.dist), name):
            raise AttributeError(f"{self.dist!r} with fixed parameters has no attribute {name!r}")
        return lambda x: getattr(self.dist, name)(x, *self.args, **self.kwds)
