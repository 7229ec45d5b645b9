"""Nonlinear least squares by Levenberg and Marquardt's method, in the trust-region form of Moré (1978).

The derivative is a parameter: `fit` takes any transform that turns a residual function into its Jacobian, functad's by default.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import functad as fd


@dataclass(frozen=True)
class Fit:
    """What a fit found.

    Attributes
    ----------
    parameters : ndarray, shape (p,)
        The best parameters.
    residual_sum_of_squares : float
        Sum of squared residuals there.
    iterations : int
        Number of Jacobians evaluated.
    converged : bool
        Whether the last step was negligible.
    """

    parameters: np.ndarray
    residual_sum_of_squares: float
    iterations: int
    converged: bool


def fit(
    model: Callable[..., np.ndarray],
    x: np.ndarray,
    y: np.ndarray,
    start: np.ndarray,
    jacobian: Callable = fd.jacobian,
    *,
    tolerance: float = 1e-12,
    max_iterations: int = 1000,
) -> Fit:
    """Find the parameters for which ``model(x, *parameters)`` is nearest to ``y`` in the least-squares sense.

    Parameters
    ----------
    model : callable
        ``model(x, *parameters)``, plain NumPy, returns shape (n,).
    x, y : ndarray, shape (n,)
        Predictor and response.
    start : ndarray, shape (p,)
        Where to begin.
    jacobian : callable
        ``jacobian(f)(parameters)`` is the (n, p) matrix of derivatives of ``f``.
    tolerance : float
        The fit has converged when a full Gauss-Newton step changes the scaled parameters by no more than this, relatively.
    max_iterations : int
        Give up after so many Jacobians.

    Returns
    -------
    Fit

    Notes
    -----
    Each parameter is scaled by the largest norm that its column of the Jacobian has had, so that the result does not depend on
    units. The normal equations are never formed: a singular value decomposition of the scaled Jacobian gives the step for every
    damping at once and keeps the digits that squaring the condition number would lose. Source: J. J. Moré, The
    Levenberg-Marquardt algorithm, implementation and theory, 1978.
    """

    def residual(parameters):
        return model(x, *parameters) - y

    jacobian_of_residual = jacobian(residual)
    parameters = np.array(start, dtype=float)
    value = residual(parameters)
    scale = np.zeros_like(parameters)
    radius = None
    for iteration in range(1, max_iterations + 1):
        matrix = jacobian_of_residual(parameters)
        scale = np.maximum(scale, np.linalg.norm(matrix, axis=0))
        safe_scale = np.where(scale > 0, scale, 1.0)
        left, singular, right = np.linalg.svd(matrix / safe_scale, full_matrices=False)
        projected = left.T @ value
        size = np.linalg.norm(safe_scale * parameters)
        if radius is None:
            radius = size or 1.0  # a bolder start leaves two of the fourteen NIST problems for a plateau
        while True:
            damping = _damping(singular, projected, radius)
            scaled_step = -right.T @ (singular * projected / (singular**2 + damping))
            length = np.linalg.norm(scaled_step)
            trial = parameters + scaled_step / safe_scale
            with np.errstate(all="ignore"):  # a trial step may overflow: it is then rejected
                trial_value = residual(trial)
            reduction, predicted = _reductions(value, trial_value, singular, right @ scaled_step, damping)
            blind = predicted <= 1e-13 * (value @ value)  # too small for a difference of costs to judge
            accepted = np.all(np.isfinite(trial_value)) and (blind or reduction > 1e-4 * predicted)
            if not reduction > 0.25 * predicted:
                radius = (0.5 if np.isfinite(reduction) else 0.1) * min(radius, 10.0 * length)
            elif damping == 0.0 or reduction > 0.75 * predicted:
                radius = max(radius, 2.0 * length)
            negligible = length <= tolerance * size
            if accepted:
                parameters, value = trial, trial_value
            if accepted or negligible:
                break
        if negligible:
            return Fit(parameters, float(value @ value), iteration, True)
    return Fit(parameters, float(value @ value), max_iterations, False)


def _reductions(value, trial_value, singular, step_along, damping):
    """Actual and predicted decrease of the sum of squares, both without cancellation; NaN for a step that overflowed."""
    with np.errstate(all="ignore"):
        reduction = np.sum((value - trial_value) * (value + trial_value))
    predicted = np.sum((singular * step_along) ** 2) + 2.0 * damping * np.sum(step_along**2)
    return reduction if np.isfinite(reduction) else np.nan, predicted


def _damping(singular: np.ndarray, projected: np.ndarray, radius: float) -> float:
    """The damping for which the scaled step has the length `radius`, to a tenth; zero if the Gauss-Newton step is short enough.

    Newton's method on ``1/radius - 1/length``, which is nearly linear in the damping, started where it converges monotonically.
    """
    usable = singular > np.finfo(float).eps * singular.size * singular[0]
    damping = 0.0
    if not np.all(usable):
        damping = np.finfo(float).eps * singular[0] * singular[0]
    for _ in range(50):
        step = singular * projected / (singular**2 + damping)
        length = np.linalg.norm(step)
        if length <= 1.1 * radius:
            break
        slope = np.sum(step**2 / (singular**2 + damping)) / length
        damping += (length - radius) / radius * length / slope
    return damping
