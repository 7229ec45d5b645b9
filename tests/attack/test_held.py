"""Large captured arrays are held by reference: whatever is written to them in between is an error, never a wrong gradient."""

import numpy as np
import pytest

import functad as fd
from functad.errors import MutationError, UnsupportedArgumentError


def test_a_read_only_view_of_a_writeable_array():
    base = np.zeros(10)
    view = np.broadcast_to(base, (1000, 10))

    def f(x):
        total = np.sum(view * x)
        base[:] = 1.0
        return total

    with pytest.raises(MutationError):
        fd.value_and_grad(f)(1.0)


def test_an_array_that_is_written_used_and_written_back():
    scratch = np.zeros(20_000)

    def f(x):
        scratch[0] = 0.0
        first = np.sum(scratch * x)
        scratch[0] = 5.0
        second = np.sum(scratch * x)
        scratch[0] = 0.0
        return first + second

    with pytest.raises(MutationError):
        fd.grad(f)(1.0)


def test_arrays_that_nobody_writes_are_used_again():
    large = np.linspace(0.0, 1.0, 20_000)
    frozen = large.copy()
    frozen.flags.writeable = False
    assert fd.grad(lambda x: np.sum(large * x) + np.sum(large * x) + np.sum(frozen * x))(1.0) == pytest.approx(3 * large.sum(), rel=1e-12)


def test_a_loop_index_does_not_hide_a_cast():
    f = lambda x, k: (np.transpose(x) * 1.0, k.astype(np.int8), x * 1j)
    x = np.ones((2, 3), np.float32)
    for got, expected in zip(fd.jit(f)(x, np.uint8(2)), f(x, np.uint8(2)), strict=True):
        np.testing.assert_array_equal(got, expected)
        assert got.dtype == expected.dtype


@pytest.mark.parametrize("transform", [fd.jacobian, fd.jacrev, fd.jacfwd, fd.grad])
def test_a_real_output_is_not_holomorphic(transform):
    with pytest.raises(UnsupportedArgumentError, match="complex output"):
        transform(np.real, holomorphic=True)(1 + 1j)
