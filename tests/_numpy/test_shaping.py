"""Shape, joining, splitting, rearranging, creating and choosing against NumPy."""

import numpy as np
import pytest

import functad as fd

X = np.array([[0.5, -1.5, 2.0, 0.75], [3.0, 0.25, 1.0, -2.0], [1.25, 2.5, -0.5, 0.1]])
V = X[0]
CUBE = np.sin(np.arange(24.0)).reshape(2, 3, 4)
A = np.linspace(-1, 1, 12).reshape(3, 4)

CALLS = {
    "reshape": (X, lambda x: np.reshape(x, (2, -1))),
    "reshape method": (X, lambda x: x.reshape(4, 3)),
    "reshape tuple": (X, lambda x: x.reshape((2, 3, -1))),
    "reshape F": (X, lambda x: np.reshape(x, (4, 3), order="F")),
    "ravel": (X, lambda x: x.ravel()),
    "ravel F": (X, lambda x: np.ravel(x, order="F")),
    "flatten": (X, lambda x: x.flatten("F")),
    "transpose": (CUBE, lambda x: np.transpose(x, (-1, 0, 1))),
    "transpose method": (CUBE, lambda x: x.transpose(2, 0, 1)),
    "T": (CUBE, lambda x: x.T),
    "mT": (CUBE, lambda x: x.mT),
    "permute_dims": (CUBE, lambda x: np.permute_dims(x, (1, 0, 2))),
    "swapaxes": (CUBE, lambda x: x.swapaxes(0, -1)),
    "moveaxis": (CUBE, lambda x: np.moveaxis(x, 0, -1)),
    "moveaxis many": (CUBE, lambda x: np.moveaxis(x, [0, 1], [-1, 0])),
    "rollaxis": (CUBE, lambda x: np.rollaxis(x, 2)),
    "rollaxis start": (CUBE, lambda x: np.rollaxis(x, 0, -1)),
    "expand_dims": (X, lambda x: np.expand_dims(x, (0, -1))),
    "squeeze": (X[None, :, None], lambda x: np.squeeze(x, axis=(0, 2))),
    "squeeze all": (X[None, :, None], lambda x: x.squeeze()),
    "broadcast_to": (V, lambda x: np.broadcast_to(x, (2, 3, 4))),
    "broadcast_arrays": (V, lambda x: np.broadcast_arrays(x, A)),
    "concatenate": (X, lambda x: np.concatenate([x, A, 2 * x], axis=1)),
    "concatenate None": (X, lambda x: np.concatenate((x, A), axis=None)),
    "concatenate of array": (CUBE, lambda x: np.concatenate(x)),
    "concat": (X, lambda x: np.concat([x, x], axis=-1)),
    "stack": (X, lambda x: np.stack([x, A], axis=-1)),
    "stack mixed": (V, lambda x: np.stack([x[0], 1.0, x[2]])),
    "vstack": (X, lambda x: np.vstack([x, V])),
    "hstack": (X, lambda x: np.hstack([x, A])),
    "hstack 1d": (V, lambda x: np.hstack([x, 3.0, x])),
    "dstack": (X, lambda x: np.dstack([x, A])),
    "column_stack": (V, lambda x: np.column_stack([x, V])),
    "append": (X, lambda x: np.append(x, [1.0, 2.0])),
    "append axis": (X, lambda x: np.append(x, A, axis=0)),
    "atleast_1d": (V[0], lambda x: np.atleast_1d(x)),
    "atleast_2d": (V, lambda x: np.atleast_2d(x)),
    "atleast_3d": (X, lambda x: np.atleast_3d(x)),
    "split": (X, lambda x: np.split(x, 2, axis=1)),
    "split points": (X, lambda x: np.split(x, [1, 3], axis=1)),
    "array_split": (X, lambda x: np.array_split(x, 3, axis=1)),
    "hsplit": (X, lambda x: np.hsplit(x, [2])),
    "vsplit": (X, lambda x: np.vsplit(x, 3)),
    "tile": (X, lambda x: np.tile(x, (2, 1, 3))),
    "tile number": (X, lambda x: np.tile(x, 2)),
    "repeat": (X, lambda x: np.repeat(x, 3)),
    "repeat axis": (X, lambda x: x.repeat(2, axis=-1)),
    "repeat each": (X, lambda x: np.repeat(x, [2, 0, 3], axis=0)),
    "roll": (X, lambda x: np.roll(x, 5)),
    "roll tuple": (X, lambda x: np.roll(x, (1, -2), axis=(0, 1))),
    "flip": (X, lambda x: np.flip(x)),
    "flip axis": (X, lambda x: np.flip(x, axis=1)),
    "fliplr": (X, lambda x: np.fliplr(x)),
    "flipud": (X, lambda x: np.flipud(x)),
    "rot90": (X, lambda x: np.rot90(x)),
    "rot90 twice": (X, lambda x: np.rot90(x, 2)),
    "rot90 axes": (CUBE, lambda x: np.rot90(x, -1, axes=(1, 2))),
    "pad": (X, lambda x: np.pad(x, 1)),
    "pad pairs": (X, lambda x: np.pad(x, ((1, 0), (0, 2)), constant_values=3.0)),
    "pad sides": (X, lambda x: np.pad(x, ((1, 2), (0, 2)), constant_values=((1.0, 2.0), (3.0, 4.0)))),
    "pad traced value": (V, lambda x: np.pad(x, (1, 2), constant_values=x[1])),
    "pad edge": (X, lambda x: np.pad(x, 2, mode="edge")),
    "pad reflect": (X, lambda x: np.pad(x, ((1, 1), (2, 6)), mode="reflect")),
    "pad symmetric": (X, lambda x: np.pad(x, 3, "symmetric")),
    "pad wrap": (X, lambda x: np.pad(x, ((0, 4), (5, 1)), mode="wrap")),
    "diff": (X, lambda x: np.diff(x)),
    "diff n": (X, lambda x: np.diff(x, n=2, axis=0)),
    "diff ends": (X, lambda x: np.diff(x, axis=1, prepend=0.0, append=A[:, :1])),
    "ediff1d": (X, lambda x: np.ediff1d(x, to_begin=1.0)),
    "diag": (V, lambda x: np.diag(x)),
    "diag up": (V, lambda x: np.diag(x, 2)),
    "diag down": (V, lambda x: np.diag(x, -1)),
    "diag of matrix": (X, lambda x: np.diag(x, 1)),
    "diag below": (X, lambda x: np.diag(x, -2)),
    "diagonal": (CUBE, lambda x: np.diagonal(x, 1, 2, 0)),
    "diagflat": (X, lambda x: np.diagflat(x)),
    "tril": (X, lambda x: np.tril(x, 1)),
    "triu": (CUBE, lambda x: np.triu(x, -1)),
    "tril of vector": (V, lambda x: np.tril(x)),
    "compress": (X, lambda x: np.compress([True, False, True], x, axis=0)),
    "take": (X, lambda x: np.take(x, [5, -1, 5])),
    "take axis": (X, lambda x: x.take([[0, -1], [2, 2]], axis=1)),
    "take wrap": (X, lambda x: np.take(x, [7, -6], axis=1, mode="wrap")),
    "take clip": (X, lambda x: np.take(x, [7, -6], axis=1, mode="clip")),
    "take number": (X, lambda x: np.take(x, 1, axis=0)),
    "take_along_axis": (X, lambda x: np.take_along_axis(x, np.array([[0, -1], [1, 1], [2, 0]]), axis=1)),
    "take_along_axis argsort": (X, lambda x: np.take_along_axis(x, np.argsort(x, axis=0), axis=0)),
    "delete": (X, lambda x: np.delete(x, [0, -1], axis=1)),
    "insert": (V, lambda x: np.insert(x, 1, 9.0)),
    "insert many": (V, lambda x: np.insert(x, [1, 3], x[:2])),
    "insert row": (X, lambda x: np.insert(x, 1, V, axis=0)),
    "insert column": (X, lambda x: np.insert(x, [2], A[:, :1], axis=1)),
    "choose": (V, lambda x: np.choose(np.array([0, 1, 1, 0]), [x, 2 * x])),
    "sort": (X, lambda x: np.sort(x, axis=0)),
    "sort None": (X, lambda x: np.sort(x, axis=None)),
    "argsort": (X, lambda x: np.argsort(x)),
    "searchsorted": (V, lambda x: np.searchsorted(np.array([-1.0, 0.0, 0.6]), x, side="right")),
    "digitize": (V, lambda x: np.digitize(x, np.array([2.0, 0.6, 0.0]))),
    "isin": (V, lambda x: np.isin(x, [2.0, -1.5])),
    "where": (X, lambda x: np.where(x > 0, x, 2 * A)),
    "where number": (X, lambda x: np.where(A > 0, x, 0)),
    "select": (X + 0.01, lambda x: np.select([x > 1, x > 0], [x**2, 3 * x], default=-1.0)),
    "piecewise": (V, lambda x: np.piecewise(x, [x < 0, x >= 0], [lambda t: t**2, 2.0])),
    "clip": (X, lambda x: np.clip(x, -1, 1.5)),
    "clip method": (X, lambda x: x.clip(max=1.2)),
    "clip keywords": (X, lambda x: np.clip(x, min=A, max=None)),
    "nan_to_num": (X, lambda x: np.nan_to_num(x)),
    "round": (X + 0.01, lambda x: np.round(x, 1)),
    "round builtin": (V[1] + 0.1, lambda x: np.round(x)),
    "copy": (X, lambda x: x.copy() * np.copy(x)),
    "astype": (X, lambda x: x.astype(complex)),
    "real": (X, lambda x: np.real(x * (1 + 2j))),
    "imag": (X, lambda x: (x * (1 + 2j)).imag),
    "angle": (X, lambda x: np.angle(x + 1j, deg=True)),
    "conj": (X, lambda x: (x * 1j).conj().imag),
    "zeros_like": (X, lambda x: np.zeros_like(x) + x),
    "ones_like": (X, lambda x: np.ones_like(x, shape=(4,)) * x),
    "full_like": (X, lambda x: np.full_like(x, x[0, 0])),
    "linspace": (V[0], lambda x: np.linspace(x, 3 * x, 5)),
    "linspace arrays": (V, lambda x: np.linspace(x, A, 4, endpoint=False, axis=-1)),
    "linspace step": (V, lambda x: np.linspace(0.0, x, 3, retstep=True)),
    "logspace": (V[0], lambda x: np.logspace(0.0, x, 4, base=2.0)),
    "meshgrid": (V, lambda x: np.meshgrid(x, V[:2])),
    "meshgrid ij": (V, lambda x: np.meshgrid(x, x, indexing="ij", sparse=True)),
    "bincount": (V, lambda x: np.bincount(np.array([0, 2, 2, 1]), weights=x, minlength=5)),
    "object array": (V, lambda x: np.array([x[0] * x[1], 2.0, x[2]]) * 1.0),
    "object matrix": (V, lambda x: np.array([[x[0], x[1] ** 2], [0.0, x[3]]]) + np.zeros((2, 2))),
    "list operand": (V, lambda x: x * [1.0, 2.0, 3.0, 4.0]),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_call(agrees, name):
    x, function = CALLS[name]
    agrees(function, np.asarray(x), mapped=name not in ("clip keywords",))


INTERPOLATIONS = {
    "x": (np.array([0.3, 1.7, -1.0, 4.0]), lambda x: np.interp(x, [0.0, 1.0, 3.0], [1.0, -2.0, 5.0])),
    "fp": (np.array([1.0, -2.0, 5.0]), lambda f: np.interp([0.3, 1.7, -1.0, 4.0, 1.0, 3.0], [0.0, 1.0, 3.0], f)),
    "xp": (np.array([0.0, 1.0, 3.0]), lambda p: np.interp([0.3, 1.7, -1.0, 4.0], p, [1.0, -2.0, 5.0])),
    "ends": (np.array([-1.0, 0.5, 7.0]), lambda x: np.interp(x, [0.0, 1.0, 3.0], [1.0, -2.0, 5.0], left=-9.0, right=9.0)),
    "period": (np.array([-181.0, 5.0, 363.0]), lambda x: np.interp(x, [190.0, -190.0, 350.0, -350.0], [5.0, 10.0, 3.0, 4.0], period=360)),
    "one": (np.array([0.3, 1.7]), lambda x: np.interp(x, [1.0], [2.0]) + x),
}


@pytest.mark.parametrize("name", INTERPOLATIONS)
def test_interp(agrees, name):
    x, function = INTERPOLATIONS[name]
    agrees(function, x, mapped=name not in ("xp",))


def test_interp_on_its_samples_is_exact():
    points, values = np.sort(np.random.default_rng(1).normal(size=20)), np.random.default_rng(2).normal(size=20)
    np.testing.assert_array_equal(fd.vjp(lambda x: np.interp(x, points, values), points)[0], values)


@pytest.mark.parametrize("dtype", [np.bool_, np.int16, np.float32, np.complex64])
def test_dtypes_stay(dtype):
    x = np.array([[1, 0], [1, 1]]).astype(dtype)

    def all_of(i):
        y = x + 0 * i.astype(dtype) if dtype != np.bool_ else x & (i > -1)
        return np.concatenate([y, y]), np.stack([y, y]), np.where(y != 0, y, y), np.zeros_like(y), y.reshape(4), np.tile(y, 2), np.pad(y, 1)

    for got in fd.vmap(all_of)(np.arange(2.0)):
        assert got.dtype == np.dtype(dtype)


def test_plain_answers():
    seen = []

    def f(x):
        seen.extend(
            [np.shape(x), np.ndim(x), np.size(x), np.size(x, 1), np.iscomplexobj(x), np.result_type(x, np.float32), x.nbytes, x.strides, len(x)]
        )
        return np.sum(x)

    fd.grad(f)(X)
    assert seen == [(3, 4), 2, 12, 4, False, np.float64, 96, (32, 8), 3]


def test_unique_and_nonzero_ask_for_values():
    x = np.array([3.0, 1.0, 3.0, 2.0, 0.0])

    def f(x):
        values, index, inverse, counts = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
        np.testing.assert_array_equal(counts.tolist(), [1, 1, 1, 2])
        assert [int(i) for i in index] == [4, 1, 3, 0]
        return np.sum(values**2) + np.sum(x[np.nonzero(x)]) + np.sum(values[inverse])

    np.testing.assert_allclose(fd.grad(f)(x), [6 + 1 + 2, 2 + 1 + 1, 1, 4 + 1 + 1, 1])


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda x: np.pad(x, 1, mode="mean"), "mode"),
        (lambda x: np.pad(x, 1, mode="reflect", reflect_type="odd"), "reflect_type"),
        (lambda x: np.concatenate([x, x], out=np.zeros((6, 4))), "out"),
        (lambda x: np.clip(x, 0, 1, out=np.zeros((3, 4))), "out"),
        (lambda x: np.copyto(x, 0.0), "np.where"),
    ],
)
def test_refusals(call, match):
    with pytest.raises(fd.errors.FunctadError, match=match):
        fd.vjp(call, X)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.reshape(5, 5), lambda x: np.split(x, 3, axis=1), lambda x: np.stack([x, x[0]]), lambda x: np.squeeze(x, 0),
        lambda x: np.concatenate([x, x[0]]), lambda x: np.broadcast_to(x, (3, 5)), lambda x: np.vsplit(x[0], 2),
    ],
)  # fmt: skip
def test_what_numpy_refuses_is_a_value_error(call):
    with pytest.raises(ValueError):
        call(X)
    with pytest.raises(ValueError):
        fd.vjp(call, X)
