"""Kernels: what compiles, what is refused and how, lifetimes, threads, forks, and object code in another process."""

import gc
import linecache
import os
import subprocess
import sys
import textwrap
import threading
import traceback
import weakref

import numpy as np
import pytest

from functad._compile.building import direct, machine_code
from functad._compile.building import kernel as kernel_module
from functad._compile.building.kernel import Kernel, KernelError, compile_kernel, kernel_symbol, load_kernel

SCALE = "def scale(x, n, out):\n    for i in range(n):\n        out[i] = {factor} * x[i]\n    return 0\n"
ARGUMENTS = ["f8*", "i8", "f8*"]


def scale(factor):
    return compile_kernel(SCALE.format(factor=factor), "scale", ARGUMENTS)


def apply(kernel, x):
    out = np.empty_like(x)
    assert kernel.run([x.ctypes.data, x.size, out.ctypes.data]) == 0
    return out


def run_python(code, *arguments):
    """The code in a fresh process, which must end well; its output."""
    command = [sys.executable, "-c", textwrap.dedent(code), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("size", [0, 1, 7, 1000])
def test_a_kernel_computes(size):
    x = np.linspace(-1, 1, size)
    assert np.array_equal(apply(scale(3.0), x), 3.0 * x)


def test_a_kernel_says_what_it_is():
    kernel = scale(3.25)
    assert kernel.name == "scale"
    assert kernel.arguments == ("f8*", "i8", "f8*")
    assert "3.25" in kernel.source
    assert kernel.address > 0
    assert repr(kernel) == "<Kernel scale(f8*, i8, f8*)>"
    with pytest.raises(ValueError, match="takes 3 words"):
        kernel.run([1, 2])


KINDS = ["f8", "f4", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "c16", "c8"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_pointer(kind):
    source = "def copy(x, n, out):\n    for i in range(n):\n        out[n - 1 - i] = x[i]\n    return 0\n"
    kernel = compile_kernel(source, "copy", [f"{kind}*", "i8", f"{kind}*"])
    x = np.arange(5).astype(kind)
    assert np.array_equal(apply(kernel, x), x[::-1])


def test_many_arguments():
    count = 200
    names = ", ".join(f"x{k}" for k in range(count))
    source = f"def total({names}, n, out):\n    out[0] = {' + '.join(f'x{k}[n]' for k in range(count))}\n    return 0\n"
    kernel = compile_kernel(source, "total", ["f8*"] * count + ["i8", "f8*"])
    x, out = np.arange(2.0), np.zeros(1)
    assert kernel.run([x.ctypes.data] * count + [1, out.ctypes.data]) == 0
    assert out[0] == count


def test_the_status_comes_back():
    kernel = compile_kernel("def check(n):\n    if n > 3:\n        return 5\n    return 0\n", "check", ["i8"])
    assert [kernel.run([n]) for n in (3, 4)] == [0, 5]


def test_division_by_zero_is_numpys():
    kernel = compile_kernel("def divide(x, out):\n    out[0] = x[0] / x[1]\n    return 0\n", "divide", ["f8*", "f8*"])
    for x in (np.array([1.0, 0.0]), np.array([-1.0, 0.0]), np.array([0.0, 0.0])):
        out = np.empty(1)
        assert kernel.run([x.ctypes.data, out.ctypes.data]) == 0
        with np.errstate(all="ignore"):
            assert np.array_equal(out[0], x[0] / x[1], equal_nan=True)


def test_equal_sources_are_one_kernel():
    assert scale(4.0) is scale(4.0)
    assert scale(4.0) is not scale(5.0)


def test_a_kernel_nobody_holds_is_freed():
    kernel = scale(6.5)
    gone, filename = weakref.ref(kernel), f"<functad kernel scale {kernel.symbol[8:16]}>"
    assert linecache.getline(filename, 3).strip() == "out[i] = 6.5 * x[i]"
    del kernel
    gc.collect()
    assert gone() is None
    assert filename not in linecache.cache
    assert np.array_equal(apply(scale(6.5), np.ones(3)), np.full(3, 6.5))


EQUATIONS = {2: "equation 4 (frobnicate)"}


@pytest.mark.parametrize(
    ("line", "arguments", "message"),
    [
        ("out[0] = frobnicate_f8(x[0])", ["f8*", "f8*"], "there is no helper frobnicate_f8"),
        ("out[0] = x[0] +", ["f8*", "f8*"], "invalid syntax"),
        ("out[0] = sin_f8(x)", ["f8*", "f8*"], "Cannot cast"),
        ("out[0] = x[0].shape", ["f8*", "f8*"], "shape"),
        ("out[0] = x[0] + 'a'", ["f8*", "f8*"], r"No implementation .* add\(float64"),
    ],
)
def test_errors_show_the_line_and_the_equation(line, arguments, message):
    source = f"def kernel(x, out):\n    {line}\n    return 0\n"
    with pytest.raises(KernelError, match=message) as caught:
        compile_kernel(source, "kernel", arguments, EQUATIONS)
    text = str(caught.value)
    assert "equation 4 (frobnicate), generated line 2" in text
    assert line in text
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None or caught.value.__suppress_context__
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert all("numba" not in frame.filename for frame in frames)


def test_a_name_bound_on_no_path_is_an_error():
    with pytest.raises(KernelError, match="there is no helper y"):
        compile_kernel("def kernel(x):\n    x[0] = y\n    return 0\n", "kernel", ["f8*"])


AGREE = {
    "branches and loops": """
        for i in range(n):
            if x[i] > 0.5 and not (x[i] > 2.0) or i == 3:
                out[i] = x[i] if i % 2 == 0 else -x[i]
            elif x[i] < -1.0:
                out[i] = 7.0
                continue
            else:
                out[i] = 0.0
            out[i] += 1.0
            if i > 8:
                break
            out[i] *= 2.0
    """,
    "ranges": """
        for i in range(n):
            out[i] = 0.0
        for i in range(n - 1, -1, -2):
            out[i] = x[n - 1 - i]
        for i in range(1, n, 3):
            out[i] -= x[i]
        for start in range(0, n, 4):
            for i in range(start, min(start + 4, n)):
                out[i] = out[i] + start * x[i]
    """,
    "while": """
        i = 0
        total = 0.0
        while i < n:
            total = add_reassoc_f8(total, x[i])
            out[i] = total
            i += 1
            if total > 1e6:
                return 3
    """,
    "integers": """
        for i in range(n):
            k = (i - 5) // 3 + (i - 5) % 3 * 2
            j = -7 // (i - 4) + max(k, i) - (k & 3 | 8)
            out[i] = f8(k) + f8(j) * 0.5 + floor_divide_i8(i, k) + remainder_i8(k, 3)
            m = i4(k)
            out[i] += f8(m + 1) + f8(i1(k)) + f8(u1(i)) + f8(i8(x[i] * 10.0))
    """,
    "helpers": """
        for i in range(n):
            wave = sin_f8(x[i]) * pow_f8(abs_f8(x[i]), 0.3) / (1.0 + x[i] * x[i])
            out[i] = select(isnan_f8(x[i]) | (x[i] == inf), f8(0.0), wave)
            out[i] += f8(f4(x[i]) * f4(0.1)) + maximum_f8(x[i], out[i])
    """,
    "pointers": """
        y = offset(x, 1)
        for i in range(n - 1):
            out[i] = y[i]
        out[n - 1] = 0.0
        gemm_f8(0, 1, 2, 2, 2, 1.0, x, 2, y, 2, 1.0, out, 2)
    """,
    "chained comparisons": """
        for i in range(n):
            out[i] = 1.0 if 2 <= i < 7 != x[i] else (2.0 if i else 3.0)
    """,
    "infinite loops that end": """
        i = 0
        while True:
            out[i] = x[i] / f8(i)
            i = i + 1
            if i == n:
                return 5
    """,
}


@pytest.mark.parametrize("body", AGREE)
def test_both_compilers_agree(body, monkeypatch):
    lines = textwrap.indent(textwrap.dedent(AGREE[body]), "    ")
    answers = []
    for only_numba in (False, True):
        monkeypatch.setattr(kernel_module, "ONLY_NUMBA", only_numba)
        if not only_numba:
            monkeypatch.setattr(direct, "NotDirect", AssertionError)  # the direct way must not refuse
        source = f"def kernel(x, n, out):  # numba {only_numba}{lines}\n    return 0\n"
        kernel = compile_kernel(source, "kernel", ARGUMENTS)
        monkeypatch.undo()
        x = np.concatenate([np.linspace(-2, 3, 9), [np.inf, 1e200]])
        out = np.full(x.size, -1.0)
        answers.append((kernel.run([x.ctypes.data, x.size, out.ctypes.data]), out.tobytes()))
    assert answers[0] == answers[1]


@pytest.mark.parametrize("kind", ["u1", "u2", "u4", "u8", "i1", "i2", "i4"])
def test_both_compilers_agree_on_integers(kind, monkeypatch):
    body = """
    for i in range(n):
        k = x[i] * x[n - 1 - i] + x[i]
        out[i] = x[i] if x[i] != x[0] and x[i] > x[1] else k
"""
    if kind != "u8":  # numba computes uint64 with int64 as float64
        body += "    out[0] = x[1] - 3\n    out[1] = x[2] != 0\n    out[2] = (x[1] > -1) + 2 * x[0]\n"
    answers = []
    for only_numba in (False, True):
        monkeypatch.setattr(kernel_module, "ONLY_NUMBA", only_numba)
        if not only_numba:
            monkeypatch.setattr(direct, "NotDirect", AssertionError)
        source = f"def kernel(x, n, out):  # numba {only_numba}{body}    return 0\n"
        kernel = compile_kernel(source, "kernel", [f"{kind}*", "i8", f"{kind}*"])
        monkeypatch.undo()
        x = np.array([3, 0, 1, np.iinfo(kind).max, np.iinfo(kind).min, 7], kind)
        answers.append(apply(kernel, x).tolist())
    assert answers[0] == answers[1]


def test_what_the_direct_way_refuses_goes_to_numba():
    source = "def kernel(x, out):\n    for value in (1.0, 2.0):\n        out[0] = x[0] ** value\n    return 0\n"
    kernel = compile_kernel(source, "kernel", ["f8*", "f8*"])
    x, out = np.array([3.0]), np.empty(1)
    assert kernel.run([x.ctypes.data, out.ctypes.data]) == 0
    assert out[0] == 9.0


def test_the_symbol_depends_on_all_that_is_compiled():
    symbols = {
        kernel_symbol("source", "name", ["f8*"]),
        kernel_symbol("source", "name", ["f4*"]),
        kernel_symbol("source", "other", ["f8*"]),
        kernel_symbol("other", "name", ["f8*"]),
    }
    assert len(symbols) == 4


def test_importing_the_room_imports_no_compiler():
    run_python("""
        import sys
        import functad._compile.building.kernel, functad._compile.entering.front, functad._compile.mathlib.names
        assert not {"numba", "llvmlite", "scipy"} & {name.split(".")[0] for name in sys.modules}
    """)


def test_threads_compile_each_kernel_once():
    made, go = [], threading.Barrier(4)

    def work():
        go.wait()
        made.append(scale(7.75))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 4
    assert len(set(map(id, made))) == 1


def test_object_code_runs_in_a_process_without_numba(tmp_path):
    source = SCALE.format(factor="exp_f8(x[i])")
    kernel = compile_kernel(source, "scale", ARGUMENTS)
    (tmp_path / "code").write_bytes(kernel.object_code)
    (tmp_path / "source").write_text(source)
    run_python(
        """
        import sys, pathlib
        import numpy as np
        from functad._compile.building.kernel import load_kernel
        folder = pathlib.Path(sys.argv[1])
        code, source = (folder / "code").read_bytes(), (folder / "source").read_text()
        kernel = load_kernel(code, sys.argv[2], "scale", source, ["f8*", "i8", "f8*"])
        x, out = np.linspace(-1, 1, 9), np.empty(9)
        assert kernel.run([x.ctypes.data, 9, out.ctypes.data]) == 0
        assert np.allclose(out, np.exp(x) * x, rtol=1e-15)
        assert "numba" not in sys.modules and "scipy" not in sys.modules
        """,
        str(tmp_path),
        kernel.symbol,
    )


def test_loading_gives_the_living_kernel():
    kernel = scale(8.0)
    assert load_kernel(kernel.object_code, kernel.symbol, "scale", kernel.source, ARGUMENTS) is kernel


def test_object_code_that_calls_blas_loads():
    source = "def product(a, b, c, n):\n    gemm_f8(0, 0, n, n, n, 1.0, a, n, b, n, 0.0, c, n)\n    return 0\n"
    kernel = compile_kernel(source, "product", ["f8*", "f8*", "f8*", "i8"])
    code, symbol = kernel.object_code, kernel.symbol
    del kernel
    gc.collect()
    kernel = load_kernel(code, symbol, "product", source, ["f8*", "f8*", "f8*", "i8"])
    assert isinstance(kernel, Kernel)
    a, b, c = np.arange(4.0).reshape(2, 2), np.ones((2, 2)), np.empty((2, 2))
    assert kernel.run([a.ctypes.data, b.ctypes.data, c.ctypes.data, 2]) == 0
    assert np.array_equal(c, a @ b)


def test_scipy_and_numba_import_well_after_blas_was_found():
    run_python("""
        import sys
        from functad._compile.mathlib import blas
        found = blas.address_of("dgemm")
        import scipy.linalg, numpy as np
        import scipy.linalg.cython_blas
        assert scipy.linalg.cython_blas.__pyx_capi__ and sys.modules["scipy.linalg.cython_blas"]
        assert np.array_equal(scipy.linalg.inv(np.eye(2)), np.eye(2))
        blas.address_of.cache_clear(), blas._cython_blas.cache_clear()
        assert blas.address_of("dgemm") == found
    """)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_fork_during_a_compile_leaves_the_child_able_to_compile():
    run_python("""
        import os, sys, threading, time, warnings
        warnings.simplefilter("ignore", DeprecationWarning)  # forking with threads is what is tested
        from functad._compile.building.kernel import compile_kernel

        def source(k):
            lines = "".join(f"        a = a * x[i] + {k}.5\\n" for _ in range(30))
            return f"def kernel(x, n):\\n    for i in range(n):\\n        a = x[i]\\n{lines}        x[i] = a\\n    return 0\\n"

        compile_kernel(source(0), "kernel", ["f8*", "i8"])
        stop = threading.Event()
        def work():
            k = 1
            while not stop.is_set():
                compile_kernel(source(k), "kernel", ["f8*", "i8"])
                k += 1
        thread = threading.Thread(target=work)
        thread.start()
        time.sleep(0.05)
        children = []
        for k in range(3):
            child = os.fork()
            if child == 0:
                compile_kernel(source(1000 + k), "kernel", ["f8*", "i8"])
                os._exit(0)
            children.append(child)
        stop.set()
        thread.join()
        end = time.monotonic() + 90
        for child in children:
            while (done := os.waitpid(child, os.WNOHANG))[0] == 0:
                if time.monotonic() > end:
                    for other in children:
                        os.kill(other, 9)
                    sys.exit("a child hangs")
                time.sleep(0.01)
            assert done[1] == 0
    """)


def test_a_function_that_the_system_lacks_is_named(monkeypatch):
    monkeypatch.setattr(machine_code.llvm, "address_of_symbol", lambda name: None)
    source = "def kernel(x, n, out):\n    for i in range(n):\n        out[i] = erfc_f8(x[i])\n    return 0\n"
    with pytest.raises(KernelError, match="this system has no function erfc"):
        compile_kernel(source, "kernel", ARGUMENTS)
