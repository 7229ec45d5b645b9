"""The transpose of linear functions, and the refusal of others; programs of functions with static arguments."""

import numpy as np
import pytest

import functad as fd

X = np.array([1.0, -2.0])
LINEAR = {
    "slice": lambda x: 3.0 * x[1:],
    "mask": lambda x: x * np.array([1.0, 2.0]),
    "concatenate": lambda x: np.concatenate([x, 2 * x]),
    "solve": lambda x: np.linalg.solve(np.array([[2.0, 1.0], [0.0, 1.0]]), x),
    "power of one": lambda x: x**1,
    "captured condition": lambda x: np.where(X > 0, x, 5.0 * x),
    "scan": lambda x: fd.scan(lambda z, row: (2.0 * z + row, z), 0.0, x),
    "offset": lambda x: x + 1.0,
}
NOT_LINEAR = {
    "square": lambda x: x * x,
    "product": lambda x: x @ x,
    "reciprocal": lambda x: 1 / x,
    "ratio": lambda x: x / x,
    "max": np.max,
    "abs": np.abs,
    "sin": np.sin,
    "where": lambda x: np.where(x > 0, x, 2 * x),
}


@pytest.mark.parametrize("f", LINEAR.values(), ids=LINEAR)
def test_transpose_is_the_pullback(f):
    out, pullback = fd.vjp(f, X)
    ct = fd.tree.map(lambda y: np.cos(np.arange(np.size(y)) + 1.0).reshape(np.shape(y))[()], out)
    transposed = fd.linear_transpose(f, np.zeros(2))
    np.testing.assert_array_equal(transposed(ct)[0], pullback(ct)[0])
    np.testing.assert_array_equal(fd.jit(transposed)(ct)[0], pullback(ct)[0])


@pytest.mark.parametrize("f", NOT_LINEAR.values(), ids=NOT_LINEAR)
def test_what_is_not_linear_is_refused(f):
    with pytest.raises(fd.errors.MissingRuleError, match="vjp"):
        fd.linear_transpose(f, X)


def test_a_pair_of_arguments():
    transposed = fd.linear_transpose(lambda x, y: (x - y, 3.0), 1.0, 2.0)
    assert transposed((2.0, 0.0)) == (2.0, -2.0)


def test_static_arguments_are_not_inputs_of_the_program():
    f = fd.jit(lambda x, n: x[:n], static_argnums=1)
    assert [t.shape for t in fd.make_program(f)(X, 1).input_types] == [(2,)]
    assert f(X, 1).shape == (1,)
