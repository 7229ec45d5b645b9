"""Plain arrays indexed by traced whole numbers and booleans: table look-ups and splines as people write them."""

import numpy as np
import pytest

import functad as fd
import functad.numpy as fnp
from functad.testing import check_grads

KNOTS, LEVELS = np.linspace(0.0, 1.0, 6), np.arange(6.0) ** 2


def interpolated(x):
    i = np.clip(np.searchsorted(KNOTS, x) - 1, 0, 4)
    share = (x - KNOTS[i]) / (KNOTS[i + 1] - KNOTS[i])
    return np.sum(LEVELS[i] * (1 - share) + LEVELS[i + 1] * share)


def test_a_table_is_looked_up_at_traced_places():
    x = np.array([0.1, 0.35, 0.77])
    np.testing.assert_allclose(fd.grad(interpolated)(x), [5.0, 15.0, 35.0], rtol=1e-13)
    check_grads(interpolated, (x,), order=2)
    np.testing.assert_allclose(fd.grad(interpolated)(x[::-1]), [35.0, 15.0, 5.0], rtol=1e-13)  # the same program, other places


@pytest.mark.parametrize(
    "lookup",
    [
        lambda y, x: y[x.astype(int)],
        lambda y, x: y[x > 0.3],
        lambda y, x: y[np.argsort(x)][:2],
        lambda y, x: y[np.argmax(x)],
        lambda y, x: y[[np.argmax(x), 0]],
        lambda y, x: y[np.argmax(x) :],
        lambda y, x: y[np.array([np.argmax(x), 1])],
        lambda y, x: np.asarray(np.floor(x).astype(int), dtype=float),
        lambda y, x: np.array(x > 0.3),
    ],
)
def test_whole_numbers_and_booleans_convert_where_their_value_is_known(lookup):
    x = np.array([0.1, 0.35, 0.77, 0.2, 0.3, 0.4])
    f = lambda x: np.sum(lookup(LEVELS, x)) * x[0]
    np.testing.assert_array_equal(fd.grad(f)(x), [np.sum(lookup(LEVELS, x)), 0, 0, 0, 0, 0])
    np.testing.assert_array_equal(fd.jvp(f, (x,), (np.ones(6),))[1], np.sum(lookup(LEVELS, x)))


def test_what_was_looked_up_is_never_stale():
    f = lambda x: LEVELS[np.argmax(x)] * np.sum(x)
    slopes = [fd.grad(f)(np.roll(np.array([1.0, 0.0, 0.0]), k))[0] for k in (0, 1, 2, 0, 2, 1)]
    assert slopes == [0.0, 1.0, 4.0, 0.0, 4.0, 1.0]


def test_a_converted_array_is_a_copy():
    def f(x):
        i = np.argsort(x)
        plain = np.asarray(i)
        plain[:] = 0
        return x[i][0]

    np.testing.assert_array_equal(fd.grad(f)(np.array([3.0, 1.0, 2.0])), [0.0, 1.0, 0.0])


@pytest.mark.parametrize("transform", [fd.jit, lambda f: lambda x: fd.vmap(f)(x[None])])
@pytest.mark.parametrize("index", [lambda x: np.argsort(x), lambda x: x > 0.3, lambda x: x.astype(int)])
def test_without_a_single_value_the_cure_is_named(transform, index):
    x = np.array([0.1, 0.35, 0.77, 0.2, 0.3, 0.4])
    with pytest.raises(fd.errors.TracedIndexError, match=r"functad\.numpy\.take\(y, i\)"):
        transform(lambda x: np.sum(LEVELS[index(x)]))(x)
    with pytest.raises(IndexError, match="test_plain_lookups"):
        transform(fd.grad(lambda x: np.sum(LEVELS[index(x)] * x[0])))(x)


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda x: fd.scan(lambda total, i: (total + LEVELS[i] * x, None), 0.0, np.arange(2))[0], "the body of scan"),
        (lambda x: fd.cond(x > 0, lambda y: LEVELS[y.astype(int)] * y, lambda y: y, x), "a branch of cond"),
        (lambda x: fd.while_loop(lambda y: LEVELS[y.astype(int)] > 9, lambda y: y, x) * x, "the condition of while_loop"),
    ],
)
@pytest.mark.parametrize("transform", [lambda f: f, fd.value_and_grad, fd.jit])
def test_the_cure_is_named_inside_of_control_flow(transform, function, reason):
    with pytest.raises(fd.errors.TracedIndexError, match=rf"(?s){reason}.*functad\.numpy\.take\(y, i\).*test_plain_lookups"):
        transform(function)(np.float64(0.5))


def test_the_cure_works():
    x = np.array([0.1, 0.35, 0.77, 0.2, 0.3, 0.4])
    f = lambda x: fnp.take(LEVELS, np.argsort(x), mode="clip") @ x
    np.testing.assert_array_equal(fd.jit(fd.grad(f))(x), LEVELS[np.argsort(x)])
    np.testing.assert_array_equal(fd.vmap(fd.grad(f))(x[None])[0], LEVELS[np.argsort(x)])
    assert fnp.take(LEVELS, 2) == 4.0


def test_a_wrong_index_stays_numpys_own_error():
    with pytest.raises(IndexError, match="only integers") as caught:
        fd.grad(lambda x: LEVELS["a"] * x)(1.0)
    assert not isinstance(caught.value, fd.errors.FunctadError)
