"""Complex numbers at the borders of the Jacobians: never half of a derivative in silence."""

import numpy as np
import pytest

import functad as fd
from functad.errors import ConversionError, UnsupportedArgumentError

P = np.array([1.0, 2.0, 3.0])
Z = np.array([1.0 + 2.0j, 0.5 - 1.0j])
IMPEDANCE = lambda p: p[0] + 1j * p[1] * 3.0 + 1.0 / (2j * p[2])
DERIVATIVE = [1.0, 3.0j, -1.0 / (2j * P[2] ** 2)]


@pytest.mark.parametrize("call", [fd.jacobian(IMPEDANCE), fd.jacfwd(IMPEDANCE), fd.jit(fd.jacobian(IMPEDANCE))])
def test_a_complex_function_of_real_arguments_keeps_its_imaginary_part(call):
    np.testing.assert_allclose(call(P), DERIVATIVE, rtol=1e-14)


def test_reverse_mode_refuses_what_it_would_halve():
    with pytest.raises(UnsupportedArgumentError, match="jacfwd or jacobian"):
        fd.jacrev(IMPEDANCE)(P)
    with pytest.raises(UnsupportedArgumentError, match="real axis only"):
        fd.jacfwd(lambda z: np.abs(z) ** 2)(Z)


def test_holomorphic_functions_say_so():
    with pytest.raises(UnsupportedArgumentError, match="holomorphic=True"):
        fd.jacobian(lambda z: z**2)(Z)
    for transform in (fd.jacobian, fd.jacrev, fd.jacfwd):
        np.testing.assert_allclose(transform(lambda z: z**2, holomorphic=True)(Z), np.diag(2 * Z), rtol=1e-14)
    np.testing.assert_allclose(fd.hessian(lambda z: np.sum(z**3), holomorphic=True)(Z), np.diag(6 * Z), rtol=1e-14)
    with pytest.raises(UnsupportedArgumentError, match="complex arguments"):
        fd.jacobian(lambda x: x**2, holomorphic=True)(P)


def test_a_real_function_of_complex_arguments_runs_in_reverse():
    np.testing.assert_allclose(fd.jacobian(lambda z: np.abs(z) ** 2)(Z), np.diag(2 * np.conj(Z)), rtol=1e-14)


def test_complex_values_are_no_elements_of_object_arrays():
    with pytest.raises(ConversionError, match=r"np\.stack"):
        fd.grad(lambda p: np.sum(np.imag(np.array([1j * p[0], p[1]]))))(P)
    np.testing.assert_array_equal(fd.grad(lambda p: np.sum(np.imag(np.stack([1j * p[0], p[1]]))))(P), [1.0, 0.0, 0.0])


def test_single_whole_numbers_count_as_floats_traced_or_not():
    for x in (2, np.int64(2)):
        assert fd.grad(lambda v: v**2)(x) == 4.0
    assert fd.jit(fd.grad(lambda v: v**2))(2) == 4.0
    assert fd.jit(fd.grad(lambda q: q["a"] * q["b"]))({"a": 2.0, "b": 0}) == {"a": 0.0, "b": 2.0}


def test_the_square_of_an_absolute_value_of_complex_numbers_has_a_gradient():
    x = np.array([0.3, -0.5])
    f = lambda x: np.sum(np.abs(np.exp(1j * x) + x) ** 2)
    np.testing.assert_allclose(fd.grad(f)(x), 2 * x + 2 * (np.cos(x) - x * np.sin(x)), rtol=1e-14)
