"""Threads, processes and pickles: right values from many threads at once, after fork, and from a pickled transform."""

import os
import pickle
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import functad as fd

THREADS = 8


def together(function, count=THREADS, repeat=20):
    """Results of function(i) from `count` threads that start at the same moment, each `repeat` times."""
    barrier = threading.Barrier(count)

    def run(i):
        barrier.wait(timeout=60)
        return [function(i) for _ in range(repeat)]

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, range(count)))


def loss(x, k):
    return np.sum(np.sin(x * k) ** 2 + np.exp(-x))


def loss_gradient(x, k):
    return 2 * k * np.sin(x * k) * np.cos(x * k) - np.exp(-x)


def test_gradients_from_many_threads():
    x = np.linspace(0.1, 1.0, 7)
    for i, found in enumerate(together(lambda i: fd.grad(loss)(x + i, 1.0 + i))):
        for g in found:
            np.testing.assert_allclose(g, loss_gradient(x + i, 1.0 + i), rtol=1e-12)


def test_one_jitted_function_from_many_threads_with_other_shapes_each():
    step = fd.jit(fd.value_and_grad(loss))
    for i, found in enumerate(together(lambda i: step(np.linspace(0.1, 1.0, 3 + i), 2.0))):
        x = np.linspace(0.1, 1.0, 3 + i)
        for value, g in found:
            assert value == pytest.approx(loss(x, 2.0), rel=1e-13)
            np.testing.assert_allclose(g, loss_gradient(x, 2.0), rtol=1e-12)


def test_the_first_call_of_a_jitted_function_from_many_threads_at_once():
    x = np.linspace(0.1, 1.0, 5)
    step = fd.jit(lambda x: np.sum(np.cosh(x) * np.arctan(x)))
    for found in together(lambda i: step(x), repeat=1):
        assert found[0] == pytest.approx(np.sum(np.cosh(x) * np.arctan(x)), rel=1e-13)


def test_nested_transforms_from_many_threads():
    f = lambda x: x**4
    for i, found in enumerate(together(lambda i: fd.grad(lambda x: fd.grad(fd.grad(f))(x) * i)(2.0), repeat=10)):
        assert found == [48.0 * i] * 10  # 24 x i


def test_control_flow_of_one_thread_is_not_anothers():
    def f(x):
        while x < 100.0:
            x = x * 2.0
        return x

    expected = [fd.grad(f)(float(i + 1)) for i in range(THREADS)]
    for i, found in enumerate(together(lambda i: fd.grad(f)(float(i + 1)))):
        assert found == [expected[i]] * 20


def test_one_pullback_from_many_threads():
    x = np.linspace(0.1, 1.0, 50)
    _, pullback = fd.vjp(lambda x: np.sin(x) * x, x)
    d = np.cos(x) * x + np.sin(x)
    for i, found in enumerate(together(lambda i: pullback(np.full(50, float(i)))[0])):
        for g in found:
            np.testing.assert_allclose(g, i * d, rtol=1e-12)


def test_a_traced_value_of_another_thread_is_refused():
    caught = []

    def f(x):
        def other():
            try:
                x + 1.0
            except fd.errors.EscapedTracerError as error:
                caught.append(error)

        thread = threading.Thread(target=other)
        thread.start()
        thread.join(60)
        return x * 2.0

    assert fd.grad(f)(1.0) == 2.0
    assert len(caught) == 1


def test_an_evaluator_pinned_in_one_thread_is_not_pinned_in_another():
    from functad._compile import pipeline

    with fd.evaluator("numpy"):
        found = together(lambda i: pipeline._PINNED.get(), repeat=1)
    assert found == [[None]] * THREADS


FORK = """
import os, sys
import numpy as np
import functad as fd

x = np.linspace(0.1, 1.0, 5)
step = fd.jit(fd.grad(lambda x: np.sum(np.sin(x) ** 2)))
before = step(x)
child = os.fork()
if child == 0:
    same = np.array_equal(step(x), before)
    other = np.allclose(fd.jit(lambda x: np.exp(x) * 3.0)(x), np.exp(x) * 3.0)
    traced = fd.grad(lambda x: x ** 3)(2.0) == 12.0
    os._exit(0 if same and other and traced else 1)
_, status = os.waitpid(child, 0)
sys.exit(os.waitstatus_to_exitcode(status))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform has no fork")
def test_a_forked_process_goes_on():
    done = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


SPAWN = """
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
import numpy as np
import functad as fd

if __name__ == "__main__":
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        for transformed in (fd.grad(np.sum), fd.jit(fd.grad(np.sum))):
            assert np.array_equal(pool.submit(transformed, np.zeros(3)).result(), np.ones(3))
"""


def test_a_spawned_process_takes_transformed_functions(tmp_path):
    script = tmp_path / "spawning.py"
    script.write_text(SPAWN, encoding="utf-8")
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_a_kernel_lets_other_threads_run():
    """Python counts on while a kernel of many steps runs: it could not if the kernel held the interpreter's lock."""
    f = fd.jit(lambda x, ts: fd.scan(lambda c, t: (np.sin(c) + t, None), x, ts)[0])
    ts = np.zeros(5_000_000)
    f(0.5, ts[:2])
    worker = threading.Thread(target=f, args=(0.5, ts))
    worker.start()
    counted = 0
    while worker.is_alive():
        counted += 1
    worker.join()
    assert counted > 1000


# ---- pickles: of functions of this module, which pickle by name


def cubic(x):
    return np.sum(x**3)


def shifted(x, shift=0.0):
    return x + shift


TRANSFORMED = {
    "grad": (fd.grad(cubic), 3 * np.arange(3.0) ** 2),
    "value_and_grad": (fd.value_and_grad(cubic), None),
    "jacobian": (fd.jacobian(shifted), np.eye(3)),
    "hessian": (fd.hessian(cubic), np.diag(6 * np.arange(3.0))),
    "jit": (fd.jit(cubic), 9.0),
    "jit of grad": (fd.jit(fd.grad(cubic)), 3 * np.arange(3.0) ** 2),
    "vmap": (fd.vmap(np.sin), np.sin(np.arange(3.0))),
}


@pytest.mark.parametrize("name", TRANSFORMED)
def test_a_transformed_function_pickles(name):
    transformed, expected = TRANSFORMED[name]
    x = np.arange(3.0)
    before = transformed(x)  # what it has learnt does not pickle, and need not
    copy = pickle.loads(pickle.dumps(transformed))
    after = copy(x)
    if expected is not None:
        np.testing.assert_allclose(after, expected, rtol=1e-14, atol=1e-300)
    for a, b in zip(fd.tree.flatten(before)[0], fd.tree.flatten(after)[0], strict=True):
        np.testing.assert_array_equal(a, b)


def test_types_and_primitives_pickle_to_themselves():
    from functad._core.primitive import REGISTRY
    from functad._core.types import array_type

    kind = array_type((2, 3), "float32")
    assert pickle.loads(pickle.dumps(kind)) is kind
    assert pickle.loads(pickle.dumps(REGISTRY["sin"])) is REGISTRY["sin"]
