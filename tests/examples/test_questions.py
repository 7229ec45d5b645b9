"""The three questions that started the project, each with its answer to the last digit."""

import arguments_of_backward
import numpy as np
import pytest
import reciprocal_bits
import why_not_one

import functad as fd
from functad.errors import NonScalarOutputError

Z = np.array([1.0, 2.0, 3.0])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_derivative_of_a_reciprocal_is_minus_its_square_bit_for_bit(dtype):
    a = reciprocal_bits.random_values(dtype)
    assert a.size == 10_000
    expected = -(1 / a) * (1 / a)
    for way, found in reciprocal_bits.derivatives(a).items():
        assert found.dtype == dtype, way
        assert np.array_equal(found.view(np.uint8), expected.view(np.uint8)), way
    apart = reciprocal_bits.ulps_apart(expected, -1 / a**2)
    assert 1000 < np.sum(apart > 0) < 9000
    assert apart.max() <= 3
    np.testing.assert_allclose(expected, reciprocal_bits.nearest(a), rtol=2 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_derivative_of_a_scalar_reciprocal(dtype):
    for a in reciprocal_bits.random_values(dtype, count=20):
        for found in (fd.grad(lambda a: 1 / a)(a), fd.jit(fd.grad(lambda a: 1 / a))(a)):
            assert found == -(1 / a) * (1 / a)
            assert found.dtype == dtype


def test_the_pullback_of_the_identity_gives_its_cotangent_back():
    out, pullback = fd.vjp(why_not_one.identity, Z)
    np.testing.assert_array_equal(out, Z)
    (cotangent,) = pullback(Z)
    np.testing.assert_array_equal(cotangent, Z)
    np.testing.assert_array_equal(pullback(np.ones(3))[0], np.ones(3))


@pytest.mark.parametrize("f", [why_not_one.identity, why_not_one.square])
@pytest.mark.parametrize("cure", ["np.sum", "vjp", "jacobian"])
def test_grad_of_a_vector_is_refused_with_the_cure(f, cure):
    with pytest.raises(NonScalarOutputError, match=cure):
        fd.grad(f)(Z)
    with pytest.raises(NonScalarOutputError, match=cure):
        fd.value_and_grad(f)(Z)


@pytest.mark.parametrize("transform", [fd.jacobian, fd.jacfwd, fd.jacrev])
def test_jacobians(transform):
    np.testing.assert_array_equal(transform(why_not_one.identity)(Z), np.eye(3))
    np.testing.assert_array_equal(transform(why_not_one.square)(Z), np.diag(2 * Z))


def test_gradients_of_sums():
    np.testing.assert_array_equal(fd.grad(np.sum)(Z), np.ones(3))
    np.testing.assert_array_equal(fd.grad(lambda z: z.sum())(Z), np.ones(3))
    np.testing.assert_array_equal(fd.grad(lambda z: np.sum(z**2))(Z), 2 * Z)


def test_a_cotangent_of_one_is_the_scalar_default():
    _, pullback = fd.vjp(why_not_one.square, 3.0)
    assert fd.grad(why_not_one.square)(3.0) == pullback(1.0)[0] == 6.0
    assert pullback(10.0)[0] == 60.0


def test_the_cotangent_weighs_the_elements_of_the_output():
    a, b, c = arguments_of_backward.on_vectors()
    np.testing.assert_allclose(a, [0.3, 3, 3e-4], rtol=1e-15)
    np.testing.assert_allclose(b, [1.2, 16, 2e-3], rtol=1e-15)
    np.testing.assert_allclose(c, [0.1 / 6, 1 / 7, 1e-4 / 8], rtol=1e-15)


def test_on_scalars():
    assert arguments_of_backward.on_scalars() == (3, 4, 10)


def test_at_a_pole_the_derivative_is_infinite():
    assert arguments_of_backward.at_a_pole() == (3, 4, np.inf)


def test_a_pullback_accumulates_nothing():
    first, second, total = arguments_of_backward.twice()
    assert first == second == (3, 4, 10)
    assert total == (6, 8, 20)


def test_one_hot_cotangents_give_the_rows_of_the_jacobian_and_ones_their_sum():
    rows, total = arguments_of_backward.rows_of_the_jacobian()
    assert rows.shape == (4, 1, 4)
    np.testing.assert_array_equal(rows.reshape(4, 4), 2 * np.eye(4))
    np.testing.assert_array_equal(total, [[2, 2, 2, 2]])
    np.testing.assert_array_equal(fd.jacobian(lambda x: 2 * x)(np.ones((1, 4))).reshape(4, 4), 2 * np.eye(4))
