"""The pages that are made from the library are as the library is now."""

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[1] / "docs" / "generate.py"


def test_generated_pages_are_up_to_date():
    # in a process of its own: other tests may have added to the registry
    ran = subprocess.run([sys.executable, str(SCRIPT), "--check"], capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
