"""Arguments of NumPy's signatures: honoured, refused by name, or refused as NumPy refuses them; never ignored."""

import numpy as np
import pytest

import functad as fd

X = np.array([[0.5, -1.5, 2.0, 0.75], [3.0, 0.25, 1.0, -2.0], [1.25, 2.5, -0.5, 0.1]])
SINGLE = X.astype(np.float32)

HONOURED = {
    "conjugate dtype": lambda x: np.conjugate(x, dtype=np.complex128),
    "concatenate empty list": lambda x: np.concatenate([x[0], []]),
    "hstack empty list": lambda x: np.hstack([x[0], [], 1.0]),
    "pad dict": lambda x: np.pad(x, ((1, 2), (0, 0))) if type(x) is np.ndarray else np.pad(x, {0: (1, 2)}),
    "pad dict negative axis": lambda x: np.pad(x, ((0, 0), (2, 2))) if type(x) is np.ndarray else np.pad(x, {-1: 2}),
    "stack dtype": lambda x: np.stack([x, 2 * x], axis=-1, dtype=np.complex128),
    "einsum dtype": lambda x: np.einsum("ij,ij->i", x, x, dtype=complex),
    "zeros_like 1-d order": lambda x: np.zeros_like(x[0], order="F") + x[0],
    "matmul as it is": lambda x: np.matmul(x.T, x, order="K", casting="same_kind"),
    "linspace device": lambda x: np.linspace(x[0, 0], 2.0, 4, device="cpu"),
}


@pytest.mark.parametrize("name", HONOURED)
def test_honoured(agrees, name):
    agrees(HONOURED[name], X)


def test_conjugate_of_a_real_array_takes_the_dtype():
    assert fd.jit(lambda x: np.conjugate(x, dtype=np.float32))(X).dtype == np.float32


REFUSED = {
    "order": [
        lambda x: np.sin(x, order="F"), lambda x: np.copy(x, order="F"), lambda x: x.copy("F"), lambda x: np.zeros_like(x, order="F"),
        lambda x: np.ones_like(x, order="F"), lambda x: np.full_like(x, 1.0, order="F"), lambda x: x.astype(np.float32, order="F"),
        lambda x: np.ravel(x, order="K"), lambda x: np.reshape(x, (4, 3), order="A"),
    ],
    "device": [
        lambda x: np.zeros_like(x, device="gpu"), lambda x: np.full_like(x, x[0], device="gpu"), lambda x: np.linspace(x[0], 2.0, 3, device="gpu"),
        lambda x: np.astype(x, np.float32, device="gpu"),
    ],
    "copy": [lambda x: np.nan_to_num(x, copy=False), lambda x: np.reshape(x.T, (2, 6), copy=False), lambda x: x.T.reshape(2, 6, copy=False)],
    "dtype": [
        lambda x: np.sum(x, dtype=np.float16), lambda x: np.prod(x, dtype=np.longdouble), lambda x: np.cumsum(x, dtype=np.float16),
        lambda x: np.mean(x, dtype=np.float16), lambda x: np.var(x, dtype=complex), lambda x: np.std(x, dtype=np.int64),
        lambda x: np.concatenate([x, x], dtype=np.float16), lambda x: np.zeros_like(x, dtype=np.float16), lambda x: x.astype(np.float16),
    ],
    "ddof": [lambda x: np.var(x, ddof=x[0, 0]), lambda x: np.std(x, ddof=x[0, 0])],
    "like": [lambda x: np.array([1.0, 2.0], like=x), lambda x: np.full(3, 1.0, like=x), lambda x: np.asarray([1.0], like=x)],
    "casting": [lambda x: np.add(x, SINGLE, casting="no"), lambda x: np.einsum("ij->i", x, casting="unsafe")],
    "subok": [lambda x: np.add(x, 1.0, subok=False)],
    "signature": [lambda x: np.sqrt(x * x, signature="d->d")],
    "axes": [lambda x: np.matmul(x.T, x, axes=[(-2, -1), (-2, -1), (-2, -1)])],
    "where": [lambda x: np.clip(x, 0.0, 1.0, where=x > 0)],
    "hermitian": [lambda x: np.linalg.svd(x[:, :3], hermitian=True)],
    "mode": [lambda x: np.pad(x, 1, mode="mean", stat_length=2), lambda x: np.pad(x, 1, mode="linear_ramp", end_values=2)],
    "base": [lambda x: np.logspace(x[0, 0], 2.0, 3, base=x[0])],
    "decimals": [lambda x: np.round(x > 0, 1), lambda x: np.round(np.floor(x).astype(int), -1)],
    "axis": [lambda x: np.unique(x, axis=0)],
    "weights": [lambda x: np.quantile(x, 0.5, weights=x)],
    "choices": [lambda x: np.choose(np.array([0, 1, 0, 1]), x)],
    "reflect_type": [lambda x: np.pad(x, 1, mode="reflect", reflect_type="odd")],
}  # fmt: skip


@pytest.mark.parametrize(("name", "call"), [(name, call) for name, calls in REFUSED.items() for call in calls])
def test_refused_by_name(name, call):
    with pytest.raises(fd.errors.UnsupportedArgumentError, match=name):
        fd.vjp(call, X)


AS_NUMPY = {
    "join of two dtypes, no casts": lambda x: np.concatenate([x, SINGLE], casting="no"),
    "stack of two dtypes, no casts": lambda x: np.stack([x, SINGLE], casting="no"),
    "vstack of two dtypes, no casts": lambda x: np.vstack([x, SINGLE], casting="no"),
    "unknown casting": lambda x: np.concatenate([x, x], casting="any"),
    "unknown order": lambda x: np.zeros_like(x, order="Q"),
    "unknown order of a copy": lambda x: x.copy("Q"),
    "einsum that would lose digits": lambda x: np.einsum("ij->i", x, dtype=np.float32),
    "sort asked for twice": lambda x: np.sort(x, kind="stable", stable=True),
    "clip with both spellings": lambda x: np.clip(x, 0.0, 1.0, max=2.0),
    "clip with one bound": lambda x: np.clip(x, 0.0),
    "complex places of interp": lambda x: np.interp(x + 1j, [0.0, 1.0], [1.0, 2.0]),
    "keyword of another mode": lambda x: np.pad(x, 1, mode="edge", constant_values=3.0),
    "statistics of a constant": lambda x: np.pad(x, 1, stat_length=3),
}


@pytest.mark.parametrize("name", AS_NUMPY)
def test_refused_as_numpy_does(name):
    with pytest.raises((TypeError, ValueError)) as expected:
        AS_NUMPY[name](X)
    with pytest.raises(expected.type):
        fd.vjp(AS_NUMPY[name], X)
