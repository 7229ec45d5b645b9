"""Python's own complex numbers as arguments, and NumPy's complaints about traced values in the user's terms."""

import numpy as np
import pytest

import functad as fd


@pytest.mark.parametrize("function", [np.real, np.imag])
def test_parts_of_a_python_complex_number(function):
    value, tangent = fd.jvp(function, (1.0 + 2.0j,), (0.5 - 3.0j,))
    assert (value, tangent) == (function(1.0 + 2.0j), function(0.5 - 3.0j))


@pytest.mark.parametrize("function", [np.linalg.det, lambda a: np.linalg.solve(a, np.ones(2))[0]])
def test_a_matrix_of_traced_numbers_that_numpy_never_hands_over(function):
    def f(x):
        return function(np.array([[2.0, x], [0.0, 1.0]]))

    with pytest.raises(fd.errors.UnsupportedFunctionError, match=r"functad\.numpy") as caught:
        fd.grad(f)(1.0)
    assert caught.value.location is not None
    assert caught.value.location.startswith(__file__)


@pytest.mark.parametrize(
    ("transform", "function"),
    [
        (fd.jit, lambda n: np.zeros(n)),
        (fd.jit, lambda n: np.reshape(np.arange(4.0), n)),
        (fd.vmap, lambda n: np.ones(n)),
    ],
)
def test_a_traced_size_is_told_its_cure(transform, function):
    with pytest.raises(fd.errors.NoValueError, match="static_argnums") as caught:
        transform(function)(np.array([2, 2]) if transform is fd.vmap else 2)
    assert caught.value.location.startswith(__file__)


def test_a_function_of_another_library_is_named_as_such():
    from scipy.linalg import solve

    with pytest.raises(
        fd.errors.UnsupportedFunctionError, match=r"scipy\.linalg\.solve was given traced values.*functad\.scipy\.linalg\.solve"
    ) as caught:
        fd.grad(lambda x: np.sum(solve(np.eye(3), x)))(np.ones(3))
    assert caught.value.location.startswith(__file__)
