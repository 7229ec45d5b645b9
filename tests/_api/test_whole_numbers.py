"""Whole numbers: those that may not fit a narrow dtype are refused, and a whole-number output has no gradient."""

import numpy as np
import pytest

import functad as fd
from functad.errors import NonScalarOutputError, UnsupportedArgumentError

NARROW = np.arange(3, dtype=np.int8)


def test_a_literal_that_does_not_fit_is_refused_at_each_call():
    f = lambda n: fd.jit(lambda a: a + n)(NARROW)
    np.testing.assert_array_equal(f(5), NARROW + 5)
    with pytest.raises(OverflowError):
        f(300)


def test_a_traced_integer_that_may_not_fit_is_refused():
    for call in (lambda n: fd.jit(lambda a, n: a + n)(NARROW, n), lambda n: fd.grad(lambda s, n: np.sum(s * (NARROW + n)))(1.0, n)):
        with pytest.raises(UnsupportedArgumentError, match="static argument"):
            call(300)
        assert call(np.int8(3)) is not None


def test_a_whole_number_has_no_gradient():
    with pytest.raises(NonScalarOutputError, match="int64"):
        fd.grad(np.argmax)(np.ones(3))


def test_modules_are_there_when_asked_for():
    assert fd.numpy.array([1.0]) == 1.0
    with pytest.raises(AttributeError, match="nothing"):
        _ = fd.nothing
