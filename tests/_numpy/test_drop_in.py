"""functad.numpy in the place of numpy: one file of functions under both imports."""

import types
from pathlib import Path

import numpy
import pytest

import functad as fd
import functad.numpy
from functad.errors import FunctadError
from functad.testing import check_grads

SOURCE = Path(__file__).with_name("functions_of_lists.py")


def namespace(np):
    module = types.ModuleType("functions_of_lists")
    module.np = np
    exec(compile(SOURCE.read_text(), str(SOURCE), "exec"), module.__dict__)
    return {name: thing for name, thing in vars(module).items() if isinstance(thing, types.FunctionType)}


PLAIN, DROP_IN = namespace(numpy), namespace(functad.numpy)
X, Y = 0.75, 1.625


@pytest.mark.parametrize("name", PLAIN)
def test_of_numbers(name):
    """Nothing is traced: values, dtypes and shapes are NumPy's."""
    expected, found = PLAIN[name](X, Y), DROP_IN[name](X, Y)
    numpy.testing.assert_array_equal(found, expected)
    assert (numpy.shape(found), numpy.asarray(found).dtype, type(found)) == (numpy.shape(expected), numpy.asarray(expected).dtype, type(expected))


@pytest.mark.parametrize("name", PLAIN)
def test_of_traced_values(name):
    expected = PLAIN[name](X, Y)
    value, _ = fd.jvp(DROP_IN[name], (X, Y), (1.0, 1.0))
    numpy.testing.assert_allclose(value, expected, rtol=1e-14)
    assert (value.shape, value.dtype) == (numpy.shape(expected), numpy.asarray(expected).dtype)
    check_grads(DROP_IN[name], (X, Y), order=2)


@pytest.mark.parametrize("name", PLAIN)
def test_what_works_under_the_plain_import_is_the_same(name):
    """What does not is an error that names the other import."""
    try:
        value, tangent = fd.jvp(PLAIN[name], (X, Y), (1.0, 0.5))
    except FunctadError as error:
        assert "import functad.numpy as np" in str(error)  # noqa: PT017  # only some of them fail
        return
    expected, pushed = fd.jvp(DROP_IN[name], (X, Y), (1.0, 0.5))
    numpy.testing.assert_allclose(value, expected, rtol=1e-14)
    numpy.testing.assert_allclose(tangent, pushed, rtol=1e-12)


def test_what_fails_under_the_plain_import():
    """Those three at least, so that the test above sees errors."""
    for name in ("mean", "solve", "converted"):
        with pytest.raises(FunctadError, match=r"import functad\.numpy as np"):
            fd.jacobian(PLAIN[name])(X, Y)


def test_elementwise_functions_under_the_plain_import():
    x = numpy.array([0.5, 1.5])
    square = numpy.frompyfunc(lambda a: a * a if a > 1 else a, 1, 1)
    numpy.testing.assert_array_equal(fd.grad(lambda x: numpy.sum(square(x)))(x), [1.0, 3.0])
    numpy.testing.assert_array_equal(fd.grad(lambda x: numpy.sum(numpy.vectorize(lambda a: a * a)(x)))(x), 2 * x)
    pair = numpy.frompyfunc(lambda a, b: (a * b, a), 2, 2)
    value, _ = fd.jvp(lambda x: pair(x, 2.0), (x,), (x,))
    numpy.testing.assert_array_equal(value[0], 2 * x)
    with pytest.raises(FunctadError, match="leave out the otypes"):
        fd.grad(lambda x: numpy.sum(numpy.vectorize(lambda a: a * a, otypes=[float])(x)))(x)
    with pytest.raises(FunctadError, match="where="):
        fd.grad(lambda x: numpy.sum(square(x, where=[True, False])))(x)


def test_vectorize_has_all_of_numpys_parameters():
    np = functad.numpy
    x = numpy.array([0.5, 1.5])
    power = np.vectorize(lambda a, n: a**n, excluded=["n"], otypes=["f4"])
    assert fd.jvp(lambda x: power(x, n=3), (x,), (x,))[0].dtype == numpy.float32
    total = np.vectorize(lambda v: np.sum(v) * v, signature="(n)->(n)")
    numpy.testing.assert_allclose(fd.jacobian(total)(x), [[2.5, 0.5], [1.5, 3.5]])
    two = np.vectorize(lambda a: (a, 2 * a), otypes=[float, float])
    numpy.testing.assert_allclose(fd.jvp(two, (x,), (x,))[0][1], 2 * x)
    assert np.vectorize(lambda a: 2 * a)([1, 2]).dtype == int


def test_an_error_of_the_users_keeps_its_cause():
    def f(x):
        try:
            {}["x"]
        except KeyError as error:
            raise AttributeError("no such thing") from error

    with pytest.raises(AttributeError, match="no such thing") as caught:
        fd.grad(f)(1.0)
    assert isinstance(caught.value.__cause__, KeyError)
