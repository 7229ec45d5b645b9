"""The NIST reference datasets for nonlinear regression, with their models as plain NumPy one-liners.

Each file under ``data`` says in its header on which lines its starting values, certified values and observations stand; nothing
else about the layout is assumed.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

DATA = Path(__file__).resolve().parent / "data"

MODELS: dict[str, Callable[..., np.ndarray]] = {
    "BoxBOD": lambda x, b1, b2: b1 * (1 - np.exp(-b2 * x)),
    "Chwirut1": lambda x, b1, b2, b3: np.exp(-b1 * x) / (b2 + b3 * x),
    "Chwirut2": lambda x, b1, b2, b3: np.exp(-b1 * x) / (b2 + b3 * x),
    "DanWood": lambda x, b1, b2: b1 * x**b2,
    "Gauss1": lambda x, b1, b2, b3, b4, b5, b6, b7, b8: (
        b1 * np.exp(-b2 * x) + b3 * np.exp(-((x - b4) ** 2) / b5**2) + b6 * np.exp(-((x - b7) ** 2) / b8**2)
    ),
    "Hahn1": lambda x, b1, b2, b3, b4, b5, b6, b7: (b1 + b2 * x + b3 * x**2 + b4 * x**3) / (1 + b5 * x + b6 * x**2 + b7 * x**3),
    "Kirby2": lambda x, b1, b2, b3, b4, b5: (b1 + b2 * x + b3 * x**2) / (1 + b4 * x + b5 * x**2),
    "Lanczos3": lambda x, b1, b2, b3, b4, b5, b6: b1 * np.exp(-b2 * x) + b3 * np.exp(-b4 * x) + b5 * np.exp(-b6 * x),
    "MGH09": lambda x, b1, b2, b3, b4: b1 * (x**2 + x * b2) / (x**2 + x * b3 + b4),
    "MGH17": lambda x, b1, b2, b3, b4, b5: b1 + b2 * np.exp(-x * b4) + b3 * np.exp(-x * b5),
    "Misra1a": lambda x, b1, b2: b1 * (1 - np.exp(-b2 * x)),
    "Misra1b": lambda x, b1, b2: b1 * (1 - (1 + b2 * x / 2) ** -2),
    "Rat43": lambda x, b1, b2, b3, b4: b1 / (1 + np.exp(b2 - b3 * x)) ** (1 / b4),
    "Thurber": lambda x, b1, b2, b3, b4, b5, b6, b7: (b1 + b2 * x + b3 * x**2 + b4 * x**3) / (1 + b5 * x + b6 * x**2 + b7 * x**3),
}


@dataclass(frozen=True)
class Dataset:
    """One reference dataset: a model, observations, two starting points and what NIST certifies about the best fit.

    Attributes
    ----------
    name : str
        NIST's name of the dataset.
    model : callable
        ``model(x, *parameters)`` in plain NumPy.
    x, y : ndarray, shape (n,)
        Predictor and response.
    starts : tuple of two ndarrays, shape (p,)
        Start 1 (far from the solution) and Start 2 (near to it).
    certified, deviations : ndarray, shape (p,)
        Certified parameters, given to eleven digits, and their standard deviations.
    residual_sum_of_squares : float
        Certified sum of squared residuals at the certified parameters.
    """

    name: str
    model: Callable[..., np.ndarray]
    x: np.ndarray
    y: np.ndarray
    starts: tuple[np.ndarray, np.ndarray]
    certified: np.ndarray
    deviations: np.ndarray
    residual_sum_of_squares: float

    def residual(self, parameters):
        """Model minus response, shape (n,): what a least-squares fit makes small."""
        return self.model(self.x, *parameters) - self.y

    def cost(self, parameters):
        """Half the sum of squared residuals, a scalar: what a general minimiser makes small."""
        return 0.5 * np.sum(self.residual(parameters) ** 2)


def load(name: str) -> Dataset:
    """Read one dataset.

    Parameters
    ----------
    name : str
        A key of `MODELS`.

    Returns
    -------
    Dataset

    Raises
    ------
    ValueError
        If the file disagrees with its own header.
    """
    lines = (DATA / f"{name}.dat").read_text(encoding="ascii").splitlines()
    start_lines = _section(lines, "Starting Values")
    rows = [[float(word) for word in line.split("=")[1].split()] for line in start_lines]
    start_1, start_2, certified, deviations = np.array(rows).T

    facts = dict(line.split(":") for line in _section(lines, "Certified Values") if ":" in line)
    y, x = np.array([[float(word) for word in line.split()] for line in _section(lines, "Data")]).T
    if y.size != int(facts["Number of Observations"]):
        raise ValueError(f"{name}: {y.size} observations found, {facts['Number of Observations'].strip()} announced")
    return Dataset(name, MODELS[name], x, y, (start_1, start_2), certified, deviations, float(facts["Residual Sum of Squares"]))


def digits(found: np.ndarray, certified: np.ndarray) -> np.ndarray:
    """Significant digits in which two values agree: the log relative error, from 0 to the eleven digits that NIST certifies."""
    with np.errstate(divide="ignore"):
        agreeing = -np.log10(np.abs(found - certified) / np.abs(certified))
    return np.clip(agreeing, 0.0, 11.0)


def _section(lines: list[str], title: str) -> list[str]:
    """The lines that the header names for a title; they are counted from one and include the last."""
    for line in lines:
        match = re.search(rf"{title}\s*\(lines\s+(\d+)\s+to\s+(\d+)\)", line)
        if match:
            first, last = int(match[1]), int(match[2])
            return lines[first - 1 : last]
    raise ValueError(f"the header has no line numbers for {title!r}")
