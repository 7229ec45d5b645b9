"""What a traced value is to Python: numbers, truth, iteration, writing, in-place operators."""

import math

import numpy as np
import pytest

import functad as fd

X = np.array([1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    ("call", "cure"),
    [
        (lambda x: float(x[0]), "stop_gradient"), (lambda x: math.sin(x[0]), r"np\.sin"), (lambda x: complex(x[0]), "stop_gradient"),
        (lambda x: np.array(x, dtype=float), "np.stack"), (lambda x: np.asarray(x, dtype=np.float32), "astype"),
    ],
)  # fmt: skip
def test_conversions_that_would_cut_a_derivative(call, cure):
    with pytest.raises(fd.errors.ConversionError, match=cure):
        fd.grad(call)(X)


def test_large_arrays_do_not_become_objects():
    with pytest.raises(fd.errors.ConversionError, match=r"np\.concatenate"):
        fd.grad(lambda x: np.sum(np.array(x)))(np.ones(1000))


def test_questions_are_answered():
    def f(x):
        assert int(x[1]) == 2
        assert bool(x[0])
        assert not (x[0] > 5)
        assert math.floor(x[2]) == 3
        assert list(range(3))[np.argmax(x)] == 2
        assert float(np.argmax(x)) == 2.0
        assert 2.0 in x
        assert 7.0 not in x
        total = 0.0
        while total < 4:
            total = total + x[1]
        return total

    np.testing.assert_array_equal(fd.grad(f)(X), [0, 2, 0])


def test_truth_of_arrays_is_numpys_error():
    with pytest.raises(ValueError, match="ambiguous"):
        fd.grad(lambda x: x[0] if x > 1 else x[1])(X)
    with pytest.raises(ValueError, match="ambiguous"):
        fd.grad(lambda x: x[0] if x[:0] else x[1])(X)


def test_iteration_and_unpacking():
    np.testing.assert_array_equal(fd.grad(lambda x: sum(t**2 for t in x))(X), 2 * X)

    def f(x):
        a, b, c = x
        return a * b * c

    np.testing.assert_array_equal(fd.grad(f)(X), [6, 3, 2])
    np.testing.assert_array_equal(fd.grad(lambda m: sum(np.sum(row) * i for i, row in enumerate(m)))(np.ones((3, 2))), [[0, 0], [1, 1], [2, 2]])
    np.testing.assert_array_equal(fd.grad(lambda x: next(reversed(x)) * len(x))(X), [0, 0, 3])
    with pytest.raises(TypeError, match="0-d"):
        fd.grad(lambda x: sum(x))(1.0)
    with pytest.raises(TypeError, match="unsized"):
        fd.grad(lambda x: len(x) * x)(1.0)


def test_object_arrays_are_stacked():
    f = lambda x: np.array([x[0] * x[1], np.sin(x[2])])
    np.testing.assert_allclose(fd.jacobian(f)(X), [[2, 1, 0], [0, 0, np.cos(3.0)]])
    np.testing.assert_allclose(fd.grad(lambda x: np.sum(np.sin(np.array([x[0], x[1]]))))(X), [np.cos(1), np.cos(2), 0])
    np.testing.assert_allclose(fd.grad(lambda x: np.sum(np.asarray(x) ** 2))(X), 2 * X)
    np.testing.assert_allclose(fd.grad(lambda x: np.array([x[0], x[1]]) @ np.array([3.0, 4.0]))(X), [3, 4, 0])
    np.testing.assert_allclose(fd.grad(lambda x: np.sum(np.ones((2, 2)) @ np.array([x[0], x[1]])))(X), [2, 2, 0])


def test_an_array_taken_apart_is_recognised():
    program = fd.make_program(lambda x: x + np.array(x))(np.ones((2, 3)))
    assert "concatenate" not in repr(program)


def test_item_and_tolist_stay_traced():
    np.testing.assert_array_equal(fd.grad(lambda x: x[1:2].item() * x.item(0))(X), [2, 1, 0])
    np.testing.assert_array_equal(fd.grad(lambda x: x.reshape(3, 1).tolist()[1][0] ** 2)(X), [0, 4, 0])


def test_format_shows_the_value():
    seen = []
    fd.grad(lambda x: (seen.append(f"{x[1]:.3f}"), x[1])[1])(X)
    assert seen == ["2.000"]


def test_writing_is_refused_with_its_cure():
    def write(x):
        x[0] = 1.0
        return np.sum(x)

    with pytest.raises(fd.errors.MutationError, match=r"np\.where"):
        fd.grad(write)(X)


def _names(x):
    y = x * 1.0
    z = y
    y += x
    y *= 2
    y -= 1.0
    return np.sum(z)


def _in_a_loop(x):
    total = np.zeros_like(x)
    for i in range(3):
        total += x**i
    return np.sum(total)


def _argument(x):
    x /= 2.0
    x **= 2
    return np.sum(x)


def _copy(x):
    y = x.copy()
    z = +y
    y += 1.0
    return np.sum(y * z)


def _scalar(x):
    total = x[0]
    other = total
    total += x[1]
    return total * other


@pytest.mark.parametrize("function", [_names, _in_a_loop, _argument, _copy, _scalar])
def test_in_place_operators_change_every_name(function):
    h = 1e-6
    want = [(function(X + h * e) - function(X - h * e)) / (2 * h) for e in np.eye(3)]
    np.testing.assert_allclose(fd.grad(function)(X.copy()), want, rtol=1e-8)


def test_the_callers_array_is_not_written():
    x = X.copy()
    fd.grad(_argument)(x)
    np.testing.assert_array_equal(x, X)


def _of_view(x):
    y = x * 1.0
    z = y[1:]
    z += 1.0
    return np.sum(y)


def _with_view(x):
    y = (x * 1.0).reshape(3, 1)
    z = y.T
    y += 1.0
    return np.sum(z)


@pytest.mark.parametrize("function", [_of_view, _with_view])
def test_in_place_on_shared_memory_is_refused(function):
    with pytest.raises(fd.errors.MutationError, match="shares its memory"):
        fd.grad(function)(X)


def test_in_place_shapes_and_dtypes_as_numpy():
    def grows(x):
        y = x * 1.0
        y += np.ones((2, 3))
        return np.sum(y)

    with pytest.raises(ValueError, match="non-broadcastable"):
        fd.grad(grows)(X)

    def narrows(x):
        y = np.argsort(x)
        y += 0.5
        return np.sum(x)

    with pytest.raises(TypeError, match="same_kind"):
        fd.grad(narrows)(X)


def test_into_a_plain_array_is_refused():
    def f(x):
        y = np.zeros(3)
        y += x
        return np.sum(y)

    with pytest.raises(fd.errors.MutationError, match="z = z"):
        fd.grad(f)(X)


def test_getitem_is_quick():
    import time

    def f(x):
        for _ in range(300):
            x[1:]
            x[0]
            x[:-1]
        return np.sum(x)

    g = fd.grad(f)
    g(X)
    best = min(_timed(lambda: g(X), time.perf_counter) for _ in range(5))
    assert best / 900 < 10e-6  # about 0.6 us on a quiet machine


def _timed(call, clock):
    start = clock()
    call()
    return clock() - start
