"""All fourteen NIST fits agree with the certified parameters; the Jacobian is held against the complex step."""

import re

import numpy as np
import pytest
from levenberg_marquardt import fit
from nist import DATA, MODELS, digits, load
from scipy.optimize import minimize

import functad as fd


def complex_step(f):
    """A Jacobian without functad, exact to rounding for the analytic models used here."""

    def jacobian(parameters):
        step = 1e-30
        return np.stack([f(parameters + 1j * step * unit).imag / step for unit in np.eye(parameters.size)], axis=1)

    return jacobian


def test_a_model_for_each_file():
    assert sorted(path.stem for path in DATA.glob("*.dat")) == sorted(MODELS)
    assert len(MODELS) == 14


@pytest.mark.parametrize("name", MODELS)
def test_the_model_has_the_certified_residual(name):
    data = load(name)
    rtol = 1e-6 if name == "Lanczos3" else 1e-9  # Lanczos3 fits so well that eleven digits of its parameters leave six of its residual
    np.testing.assert_allclose(2 * data.cost(data.certified), data.residual_sum_of_squares, rtol=rtol)


@pytest.mark.parametrize("name", MODELS)
def test_jacobian_against_the_complex_step(name):
    data = load(name)
    for parameters in (*data.starts, data.certified):
        expected = complex_step(data.residual)(parameters)
        for transform in (fd.jacobian, fd.jacfwd, fd.jacrev):
            found = transform(data.residual)(parameters)
            np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-13 * np.max(np.abs(expected)))


@pytest.mark.parametrize("name", MODELS)
def test_seven_digits_from_start_2(name):
    data = load(name)
    found = fit(data.model, data.x, data.y, data.starts[1])
    assert found.converged
    assert digits(found.parameters, data.certified).min() >= 7
    np.testing.assert_allclose(found.residual_sum_of_squares, data.residual_sum_of_squares, rtol=1e-8)


@pytest.mark.parametrize("name", MODELS)
def test_seven_digits_from_start_1(name):
    data = load(name)
    found = fit(data.model, data.x, data.y, data.starts[0])
    assert digits(found.parameters, data.certified).min() >= 7


@pytest.mark.parametrize("name", ["Misra1a", "Kirby2", "Lanczos3"])
def test_the_fit_is_the_same_with_another_jacobian(name):
    data = load(name)
    found = fit(data.model, data.x, data.y, data.starts[1])
    other = fit(data.model, data.x, data.y, data.starts[1], complex_step)
    np.testing.assert_allclose(found.parameters, other.parameters, rtol=1e-9)


@pytest.mark.parametrize("name", ["BoxBOD", "Chwirut2", "DanWood", "Misra1a", "Rat43"])
def test_newton_with_functads_hessian(name):
    data = load(name)
    unit = data.starts[1]

    def cost(scaled):
        return data.cost(unit * scaled)

    found = minimize(fd.value_and_grad(cost), np.ones_like(unit), jac=True, hess=fd.hessian(cost), method="trust-exact", options={"gtol": 1e-9})
    assert digits(unit * found.x, data.certified).min() >= 7


@pytest.mark.parametrize("name", MODELS)
def test_compiled_derivatives_equal_the_evaluated_ones(name):
    data = load(name)
    start = data.starts[1]
    for transform, function in ((fd.jacobian, data.residual), (fd.grad, data.cost), (fd.hessian, data.cost)):
        evaluated, compiled = transform(function)(start), fd.jit(transform(function))(start)
        np.testing.assert_allclose(compiled, evaluated, rtol=1e-8, atol=1e-11 * np.max(np.abs(evaluated)))


def test_a_compiled_jacobian_fits_as_well():
    data = load("Thurber")
    found = fit(data.model, data.x, data.y, data.starts[1], lambda f: fd.jit(fd.jacobian(f)))
    assert digits(found.parameters, data.certified).min() >= 7


def test_a_file_that_disagrees_with_its_header_is_refused(tmp_path, monkeypatch):
    text = (DATA / "BoxBOD.dat").read_text(encoding="ascii")
    announced = re.compile(r"(Number of Observations: +)6")
    (tmp_path / "BoxBOD.dat").write_text(announced.sub(r"\g<1>7", text), encoding="ascii")
    monkeypatch.setattr("nist.DATA", tmp_path)
    with pytest.raises(ValueError, match="6 observations found, 7 announced"):
        load("BoxBOD")
