"""Fit curves to measured data and compare every parameter with the value that NIST certifies.

Run ``python examples/quickstart.py``. Two ways to use derivatives are shown: a least-squares fit that needs the Jacobian of the
residual (`functad.jacobian`), and SciPy's general minimisers, which need a gradient (`functad.value_and_grad`) or a gradient and
a Hessian (`functad.hessian`). The models, in ``nist.py``, are plain NumPy and know nothing of functad.
"""

import sys
import time

import numpy as np
from levenberg_marquardt import fit
from nist import Dataset, digits, load
from scipy.optimize import minimize

import functad as fd

FITTED = [("Misra1a", 2), ("Chwirut2", 2), ("DanWood", 2), ("Kirby2", 2), ("Lanczos3", 2), ("BoxBOD", 2), ("Rat43", 2)]
FITTED_FROM_AFAR = [("Misra1a", 1), ("BoxBOD", 1), ("MGH09", 1)]
MINIMISED = [
    ("Misra1a", "trust-exact"),
    ("Chwirut2", "trust-exact"),
    ("BoxBOD", "trust-exact"),
    ("BoxBOD", "BFGS"),
    ("Misra1b", "BFGS"),
]
ENOUGH = 7.0


def by_least_squares(data: Dataset, start: int) -> tuple[np.ndarray, str]:
    """Fit one dataset from its first or second starting point; the Jacobian is functad's.

    Returns
    -------
    parameters : ndarray, shape (p,)
    effort : str
        What it took, in words.
    """
    found = fit(data.model, data.x, data.y, data.starts[start - 1], jacobian=fd.jacobian)
    return found.parameters, f"{found.iterations} Jacobians"


def by_minimising(data: Dataset, method: str) -> tuple[np.ndarray, str]:
    """Fit one dataset from Start 2 with ``scipy.optimize.minimize``; gradient and Hessian are functad's.

    The unknowns are measured in units of their starting values, as they differ by orders of magnitude.

    Returns
    -------
    parameters : ndarray, shape (p,)
    effort : str
        What it took, in words.
    """
    unit = data.starts[1]

    def cost(scaled):
        return data.cost(unit * scaled)

    second = {"hess": fd.hessian(cost)} if method == "trust-exact" else {}
    found = minimize(fd.value_and_grad(cost), np.ones_like(unit), jac=True, method=method, options={"gtol": 1e-9}, **second)
    effort = f"{found.nfev} gradients" + (f", {found.nhev} Hessians" if second else "")
    return unit * found.x, effort


def report(data: Dataset, how: str, solve, choice) -> float:
    """Solve, print each certified parameter beside the one found, and return the digits of the worst."""
    begin = time.perf_counter()
    parameters, effort = solve(data, choice)
    milliseconds = 1e3 * (time.perf_counter() - begin)
    agreeing = digits(parameters, data.certified)
    print(f"\n{data.name}: {data.y.size} observations, {how}, {effort}, {milliseconds:.1f} ms")
    print(f"    {'':4} {'certified':>18} {'found':>18} {'digits':>7}")
    for number, (certified, found, agree) in enumerate(zip(data.certified, parameters, agreeing, strict=True), start=1):
        print(f"    b{number:<3} {certified:>18.10e} {found:>18.10e} {agree:>7.1f}")
    return float(agreeing.min())


def main() -> int:
    """Print the report; the exit status is zero if all parameters agree to seven digits."""
    print("Levenberg-Marquardt with functad.jacobian")
    worst = [report(load(name), f"Start {start}", by_least_squares, start) for name, start in FITTED + FITTED_FROM_AFAR]
    print("\nscipy.optimize.minimize with functad.value_and_grad and functad.hessian")
    worst += [report(load(name), f"{method}, Start 2", by_minimising, method) for name, method in MINIMISED]
    good = sum(agree >= ENOUGH for agree in worst)
    print(f"\n{good} of {len(worst)} fits agree with every certified parameter to {ENOUGH:.0f} digits or more.")
    return 0 if good == len(worst) else 1


if __name__ == "__main__":
    sys.exit(main())
