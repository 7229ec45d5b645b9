"""Errors: one class a mistake, the builtin that a NumPy user expects, a message with the cure, the user's file and line; and state is restored."""

import _thread
import inspect
import linecache
import math
import statistics
import threading

import numpy as np
import pytest

import functad as fd
from functad import errors
from functad._core.recorder import CURRENT

X = np.array([1.0, 2.0, 3.0])
KEPT = []


def non_scalar_output():
    fd.grad(np.sin)(X)  # here


def non_scalar_matrix():
    fd.value_and_grad(lambda x: np.outer(x, x))(X)  # here


def complex_output():
    fd.grad(lambda x: x * 1j)(2.0)  # here


def no_number_returned():
    fd.grad(lambda x: "text")(2.0)  # here


def integer_array():
    fd.grad(lambda x: np.sum(x**2))(np.array([1, 2, 3]))  # here


def boolean_array():
    fd.jacobian(lambda x: x)(np.array([True, False]))  # here


def integer_primal_of_vjp():
    fd.vjp(np.sum, np.array([1, 2]))  # here


def integer_leaf():
    fd.grad(lambda p: np.sum(p["n"] * 1.0))({"n": np.array([1, 2])})  # here


def float_of_a_traced_value():
    def f(x):
        return float(x) * 2  # here

    fd.grad(f)(3.0)


def complex_of_a_traced_value():
    def f(x):
        return complex(x).real  # here

    fd.grad(f)(3.0)


def math_function():
    def f(x):
        return math.sin(x)  # here

    fd.grad(f)(3.0)


def array_with_a_dtype():
    def f(x):
        return np.sum(np.array([x, x], dtype=float))  # here

    fd.grad(f)(3.0)


def condition_under_jit():
    def f(x):
        return x if x > 0 else -x  # here

    fd.jit(f)(3.0)


def loop_under_jit():
    def f(x):
        while x > 1.0:  # here
            x = x / 2
        return x

    fd.jit(f)(3.0)


def condition_under_vmap():
    def f(x):
        return x if x > 0 else -x  # here

    fd.vmap(f)(X)


def int_under_jit():
    def f(x):
        return x * int(x)  # here

    fd.jit(f)(3.0)


def condition_on_an_array():
    def f(x):
        return np.sum(x) if x > 0 else 0.0  # here

    fd.grad(f)(X)


def escaped_tracer():
    fd.grad(lambda x: (KEPT.append(x), x * x)[1])(3.0)
    KEPT.pop() + 1.0  # here


def escaped_tracer_in_another_trace():
    fd.grad(lambda x: (KEPT.append(x), x * x)[1])(3.0)
    old = KEPT.pop()
    fd.grad(lambda x: x * old)(3.0)  # here


def unsupported_function():
    def f(x):
        return np.packbits(x)  # here

    fd.grad(f)(X)


def unsupported_argument():
    def f(x):
        return np.sum(np.sin(x, casting="unsafe"))  # here

    fd.grad(f)(X)


def unsupported_out():
    def f(x):
        return np.sum(np.add(x, 1.0, out=np.zeros(3)))  # here

    fd.grad(f)(X)


def writing_into_a_plain_array():
    def f(x):
        y = np.zeros(3)
        y[0] = x  # here
        return np.sum(y)

    fd.grad(f)(3.0)


def writing_into_a_large_captured_array():
    buffer = np.ones(20_000)

    def f(x):
        y = np.sum(buffer * x)
        buffer[0] = 7.0
        return y

    fd.grad(f)(3.0)  # here


def cotangent_of_another_tree():
    fd.vjp(lambda x: {"a": x}, X)[1](X)  # here


def cotangent_of_another_shape():
    fd.vjp(np.sin, X)[1](np.ones(2))  # here


def complex_cotangent_of_a_real_output():
    fd.vjp(np.sin, X)[1](np.ones(3) * 1j)  # here


def tangent_of_another_shape():
    fd.jvp(np.sin, (X,), (np.ones(2),))  # here


def tangents_of_another_number():
    fd.jvp(np.sin, (X,), (X, X))  # here


def primals_not_in_a_tuple():
    fd.jvp(np.sin, X, X)  # here


def not_linear():
    fd.linear_transpose(np.sin, X)(X)  # here


def axes_of_another_number():
    fd.vmap(np.add, in_axes=(0,))(X, X)  # here


def mapped_sizes_that_differ():
    fd.vmap(np.add)(X, X[:2])  # here


def axis_that_does_not_exist():
    fd.vmap(np.sin, in_axes=1)(X)  # here


def no_mapped_argument():
    fd.vmap(np.sin, in_axes=None)(X)  # here


def argnums_beyond_the_arguments():
    fd.grad(np.sin, argnums=1)(3.0)  # here


def not_a_function():
    fd.grad(3.0)  # here


def aux_without_a_pair():
    fd.grad(lambda x: x, has_aux=True)(3.0)  # here


def unhashable_static():
    fd.jit(lambda x, n: x, static_argnums=1)(3.0, [1])  # here


def masked_array():
    fd.grad(np.sum)(np.ma.masked_array(X, mask=[0, 1, 0]))  # here


def array_of_strings():
    fd.jit(lambda x: x)(np.array(["a"]))  # here


def operands_that_do_not_broadcast():
    def f(x):
        return np.sum(x + np.ones(2))  # here

    fd.grad(f)(X)


def reshape_to_another_size():
    def f(x):
        return np.sum(x.reshape(2, 2))  # here

    fd.grad(f)(X)


def index_out_of_bounds():
    def f(x):
        return x[5]  # here

    fd.grad(f)(X)


# function -> (class, builtin, words that the message has: what was found, and the cure)
TABLE = {
    non_scalar_output: (errors.NonScalarOutputError, TypeError, ["(3,)", "np.sum", "vjp", "jacobian"]),
    non_scalar_matrix: (errors.NonScalarOutputError, TypeError, ["(3, 3)", "np.sum"]),
    complex_output: (errors.NonScalarOutputError, TypeError, ["complex"]),
    no_number_returned: (errors.NonScalarOutputError, TypeError, []),
    integer_array: (errors.IntegerInputError, TypeError, ["int64", "astype(float)", "argnums"]),
    boolean_array: (errors.IntegerInputError, TypeError, ["bool"]),
    integer_primal_of_vjp: (errors.IntegerInputError, TypeError, ["int64", "vjp"]),
    integer_leaf: (errors.IntegerInputError, TypeError, ["int64"]),
    float_of_a_traced_value: (errors.ConversionError, TypeError, ["float(", "derivative"]),
    complex_of_a_traced_value: (errors.ConversionError, TypeError, ["complex("]),
    math_function: (errors.ConversionError, TypeError, ["np."]),
    array_with_a_dtype: (errors.ConversionError, TypeError, ["functad.numpy"]),
    condition_under_jit: (errors.NoValueError, TypeError, ["jit", "np.where", "cond"]),
    loop_under_jit: (errors.NoValueError, TypeError, ["jit"]),
    condition_under_vmap: (errors.NoValueError, TypeError, ["vmap", "np.where", "cond"]),
    int_under_jit: (errors.NoValueError, TypeError, ["jit"]),
    condition_on_an_array: (None, ValueError, ["any()"]),
    escaped_tracer: (errors.EscapedTracerError, RuntimeError, ["Return it"]),
    escaped_tracer_in_another_trace: (errors.EscapedTracerError, RuntimeError, []),
    unsupported_function: (errors.UnsupportedFunctionError, TypeError, ["np.packbits", "spell it with", "2**np.arange(8)"]),
    unsupported_argument: (errors.UnsupportedArgumentError, TypeError, ["casting"]),
    unsupported_out: (errors.MutationError, TypeError, ["out=", "z = z + x"]),
    writing_into_a_plain_array: (errors.FunctadError, TypeError, ["np.stack", "np.concatenate", "np.where"]),
    writing_into_a_large_captured_array: (errors.MutationError, TypeError, ["copy()"]),
    cotangent_of_another_tree: (errors.TreeMismatchError, ValueError, ["cotangent", "a"]),
    cotangent_of_another_shape: (errors.ShapeMismatchError, ValueError, ["(2,)", "(3,)"]),
    complex_cotangent_of_a_real_output: (errors.ShapeMismatchError, ValueError, ["complex128", "float64"]),
    tangent_of_another_shape: (errors.ShapeMismatchError, ValueError, ["(2,)", "(3,)"]),
    tangents_of_another_number: (errors.TreeMismatchError, ValueError, ["2", "1"]),
    primals_not_in_a_tuple: (errors.TreeMismatchError, ValueError, ["jvp(f, (x,), (t,))"]),
    not_linear: (errors.MissingRuleError, NotImplementedError, ["linear"]),
    axes_of_another_number: (errors.TreeMismatchError, ValueError, ["in_axes"]),
    mapped_sizes_that_differ: (errors.ShapeMismatchError, ValueError, ["3", "2"]),
    axis_that_does_not_exist: (errors.ShapeMismatchError, ValueError, ["axis 1", "(3,)"]),
    no_mapped_argument: (errors.ShapeMismatchError, ValueError, ["in_axes"]),
    argnums_beyond_the_arguments: (errors.UnsupportedArgumentError, TypeError, ["argnums"]),
    not_a_function: (errors.UnsupportedArgumentError, TypeError, ["3.0"]),
    aux_without_a_pair: (errors.FunctadError, TypeError, ["pair"]),
    unhashable_static: (errors.UnsupportedArgumentError, TypeError, ["hashable"]),
    masked_array: (errors.UnsupportedArgumentError, TypeError, ["np.asarray"]),
    array_of_strings: (errors.UnsupportedArgumentError, TypeError, ["astype"]),
    operands_that_do_not_broadcast: (errors.ShapeMismatchError, ValueError, ["(3,)", "(2,)"]),
    reshape_to_another_size: (None, ValueError, ["(2, 2)"]),
    index_out_of_bounds: (None, IndexError, ["5", "3"]),
}


@pytest.mark.parametrize("mistake", TABLE, ids=lambda f: f.__name__)
def test_mistake_raises_its_class_with_a_cure_and_a_place(mistake):
    kind, builtin, words = TABLE[mistake]
    KEPT.clear()
    with pytest.raises(builtin) as caught:
        mistake()
    text = str(caught.value)
    for word in words:
        assert word in text
    if kind is None:  # NumPy's own class
        return
    assert isinstance(caught.value, kind)
    assert isinstance(caught.value, errors.FunctadError)
    assert caught.value.location is not None
    assert caught.value.location in text
    file, line = caught.value.location.rsplit(":", 1)
    assert file == __file__
    assert "# here" in linecache.getline(file, int(line)), f"points to line {line}: {linecache.getline(file, int(line)).strip()}"
    assert len(text.split("\n")) < 12


@pytest.mark.parametrize("mistake", TABLE, ids=lambda f: f.__name__)
def test_the_next_trace_works_after_a_mistake(mistake):
    KEPT.clear()
    with pytest.raises(TABLE[mistake][1]):
        mistake()
    assert CURRENT.get() is None
    assert fd.grad(lambda x: x**2)(3.0) == 6.0
    assert fd.grad(lambda x: fd.grad(lambda y: x * y**2)(x))(3.0) == 12.0


def test_an_error_of_the_users_own_passes_unchanged_and_restores_the_state():
    class Own(Exception):
        pass

    def fails(x):
        raise Own("mine")

    for call in (
        lambda: fd.grad(fails)(1.0),
        lambda: fd.jit(fails)(1.0),
        lambda: fd.vmap(fails)(X),
        lambda: fd.grad(lambda x: fd.grad(fails)(x))(1.0),
        lambda: fd.jit(fd.vmap(fd.grad(fails)))(X),
    ):
        with pytest.raises(Own, match="mine"):
            call()
        assert CURRENT.get() is None
    assert fd.grad(np.sin)(0.0) == 1.0


def test_an_error_in_an_inner_trace_leaves_the_outer_one_usable():
    def f(x):
        with pytest.raises(errors.NonScalarOutputError):
            fd.grad(np.sin)(np.ones(2) * x)
        return x**2

    assert fd.grad(f)(3.0) == 6.0


def test_every_class_derives_from_functaderror_and_a_builtin():
    for name in errors.__all__:
        kind = getattr(errors, name)
        assert issubclass(kind, errors.FunctadError)
        if kind is not errors.FunctadError:
            assert any(base.__module__ == "builtins" for base in kind.__mro__[1:] if base not in (Exception, BaseException, object))
            assert "Examples" in inspect.getdoc(kind)


def test_missing_rule_names_the_operation_and_the_reason():
    def f(x):
        return fd.while_loop(lambda c: c < 10.0, lambda c: c * 2.0, x)

    with pytest.raises(errors.MissingRuleError, match="while_loop"):
        fd.grad(f)(1.0)


def test_a_kernel_failure_shows_the_source(monkeypatch):
    from functad._compile import pipeline

    def broken(*_):
        raise errors.KernelError("numba says no")

    monkeypatch.setattr(pipeline, "compile_kernel", broken)
    with pytest.raises(errors.KernelError, match=r"(?s)numba says no.*def kernel.*evaluator"):
        fd.jit(lambda x: np.sin(x) * 1.2345 + np.cos(x) ** 3 - np.tanh(x) / 7.0)(np.ones((2, 3, 1)))


def test_assertions_of_numpy_testing_compare_values_inside_of_functions():
    x = np.array([1.0, 2.0])

    def f(x, wrong=0.0):
        np.testing.assert_allclose(x, [1.0, 2.0 + wrong])
        np.testing.assert_array_equal(2 * x, x + x)
        np.testing.assert_almost_equal(x[0], 1.0)
        return np.sum(x**2)

    np.testing.assert_array_equal(fd.grad(f)(x), 2 * x)
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        fd.grad(lambda x: f(x, 1.0))(x)


def test_an_error_names_the_users_line_not_the_librarys():
    with pytest.raises(fd.errors.UnsupportedFunctionError, match=r"np\.mean.*\n.*test_errors\.py") as caught:
        fd.grad(lambda x: statistics.mean(x))(np.array([1.0, 2.0]))
    assert "statistics.py" not in str(caught.value)
    assert not fd.errors.is_users(statistics.__file__)
    assert fd.errors.is_users(__file__)
    assert not fd.errors.is_users(np.linalg.__file__)


def test_a_line_without_a_file_is_no_line():
    """As in an interactive session: the only frame there is has no file.  A thread without `threading` has no other, and no coverage."""
    found, done = [], threading.Event()
    code = compile("found.append(errors.user_line()); done.set()", "<typed>", "exec")
    _thread.start_new_thread(exec, (code, {"found": found, "done": done, "errors": errors}))
    assert done.wait(10)
    assert found == [None]
