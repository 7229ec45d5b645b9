"""The examples run as scripts, from anywhere, with warnings as errors."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

SHOWN = {
    "quickstart.py": ["certified", "2.3894212918e+02", "trust-exact", "15 of 15 fits agree"],
    "reciprocal_bits.py": ["float32, 10000 random values", "float64, 10000 random values", "by 1 ULP", "bit for bit"],
    "why_not_one.py": ["[1. 2. 3.]", "np.sum", "[2. 4. 6.]"],
    "arguments_of_backward.py": ["a: 0.3 3 0.0003", "inf", "[[2. 2. 2. 2.]]"],
}


@pytest.mark.parametrize("script", SHOWN)
def test_script(script, tmp_path):
    command = [sys.executable, "-W", "error", str(EXAMPLES / script)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    assert "DIFFERS" not in done.stdout
    for text in SHOWN[script]:
        assert text in done.stdout
