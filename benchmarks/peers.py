"""Benchmarks beside JAX, HIPS autograd and PyTorch, in one process; prints a table, and writes it to docs/benchmarks.md with --write.

Each row runs both sides in short interleaved batches and compares minima; JAX is waited for (`block_until_ready`), runs in float64 on one thread, and
its answer is compared with ours in the same run.  Peers that are not installed are left out (`pip install ".[bench]"`).

Run: python benchmarks/peers.py [--write]
"""

import argparse
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import functad as fd

PAGE = Path(__file__).resolve().parent.parent / "docs" / "benchmarks.md"


class Row(NamedTuple):
    """One line of the table; times in microseconds."""

    what: str
    ours: float
    peer: str
    theirs: float | None
    goal: str
    reached: bool | None


def interleaved(*functions: Callable[[], Any], batches: int = 15, seconds: float = 4e-3) -> list[float]:
    """Least time of a call in microseconds, for each function: short batches in turn, so that a noisy moment hits all."""
    counts = []
    for f in functions:
        f()
        begin = time.perf_counter()
        f()
        counts.append(max(1, int(seconds / max(time.perf_counter() - begin, 1e-7))))
    best = [float("inf")] * len(functions)
    for _ in range(batches):
        for i, (f, n) in enumerate(zip(functions, counts, strict=True)):
            begin = time.perf_counter()
            for _ in range(n):
                f()
            best[i] = min(best[i], (time.perf_counter() - begin) / n * 1e6)
    return best


def agree(ours: Any, theirs: Any, tolerance: float = 1e-9) -> None:
    """The two sides computed the same thing."""
    for a, b in zip(fd.tree.flatten(ours)[0], fd.tree.flatten(theirs)[0], strict=True):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=tolerance, atol=tolerance)


def jax_or_none() -> Any:
    """JAX in float64 on the CPU, if it is installed."""
    try:
        import jax
    except ImportError:
        return None
    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_cpu_enable_async_dispatch", False)
    return jax


def rosenbrock(x: Any, n: Any = np) -> Any:
    """The test function of ten variables."""
    return n.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def against_jax(
    what: str,
    goal: str,
    ours: Callable[[], Any],
    theirs: Callable[[], Any] | None,
    reached: Callable[..., bool] | None,
    *,
    tolerance: float = 1e-9,
) -> Row:
    """A row against JAX; `reached(our time, their time)` says whether the goal is."""
    if theirs is None:
        return Row(what, interleaved(ours)[0], "", None, goal, None)
    agree(ours(), theirs(), tolerance)
    import jax

    a, b = interleaved(ours, lambda: jax.block_until_ready(theirs()))
    return Row(what, a, "JAX", b, goal, reached(a, b) if reached is not None else None)


def import_row() -> Row:
    """Seconds from process start, least of several: the difference is what functad adds to NumPy."""

    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}  # an installed package has its bytecode

    def least(statement: str) -> float:
        subprocess.run([sys.executable, "-c", statement], check=True, env=environment)
        times = []
        for _ in range(9):
            begin = time.perf_counter()
            subprocess.run([sys.executable, "-c", statement], check=True, env=environment)
            times.append(time.perf_counter() - begin)
        return min(times) * 1e6

    base, ours = least("import numpy"), least("import functad")
    subprocess.run([sys.executable, "-c", "import sys, functad; assert not {'numba', 'llvmlite', 'scipy'} & set(sys.modules)"], check=True)
    return Row("import functad, above import numpy", ours - base, "", None, "at most 60 ms", ours - base <= 60_000)


def recording_row() -> Row:
    """One recorded operation: a long chain, so that entering and leaving the trace do not count."""
    from functad._api.call import trace_call

    def chain(x: Any) -> Any:
        for _ in range(250):
            x = x * 1.5 + x
        return x

    x = np.ones(10)
    chained, whole = interleaved(lambda: trace_call(chain, (x,), 1), lambda: trace_call(rosenbrock, (x,), 1))
    per = max(chained / 500, whole / 11)
    return Row("recording one operation (the worse of a chain of 500 and Rosenbrock's 11)", per, "", None, "at most 1 us", per <= 1.0)


def plain_row() -> Row:
    """The gradient without jit, once its kernel is there."""
    x = np.linspace(0.1, 1.0, 10)
    plain = fd.grad(rosenbrock)
    for _ in range(20_000):  # the ski-rental rule compiles on the way
        plain(x)
    what = "grad(f)(x), no jit, Rosenbrock of 10"
    try:
        import autograd
        import autograd.numpy as anp
    except ImportError:
        return Row(what, interleaved(lambda: plain(x))[0], "", None, "12 times faster than autograd", None)
    other = autograd.grad(lambda v: rosenbrock(v, anp))
    agree(plain(x), other(x))
    ours, theirs = interleaved(lambda: plain(x), lambda: other(x))
    return Row(what, ours, "autograd", theirs, "12 times faster", theirs / ours >= 12)


def new_path_row() -> Row:
    """A path never seen: a hidden Markov model's likelihood as a Python loop, each call over a sequence of another length."""
    rng = np.random.default_rng(0)
    params = rng.normal(size=20), rng.normal(size=(20, 20)), rng.normal(size=(20, 30))

    def likelihood(params: Any, symbols: Any, n: Any = np) -> Any:
        start, moves, emits = params
        level = start + emits[:, symbols[0]]
        for s in symbols[1:]:
            paths = level[:, None] + moves
            most = n.max(paths, axis=0)
            level = n.log(n.sum(n.exp(paths - most), axis=0)) + most + emits[:, s]
        most = n.max(level)
        return n.log(n.sum(n.exp(level - most))) + most

    what = "grad(f)(x), no jit, first call of a path: hidden Markov model, 200 steps of 20 states, lengths never met before"
    lengths = iter(range(190, 211))
    ours: list[float] = []
    theirs: list[float] = []
    try:
        import autograd
        import autograd.numpy as anp
    except ImportError:
        autograd = None
    for length in lengths:
        symbols = rng.integers(0, 30, length).tolist()
        calls: list[tuple[list[float], Callable[..., Any]]] = [(ours, fd.grad(lambda p, s=symbols: likelihood(p, s)))]
        if autograd is not None:
            calls.append((theirs, autograd.grad(lambda p, s=symbols: likelihood(p, s, anp))))
        results = []
        for times, gradient in calls:
            begin = time.perf_counter()
            results.append(gradient(params))
            times.append((time.perf_counter() - begin) / length * 200 * 1e6)
        agree(results[0], results[-1])
    if not theirs:
        return Row(what, min(ours), "", None, "no slower than autograd", None)
    return Row(what, min(ours), "autograd", min(theirs), "no slower than autograd", min(ours) <= min(theirs))


def compiled_row(jax: Any) -> Row:
    """The same gradient under jit."""
    x = np.linspace(0.1, 1.0, 10)
    ours, theirs = fd.jit(fd.grad(rosenbrock)), None
    if jax is not None:
        given, jitted = jax.numpy.asarray(x), jax.jit(jax.grad(lambda v: rosenbrock(v, jax.numpy)))
        theirs = lambda: jitted(given)  # one expression, used once
    goal = "at most 0.4 us, 10 times faster"
    return against_jax("jit(grad(f))(x), Rosenbrock of 10", goal, lambda: ours(x), theirs, lambda a, b: a <= 0.4 and b / a >= 10)


def tree_row(jax: Any) -> Row:
    """A gradient over a dict of four arrays."""
    params = {k: np.linspace(0.1, 1.0, 4) for k in ("a", "b", "c", "d")}

    def loss(p: Any, n: Any = np) -> Any:
        return n.sum(p["a"] ** 2) + n.sum(p["b"] * p["c"]) + n.sum(n.sin(p["d"]))

    ours, theirs = fd.jit(fd.grad(loss)), None
    if jax is not None:
        given, jitted = {k: jax.numpy.asarray(v) for k, v in params.items()}, jax.jit(jax.grad(lambda p: loss(p, jax.numpy)))
        theirs = lambda: jitted(given)  # one expression, used once
    return against_jax("jit(grad(f))(dict of four arrays)", "at most 2 us", lambda: ours(params), theirs, lambda a, b: a <= 2)


def fused_row(jax: Any, n: int, dtype: Any, goal: str) -> Row:
    """Value and gradient of a sum of transcendental functions, one fused loop."""
    x = np.random.default_rng(0).uniform(0, 3, n).astype(dtype)
    ours, theirs = fd.jit(fd.value_and_grad(lambda v: np.sum(np.sin(v) ** 2 * np.exp(-v)))), None
    if jax is not None:
        given = jax.numpy.asarray(x)
        jitted = jax.jit(jax.value_and_grad(lambda v: jax.numpy.sum(jax.numpy.sin(v) ** 2 * jax.numpy.exp(-v))))
        theirs = lambda: jitted(given)  # one expression, used once
    what = f"value_and_grad of sum(sin(x)**2 * exp(-x)), {n} elements, {np.dtype(dtype).name}"
    tolerance = 1e-9 if dtype is np.float64 else 1e-4
    return against_jax(what, goal, lambda: ours(x), theirs, (lambda a, b: a / b <= 0.5) if goal else None, tolerance=tolerance)


def scan_row(jax: Any) -> Row:
    """A scan of 10 000 steps with ten scalar operations, value and gradient."""

    def build(n: Any, scan: Any) -> Callable[..., Any]:
        def step(carry: Any, x: Any) -> Any:
            a, b = carry
            a = a + 0.01 * (n.sin(b) * x - 0.1 * a)
            b = b + 0.01 * (a * b + x)
            return (a, b), a

        def loss(p: Any, xs: Any) -> Any:
            (a, b), ys = scan(step, (p[0], p[1]), xs)
            return n.sum(ys) + a * b

        return loss

    xs, p = np.linspace(0, 1, 10_000), np.array([0.3, 0.4])
    ours, theirs = fd.jit(fd.value_and_grad(build(np, fd.scan))), None
    if jax is not None:
        jitted = jax.jit(jax.value_and_grad(build(jax.numpy, jax.lax.scan)))
        given = jax.numpy.asarray(p), jax.numpy.asarray(xs)
        theirs = lambda: jitted(*given)  # one expression, used once
    what = "scan of 10 000 steps, ten scalar operations, value_and_grad"
    return against_jax(what, "no slower than JAX", lambda: ours(p, xs), theirs, lambda a, b: a <= b)


def jacobian_row(jax: Any) -> Row:
    """A dense Jacobian of ten residuals."""
    t, p = np.linspace(0, 1, 10), np.array([1.0, 0.5, 0.3, 2.0])

    def residual(p: Any, n: Any = np) -> Any:
        return p[0] * n.exp(-p[1] * t) + p[2] * n.sin(p[3] * t) - t

    ours, theirs = fd.jit(fd.jacobian(residual)), None
    if jax is not None:
        given, jitted = jax.numpy.asarray(p), jax.jit(jax.jacfwd(lambda v: residual(v, jax.numpy)))
        theirs = lambda: jitted(given)  # one expression, used once
    return against_jax("jit(jacobian(f)), 4 parameters, 10 residuals", "", lambda: ours(p), theirs, None)


def torch_row() -> Row | None:
    """A gradient without jit beside PyTorch's eager one."""
    try:
        import torch
    except ImportError:
        return None
    torch.set_num_threads(1)
    x = np.linspace(0.1, 1.0, 10)
    plain = fd.grad(rosenbrock)

    def other() -> Any:
        v = torch.tensor(x, requires_grad=True)
        torch.sum(100.0 * (v[1:] - v[:-1] ** 2) ** 2 + (1 - v[:-1]) ** 2).backward()
        return v.grad.numpy()

    agree(plain(x), other())
    ours, theirs = interleaved(lambda: plain(x), other)
    return Row("grad(f)(x), no jit, Rosenbrock of 10", ours, "PyTorch eager", theirs, "", None)


def number(value: float) -> str:
    """Three digits."""
    return f"{value:.3g}" if value < 1000 else f"{value:,.0f}".replace(",", " ")


def table(rows: list[Row]) -> str:
    """The rows as a Markdown table."""
    lines = ["| what | functad, us | peer | peer, us | peer / functad | goal | reached |", "|---|---|---|---|---|---|---|"]
    for r in rows:
        ratio = f"{r.theirs / r.ours:.1f}" if r.theirs is not None else ""
        reached = {True: "yes", False: "**no**", None: ""}[r.reached]
        lines.append(f"| {r.what} | {number(r.ours)} | {r.peer} | {number(r.theirs) if r.theirs else ''} | {ratio} | {r.goal} | {reached} |")
    return "\n".join(lines)


def versions(jax: Any) -> str:
    """What was measured with."""
    import numba

    found = [f"Python {platform.python_version()}", f"NumPy {np.__version__}", f"numba {numba.__version__}"]
    if jax is not None:
        found.append(f"JAX {jax.__version__}")
    return ", ".join(found)


def main() -> None:
    """Run all rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write docs/benchmarks.md")
    write = parser.parse_args().write
    rows = [import_row()]
    jax = jax_or_none()
    rows += [recording_row(), plain_row(), new_path_row(), compiled_row(jax), tree_row(jax)]
    rows += [fused_row(jax, 100_000, np.float64, "at most half of JAX's time")]
    rows += [fused_row(jax, 1_000, np.float64, ""), fused_row(jax, 100_000, np.float32, "")]
    rows += [scan_row(jax), jacobian_row(jax)]
    extra = torch_row()
    rows += [extra] if extra else []
    text = table(rows)
    print(text)
    if write:
        PAGE.write_text(
            "# Benchmarks\n\nWritten by `benchmarks/peers.py`: both sides in one process, one thread, float64 unless said, least time of short "
            f"interleaved batches, answers compared in the same run.  Ratios carry over to other machines better than times.\n\n{versions(jax)}; "
            f"{platform.machine()}, {os.cpu_count()} cores.\n\n{text}\n"
        )


if __name__ == "__main__":
    main()
