"""A ufunc costs one row: a row added to a copy of the library gives value, derivatives, batching, a kernel and a line in the documents."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import functad
from functad._core.primitive import REGISTRY

ROW = """


another_logaddexp2: Primitive = elementwise(
    "another_logaddexp2", np.logaddexp2,
    [lambda t, out, x, y: scale(t, exp2(sub(x, out))), lambda t, out, x, y: scale(t, exp2(sub(y, out)))],
    "maximum_{d}({0}, {1}) + log1p_{d}(exp2_{d}(-abs_{d}({0} - {1}))) * {o}(1.4426950408889634)", domain=[(-2, 2), (-2, 2)], cost=25,
)
"""

USE = """
import numpy as np
import functad as fd
from functad._core.primitive import REGISTRY
from functad.testing import check_grads

x, y = np.array([1.0, -3.0, 0.5]), np.array([2.0, -3.0, 0.25])
check_grads(np.logaddexp2, (x, y), order=2)
share = 2**x / (2**x + 2**y)
np.testing.assert_allclose(fd.grad(lambda x: np.sum(np.logaddexp2(x, y)))(x), share)
np.testing.assert_allclose(fd.vmap(fd.grad(np.logaddexp2))(x, y), share)
np.testing.assert_allclose(fd.jit(np.logaddexp2)(x, y), np.logaddexp2(x, y), rtol=1e-15)
assert fd.jit(np.logaddexp2)(x.astype("f"), 1.0).dtype == np.float32
assert "another_logaddexp2" in repr(fd.make_program(np.logaddexp2)(x, y))  # the last row of a ufunc counts
assert len(REGISTRY["another_logaddexp2"].examples()) == 1
"""


def test_a_ufunc_costs_one_row(tmp_path):
    shutil.copytree(Path(functad.__file__).parent, tmp_path / "functad", ignore=shutil.ignore_patterns("__pycache__"))
    with open(tmp_path / "functad" / "_primitives" / "elementwise.py", "a") as file:
        file.write(ROW)
    done = subprocess.run([sys.executable, "-c", USE], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(tmp_path)})
    assert done.returncode == 0, done.stderr


def test_whoever_makes_structural_zeros_says_which_elements_they_are():
    """By default the booleans are those of the first input, which is right for elementwise operations alone."""
    silent = [name for name, op in REGISTRY.items() if op.structural is not None and op.alive is None]
    assert set(silent) == {"neg", "mul", "convert"}
