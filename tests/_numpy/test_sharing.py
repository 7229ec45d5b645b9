"""In-place operators change what shares memory in NumPy, and nothing else."""

import numpy as np
import pytest

import functad as fd
import functad.numpy as fnp

X = np.array([1.0, 2.0])
COPIES = {
    "np.copy": np.copy, "np.array": fnp.array, "asarray with copy": lambda x: fnp.asarray(x, copy=True), "astype": lambda x: x.astype(float),
    "plus": lambda x: +x, "np.positive": np.positive, "flatten": lambda x: x.flatten(),
}  # fmt: skip
ITSELF = {
    "asarray": fnp.asarray, "astype without copy": lambda x: x.astype(float, copy=False), "conj": lambda x: x.conj(),
    "conjugate": lambda x: x.conjugate(),
}  # fmt: skip


def changed(make):
    def f(x):
        y = make(x)
        y += 1.0
        return np.sum(x * x)

    return f


@pytest.mark.parametrize("make", COPIES.values(), ids=COPIES)
def test_a_copy_leaves_the_array_alone(make):
    assert np.array_equal(fd.grad(changed(make))(X), 2 * X)


@pytest.mark.parametrize("make", ITSELF.values(), ids=ITSELF)
def test_what_is_the_array_itself_changes_it(make):
    assert np.array_equal(fd.grad(changed(make))(X), 2 * (X + 1))
    assert changed(make)(X.copy()) == np.sum((X + 1) ** 2)  # as NumPy does
