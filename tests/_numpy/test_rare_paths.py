"""Arguments that are rarely given: the answer is NumPy's, and what NumPy refuses is refused with an error of the same class."""

import numpy as np
import pytest

import functad as fd

X = np.array([[1.0, -2.0, np.nan], [0.5, np.inf, 3.0]])
Z = np.array([1.0 + 2.0j, 3.0 - 0.5j])


class _Place:
    def __index__(self):
        return 1


class _Places:
    def __array__(self, dtype=None, copy=None):
        return np.array([1, 0, 1])


VALUES = {
    "isclose equal_nan": lambda x: np.isclose(x, x, equal_nan=True),
    "array_equal equal_nan": lambda x: np.array_equal(x, x, equal_nan=True),
    "array_equal of other shapes": lambda x: np.array_equal(x, x[0]),
    "array_equiv": lambda x: np.array_equiv(x, x[0]),
    "array_equiv of other shapes": lambda x: np.array_equiv(x, x[:, :2]),
    "isposinf": np.isposinf,
    "isneginf": np.isneginf,
    "isposinf of integers": lambda x: np.isposinf(np.floor(x[:, 0]).astype(int)),
    "isreal": np.isreal,
    "iscomplex": np.iscomplex,
    "linspace of integers": lambda x: np.linspace(x[0, 0], x[1, 2], 4, dtype=int),
    "nan_to_num of integers": lambda x: np.nan_to_num(np.floor(x[:, 0]).astype(int)),
    "round of integers": lambda x: np.round(np.floor(x[:, 0]).astype(int), 2),
    "angle": lambda x: np.angle(x[:, :2]),
    "tile": lambda x: np.tile(x, (1, 1)),
    "rot90 by no turn": lambda x: np.rot90(x, 4),
    "diff of order 0": lambda x: np.diff(x, 0),
    "pad with a pair": lambda x: np.pad(x, 1, constant_values=(1.0, 2.0)),
    "pad with an array": lambda x: np.pad(x, 1, constant_values=np.array([[1.0, 2.0], [3.0, 4.0]])),
    "diag of nothing": lambda x: np.diag(x[0, :0], 1),
    "compress of all": lambda x: np.compress([True, False, True], x),
    "average without weights": lambda x: np.average(x, axis=0, returned=True),
    "max of nothing with initial": lambda x: np.max(x[:, :0], axis=1, initial=2.0),
    "max of nothing with keepdims": lambda x: np.max(x[:, :0], axis=1, initial=2.0, keepdims=True),
    "max of booleans": lambda x: np.max(x > 0),
    "min of booleans": lambda x: np.min(x > 0),
    "argmax of booleans": lambda x: np.argmax(x > 0),
    "partition": lambda x: np.partition(x[:, 0], 1),
    "argpartition": lambda x: np.argpartition(x[:, 0], 1),
    "searchsorted with sorter": lambda x: np.searchsorted(x[1, ::-1], x[0, :1], sorter=np.array([2, 1, 0])),
    "digitize among traced bins": lambda x: np.digitize(np.array([0.75]), x[:, 0][::-1]),
    "digitize among falling bins": lambda x: np.digitize(x[:, 0], np.array([2.0, 0.75, 0.0])),
    "isin nothing": lambda x: np.isin(x, []),
    "isin nothing, inverted": lambda x: np.isin(x, [], invert=True),
    "nanargmin": lambda x: np.nanargmin(x),
    "nancumprod": np.nancumprod,
    "nansum where": lambda x: np.nansum(x[:, :1], where=np.array([[True], [False]])),
    "nanmean of integers": lambda x: np.nanmean(np.floor(x[:, 0]).astype(int)),
    "nanmax of integers": lambda x: np.nanmax(np.floor(x[:, 0]).astype(int)),
    "choose wrap": lambda x: np.choose(np.array([0, 3]), [x[:, 0], 2 * x[:, 0]], mode="wrap"),
    "take_along_axis flat": lambda x: np.take_along_axis(x, np.array([1, 0]), None),
    "take at booleans": lambda x: np.take(x, np.array([True, False])),
    "take of an empty list": lambda x: np.take(x, []),
    "take of nothing": lambda x: np.take(x, np.zeros(0, int)),
    "argwhere": lambda x: np.argwhere(x > 0),
    "repeat a traced number of times": lambda x: np.repeat(x[:, 0], np.floor(x[0, 0]).astype(int)),
    "ufunc where": lambda x: np.sqrt(x[:, :1], where=np.array([[True], [True]]), out=None),
    "isnan of integers": lambda x: np.isnan(np.floor(x[:, 0]).astype(int)),
    "power of an array scalar": lambda x: x[:, :1] ** np.float64(3.0),
    "power of infinity": lambda x: np.abs(x[:, :1]) ** np.inf,
    "index with a constant": lambda x: x[np.zeros_like(x[:, 0], dtype=int)],
    "index with numpy's slice": lambda x: x[np.int64(0) : np.int64(1)],
    "trapezoid over points of each row": lambda x: np.trapezoid(x[:, :1], x[:, :1]),
    "einsum of booleans": lambda x: np.einsum("ij->i", x > 0),
    "fmod without keywords": lambda x: np.fmod(x[:, 0], 0.75),
    "where with a condition alone": lambda x: np.where(x > 0),
    "astype": lambda x: np.astype(x, np.float32) if hasattr(np, "astype") else x.astype(np.float32),
    "real_if_close": np.real_if_close,
    "cumulative_sum": lambda x: np.cumulative_sum(x, axis=1),
    "unstack": lambda x: np.unstack(x, axis=-1) if hasattr(np, "unstack") else (x[:, 0], x[:, 1], x[:, 2]),
    "nanmean where": lambda x: np.nanmean(x[:, :1], where=np.array([[True], [False]])),
    "pinv of nothing": lambda x: np.linalg.pinv(x[:, :0]),
    "matrix_rank of nothing": lambda x: np.linalg.matrix_rank(x[:, :0]),
    "index with one condition": lambda x: x[x[0, 0] > 0.0],
    "index with one condition that fails": lambda x: x[x[0, 0] < 0.0],
    "index with what counts as one": lambda x: x[_Place()],
    "index with what is like an array": lambda x: x[_Places()],
    "format": lambda x: float(f"{x[0, 0]:.3f}") * x,
    "transpose of what is filled": lambda x: np.moveaxis(np.full_like(x, 2.0), 0, 1) * x.T,
    "tolist": lambda x: x[0, 0].tolist(),
}


@pytest.mark.parametrize("f", VALUES.values(), ids=VALUES)
def test_the_answer_is_numpys(f):
    with np.errstate(all="ignore"):
        found, expected = fd.vjp(f, X)[0], f(X)
    for a, b in zip(fd.tree.flatten(found)[0], fd.tree.flatten(expected)[0], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-14)
        assert np.asarray(a).dtype == np.asarray(b).dtype


COMPLEX = {
    "isreal": np.isreal,
    "iscomplex": np.iscomplex,
    "nan_to_num": np.nan_to_num,
    "round": lambda z: np.round(z, 1),
    "rows": lambda z: np.stack(list(z)),
}


@pytest.mark.parametrize("f", COMPLEX.values(), ids=COMPLEX)
def test_the_answer_on_complex_numbers_is_numpys(f):
    np.testing.assert_array_equal(fd.jit(f)(Z), f(Z))


def test_what_complex_numbers_have_none_of():
    for call, text in ((np.real_if_close, "np.real"), (np.argmax, "order"), (np.argmin, "order"), (np.median, "order")):
        with pytest.raises(fd.errors.UnsupportedArgumentError, match=text):
            fd.jit(call)(Z)


def test_the_median_of_nothing_is_nan():
    found = fd.jit(lambda x: np.median(x, axis=0))(np.zeros((0, 3)))
    assert found.shape == (3,)
    assert np.isnan(found).all()


def test_a_number_without_a_value_is_formatted_as_what_it_is():
    seen = []
    fd.jit(lambda x: (seen.append(f"{x:.3f}"), x)[1])(1.5)
    assert seen == ["Tracer(weak f8[])"]


def test_an_operator_in_place_keeps_the_dtype():
    def f(x):
        y = x * 1
        y += np.array([0.25, 0.5])
        return y

    x = np.array([1.0, 2.0], np.float32)
    found = fd.jit(f)(x)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, f(x))


def test_arrays_of_objects():
    """What NumPy made of traced values, in order or not; plain numbers among them; and what has no place there."""

    def shuffled(x):
        a, b, c = x
        return np.sum(np.array([c, a, b]) * np.array([1.0, 2.0, 3.0]))

    def mixed(x):
        a, b, c = x
        return np.sum(np.array([a, 4.0, c]) * np.array([1.0, 2.0, 3.0])) + b

    def prefix(x):
        a, b, _ = x
        return np.sum(np.array([a, b]) * np.array([10.0, 1.0]))

    def objects(x):
        return np.sum(x * np.array([1.0, 2.0, 3.0], dtype=object))

    def taken_apart(x, order):
        return np.sum(np.asarray(x)[order] * np.exp(x[: len(order)]))

    x = np.array([1.0, -2.0, 0.5])
    for order in ([0, 1, 2], [2, 0, 1], [0, 1]):
        value, gradient = fd.value_and_grad(taken_apart)(x, order)
        n, weights = len(order), np.zeros(3)
        weights[order] = np.exp(x[:n])
        assert value == pytest.approx(taken_apart(x, order), rel=1e-15)
        np.testing.assert_allclose(gradient, weights + np.pad(x[order] * np.exp(x[:n]), (0, 3 - n)), rtol=1e-15)
    for f, slope in ((shuffled, [2, 3, 1]), (mixed, [1, 1, 3]), (prefix, [10, 1, 0]), (objects, [1, 2, 3])):
        value, gradient = fd.value_and_grad(f)(x)
        assert value == f(x)
        np.testing.assert_array_equal(gradient, slope)
    for wrong, text in (
        (lambda x: np.sum(x * np.array([x[0], "a", None], dtype=object)), "str"),
        (lambda x: x * np.array([None, x[0], x], dtype=object), "NoneType|traced arrays"),
    ):
        with pytest.raises(fd.errors.UnsupportedArgumentError, match=text):
            fd.grad(wrong)(x)

    def nested(x):
        held = np.empty(2, object)
        held[:] = [x[:2], x[1:]]
        return np.sum(held + x[0])

    with pytest.raises(fd.errors.UnsupportedArgumentError, match="holds traced arrays"):
        fd.grad(nested)(x)


REFUSED = {
    "linspace": lambda x: np.linspace(x[0, 0], 1.0, -1),
    "where with one branch": lambda x: np.where(x > 0, x),
    "select of unequal lengths": lambda x: np.select([x > 0], [x, x]),
    "select without booleans": lambda x: np.select([x], [x]),
    "piecewise": lambda x: np.piecewise(x, [x > 0], [1.0, 2.0, 3.0]),
    "astype": lambda x: x.astype(int, casting="safe"),
    "interp of matrices": lambda x: np.interp(0.5, x, x),
    "interp of unequal lengths": lambda x: np.interp(0.5, x[0], x[0, :2]),
    "interp of nothing": lambda x: np.interp(0.5, x[0, :0], x[0, :0]),
    "gradient of one": lambda x: np.gradient(x[0, :1]),
    "gradient with many spacings": lambda x: np.gradient(x, 1.0, 1.0, 1.0),
    "gradient of order 3": lambda x: np.gradient(x[0], edge_order=3),
    "matrix_transpose": lambda x: np.matrix_transpose(x[0]),
    "linalg.matrix_transpose": lambda x: np.linalg.matrix_transpose(x[0]),
    "linalg.cross": lambda x: np.linalg.cross(x[:, :2], x[:, :2]),
    "trace of one axis": lambda x: np.trace(x, 0, 1, 1),
    "multi_dot of stacks": lambda x: np.linalg.multi_dot([x, x[:, :, None], x]),
    "solve": lambda x: np.linalg.solve(x[:, :2], x[0, 0]),
    "pinv": lambda x: np.linalg.pinv(x, 1e-3, rtol=1e-3),
    "matrix_rank": lambda x: np.linalg.matrix_rank(x, 1e-3, rtol=1e-3),
    "lstsq of stacks": lambda x: np.linalg.lstsq(x[None], x),
    "lstsq": lambda x: np.linalg.lstsq(x, x[0]),
    "tensorsolve": lambda x: np.linalg.tensorsolve(x, x[0, 0]),
    "tensorinv": lambda x: np.linalg.tensorinv(x, 0),
    "matrix_power": lambda x: np.linalg.matrix_power(x[:, :2], 0.5),
    "eigh": lambda x: np.linalg.eigh(x[:, :2], "X"),
    "cond of nothing": lambda x: np.linalg.cond(x[:0]),
    "einsum of 53 subscripts": lambda x: np.einsum(*[v for k in (0, 18, 36) for v in (np.ones((1,) * 18), [*range(k, k + 18)])], x[:, :1], [0, 1]),
    "median of complex numbers": lambda x: np.median(x, method=1) if type(x) is np.ndarray else np.median(x + 1j),
    "sort by fields": lambda x: np.sort(x, order="name"),
    "stack of no rows": lambda x: np.stack(x[:0]),
    "concatenate of no rows": lambda x: np.concatenate(x[:0]),
    "linspace to None": lambda x: np.linspace(x[0, 0], None, 3),
    "where of a ragged list": lambda x: np.where(x > 0, [x[0], x[0, :2]], 1.0),
    "roll by a matrix": lambda x: np.roll(x, [[1]], 0),
    "take at plain halves": lambda x: np.take(x, np.array([0.5])),
    "take_along_axis at plain halves": lambda x: np.take_along_axis(x, np.array([[0.5], [0.5]]), 1),
    "take_along_axis at halves": lambda x: np.take_along_axis(x, x, 1),
    "take_along_axis at booleans": lambda x: np.take_along_axis(x, x > 0, 1),
    "index with plain floats": lambda x: x[np.array([0.5])],
    "einsum of nothing": lambda x: np.einsum("ij"),
    "array_split": lambda x: np.array_split(x, 0),
    "reshape to two unknown": lambda x: np.reshape(x, (-1, -1)),
    "reshape": lambda x: np.reshape(x, (-1, 4)),
    "reshape in an order": lambda x: np.reshape(x, 6, order="X"),
    "transpose": lambda x: np.transpose(x, (0,)),
    "moveaxis": lambda x: np.moveaxis(x, (0, 1), 0),
    "rollaxis": lambda x: np.rollaxis(x, 0, 5),
    "meshgrid": lambda x: np.meshgrid(x[0], indexing="zz"),
    "stack of nothing": lambda x: np.stack([x[0], x[0, :2]]),
    "concatenate of numbers": lambda x: np.concatenate([x[0, 0], x[0, 0]]),
    "repeat": lambda x: np.repeat(x, -1),
    "roll": lambda x: np.roll(x, [[1]], [[0]]),
    "flipud": lambda x: np.flipud(x[0, 0]),
    "fliplr": lambda x: np.fliplr(x[0]),
    "rot90": lambda x: np.rot90(x, 1, (0, 0)),
    "pad by a half": lambda x: np.pad(x, 0.5),
    "pad by less than nothing": lambda x: np.pad(x, -1),
    "diff of a negative order": lambda x: np.diff(x, -1),
    "diff of a number": lambda x: np.diff(x[0, 0]),
    "diagonal": lambda x: np.diagonal(x[0]),
    "diag": lambda x: np.diag(x[0, 0]),
    "var": lambda x: np.var(x, ddof=1, correction=1),
    "average": lambda x: np.average(x, weights=x[0]),
    "average along an axis": lambda x: np.average(x, axis=0, weights=x[0]),
    "max with where": lambda x: np.max(x, where=x > 0),
    "cumulative_sum": lambda x: np.cumulative_sum(x),
    "sort of a kind": lambda x: np.sort(x, kind="bubble"),
    "quantile": lambda x: np.quantile(x, 1.5),
    "percentile": lambda x: np.percentile(x, 150),
    "quantile of NaN": lambda x: np.quantile(x, np.nan),
    "quantile of booleans": lambda x: np.quantile(x > 0, 1.5) if type(x) is not np.ndarray else np.quantile(x, 1.5),
    "searchsorted among rows": lambda x: np.searchsorted(x, 0.5),
    "searchsorted on a side": lambda x: np.searchsorted(x[0], 0.5, side="middle"),
    "take in a mode": lambda x: np.take(x, 0, mode="mirror"),
    "take_along_axis": lambda x: np.take_along_axis(x, np.array([0]), 0),
    "take at halves": lambda x: np.take(x, x),
    "nonzero of a number": lambda x: np.nonzero(x[0, 0]),
    "bincount of a matrix": lambda x: np.bincount(np.floor(x[:, :1]).astype(int)),
    "bincount of negative ones": lambda x: np.bincount(np.array([-1]), weights=x[:1, 0]),
    "item": lambda x: x.item(),
    "int": lambda x: int(x),
    "index": lambda x: [1, 2][x[0, 0]],
    "del": lambda x: x.__delitem__(0),
    "index with a float": lambda x: x[0.5],
    "index with floats": lambda x: x[x],
    "index with a list of floats": lambda x: x[[0.5]],
    "a ufunc of too few": lambda x: np.add(x),
    "integers to negative powers": lambda x: np.floor(x[:, 0]).astype(int) ** -1,
}


@pytest.mark.parametrize("f", REFUSED.values(), ids=REFUSED)
def test_numpys_refusals_are_ours(f):
    with np.errstate(all="ignore"):
        try:
            f(X)
        except Exception as error:
            kind = next(k for k in (IndexError, TypeError, ValueError) if isinstance(error, k))
        else:
            pytest.fail("NumPy does not refuse it")
        with pytest.raises((kind, fd.errors.FunctadError)):
            fd.vjp(f, X)


@pytest.mark.parametrize("name", ["sum", "mean", "var", "max", "argmax", "cumsum", "median", "clip", "trace", "isposinf"])
def test_out_is_refused_by_name(name):
    def f(x):
        return getattr(np, name)(x, *([0.0, 1.0] if name == "clip" else []), out=np.zeros(()))

    with pytest.raises(fd.errors.MutationError, match=rf"np\.{name}\(\.\.\., out="):
        fd.grad(f)(X)


def test_out_is_refused_by_position():
    with pytest.raises(fd.errors.MutationError):
        fd.grad(lambda x: np.dot(x, x, np.zeros(())))(np.ones(2))
