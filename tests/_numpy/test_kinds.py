"""Questions about the kind of a traced value answer as they do for what the user gave: no branch is taken in silence."""

import copy
import functools
import numbers
import pickle

import numpy as np
import pytest

import functad as fd

GIVEN = {
    "array": np.array([1.0, 2.0]),
    "matrix32": np.ones((2, 2), np.float32),
    "complex array": np.array([1.0 + 2.0j]),
    "array without axes": np.array(2.0),
    "float": 2.0,
    "float64": np.float64(2.0),
    "float32": np.float32(2.0),
    "complex": 2.0 + 1.0j,
    "complex128": np.complex128(2.0 + 1.0j),
    "int": 2,
    "int64": np.int64(2),
    "bool": True,
    "integers": np.array([1, 2]),
}
CLASSES = (
    np.ndarray,
    np.generic,
    np.number,
    np.floating,
    np.integer,
    np.complexfloating,
    np.float64,
    np.float32,
    numbers.Number,
    numbers.Real,
    float,
    int,
)
QUESTIONS = {
    "isinstance": lambda x: [isinstance(x, c) for c in CLASSES],
    "isscalar": np.isscalar,
    "ndim": np.ndim,
    "shape": np.shape,
    "size": np.size,
    "isrealobj": np.isrealobj,
    "iscomplexobj": np.iscomplexobj,
    "result_type": np.result_type,
    "callable": callable,
    "iterable": np.iterable,
    "len": lambda x: len(x) if np.ndim(x) else "none",
    "hash": lambda x: hash(x) if np.isscalar(x) else "none",
    "match": lambda x: _matched(x),
    "dispatch": lambda x: _dispatched(x),
}


def _matched(x):
    match x:
        case np.ndarray():
            return "array"
        case float() | np.floating():
            return "float"
        case _:
            return "other"


@functools.singledispatch
def _dispatched(x):
    return "other"


_dispatched.register(np.ndarray, lambda x: "array")
_dispatched.register(numbers.Number, lambda x: "number")


def asked(question, x):
    """The answer for a traced argument."""
    seen = []
    fd.grad(lambda y, x: (seen.append(question(x)), y)[1])(1.0, x)
    return seen[0]


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)
@pytest.mark.parametrize("x", GIVEN.values(), ids=GIVEN)
def test_a_question_answers_as_for_what_was_given(question, x):
    assert asked(question, x) == question(x)


@pytest.mark.parametrize("transform", [fd.grad, lambda f: fd.jit(fd.grad(f)), lambda f: lambda x: fd.jvp(f, (x,), (np.ones_like(x),))[1]])
def test_no_other_branch_is_taken(transform):
    f = lambda x: np.sum(x**2 if isinstance(x, np.ndarray) else x)
    g = lambda x: x**2 if isinstance(x, float) else x
    np.testing.assert_array_equal(np.sum(transform(f)(np.array([3.0, 4.0]))), 14.0)
    assert transform(g)(3.0) == 6.0


def test_under_jit_a_number_is_a_number_and_an_array_is_an_array():
    """What a program is kept for says no more: there an array without axes counts as a NumPy scalar."""
    seen = []
    for x in (2.0, np.float32(2.0), np.ones(2), np.array(2.0)):
        fd.jit(lambda x: (seen.append((isinstance(x, np.ndarray), isinstance(x, float), isinstance(x, np.generic))), x)[1])(x)
    assert seen == [(False, True, False), (False, False, True), (True, False, False), (False, True, True)]


def test_a_row_of_a_mapped_array_is_an_array_and_an_element_is_a_number():
    kinds = []
    fd.vmap(lambda x: (kinds.append(isinstance(x, np.ndarray)), x)[1])(np.ones((2, 3)))
    fd.vmap(lambda x: (kinds.append(isinstance(x, np.floating)), x)[1])(np.ones(2))
    assert kinds == [True, True]


def test_computed_numbers_are_numpy_scalars_and_stay_what_they_were_after_a_question():
    def f(x):
        y = np.sum(x) * 2
        before = isinstance(y, np.float64), isinstance(y, np.ndarray)
        assert y > 0
        assert (isinstance(y, np.float64), isinstance(y, np.ndarray)) == before == (True, False)
        return y

    fd.grad(f)(np.ones(2))


def test_a_tracer_stays_recognisable_and_copies_keep_the_derivative():
    def f(x):
        assert isinstance(x, fd.Tracer)
        assert type(x) is fd.Tracer
        return np.sum(copy.copy(x) * copy.deepcopy({"a": x})["a"])

    np.testing.assert_array_equal(fd.grad(f)(np.array([1.0, 2.0])), [2.0, 4.0])


@pytest.mark.parametrize("x", [0.5, np.ones(2)])
def test_a_tracer_cannot_be_pickled(x):
    with pytest.raises(fd.errors.ConversionError, match="cannot be pickled"):
        fd.grad(lambda x: np.sum(pickle.loads(pickle.dumps(x))))(x)


def test_a_tracer_in_a_cache_is_named_as_such():
    @functools.cache
    def square(x):
        return x * x

    assert fd.grad(square)(2.0) == 4.0
    with pytest.raises(fd.errors.EscapedTracerError, match="a cache of functools"):
        fd.grad(square)(2.0)


def test_an_array_is_not_hashable_and_a_number_is_found_in_a_dict():
    table = {2: np.sin, 3: np.cos}
    assert fd.grad(lambda x, n: table[n](x))(0.5, 2) == np.cos(0.5)
    with pytest.raises(TypeError, match="unhashable"):
        fd.grad(lambda x: {x: 1}[x])(np.ones(2))
    with pytest.raises(fd.errors.NoValueError, match="static_argnums"):
        fd.jit(lambda x, n: table[n](x))(0.5, 2)


def test_a_traced_number_is_no_static_argument_by_its_value():
    power = fd.jit(lambda x, p: x**p, static_argnums=1)
    with pytest.raises(fd.errors.UnsupportedArgumentError, match="plain and hashable"):
        fd.grad(lambda x, p: power(x, p), argnums=(0, 1))(2.0, 3.0)


def test_an_array_without_axes_is_not_changed_under_one_of_its_names_alone():
    def f(x):
        y = x
        y += 1
        return x * y

    with pytest.raises(fd.errors.MutationError, match=r"x = x [+] y"):
        fd.value_and_grad(f)(np.array(2.0))
    assert fd.value_and_grad(f)(2.0) == (6.0, 5.0)
    assert fd.value_and_grad(f)(np.float64(2.0)) == (6.0, 5.0)
    np.testing.assert_array_equal(fd.value_and_grad(lambda x: f(x)[0])(np.array([2.0]))[1], [6.0])
